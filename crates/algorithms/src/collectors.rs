//! Request collectors: nodes in about √n groups, each with a local collector. One of those is also the global
//! collector and keeps the tokens. It shares its free tokens among the requesting groups, a local collector
//! deals its share to its nodes, and a token travels with the queue that was dealt to it. Source: 000. Pages:
//! `docs/algorithms/collectors.md` and, for the same state machine with one token per group,
//! `docs/algorithms/chaudhuri-edward.md`.

use alloc::format;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT, Wait};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OptionInfo, Scope, TimerInfo, Tokens};
use crate::setting::{Setting, SettingError};

mod defects;
mod layout;
mod message;
#[cfg(test)]
pub(crate) mod paper;

pub use defects::Defect;
pub use layout::{GLOBAL, Layout, LocalGroup};
pub use message::Message;

/// The only timer.
const COLLECT: usize = 0;

/// The description of the only timer.
pub const COLLECT_TIMER: TimerInfo = TimerInfo {
    name: "collect",
    when_it_expires: "the global collector shares out its tokens among the groups that wait",
};

/// The time a request takes from a node through its local collector to the global one. Every node that asked
/// before the first request arrived gets a share.
const MOMENT: Wait = Wait { hops: 2, sections: 0 };

/// Notes of the algorithm.
pub mod notes {
    /// No token is free for a requesting group.
    pub const WAITS: &str = "a group waits for tokens to come back";
    /// Some tokens of a grant have no waiter.
    pub const TOO_MANY: &str = "a group got more tokens than it has requests";
    /// The requests of the global collector's group were dealt to several tokens.
    pub const OWN_GROUP_SEVERAL: &str = "the global collector's group got several tokens";
    /// Returned tokens do not end the collecting.
    pub const BACK_WHILE_COLLECTING: &str = "tokens came back while requests were collected";
    /// Only if tokens return to the local collector after every critical section.
    pub const DEALT_AGAIN: &str = "a token that came back was dealt again";
}

/// What distinguishes the algorithms of this structure.
pub trait Variant: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// Its description.
    const INFO: Info;
    /// Reads its options.
    fn rules(setting: &Setting) -> Result<Rules, SettingError>;
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grouped<V> {
    /// The token of the client inside: the queue of the nodes that get it next.
    held: Option<Vec<NodeId>>,
    /// At a local collector: the waiting nodes of the group (LRQ).
    waiting: Vec<NodeId>,
    /// At a local collector: how many of them, from the front, the last grant covers. The text's MARKER
    /// stands behind them.
    covered: usize,
    /// At a local collector: whether a group request is outstanding.
    asked: bool,
    /// At the global collector: free tokens.
    available: u32,
    /// At the global collector: the waiting groups, each at most once (GRQ).
    asking: Vec<LocalGroup>,
    variant: PhantomData<V>,
}

/// How the global collector shares out its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Equal shares.
    Equal,
    /// Equal shares, none above ⌈k / groups⌉.
    Capped,
    /// One for each group; the rest for the global collector's own group.
    One,
}

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    layout: Layout,
    share: Share,
    /// Whether requests are collected for a moment before idle tokens are shared out.
    collect: bool,
    /// Whether a token returns to the local collector after every critical section.
    redeal: bool,
    defect: Option<Defect>,
}

impl Rules {
    /// The rules for this way of sharing. The setting says how many groups there are and whether requests are
    /// collected.
    pub fn new(setting: &Setting, share: Share) -> Result<Rules, SettingError> {
        let (nodes, groups) = (setting.nodes, setting.number(LOCAL_GROUPS.name, 0));
        let layout = Layout::new(nodes, groups).ok_or_else(|| {
            SettingError(format!("local-groups must be at most the number of nodes ({nodes}), not {groups}"))
        })?;
        let collect = setting.option("share") == Some("collect");
        Ok(Rules { layout, share, collect, redeal: false, defect: None })
    }
}

/// The option that all variants have.
pub const LOCAL_GROUPS: OptionInfo = OptionInfo::number(
    "local-groups",
    "how many local groups (0: the whole number nearest to the root of the number of nodes)",
);

/// The algorithm of 000.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dynamic {}

/// The algorithm of 000.
pub type Collectors = Grouped<Dynamic>;

impl Variant for Dynamic {
    const INFO: Info = Info {
        name: "collectors",
        title: "about √n groups with request collectors, tokens shared out by demand",
        kind: Kind::KMutex,
        source: "000 sec. III",
        cost: "0 to 7 for a single request; for many at once 2 to 3, plus 2 per group and per token",
        tokens: Tokens::PerSlot,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: true,
        options: &[
            OptionInfo::choice(
                "share",
                &["cap", "collect"],
                "grant at most k/groups tokens at once, or collect requests for a moment first",
            ),
            OptionInfo::choice(
                "return",
                &["queue", "collector"],
                "where a token goes after each section: along its queue, or to the local collector",
            ),
            LOCAL_GROUPS,
        ],
        timers: &[COLLECT_TIMER],
        sometimes: &[
            notes::WAITS,
            notes::TOO_MANY,
            notes::OWN_GROUP_SEVERAL,
            notes::BACK_WHILE_COLLECTING,
            notes::DEALT_AGAIN,
        ],
        suite: &[
            Scope::new(1, 1, 2),
            Scope::new(2, 2, 3),
            Scope::new(3, 3, 2),
            Scope::new(4, 1, 2),
            Scope::new(4, 2, 2),
            Scope::new(4, 3, 2),
            Scope::new(4, 2, 2).with(&[("return", "collector")]),
            Scope::new(4, 1, 2).with(&[("share", "collect")]).firings(2, 2),
            Scope::new(4, 2, 2).with(&[("share", "collect")]).firings(2, 2),
            Scope::new(4, 3, 2).with(&[("share", "collect"), ("return", "collector")]).firings(2, 2),
            Scope::new(6, 2, 1),
            Scope::new(6, 2, 1).with(&[("return", "collector")]),
            Scope::new(6, 2, 1).with(&[("share", "collect")]).firings(2, 2),
            Scope::new(6, 4, 1).with(&[("local-groups", "3")]),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        let collect = setting.option("share") == Some("collect");
        Ok(Rules {
            redeal: setting.option("return") == Some("collector"),
            defect: Defect::of(setting),
            ..Rules::new(setting, if collect { Share::Equal } else { Share::Capped })?
        })
    }
}

impl<V: Variant> Algorithm for Grouped<V> {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = V::INFO;

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        V::rules(setting)
    }

    fn start(site: &Site<'_, Self>) -> Self {
        Grouped {
            held: None,
            waiting: Vec::new(),
            covered: 0,
            asked: false,
            available: if site.me == GLOBAL { site.tokens } else { 0 },
            asking: Vec::new(),
            variant: PhantomData,
        }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        let printed_count = |tokens| if site.has_defect(Defect::GrantCountsOne) { 1 } else { tokens };
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => self.exit(site, out),
            Input::Expire(COLLECT) if site.rules.collect => self.share_out(site, out),
            Input::Expire(_) => out.never("there is no such timer"),
            Input::Cancel { .. } => out.never(UNUSED_INPUT),
            Input::Deliver { from, message } => match message {
                Message::Request(origin) => self.on_request(site, origin, out),
                Message::GroupRequest(group) => self.on_group_request(site, from, group, out),
                Message::Grant(tokens) => self.deal(site, printed_count(tokens), out),
                Message::Token(queue) => self.take_token(site, queue, out),
                Message::Home => self.came_home(site, out),
                Message::Return(tokens) => self.give_back(site, printed_count(tokens), out),
            },
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        (0..self.available).for_each(|_| census.token_here());
        census.queue(self.asking.len());
        census.queue_of(self.waiting.iter().copied());
        if let Some(queue) = &self.held {
            census.token_here();
            census.queue_of(queue.iter().copied());
        }
    }

    fn count_message(message: &Message, _: NodeId, census: &mut Census) {
        message.count(census);
    }

    fn kind(message: &Message) -> &'static str {
        message.kind()
    }

    fn words(message: &Message) -> u32 {
        message.words()
    }
}

type Context<'a, V> = Site<'a, Grouped<V>>;
type Out<'a, V> = Outbox<'a, Grouped<V>>;

/// The rules of every node.
impl<V: Variant> Grouped<V> {
    fn request(&mut self, site: &Context<'_, V>, out: &mut Out<'_, V>) {
        let collector = site.rules.layout.collector_of(site.me);
        let dangling = site.has_defect(Defect::DanglingElse);
        if if dangling { collector == site.me && site.me != GLOBAL } else { collector != site.me } {
            return out.send(collector, Message::Request(site.me));
        }
        // A waiting group comes first, so the global collector's client enters only if the queue is empty.
        if self.available > 0 && self.asking.is_empty() {
            self.available -= 1;
            if site.has_defect(Defect::FastPathQueues) {
                self.waiting.push(site.me);
            }
            return self.enter(Vec::new(), out);
        }
        self.waiting.push(site.me);
        if collector == site.me {
            self.ask(site, out);
        }
    }

    fn take_token(&mut self, site: &Context<'_, V>, mut queue: Vec<NodeId>, out: &mut Out<'_, V>) {
        if queue.first() != Some(&site.me) {
            return out.never("a token comes without its receiver at the head of the queue");
        }
        queue.remove(0);
        self.enter(queue, out);
    }

    fn enter(&mut self, queue: Vec<NodeId>, out: &mut Out<'_, V>) {
        let second = self.held.replace(queue).is_some();
        out.enter();
        if second {
            out.never("a node gets a second token");
        }
    }

    fn exit(&mut self, site: &Context<'_, V>, out: &mut Out<'_, V>) {
        let Some(queue) = self.held.take() else {
            return out.never("a client leaves and there is no token");
        };
        let (to, message) = match queue.first() {
            Some(&next) => (next, Message::Token(queue)),
            None => (site.rules.layout.collector_of(site.me), Message::Home),
        };
        if to == site.me {
            return self.came_home(site, out);
        }
        if site.has_defect(Defect::ForwardsTwice) && !site.rules.layout.is_collector(site.me) {
            out.send(to, message.clone());
        }
        out.send(to, message);
    }
}

/// The rules of a local collector.
impl<V: Variant> Grouped<V> {
    fn on_request(&mut self, site: &Context<'_, V>, origin: NodeId, out: &mut Out<'_, V>) {
        if site.me == GLOBAL && site.has_defect(Defect::OwnGroupDropped) {
            return;
        }
        self.waiting.push(origin);
        self.ask(site, out);
    }

    /// Sends a group request if a node of the group waits and no group request is outstanding.
    fn ask(&mut self, site: &Context<'_, V>, out: &mut Out<'_, V>) {
        if self.asked || self.waiting.is_empty() {
            return;
        }
        self.asked = true;
        let group = site.rules.layout.group_of(site.me);
        if site.me == GLOBAL {
            self.enqueue(site, group, out);
        } else {
            out.send(GLOBAL, Message::GroupRequest(group));
        }
    }

    /// Deals the group's requests to the tokens of a grant. If tokens return after every critical section,
    /// each token gets one request and the rest wait here. Otherwise all requests are dealt out in turn.
    fn deal(&mut self, site: &Context<'_, V>, tokens: u32, out: &mut Out<'_, V>) {
        self.asked = false;
        let used = (tokens as usize).min(self.waiting.len());
        let mut waiting = core::mem::take(&mut self.waiting);
        if site.rules.redeal {
            self.waiting = waiting.split_off(used);
            self.covered = self.waiting.len();
        }
        for first in 0..used {
            self.dispatch(site, waiting.iter().skip(first).step_by(used).copied().collect(), out);
        }
        if site.me == GLOBAL && used > 1 {
            out.note(notes::OWN_GROUP_SEVERAL);
        }
        let unused = tokens - used as u32;
        if unused > 0 {
            if site.me != GLOBAL {
                out.note(notes::TOO_MANY);
            }
            self.give_back(site, unused, out);
        }
        self.ask(site, out);
    }

    fn dispatch(&mut self, site: &Context<'_, V>, queue: Vec<NodeId>, out: &mut Out<'_, V>) {
        match queue.first() {
            Some(&head) if head != site.me => out.send(head, Message::Token(queue)),
            _ => self.take_token(site, queue, out),
        }
    }

    /// A token has returned with an empty queue. It serves only nodes that waited here at the last grant;
    /// otherwise a busy group would never give it back.
    fn came_home(&mut self, site: &Context<'_, V>, out: &mut Out<'_, V>) {
        if self.covered == 0 || self.waiting.is_empty() {
            return self.give_back(site, 1, out);
        }
        out.note(notes::DEALT_AGAIN);
        self.covered -= 1;
        let next = self.waiting.remove(0);
        self.dispatch(site, Vec::from([next]), out);
    }

    fn give_back(&mut self, site: &Context<'_, V>, tokens: u32, out: &mut Out<'_, V>) {
        if site.me != GLOBAL {
            return out.send(GLOBAL, Message::Return(tokens));
        }
        let collecting = self.collecting(site);
        self.available += tokens;
        if collecting {
            out.note(notes::BACK_WHILE_COLLECTING);
        } else {
            self.share_out(site, out);
        }
    }
}

/// The rules of the global collector.
impl<V: Variant> Grouped<V> {
    fn on_group_request(
        &mut self,
        site: &Context<'_, V>,
        from: NodeId,
        group: LocalGroup,
        out: &mut Out<'_, V>,
    ) {
        if self.asking.contains(&group) {
            return out.never("a group asks and is in the queue already");
        }
        if site.has_defect(Defect::QueuesItself) {
            self.waiting.push(from);
            return self.enqueue(site, site.rules.layout.group_of(site.me), out);
        }
        self.enqueue(site, group, out);
    }

    fn enqueue(&mut self, site: &Context<'_, V>, group: LocalGroup, out: &mut Out<'_, V>) {
        self.asking.push(group);
        if self.collecting(site) {
            if self.asking.len() == 1 {
                out.arm(COLLECT, MOMENT);
            }
        } else if self.available == 0 && !site.has_defect(Defect::SharesFromK) {
            out.note(notes::WAITS);
        } else {
            self.share_out(site, out);
        }
    }

    /// Whether the timer is armed: only then do groups wait while tokens are free.
    fn collecting(&self, site: &Context<'_, V>) -> bool {
        site.rules.collect && self.available > 0 && !self.asking.is_empty()
    }

    fn share_out(&mut self, site: &Context<'_, V>, out: &mut Out<'_, V>) {
        let Some(&longest) = self.asking.first() else { return };
        if site.has_defect(Defect::OwnGroupFirst) {
            self.asking.sort_by_key(|&group| site.rules.layout.collector(group) != GLOBAL);
        }
        let pool = if site.has_defect(Defect::SharesFromK) { site.tokens } else { self.available };
        let served: Vec<LocalGroup> = {
            let most = self.asking.len().min(pool as usize);
            self.asking.drain(..most).collect()
        };
        let Some(groups) = u32::try_from(served.len()).ok().filter(|&groups| groups > 0) else { return };
        if !served.contains(&longest) {
            out.never("the group that has waited longest is passed over");
        }
        // All shares are computed before the first grant: dealing to the own group may return tokens.
        let shares: Vec<u32> =
            (0..groups).zip(&served).map(|(index, &group)| share(site, pool, groups, index, group)).collect();
        self.available = self.available.saturating_sub(shares.iter().sum());
        for (group, tokens) in served.into_iter().zip(shares) {
            match site.rules.layout.collector(group) {
                GLOBAL => self.deal(site, tokens, out),
                collector => out.send(collector, Message::Grant(tokens)),
            }
        }
    }
}

/// The number of tokens, out of `pool`, for the group with this index among those served now.
fn share<V: Variant>(site: &Context<'_, V>, pool: u32, groups: u32, index: u32, group: LocalGroup) -> u32 {
    let equal = pool / groups + u32::from(index < pool % groups);
    match site.rules.share {
        Share::Equal => equal,
        Share::Capped => equal.min(site.tokens.div_ceil(site.rules.layout.groups())),
        Share::One if site.rules.layout.collector(group) == GLOBAL => 1 + pool - groups,
        Share::One => 1,
    }
}
