//! The invariants of a node, checked after every step: a defect shows here first.

use alloc::vec::Vec;

use super::message::Effect;
use super::mode::Mode;
use super::room::{Context, Room};

impl<M: Mode> Room<M> {
    pub(super) fn check(&self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        let mut never = |holds: bool, otherwise: &'static str| {
            if !holds {
                effects.push(Effect::Never(otherwise));
            }
        };
        never(self.waiters.is_empty() || self.asked, "a client waits and its node has not asked");
        never(self.parked.is_empty() || self.asked, "requests are parked at a node that does not wait");
        match &self.token {
            Some(token) => {
                never(self.parked.is_empty(), "requests are parked beside the token");
                never(self.pointer == site.me, "the holder of the token points elsewhere");
                never(
                    !self.asked || !self.waiters.is_empty(),
                    "the holder of the token asks without a waiter",
                );
                never(self.following.is_none(), "the holder of the token follows another");
                match &token.session {
                    Some(session) => {
                        let used = self.inside > 0 || !session.followers.is_empty();
                        never(used, "a room is open and no client is inside");
                        never(token.passed <= site.rules.passes, "too many passed the queue");
                        never(
                            self.earlier_opening.is_none(),
                            "the captain's clients are inside by another node's opening",
                        );
                        let alone = self.inside == 1 && session.followers.is_empty();
                        never(alone || !session.alone, "an exclusive client is not alone");
                    }
                    None => {
                        never(token.queue.is_empty(), "a token lies idle and its queue is not empty");
                        never(self.inside == 0, "a client is inside a room that is not open");
                    }
                }
            }
            None => {
                never(self.pointer != site.me || self.asked, "a node points to itself and has not asked");
                match &self.following {
                    Some(opening) => {
                        never(self.inside > 0, "a node follows and none of its clients is inside");
                        never(self.pointer == opening.captain, "a follower does not point to its captain");
                        never(self.parked.is_empty(), "requests are parked at a follower");
                    }
                    None => {
                        let open = self.inside == 0 || self.earlier_opening.is_some();
                        never(open, "a client is inside a room that is not open");
                    }
                }
            }
        }
        never(self.earlier_opening.is_none() || self.inside > 0, "an earlier opening outlives its clients");
    }
}
