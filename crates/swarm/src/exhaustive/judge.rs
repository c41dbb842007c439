//! The properties of every state, and those of its future if nothing more goes wrong.

use std::fmt;

use std::collections::BTreeSet;

use super::action::Action;
use super::violation::Violation;
use super::world::World;

/// A grant to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Given {
    /// The slot.
    pub slot: u32,
    /// The fence.
    pub fence: u64,
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {} with fence {}", self.slot, self.fence)
    }
}

/// A waiter that is not served after this many steps never will be.
const MOST_STEPS: u32 = 2000;

impl World {
    /// A node grants a request: earlier holders know that their grants are over, and have lower fences.
    pub(crate) fn give(&mut self, number: usize, given: Given) -> Result<(), Violation> {
        self.granted += 1;
        let group = self.group_of(number);
        for (other, client) in self.clients.iter().enumerate().filter(|(other, _)| *other != number) {
            let Some(held) = client.holds.filter(|_| client.promised) else { continue };
            let shares = self.has_rooms() && self.group_of(other) == group && held.fence == given.fence;
            if held.slot == given.slot && !shares {
                return Err(Violation::HeldTwice { granted: (number, given), held: (other, held) });
            }
        }
        let shared = self.has_rooms();
        let highest = self.highest.entry(given.slot).or_default();
        let rises = given.fence > *highest || shared && given.fence == *highest;
        if !rises {
            return Err(Violation::FenceFalls { granted: (number, given), highest: *highest });
        }
        *highest = given.fence;
        let client = &mut self.clients[number];
        (client.promised, client.holds) = (true, Some(given));
        Ok(())
    }

    /// In a view there is one token of each slot.
    pub(crate) fn judge_tokens(&self) -> Result<(), Violation> {
        let mut tokens = BTreeSet::new();
        for core in self.nodes.iter().filter_map(|node| node.core()) {
            let epoch = core.view().epoch;
            for (_, _, slot) in core.tokens() {
                if !tokens.insert((epoch, slot)) {
                    return Err(Violation::TwoTokens { slot, epoch });
                }
            }
        }
        Ok(())
    }

    /// Nothing more goes wrong: every waiter is served.
    pub(crate) fn drain(&mut self) -> Result<(), Violation> {
        self.failures = 0;
        self.clients.iter_mut().for_each(|client| client.rounds = 0);
        for _ in 0..MOST_STEPS {
            let Some(action) = self.next_to_serve() else { break };
            self.step(action)?;
        }
        let waits = |number: &usize| self.clients[*number].waits;
        match (0..self.clients.len()).find(waits) {
            Some(client) => Err(Violation::NeverServed(client)),
            None => Ok(()),
        }
    }

    /// The next step that helps to serve all waiters: nodes learn of views, messages arrive, holders release,
    /// and timers expire only when nothing else is left.
    fn next_to_serve(&mut self) -> Option<Action> {
        self.timers = 1;
        let actions = self.actions();
        let rank = |action: &Action| match action {
            Action::Exclude(_) | Action::Discover(_) => Some(0),
            Action::Renew(_) => Some(1),
            Action::Learn(_, epoch) if *epoch == self.epoch() => Some(2),
            Action::Deliver(..) => Some(3),
            Action::Release(_) => Some(4),
            Action::Timer(..) => Some(5),
            _ => None,
        };
        actions
            .into_iter()
            .filter_map(|action| Some((rank(&action)?, action)))
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, action)| action)
    }
}
