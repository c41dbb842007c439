//! From one view to the next: what a node has of a resource when members change, and how it goes on.
//!
//! Queues, pointers, tickets and clocks are about other nodes, and end with the view. Tokens and clients stay. In the new
//! view every way leads home, and the home knows where each token is, or makes it: see `docs/views.md`.

use alloc::vec::Vec;

use super::{Clocks, Context, Forest, Held, Out, Pointers, Size, TIMERS, TokenId};
use crate::Origin;
use crate::algorithm::{ClientId, NodeId};
use crate::waiters::Waiters;

/// What a node has of a resource between two views.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The tokens that are here, in the order of their numbers.
    pub tokens: Vec<KeptToken>,
    /// Local clients that wait, first come first served.
    pub waiters: Waiters,
    /// How many tokens there are, as far as this node has heard.
    pub size: Size,
}

/// A token between two views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptToken {
    /// Which one.
    pub token: TokenId,
    /// Its version: no fence that it gave is higher.
    pub version: u64,
    /// Who is inside by it.
    pub busy: Option<ClientId>,
}

/// Where a token is that is not at the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Which one.
    pub token: TokenId,
    /// Who has it.
    pub holder: NodeId,
    /// Its version.
    pub version: u64,
}

impl Kept {
    /// A client leaves.
    pub fn release(&mut self, client: ClientId) {
        self.tokens.iter_mut().filter(|token| token.busy == Some(client)).for_each(|token| token.busy = None);
    }

    /// A client that waits does so no longer.
    pub fn cancel(&mut self, client: ClientId) {
        self.waiters.remove(client);
    }

    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.waiters.is_empty()
    }
}

impl Forest {
    /// Ends a view at this node.
    pub fn freeze(self) -> Kept {
        let kept = |held: Held| KeptToken { token: held.token, version: held.version, busy: held.busy };
        let Forest { held, waiters, size, .. } = self;
        Kept { tokens: held.into_iter().map(kept).collect(), waiters, size }
    }

    /// Goes on in the next view. At the home, and only there, `elsewhere` says where the tokens are that other nodes have;
    /// those that nobody has are made, with the floor as their version. The floor is higher than any fence of the view
    /// before. There are as many tokens as the home says; what other nodes think lasts until they hear from it.
    pub fn resume(
        site: &Context<'_>,
        origin: Origin,
        kept: Kept,
        elsewhere: &[Elsewhere],
        out: &mut Out<'_>,
    ) -> Forest {
        let Kept { tokens, waiters, size } = kept;
        let at_home = site.me == site.rules.home;
        let size = if at_home { Size { stamp: origin.floor, tokens: site.tokens } } else { size };
        let old = |kept: KeptToken| Held {
            busy: kept.busy,
            ..Held::idle(kept.token, kept.version.max(origin.floor))
        };
        let mut forest = Forest {
            waiters,
            held: tokens.into_iter().map(old).collect(),
            wait: None,
            node_queue: Vec::new(),
            pointers: Pointers::default(),
            seen: None,
            registered: false,
            forgetting: false,
            home: None,
            size,
            clocks: Clocks::starting(origin.clock),
        };
        if at_home {
            for &Elsewhere { token, holder, version } in elsewhere {
                forest.pointers.set(token, holder, site.rules.home);
                if forest.uses_tickets(site) {
                    // As it was reported: the holder goes on from a floor of its own, which may be lower than that of the home.
                    forest.home().token_left(token, version);
                }
            }
            let missing = |token: &TokenId| {
                forest.place_of(*token).is_none() && elsewhere.iter().all(|other| other.token != *token)
            };
            let missing: Vec<TokenId> = (0..site.tokens).filter(missing).collect();
            missing.into_iter().for_each(|token| forest.hold(Held::idle(token, origin.floor)));
        }
        forest.settle(site, out);
        forest.check(site, out);
        let due = forest.due(site);
        (0..TIMERS)
            .filter(|&timer| due[timer])
            .for_each(|timer| out.arm(timer, forest.patience(site, timer)));
        forest
    }
}
