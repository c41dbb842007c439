//! Suzuki and Kasami's mutex: one token, which carries a queue and, for each node, the number of its last
//! served request. A node that needs the token numbers its request and broadcasts it. With `next=ring` it is
//! Ricart and Agrawala's token algorithm: no queue, the token goes to the next node that waits. Source: 001
//! ch. II (Suzuki and Kasami 1985, Ricart and Agrawala 1983). Page: `docs/algorithms/suzuki-kasami.md`.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OptionInfo, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::setting::{Setting, SettingError};

mod defects;
#[cfg(test)]
mod paper;

pub use defects::Defect;

const LOWEST: &[(&str, &str)] = &[("next", "lowest")];

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
    /// The nodes that get the token next. Empty unless `next=queue`.
    queue: Vec<NodeId>,
}

/// The rules.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Which of the waiting nodes gets the token next.
    pub next: Next,
    /// The defect that is enabled.
    pub defect: Option<Defect>,
}

/// Which of the waiting nodes gets the token next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The head of the token's queue.
    Queue,
    /// The first after this node, by number and around.
    Ring,
    /// The one with the lowest number. Nodes with high numbers may starve.
    Lowest,
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
    type Rules = Rules;

    const INFO: Info = Info {
        name: "suzuki-kasami",
        title: "one token with a queue or on a ring, requests broadcast",
        kind: Kind::Mutex,
        source: "001 ch. II (Suzuki and Kasami 1985; next=ring: Ricart and Agrawala 1983)",
        cost: "0 if the token is here, else n",
        tokens: Tokens::One,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: false,
        options: &[OptionInfo::choice(
            "next",
            &["queue", "ring", "lowest"],
            "who gets the token next: the head of its queue, the first waiting node after the holder, or, unfairly, \
             the waiting node with the lowest number",
        )],
        timers: &[],
        sometimes: &[
            "a request came after it had been served",
            "the token left with others in its queue",
            "the token went past a node that does not wait",
        ],
        suite: &[
            Scope::new(1, 1, 2),
            Scope::new(2, 1, 3),
            Scope::new(3, 1, 2),
            Scope::new(4, 1, 1),
            Scope::new(3, 1, 2).with(defects::RING),
            Scope::new(4, 1, 1).with(defects::RING),
            Scope::new(3, 1, 2).with(LOWEST),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        let next = match setting.option("next") {
            Some("ring") => Next::Ring,
            Some("lowest") => Next::Lowest,
            _ => Next::Queue,
        };
        Ok(Rules { next, defect: Defect::of(setting) })
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
            Input::Deliver { from, message: Message::Request(number) } => {
                self.on_request(site, from, number, out);
            }
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

    fn draw(&self, _: &Site<'_, Self>, picture: &mut Picture) {
        picture.token_if(self.token.is_some());
        picture.numbers("requests known", &self.asked);
        if let Some(token) = &self.token {
            picture.queue(token.queue.iter().copied());
            picture.numbers("requests served", &token.served);
        }
    }

    fn draw_message(message: &Message) -> Contents {
        match message {
            Message::Request(_) => Contents::default(),
            Message::Token(_) => Contents::token(0),
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
        if !site.has_defect(Defect::ServedNotRecorded) {
            token.served[me] = self.asked[me];
        }
        let next = match site.rules.next {
            Next::Queue => self.head(site, &mut token),
            Next::Ring => self.first_after(site, &token),
            Next::Lowest => site.others().find(|&node| self.waits(site, &token, node)),
        };
        let Some(next) = next else {
            self.token = Some(token);
            return;
        };
        if !token.queue.is_empty() {
            out.note("the token left with others in its queue");
        }
        if site.rules.next == Next::Ring && next != (site.me + 1) % site.nodes {
            out.note("the token went past a node that does not wait");
        }
        out.send(next, Message::Token(token));
    }

    /// Puts every node that waits into the queue, by number, and takes the head.
    fn head(&self, site: &Site<'_, Self>, token: &mut Token) -> Option<NodeId> {
        for node in site.others() {
            if !token.queue.contains(&node) && self.waits(site, token, node) {
                token.queue.push(node);
            }
        }
        (!token.queue.is_empty()).then(|| token.queue.remove(0))
    }

    /// The first node that waits after this one, by number and around.
    fn first_after(&self, site: &Site<'_, Self>, token: &Token) -> Option<NodeId> {
        let mut around = (1..site.nodes).map(|distance| (site.me + distance) % site.nodes);
        around.find(|&node| self.waits(site, token, node))
    }

    fn on_request(&mut self, site: &Site<'_, Self>, from: NodeId, number: u32, out: &mut Outbox<'_, Self>) {
        let known = &mut self.asked[from as usize];
        let late = number < *known && !site.has_defect(Defect::OlderNumberTaken);
        *known = if late { *known } else { number };
        if self.inside {
            return;
        }
        let Some(token) = self.token.take() else { return };
        if self.waits(site, &token, from) || site.has_defect(Defect::IdleDoesNotCompare) {
            out.send(from, Message::Token(token));
        } else {
            out.note("a request came after it had been served");
            self.token = Some(token);
        }
    }

    fn on_token(&mut self, site: &Site<'_, Self>, token: Token, out: &mut Outbox<'_, Self>) {
        if self.asked[site.me as usize] <= token.served[site.me as usize] {
            out.never("the token comes to a node that does not wait");
        }
        self.token = Some(token);
        self.inside = true;
        out.enter();
    }

    /// Whether this node knows a request of the node that the token has not served. There is never more than
    /// one: a node makes a new request only after it had the token.
    fn waits(&self, site: &Site<'_, Self>, token: &Token, node: NodeId) -> bool {
        let (asked, served) = (self.asked[node as usize], token.served[node as usize]);
        asked > served || asked == served && site.has_defect(Defect::EqualNumbersWait)
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
                if !queue.is_empty() {
                    f.write_str(", queue")?;
                }
                queue.iter().try_for_each(|node| write!(f, " {node}"))?;
                f.write_str(")")
            }
        }
    }
}
