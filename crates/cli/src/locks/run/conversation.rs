//! The side of `run`: starts a guardian, and talks with it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;
use tokio::net::UnixStream;
use tokio::time::sleep;

use super::guardian::{PROCESS_NAME, this_program};
use super::link::{FromGuardian, Heard, ToGuardian, line, send_input};

/// A guardian that was started, and the socket to it.
pub(super) struct Conversation {
    socket: UnixStream,
    guardian: Child,
}

/// What it has said, and the rest is to come.
#[derive(Default)]
pub(super) struct Said(Heard);

impl Conversation {
    /// Starts a guardian, whose command will have these variables in its environment.
    pub(super) fn start(variables: &[(&str, OsString)], start: &ToGuardian) -> Result<Conversation> {
        let (mine, its) = Socket::pair().context("cannot make a pair of sockets")?;
        let mut guardian = Command::new(this_program()?);
        guardian.arg0(OsStr::from_bytes(PROCESS_NAME.to_bytes())).arg("guardian");
        guardian.stdin(Stdio::from(OwnedFd::from(its))).process_group(0);
        guardian.envs(variables.iter().map(|(name, value)| (name, value)));
        let guardian = guardian.spawn().context("cannot start a guardian for the command")?;
        send_input(&mine, io::stdin().as_fd())?;
        io::Write::write_all(&mut &mine, &line(start)).context("cannot talk to the guardian")?;
        mine.set_nonblocking(true)?;
        Ok(Conversation { socket: UnixStream::from_std(mine)?, guardian })
    }

    /// Says something. A guardian that is stopped does not listen, and one that is gone hears nothing.
    pub(super) fn say(&self, said: &ToGuardian) {
        _ = self.socket.try_write(&line(said));
    }

    /// Passes a signal on to the command.
    pub(super) fn signal(&self, signal: Signal) {
        self.say(&ToGuardian::Signal(signal.as_raw()));
    }

    /// Waits for what the guardian says next; `None` if it is gone. Can be given up and called again: nothing is lost.
    pub(super) async fn next(&self, said: &mut Said) -> Option<FromGuardian> {
        loop {
            if let Some(next) = said.0.next().ok()? {
                return Some(next);
            }
            self.socket.readable().await.ok()?;
            match self.socket.try_read_buf(&mut said.0.0) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    /// The guardian has said its last: nothing of it is left when this program ends.
    pub(super) async fn end(&mut self) {
        for _ in 0..100 {
            if !matches!(self.guardian.try_wait(), Ok(None)) {
                return;
            }
            sleep(Duration::from_millis(1)).await;
        }
        _ = self.guardian.kill();
        _ = self.guardian.wait();
    }
}
