//! An agent: the process of one client. It reads a command on each line, and writes an event on each line.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use super::all_of;
use super::case::CAPABILITIES;

/// The version of the commands and events.
pub(super) const PROTOCOL: u32 = 1;

/// An agent that does not begin, or end, within this time never does.
const BEGINS_WITHIN: Duration = Duration::from_secs(60);
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// What an agent says first.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hello {
    event: String,
    protocol: u32,
    /// The client that it drives, for people.
    pub(super) client: String,
    /// What the client cannot do, with the reason.
    #[serde(default)]
    pub(super) cannot: BTreeMap<String, String>,
}

/// What an agent says later.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Event {
    pub(super) event: String,
    /// The command that it answers; of `lost`, the one that acquired.
    #[serde(default)]
    pub(super) id: u64,
    /// When it happened, in nanoseconds of the machine's clock.
    #[serde(default)]
    pub(super) at: u64,
    #[serde(default)]
    pub(super) fence: Option<u64>,
    #[serde(default)]
    pub(super) slot: Option<u32>,
    #[serde(default)]
    pub(super) group: Option<String>,
    #[serde(default)]
    pub(super) holders: Vec<String>,
    /// More about it, for people.
    #[serde(default)]
    pub(super) why: Option<String>,
}

/// What is heard instead of an event that cannot be read.
pub(super) const NONSENSE: &str = "nonsense";

/// Agents that wait for the next case: to start one takes a while in some languages.
pub(super) struct Pool {
    commands: Vec<String>,
    idle: RefCell<Vec<Agent>>,
}

impl Pool {
    pub(super) fn new(commands: &[String]) -> Pool {
        Pool { commands: commands.to_vec(), idle: RefCell::default() }
    }

    /// An agent for an actor: actors use the commands in turn.
    pub(super) async fn take(&self, actor: usize) -> Result<Agent> {
        let command = &self.commands[actor % self.commands.len()];
        let idle = self.idle.borrow().iter().position(|agent| agent.command == *command);
        let idle = idle.map(|index| self.idle.borrow_mut().swap_remove(index));
        match idle {
            Some(agent) => Ok(agent),
            None => Agent::start(command).await,
        }
    }

    /// An agent has closed its session, and can open another one.
    pub(super) fn give_back(&self, agent: Agent) {
        self.idle.borrow_mut().push(agent);
    }

    /// Ends all agents. What is wrong with how they end.
    pub(super) async fn end(self) -> Vec<String> {
        let ended = all_of(self.idle.into_inner().into_iter().map(Agent::end)).await;
        ended.into_iter().flatten().collect()
    }
}

/// A process that runs. It is killed, with all that it has started, when this is dropped.
pub(super) struct Agent {
    pub(super) hello: Hello,
    command: String,
    child: Child,
    group: Pid,
    stdin: Mutex<Option<ChildStdin>>,
    heard: watch::Receiver<Vec<Event>>,
    last_id: Cell<u64>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            _ = kill_process_group(self.group, Signal::KILL);
        }
    }
}

impl Agent {
    /// Starts an agent by its command, and waits until it says what it is.
    pub(super) async fn start(command: &str) -> Result<Agent> {
        let mut shell = Command::new("sh");
        // In a group of its own, so that it is stopped and killed with all that it has started.
        shell.args(["-c", &format!("exec {command}")]).process_group(0);
        shell.env("TOKENWOOD_PROGRAM", std::env::current_exe()?);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = shell.spawn().with_context(|| format!("cannot start '{command}'"))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let group = group.context("an agent has no process id")?;
        let stdout = child.stdout.take().context("an agent has no standard output")?;
        let stdin = Mutex::new(child.stdin.take());
        let mut lines = BufReader::new(stdout).lines();
        let first = timeout(BEGINS_WITHIN, lines.next_line()).await;
        let first = match first {
            Ok(Ok(Some(first))) => first,
            _ => {
                _ = kill_process_group(group, Signal::KILL);
                bail!("the agent '{command}' said nothing");
            }
        };
        let hello =
            read_hello(&first).with_context(|| format!("the agent '{command}' said '{first}' first"))?;
        let (say, heard) = watch::channel(Vec::new());
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let event = serde_json::from_str(&line).unwrap_or_else(|error| Event {
                    event: NONSENSE.to_string(),
                    why: Some(format!("{error}: {line}")),
                    ..Event::default()
                });
                say.send_modify(|events: &mut Vec<Event>| events.push(event));
            }
        });
        let (command, last_id) = (command.to_string(), Cell::new(0));
        Ok(Agent { hello, command, child, group, stdin, heard, last_id })
    }

    /// Gives it a command. Returns the number of the command.
    pub(super) async fn say(&self, mut command: Value) -> Result<u64> {
        let id = self.last_id.get() + 1;
        self.last_id.set(id);
        command["id"] = json!(id);
        let mut stdin = self.stdin.lock().await;
        let stdin = stdin.as_mut().context("the agent was asked to end")?;
        stdin.write_all(format!("{command}\n").as_bytes()).await.context("the agent has ended")?;
        Ok(id)
    }

    /// Waits for an event that fits.
    pub(super) async fn hear(&self, limit: Duration, fits: impl Fn(&Event) -> bool) -> Result<Event> {
        let mut heard = self.heard.clone();
        let found = timeout(limit, heard.wait_for(|events| events.iter().any(&fits))).await;
        let found = found.map_err(|_| anyhow!("nothing came within {} s", limit.as_secs()))?;
        let events = found.map_err(|_| anyhow!("the agent has ended"))?;
        events.iter().find(|event| fits(event)).cloned().context("an event is gone")
    }

    /// What it has said so far.
    pub(super) fn events(&self) -> Vec<Event> {
        self.heard.borrow().clone()
    }

    /// Sends a signal to it, and to all that it has started.
    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        kill_process_group(self.group, signal).context("cannot send an agent a signal")
    }

    /// Asks it to end, and says what is wrong if it does not.
    pub(super) async fn end(mut self) -> Option<String> {
        *self.stdin.lock().await = None;
        match timeout(ENDS_WITHIN, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => None,
            Ok(Ok(status)) => Some(format!("the agent ended with {status}")),
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the agent does not end when its standard input does".to_string()),
        }
    }
}

fn read_hello(line: &str) -> Result<Hello> {
    let hello: Hello = serde_json::from_str(line)?;
    ensure!(hello.event == "hello", "its first event is not 'hello'");
    let protocol = hello.protocol;
    ensure!(protocol == PROTOCOL, "it speaks version {protocol}, and this program version {PROTOCOL}");
    for (cannot, why) in &hello.cannot {
        ensure!(CAPABILITIES.iter().any(|(name, _)| name == cannot), "there is no capability '{cannot}'");
        ensure!(!why.is_empty(), "it does not say why it cannot '{cannot}'");
    }
    Ok(hello)
}
