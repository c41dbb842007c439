//! Neilsen and Mizuno's mutex: the edges of a static tree point to the last requester and are reversed as a
//! request passes. The token goes straight to the next node of a distributed queue. Source: Neilsen and
//! Mizuno, ICDCS 1991. Page: `docs/algorithms/neilsen-mizuno.md`.

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
pub struct NeilsenMizuno {
    /// The neighbour that leads to the last requester (LAST); `None` if that is this node: a sink.
    last: Option<NodeId>,
    /// The node that gets the token after this node (FOLLOW).
    follow: Option<NodeId>,
    /// Whether the token is here and free (HOLDING).
    holding: bool,
    /// Whether the client is inside, with the token.
    using: bool,
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// This node requests the token. The forwarding neighbour is the sender.
    Request(NodeId),
    /// The token.
    Privilege,
}

impl Algorithm for NeilsenMizuno {
    type Message = Message;
    type Durable = ();
    type Rules = Shape;

    const INFO: Info = Info {
        name: "neilsen-mizuno",
        title: "one token, a static tree whose edges turn round, a distributed queue",
        kind: Kind::Mutex,
        source: "Neilsen and Mizuno 1991 (background of 001 and 002)",
        cost: "0 if the token is here; at most diameter + 1, that is 3 on a star",
        tokens: Tokens::One,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: true,
        options: &[SHAPE],
        timers: &[],
        sometimes: &["a request was passed on", "a node got a successor while it waited"],
        suite: tree::SUITE,
        defects: &[],
    };

    fn rules(setting: &Setting) -> Result<Shape, SettingError> {
        Ok(Shape::of(setting))
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let last = site.rules.parent(site.me);
        NeilsenMizuno { last, follow: None, holding: last.is_none(), using: false }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => self.exit(out),
            Input::Deliver { from, message: Message::Request(origin) } => self.on_request(from, origin, out),
            Input::Deliver { message: Message::Privilege, .. } => {
                self.using = true;
                out.enter();
            }
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        if self.holding || self.using {
            census.token_here();
        }
        if let Some(follow) = self.follow {
            census.request_of(follow);
        }
    }

    fn count_message(message: &Message, to: NodeId, census: &mut Census) {
        match message {
            Message::Request(origin) => census.request_of(*origin),
            // The token on its way to a node is the answer to that node's request.
            Message::Privilege => {
                census.token_moving();
                census.request_of(to);
            }
        }
    }

    fn allows_renaming(_: &Shape, _: &Renaming) -> bool {
        true
    }

    fn rename(&mut self, _: &Shape, renaming: &Renaming) {
        renaming.rename(&mut self.last);
        renaming.rename(&mut self.follow);
    }

    fn rename_message(message: &mut Message, renaming: &Renaming) {
        if let Message::Request(origin) = message {
            renaming.rename([origin]);
        }
    }

    fn draw(&self, _: &Site<'_, Self>, picture: &mut Picture) {
        picture.token_if(self.holding || self.using);
        picture.point("last", self.last);
        picture.point("follow", self.follow);
    }

    fn draw_message(message: &Message) -> Contents {
        match message {
            Message::Request(origin) => Contents::request(*origin),
            Message::Privilege => Contents::token(0),
        }
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request(_) => "REQUEST",
            Message::Privilege => "PRIVILEGE",
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request(_) => 4,
            Message::Privilege => 3,
        }
    }
}

type Out<'a> = Outbox<'a, NeilsenMizuno>;

impl NeilsenMizuno {
    fn request(&mut self, site: &Site<'_, Self>, out: &mut Out<'_>) {
        if core::mem::take(&mut self.holding) {
            self.using = true;
            return out.enter();
        }
        match self.last.take() {
            Some(last) => out.send(last, Message::Request(site.me)),
            None => out.never("a sink without the token asks for it"),
        }
    }

    fn exit(&mut self, out: &mut Out<'_>) {
        self.using = false;
        match self.follow.take() {
            Some(follow) => out.send(follow, Message::Privilege),
            None => self.holding = true,
        }
    }

    fn on_request(&mut self, from: NodeId, origin: NodeId, out: &mut Out<'_>) {
        match self.last.replace(from) {
            Some(last) if last == from => out.never("two requests cross on an edge"),
            Some(last) => {
                out.note("a request was passed on");
                out.send(last, Message::Request(origin));
            }
            None if core::mem::take(&mut self.holding) => out.send(origin, Message::Privilege),
            None => {
                if !self.using {
                    out.note("a node got a successor while it waited");
                }
                if self.follow.replace(origin).is_some() {
                    out.never("a node gets a second successor");
                }
            }
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(origin) => write!(f, "REQUEST({origin})"),
            Message::Privilege => f.write_str("PRIVILEGE"),
        }
    }
}
