//! Runs a program so that neither a test that hangs nor the signals that its caller ignores decide how it ends.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// All tests take a third of this on two cores that do other work, too.
const LIMIT: Duration = Duration::from_secs(25 * 60);
/// The signals that tests send. `nohup` and the background of a script ignore some, and a child inherits that.
const SIGNALS: &str = "--default-signal=HUP,INT,QUIT,PIPE,TERM";

/// A program that gets signals as one started at a terminal does, where the system can do that.
pub(crate) fn with_usual_signals(program: &str) -> Command {
    let mut probe = Command::new("env");
    probe.args([SIGNALS, "true"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        return Command::new(program);
    }
    let mut command = Command::new("env");
    command.args([SIGNALS, program]);
    command
}

/// Runs a program. Unattended, it is ended when it takes too long, with everything that it started: the last lines that it
/// printed name the tests that hang. At a terminal, Ctrl-C does that.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    if !crate::under_ci() {
        return crate::run(command);
    }
    // A group of its own, so that it can be ended as a whole.
    let mut child = command.process_group(0).spawn().with_context(|| format!("cannot start {command:?}"))?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            if status.success() {
                return Ok(());
            }
            bail!("{command:?} ended with {status}");
        }
        if begun.elapsed() > LIMIT {
            let group = format!("-{}", child.id());
            _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            _ = child.wait();
            bail!("{command:?} did not end within {} min: a test hangs", LIMIT.as_secs() / 60);
        }
        thread::sleep(Duration::from_millis(100));
    }
}
