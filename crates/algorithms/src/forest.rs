//! The production mutex and semaphore: k tokens, each the root of a forest of pointers, as in
//! `bulgannawar_vaidya`. Unlike there, a node serves any number of clients, which may cancel, and may have
//! several tokens; requests that wait for a busy token may move to an idle one; and idle tokens may go home.
//! Ours. Page: `docs/algorithms/forest.md`.
//!
//! The golden rule: a token moves only as the answer to the receiver's one outstanding request. Requests may
//! be moved, tokens are never pushed.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::Origin;
use crate::algorithm::{Algorithm, ClientId, Input, NodeId, Outbox, Site, Timer, TokenId, Wait};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, Scope, TimerInfo, Tokens};
use crate::picture::{Contents, Picture};
use crate::pointers::Pointers;
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};
use crate::waiters::Waiters;

mod balance;
mod clocks;
mod defects;
#[cfg(test)]
mod fairness;
mod forgetting;
mod hunt;
mod local;
mod message;
mod picture;
mod requests;
mod resizing;
mod rules;
mod service;
#[cfg(test)]
mod tests;
mod views;

use clocks::Clocks;
pub use defects::Defect;
use hunt::Home;
pub use message::{Body, Entry, Message, Size, Ticket, Via};
pub use rules::{Ask, ResizeDefect, Rules, Share};
pub use service::Before;
pub use views::{Frozen, FrozenToken, RemoteToken};

/// Armed while a waiter here waits for a busy token and the home does not know.
const HUNGRY: Timer = 0;
/// Armed while a token is idle here and the home does not know.
const IDLE: Timer = 1;
/// Armed at the home while it could fetch an idle token.
const FETCH: Timer = 2;
/// Armed while this node is inactive and some pointer does not lead home.
const FORGET: Timer = 3;
/// Armed while a client waits for a busy token here, and this node has not requested another one.
const MORE: Timer = 4;

const TIMERS: usize = 5;

/// How many hops waiters and idle tokens wait before they look for each other. With fewer, a waiter would
/// look for an idle token although a critical section is about to end.
const HUNT_AFTER: u32 = 5;
/// How many hops a client waits for a busy token of its own node before the node requests another one: a
/// section that ends sooner costs no request in vain.
const MORE_AFTER: u32 = 1;
/// How many hops the home waits before it fetches the token of a resource with one token: that has lingered
/// already.
const FETCH_AFTER: u32 = 20;

const SUITE: &[Scope] = &[
    // Without timers, that is, without hunt.
    Scope::new(1, 2, 3).clients(3),
    Scope::new(2, 1, 3).clients(2),
    Scope::new(3, 1, 2).clients(2).with(&[("passes", "0")]),
    Scope::new(3, 1, 3).clients(2).with(&[("passes", "1")]),
    Scope::new(2, 3, 2).clients(2),
    Scope::new(3, 2, 2).clients(2).with(&[("passes", "0")]),
    Scope::new(4, 2, 2),
    Scope::new(3, 1, 2).clients(2).with(&[("passes", "0"), ("share", "nodes")]),
    Scope::new(3, 2, 3).with(&[("invite", "2")]),
    // With hunt.
    Scope::new(2, 2, 2).clients(2).firings(1, 2),
    Scope::new(2, 2, 2).clients(2).with(&[("ask", "at-once"), ("balance", "no")]).firings(1, 2),
    Scope::new(3, 2, 2).firings(1, 1),
    Scope::new(4, 2, 1).clients(1).firings(1, 1),
    // Going home and forgetting.
    Scope::new(3, 1, 1).clients(1).with(&[("forget", "yes")]).firings(1, 2),
    Scope::new(3, 1, 2).with(&[("forget", "yes")]).firings(1, 0),
    Scope::new(2, 2, 2).clients(2).with(&[("forget", "yes"), ("passes", "0")]).firings(1, 2),
    Scope::new(3, 2, 1).clients(1).with(&[("forget", "yes")]).firings(1, 2),
];

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Forest {
    /// Local waiters, first come first served.
    waiters: Waiters,
    /// The tokens on this node, in the order of their numbers.
    held: Vec<Held>,
    /// The token that this node has requested, while the request is outstanding.
    wait: Option<TokenId>,
    /// Nodes that request the token that this node waits for.
    node_queue: Vec<NodeId>,
    /// For each token the next node on the path to it: the home, unless another one is recorded. The pointer
    /// of a token that is here, or that this node waits for, is never used and leads home.
    pointers: Pointers,
    /// The token to request next: the one received last, or one that this node was invited to request. Unused
    /// if there is only one.
    seen: Option<TokenId>,
    /// This node was invited while it waited for another token.
    invited: bool,
    /// Whether the home knows that a waiter here waits for a busy token.
    registered: bool,
    /// Whether the home knows that this node wants to forget, and no input has changed that since.
    forgetting: bool,
    /// The state that only the home has, if it differs from the initial one.
    home: Option<Box<Home>>,
    /// How many tokens there are, as far as this node knows. Tokens with higher numbers are retiring.
    size: Size,
    clocks: Clocks,
}

/// A token on this node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Held {
    token: TokenId,
    /// The client that holds it.
    busy: Option<ClientId>,
    /// No client has entered by it since it arrived.
    fresh: bool,
    /// The home knows that it is idle, or knew it and has offered it to a waiter.
    advertised: bool,
    /// How often local clients entered ahead of the head of the queue.
    passed: u32,
    /// How many local clients waited when the queue formed here, or when the token came with one.
    before_queue: u32,
    /// How many clients have entered by it since another node's request came; unused if there is only one token.
    undisturbed: u32,
    /// Rises whenever the token moves or a client enters by it.
    version: u64,
    queue: Vec<Entry>,
}

impl Held {
    /// A token without holder and waiters, of which the home does not know.
    const fn idle(token: TokenId, version: u64) -> Held {
        Held {
            token,
            busy: None,
            fresh: false,
            advertised: false,
            passed: 0,
            before_queue: 0,
            undisturbed: 0,
            version,
            queue: Vec::new(),
        }
    }

    /// How often local clients may enter ahead of the head of the queue.
    fn passes(&self, rules: &Rules) -> u32 {
        rules.passes.max(self.before_queue)
    }

    fn is_idle(&self) -> bool {
        self.busy.is_none() && self.queue.is_empty()
    }
}

/// Where a request joins a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QueueEnd {
    /// Before all others: the request has waited for another token already.
    Front,
    /// Behind all others.
    Back,
}

type Context<'a> = Site<'a, Forest>;
type Out<'a> = Outbox<'a, Forest>;

impl Algorithm for Forest {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "forest",
        title: "k tokens, k dynamic forests, many clients who may give up, requests that move to idle tokens",
        kind: Kind::KMutex,
        source: "ours, from 001 and 003",
        cost: "0 if a token is here; 2 or less at saturation; about log n at light load",
        tokens: Tokens::PerSlot,
        needs: Needs::RELIABLE_FIFO,
        clients: Clients::Many,
        unique_requests: true,
        options: Rules::OPTIONS,
        timers: &[
            TimerInfo {
                name: "hungry",
                when_it_expires: "a node with a waiter for a busy token asks the home for an idle one",
            },
            TimerInfo { name: "idle", when_it_expires: "a node tells the home of its idle tokens" },
            TimerInfo { name: "fetch", when_it_expires: "the home asks for an idle token" },
            TimerInfo {
                name: "forget",
                when_it_expires: "an inactive node asks the home whether it may point there",
            },
            TimerInfo {
                name: "more",
                when_it_expires: "a node whose clients wait for a busy token of its own asks for another one",
            },
        ],
        sometimes: &[
            "a request was turned into one for another token",
            "a local client went before the queue",
            "a token came that no client waits for",
            "a node joined the queue of the token that it sent on",
            "a node left a long queue for another token",
            "a node was invited to ask for a token",
            "an idle token served another's queue",
            "a request moved to an idle token",
            "a request moved and found no token",
            "a request was void",
            "a ticket was not needed",
            "an old ticket was ignored",
            "the home fetched a token",
            "an INFORM was taken",
            "an INFORM was old",
            "a node forgot",
        ],
        suite: SUITE,
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules::of(setting))
    }

    fn start(site: &Site<'_, Self>) -> Self {
        Forest::create(site, Origin::default())
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        let before = self.due(site);
        let before = self.take(site, before, input, out);
        self.finish(site, before, out);
    }

    fn count(&self, site: &Site<'_, Self>, census: &mut Census) {
        if self.wait.is_some() {
            census.asks(site.me);
        }
        census.queue_of(self.node_queue.iter().copied());
        for held in &self.held {
            census.token_of_slot_here(held.token);
            census.queue_of(held.queue.iter().map(|entry| entry.node));
        }
    }

    fn count_message(message: &Message, to: NodeId, census: &mut Census) {
        message.body.count(to, census);
    }

    fn allows_renaming(_: &Rules, _: &Renaming) -> bool {
        true
    }

    fn rename(&mut self, _: &Rules, renaming: &Renaming) {
        renaming.rename(self.held.iter_mut().flat_map(|held| &mut held.queue).flat_map(Entry::nodes));
        renaming.rename(&mut self.node_queue);
        self.pointers.rename(renaming);
        if let Some(home) = &mut self.home {
            home.rename(renaming);
        }
    }

    fn rename_message(message: &mut Message, renaming: &Renaming) {
        renaming.rename(message.body.nodes());
    }

    fn allows_client_renaming(_: &Rules) -> bool {
        true
    }

    fn rename_clients(&mut self, renaming: &Renaming) {
        self.waiters.rename(renaming);
        renaming.rename(self.held.iter_mut().filter_map(|held| held.busy.as_mut()));
    }

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        self.draw_parts(site, picture);
    }

    fn draw_message(message: &Message) -> Contents {
        message.body.drawn()
    }

    fn kind(message: &Message) -> &'static str {
        message.body.kind()
    }

    fn words(message: &Message) -> u32 {
        message.body.words()
    }
}

impl Forest {
    /// Handles an input. Returns which timers were armed before it, except the one that has expired.
    fn take(
        &mut self,
        site: &Context<'_>,
        mut before: [bool; TIMERS],
        input: Input<Forest>,
        out: &mut Out<'_>,
    ) -> [bool; TIMERS] {
        match input {
            Input::Request { client, .. } => {
                self.waiters.push_back(client, ());
                self.settle(site, out);
            }
            Input::Cancel { client } => self.cancel(site, client, out),
            Input::Exit { client } => self.release(site, client, out),
            Input::Deliver { from, message } => {
                self.clocks.hear(message.clock);
                self.receive(site, from, message, out);
            }
            Input::Expire(timer) => {
                before[timer] = false;
                self.expire(site, timer, out);
            }
        }
        before
    }

    /// Ends a step: checks the invariants, and starts and stops timers.
    fn finish(&mut self, site: &Context<'_>, before: [bool; TIMERS], out: &mut Out<'_>) {
        if self.home.as_deref().is_some_and(Home::is_plain) {
            self.home = None;
        }
        self.check(site, out);
        let after = self.due(site);
        for timer in 0..TIMERS {
            match (before[timer], after[timer]) {
                (false, true) => out.arm(timer, self.timeout(site, timer)),
                (true, false) => out.disarm(timer),
                _ => {}
            }
        }
    }

    /// How long a timer runs. With several tokens the home hears of idle ones soon, because a waiter may need
    /// one. No waiter looks for a single token, so it lingers where it was used last. A retiring token does
    /// not linger.
    fn timeout(&self, site: &Context<'_>, timer: Timer) -> Wait {
        let hops = match timer {
            MORE => MORE_AFTER,
            HUNGRY => HUNT_AFTER,
            IDLE if self.size.tokens > 1 || self.has_retiring() => HUNT_AFTER,
            FETCH if self.size.tokens == 1 || self.fetches_retiring(site) => FETCH_AFTER,
            _ => site.rules.linger,
        };
        Wait { hops, sections: 0 }
    }

    /// Sends a message, or handles it at once if it is for this node.
    fn send(&mut self, site: &Context<'_>, to: NodeId, body: Body, out: &mut Out<'_>) {
        let message = Message { clock: self.clocks.now(), body };
        if to == site.me {
            self.receive(site, to, message, out);
        } else {
            out.send(to, message);
        }
    }

    fn receive(&mut self, site: &Context<'_>, from: NodeId, message: Message, out: &mut Out<'_>) {
        match message.body {
            Body::Request { origin, token, front } => {
                let end = if front { QueueEnd::Front } else { QueueEnd::Back };
                self.on_request(site, origin, token, end, out);
            }
            Body::Token { token, version, queue, size } => {
                self.learn(site, size, out);
                self.on_token(site, token, version, queue, out);
            }
            Body::Gone { via, size } => self.on_gone(site, from, via, size, out),
            Body::Resized { size } => self.on_resized(site, size, out),
            Body::Invite { token } => self.on_invite(token, out),
            Body::Hungry => self.on_hungry(site, from, out),
            Body::Idle { ticket, new } => self.on_idle(site, ticket, new, out),
            Body::Offer { ticket } => self.on_offer(site, ticket, out),
            Body::Move { origin, via, token } => self.on_move(site, origin, via, token, out),
            Body::Forget { tokens } => self.on_forget(site, from, &tokens, out),
            Body::Inform { tokens } => self.on_inform(site, &tokens, message.clock, out),
        }
    }

    fn expire(&mut self, site: &Context<'_>, timer: Timer, out: &mut Out<'_>) {
        match timer {
            HUNGRY if self.is_hungry(site) => {
                self.registered = true;
                self.send(site, site.rules.home, Body::Hungry, out);
            }
            MORE if self.could_use_more() => self.ask_for_any(site, out),
            IDLE => self.advertise(site, out),
            FETCH => self.fetch(site, out),
            FORGET if self.wants_to_forget(site) => {
                self.forgetting = true;
                self.send(
                    site,
                    site.rules.home,
                    Body::Forget { tokens: self.pointers.changed().collect() },
                    out,
                );
            }
            _ => {}
        }
    }

    /// Which timers have to be armed.
    fn due(&self, site: &Context<'_>) -> [bool; TIMERS] {
        // A node without a token asks at once.
        let more = self.could_use_more();
        if !self.uses_tickets(site) {
            return [false, false, false, false, more];
        }
        [
            self.is_hungry(site),
            self.has_news_for_home(site),
            self.could_fetch(site),
            self.wants_to_forget(site),
            more,
        ]
    }

    /// The invariants after every step.
    fn check(&self, site: &Context<'_>, out: &mut Out<'_>) {
        let demand = !self.waiters.is_empty();
        if demand && self.wait.is_none() && self.usable() == 0 {
            out.never("a client waits, and its node has neither a token nor asked for one");
        }
        // Only a retiring token is requested by a node that has others.
        let retired = |node: &NodeId| *node == site.rules.home && self.wait >= Some(self.size.tokens);
        let beside = self.usable() > 0 && !self.node_queue.iter().all(retired);
        if beside || (self.wait.is_none() && !self.node_queue.is_empty()) {
            out.never("requests are parked at a node that does not wait, or that has a token");
        }
        let (usable, retiring) = self.held.split_at(self.usable());
        let queues = usable.iter().any(|held| !held.queue.is_empty());
        for held in &self.held {
            if self.wait == Some(held.token) {
                out.never("a node waits for a token that it has");
            }
            if held.passed > held.passes(site.rules) {
                out.never("too many went before the head of the queue");
            }
            if held.queue.iter().any(|entry| entry.node == site.me) {
                out.never("a node is in the queue of a token that it has");
            }
        }
        if usable.iter().any(|held| held.busy.is_none()) && (demand || queues) {
            out.never("a token is idle and there are waiters here");
        }
        if retiring.iter().flat_map(|held| &held.queue).any(|entry| entry.node != site.rules.home) {
            out.never("a node waits for a token that is not used any more");
        }
        if site.me != site.rules.home && self.pointers.lead_to(site.me) {
            out.never("a node points to itself");
        }
        let waits = self.wait.is_some_and(|token| token < self.size.tokens);
        let ways = usable.len() + usize::from(waits) + self.pointers.count_changed_below(self.size.tokens);
        if site.me == site.rules.home && ways != self.size.tokens as usize {
            out.never("the home has lost the way to a token");
        }
    }

    /// Whether waiters and idle tokens look for each other.
    fn hunts(&self, site: &Context<'_>) -> bool {
        site.rules.hunt && self.size.tokens > 1
    }

    /// Whether the home keeps track of idle tokens.
    fn uses_tickets(&self, site: &Context<'_>) -> bool {
        self.hunts(site) || site.rules.forget
    }

    /// The index of a token in the list, if it is on this node.
    fn index_of(&self, token: TokenId) -> Option<usize> {
        self.held.binary_search_by_key(&token, |held| held.token).ok()
    }
}
