//! Bulgannawar and Vaidya's k-mutex with k tokens, each the root of a forest of pointers. Requests climb the
//! pointers and reverse them. A token carries its queue, and a request that meets another token than it asked
//! for becomes a request for that one. Sources: 001 ch. IV, 003. Page:
//! `docs/algorithms/bulgannawar-vaidya.md`.

use alloc::vec;
use alloc::vec::Vec;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, TokenId, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, Order, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::pointers::Pointers;
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};

mod defects;
mod message;
#[cfg(test)]
mod paper;
mod picture;
mod rules;
#[cfg(test)]
mod tuning;

pub use defects::Defect;
pub use message::{Entry, Message};
pub use rules::Rules;
use rules::{Choose, Whom};

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BulgannawarVaidya {
    /// The token that is here.
    token: Option<Token>,
    /// Whether the client is inside.
    holding: bool,
    /// The token that this node has requested.
    wait: Option<TokenId>,
    /// For each token the next node on the path to it: at the start the node with its number. A holder points
    /// to itself.
    pointers: Pointers,
    /// Nodes that request the token that this node waits for.
    node_queue: Vec<NodeId>,
    /// The token last received or announced, or another one if too many nodes waited for that.
    seen: TokenId,
    /// How often the client has entered because the token was here anyway, since the token arrived. The rules
    /// bound the count.
    again: u32,
    /// Lamport's clock, and per token the time of what this node knows about it. Both stay 0 unless INFORM
    /// messages are in use, because only those need them.
    clock: u32,
    stamp: Vec<u32>,
    /// The latest nodes whose requests came here, the newest first, as many as are informed. Empty unless they
    /// are informed first.
    askers: Vec<NodeId>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Token {
    id: TokenId,
    queue: Vec<Entry>,
}

impl Algorithm for BulgannawarVaidya {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "bulgannawar-vaidya",
        title: "k tokens, k dynamic forests, requests that change their token on the way",
        kind: Kind::KMutex,
        source: "001 ch. IV; 003",
        cost: "0 if a token is here; 2 at saturation (last-seen); about log n at light load",
        tokens: Tokens::PerSlot,
        needs: Needs { order: Order::FifoIfSeveral, ..Needs::RELIABLE_FIFO },
        clients: Clients::OneEach,
        unique_requests: true,
        options: Rules::OPTIONS,
        timers: &[],
        sometimes: &[
            "a request was turned into one for another token",
            "an INFORM was taken",
            "an INFORM was old",
            "a node turned away from a token with too many nodes",
        ],
        suite: &[
            Scope::new(1, 1, 2),
            Scope::new(2, 2, 3),
            Scope::new(3, 1, 2).with(&[("inform", "1")]).fifo(),
            Scope::new(3, 2, 2).with(&[("choose", "last-seen")]),
            Scope::new(3, 2, 1).with(&[("inform", "1")]),
            Scope::new(3, 2, 3),
            Scope::new(3, 1, 2).with(&[("tuning", "balanced")]),
            Scope::new(3, 2, 2).with(&[("tuning", "balanced")]),
            Scope::new(4, 2, 3).with(&[("choose", "fair-share"), ("first", "same")]),
            Scope::new(4, 2, 2),
            Scope::new(3, 2, 1).with(&[("inform", "1"), ("whom", "ring")]),
            Scope::new(3, 2, 1).with(&[("inform", "1"), ("whom", "askers")]),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Rules::of(setting)
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let has_token = site.me < site.tokens;
        BulgannawarVaidya {
            token: has_token.then_some(Token { id: site.me, queue: Vec::new() }),
            holding: false,
            wait: None,
            pointers: Pointers::default(),
            node_queue: Vec::new(),
            seen: site.rules.first(site),
            again: 0,
            clock: 0,
            stamp: vec![0; if site.rules.inform > 0 { site.tokens as usize } else { 0 }],
            askers: Vec::new(),
        }
    }

    // A driver knows what it passes on, and inlined this leads straight to the handler.
    #[inline(always)]
    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        self.tick(site, &input);
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { message: Message::Request { origin, token, .. }, .. } => {
                self.on_request(site, origin, token, out);
            }
            Input::Deliver { message: Message::Token { token, queue, clock }, .. } => {
                self.on_token(site, token, queue, clock, out);
            }
            Input::Deliver { from, message: Message::Inform { token, clock } } => {
                self.on_inform(site, from, token, clock, out);
            }
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        census.queue_of(self.node_queue.iter().copied());
        if let Some(token) = &self.token {
            census.token_here();
            census.queue_of(token.queue.iter().map(|entry| entry.node));
        }
    }

    fn count_message(message: &Message, _: NodeId, census: &mut Census) {
        match message {
            Message::Request { origin, .. } => census.request_of(*origin),
            Message::Token { queue, .. } => {
                census.token_moving();
                queue.iter().for_each(|entry| census.request_of(entry.node));
            }
            Message::Inform { .. } => {}
        }
    }

    fn allows_renaming(rules: &Rules, _: &Renaming) -> bool {
        rules.is_symmetric()
    }

    fn rename(&mut self, rules: &Rules, renaming: &Renaming) {
        // A token has the number of its first node, which every pointer to it leads to at the start. So tokens
        // change their numbers with their nodes.
        if let Some(token) = &mut self.token {
            renaming.rename([&mut token.id]);
            renaming.rename(token.queue.iter_mut().flat_map(Entry::nodes));
        }
        renaming.rename(&mut self.wait);
        if rules.choose != Choose::Random {
            renaming.rename([&mut self.seen]);
        }
        renaming.move_entries(&mut self.stamp);
        self.pointers.rename(renaming);
        self.pointers.rename_tokens(renaming);
        renaming.rename(&mut self.node_queue);
        renaming.rename(&mut self.askers);
    }

    fn rename_message(message: &mut Message, renaming: &Renaming) {
        match message {
            Message::Request { origin, token, .. } => renaming.rename([origin, token]),
            Message::Token { token, queue, .. } => {
                renaming.rename([token]);
                renaming.rename(queue.iter_mut().flat_map(Entry::nodes));
            }
            Message::Inform { token, .. } => renaming.rename([token]),
        }
    }

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        self.draw_parts(site, picture);
    }

    fn draw_message(message: &Message) -> Contents {
        message.drawn()
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request { .. } => "REQUEST",
            Message::Token { .. } => "TOKEN",
            Message::Inform { .. } => "INFORM",
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request { .. } => 5,
            Message::Token { queue, .. } => 4 + 2 * queue.len() as u32,
            Message::Inform { .. } => 4,
        }
    }
}

type Context<'a> = Site<'a, BulgannawarVaidya>;
type Out<'a> = Outbox<'a, BulgannawarVaidya>;

impl BulgannawarVaidya {
    fn request(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        if self.token.is_some() {
            self.holding = !site.has_defect(Defect::HoldingNotSet);
            self.again = (self.again + 1).min(site.rules.repeats);
            out.enter();
            return;
        }
        let token = match site.rules.choose {
            Choose::Random => out.pick(site.tokens),
            Choose::LastSeen | Choose::FairShare => self.seen,
        };
        self.wait = Some(token);
        self.stamp_now(site, token);
        self.send_on(site.me, token, out);
        if self.holding {
            // The flag says so, and the printed text relies on it.
            out.enter();
        }
    }

    fn exit(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.holding = site.has_defect(Defect::HoldingNotCleared);
        match &self.token {
            None => out.never("a client leaves and there is no token"),
            Some(token) if token.queue.is_empty() => self.inform(site, token.id, out),
            Some(_) => self.pass_on(site, out),
        }
    }

    /// Tells other nodes where the token is, now that its queue is empty.
    fn inform(&self, site: &Context<'_>, token: TokenId, out: &mut Out<'_>) {
        if self.again < site.rules.repeats {
            return;
        }
        let by_version = site.has_defect(Defect::InformByVersion);
        let clock = if by_version { self.stamp[token as usize] } else { self.clock };
        for to in self.informed(site, out) {
            out.send(to, Message::Inform { token, clock });
        }
    }

    /// The nodes to inform.
    fn informed(&self, site: &Context<'_>, out: &mut Out<'_>) -> Vec<NodeId> {
        let count = site.rules.inform;
        if site.rules.whom == Whom::Random {
            return out.pick_others(site, count);
        }
        let (me, nodes) = (site.me, site.nodes);
        let ring = (1..nodes).map(|distance| (me + distance) % nodes);
        let rest = ring.filter(|node| !self.askers.contains(node));
        self.askers.iter().copied().chain(rest).take(count).collect()
    }

    /// Sends the token to the head of its queue.
    fn pass_on(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let Some(mut token) = self.token.take() else { return };
        if site.rules.choose == Choose::FairShare && site.tokens > 1 {
            self.turn_away(site, &mut token, out);
        }
        // Later requests of this node go to the last node that gets this token because it asked for it. An
        // entry that was turned aside says nothing about this token's forest.
        let untagged = token.queue.iter().rev().find(|entry| entry.tag.is_none());
        let last = if site.has_defect(Defect::ExitPointsToLast) { token.queue.last() } else { untagged };
        let head = token.queue[0];
        self.point(token.id, last.unwrap_or(&head).node);
        self.send_token(site, head.node, token, out);
    }

    /// Asks for another token from now on, if too many nodes wait for this one.
    #[inline(never)]
    fn turn_away(&mut self, site: &Context<'_>, token: &mut Token, out: &mut Out<'_>) {
        // A token with its fair share of the nodes, this one included, never has so many waiters.
        let share = site.nodes.div_ceil(site.tokens) as usize;
        if token.queue.len() < share {
            return;
        }
        out.note("a node turned away from a token with too many nodes");
        let other = out.pick(site.tokens - 1);
        self.seen = if other < token.id { other } else { other + 1 };
        if site.has_defect(Defect::OverflowSentOn) {
            for Entry { node, .. } in token.queue.drain(share.max(2) - 1..) {
                self.send_on(node, self.seen, out);
            }
        }
    }

    fn on_request(&mut self, site: &Context<'_>, origin: NodeId, asked: TokenId, out: &mut Out<'_>) {
        if origin == site.me {
            out.never("a node's own request comes back to it");
        }
        if site.rules.whom == Whom::Askers && site.rules.inform > 0 && origin != site.me {
            self.askers.retain(|&node| node != origin);
            self.askers.insert(0, origin);
            self.askers.truncate(site.rules.inform);
        }
        if let Some(mut token) = self.token.take() {
            let tag = if token.id == asked { None } else { Some(site.me) };
            if tag.is_some() {
                out.note("a request was turned into one for another token");
            }
            if self.holding || !site.has_defect(Defect::IdleGrantNotQueued) {
                token.queue.push(Entry { node: origin, tag });
            }
            if self.holding {
                self.token = Some(token);
                return;
            }
            let wrong = site.has_defect(Defect::IdleGrantPointsAsked);
            self.point(if wrong { asked } else { token.id }, origin);
            self.send_token(site, origin, token, out);
        } else if self.wait == Some(asked) {
            self.node_queue.push(origin);
        } else {
            self.send_on(origin, asked, out);
            if !site.has_defect(Defect::ForwardKeepsPointer) {
                self.point(asked, origin);
            }
        }
    }

    fn on_token(
        &mut self,
        site: &Context<'_>,
        id: TokenId,
        mut queue: Vec<Entry>,
        clock: u32,
        out: &mut Out<'_>,
    ) {
        let Some(asked) = self.wait.take() else {
            return out.never("a token comes to a node that does not wait");
        };
        if queue.first().map(|entry| entry.node) != Some(site.me) {
            return out.never("a token comes without its receiver at the head of the queue");
        }
        let tag = queue.remove(0).tag;
        if asked != id {
            // The path to the requested token leads through the node that turned the request aside.
            let Some(via) = tag else {
                return out.never("another token comes than was asked for, without a tag");
            };
            let wrong = site.has_defect(Defect::TokenPointsGot);
            self.point(if wrong { id } else { asked }, via);
            self.stamp_now(site, asked);
        } else if tag.is_some() {
            out.never("the token that was asked for comes with a tag");
        }
        let tag = if site.has_defect(Defect::NullTagsForModified) { None } else { tag };
        queue.extend(self.node_queue.drain(..).map(|node| Entry { node, tag }));
        if asked == id || !site.has_defect(Defect::TokenPointsGot) {
            self.point(id, site.me);
        }
        self.token = Some(Token { id, queue });
        self.holding = true;
        self.record_seen(site, id);
        if site.has_defect(Defect::InformByVersion) {
            self.stamp[id as usize] = clock;
        } else {
            self.stamp_now(site, id);
        }
        out.enter();
    }

    fn on_inform(&mut self, site: &Context<'_>, from: NodeId, id: TokenId, clock: u32, out: &mut Out<'_>) {
        let index = id as usize;
        let holds = self.token.as_ref().is_some_and(|token| token.id == id);
        let newer = !holds && self.wait != Some(id) && clock > self.stamp[index];
        let take = match site.rules.defect {
            Some(Defect::InformAlways) => true,
            Some(Defect::InformUnlessWaiting) => self.wait != Some(id),
            _ => newer,
        };
        if take {
            out.note("an INFORM was taken");
            self.point(id, from);
            self.stamp[index] = clock;
            self.record_seen(site, id);
        } else {
            out.note("an INFORM was old");
        }
    }

    fn send_on(&self, origin: NodeId, token: TokenId, out: &mut Out<'_>) {
        let message = Message::Request { origin, token, clock: self.clock };
        out.send(self.pointer(token), message);
    }

    fn pointer(&self, token: TokenId) -> NodeId {
        self.pointers.to(token, token)
    }

    fn point(&mut self, token: TokenId, node: NodeId) {
        self.pointers.set(token, node, token);
    }

    #[inline(always)]
    fn send_token(&mut self, site: &Context<'_>, to: NodeId, token: Token, out: &mut Out<'_>) {
        self.again = 0;
        let mut clock = self.clock;
        if site.has_defect(Defect::InformByVersion) {
            self.stamp[token.id as usize] += 1;
            clock = self.stamp[token.id as usize];
        }
        self.stamp_now(site, token.id);
        out.send(to, Message::Token { token: token.id, queue: token.queue, clock });
    }

    fn record_seen(&mut self, site: &Context<'_>, token: TokenId) {
        if site.rules.choose != Choose::Random {
            self.seen = token;
        }
    }

    /// Advances Lamport's clock, if INFORM messages need one.
    fn tick(&mut self, site: &Context<'_>, input: &Input<Self>) {
        if site.rules.inform == 0 || site.has_defect(Defect::InformByVersion) {
            return;
        }
        if let Input::Deliver { message, .. } = input {
            let (Message::Request { clock, .. }
            | Message::Token { clock, .. }
            | Message::Inform { clock, .. }) = message;
            self.clock = self.clock.max(*clock);
        }
        self.clock += 1;
    }

    /// Stamps what this node knows about the token with the current clock.
    fn stamp_now(&mut self, site: &Context<'_>, token: TokenId) {
        if site.rules.inform > 0 && !site.has_defect(Defect::InformByVersion) {
            self.stamp[token as usize] = self.clock;
        }
    }
}
