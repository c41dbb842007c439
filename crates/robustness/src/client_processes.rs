//! Clients that are processes of their own, and the ledger of what they record.

use std::fs::File;
use std::io::Write;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::storm::{self, Ledger};
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use sync::IgnorePoison;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Everything must have ended after this long.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(90);

/// Starts clients.
pub(crate) struct ClientLauncher {
    ledger: Arc<Mutex<Ledger>>,
    /// Where all lines are kept as they came.
    history: Option<Arc<File>>,
    started: u32,
}

/// A process with clients.
pub(crate) struct ClientProcess {
    pub(crate) number: u32,
    child: Child,
    /// It ends when this does.
    stdin: Option<ChildStdin>,
    /// Writes down what it says.
    scribe: JoinHandle<()>,
}

impl ClientLauncher {
    pub(crate) fn new(ledger: Arc<Mutex<Ledger>>, history: Option<Arc<File>>) -> ClientLauncher {
        ClientLauncher { ledger, history, started: 0 }
    }

    /// The number of the next process.
    pub(crate) fn next(&self) -> u32 {
        self.started + 1
    }

    /// Starts a process that writes lines until its standard input ends.
    pub(crate) fn start(&mut self, command: std::process::Command) -> Result<ClientProcess> {
        self.started += 1;
        let number = self.started;
        let mut command = Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("cannot start clients")?;
        let (stdin, stdout) =
            (child.stdin.take(), child.stdout.take().context("clients have no standard output")?);
        let (ledger, history) = (self.ledger.clone(), self.history.clone());
        let scribe = tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                lock(&ledger).write_down(number, &line);
                if let Some(history) = &history {
                    _ = writeln!(&**history, "{number} {line}");
                }
            }
        });
        Ok(ClientProcess { number, child, stdin, scribe })
    }
}

impl ClientProcess {
    /// It is to end when it has finished what it is about.
    pub(crate) fn ask_to_finish(&mut self) {
        self.stdin = None;
    }

    /// Sends a signal to it.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let process = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        kill_process(process.context("clients have ended")?, signal).context("cannot send clients a signal")
    }

    /// Kills it. Its clients hold their locks until it is dead.
    pub(crate) async fn kill(mut self, ledger: &Mutex<Ledger>) -> Result<()> {
        self.child.kill().await.context("cannot kill clients")?;
        let died = storm::now();
        _ = self.scribe.await;
        lock(ledger).died(self.number, died);
        Ok(())
    }

    /// Waits until it has ended by itself. What is wrong if it does not.
    pub(crate) async fn end(mut self, ledger: &Mutex<Ledger>) -> Result<Option<String>> {
        let wrong = match timeout(LONGEST_WAIT, self.child.wait()).await {
            Ok(status) => {
                let status = status.context("cannot wait for clients")?;
                (!status.success()).then(|| format!("process {} ended with {status}", self.number))
            }
            Err(_) => Some(format!("process {} does not end", self.number)),
        };
        if wrong.is_some() {
            self.kill(ledger).await?;
        } else {
            _ = self.scribe.await;
        }
        Ok(wrong)
    }
}

/// The ledger, locked.
pub(crate) fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().ignore_poison()
}
