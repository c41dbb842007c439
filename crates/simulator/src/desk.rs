//! What the driver knows of a node: its processor, its clients, its timers.

use std::collections::VecDeque;

use algorithms::{ClientId, Groups};

use crate::time::Ticks;

pub(crate) struct Desk {
    /// When the processor will be free.
    pub(crate) busy_until: Ticks,
    /// Whether it is busy receiving a message.
    pub(crate) receiving: bool,
    /// Letters that wait for it.
    pub(crate) inbox: VecDeque<u32>,
    /// Whether it will look for the next letter.
    pub(crate) wake_planned: bool,
    /// It does nothing before this.
    pub(crate) paused_until: Ticks,
    /// It has crashed and is not back
    pub(crate) down: bool,
    /// before this.
    pub(crate) down_until: Ticks,
    /// How often it has crashed.
    pub(crate) life: u32,
    /// What the clients are doing, by number; one where the algorithm serves one.
    pub(crate) visits: Vec<Visit>,
    /// The clients behind that one.
    pub(crate) queue: VecDeque<(Ticks, Groups)>,
    /// How many clients ask when the node is back.
    pub(crate) asleep: u32,
    /// How often each timer was armed.
    pub(crate) timers: Vec<u32>,
}

/// What a client is doing.
#[derive(Clone, Copy, Default)]
pub(crate) struct Visit {
    pub(crate) waits: bool,
    pub(crate) inside: bool,
    /// Since when it wants to be inside,
    pub(crate) asked_at: Ticks,
    /// and how often the group had changed when it asked the algorithm.
    pub(crate) switches: u64,
}

impl Desk {
    pub(crate) fn new(timers: usize) -> Desk {
        Desk {
            busy_until: 0,
            receiving: false,
            inbox: VecDeque::new(),
            wake_planned: false,
            paused_until: 0,
            down: false,
            down_until: 0,
            life: 0,
            visits: vec![Visit::default()],
            queue: VecDeque::new(),
            asleep: 0,
            timers: vec![0; timers],
        }
    }

    /// A client that neither waits nor is inside.
    pub(crate) fn idle_client(&mut self) -> ClientId {
        let idle = self.visits.iter().position(|visit| !visit.waits && !visit.inside);
        let number = idle.unwrap_or_else(|| {
            self.visits.push(Visit::default());
            self.visits.len() - 1
        });
        number as ClientId
    }

    /// How many clients wait, and how many are inside.
    pub(crate) fn present(&self) -> (u32, u32) {
        let count = |is: fn(&Visit) -> bool| self.visits.iter().filter(|visit| is(visit)).count() as u32;
        (count(|visit| visit.waits), count(|visit| visit.inside))
    }

    /// Whether a message that arrives now can be received at once.
    pub(crate) fn is_free(&self, now: Ticks) -> bool {
        !self.receiving && self.inbox.is_empty() && self.busy_until <= now
    }

    /// Until when it is paused, if it is.
    pub(crate) fn paused(&self, now: Ticks) -> Option<Ticks> {
        (self.paused_until > now).then_some(self.paused_until)
    }
}
