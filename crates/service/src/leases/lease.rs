//! Until when a node's lease lasts: its renewals, and which of them were confirmed. What comes of it is the core's business.

use std::collections::VecDeque;
use std::time::Duration;

use crate::defect::Defect;
use crate::time::Time;

/// So many renewals can be without an answer; what is older will not be answered in time anyway.
const MOST_UNANSWERED: usize = 64;

/// How many times a lease is renewed while it lasts.
const RENEWALS: u32 = 6;

/// A node's lease, in one of its lives.
///
/// A node whose lease has run out grants nothing and answers no keep-alives, but keeps its tokens and its view: with the next
/// confirmation it goes on.
#[derive(Clone, Debug)]
pub struct Lease {
    incarnation: u64,
    defect: Option<Defect>,
    until: Time,
    /// How long it was last said to last.
    lasts: Option<Duration>,
    /// The number of the last renewal.
    last: u64,
    /// When each renewal without an answer was sent.
    sent: VecDeque<(u64, Time)>,
}

impl Lease {
    /// A node that has just started, and may grant nothing yet.
    pub fn new(incarnation: u64) -> Lease {
        Lease { incarnation, defect: None, until: Time(0), lasts: None, last: 0, sent: VecDeque::new() }
    }

    /// The same with a rule left out, to see that it is needed.
    #[must_use]
    pub fn with_defect(self, defect: Option<Defect>) -> Lease {
        Lease { defect, ..self }
    }

    /// The number for a renewal. The clock is read before it is sent.
    pub fn renew(&mut self, now: Time) -> u64 {
        self.last += 1;
        self.sent.push_back((self.last, now));
        if self.sent.len() > MOST_UNANSWERED {
            self.sent.pop_front();
        }
        self.last
    }

    /// A renewal was confirmed: the lease lasts so long from when it was sent, and not shorter than before. An answer to
    /// another life, or to what was never asked, says nothing.
    pub fn confirmed(&mut self, now: Time, incarnation: u64, sequence: u64, lasts: Duration) {
        let sent = self.sent.iter().find(|(number, _)| *number == sequence);
        let Some(&(_, sent)) = sent.filter(|_| incarnation == self.incarnation) else { return };
        let from = if self.defect == Some(Defect::CountedFromReceipt) { now } else { sent };
        self.until = self.until.max(from + lasts);
        self.lasts = Some(lasts);
        self.sent.retain(|(number, _)| *number > sequence);
    }

    /// How often to renew it, if leases were agreed on to last so long: several times while it lasts, so that some may be
    /// lost. Before leases become shorter, less is promised than was agreed on.
    pub fn renewed_every(&self, agreed: Duration) -> Duration {
        self.lasts.map_or(agreed, |lasts| lasts.min(agreed)) / RENEWALS
    }

    /// Until when it lasts, on this node's clock.
    pub fn until(&self) -> Time {
        self.until
    }
}
