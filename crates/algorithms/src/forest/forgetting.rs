//! Idle tokens go home, and inactive nodes learn to point there. Their state is then the initial one and need
//! not be kept.

use alloc::vec;
use alloc::vec::Vec;

use super::{Body, Clocks, Context, Forest, Held, Out, Pointers, Size, TokenId};
use crate::Origin;
use crate::algorithm::NodeId;
use crate::waiters::Waiters;

impl Forest {
    /// The initial state: all tokens are at the home, and all pointers lead there.
    pub fn create(site: &Context<'_>, origin: Origin) -> Forest {
        // Only the home's announcements have a stamp. A home that has dropped its state continues with a
        // higher one.
        let stamp = if site.me == site.rules.home { origin.floor } else { 0 };
        Forest::of_size(site, origin, Size { stamp, tokens: site.tokens })
    }

    /// The same with this number of tokens.
    fn of_size(site: &Context<'_>, origin: Origin, size: Size) -> Forest {
        let tokens = if site.me == site.rules.home { size.tokens } else { 0 };
        let held = (0..tokens).map(|token| Held::idle(token, origin.floor)).collect();
        Forest::with(Waiters::default(), held, size, origin)
    }

    /// A state with these waiters and tokens and without requests.
    pub(super) fn with(waiters: Waiters, held: Vec<Held>, size: Size, origin: Origin) -> Forest {
        Forest {
            waiters,
            held,
            wait: None,
            node_queue: Vec::new(),
            pointers: Pointers::default(),
            seen: None,
            invited: false,
            registered: false,
            forgetting: false,
            home: None,
            size,
            clocks: Clocks::starting(origin.clock),
        }
    }

    /// Whether this state may be dropped and created again from the returned origin: at the home if all
    /// tokens are there and idle, elsewhere if all pointers lead home, and nothing waits or is expected.
    pub fn droppable(&self, site: &Context<'_>) -> Option<Origin> {
        let quiet = self.waiters.is_empty() && self.wait.is_none() && !self.registered;
        let at_home = site.me == site.rules.home;
        let all_home = if at_home {
            self.held.len() == self.size.tokens as usize
                && self.held.iter().all(Held::is_idle)
                && self.home.as_ref().is_none_or(|home| home.is_idle())
        } else {
            self.held.is_empty() && self.pointers.are_unchanged()
        };
        let floor = || {
            let versions = self.held.iter().map(|held| held.version).max().unwrap_or(0);
            let retired = self.home.as_ref().map_or(0, |home| home.retired);
            // Higher than the stamp, if there are any.
            let stamped = if at_home && self.size.stamp > 0 { self.size.stamp + 1 } else { 0 };
            versions.max(retired).max(stamped)
        };
        (quiet && all_home).then(|| Origin { floor: floor(), clock: self.clocks.now() })
    }

    /// Whether this is the home and it could fetch an idle token.
    pub(super) fn could_fetch(&self, site: &Context<'_>) -> bool {
        let quiet = self.waiters.is_empty() && self.wait.is_none();
        site.rules.forget && quiet && self.fetchable(site).is_some()
    }

    /// Whether the token that the home would fetch is retiring.
    pub(super) fn fetches_retiring(&self, site: &Context<'_>) -> bool {
        self.fetchable(site).is_some_and(|token| token >= self.size.tokens)
    }

    fn fetchable(&self, site: &Context<'_>) -> Option<TokenId> {
        let home = self.home.as_ref().filter(|home| home.may_fetch)?;
        let mut elsewhere = home.tickets.iter().filter(|ticket| ticket.holder != site.me);
        // Retiring tokens come first.
        let retiring = elsewhere.clone().find(|ticket| ticket.token >= self.size.tokens);
        Some(retiring.or_else(|| elsewhere.next())?.token)
    }

    /// The home requests an idle token.
    pub(super) fn fetch(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        if self.could_fetch(site)
            && let Some(token) = self.fetchable(site)
        {
            out.note("the home fetched a token");
            self.ask(site, token, out);
        }
    }

    /// Whether this node is inactive, and its state differs from the initial one only in some pointers.
    pub(super) fn wants_to_forget(&self, site: &Context<'_>) -> bool {
        let inactive = self.waiters.is_empty() && self.held.is_empty() && self.wait.is_none();
        let away = site.me != site.rules.home && !self.pointers.are_unchanged();
        site.rules.forget && inactive && away && !self.forgetting
    }

    /// At the home: a token has arrived.
    pub(super) fn token_came_home(&mut self, site: &Context<'_>, token: TokenId, out: &mut Out<'_>) {
        let home = self.home();
        home.token_came(token);
        let waiting = core::mem::take(&mut home.forgetting);
        let (now, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|&(_, other)| other == token);
        home.forgetting = later;
        for (node, token) in now {
            self.inform(site, node, vec![token], out);
        }
    }

    fn inform(&mut self, site: &Context<'_>, node: NodeId, tokens: Vec<TokenId>, out: &mut Out<'_>) {
        self.clocks.tick();
        self.send(site, node, Body::Inform { tokens }, out);
    }

    /// At the home: a node asks for an INFORM about these tokens, now or when they arrive.
    pub(super) fn on_forget(
        &mut self,
        site: &Context<'_>,
        node: NodeId,
        tokens: &[TokenId],
        out: &mut Out<'_>,
    ) {
        let (here, away): (Vec<_>, Vec<_>) =
            tokens.iter().partition(|&&token| self.index_of(token).is_some() || self.is_retired(site, token));
        for token in away {
            let forgetting = &mut self.home().forgetting;
            if !forgetting.contains(&(node, token)) {
                forgetting.push((node, token));
            }
        }
        if !here.is_empty() {
            self.inform(site, node, here, out);
        }
    }

    /// The home has some tokens. Ignored unless that is newer than what this node knows.
    pub(super) fn on_inform(
        &mut self,
        site: &Context<'_>,
        tokens: &[TokenId],
        clock: u64,
        out: &mut Out<'_>,
    ) {
        for &token in tokens {
            let mine = self.wait == Some(token) || self.index_of(token).is_some();
            if self.clocks.is_news(token, clock) && !mine {
                out.note("an INFORM was taken");
                self.pointers.reset(token);
            } else {
                out.note("an INFORM was old");
            }
        }
        self.forget(site, out);
    }

    /// Drops the state if it may be dropped, as a driver might do at any time.
    pub(super) fn forget(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        if let Some(origin) = self.droppable(site) {
            out.note("a node forgot");
            let retired = self.home.as_ref().map_or(0, |home| home.retired);
            *self = Forest::of_size(site, origin, self.size);
            if retired > 0 {
                // Tokens created later start from there.
                self.home().retired = retired;
            }
        }
    }
}
