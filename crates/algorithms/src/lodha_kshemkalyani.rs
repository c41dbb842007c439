//! Lodha and Kshemkalyani's fair mutex: Ricart and Agrawala's with fewer messages. Two concurrent requests
//! count as replies to each other, and a node that leaves tells only the next node of its queue. Clients
//! enter in the order of the priorities of their requests. Sources: 002 sec. 2 and table 2. Page:
//! `docs/algorithms/lodha-kshemkalyani.md`.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OnlyDefect, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::setting::{Setting, SettingError};
use crate::sorted;
use crate::stamp::Stamp;

mod defects;
#[cfg(test)]
mod paper;

pub use defects::Defect;

/// A node's state. A smaller stamp is a higher priority; times begin at 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LodhaKshemkalyani {
    /// The latest time of any request seen.
    highest: u32,
    /// The time of this node's own request, until it leaves.
    request: Option<u32>,
    /// Whether the client is inside.
    inside: bool,
    /// The time of this node's last satisfied request; 0 at first.
    last: u32,
    /// The latest request that is known to be satisfied. So are all requests before it.
    satisfied: Stamp,
    /// While there is a request: for each node, whether it has replied or asked too; true for this node.
    heard: Vec<bool>,
    /// While there is a request: the requests known here that may not be satisfied, in the order of entry.
    queue: Vec<Stamp>,
    /// The nodes that get a reply when this node leaves, in ascending order.
    deferred: Vec<NodeId>,
}

/// What nodes send. All times are times of requests of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The sender requests entry, and answers a request of the receiver that it has not seen yet.
    Request {
        /// The time of the request.
        time: u32,
        /// The time of the sender's last satisfied request.
        last: u32,
    },
    /// The sender does not wait; its last satisfied request was at this time.
    Reply(u32),
    /// The sender has left; its request of this time is satisfied, and the receiver comes next.
    Flush(u32),
}

/// The rules: there are no options.
pub type Rules = OnlyDefect<Defect>;

/// What [`Outbox::never`] reports if clients do not enter in the order of priorities.
const OUT_OF_ORDER: &str = "a request is satisfied before one of higher priority";

impl Algorithm for LodhaKshemkalyani {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "lodha-kshemkalyani",
        title: "permission of all, concurrent requests answer each other, in order of priority",
        kind: Kind::Mutex,
        source: "002 sec. 2 and table 2 (Lodha and Kshemkalyani 2000)",
        cost: "n - 1 to 2(n - 1)",
        tokens: Tokens::None,
        needs: Needs::RELIABLE_FIFO,
        clients: Clients::OneEach,
        unique_requests: false,
        options: &[],
        timers: &[],
        sometimes: &[
            "two requests answered each other",
            "a reply was deferred",
            "a FLUSH went to the next node",
            "a request came after it was satisfied",
            "a request told that an earlier one was satisfied",
        ],
        suite: &[Scope::new(1, 1, 2), Scope::new(2, 1, 4), Scope::new(3, 1, 2)],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules { defect: Defect::of(setting) })
    }

    fn start(_: &Site<'_, Self>) -> Self {
        LodhaKshemkalyani {
            highest: 0,
            request: None,
            inside: false,
            last: 0,
            satisfied: (0, 0),
            heard: Vec::new(),
            queue: Vec::new(),
            deferred: Vec::new(),
        }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { from, message } => match message {
                Message::Request { time, last } => self.on_request(site, from, (time, last), out),
                Message::Reply(last) => self.on_reply(site, (last, from), out),
                Message::Flush(last) => {
                    self.drop_satisfied(site, (last, from), out);
                    if site.has_defect(Defect::FlushCountsAsReply) && self.request.is_some() {
                        self.heard[from as usize] = true;
                    }
                }
            },
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
        self.try_enter(site, out);
    }

    fn count(&self, site: &Site<'_, Self>, census: &mut Census) {
        let others = self.queue.iter().map(|&(_, node)| node).filter(|&node| node != site.me);
        census.queue_of(others.chain(self.deferred.iter().copied()));
    }

    fn count_message(_: &Message, _: NodeId, _: &mut Census) {}

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        let heard = |&node: &NodeId| self.heard.get(node as usize).copied().unwrap_or(false);
        picture.tie("heard", site.others().filter(heard));
        picture.queue(self.queue.iter().map(|&(_, node)| node));
        picture.keep(self.deferred.iter().copied());
        picture.fact_if("request", self.request);
        picture.fact("satisfied up to", self.satisfied.0);
        picture.fact("clock", self.highest);
    }

    fn draw_message(_: &Message) -> Contents {
        Contents::default()
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request { .. } => "REQUEST",
            Message::Reply(_) => "REPLY",
            Message::Flush(_) => "FLUSH",
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request { .. } => 5,
            Message::Reply(_) | Message::Flush(_) => 4,
        }
    }
}

type Context<'a> = Site<'a, LodhaKshemkalyani>;
type Out<'a> = Outbox<'a, LodhaKshemkalyani>;

impl LodhaKshemkalyani {
    fn request(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.highest += 1;
        let time = self.highest;
        self.request = Some(time);
        self.queue.push((time, site.me));
        self.heard = vec![false; site.nodes as usize];
        self.heard[site.me as usize] = true;
        let untold = site.has_defect(Defect::LastNotTold) || site.has_defect(Defect::UsualForm);
        let last = if untold { 0 } else { self.last };
        out.broadcast(site, &Message::Request { time, last });
    }

    fn exit(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let Some(time) = self.request.take() else {
            return out.never("a client leaves that has no request");
        };
        (self.inside, self.last) = (false, time);
        self.heard.clear();
        let queue = core::mem::take(&mut self.queue);
        let next = queue.iter().find(|&&(_, node)| node != site.me);
        if let Some(&(_, node)) = next.filter(|_| !site.has_defect(Defect::NoFlush)) {
            out.note("a FLUSH went to the next node");
            out.send(node, Message::Flush(time));
        }
        for node in core::mem::take(&mut self.deferred) {
            out.send(node, Message::Reply(time));
        }
    }

    fn on_request(&mut self, site: &Context<'_>, from: NodeId, (time, last): (u32, u32), out: &mut Out<'_>) {
        if !site.has_defect(Defect::TimeNotFromHighest) {
            self.highest = self.highest.max(time);
        }
        if self.drop_satisfied(site, (last, from), out) {
            out.note("a request told that an earlier one was satisfied");
        }
        if self.request.is_none() {
            return out.send(from, Message::Reply(self.last));
        }
        let heard = &mut self.heard[from as usize];
        if *heard {
            if site.has_defect(Defect::DeferredAnsweredAtOnce) {
                return out.send(from, Message::Reply(self.last));
            }
            out.note("a reply was deferred");
            return sorted::insert(&mut self.deferred, from);
        }
        out.note("two requests answered each other");
        *heard = true;
        // The FLUSH or REPLY that would remove it may have come already.
        if (time, from) <= self.satisfied {
            out.note("a request came after it was satisfied");
            if !site.has_defect(Defect::SatisfiedQueued) && !site.has_defect(Defect::UsualForm) {
                return;
            }
        }
        sorted::insert(&mut self.queue, (time, from));
    }

    fn on_reply(&mut self, site: &Context<'_>, last: Stamp, out: &mut Out<'_>) {
        let (_, from) = last;
        if self.request.is_none() || self.inside || self.heard[from as usize] {
            return out.never("a reply comes to a node that does not wait for it");
        }
        self.heard[from as usize] = true;
        self.drop_satisfied(site, last, out);
    }

    /// This request is satisfied, and so are all before it. Returns whether one of them was in the queue.
    fn drop_satisfied(&mut self, site: &Context<'_>, last: Stamp, out: &mut Out<'_>) -> bool {
        // A node without a satisfied request says 0.
        if last.0 == 0 {
            return false;
        }
        if self.request.is_some_and(|mine| (mine, site.me) < last) {
            out.never(OUT_OF_ORDER);
        }
        self.satisfied = self.satisfied.max(last);
        let before = self.queue.len();
        if site.has_defect(Defect::DropsOneOnly) {
            self.queue.retain(|&stamp| stamp != last);
        } else {
            self.queue.retain(|&stamp| stamp > last);
        }
        self.queue.len() < before
    }

    fn try_enter(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let Some(mine) = self.request.filter(|_| !self.inside) else { return };
        let first = self.queue.first() == Some(&(mine, site.me));
        if !first || !self.heard.iter().all(|&heard| heard) {
            return;
        }
        if self.satisfied > (mine, site.me) {
            out.never(OUT_OF_ORDER);
        }
        self.inside = true;
        out.enter();
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request { time, last } => write!(f, "REQUEST(time {time}, last {last})"),
            Message::Reply(last) => write!(f, "REPLY(last {last})"),
            Message::Flush(last) => write!(f, "FLUSH(last {last})"),
        }
    }
}
