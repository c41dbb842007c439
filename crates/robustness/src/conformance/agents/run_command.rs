//! `tokenwood run`: a lock is held while a command runs.

use std::cell::RefCell;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;

use super::{Answer, Ask, Client, Setup};

pub(super) struct RunCommand {
    setup: Setup,
    held: RefCell<Vec<Rc<Held>>>,
}

/// A lock that is held by a command.
pub(super) struct Held {
    /// The command ends when this does.
    stdin: RefCell<Option<ChildStdin>>,
    command: Option<Pid>,
    ended: watch::Receiver<Option<i32>>,
}

/// The flags of `run` and `acquire` that say which lock is meant, and where the nodes are.
pub(super) fn flags(setup: &Setup, ask: &Ask) -> Vec<String> {
    let mut flags = vec![ask.lock.clone(), "--in-order".to_string()];
    let mut add = |flag: &str, value: String| flags.extend([flag.to_string(), value]);
    setup.endpoints.iter().for_each(|endpoint| add("--endpoint", endpoint.clone()));
    add("--ttl", format!("{}ms", setup.ttl_ms));
    add("--label", setup.label.clone());
    ask.groups.iter().flatten().for_each(|group| add("--group", group.clone()));
    ask.slots.iter().for_each(|slots| add("--slots", slots.to_string()));
    if let Some(wait) = ask.wait_ms.filter(|wait| *wait > 0) {
        add("--wait", format!("{wait}ms"));
    }
    flags.extend(ask.mode.iter().map(|mode| format!("--{mode}")));
    flags.extend(ask.is_try().then(|| "--try".to_string()));
    flags
}

/// A command of this program.
pub(super) fn this_program(arguments: &[String]) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command.kill_on_drop(true).spawn()?)
}

/// Ends a command that waits for a lock, so that it leaves the queue.
pub(super) struct Waiting(pub(super) Option<u32>);

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(process) = self.0.and_then(|id| Pid::from_raw(id.cast_signed())) {
            _ = kill_process(process, Signal::TERM);
        }
    }
}

/// Why a command did not get its lock, by its exit code and its last words.
pub(super) fn refused<H>(ask: &Ask, code: i32, said: &str) -> Answer<H> {
    let said = said.trim();
    match code {
        75 => Answer::Not { outcome: ask.not_granted(), why: said.into(), holders: vec![said.into()] },
        69 => Answer::not("unavailable", said),
        2 if said.contains("the name is") => Answer::not("refused", said),
        code => Answer::not("failed", &format!("exit code {code}: {said}")),
    }
}

/// Says what it was granted and its process id, then waits until its standard input ends.
const COMMAND: &str = r#"echo "$$ $TOKENWOOD_SLOT $TOKENWOOD_FENCE $TOKENWOOD_GROUP"; exec cat"#;

impl Client for RunCommand {
    type Held = Rc<Held>;
    const NAME: &'static str = "the command line: tokenwood run";
    const CANNOT: &'static [(&'static str, &'static str)] = &[
        ("release-twice", "the lock is released when the command ends, and it ends once"),
        ("session", "each 'run' has a session of its own"),
    ];

    async fn open(setup: Setup) -> Result<RunCommand> {
        Ok(RunCommand { setup, held: RefCell::default() })
    }

    async fn acquire(&self, ask: &Ask) -> Answer<Rc<Held>> {
        let mut arguments = vec!["run".to_string()];
        arguments.extend(flags(&self.setup, ask));
        arguments.extend(["--on-lost", "kill", "--", "sh", "-c", COMMAND].map(str::to_string));
        let mut child = match this_program(&arguments) {
            Ok(child) => child,
            Err(error) => return Answer::not("failed", &error),
        };
        let mut waiting = Waiting(child.id());
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdout), Some(mut stderr)) = (stdout, stderr) else {
            return Answer::not("failed", "a command has no output");
        };
        let (tell, ended) = watch::channel(None);
        let (words, said) = watch::channel(String::new());
        // Not this task: a command that is cancelled needs a moment to leave the queue.
        tokio::spawn(async move {
            let mut text = String::new();
            _ = stderr.read_to_string(&mut text).await;
            _ = words.send(text);
            let code = child.wait().await.ok().and_then(|status| status.code());
            _ = tell.send(Some(code.unwrap_or(-1)));
        });
        let mut lines = BufReader::new(stdout).lines();
        let first = lines.next_line().await.ok().flatten();
        let Some(first) = first else {
            let code = over(&ended).await;
            waiting.0 = None;
            return refused(ask, code, &said.borrow());
        };
        waiting.0 = None;
        let mut words = first.split(' ');
        let mut number = || words.next()?.parse::<u64>().ok();
        let (Some(process), Some(slot), Some(fence)) = (number(), number(), number()) else {
            return Answer::not("failed", &first);
        };
        let group = words.next().filter(|group| !group.is_empty()).map(str::to_string);
        let command = i32::try_from(process).ok().and_then(Pid::from_raw);
        let held = Rc::new(Held { stdin: RefCell::new(stdin), command, ended });
        self.held.borrow_mut().push(held.clone());
        Answer::Granted { held, fence, slot: slot as u32, group }
    }

    async fn lost(&self, held: &Rc<Held>) {
        // It holds nothing when its command is gone, also if 'run' has not ended yet.
        while held.ended.borrow().is_none() && is_there(held) {
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn is_held(&self, held: &Rc<Held>) -> bool {
        is_there(held)
    }

    async fn release(&self, held: &Rc<Held>) -> &'static str {
        if held.stdin.take().is_none() {
            return "cannot";
        }
        match over(&held.ended).await {
            0 => "released",
            _ => "lost",
        }
    }

    async fn close(&self) {
        for held in self.held.take() {
            held.stdin.take();
            over(&held.ended).await;
        }
    }
}

/// How often to look whether a command is there.
const LOOK: Duration = Duration::from_millis(10);

fn is_there(held: &Held) -> bool {
    held.command.is_some_and(|process| test_kill_process(process).is_ok())
}

/// Waits until a command has ended, and returns its exit code.
async fn over(ended: &watch::Receiver<Option<i32>>) -> i32 {
    let mut ended = ended.clone();
    let code = ended.wait_for(Option::is_some).await.ok().and_then(|code| *code);
    code.unwrap_or(-1)
}
