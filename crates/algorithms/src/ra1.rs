//! Joung's group mutex RA1: Ricart and Agrawala's mutex with groups. A node asks all others and enters when
//! all have replied; a node defers its reply only to requests of other groups. Source: cited in 004 sec. I
//! (Joung 2002). Page: `docs/algorithms/ra1.md`.

use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Group, Groups, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OnlyDefect, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::setting::{Setting, SettingError};
use crate::sorted;

mod defects;
#[cfg(test)]
mod paper;

pub use defects::Defect;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ra1 {
    /// The latest time of any request seen.
    highest: u32,
    /// This node's own request, until it leaves.
    request: Option<Request>,
    /// How many nodes have not yet replied to it.
    missing: u32,
    /// The nodes that get a reply when this node leaves, in ascending order.
    deferred: Vec<NodeId>,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Request {
    /// Its time.
    pub time: u32,
    /// The group it is for.
    pub group: Group,
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The sender requests entry.
    Request(Request),
    /// The receiver may enter, as far as the sender is concerned.
    Reply,
}

/// The rules: there are no options.
pub type Rules = OnlyDefect<Defect>;

impl Algorithm for Ra1 {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "ra1",
        title: "group mutex: permission of all, replies to other groups deferred by logical time",
        kind: Kind::GroupMutex,
        source: "cited in 004 sec. I (Joung 2002)",
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
            "a node inside replied to its own group",
            "the node number decided between equal times",
        ],
        suite: &[
            Scope::new(1, 1, 2).groups(2),
            Scope::new(2, 1, 3).groups(2),
            Scope::new(3, 1, 1).groups(3),
            Scope::new(3, 1, 2).groups(2).fifo(),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules { defect: Defect::of(setting) })
    }

    fn start(_: &Site<'_, Self>) -> Self {
        Ra1 { highest: 0, request: None, missing: 0, deferred: Vec::new() }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { groups, .. } => self.request(site, groups, out),
            Input::Exit { .. } => {
                self.request = None;
                self.deferred.drain(..).for_each(|node| out.send(node, Message::Reply));
            }
            Input::Deliver { from, message: Message::Request(request) } => {
                self.on_request(site, from, request, out);
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
        picture.fact_if("request", self.request.map(|request| request.time));
        picture.fact_if("replies missing", self.request.map(|_| self.missing));
        picture.fact("clock", self.highest);
    }

    fn draw_message(_: &Message) -> Contents {
        Contents::default()
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request(_) => "REQUEST",
            Message::Reply => "REPLY",
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request(_) => 5,
            Message::Reply => 3,
        }
    }
}

type Context<'a> = Site<'a, Ra1>;
type Out<'a> = Outbox<'a, Ra1>;

impl Ra1 {
    /// Asks for one group: of several, the first.
    fn request(&mut self, site: &Context<'_>, groups: Groups, out: &mut Out<'_>) {
        self.highest += 1;
        let request = Request { time: self.highest, group: groups.first().unwrap_or(0) };
        self.request = Some(request);
        self.missing = site.nodes - 1;
        out.broadcast(site, &Message::Request(request));
        if self.missing == 0 {
            out.enter_group(request.group);
        }
    }

    fn on_request(&mut self, site: &Context<'_>, from: NodeId, theirs: Request, out: &mut Out<'_>) {
        if !site.has_defect(Defect::TimeNotFromHighest) {
            self.highest = self.highest.max(theirs.time);
        }
        if let Some(mine) = self.request {
            let inside = self.missing == 0;
            if mine.group == theirs.group {
                if inside {
                    out.note("a node inside replied to its own group");
                }
            } else if inside || goes_first(site, mine, from, theirs, out) {
                out.note("a reply was deferred");
                return sorted::insert(&mut self.deferred, from);
            } else {
                out.note("a younger request stepped back");
            }
        }
        out.send(from, Message::Reply);
    }

    fn on_reply(&mut self, out: &mut Out<'_>) {
        match (self.request, self.missing.checked_sub(1)) {
            (Some(request), Some(missing)) => {
                self.missing = missing;
                if missing == 0 {
                    out.enter_group(request.group);
                }
            }
            _ => out.never("a reply comes to a node that awaits none"),
        }
    }
}

/// Whether this node's waiting request goes before one of another group.
fn goes_first(site: &Context<'_>, mine: Request, from: NodeId, theirs: Request, out: &mut Out<'_>) -> bool {
    if mine.time == theirs.time {
        out.note("the node number decided between equal times");
    }
    match site.rules.defect {
        Some(Defect::GroupAlone) => true,
        Some(Defect::TiesGiveWay) => mine.time < theirs.time,
        Some(Defect::TiesHoldOn) => mine.time <= theirs.time,
        _ => (mine.time, site.me) < (theirs.time, from),
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(Request { time, group }) => write!(f, "REQUEST(time {time}, group {group})"),
            Message::Reply => f.write_str("REPLY"),
        }
    }
}
