//! Lamport's clock and the age of what a node knows of each token. Only what the home says of tokens that came there
//! needs them, so they stay 0 where nobody forgets.

use alloc::vec::Vec;

use super::{Context, TokenId};

/// A clock, and a stamp for each token. It moves only for what is stamped or compared with a stamp: if one of those
/// comes after another, by messages, it has the higher number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Clocks {
    now: u64,
    /// The stamp of every token that is not in the list.
    base: u64,
    /// In the order of tokens.
    stamps: Vec<(TokenId, u64)>,
}

impl Clocks {
    /// All that is known is as old as this moment.
    pub(super) const fn starting(now: u64) -> Clocks {
        Clocks { now, base: now, stamps: Vec::new() }
    }

    pub(super) const fn now(&self) -> u64 {
        self.now
    }

    /// A message came with this clock.
    pub(super) fn hear(&mut self, clock: u64) {
        self.now = self.now.max(clock);
    }

    pub(super) fn tick(&mut self) {
        self.now += 1;
    }

    /// What this node knows of a token is as new as this moment.
    pub(super) fn stamp(&mut self, site: &Context<'_>, token: TokenId) {
        if !site.rules.forget {
            return;
        }
        self.tick();
        let now = self.now;
        match self.stamps.binary_search_by_key(&token, |&(stamped, _)| stamped) {
            Ok(place) => self.stamps[place].1 = now,
            Err(place) => self.stamps.insert(place, (token, now)),
        }
    }

    /// Whether something said at this time is newer than what this node knows of a token.
    pub(super) fn is_news(&self, token: TokenId, clock: u64) -> bool {
        let place = self.stamps.binary_search_by_key(&token, |&(stamped, _)| stamped);
        clock > place.map_or(self.base, |place| self.stamps[place].1)
    }
}
