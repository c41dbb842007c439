//! From one view to the next: what a node keeps of a resource when members change, and how it resumes.
//!
//! Queues, pointers, tickets and clocks are about other nodes, and end with the view. Tokens and clients
//! stay. In the new view every pointer leads home, and the home knows where each token is, or mints it: see
//! `docs/views.md`.

use alloc::vec::Vec;

use super::{Context, Forest, Held, Out, Size, TIMERS, TokenId};
use crate::Origin;
use crate::algorithm::{ClientId, NodeId};
use crate::waiters::Waiters;

/// What a node keeps of a resource between two views.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frozen {
    /// The tokens on this node, in the order of their numbers.
    pub tokens: Vec<FrozenToken>,
    /// Local waiters, first come first served.
    pub waiters: Waiters,
    /// How many tokens there are, as far as this node knows.
    pub size: Size,
}

/// A token between two views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrozenToken {
    /// The token.
    pub token: TokenId,
    /// Its version: none of its fences is higher.
    pub version: u64,
    /// The client that holds it.
    pub busy: Option<ClientId>,
}

/// A token at a node other than the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteToken {
    /// The token.
    pub token: TokenId,
    /// Its holder.
    pub holder: NodeId,
    /// Its version.
    pub version: u64,
}

impl Frozen {
    /// A client leaves.
    pub fn release(&mut self, client: ClientId) {
        self.tokens.iter_mut().filter(|token| token.busy == Some(client)).for_each(|token| token.busy = None);
    }

    /// A waiting client cancels.
    pub fn cancel(&mut self, client: ClientId) {
        self.waiters.remove(client);
    }

    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.waiters.is_empty()
    }
}

impl Forest {
    /// Ends a view at this node: freezes the state.
    pub fn freeze(self) -> Frozen {
        let frozen = |held: Held| FrozenToken { token: held.token, version: held.version, busy: held.busy };
        let Forest { held, waiters, size, .. } = self;
        Frozen { tokens: held.into_iter().map(frozen).collect(), waiters, size }
    }

    /// Resumes in the next view. At the home, and only there, `elsewhere` lists the tokens of other nodes;
    /// the home mints all others, with the floor as their version. The floor is higher than any fence of the
    /// previous view. The home decides how many tokens there are; other nodes keep their number until they
    /// hear from it.
    pub fn resume(
        site: &Context<'_>,
        origin: Origin,
        frozen: Frozen,
        elsewhere: &[RemoteToken],
        out: &mut Out<'_>,
    ) -> Forest {
        let Frozen { tokens, waiters, size } = frozen;
        let at_home = site.me == site.rules.home;
        let size = if at_home { Size { stamp: origin.floor, tokens: site.tokens } } else { size };
        let old = |frozen: FrozenToken| Held {
            busy: frozen.busy,
            ..Held::idle(frozen.token, frozen.version.max(origin.floor))
        };
        let mut forest = Forest::with(waiters, tokens.into_iter().map(old).collect(), size, origin);
        if at_home {
            for &RemoteToken { token, holder, version } in elsewhere {
                forest.pointers.set(token, holder, site.rules.home);
                if forest.uses_tickets(site) {
                    // As reported: the holder continues from a floor of its own, which may be lower than that
                    // of the home.
                    forest.home().token_left(token, version);
                }
            }
            let missing = |token: &TokenId| {
                forest.index_of(*token).is_none() && elsewhere.iter().all(|other| other.token != *token)
            };
            let missing: Vec<TokenId> = (0..site.tokens).filter(missing).collect();
            missing.into_iter().for_each(|token| forest.hold(Held::idle(token, origin.floor)));
        }
        forest.settle(site, out);
        forest.check(site, out);
        let due = forest.due(site);
        (0..TIMERS).filter(|&timer| due[timer]).for_each(|timer| out.arm(timer, forest.timeout(site, timer)));
        forest
    }
}
