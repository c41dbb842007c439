//! Signals that end a long computation. The first asks it to stop and to say what it has found so far, the second ends
//! the program at once.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

use crate::terminal::output::note;
use crate::terminal::progress;

const INTERRUPT: u8 = 2;
const TERMINATE: u8 = 15;

/// The number of the signal that came first; 0 if none did.
static FIRST: AtomicU8 = AtomicU8::new(0);

/// From now on Ctrl-C (SIGINT) and SIGTERM do not end this program the first time.
pub(crate) fn listen() -> Result<()> {
    let cannot = "cannot listen for signals";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().context(cannot)?;
    let (mut interrupts, mut terminates) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt()).context(cannot)?, signal(SignalKind::terminate()).context(cannot)?)
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            loop {
                let number = tokio::select! {
                    _ = interrupts.recv() => INTERRUPT,
                    _ = terminates.recv() => TERMINATE,
                };
                if FIRST.swap(number, Ordering::Relaxed) != 0 {
                    std::process::exit(i32::from(exit_code(number)));
                }
                if std::io::stderr().is_terminal() {
                    progress::clear_line();
                    note!("stopping to say what there is; once more ends at once");
                }
            }
        });
    });
    Ok(())
}

/// Whether a signal has asked to stop.
pub(crate) fn is_asked() -> bool {
    FIRST.load(Ordering::Relaxed) != 0
}

/// The same for those who follow a computation from outside.
pub(crate) fn answer() -> ControlFlow<()> {
    if is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// What a program ends with that a signal has stopped, as a shell would say it.
pub(crate) fn code() -> u8 {
    exit_code(FIRST.load(Ordering::Relaxed))
}

fn exit_code(signal: u8) -> u8 {
    128 + signal
}
