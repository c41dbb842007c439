//! Ricart and Agrawala's mutex: a node asks all others and enters when all have replied. A node that is
//! inside, or has an older request of its own, defers its reply until it leaves. Sources: 001 ch. II. Page:
//! `docs/algorithms/ricart-agrawala.md`.

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
pub struct RicartAgrawala {
    /// The latest time of any request seen.
    highest: u32,
    /// The time of this node's own request, until it leaves.
    request: Option<u32>,
    /// How many nodes have not yet replied to it.
    missing: u32,
    /// The nodes that get a reply when this node leaves, in ascending order.
    deferred: Vec<NodeId>,
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The sender requests entry, at this time.
    Request(u32),
    /// The receiver may enter, as far as the sender is concerned.
    Reply,
}

/// The rules: there are no options.
pub type Rules = OnlyDefect<Defect>;

impl Algorithm for RicartAgrawala {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "ricart-agrawala",
        title: "permission of all, replies deferred by logical time",
        kind: Kind::Mutex,
        source: "001 ch. II (Ricart and Agrawala 1981)",
        cost: "2(n - 1)",
        tokens: Tokens::None,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: false,
        options: &[],
        timers: &[],
        sometimes: &[
            "a reply was deferred",
            "a younger request stepped back",
            "the node number decided between equal times",
        ],
        suite: &[Scope::new(1, 1, 2), Scope::new(2, 1, 3), Scope::new(3, 1, 2), Scope::new(3, 1, 3)],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules { defect: Defect::of(setting) })
    }

    fn start(_: &Site<'_, Self>) -> Self {
        RicartAgrawala { highest: 0, request: None, missing: 0, deferred: Vec::new() }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => {
                self.request = None;
                self.deferred.drain(..).for_each(|node| out.send(node, Message::Reply));
            }
            Input::Deliver { from, message: Message::Request(time) } => {
                self.on_request(site, from, time, out);
            }
            Input::Deliver { message: Message::Reply, .. } => self.on_reply(out),
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        census.queue_of(self.deferred.iter().copied());
    }

    fn count_message(_: &Message, _: NodeId, _: &mut Census) {}

    fn draw(&self, _: &Site<'_, Self>, picture: &mut Picture) {
        picture.keep(self.deferred.iter().copied());
        picture.fact_if("request", self.request);
        picture.fact_if("replies missing", self.request.map(|_| self.missing));
        picture.fact("clock", self.highest);
    }

    fn draw_message(_: &Message) -> Contents {
        Contents::default()
    }

    fn kind(message: &Message) -> &'static str {
        message.kind()
    }

    fn words(message: &Message) -> u32 {
        message.words()
    }
}

type Context<'a> = Site<'a, RicartAgrawala>;
type Out<'a> = Outbox<'a, RicartAgrawala>;

impl RicartAgrawala {
    fn request(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.highest += 1;
        self.request = Some(self.highest);
        self.missing = site.nodes - 1;
        out.broadcast(site, &Message::Request(self.highest));
        if self.missing == 0 {
            out.enter();
        }
    }

    fn on_request(&mut self, site: &Context<'_>, from: NodeId, time: u32, out: &mut Out<'_>) {
        if !site.has_defect(Defect::TimeNotFromHighest) {
            self.highest = self.highest.max(time);
        }
        // A node that is inside keeps its request until it leaves, and that is older than any that arrives
        // now.
        if self.request.is_some_and(|mine| self.goes_first(site, mine, from, time, out)) {
            out.note("a reply was deferred");
            let index = self.deferred.partition_point(|&node| node < from);
            self.deferred.insert(index, from);
            return;
        }
        if self.request.is_some() {
            out.note("a younger request stepped back");
        }
        out.send(from, Message::Reply);
    }

    fn goes_first(&self, site: &Context<'_>, mine: u32, from: NodeId, time: u32, out: &mut Out<'_>) -> bool {
        if mine == time {
            out.note("the node number decided between equal times");
        }
        match site.rules.defect {
            Some(Defect::TiesGiveWay) => mine < time,
            Some(Defect::TiesHoldOn) => mine <= time,
            _ => (mine, site.me) < (time, from),
        }
    }

    fn on_reply(&mut self, out: &mut Out<'_>) {
        match self.missing.checked_sub(1) {
            None => out.never("a reply comes to a node that awaits none"),
            Some(missing) => {
                self.missing = missing;
                if missing == 0 {
                    out.enter();
                }
            }
        }
    }
}

impl Message {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Message::Request(_) => "REQUEST",
            Message::Reply => "REPLY",
        }
    }

    pub(crate) fn words(&self) -> u32 {
        match self {
            Message::Request(_) => 4,
            Message::Reply => 3,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(time) => write!(f, "REQUEST(time {time})"),
            Message::Reply => f.write_str("REPLY"),
        }
    }
}
