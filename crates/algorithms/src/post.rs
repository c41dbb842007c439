//! Messages of a node that is also a member of its own quorum.

use alloc::collections::VecDeque;

use crate::algorithm::{Algorithm, NodeId, Outbox};

/// Sends messages to other nodes; a message to this node itself costs nothing and is handled in the same
/// step.
pub(crate) struct Post<'p, 'o, A: Algorithm> {
    me: NodeId,
    /// Where everything else goes.
    pub(crate) out: &'p mut Outbox<'o, A>,
    local: VecDeque<A::Message>,
}

impl<'p, 'o, A: Algorithm> Post<'p, 'o, A> {
    pub(crate) fn new(me: NodeId, out: &'p mut Outbox<'o, A>) -> Self {
        Post { me, out, local: VecDeque::new() }
    }

    pub(crate) fn send(&mut self, to: NodeId, message: A::Message) {
        if to == self.me {
            self.local.push_back(message);
        } else {
            self.out.send(to, message);
        }
    }

    /// The oldest message to this node itself that is not yet handled.
    pub(crate) fn next_local(&mut self) -> Option<A::Message> {
        self.local.pop_front()
    }
}
