//! Raymond's mutex on a static tree: every node knows which neighbour leads to the privilege and keeps a
//! queue of neighbours (or itself) that request it. Each node has at most one outstanding request. Source:
//! Raymond, ACM TOCS 7(1), 1989. Page: `docs/algorithms/raymond-tree.md`.

use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, Tokens};
use crate::picture::{Contents, Picture};
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};
use crate::tree::{self, SHAPE, Shape};

#[cfg(test)]
mod paper;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RaymondTree {
    /// The neighbour that leads to the privilege, or this node if it is here.
    holder: NodeId,
    /// Whether the client is inside.
    using: bool,
    /// The requesters of the privilege: neighbours, and this node for its own client; each at most once.
    queue: Vec<NodeId>,
    /// Whether a request to the holder is outstanding.
    asked: bool,
}

/// What neighbours send. Neither names the requester: the receiver needs only the sender.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A node on this side requests the privilege.
    Request,
    /// The privilege.
    Privilege,
}

impl Algorithm for RaymondTree {
    type Message = Message;
    type Durable = ();
    type Rules = Shape;

    const INFO: Info = Info {
        name: "raymond-tree",
        title: "one token on a static tree, a queue of neighbours on each node",
        kind: Kind::Mutex,
        source: "Raymond 1989 (background of 001 and 002)",
        cost: "0 if the token is here; at most 2 × diameter alone; at most 4 at saturation",
        tokens: Tokens::One,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: true,
        options: &[SHAPE],
        timers: &[],
        sometimes: &[
            "a node joined a request that was under way already",
            "the privilege left and was asked back at once",
        ],
        suite: tree::SUITE,
        defects: &[],
    };

    fn rules(setting: &Setting) -> Result<Shape, SettingError> {
        Ok(Shape::of(setting))
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let holder = site.rules.parent(site.me).unwrap_or(site.me);
        RaymondTree { holder, using: false, queue: Vec::new(), asked: false }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.enqueue(site.me, out),
            Input::Exit { .. } => self.using = false,
            Input::Deliver { from, message: Message::Request } => self.enqueue(from, out),
            Input::Deliver { from, message: Message::Privilege } => {
                if self.holder != from || !self.asked {
                    out.never("the privilege comes from a neighbour that was not asked for it");
                }
                (self.holder, self.asked) = (site.me, false);
            }
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
        self.assign(site, out);
        self.ask(site, out);
    }

    fn count(&self, site: &Site<'_, Self>, census: &mut Census) {
        census.queue(self.queue.len());
        if self.holder == site.me {
            census.token_here();
        }
        // A neighbour's entry stands for a whole side of the tree; only a node's own entry is a client's
        // request.
        self.queue.iter().filter(|&&node| node == site.me).for_each(|&node| census.request_of(node));
    }

    fn count_message(message: &Message, _: NodeId, census: &mut Census) {
        match message {
            Message::Request => {}
            Message::Privilege => census.token_moving(),
        }
    }

    fn allows_renaming(_: &Shape, _: &Renaming) -> bool {
        true
    }

    fn rename(&mut self, _: &Shape, renaming: &Renaming) {
        renaming.rename([&mut self.holder]);
        renaming.rename(&mut self.queue);
    }

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        picture.token_if(self.holder == site.me);
        picture.point("holder", (self.holder != site.me).then_some(self.holder));
        picture.queue(self.queue.iter().copied());
        picture.fact_if("asked", self.asked.then_some("the holder"));
    }

    fn draw_message(message: &Message) -> Contents {
        match message {
            Message::Request => Contents::default(),
            Message::Privilege => Contents::token(0),
        }
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request => "REQUEST",
            Message::Privilege => "PRIVILEGE",
        }
    }

    fn words(_: &Message) -> u32 {
        3
    }
}

type Context<'a> = Site<'a, RaymondTree>;
type Out<'a> = Outbox<'a, RaymondTree>;

impl RaymondTree {
    fn enqueue(&mut self, node: NodeId, out: &mut Out<'_>) {
        if self.queue.contains(&node) {
            return out.never("a neighbour asks again before it was served");
        }
        if self.asked {
            out.note("a node joined a request that was under way already");
        }
        self.queue.push(node);
    }

    /// Passes the privilege to the head of the queue, if it is here and free.
    fn assign(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        if self.holder != site.me || self.using || self.queue.is_empty() {
            return;
        }
        let next = self.queue.remove(0);
        if next == site.me {
            self.using = true;
            out.enter();
        } else {
            self.holder = next;
            out.send(next, Message::Privilege);
            if !self.queue.is_empty() {
                out.note("the privilege left and was asked back at once");
            }
        }
    }

    /// Requests the privilege, if the queue is not empty and no request is outstanding.
    fn ask(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        if self.holder != site.me && !self.queue.is_empty() && !self.asked {
            self.asked = true;
            out.send(self.holder, Message::Request);
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RaymondTree::kind(self))
    }
}
