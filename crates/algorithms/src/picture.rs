//! What a picture of a run shows of a node and of a message: tokens, pointers, queues, permissions. The algorithm fills
//! it in; whatever draws it knows no algorithm.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

use crate::algorithm::{Groups, NodeId, TokenId};

/// What there is to draw at a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// The tokens that are here. Tokens without numbers are all number 0.
    pub tokens: Vec<TokenId>,
    /// The token that this node has requested, where requests name one.
    pub asks: Option<TokenId>,
    /// The nodes that this node would send something to: the ways to tokens, successors, parents.
    pub pointers: Vec<Pointer>,
    /// Requests in the queue of what is here, the next one first.
    pub queue: Vec<Place>,
    /// Requests that are kept here for later, and do not wait for a token that is here.
    pub keeps: Vec<Place>,
    /// Permissions, locks and other relations between two nodes that are no way to a token.
    pub ties: Vec<Tie>,
    /// Everything else, each with its name.
    pub facts: Vec<(&'static str, String)>,
}

/// A pointer to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// What the algorithm calls it.
    pub name: &'static str,
    /// The token that it leads to, where there are several.
    pub token: Option<TokenId>,
    /// Where it leads.
    pub to: NodeId,
}

/// A request in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The requesting node.
    pub node: NodeId,
    /// The token in whose queue it is, where there are several.
    pub token: Option<TokenId>,
    /// The node that turned the request into one for this token.
    pub via: Option<NodeId>,
    /// The groups that it accepts, where there are groups.
    pub groups: Option<Groups>,
}

impl From<NodeId> for Place {
    fn from(node: NodeId) -> Place {
        Place { node, token: None, via: None, groups: None }
    }
}

/// A relation to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tie {
    /// What the algorithm calls it.
    pub name: &'static str,
    /// The other node.
    pub to: NodeId,
}

/// What there is to draw of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The token that it carries. Tokens without numbers are number 0.
    pub token: Option<TokenId>,
    /// The token that it asks for, where requests name one.
    pub asks: Option<TokenId>,
    /// The node whose request it is, if the message names it.
    pub origin: Option<NodeId>,
}

impl Contents {
    /// A message that carries this token.
    pub const fn token(token: TokenId) -> Contents {
        Contents { token: Some(token), asks: None, origin: None }
    }

    /// The request of this node.
    pub const fn request(origin: NodeId) -> Contents {
        Contents { token: None, asks: None, origin: Some(origin) }
    }
}

impl Picture {
    /// A token without a number is here, if it is.
    pub fn token_if(&mut self, here: bool) {
        self.tokens.extend(here.then_some(0));
    }

    /// A pointer where there is one token, if it leads anywhere.
    pub fn point(&mut self, name: &'static str, to: impl Into<Option<NodeId>>) {
        self.pointers.extend(to.into().map(|to| Pointer { name, token: None, to }));
    }

    /// Requests of these nodes wait for what is here.
    pub fn queue(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        self.queue.extend(nodes.into_iter().map(Place::from));
    }

    /// Requests of these nodes are kept.
    pub fn keep(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        self.keeps.extend(nodes.into_iter().map(Place::from));
    }

    /// The same relation to these nodes.
    pub fn tie(&mut self, name: &'static str, nodes: impl IntoIterator<Item = NodeId>) {
        self.ties.extend(nodes.into_iter().map(|to| Tie { name, to }));
    }

    /// A value.
    pub fn fact(&mut self, name: &'static str, value: impl Display) {
        self.facts.push((name, value.to_string()));
    }

    /// A value, if there is one.
    pub fn fact_if(&mut self, name: &'static str, value: Option<impl Display>) {
        self.facts.extend(value.map(|value| (name, value.to_string())));
    }

    /// A number for each node, in the order of nodes.
    pub fn numbers(&mut self, name: &'static str, numbers: &[u32]) {
        let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        self.facts.push((name, texts.join(" ")));
    }

    /// Adds what is drawn of a node of a cluster whose nodes count from `base`, and whose tokens have that number.
    pub(crate) fn add_shifted(&mut self, inner: Picture, base: NodeId) {
        let token = |token: TokenId| base + token;
        let place = |place: Place| Place {
            node: base + place.node,
            token: place.token.map(token),
            via: place.via.map(|node| base + node),
            groups: place.groups,
        };
        self.tokens.extend(inner.tokens.into_iter().map(token));
        self.asks = inner.asks.map(token);
        let shifted =
            |pointer: Pointer| Pointer { token: pointer.token.map(token), to: base + pointer.to, ..pointer };
        self.pointers.extend(inner.pointers.into_iter().map(shifted));
        self.queue.extend(inner.queue.into_iter().map(place));
        self.keeps.extend(inner.keeps.into_iter().map(place));
        self.ties.extend(inner.ties.into_iter().map(|tie| Tie { to: base + tie.to, ..tie }));
        self.facts.extend(inner.facts);
    }
}
