//! Request collectors: nodes in about √n groups, each with a local collector. One of those is also the global
//! collector and keeps the tokens. It shares its free tokens among the requesting groups, a local collector
//! deals its share to its nodes, and a token travels with the queue that was dealt to it. Source: 000. Pages:
//! `docs/algorithms/collectors.md` and, for the same state machine with one token per group,
//! `docs/algorithms/chaudhuri-edward.md`.

use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT, Wait};
use crate::census::Census;
use crate::info::{Info, TimerInfo};
use crate::picture::{Contents, Picture};
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};

mod defects;
mod global;
mod layout;
mod message;
mod moving;
#[cfg(test)]
pub(crate) mod paper;
mod rules;

pub use defects::Defect;
pub use layout::{FIRST_GLOBAL, Layout, LocalGroup};
pub use message::{Epoch, Message};
use moving::Office;
pub use rules::{Dynamic, LOCAL_GROUPS, Rules, Share, Variant};

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
    /// The next three only if the global collector moves.
    pub const MOVED: &str = "the global collector moved";
    /// Handing over and asking crossed each other.
    pub const FORWARDED: &str = "a message for the global collector was forwarded";
    /// A collector heard from the others that it is the global one before it was handed anything.
    pub const EARLY: &str = "a message came before the office that it is for";
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
    /// At a local collector: which collector is the global one.
    office: Office,
    variant: PhantomData<V>,
}

/// The algorithm of 000.
pub type Collectors = Grouped<Dynamic>;

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
            available: if site.me == FIRST_GLOBAL { site.tokens } else { 0 },
            asking: Vec::new(),
            office: Office::start(site.rules.moves_after),
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
                Message::GroupRequest(group, epoch) => self.on_group_request(site, from, group, epoch, out),
                Message::Grant(tokens) => self.deal(site, printed_count(tokens), out),
                Message::Token(queue) => self.take_token(site, queue, out),
                Message::Home => self.came_home(site, out),
                Message::Return(tokens, epoch) => self.on_return(site, printed_count(tokens), epoch, out),
                Message::Over { epoch, available, asking } => {
                    self.take_over(site, epoch, available, asking, out);
                }
                Message::New(global, epoch) => self.on_new(site, global, epoch, out),
            },
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        (0..self.available + self.office.early_tokens()).for_each(|_| census.token_here());
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

    /// Collectors keep their numbers, and all other nodes their groups.
    fn allows_renaming(rules: &Rules, renaming: &Renaming) -> bool {
        rules.layout.is_kept_by(renaming)
    }

    fn rename(&mut self, _: &Rules, renaming: &Renaming) {
        renaming.rename(self.held.iter_mut().flatten());
        renaming.rename(&mut self.waiting);
    }

    fn rename_message(message: &mut Message, renaming: &Renaming) {
        match message {
            Message::Request(origin) => renaming.rename([origin]),
            Message::Token(queue) => renaming.rename(queue),
            _ => {}
        }
    }

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        let other = |node: NodeId| (node != site.me).then_some(node);
        let layout = site.rules.layout;
        let here = self.available + self.office.early_tokens() + u32::from(self.held.is_some());
        picture.tokens.extend(core::iter::repeat_n(0, here as usize));
        picture.point("collector", other(layout.collector_of(site.me)));
        if layout.is_collector(site.me) {
            picture.point("global collector", other(self.office.global));
        }
        picture.queue(self.held.iter().flatten().copied());
        picture.keep(self.waiting.iter().copied());
        picture.tie("group waits", self.asking.iter().map(|&group| layout.collector(group)));
        picture.fact_if("asked", self.asked.then_some("for the group"));
    }

    fn draw_message(message: &Message) -> Contents {
        match message {
            Message::Request(origin) => Contents::request(*origin),
            Message::Token(_) | Message::Home => Contents::token(0),
            Message::Grant(tokens) | Message::Return(tokens, _) | Message::Over { available: tokens, .. } => {
                Contents { token: (*tokens > 0).then_some(0), ..Contents::default() }
            }
            Message::GroupRequest(..) | Message::New(..) => Contents::default(),
        }
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
        if if dangling { collector == site.me && site.me != FIRST_GLOBAL } else { collector != site.me } {
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
        if self.is_global(site) && site.has_defect(Defect::OwnGroupDropped) {
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
        if self.is_global(site) {
            self.enqueue(site, group, out);
        } else {
            out.send(self.office.global, Message::GroupRequest(group, self.office.epoch));
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
        if self.is_global(site) && used > 1 {
            out.note(notes::OWN_GROUP_SEVERAL);
        }
        let unused = tokens - used as u32;
        if unused > 0 {
            if !self.is_global(site) {
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
        if !self.is_global(site) {
            return out.send(self.office.global, Message::Return(tokens, self.office.epoch));
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
