//! Lamport's mutex: every node keeps the queue of all requests, ordered by logical time. A node enters when
//! its own request is the oldest and every other node has replied to it. Sources: 001 ch. II, 000 sec. II.
//! Page: `docs/algorithms/lamport.md`.

use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OnlyDefect, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::setting::{Setting, SettingError};
use crate::stamp::Stamp;

mod defects;
#[cfg(test)]
mod paper;

pub use defects::Defect;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lamport {
    /// The latest time of any request seen. Only requests advance the clock: no other message is ever
    /// compared.
    clock: u32,
    /// All requests that this node knows, its own included, the oldest first.
    queue: Vec<Stamp>,
    /// How many nodes have not yet replied to this node's request.
    missing: u32,
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The sender requests entry, at this time.
    Request(u32),
    /// The sender has the receiver's request in its queue.
    Reply,
    /// The sender has left.
    Release,
}

/// The rules: there are no options.
pub type Rules = OnlyDefect<Defect>;

impl Algorithm for Lamport {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "lamport",
        title: "permission of all, a queue by logical time on every node",
        kind: Kind::Mutex,
        source: "001 ch. II, 000 sec. II (Lamport 1978)",
        cost: "3(n - 1)",
        tokens: Tokens::None,
        needs: Needs::RELIABLE_FIFO,
        clients: Clients::OneEach,
        unique_requests: false,
        options: &[],
        timers: &[],
        sometimes: &[
            "all replies are in and an older request stands before",
            "two requests of the same time met",
        ],
        suite: &[Scope::new(1, 1, 2), Scope::new(2, 1, 3), Scope::new(3, 1, 1), Scope::new(3, 1, 2)],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules { defect: Defect::of(setting) })
    }

    fn start(_: &Site<'_, Self>) -> Self {
        Lamport { clock: 0, queue: Vec::new(), missing: 0 }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { from, message: Message::Request(time) } => {
                self.on_request(site, (time, from), out);
            }
            Input::Deliver { message: Message::Reply, .. } => self.on_reply(site, out),
            Input::Deliver { from, message: Message::Release } => self.on_release(site, from, out),
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        census.queue_of(self.queue.iter().map(|&(_, node)| node));
    }

    fn count_message(_: &Message, _: NodeId, _: &mut Census) {}

    fn draw(&self, _: &Site<'_, Self>, picture: &mut Picture) {
        picture.queue(self.queue.iter().map(|&(_, node)| node));
        let times: Vec<u32> = self.queue.iter().map(|&(time, _)| time).collect();
        picture.numbers("times in the queue", &times);
        picture.fact("replies missing", self.missing);
        picture.fact("clock", self.clock);
    }

    fn draw_message(_: &Message) -> Contents {
        Contents::default()
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request(_) => "REQUEST",
            Message::Reply => "REPLY",
            Message::Release => "RELEASE",
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request(_) => 4,
            Message::Reply | Message::Release => 3,
        }
    }
}

type Context<'a> = Site<'a, Lamport>;
type Out<'a> = Outbox<'a, Lamport>;

impl Lamport {
    fn request(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.clock += 1;
        self.enqueue((self.clock, site.me));
        out.broadcast(site, &Message::Request(self.clock));
        if !site.has_defect(Defect::RepliesNotAwaited) {
            self.missing = site.nodes - 1;
        }
        self.enter_if_first(site, out);
    }

    fn exit(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.forget(site.me, out);
        out.broadcast(site, &Message::Release);
    }

    fn on_request(&mut self, site: &Context<'_>, stamp: Stamp, out: &mut Out<'_>) {
        let (time, from) = stamp;
        if self.queue.iter().any(|&(mine, node)| node == site.me && mine == time) {
            out.note("two requests of the same time met");
        }
        // A request that this node makes after its reply must be later than the one it replied to.
        if !site.has_defect(Defect::ClockNotAdvanced) {
            self.clock = self.clock.max(time);
        }
        self.enqueue(stamp);
        out.send(from, Message::Reply);
    }

    fn on_reply(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        if site.has_defect(Defect::RepliesNotAwaited) {
            return;
        }
        let Some(missing) = self.missing.checked_sub(1) else {
            return out.never("a reply comes to a node that awaits none");
        };
        self.missing = missing;
        self.enter_if_first(site, out);
    }

    fn on_release(&mut self, site: &Context<'_>, from: NodeId, out: &mut Out<'_>) {
        let was_first = self.queue.first().is_some_and(|&(_, node)| node == from);
        self.forget(from, out);
        // Only the first request can have kept this node waiting.
        if was_first {
            self.enter_if_first(site, out);
        }
    }

    fn enter_if_first(&self, site: &Context<'_>, out: &mut Out<'_>) {
        if self.missing > 0 {
            return;
        }
        if self.queue.first().is_some_and(|&(_, node)| node == site.me) {
            out.enter();
        } else if self.queue.iter().any(|&(_, node)| node == site.me) {
            out.note("all replies are in and an older request stands before");
        }
    }

    fn enqueue(&mut self, stamp: Stamp) {
        let index = self.queue.partition_point(|&older| older < stamp);
        self.queue.insert(index, stamp);
    }

    fn forget(&mut self, node: NodeId, out: &mut Out<'_>) {
        match self.queue.iter().position(|&(_, waiting)| waiting == node) {
            Some(index) => {
                self.queue.remove(index);
            }
            None => out.never("a node leaves and its request is not in the queue"),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(time) => write!(f, "REQUEST(time {time})"),
            Message::Reply => f.write_str("REPLY"),
            Message::Release => f.write_str("RELEASE"),
        }
    }
}
