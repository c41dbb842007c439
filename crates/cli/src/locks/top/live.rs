//! The live view: answers of nodes, keys and signals come in, frames go out to the terminal.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::terminal::disable_raw_mode;
use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::following::Following;
use super::frame::Frame;
use super::screen::{self, Screen};
use super::ui::{Asked, Ui};
use super::view::{self, Detail};
use crate::terminal::signals::Signals;

/// How often it looks whether there is something new to draw.
const LOOK: Duration = Duration::from_millis(100);
/// A terminal that does not take what is drawn does not keep the program from ending for longer than this.
const LONGEST_END: Duration = Duration::from_secs(2);

/// What wakes the main loop besides answers.
enum Woken {
    Key(Option<Event>),
    Ended,
    Stopped,
    Continued,
    Look,
}

/// Shows the cluster until a key or a signal ends it.
pub(super) async fn show(mut following: Following, every: Duration, prefix: String) -> Result<()> {
    let mut signals = Signals::listen()?;
    let (mut stops, mut continues) = (listen(Signal::TSTP)?, listen(Signal::CONT)?);
    let mut ends = Signals::listen()?;
    tokio::spawn(async move {
        // The main loop may be stuck in drawing.
        ends.next().await;
        end_soon();
    });
    let mut screen = Screen::take()?;
    let mut keys = keys();
    let mut view = View { ui: Ui::new(prefix), frame: Frame::default(), detail: None, built: None };
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut draws = true;
    loop {
        if draws {
            let View { ui, frame, detail, .. } = &mut view;
            screen.terminal.draw(|area| view::draw(area, frame, ui, detail.as_ref()))?;
        }
        let woken = tokio::select! {
            () = following.next() => { draws = false; continue }
            key = keys.recv() => Woken::Key(key),
            _ = signals.next() => Woken::Ended,
            _ = stops.recv() => Woken::Stopped,
            _ = continues.recv() => Woken::Continued,
            _ = looks.tick() => Woken::Look,
        };
        let asked = match woken {
            Woken::Key(Some(Event::Key(key))) => view.ui.press(key, &view.frame),
            Woken::Key(Some(_)) => Asked::Nothing,
            Woken::Key(None) | Woken::Ended => Asked::End,
            Woken::Stopped => Asked::Stop,
            Woken::Continued => {
                screen.take_again()?;
                Asked::Nothing
            }
            Woken::Look if screen::is_closed() => Asked::End,
            Woken::Look => {
                draws = view.renew(&mut following, every);
                continue;
            }
        };
        draws = true;
        match asked {
            Asked::Nothing => {}
            Asked::End => break,
            Asked::Stop => {
                screen.stop()?;
            }
            Asked::Filter(prefix) => {
                following.filter(&prefix);
                view.built = None;
            }
            Asked::Inspect(name) => {
                following.inspect(name);
                view.detail = None;
                view.built = None;
            }
        }
    }
    end_soon();
    drop(screen);
    Ok(())
}

/// What is shown, and what the keys have chosen.
struct View {
    ui: Ui,
    frame: Frame,
    detail: Option<Detail>,
    /// When the frame was made; it is made at once if that is not known.
    built: Option<Instant>,
}

impl View {
    /// Makes another frame, if it is time. Returns whether it did.
    fn renew(&mut self, following: &mut Following, every: Duration) -> bool {
        let pause = every.min(Duration::from_secs(1));
        // While nodes have not answered, there is something new with each answer.
        let is_time = self.built.is_none_or(|built| built.elapsed() >= pause) || !following.has_heard_all();
        if !is_time {
            return false;
        }
        self.built = Some(Instant::now());
        if !self.ui.held {
            self.frame = following.frame();
            self.ui.follow(&self.frame);
            if let Some(name) = &self.ui.inspected {
                self.detail = Detail::of(&following.model, name);
                // An answer is on its way.
                self.built = self.built.filter(|_| self.detail.is_some());
            }
        }
        let (first, names) = (self.ui.index(super::ui::Table::Names), self.ui.names(&self.frame));
        let page = self.ui.page;
        let near = names.into_iter().skip(first.saturating_sub(page)).take(2 * page);
        following.track(&self.frame, near.map(|row| &*row.name));
        true
    }
}

fn listen(which: Signal) -> Result<unix::Signal> {
    signal(SignalKind::from_raw(which.as_raw())).context("cannot listen for signals")
}

/// The keys that are pressed, and other events of the terminal. None comes any more when the terminal is gone.
fn keys() -> mpsc::Receiver<Event> {
    let (sender, receiver) = mpsc::channel(64);
    // A thread, because reading blocks; it ends with the program.
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.blocking_send(event).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Ends the program also if the terminal takes nothing, so that giving it back blocks.
fn end_soon() {
    std::thread::spawn(|| {
        std::thread::sleep(LONGEST_END);
        _ = disable_raw_mode();
        std::process::exit(0);
    });
}
