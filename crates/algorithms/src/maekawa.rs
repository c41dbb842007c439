//! Maekawa's mutex: a node asks only its quorum; any two quorums share a member, and each member locks itself
//! for one request at a time. FAILED, INQUIRE and RELINQUISH take locks back where requests would block each
//! other. A quorum is a row and a column of a grid, a line of a projective plane or a path of a tree. Sources:
//! 001 ch. II, 002 table 2. Page: `docs/algorithms/maekawa.md`.

use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OptionInfo, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::post::Post;
use crate::setting::{Setting, SettingError};
use crate::sorted;
use crate::stamp::Stamp;

mod defects;
#[cfg(test)]
mod paper;
mod quorums;

pub use defects::Defect;
pub use quorums::Quorums;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Maekawa {
    /// The latest time of any request seen.
    clock: u32,
    /// The time of this node's own request, until it leaves.
    request: Option<u32>,
    /// The members whose lock this node holds; it is inside when that is the whole quorum.
    locked: Vec<NodeId>,
    /// Members that have said that an older request comes first, or got their lock back, and have not locked
    /// since.
    failed: Vec<NodeId>,
    /// Members that have asked for their lock back and have no answer yet.
    inquired: Vec<NodeId>,
    /// As a member of quorums: the request that this node is locked for.
    lock: Option<Stamp>,
    /// The requests that wait for this node's lock, the oldest first. If the first is older than the locked
    /// request, the lock has been asked back for it; every other one has been told FAILED.
    queue: Vec<Stamp>,
}

/// What nodes send. A number is the time of the request that the message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The sender requests the receiver's lock.
    Request(u32),
    /// The sender has locked itself for the receiver.
    Locked,
    /// An older request comes first.
    Failed(u32),
    /// The sender asks for its lock back, if the receiver cannot enter anyway.
    Inquire(u32),
    /// The receiver gets its lock back; the request stays.
    Relinquish,
    /// The sender has left.
    Release,
}

/// The options.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The quorum of each node.
    quorums: Vec<Vec<NodeId>>,
    defect: Option<Defect>,
}

impl Algorithm for Maekawa {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "maekawa",
        title: "permission of a quorum, locks that can be asked back",
        kind: Kind::Mutex,
        source: "001 ch. II, 002 table 2 (Maekawa 1985)",
        cost: "3(q - 1) alone, at most 6(q - 1); q = 2 sqrt(n) - 1 (grid), sqrt(n) + 1/2 (plane), log n (tree)",
        tokens: Tokens::None,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: false,
        options: &[OptionInfo::choice(
            "quorum",
            Quorums::VALUES,
            "a row and a column of a grid; a line of a projective plane (n = 3, 7, 13, 21, 31 ...); a path of a tree",
        )],
        timers: &[],
        sometimes: &[
            "a lock was given back",
            "a request lost its place at the head",
            "an INQUIRE came too late",
            "an INQUIRE has to wait",
            "a FAILED was overtaken",
        ],
        suite: &[
            Scope::new(1, 1, 2),
            Scope::new(2, 1, 3),
            Scope::new(3, 1, 2),
            Scope::new(3, 1, 3).fifo(),
            Scope::new(4, 1, 1),
            Scope::new(3, 1, 2).with(&[("quorum", "plane")]),
            Scope::new(3, 1, 2).with(&[("quorum", "tree")]),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        let quorums = Quorums::named(setting.option("quorum")).of(setting.nodes)?;
        Ok(Rules { quorums, defect: Defect::of(setting) })
    }

    fn start(_: &Site<'_, Self>) -> Self {
        Maekawa {
            clock: 0,
            request: None,
            locked: Vec::new(),
            failed: Vec::new(),
            inquired: Vec::new(),
            lock: None,
            queue: Vec::new(),
        }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        let mut post = Post::new(site.me, out);
        match input {
            Input::Request { .. } => self.request(site, &mut post),
            Input::Exit { .. } => self.exit(site, &mut post),
            Input::Deliver { from, message } => self.receive(site, from, message, &mut post),
            Input::Expire(_) | Input::Cancel { .. } => post.out.never(UNUSED_INPUT),
        }
        while let Some(message) = post.next_local() {
            self.receive(site, site.me, message, &mut post);
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        census.queue_of(self.queue.iter().map(|&(_, node)| node));
    }

    fn count_message(_: &Message, _: NodeId, _: &mut Census) {}

    fn draw(&self, _: &Site<'_, Self>, picture: &mut Picture) {
        picture.point("locked for", self.lock.map(|(_, node)| node));
        picture.queue(self.queue.iter().map(|&(_, node)| node));
        picture.tie("has the lock of", self.locked.iter().copied());
        picture.tie("failed at", self.failed.iter().copied());
        picture.tie("asked back by", self.inquired.iter().copied());
        picture.fact_if("request", self.request);
        picture.fact("clock", self.clock);
    }

    fn draw_message(_: &Message) -> Contents {
        Contents::default()
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request(_) => "REQUEST",
            Message::Locked => "LOCKED",
            Message::Failed(_) => "FAILED",
            Message::Inquire(_) => "INQUIRE",
            Message::Relinquish => "RELINQUISH",
            Message::Release => "RELEASE",
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request(_) | Message::Failed(_) | Message::Inquire(_) => 4,
            Message::Locked | Message::Relinquish | Message::Release => 3,
        }
    }
}

type Context<'a> = Site<'a, Maekawa>;
type Out<'p, 'o> = Post<'p, 'o, Maekawa>;

/// The rules of a requesting node.
impl Maekawa {
    fn request(&mut self, site: &Context<'_>, post: &mut Out<'_, '_>) {
        self.clock += 1;
        self.request = Some(self.clock);
        for &to in own_quorum(site) {
            post.send(to, Message::Request(self.clock));
        }
    }

    fn exit(&mut self, site: &Context<'_>, post: &mut Out<'_, '_>) {
        self.request = None;
        self.locked.clear();
        for &to in own_quorum(site) {
            post.send(to, Message::Release);
        }
    }

    fn receive(&mut self, site: &Context<'_>, from: NodeId, message: Message, post: &mut Out<'_, '_>) {
        match message {
            Message::Request(time) => self.on_request(site, (time, from), post),
            Message::Locked => self.on_locked(site, from, post),
            Message::Failed(time) => self.on_failed(site, from, time, post),
            Message::Inquire(time) => self.on_inquire(site, from, time, post),
            Message::Relinquish => self.on_relinquish(from, post),
            Message::Release => self.on_release(from, post),
        }
    }

    fn on_locked(&mut self, site: &Context<'_>, from: NodeId, post: &mut Out<'_, '_>) {
        if self.request.is_none() || self.locked.contains(&from) {
            return post.out.never("a lock comes that was not asked for");
        }
        sorted::remove(&mut self.failed, &from);
        sorted::insert(&mut self.locked, from);
        if self.inside(site) {
            self.inquired.clear();
            post.out.enter();
        } else {
            self.give_way(post);
        }
    }

    fn on_failed(&mut self, site: &Context<'_>, from: NodeId, time: u32, post: &mut Out<'_, '_>) {
        // LOCKED always comes after FAILED, so a FAILED that comes after LOCKED was overtaken.
        let overtaken = self.request != Some(time) || self.locked.contains(&from);
        if overtaken && !site.has_defect(Defect::StaleFailedBelieved) {
            return post.out.note("a FAILED was overtaken");
        }
        sorted::remove(&mut self.locked, &from);
        sorted::insert(&mut self.failed, from);
        self.give_way(post);
    }

    fn on_inquire(&mut self, site: &Context<'_>, from: NodeId, time: u32, post: &mut Out<'_, '_>) {
        let unasked = !self.failed.is_empty() && !self.locked.contains(&from);
        if unasked && site.has_defect(Defect::StaleInquireAnswered) {
            return post.send(from, Message::Relinquish);
        }
        if self.request != Some(time) || self.inside(site) {
            // The RELEASE that is on its way, or will be, is the answer.
            return post.out.note("an INQUIRE came too late");
        }
        sorted::insert(&mut self.inquired, from);
        self.give_way(post);
        if self.inquired.contains(&from) {
            post.out.note("an INQUIRE has to wait");
        }
    }

    /// Gives back the locks that were asked back, if this node cannot enter as things stand.
    fn give_way(&mut self, post: &mut Out<'_, '_>) {
        if self.failed.is_empty() {
            return;
        }
        // An INQUIRE may arrive before the lock that it is about.
        let wanted: Vec<NodeId> =
            self.inquired.iter().copied().filter(|node| self.locked.contains(node)).collect();
        for node in wanted {
            post.out.note("a lock was given back");
            sorted::remove(&mut self.inquired, &node);
            sorted::remove(&mut self.locked, &node);
            sorted::insert(&mut self.failed, node);
            post.send(node, Message::Relinquish);
        }
    }

    fn inside(&self, site: &Context<'_>) -> bool {
        self.request.is_some() && self.locked.len() == own_quorum(site).len()
    }
}

/// The rules of a quorum member.
impl Maekawa {
    fn on_request(&mut self, site: &Context<'_>, new: Stamp, post: &mut Out<'_, '_>) {
        let (time, from) = new;
        let defect = site.rules.defect;
        self.clock = self.clock.max(time);
        let Some(lock) = self.lock else {
            self.lock = Some(new);
            return post.send(from, Message::Locked);
        };
        let first = self.queue.first().copied();
        if new > lock || first.is_some_and(|first| new > first) {
            if defect != Some(Defect::NeverFailed) {
                post.send(from, Message::Failed(time));
            }
        } else if let Some((time, displaced)) = first.filter(|&first| first < lock) {
            // The lock has already been asked back; the request it was asked back for must learn that it is
            // no longer the first, or it would keep its locks elsewhere for ever.
            post.out.note("a request lost its place at the head");
            if !matches!(defect, Some(Defect::DisplacedNotTold | Defect::NeverFailed)) {
                post.send(displaced, Message::Failed(time));
            }
        } else if defect != Some(Defect::NeverInquires) {
            post.send(lock.1, Message::Inquire(lock.0));
        }
        sorted::insert(&mut self.queue, new);
    }

    fn on_relinquish(&mut self, from: NodeId, post: &mut Out<'_, '_>) {
        match self.lock {
            Some(lock) if lock.1 == from => sorted::insert(&mut self.queue, lock),
            _ => return post.out.never("a lock comes back from a node that does not have it"),
        }
        self.lock_next(post);
    }

    fn on_release(&mut self, from: NodeId, post: &mut Out<'_, '_>) {
        if self.lock.is_none_or(|(_, node)| node != from) {
            return post.out.never("a node leaves that does not have the lock");
        }
        self.lock_next(post);
    }

    fn lock_next(&mut self, post: &mut Out<'_, '_>) {
        self.lock = (!self.queue.is_empty()).then(|| self.queue.remove(0));
        if let Some((_, node)) = self.lock {
            post.send(node, Message::Locked);
        }
    }
}

fn own_quorum<'a>(site: &Context<'a>) -> &'a [NodeId] {
    &site.rules.quorums[site.me as usize]
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(time) => write!(f, "REQUEST(time {time})"),
            Message::Failed(time) => write!(f, "FAILED(time {time})"),
            Message::Inquire(time) => write!(f, "INQUIRE(time {time})"),
            Message::Locked | Message::Relinquish | Message::Release => f.write_str(Maekawa::kind(self)),
        }
    }
}
