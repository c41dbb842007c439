//! What `run` and its guardian tell each other: one JSON value a line, over a pair of sockets.

use std::ffi::OsString;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use super::ending::OnLost;

/// What `run` tells its guardian.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToGuardian {
    /// Start the command. The first thing that is said.
    Start {
        /// The program and its arguments, as bytes.
        command: Vec<Vec<u8>>,
        on_lost: OnLost,
        grace: Duration,
        /// Whether the lock is held until everything that the command has started is gone.
        wait_children: bool,
        /// When the lock is lost, unless it is renewed.
        held_until: u64,
    },
    /// The lock was renewed: it is held until then.
    Renewed { held_until: u64 },
    /// The lock was revoked. It is free when the command has ended, or at its deadline.
    Revoked,
    /// The lock is lost, and there is no time left.
    Lost,
    /// Pass a signal on to the command.
    Signal(i32),
}

/// What a guardian tells its `run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FromGuardian {
    /// The command has started with this process id, which is that of its process group.
    Started { group: i32 },
    /// No process could be started.
    CannotStart { why: String },
    /// What the command starts can escape the guardian, for this reason.
    CanEscape { why: String },
    /// The command was stopped by this signal.
    Stopped { signal: i32 },
    /// The command was asked to end, because the lock is about to be lost or was revoked.
    Asked,
    /// The command has ended by itself: with this exit code. Nothing more is said.
    Exited { code: u8 },
    /// The lock was lost, and everything that the command had started has ended. These processes may still run: they belong to
    /// another user. Nothing more is said.
    Ended { left: Vec<i32> },
}

/// A command as it travels.
pub(super) fn as_bytes(command: &[OsString]) -> Vec<Vec<u8>> {
    command.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// The same on the other side.
pub(super) fn from_bytes(command: Vec<Vec<u8>>) -> Vec<OsString> {
    command.into_iter().map(OsString::from_vec).collect()
}

/// One thing as it is said.
pub(super) fn line(said: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(said).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// What was heard so far, up to the end of a line.
#[derive(Default)]
pub(super) struct Heard(pub(super) Vec<u8>);

impl Heard {
    /// The next thing that was said in full.
    pub(super) fn next<T: for<'de> Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        let Some(end) = self.0.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        let line: Vec<u8> = self.0.drain(..=end).collect();
        serde_json::from_slice(&line).context("what was said is not understood").map(Some)
    }
}

/// Sends the standard input of the command. A guardian's own is the socket, so that it is open in no other process.
pub(super) fn send_input(socket: impl AsFd, input: BorrowedFd<'_>) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    let inputs = [input];
    if !with.push(SendAncillaryMessage::ScmRights(&inputs)) {
        bail!("there is no room for the standard input");
    }
    sendmsg(socket, &[IoSlice::new(b"\n")], &mut with, SendFlags::empty())
        .context("cannot pass the standard input on")?;
    Ok(())
}

/// Receives it.
pub(super) fn receive_input(socket: impl AsFd) -> Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut with, RecvFlags::CMSG_CLOEXEC)?;
    let input = with.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    input.context("there is no standard input for the command")
}
