//! A program that uses the service, with a clock of its own, and what it believes.

use std::collections::BTreeMap;

use service::client::{Client, Grant};
use service::{Time, Want};

use crate::clock::Clock;

/// A program that uses the service.
pub(crate) struct Program {
    pub(crate) node: usize,
    pub(crate) clock: Clock,
    pub(crate) client: Client,
    pub(crate) dead: bool,
    /// The name that each request is for, and what is wanted.
    pub(crate) names: BTreeMap<u64, (u32, Want)>,
}

/// What a client believes to hold.
#[derive(Clone, Debug)]
pub(crate) struct Belief {
    pub(crate) name: u32,
    pub(crate) slot: u32,
    pub(crate) fence: u64,
    /// Its group, for a room or a read-write lock.
    pub(crate) group: String,
    pub(crate) alone: bool,
}

impl Belief {
    pub(crate) fn new((name, want): &(u32, Want), grant: Grant) -> Belief {
        let group = match want {
            Want::Slot | Want::AnySlot => String::new(),
            Want::Read => "readers".to_string(),
            Want::Write => "a writer".to_string(),
            Want::AnyOf(groups) => groups[grant.group as usize].to_string(),
        };
        Belief { name: *name, slot: grant.slot, fence: grant.fence, group, alone: *want == Want::Write }
    }
}

impl Belief {
    /// Whether both may be in a room at once: in the same group, by the same opening.
    pub(crate) fn shares(&self, other: &Belief) -> bool {
        self.group == other.group && self.fence == other.fence && !self.alone && !other.alone
    }
}

impl Program {
    pub(crate) fn clock(&self, truth: Time) -> Time {
        self.clock.at(truth)
    }

    pub(crate) fn believes(&self, truth: Time) -> bool {
        !self.dead && self.client.believes(self.clock(truth))
    }

    pub(crate) fn beliefs(&self, truth: Time) -> impl Iterator<Item = Belief> {
        let believes = self.believes(truth);
        let held = self.client.held().iter().filter(move |_| believes);
        held.map(|(request, grant)| Belief::new(&self.names[request], *grant))
    }
}
