//! Raymond's k-mutex: permissions instead of tokens. A node asks all others and enters when all but k−1 of
//! them owe it no reply. Deferred replies arrive later, several in one message. Source: 001 ch. III (Raymond
//! 1989). Page: `docs/algorithms/raymond-k.md`.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OptionInfo, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::setting::{Setting, SettingError};
use crate::sorted;
use crate::stamp::Stamp;

mod defects;
#[cfg(test)]
mod paper;

pub use defects::Defect;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RaymondK {
    phase: Phase,
    /// The highest number of any request known here, this node's own included.
    highest: u32,
    /// For each node, how many replies it owes to this one, over all requests so far.
    owed: Vec<u32>,
    /// For each node, how many replies this one defers.
    deferred: Vec<u32>,
    /// The nodes with deferred replies, in the order of the replies, each with the number of its latest request
    /// where the order needs it. Empty where the numbers of the nodes decide the order.
    order: Vec<Stamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    /// Holds the number of the outstanding request.
    Waiting(u32),
    Inside,
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The sender requests entry with this number.
    Request(u32),
    /// The sender agrees to this many requests of the receiver.
    Reply(u32),
}

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    reply: Reply,
    defect: Option<Defect>,
}

/// In which order a node that leaves sends the replies that it has deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    /// By the number of the node.
    Number,
    /// By the number of the node's latest request, then of the node.
    Oldest,
    /// By the number of the node, from the one after this one on.
    Ring,
    /// As the latest requests have arrived.
    Arrival,
}

impl Algorithm for RaymondK {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "raymond-k",
        title: "permissions of all but k−1 of the others, replies counted",
        kind: Kind::KMutex,
        source: "001 ch. III (Raymond 1989)",
        cost: "between 2n−k−1 and 2(n−1)",
        tokens: Tokens::None,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: false,
        options: &[OptionInfo::choice(
            "reply",
            &["number", "oldest", "ring", "arrival"],
            "the order of deferred replies: by node; by request; by node from the next one on; as requests arrived",
        )],
        timers: &[],
        sometimes: &[
            "a client entered while replies were missing",
            "one reply answered several requests",
            "a reply came for an earlier request",
        ],
        suite: &[
            Scope::new(1, 1, 2),
            Scope::new(2, 1, 3),
            Scope::new(2, 2, 3),
            Scope::new(3, 1, 2),
            Scope::new(3, 2, 1),
            Scope::new(3, 3, 1),
            Scope::new(3, 1, 2).with(&[("reply", "oldest")]),
            Scope::new(3, 1, 2).with(&[("reply", "ring")]),
            Scope::new(3, 1, 2).with(&[("reply", "arrival")]),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        let reply = match setting.option("reply") {
            Some("oldest") => Reply::Oldest,
            Some("ring") => Reply::Ring,
            Some("arrival") => Reply::Arrival,
            _ => Reply::Number,
        };
        Ok(Rules { reply, defect: Defect::of(setting) })
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let none = vec![0; site.nodes as usize];
        RaymondK { phase: Phase::Idle, highest: 0, owed: none.clone(), deferred: none, order: Vec::new() }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { from, message: Message::Request(number) } => {
                self.on_request(site, from, number, out);
            }
            Input::Deliver { from, message: Message::Reply(count) } => self.on_reply(site, from, count, out),
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        let deferred = (0..).zip(&self.deferred).filter(|(_, count)| **count > 0);
        census.queue_of(deferred.map(|(node, _)| node));
    }

    fn count_message(_: &Message, _: NodeId, _: &mut Census) {}

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        picture.tie("owes a reply", site.others().filter(|&node| self.owed[node as usize] > 0));
        picture.keep(site.others().filter(|&node| self.deferred[node as usize] > 0));
        if let Phase::Waiting(number) = self.phase {
            picture.fact("request", number);
        }
        picture.fact("clock", self.highest);
    }

    fn draw_message(_: &Message) -> Contents {
        Contents::default()
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request(_) => "REQUEST",
            Message::Reply(_) => "REPLY",
        }
    }

    fn words(_: &Message) -> u32 {
        4
    }
}

impl RaymondK {
    fn request(&mut self, site: &Site<'_, Self>, out: &mut Outbox<'_, Self>) {
        self.highest += 1;
        self.phase = Phase::Waiting(self.highest);
        for node in site.others() {
            let owed = &mut self.owed[node as usize];
            *owed = if site.has_defect(Defect::RepliesPerAttempt) { 1 } else { *owed + 1 };
        }
        out.broadcast(site, &Message::Request(self.highest));
        self.enter_if_allowed(site, out);
    }

    fn exit(&mut self, site: &Site<'_, Self>, out: &mut Outbox<'_, Self>) {
        self.phase = Phase::Idle;
        for node in self.reply_order(site) {
            let count = core::mem::take(&mut self.deferred[node as usize]);
            if count > 0 {
                out.send(node, Message::Reply(count));
            }
            if count > 1 {
                out.note("one reply answered several requests");
            }
        }
    }

    /// The nodes that may have deferred replies, in the order in which they get them.
    fn reply_order(&mut self, site: &Site<'_, Self>) -> Vec<NodeId> {
        let (me, nodes) = (site.me, site.nodes);
        match site.rules.reply {
            Reply::Number => site.others().collect(),
            Reply::Ring => (1..nodes).map(|distance| (me + distance) % nodes).collect(),
            Reply::Oldest | Reply::Arrival => self.order.drain(..).map(|(_, node)| node).collect(),
        }
    }

    /// Gives a node its turn among the deferred replies; its latest request decides, the only one that may wait.
    fn take_turn(&mut self, site: &Site<'_, Self>, from: NodeId, number: u32) {
        let known = self.order.iter().find(|(_, node)| *node == from).map(|(known, _)| *known);
        self.order.retain(|(_, node)| *node != from);
        match site.rules.reply {
            Reply::Number | Reply::Ring => {}
            Reply::Oldest => sorted::insert(&mut self.order, (number.max(known.unwrap_or(0)), from)),
            Reply::Arrival => self.order.push((0, from)),
        }
    }

    fn on_request(&mut self, site: &Site<'_, Self>, from: NodeId, number: u32, out: &mut Outbox<'_, Self>) {
        // A node that agrees to a request must not overtake it later with a smaller number.
        if !site.has_defect(Defect::OwnNumbersOnly) {
            self.highest = self.highest.max(number);
        }
        let ahead = match self.phase {
            Phase::Idle => false,
            Phase::Waiting(mine) => (mine, site.me) < (number, from),
            Phase::Inside => true,
        };
        if ahead {
            self.deferred[from as usize] += 1;
            self.take_turn(site, from, number);
        } else {
            out.send(from, Message::Reply(1));
        }
    }

    fn on_reply(&mut self, site: &Site<'_, Self>, from: NodeId, count: u32, out: &mut Outbox<'_, Self>) {
        let owed = &mut self.owed[from as usize];
        let rest = owed.checked_sub(count);
        if rest.is_none() && !site.has_defect(Defect::RepliesPerAttempt) {
            out.never("more replies come than are owed");
        }
        *owed = rest.unwrap_or(0);
        if *owed > 0 {
            out.note("a reply came for an earlier request");
        }
        self.enter_if_allowed(site, out);
    }

    /// A node that owes no reply gives way to this one; at most k−1 may still owe some.
    fn enter_if_allowed(&mut self, site: &Site<'_, Self>, out: &mut Outbox<'_, Self>) {
        let owing = self.owed.iter().filter(|owed| **owed > 0).count() as u32;
        if !matches!(self.phase, Phase::Waiting(_)) || owing >= site.tokens {
            return;
        }
        if owing > 0 {
            out.note("a client entered while replies were missing");
        }
        self.phase = Phase::Inside;
        out.enter();
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(number) => write!(f, "REQUEST({number})"),
            Message::Reply(1) => f.write_str("REPLY"),
            Message::Reply(count) => write!(f, "REPLY(to {count} requests)"),
        }
    }
}
