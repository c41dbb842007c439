//! Swaroop and Singh's group mutex DRS_GME with dynamic request sets and one token. The holder of the token,
//! the captain, opens a session and admits followers of the same group. Nodes ask only the nodes that may
//! hold the token, and the last sender of a lost token sends it again. With any-of requests (extended GME).
//! Source: 004. Page: `docs/algorithms/drs-gme.md`.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use crate::algorithm::{Algorithm, Groups, Input, NodeId, Outbox, Site, Timer, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, Order, Scope, TimerInfo, Timing, Tokens};
use crate::picture::{Contents, Picture};
use crate::setting::{Setting, SettingError};

mod defects;
mod effects;
mod holder;
mod message;
#[cfg(test)]
mod paper;
mod picture;
mod rules;
mod without_token;

pub use defects::Defect;
use effects::Effects;
pub use message::Message;
use rules::{ASK_ALL, WATCH_START};
pub use rules::{Ask, Rules, Watch};

/// Runs while this node waits and does not have the token.
const SUSPECT: Timer = 0;
/// Runs while a captain waits for its followers: only once it has left, unless [`Watch::Start`] is chosen.
const FOLLOWERS: Timer = 1;

const SUITE: &[Scope] = &[
    Scope::new(1, 1, 2),
    Scope::new(2, 1, 2).groups(2).any_of(),
    Scope::new(3, 1, 1).groups(2).any_of(),
    Scope::new(3, 1, 2).groups(2).fifo(),
    Scope::new(3, 1, 2),
    Scope::new(3, 1, 1).groups(2).duplicates(1),
    // Timers that expire at any moment.
    Scope::new(2, 1, 2).groups(2).fifo().losses(1).firings(1, 2),
    Scope::new(2, 1, 2).groups(2).fifo().crashes(1).firings(1, 2),
    Scope::new(2, 1, 1).groups(2).losses(1).crashes(1).firings(2, 2),
    Scope::new(3, 1, 1).groups(2).fifo().losses(1).firings(2, 2),
    Scope::new(3, 1, 1).groups(2).fifo().crashes(1).firings(2, 2),
    // Timers that expire when they are due: never, if nothing is lost.
    Scope::new(3, 1, 1).groups(2).paced(1, 1),
    Scope::new(3, 1, 1).groups(2).fifo().paced(1, 1).losses(1),
    Scope::new(3, 1, 1).groups(2).fifo().paced(1, 1).crashes(1),
    Scope::new(3, 1, 2).groups(2).fifo().with(ASK_ALL),
    Scope::new(3, 1, 2).with(ASK_ALL),
    Scope::new(2, 1, 1).groups(2).losses(1).crashes(1).firings(2, 2).with(ASK_ALL),
    Scope::new(2, 1, 2).groups(2).fifo().losses(1).firings(1, 2).with(WATCH_START),
    Scope::new(2, 1, 1).groups(2).losses(1).crashes(1).firings(2, 2).with(WATCH_START),
    Scope::new(3, 1, 1).groups(2).fifo().losses(1).firings(2, 2).with(WATCH_START),
    Scope::new(3, 1, 1).groups(2).fifo().paced(1, 1).losses(1).with(WATCH_START),
];

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DrsGme {
    /// The state that is also in stable storage.
    kept: Durable,
    stage: Stage,
    /// Nodes that may have the token or get it: requests go to these. Empty at the holder. All other nodes at
    /// all times with [`Ask::All`].
    request_set: BTreeSet<NodeId>,
    /// The newest request of each other node that arrived while the token was away and that the token may not
    /// contain, by node.
    heard: Vec<Request>,
}

/// The state of the client. Its latest request always has the number `kept.number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Idle,
    Waiting(Groups),
    /// Inside, and this node has the token.
    Captain,
    /// Inside, admitted by this captain.
    Follower(NodeId),
}

/// When the token came to its holder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrival {
    /// In this step.
    JustNow,
    /// In an earlier step.
    Earlier,
}

/// A captain's offer to follow it.
#[derive(Clone, Copy)]
struct Start {
    captain: NodeId,
    group: crate::Group,
    /// The number of the request that the captain grants.
    number: u32,
}

/// What survives a crash. It is stored whenever it changes, before anything leaves the node.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Durable {
    /// The number of this node's latest request.
    number: u32,
    /// The session of the last token accepted or handed over. A token is accepted only if it is newer: each
    /// session number is used once and goes to one node, so no two nodes ever hold a valid token.
    session: u32,
    location: Location,
}

/// Where the token is, from this node's point of view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Location {
    /// At another node. Holds the copy that this node handed over last, if it ever did.
    Away(Option<Token>),
    Here(Holding),
}

impl Default for Location {
    fn default() -> Location {
        Location::Away(None)
    }
}

/// The token at its holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Holding {
    token: Token,
    /// The group of the session that is open.
    open: Option<crate::Group>,
    /// Nodes that this captain admitted and that have not completed, by node, each with the number of its
    /// request.
    followers: Vec<(NodeId, u32)>,
    /// Followers that are counted and not recorded: always 0 without a defect.
    unrecorded: u32,
    /// Whether no timer was started for the followers, all admitted by the opening: never without a defect.
    unwatched: bool,
}

/// What a token carries besides its session number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token {
    /// The waiting requests, first come first served.
    queue: Vec<Request>,
    /// For each node, the number of its last granted request.
    served: Vec<u32>,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Request {
    /// The requesting node.
    pub node: NodeId,
    /// Counts the requests of that node.
    pub number: u32,
    /// The groups it accepts.
    pub groups: Groups,
}

type Context<'a> = Site<'a, DrsGme>;

impl Algorithm for DrsGme {
    type Message = Message;
    type Durable = Durable;
    type Rules = Rules;

    const INFO: Info = Info {
        name: "drs-gme",
        title: "group mutex: one token, captain and followers, dynamic request sets, regeneration",
        kind: Kind::GroupMutex,
        source: "004",
        cost: "0 if the token is here and free; at most n + 1; more only after a loss or a crash",
        tokens: Tokens::One,
        needs: Needs {
            order: Order::Any,
            tolerates_loss: true,
            tolerates_duplicates: true,
            tolerates_crashes: true,
            timing: Timing::BoundsForRecovery,
        },
        clients: Clients::OneEach,
        unique_requests: false,
        options: rules::OPTIONS,
        timers: &[
            TimerInfo {
                name: "suspect",
                when_it_expires: "a waiting node tells all others that its request or the token may be lost",
            },
            TimerInfo {
                name: "followers",
                when_it_expires: "a captain asks its followers whether they have completed",
            },
        ],
        sometimes: &[
            "a request heard earlier joined the queue",
            "a stale request was answered with a hint",
            "a hint met the token and went back",
            "a token was sent again",
            "an old token was dropped",
            "a start came for a request that is over",
            "a token came to a node that does not wait",
            "a new request stood for a completion",
            "a captain came back and waits for its followers",
        ],
        suite: SUITE,
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules::of(setting))
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let first = site.me == 0;
        let token = Token { queue: Vec::new(), served: vec![0; site.nodes as usize] };
        let location = if first { Location::Here(Holding::of(token)) } else { Location::default() };
        let mut node = DrsGme {
            kept: Durable { location, ..Durable::default() },
            stage: Stage::Idle,
            request_set: site.others().collect(),
            heard: Vec::new(),
        };
        if first {
            node.ask_only(site, BTreeSet::new());
        }
        node
    }

    fn restart(site: &Site<'_, Self>, saved: &Durable, out: &mut Outbox<'_, Self>) -> Self {
        let mut node = Self::start(site);
        // A node that never stored anything starts afresh.
        if *saved == Durable::default() {
            return node;
        }
        node.kept = saved.clone();
        let mut effects = Effects::at_restart(&node, site);
        node.come_back(site, &mut effects);
        effects.carry_out(&node, site, out);
        node
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        let expired = if let Input::Expire(timer) = input { Some(timer) } else { None };
        let mut effects = Effects::new(self, site, expired);
        match input {
            Input::Request { groups, .. } => self.request(site, groups, &mut effects),
            Input::Exit { .. } => self.exit(site, &mut effects),
            Input::Cancel { .. } => effects.never(UNUSED_INPUT),
            Input::Deliver { from, message } => self.deliver(site, from, message, &mut effects),
            Input::Expire(SUSPECT) => self.suspect(site, &mut effects),
            Input::Expire(_) => self.ask_followers(&mut effects),
        }
        effects.carry_out(self, site, out);
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        if let Location::Here(holding) = &self.kept.location {
            census.token_here();
            census.queue_of(holding.token.queue.iter().map(|ask| ask.node));
        }
        census.queue_of(self.heard.iter().map(|ask| ask.node));
    }

    fn count_message(message: &Message, _: NodeId, census: &mut Census) {
        message.count(census);
    }

    fn draw(&self, _: &Site<'_, Self>, picture: &mut Picture) {
        self.draw_parts(picture);
    }

    fn draw_message(message: &Message) -> Contents {
        match message {
            Message::Token { .. } => Contents::token(0),
            _ => Contents::default(),
        }
    }

    fn kind(message: &Message) -> &'static str {
        message.kind()
    }

    fn words(message: &Message) -> u32 {
        message.words()
    }
}

impl DrsGme {
    /// The nodes that a request of the client would go to now.
    pub fn request_set(&self) -> impl Iterator<Item = NodeId> {
        self.request_set.iter().copied()
    }

    /// The queue of the token, if it is here.
    pub fn queue(&self) -> Option<&[Request]> {
        match &self.kept.location {
            Location::Here(holding) => Some(&holding.token.queue),
            Location::Away(_) => None,
        }
    }

    /// The client requests entry.
    fn request(&mut self, site: &Context<'_>, groups: Groups, effects: &mut Effects) {
        self.kept.number += 1;
        let ask = Request { node: site.me, number: self.kept.number, groups };
        self.stage = Stage::Waiting(groups);
        if matches!(self.kept.location, Location::Here(_)) {
            return self.request_here(site, ask, effects);
        }
        for &to in &self.request_set {
            effects.send(to, Message::Request { number: ask.number, groups });
        }
    }

    /// The client leaves.
    fn exit(&mut self, site: &Context<'_>, effects: &mut Effects) {
        match core::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Captain => self.next_session(site, Arrival::Earlier, effects),
            Stage::Follower(captain) => effects.send(captain, Message::Complete { number: self.kept.number }),
            Stage::Idle | Stage::Waiting(_) => effects.never("a client leaves and is not inside"),
        }
    }

    fn deliver(&mut self, site: &Context<'_>, from: NodeId, message: Message, effects: &mut Effects) {
        match message {
            Message::Request { number, groups } => {
                self.on_request(site, Request { node: from, number, groups }, effects);
            }
            Message::Token { session, token } => self.on_token(site, session, token, effects),
            Message::Start { group, number } => {
                self.on_start(site, Start { captain: from, group, number }, effects);
            }
            Message::IsComplete { group, number } => {
                self.on_is_complete(site, Start { captain: from, group, number }, effects);
            }
            Message::Complete { number } => self.on_complete(site, from, number, effects),
            Message::GenToken { number, groups, session } => {
                self.on_gen_token(site, Request { node: from, number, groups }, session, effects);
            }
            Message::Hint => self.on_hint(site, from, effects),
        }
    }

    fn on_request(&mut self, site: &Context<'_>, ask: Request, effects: &mut Effects) {
        match self.kept.location {
            Location::Here(_) => self.request_at_holder(site, ask, effects),
            Location::Away(_) => self.request_heard(site, ask, effects),
        }
    }

    /// The node restarts. Its client and the requests it heard are gone; the timers of the other nodes repair
    /// that.
    fn come_back(&mut self, site: &Context<'_>, effects: &mut Effects) {
        let Location::Here(holding) = &mut self.kept.location else {
            self.request_set = site.others().collect();
            return;
        };
        holding.token.queue.retain(|ask| ask.node != site.me);
        if !holding.followers.is_empty() {
            effects.note("a captain came back and waits for its followers");
        }
        self.ask_only(site, BTreeSet::new());
        self.next_session(site, Arrival::Earlier, effects);
    }

    /// From now on requests go to these nodes, unless all nodes are asked every time.
    fn ask_only(&mut self, site: &Context<'_>, nodes: BTreeSet<NodeId>) {
        if site.rules.ask == Ask::Dynamic {
            self.request_set = nodes;
        }
    }

    /// Whether the timer that suspects a loss has to be armed.
    fn must_suspect(&self) -> bool {
        matches!((&self.kept.location, self.stage), (Location::Away(_), Stage::Waiting(_)))
    }

    /// Whether the timer for the followers has to be armed.
    fn must_ask_followers(&self, site: &Context<'_>) -> bool {
        let watches = site.rules.watch == Watch::Start || self.stage != Stage::Captain;
        let watched = |holding: &Holding| !holding.followers.is_empty() && !holding.unwatched;
        watches && matches!(&self.kept.location, Location::Here(holding) if watched(holding))
    }
}
