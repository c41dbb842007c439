//! Trehel and Naimi's mutex with one token. Requests climb a tree of `father` pointers to the last requester
//! and reverse them; waiting nodes form a distributed queue of `next` pointers. Source: 001 ch. II. Page:
//! `docs/algorithms/naimi-trehel.md`.

use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};

#[cfg(test)]
mod paper;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NaimiTrehel {
    /// The way to the last requester; `None` if that is this node.
    father: Option<NodeId>,
    /// The node that gets the token after this node.
    next: Option<NodeId>,
    /// Whether the client waits or is inside.
    requesting: bool,
    token: bool,
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// This node requests the token.
    Request(NodeId),
    /// The token.
    Token,
}

impl Algorithm for NaimiTrehel {
    type Message = Message;
    type Durable = ();
    type Rules = ();

    const INFO: Info = Info {
        name: "naimi-trehel",
        title: "one token, path reversal, a distributed queue",
        kind: Kind::Mutex,
        source: "001 ch. II (Trehel and Naimi 1987)",
        cost: "0 if the token is here; about log n on average, n at worst",
        tokens: Tokens::One,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: true,
        options: &[],
        timers: &[],
        sometimes: &["a request was forwarded"],
        suite: &[Scope::new(1, 1, 2), Scope::new(2, 1, 3), Scope::new(3, 1, 3), Scope::new(4, 1, 2)],
        defects: &[],
    };

    fn rules(_: &Setting) -> Result<(), SettingError> {
        Ok(())
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let first = site.me == 0;
        NaimiTrehel {
            father: if first { None } else { Some(0) },
            next: None,
            requesting: false,
            token: first,
        }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => {
                self.requesting = true;
                match self.father.take() {
                    Some(father) => out.send(father, Message::Request(site.me)),
                    None => out.enter(),
                }
            }
            Input::Exit { .. } => {
                self.requesting = false;
                if let Some(next) = self.next.take() {
                    self.token = false;
                    out.send(next, Message::Token);
                }
            }
            Input::Deliver { message: Message::Request(origin), .. } => self.on_request(origin, out),
            Input::Deliver { message: Message::Token, .. } => {
                self.token = true;
                out.enter();
            }
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        if self.token {
            census.token_here();
        }
        if let Some(next) = self.next {
            census.request_of(next);
        }
    }

    fn count_message(message: &Message, to: NodeId, census: &mut Census) {
        match message {
            Message::Request(origin) => census.request_of(*origin),
            // The token on its way to a node is the answer to that node's request.
            Message::Token => {
                census.token_moving();
                census.request_of(to);
            }
        }
    }

    fn allows_renaming(_: &(), _: &Renaming) -> bool {
        true
    }

    fn rename(&mut self, _: &(), renaming: &Renaming) {
        renaming.rename(&mut self.father);
        renaming.rename(&mut self.next);
    }

    fn rename_message(message: &mut Message, renaming: &Renaming) {
        if let Message::Request(origin) = message {
            renaming.rename([origin]);
        }
    }

    fn draw(&self, _: &Site<'_, Self>, picture: &mut Picture) {
        picture.token_if(self.token);
        picture.point("father", self.father);
        picture.point("next", self.next);
    }

    fn draw_message(message: &Message) -> Contents {
        match message {
            Message::Request(origin) => Contents::request(*origin),
            Message::Token => Contents::token(0),
        }
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request(_) => "REQUEST",
            Message::Token => "TOKEN",
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request(_) => 4,
            Message::Token => 3,
        }
    }
}

impl NaimiTrehel {
    fn on_request(&mut self, origin: NodeId, out: &mut Outbox<'_, Self>) {
        match self.father.replace(origin) {
            Some(father) => {
                out.note("a request was forwarded");
                out.send(father, Message::Request(origin));
            }
            None if self.requesting => {
                if self.next.replace(origin).is_some() {
                    out.never("a node gets a second successor");
                }
            }
            None => {
                self.token = false;
                out.send(origin, Message::Token);
            }
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(origin) => write!(f, "REQUEST({origin})"),
            Message::Token => f.write_str("TOKEN"),
        }
    }
}
