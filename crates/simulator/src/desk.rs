//! What the driver knows of a node: its processor, its clients, its timers.

use std::collections::VecDeque;

use algorithms::Groups;

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
    /// Whether the client in front waits, or is inside, and since when it wants to be.
    pub(crate) waits: bool,
    pub(crate) inside: bool,
    pub(crate) asked_at: Ticks,
    /// The clients behind it.
    pub(crate) queue: VecDeque<(Ticks, Groups)>,
    /// How many clients ask when the node is back.
    pub(crate) asleep: u32,
    /// How often each timer was armed.
    pub(crate) timers: Vec<u32>,
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
            waits: false,
            inside: false,
            asked_at: 0,
            queue: VecDeque::new(),
            asleep: 0,
            timers: vec![0; timers],
        }
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
