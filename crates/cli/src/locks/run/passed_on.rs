//! Signals that `run` passes on to its command: all that a process can be sent and can catch.

use std::ops::RangeInclusive;

use anyhow::{Context, Result};
use rustix::process::Signal;
use signal_hook::iterator::Signals;
use tokio::sync::mpsc;

use crate::terminal::signals::is_ignored;

/// Not among them are SIGTSTP, SIGCONT, SIGTTIN and SIGTTOU, which `foreground.rs` handles; SIGPIPE and SIGCHLD, which concern
/// this process; and the signals of faults, which a process cannot survive. Real-time signals come after these.
const PASSED_ON: [Signal; 19] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::VTALARM,
    Signal::PROF,
    Signal::WINCH,
    Signal::URG,
    Signal::IO,
    Signal::POWER,
    Signal::XCPU,
    Signal::XFSZ,
    Signal::TRAP,
    Signal::ABORT,
    Signal::SYS,
    Signal::STKFLT,
];

/// The real-time signals that the C library leaves to programs.
fn real_time() -> RangeInclusive<i32> {
    libc::SIGRTMIN()..=libc::SIGRTMAX()
}

/// The signal with this number: one that has a name, or a real-time signal.
pub(super) fn numbered(number: i32) -> Option<Signal> {
    let named = Signal::from_named_raw(number);
    if named.is_some() || !real_time().contains(&number) {
        return named;
    }
    #[expect(
        unsafe_code,
        reason = "no safe call names a real-time signal; the number is one that a program may send"
    )]
    Some(unsafe { Signal::from_raw_unchecked(number) })
}

/// Listens for them.
pub(super) struct PassedOn(mpsc::UnboundedReceiver<Signal>);

impl PassedOn {
    /// From now on they do not end this program. Those that its caller ignores are ignored by the command, too.
    pub(super) fn listen() -> Result<PassedOn> {
        let all = PASSED_ON.into_iter().chain(real_time().filter_map(numbered));
        let numbers: Vec<i32> = all.filter(|signal| !is_ignored(*signal)).map(Signal::as_raw).collect();
        // tokio does not listen for the last real-time signal.
        let mut signals = Signals::new(numbers).context("cannot listen for signals")?;
        let (sender, receiver) = mpsc::unbounded_channel();
        std::thread::Builder::new().name("signals".to_string()).spawn(move || {
            let mut heard = signals.forever().filter_map(numbered);
            while heard.next().is_some_and(|signal| sender.send(signal).is_ok()) {}
        })?;
        Ok(PassedOn(receiver))
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Signal {
        match self.0.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }
}
