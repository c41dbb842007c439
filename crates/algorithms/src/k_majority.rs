//! A k-mutex by quorums of w = ⌊n/(k+1)⌋ + 1 nodes: k + 1 of them cannot be disjoint, and each node locks
//! itself for one request at a time, so at most k are inside. A requester asks all nodes and enters with the
//! first w locks, or asks the w nodes from itself on. FAILED, INQUIRE and RELINQUISH are Maekawa's. Source: cited
//! as k-majority coteries; 000 names k-coteries. Page: `docs/algorithms/k-majority.md`.

use alloc::format;
use alloc::vec;
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

pub use defects::Defect;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KMajority {
    /// The latest time of any request seen.
    clock: u32,
    /// The time of this node's own request, until it leaves.
    request: Option<u32>,
    /// The members whose lock this node holds; it is inside when they are as many as a quorum has.
    locked: Vec<NodeId>,
    /// Members that have said that an older request comes first, or got their lock back, and have not locked
    /// since.
    failed: Vec<NodeId>,
    /// Members that have asked for their lock back and have no answer yet.
    inquired: Vec<NodeId>,
    /// As a member of quorums: the request that this node is locked for.
    lock: Option<Stamp>,
    /// The requests that wait for this node's lock, the oldest first.
    queue: Vec<Stamp>,
    /// For each node the time of its latest request that needs no lock any more. Empty where a requester needs
    /// all the locks that it asks for: there no RELEASE can overtake its REQUEST.
    done: Vec<u32>,
}

/// What nodes send. The number is the time of the request that the message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The sender requests the receiver's lock.
    Request(u32),
    /// The sender has locked itself for the receiver.
    Locked(u32),
    /// An older request comes first.
    Failed(u32),
    /// The sender asks for its lock back, if the receiver cannot enter anyway.
    Inquire(u32),
    /// The receiver gets its lock back; the request stays.
    Relinquish(u32),
    /// The sender has left, or does not need the receiver's lock.
    Release(u32),
}

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How many nodes a requester asks, itself and those that follow it.
    asked: u32,
    /// With how many locks it enters (w).
    needed: u32,
    defect: Option<Defect>,
}

impl Algorithm for KMajority {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "k-majority",
        title: "permission of any n/(k+1) + 1 nodes, locks that can be asked back",
        kind: Kind::KMutex,
        source: "cited as k-majority coteries (000 refs. 9 and 10 are about k-coteries)",
        cost: "3(n - 1) alone, about 4(n - 1) loaded; pick=window: the same with w = n/(k+1) + 1 for n",
        tokens: Tokens::None,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: false,
        options: &[OptionInfo::choice(
            "pick",
            &["any", "window"],
            "whom a requester asks: all nodes, and any w of them will do; or only the w from itself on",
        )],
        timers: &[],
        sometimes: &[
            "a lock was given back",
            "a request lost its place at the head",
            "an INQUIRE came too late",
            "an INQUIRE has to wait",
            "a FAILED was overtaken",
            "a lock came that is not needed",
            "a request came after its RELEASE",
        ],
        suite: &[
            Scope::new(1, 1, 2),
            Scope::new(2, 1, 2),
            Scope::new(2, 2, 2),
            Scope::new(3, 1, 1).fifo(),
            Scope::new(4, 2, 1).with(&[("pick", "window")]),
            Scope::new(5, 2, 1).with(&[("pick", "window")]),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        let (nodes, tokens) = (setting.nodes, setting.tokens);
        let needed = quorum_size(nodes, tokens);
        if !reaches_all(nodes, tokens) {
            let below = (tokens..nodes).rev().find(|&nodes| reaches_all(nodes, tokens)).unwrap_or(tokens);
            let above = (nodes..).find(|&nodes| reaches_all(nodes, tokens)).unwrap_or(2 * tokens);
            return Err(SettingError(format!(
                "{tokens} quorums of {needed} nodes do not fit into {nodes} nodes, so {tokens} clients could never be \
                 inside at once; try --nodes {below} or --nodes {above}"
            )));
        }
        let window = setting.option("pick") == Some("window");
        Ok(Rules { asked: if window { needed } else { nodes }, needed, defect: Defect::of(setting) })
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let rules = site.rules;
        let all_needed = rules.asked == rules.needed || site.has_defect(Defect::DoneForgotten);
        KMajority {
            clock: 0,
            request: None,
            locked: Vec::new(),
            failed: Vec::new(),
            inquired: Vec::new(),
            lock: None,
            queue: Vec::new(),
            done: vec![0; if all_needed { 0 } else { site.nodes as usize }],
        }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        let mut post = Post::new(site.me, out);
        match input {
            Input::Request { .. } => self.request(site, &mut post),
            Input::Exit { .. } => self.exit(&mut post),
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
            Message::Locked(_) => "LOCKED",
            Message::Failed(_) => "FAILED",
            Message::Inquire(_) => "INQUIRE",
            Message::Relinquish(_) => "RELINQUISH",
            Message::Release(_) => "RELEASE",
        }
    }

    fn words(_: &Message) -> u32 {
        4
    }
}

/// How many nodes a quorum has.
fn quorum_size(nodes: u32, tokens: u32) -> u32 {
    nodes / (tokens + 1) + 1
}

/// Whether k quorums can be disjoint, so that k clients can be inside at once.
fn reaches_all(nodes: u32, tokens: u32) -> bool {
    u64::from(tokens) * u64::from(quorum_size(nodes, tokens)) <= u64::from(nodes)
}

type Context<'a> = Site<'a, KMajority>;
type Out<'p, 'o> = Post<'p, 'o, KMajority>;

/// The rules of a requesting node.
impl KMajority {
    fn request(&mut self, site: &Context<'_>, post: &mut Out<'_, '_>) {
        self.clock += 1;
        self.request = Some(self.clock);
        for to in asked(site) {
            post.send(to, Message::Request(self.clock));
        }
    }

    fn exit(&mut self, post: &mut Out<'_, '_>) {
        let Some(time) = self.request.take() else {
            return post.out.never("a client leaves that made no request");
        };
        for to in core::mem::take(&mut self.locked) {
            post.send(to, Message::Release(time));
        }
    }

    fn receive(&mut self, site: &Context<'_>, from: NodeId, message: Message, post: &mut Out<'_, '_>) {
        match message {
            Message::Request(time) => self.on_request(site, (time, from), post),
            Message::Locked(time) => self.on_locked(site, from, time, post),
            Message::Failed(time) => self.on_failed(site, from, time, post),
            Message::Inquire(time) => self.on_inquire(site, from, time, post),
            Message::Relinquish(time) => self.on_relinquish((time, from), post),
            Message::Release(time) => self.on_release((time, from), post),
        }
    }

    fn on_locked(&mut self, site: &Context<'_>, from: NodeId, time: u32, post: &mut Out<'_, '_>) {
        let rules = site.rules;
        if !self.waits_with(site, time) {
            if rules.asked == rules.needed {
                return post.out.never("a lock comes that was not asked for");
            }
            // The RELEASE that tells the member so is on its way.
            return post.out.note("a lock came that is not needed");
        }
        if self.locked.contains(&from) {
            return post.out.never("a member locks itself twice for one request");
        }
        sorted::remove(&mut self.failed, &from);
        sorted::insert(&mut self.locked, from);
        if !self.inside(site) {
            return self.give_way(site, post);
        }
        self.inquired.clear();
        self.failed.clear();
        post.out.enter();
        for to in asked(site) {
            if !self.locked.contains(&to) {
                post.send(to, Message::Release(time));
            }
        }
    }

    fn on_failed(&mut self, site: &Context<'_>, from: NodeId, time: u32, post: &mut Out<'_, '_>) {
        // LOCKED always comes after FAILED, so a FAILED that comes after LOCKED was overtaken.
        if !self.waits_with(site, time) || self.locked.contains(&from) {
            return post.out.note("a FAILED was overtaken");
        }
        sorted::insert(&mut self.failed, from);
        self.give_way(site, post);
    }

    fn on_inquire(&mut self, site: &Context<'_>, from: NodeId, time: u32, post: &mut Out<'_, '_>) {
        if !self.waits_with(site, time) {
            // The RELEASE that is on its way, or will be, is the answer.
            return post.out.note("an INQUIRE came too late");
        }
        sorted::insert(&mut self.inquired, from);
        self.give_way(site, post);
        if self.inquired.contains(&from) {
            post.out.note("an INQUIRE has to wait");
        }
    }

    /// Gives back the locks that were asked back, if so many members have failed that the others are too few.
    fn give_way(&mut self, site: &Context<'_>, post: &mut Out<'_, '_>) {
        if self.failed.len() as u32 <= site.rules.asked - site.rules.needed {
            return;
        }
        // An INQUIRE may arrive before the lock that it is about.
        let wanted: Vec<NodeId> =
            self.inquired.iter().copied().filter(|node| self.locked.contains(node)).collect();
        let Some(time) = self.request else { return };
        for node in wanted {
            post.out.note("a lock was given back");
            sorted::remove(&mut self.inquired, &node);
            sorted::remove(&mut self.locked, &node);
            sorted::insert(&mut self.failed, node);
            post.send(node, Message::Relinquish(time));
        }
    }

    fn inside(&self, site: &Context<'_>) -> bool {
        self.locked.len() as u32 == site.rules.needed
    }

    /// Whether the client waits, with a request of this time.
    fn waits_with(&self, site: &Context<'_>, time: u32) -> bool {
        self.request == Some(time) && !self.inside(site)
    }
}

/// The rules of a quorum member.
impl KMajority {
    fn on_request(&mut self, site: &Context<'_>, new: Stamp, post: &mut Out<'_, '_>) {
        let (time, from) = new;
        let defect = site.rules.defect;
        self.clock = self.clock.max(time);
        if self.done.get(from as usize).is_some_and(|&done| time <= done) {
            return post.out.note("a request came after its RELEASE");
        }
        let Some(lock) = self.lock else {
            self.lock = Some(new);
            return post.send(from, Message::Locked(time));
        };
        let first = self.queue.first().copied();
        if new > lock || first.is_some_and(|first| new > first) {
            if defect != Some(Defect::NeverFailed) {
                post.send(from, Message::Failed(time));
            }
        } else if let Some((time, displaced)) = first.filter(|&first| first < lock) {
            // The lock has already been asked back, for a request that is no longer the first.
            post.out.note("a request lost its place at the head");
            if defect != Some(Defect::NeverFailed) {
                post.send(displaced, Message::Failed(time));
            }
        } else if defect != Some(Defect::NeverInquires) {
            post.send(lock.1, Message::Inquire(lock.0));
        }
        sorted::insert(&mut self.queue, new);
    }

    fn on_relinquish(&mut self, request: Stamp, post: &mut Out<'_, '_>) {
        if self.lock != Some(request) {
            // The requester has entered with other locks since, and its RELEASE was faster.
            return;
        }
        sorted::insert(&mut self.queue, request);
        self.lock_next(post);
    }

    fn on_release(&mut self, request: Stamp, post: &mut Out<'_, '_>) {
        let (time, from) = request;
        if let Some(done) = self.done.get_mut(from as usize) {
            *done = time.max(*done);
        }
        if self.lock == Some(request) {
            self.lock_next(post);
        } else {
            self.queue.retain(|&waiting| waiting != request);
        }
    }

    fn lock_next(&mut self, post: &mut Out<'_, '_>) {
        self.lock = (!self.queue.is_empty()).then(|| self.queue.remove(0));
        if let Some((time, node)) = self.lock {
            post.send(node, Message::Locked(time));
        }
    }
}

/// The nodes that this node asks, itself first.
fn asked(site: &Context<'_>) -> impl Iterator<Item = NodeId> + use<> {
    let (me, nodes) = (site.me, site.nodes);
    (0..site.rules.asked).map(move |distance| (me + distance) % nodes)
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Message::Request(time)
        | Message::Locked(time)
        | Message::Failed(time)
        | Message::Inquire(time)
        | Message::Relinquish(time)
        | Message::Release(time)) = self;
        write!(f, "{}(time {time})", KMajority::kind(self))
    }
}
