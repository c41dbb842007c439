//! As many nodes share one token as another: nodes leave a queue that is too long, and a node that has a token
//! almost for itself invites others. Only the token that a node requests next changes, so nothing relies on
//! these rules for its correctness.

use super::{Body, Context, Forest, Held, Out, TokenId};

impl Forest {
    /// Whether this node leaves the queue of a token that it sends on, because more nodes wait for it than its
    /// share of them. It then requests the next token.
    pub(super) fn leaves_long_queue(&mut self, site: &Context<'_>, held: &Held, out: &mut Out<'_>) -> bool {
        let tokens = self.size.tokens;
        let share = site.nodes.div_ceil(tokens.max(1)) as usize;
        if !site.rules.balance || tokens < 2 || held.token >= tokens || held.queue.len() < share {
            return false;
        }
        out.note("a node left a long queue for another token");
        self.seen = Some((held.token + 1) % tokens);
        true
    }

    /// Invites a node to request the token by which a client has just entered, if no request has come for it
    /// for many entries, and other tokens are elsewhere: after 8, 16, 32 and so on. So a node that uses a
    /// semaphore alone sends almost nothing. With fewer than 8, chance would often look like a token that few
    /// nodes request, and at light load invitations cost more than they bring.
    ///
    /// Where there is a token for each node, a holder that is alone with its token has no more than its share.
    /// Nodes that share a token there leave its queue, however short, and need no invitation.
    pub(super) fn invite(&mut self, site: &Context<'_>, index: usize, out: &mut Out<'_>) {
        let one_for_each = self.size.tokens >= site.nodes;
        let all_here = self.usable() == self.size.tokens as usize;
        let held = &mut self.held[index];
        if !site.rules.balance || one_for_each || all_here || !held.queue.is_empty() {
            return;
        }
        held.undisturbed = held.undisturbed.saturating_add(1);
        let first = site.rules.invite.max(1);
        let doubled = held.undisturbed.is_multiple_of(first) && (held.undisturbed / first).is_power_of_two();
        if !doubled {
            return;
        }
        let token = held.token;
        if site.nodes > 1 {
            let other = out.pick(site.nodes - 1);
            let to = other + u32::from(other >= site.me);
            self.send(site, to, Body::Invite { token }, out);
        }
    }

    pub(super) fn on_invite(&mut self, token: TokenId, out: &mut Out<'_>) {
        if token < self.size.tokens {
            out.note("a node was invited to ask for a token");
            // A node that waits is about to receive another token.
            (self.seen, self.invited) = (Some(token), self.wait.is_some());
        }
    }
}
