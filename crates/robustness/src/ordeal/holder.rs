//! A client that holds a lock as people do: `tokenwood run`, with a command that says again and again that it is alive.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use service::Time;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::node_processes::NodeSetup;

/// Nothing takes longer.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A script for the shell, with this program as `$0`: the command that beats.
pub(super) const BEATS: &str = "exec \"$0\" ordeal-beat";

/// How a process ended, for messages.
pub(super) fn exit(code: Option<i32>) -> String {
    code.map_or_else(|| "a signal".to_string(), |code| format!("exit code {code}"))
}

/// `tokenwood run` with a command that beats.
pub(super) struct Holder {
    child: Child,
    beats: Lines<BufReader<ChildStdout>>,
}

impl Holder {
    /// A holder at this node, whose command is this script; in a control group, if one is named.
    pub(super) fn start(
        setup: &NodeSetup,
        name: &str,
        flags: &[&str],
        script: &str,
        group: Option<&Path>,
    ) -> Result<Holder> {
        let mut command = setup.command()?;
        if let Some(group) = group {
            let run = command;
            command = std::process::Command::new("sh");
            command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.join("cgroup.procs"));
            command.arg(run.get_program()).args(run.get_args());
            command.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        }
        command.env_remove(transport::clock::FAKE);
        command.args(["run", name, "--endpoint", &setup.clients]).args(flags);
        command.args(["sh", "-c", script]).arg(std::env::current_exe()?);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Command::from(command).kill_on_drop(true).spawn().context("cannot start a holder")?;
        let beats = BufReader::new(child.stdout.take().context("the holder has no standard output")?).lines();
        Ok(Holder { child, beats })
    }

    /// The next time that it was alive; `None` when everything it had started has ended.
    pub(super) async fn beat(&mut self) -> Result<Option<Time>> {
        let line = timeout(LONGEST_WAIT, self.beats.next_line())
            .await
            .context("a holder neither lives nor ends")??;
        Ok(line.and_then(|line| line.parse().ok()).map(Time))
    }

    /// Waits until it has ended: when anything of its command last lived, and its exit code.
    pub(super) async fn end(mut self) -> Result<(Time, Option<i32>)> {
        let mut last = Time(0);
        while let Some(beat) = self.beat().await? {
            last = last.max(beat);
        }
        let status = timeout(LONGEST_WAIT, self.child.wait()).await.context("a holder does not end")??;
        Ok((last, status.code()))
    }

    /// Its exit code, and what it has said.
    pub(super) async fn said(self) -> Result<(Option<i32>, String)> {
        let output = timeout(LONGEST_WAIT, self.child.wait_with_output()).await??;
        Ok((output.status.code(), String::from_utf8_lossy(&output.stderr).trim().to_string()))
    }

    /// The process of `run`.
    pub(super) fn process(&self) -> Result<Pid> {
        self.child.id().and_then(|id| Pid::from_raw(id.cast_signed())).context("the holder has ended")
    }

    /// Asks it to end.
    pub(super) fn stop(&self) -> Result<()> {
        kill_process(self.process()?, Signal::TERM).context("cannot send the holder a signal")
    }
}
