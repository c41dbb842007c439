//! Singhal's heuristically aided mutex: one token. Each node remembers which nodes may be requesting and asks
//! only those: one of them has the token or gets it. Source: 001 ch. II (Singhal 1989). The usual form
//! deadlocks; HINT repairs it. Page: `docs/algorithms/singhal-heuristic.md`.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OnlyDefect, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::setting::{Setting, SettingError};

mod defects;
#[cfg(test)]
mod paper;

pub use defects::Defect;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SinghalHeuristic {
    stage: Stage,
    /// What this node knows of all nodes. Its own entry has the number of its latest request.
    known: Vec<Entry>,
    /// The token's record of all nodes, if the token is here.
    token: Option<Vec<Entry>>,
}

/// The state of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Neither waiting nor inside, and without the token (N).
    Idle,
    /// Waiting (R).
    Requesting,
    /// Inside (E).
    Executing,
    /// Not inside, and the token is here (H).
    Holding,
}

/// What is known of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry {
    /// Whether it may be requesting.
    requesting: bool,
    /// The highest number of its requests.
    number: u32,
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The sender requests entry, with this number.
    Request(u32),
    /// The receiver has to take the sender for a requesting node.
    Hint,
    /// The token, with its record of all nodes.
    Token(Vec<Entry>),
}

/// The rules: there are no options.
pub type Rules = OnlyDefect<Defect>;

impl Algorithm for SinghalHeuristic {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "singhal-heuristic",
        title: "one token, requests to the nodes that may be requesting",
        kind: Kind::Mutex,
        source: "001 ch. II (Singhal 1989)",
        cost: "0 if the token is here; about n/2 + 1 at light load, n at saturation",
        tokens: Tokens::One,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: false,
        options: &[],
        timers: &[],
        sometimes: &[
            "a waiting node asked back",
            "an old request reached the token",
            "a hint reached the token",
            "the token knew more than the node that leaves",
            "a node that leaves knew more than the token",
        ],
        suite: &[
            Scope::new(1, 1, 2),
            Scope::new(2, 1, 3),
            Scope::new(3, 1, 2),
            Scope::new(3, 1, 3).fifo(),
            Scope::new(4, 1, 1),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules { defect: Defect::of(setting) })
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let asks = |node: NodeId| match site.rules.defect {
            Some(Defect::StartKnowsZeroAlone) => node == 0 && site.me != 0,
            _ => node < site.me,
        };
        let known = (0..site.nodes).map(|node| Entry { requesting: asks(node), number: 0 }).collect();
        let first = site.me == 0;
        SinghalHeuristic {
            stage: if first { Stage::Holding } else { Stage::Idle },
            known,
            token: first.then(|| vec![Entry::default(); site.nodes as usize]),
        }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { from, message: Message::Request(number) } => {
                self.on_request(site, from, number, out);
            }
            Input::Deliver { from, message: Message::Hint } => self.on_hint(site, from, out),
            Input::Deliver { message: Message::Token(token), .. } => self.on_token(token, out),
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, site: &Site<'_, Self>, census: &mut Census) {
        if let Some(token) = &self.token {
            census.token_here();
            census.queue_of(requesting(token, site.me));
        }
    }

    fn count_message(message: &Message, to: NodeId, census: &mut Census) {
        if let Message::Token(token) = message {
            census.token_moving();
            census.request_of(to);
            census.queue_of(requesting(token, to));
        }
    }

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        picture.token_if(self.token.is_some());
        picture.tie("may be requesting", requesting(&self.known, site.me));
        if let Some(token) = &self.token {
            picture.queue(requesting(token, site.me));
        }
        let numbers: Vec<u32> = self.known.iter().map(|entry| entry.number).collect();
        picture.numbers("requests known", &numbers);
    }

    fn draw_message(message: &Message) -> Contents {
        match message {
            Message::Request(_) | Message::Hint => Contents::default(),
            Message::Token(_) => Contents::token(0),
        }
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request(_) => "REQUEST",
            Message::Hint => "HINT",
            Message::Token(_) => "TOKEN",
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request(_) => 4,
            Message::Hint => 3,
            Message::Token(token) => 3 + 2 * token.len() as u32,
        }
    }
}

/// The nodes but this one that the list takes for requesting.
fn requesting(list: &[Entry], but: NodeId) -> impl Iterator<Item = NodeId> {
    let marked = (0..).zip(list).filter(|(_, entry)| entry.requesting);
    marked.map(|(node, _)| node).filter(move |&node| node != but)
}

type Context<'a> = Site<'a, SinghalHeuristic>;
type Out<'a> = Outbox<'a, SinghalHeuristic>;

impl SinghalHeuristic {
    fn request(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        if self.token.is_some() {
            self.stage = Stage::Executing;
            return out.enter();
        }
        self.stage = Stage::Requesting;
        let number = self.known[site.me as usize].number + 1;
        self.known[site.me as usize].number = number;
        requesting(&self.known, site.me).for_each(|to| out.send(to, Message::Request(number)));
    }

    fn on_request(&mut self, site: &Context<'_>, from: NodeId, number: u32, out: &mut Out<'_>) {
        let node = from as usize;
        let served = self.token.as_ref().map_or(0, |token| token[node].number);
        let looks = !site.has_defect(Defect::TokenNotLookedAt);
        let is_new = number > self.known[node].number && (number > served || !looks);
        if !is_new && !site.has_defect(Defect::OldIsNew) {
            return self.on_old_request(site, from, out);
        }
        self.known[node].number = number;
        match self.stage {
            Stage::Idle | Stage::Executing => self.known[node].requesting = true,
            Stage::Requesting => self.meet(site, from, out),
            Stage::Holding => {
                self.known[node].requesting = true;
                let Some(mut token) = self.token.take() else {
                    return out.never("a node holds a token that is not there");
                };
                self.stage = Stage::Idle;
                token[node].requesting = true;
                if !site.has_defect(Defect::NumberNotRecorded) {
                    token[node].number = number;
                }
                out.send(from, Message::Token(token));
            }
        }
    }

    /// A request that is not newer than what this node or its token knows of the sender.
    fn on_old_request(&mut self, site: &Context<'_>, from: NodeId, out: &mut Out<'_>) {
        if site.has_defect(Defect::NoHint) {
            return;
        }
        match self.stage {
            Stage::Idle | Stage::Requesting if site.has_defect(Defect::OldIgnored) => {}
            Stage::Idle => self.known[from as usize].requesting = true,
            Stage::Requesting => self.meet(site, from, out),
            Stage::Executing | Stage::Holding => {
                out.note("an old request reached the token");
                out.send(from, Message::Hint);
            }
        }
    }

    fn on_hint(&mut self, site: &Context<'_>, from: NodeId, out: &mut Out<'_>) {
        match self.stage {
            Stage::Idle => self.known[from as usize].requesting = true,
            Stage::Requesting => self.meet(site, from, out),
            Stage::Executing | Stage::Holding => {
                out.note("a hint reached the token");
                if !site.has_defect(Defect::HintNotAnswered) {
                    out.send(from, Message::Hint);
                }
            }
        }
    }

    /// This node waits and learns of a node that may be requesting: each has to know of the other, for the
    /// token may come to either first.
    fn meet(&mut self, site: &Context<'_>, other: NodeId, out: &mut Out<'_>) {
        let mine = self.known[site.me as usize].number;
        let entry = &mut self.known[other as usize];
        if entry.requesting {
            return;
        }
        entry.requesting = true;
        if !site.has_defect(Defect::NotAskedBack) {
            out.note("a waiting node asked back");
            out.send(other, Message::Request(mine));
        }
    }

    fn on_token(&mut self, token: Vec<Entry>, out: &mut Out<'_>) {
        if self.stage != Stage::Requesting {
            out.never("the token comes to a node that does not wait");
        }
        self.token = Some(token);
        self.stage = Stage::Executing;
        out.enter();
    }

    fn exit(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let Some(mut token) = self.token.take() else {
            return out.never("a client leaves and there is no token");
        };
        let me = site.me as usize;
        token[me].requesting = false;
        if !site.has_defect(Defect::NumberNotRecorded) {
            token[me].number = self.known[me].number;
        }
        for node in site.others() {
            self.merge(site, &mut token[node as usize], node, out);
        }
        let mut around = (1..site.nodes).map(|distance| (site.me + distance) % site.nodes);
        match around.find(|&node| token[node as usize].requesting) {
            Some(next) => {
                self.stage = Stage::Idle;
                out.send(next, Message::Token(token));
            }
            None => {
                self.stage = Stage::Holding;
                self.token = Some(token);
            }
        }
    }

    /// Brings what the token and this node know of another node to the newer of both.
    fn merge(&mut self, site: &Context<'_>, theirs: &mut Entry, node: NodeId, out: &mut Out<'_>) {
        let mine = &mut self.known[node as usize];
        let equal = mine.number == theirs.number && site.has_defect(Defect::EqualNumbersNew);
        if mine.number > theirs.number || equal {
            out.note("a node that leaves knew more than the token");
            *theirs = *mine;
        } else {
            if mine.number < theirs.number {
                out.note("the token knew more than the node that leaves");
            }
            *mine = *theirs;
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(number) => write!(f, "REQUEST({number})"),
            Message::Hint => f.write_str("HINT"),
            Message::Token(token) => {
                f.write_str("TOKEN(numbers")?;
                token.iter().try_for_each(|entry| write!(f, " {}", entry.number))?;
                f.write_str(", requesting")?;
                requesting(token, NodeId::MAX).try_for_each(|node| write!(f, " {node}"))?;
                f.write_str(")")
            }
        }
    }
}
