//! Suzuki and Kasami's mutex: one token, which carries a queue and, for each node, the number of its last
//! served request. A node that needs the token numbers its request and broadcasts it. Source: 001 ch. II
//! (Suzuki and Kasami 1985). Page: `docs/algorithms/suzuki-kasami.md`.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, Scope, Tokens};
use crate::setting::{Setting, SettingError};

#[cfg(test)]
mod paper;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SuzukiKasami {
    /// For each node, the highest number of its requests that is known here (RN).
    asked: Vec<u32>,
    token: Option<Token>,
    /// Whether the client is inside.
    inside: bool,
}

/// The token.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token {
    /// For each node, the number of its last served request (LN).
    served: Vec<u32>,
    /// The nodes that get the token next.
    queue: Vec<NodeId>,
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The sender requests entry, with this number.
    Request(u32),
    /// The token.
    Token(Token),
}

impl Algorithm for SuzukiKasami {
    type Message = Message;
    type Durable = ();
    type Rules = ();

    const INFO: Info = Info {
        name: "suzuki-kasami",
        title: "one token with a queue, requests broadcast",
        kind: Kind::Mutex,
        source: "001 ch. II (Suzuki and Kasami 1985)",
        cost: "0 if the token is here, else n",
        tokens: Tokens::One,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: false,
        options: &[],
        timers: &[],
        sometimes: &["a request came after it had been served", "the token left with others in its queue"],
        suite: &[Scope::new(1, 1, 2), Scope::new(2, 1, 3), Scope::new(3, 1, 2), Scope::new(4, 1, 1)],
        defects: &[],
    };

    fn rules(_: &Setting) -> Result<(), SettingError> {
        Ok(())
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let nodes = site.nodes as usize;
        SuzukiKasami {
            asked: vec![0; nodes],
            token: (site.me == 0).then(|| Token { served: vec![0; nodes], queue: Vec::new() }),
            inside: false,
        }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { from, message: Message::Request(number) } => self.on_request(from, number, out),
            Input::Deliver { message: Message::Token(token), .. } => self.on_token(site, token, out),
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        if let Some(token) = &self.token {
            census.token_here();
            token.count(census);
        }
    }

    fn count_message(message: &Message, to: NodeId, census: &mut Census) {
        if let Message::Token(token) = message {
            census.token_moving();
            census.request_of(to);
            token.count(census);
        }
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request(_) => "REQUEST",
            Message::Token(_) => "TOKEN",
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request(_) => 4,
            Message::Token(token) => 3 + (token.served.len() + token.queue.len()) as u32,
        }
    }
}

impl SuzukiKasami {
    fn request(&mut self, site: &Site<'_, Self>, out: &mut Outbox<'_, Self>) {
        if self.token.is_some() {
            self.inside = true;
            return out.enter();
        }
        let number = &mut self.asked[site.me as usize];
        *number += 1;
        out.broadcast(site, &Message::Request(*number));
    }

    fn exit(&mut self, site: &Site<'_, Self>, out: &mut Outbox<'_, Self>) {
        self.inside = false;
        let Some(mut token) = self.token.take() else {
            return out.never("a client leaves and there is no token");
        };
        let me = site.me as usize;
        token.served[me] = self.asked[me];
        for node in site.others() {
            if !token.queue.contains(&node) && self.waits(&token, node) {
                token.queue.push(node);
            }
        }
        if token.queue.is_empty() {
            self.token = Some(token);
            return;
        }
        let head = token.queue.remove(0);
        if !token.queue.is_empty() {
            out.note("the token left with others in its queue");
        }
        out.send(head, Message::Token(token));
    }

    fn on_request(&mut self, from: NodeId, number: u32, out: &mut Outbox<'_, Self>) {
        let known = &mut self.asked[from as usize];
        *known = number.max(*known);
        if self.inside {
            return;
        }
        let Some(token) = self.token.take() else { return };
        if self.waits(&token, from) {
            out.send(from, Message::Token(token));
        } else {
            out.note("a request came after it had been served");
            self.token = Some(token);
        }
    }

    fn on_token(&mut self, site: &Site<'_, Self>, token: Token, out: &mut Outbox<'_, Self>) {
        if !self.waits(&token, site.me) {
            out.never("the token comes to a node that does not wait");
        }
        self.token = Some(token);
        self.inside = true;
        out.enter();
    }

    /// Whether this node knows a request of the node that the token has not served. There is never more than
    /// one: a node makes a new request only after it had the token.
    fn waits(&self, token: &Token, node: NodeId) -> bool {
        let node = node as usize;
        self.asked[node] > token.served[node]
    }
}

impl Token {
    fn count(&self, census: &mut Census) {
        census.queue_of(self.queue.iter().copied());
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(number) => write!(f, "REQUEST({number})"),
            Message::Token(Token { served, queue }) => {
                f.write_str("TOKEN(served")?;
                served.iter().try_for_each(|number| write!(f, " {number}"))?;
                f.write_str(", queue")?;
                queue.iter().try_for_each(|node| write!(f, " {node}"))?;
                f.write_str(")")
            }
        }
    }
}
