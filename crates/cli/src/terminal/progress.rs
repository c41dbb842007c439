//! A line on standard error that shows the progress of a long computation. Silent without a terminal: logs of schedulers
//! stay short.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sync::IgnorePoison;

use crate::terminal::output::draw;
use crate::terminal::table;

/// Redrawn at most this often.
const PAUSE: Duration = Duration::from_millis(300);
/// How many characters the bar has.
const WIDTH: u64 = 20;

/// A line on standard error that is drawn over and over; nothing if that is no terminal.
pub(crate) struct ProgressLine(Option<Mutex<Drawn>>);

struct Drawn {
    at: Instant,
    /// How many characters there are to be overwritten.
    length: usize,
}

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        let drawn = Mutex::new(Drawn { at: Instant::now(), length: 0 });
        ProgressLine(std::io::stderr().is_terminal().then_some(drawn))
    }

    /// Draws this text, unless the line was drawn a moment ago or another thread is drawing.
    pub(crate) fn show(&self, text: impl FnOnce() -> String) {
        let Some(mut drawn) = self.0.as_ref().and_then(|drawn| drawn.try_lock().ignore_poison()) else {
            return;
        };
        if drawn.at.elapsed() >= PAUSE {
            drawn.draw(&text());
        }
    }

    /// Draws this text at once.
    fn show_now(&self, text: &str) {
        if let Some(drawn) = &self.0 {
            drawn.lock().ignore_poison().draw(text);
        }
    }

    /// Takes the line away: what follows says the same in words.
    pub(crate) fn clear(&self) {
        if self.0.is_some() {
            self.show_now("");
            draw!("\r");
        }
    }
}

/// Takes away what a line of progress has drawn, whichever drew it.
pub(crate) fn clear_line() {
    let width = table::width_of(&std::io::stderr()).unwrap_or(1);
    draw!("\r{}\r", " ".repeat(width.saturating_sub(1)));
}

impl Drawn {
    fn draw(&mut self, text: &str) {
        // A line that is broken cannot be drawn over.
        let width = table::width_of(&std::io::stderr()).map_or(usize::MAX, |width| width.saturating_sub(1));
        let text: String = text.chars().take(width).collect();
        let length = text.chars().count();
        let blanks = " ".repeat(self.length.saturating_sub(length));
        draw!("\r{text}{blanks}");
        (self.length, self.at) = (length, Instant::now());
    }
}

/// How far a computation has come.
pub(crate) struct Progress {
    what: String,
    total: u64,
    began: Instant,
    done: AtomicU64,
    line: ProgressLine,
}

impl Progress {
    /// Nothing done so far of so many entries.
    pub(crate) fn new(what: &str, total_entries: u64) -> Progress {
        let (began, done, line) = (Instant::now(), AtomicU64::new(0), ProgressLine::new());
        let progress = Progress { what: what.to_string(), total: total_entries, began, done, line };
        progress.line.show_now(&progress.text(0, 0.0));
        progress
    }

    /// So many more are done.
    pub(crate) fn add(&self, entries: u64) {
        let done = self.done.fetch_add(entries, Ordering::Relaxed) + entries;
        self.line.show(|| self.text(done, self.began.elapsed().as_secs_f64()));
    }

    /// Takes the line away: what follows says the same in words.
    pub(crate) fn finish(&self) {
        self.line.clear();
    }

    fn text(&self, done: u64, seconds: f64) -> String {
        let share = if self.total == 0 { 1.0 } else { (done as f64 / self.total as f64).min(1.0) };
        let filled = (share * WIDTH as f64) as u64;
        let bar: String = (0..WIDTH).map(|cell| if cell < filled { '█' } else { '░' }).collect();
        let percent = (share * 100.0) as u64;
        let start = format!("{} {bar} {percent:3} %", self.what);
        let so_far = format!("{} of {} entries", short(done as f64), short(self.total as f64));
        if done == 0 && seconds >= 1.0 {
            // Something happens, though nothing is finished.
            return format!("{start}  {so_far}, {} so far", clock(seconds));
        }
        if done == 0 || seconds == 0.0 {
            return format!("{start}  {so_far}");
        }
        let rate = done as f64 / seconds;
        let left = clock(self.total.saturating_sub(done) as f64 / rate);
        format!("{start}  {so_far}, {}/s, {left} left", short(rate))
    }
}

/// A number in a few characters.
pub(crate) fn short(number: f64) -> String {
    let scales = [(1e9, " G"), (1e6, " M"), (1e4, " k")];
    let Some((from, unit)) = scales.into_iter().find(|(from, _)| number >= *from) else {
        return format!("{number:.0}");
    };
    let value = number / if unit == " k" { 1e3 } else { from };
    if value < 100.0 { format!("{value:.1}{unit}") } else { format!("{value:.0}{unit}") }
}

/// A length of time in a few characters.
fn clock(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    let (days, hours, minutes) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{:02}", seconds % 60),
        (0, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_short() {
        assert_eq!(short(9999.0), "9999");
        assert_eq!(short(12_345.0), "12.3 k");
        assert_eq!(short(512_345.0), "512 k");
        assert_eq!(short(3_000_000.0), "3.0 M");
        assert_eq!(clock(79.2), "1:20");
        assert_eq!(clock(3600.0 * 5.5), "5 h 30 min");
        assert_eq!(clock(86400.0 * 2.0 + 3600.0), "2 d 1 h");
    }

    #[test]
    fn a_line_fits_a_terminal() {
        let progress = Progress {
            what: "sweep".into(),
            total: 2_000_000_000,
            began: Instant::now(),
            done: AtomicU64::new(0),
            line: ProgressLine(None),
        };
        let text = progress.text(123_456_789, 100.0);
        assert_eq!(text, "sweep █░░░░░░░░░░░░░░░░░░░   6 %  123 M of 2.0 G entries, 1.2 M/s, 25:21 left");
        assert!(text.chars().count() < 80);
        let text = progress.text(0, 61.5);
        assert_eq!(text, "sweep ░░░░░░░░░░░░░░░░░░░░   0 %  0 of 2.0 G entries, 1:02 so far");
    }
}
