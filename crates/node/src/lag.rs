//! How late the loops of a node are: the thread that owns the sockets, and the runtime.
//!
//! Each loop looks at the clock again and again, as often as its heart beats. What it is later than it wanted to be is how
//! long anything else that came due then had to wait.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use service::metrics::{Histogram, TIMES};
use sync::IgnorePoison;
use transport::reactor::{Next, Ready, Round, Source};

use crate::watchdog::BEAT;

/// How late one loop was, each time that it looked.
pub(crate) struct Lag(Mutex<Histogram>);

impl Default for Lag {
    fn default() -> Lag {
        Lag(Mutex::new(Histogram::new(&TIMES)))
    }
}

impl Lag {
    /// It was so much later than it wanted to be.
    pub(crate) fn add(&self, late: Duration) {
        self.0.lock().ignore_poison().add_time(late);
    }

    pub(crate) fn measured(&self) -> Histogram {
        self.0.lock().ignore_poison().clone()
    }
}

/// Measures how late the reactor is.
pub(crate) struct Probe {
    lag: Arc<Lag>,
    due: Instant,
}

impl Probe {
    pub(crate) fn new(lag: Arc<Lag>) -> Probe {
        Probe { lag, due: Instant::now() + BEAT }
    }
}

impl Source for Probe {
    fn socket(&mut self) -> Option<(&mut dyn mio::event::Source, mio::Interest)> {
        None
    }

    fn visit(&mut self, _ready: Ready, _round: &mut Round<'_>) -> Next {
        // Others of this round may have come first.
        let now = Instant::now();
        if now >= self.due {
            self.lag.add(now - self.due);
            self.due = now + BEAT;
        }
        Next::Wait
    }

    fn due(&self) -> Option<Instant> {
        Some(self.due)
    }

    fn close(self: Box<Self>, _round: &mut Round<'_>) {}
}
