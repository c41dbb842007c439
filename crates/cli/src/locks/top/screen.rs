//! The terminal while the live view has it: taken whole, and given back as it was, however the program ends.

use std::io::{Stdout, Write, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, kill_process};

/// Whether the terminal is taken now: it is given back once.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, taken until this is dropped.
pub(super) struct Screen {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal. A panic gives it back before it is reported.
    pub(super) fn take() -> Result<Screen> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        take()?;
        Ok(Screen { terminal: on_empty_screen()? })
    }

    /// Stops this program as Ctrl-Z does, with the terminal given back meanwhile.
    pub(super) fn stop(&mut self) -> Result<()> {
        give_back();
        // It stops here, and goes on here when it is continued.
        kill_process(getpid(), Signal::STOP).context("cannot stop")?;
        self.take_again()
    }

    /// After something else had the terminal: everything has to be drawn.
    pub(super) fn take_again(&mut self) -> Result<()> {
        take()?;
        // A new one takes the screen for empty. To clear the old one, it would ask the terminal where the cursor is, and a
        // terminal need not answer.
        self.terminal = on_empty_screen()?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn on_empty_screen() -> Result<Terminal<CrosstermBackend<Stdout>>> {
    let cleared = execute!(stdout(), Clear(ClearType::All));
    let terminal = cleared.and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
    terminal.context("cannot use the terminal")
}

fn take() -> Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    let taken = enable_raw_mode().and_then(|()| execute!(stdout(), EnterAlternateScreen, Hide));
    if taken.is_err() {
        give_back();
    }
    taken.context("cannot use the terminal")
}

/// Gives the terminal back, if it is taken. If it is gone, there is nothing to give back.
pub(super) fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        _ = disable_raw_mode();
        _ = execute!(stdout(), LeaveAlternateScreen, Show);
        _ = stdout().flush();
    }
}

/// Whether the terminal was closed: a program that is not of its session gets no signal then.
pub(super) fn is_closed() -> bool {
    let output = stdout();
    let mut looked_at = [PollFd::new(&output, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut looked_at, Some(&at_once)).is_ok()
        && looked_at[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}
