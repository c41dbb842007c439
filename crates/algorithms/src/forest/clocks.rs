//! Lamport's clock and the age of what a node knows about each token. Only INFORM messages of the home need
//! them, so they stay 0 without forgetting.

use alloc::vec::Vec;

use super::{Context, TokenId};

/// A clock, and a stamp for each token. The clock advances only for what is stamped or compared with a stamp:
/// of two such events, the one that comes after the other, by messages, has the higher number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Clocks {
    now: u64,
    /// The stamp of every token that is not in the list.
    base: u64,
    /// In the order of tokens.
    stamps: Vec<(TokenId, u64)>,
}

impl Clocks {
    /// A clock whose stamps are all as new as `now`.
    pub(super) const fn starting(now: u64) -> Clocks {
        Clocks { now, base: now, stamps: Vec::new() }
    }

    pub(super) const fn now(&self) -> u64 {
        self.now
    }

    /// A message arrived with this clock.
    pub(super) fn hear(&mut self, clock: u64) {
        self.now = self.now.max(clock);
    }

    pub(super) fn tick(&mut self) {
        self.now += 1;
    }

    /// Stamps what this node knows about a token with the current clock.
    pub(super) fn stamp(&mut self, site: &Context<'_>, token: TokenId) {
        if !site.rules.forget {
            return;
        }
        self.tick();
        let now = self.now;
        match self.stamps.binary_search_by_key(&token, |&(stamped, _)| stamped) {
            Ok(index) => self.stamps[index].1 = now,
            Err(index) => self.stamps.insert(index, (token, now)),
        }
    }

    /// Whether a statement of this time is newer than what this node knows about a token.
    pub(super) fn is_news(&self, token: TokenId, clock: u64) -> bool {
        let index = self.stamps.binary_search_by_key(&token, |&(stamped, _)| stamped);
        clock > index.map_or(self.base, |index| self.stamps[index].1)
    }
}
