//! A room on one node: its state, its inputs, and the rules of a node without the token. `captain.rs` has the
//! rules of a node with it, `forgetting.rs` those of an unused room.

use alloc::vec::Vec;

use super::Rooms;
use super::captain::Token;
use super::defects::Defect;
use super::forgetting::Idleness;
use super::message::{Effect, Entry, Message};
use super::mode::Mode;
use super::views::Insiders;
use crate::Origin;
use crate::algorithm::{ClientId, NodeId, Site, Timer};
use crate::waiters::{Mark, Waiters};

/// A room on one node. Its driver calls one of [`Room::acquire`], [`Room::cancel`], [`Room::release`],
/// [`Room::deliver`] and [`Room::expire`], and then carries out the effects in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Room<M: Mode> {
    /// Local waiters, the oldest first.
    pub(super) waiters: Waiters<Waiter<M>>,
    /// How many local clients are inside.
    pub(super) inside: u32,
    /// The token, if it is here.
    pub(super) token: Option<Token<M>>,
    /// The opening that this node follows, if its clients are inside by another node's opening.
    pub(super) following: Option<Following<M::Group>>,
    /// Whether this node has an outstanding request.
    pub(super) asked: bool,
    /// The number of this node's last request.
    pub(super) number: u64,
    /// The next node on the path to the token; this node if the token is here.
    pub(super) pointer: NodeId,
    /// Requests that arrived while this node waited itself.
    pub(super) parked: Vec<Entry<M>>,
    /// The highest counter of the token that this node knows of.
    pub(super) seen: u64,
    /// How long the room has been unused here.
    pub(super) idleness: Idleness,
    /// A FORGET of this node has not been answered.
    pub(super) leaving: bool,
    /// At the home: whose FORGET has not been answered, in ascending order.
    pub(super) leavers: Vec<NodeId>,
    /// Clients are inside here by an opening of an earlier view, of this group and fence, and the home knows.
    pub(super) earlier_opening: Option<(M::Group, u64)>,
    /// At the home: the nodes with clients inside by an opening of an earlier view, as long as there are or
    /// may be any.
    pub(super) insiders: Option<Insiders>,
}

/// A local waiter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiter<M> {
    pub(super) mode: M,
    /// The last opening that this node knew of when the client arrived.
    pub(super) since: u64,
}

/// A room as it was before a message, see [`Room::mark`].
pub struct Before<M: Mode> {
    /// Without the waiters, of which there may be very many.
    room: Room<M>,
    waiters: Mark<Waiter<M>>,
}

impl<M: Mode> Waiter<M> {
    /// Whether the client is exclusive if the room is opened for it.
    pub(super) fn is_writer(&self) -> bool {
        self.mode.is_exclusive(self.mode.first())
    }
}

/// Another node's opening by which clients of this node are inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Following<G> {
    pub(super) captain: NodeId,
    pub(super) group: G,
    /// The number of this node's last granted request.
    pub(super) number: u64,
    pub(super) fence: u64,
    /// No further client may enter by this opening.
    pub(super) closed: bool,
}

/// Where a room runs: the same for a room of the workbench and one of the lock service.
pub type Context<'a> = Site<'a, Rooms>;

impl Context<'_> {
    pub(super) fn is_home(&self) -> bool {
        self.me == self.rules.home
    }
}

impl<M: Mode> Room<M> {
    /// The initial state of a node: at the home the idle token, elsewhere a pointer to the home.
    pub fn create(site: &Context<'_>, origin: Origin) -> Room<M> {
        Room {
            waiters: Waiters::new(),
            inside: 0,
            token: site.is_home().then(|| Token::new(Vec::new(), origin.floor)),
            following: None,
            asked: false,
            number: origin.clock,
            pointer: site.rules.home,
            parked: Vec::new(),
            seen: if site.is_home() { origin.floor } else { 0 },
            idleness: Idleness::Untimed,
            leaving: false,
            leavers: Vec::new(),
            earlier_opening: None,
            insiders: None,
        }
    }

    /// Marks the state: changes can be undone until [`Room::keep`].
    pub fn mark(&mut self) -> Before<M> {
        let mut all = core::mem::take(&mut self.waiters);
        let room = self.clone();
        let waiters = all.mark();
        self.waiters = all;
        Before { room, waiters }
    }

    /// Keeps the changes since the mark.
    pub fn keep(&mut self) {
        self.waiters.keep();
    }

    /// Undoes the changes since the mark.
    pub fn undo(&mut self, before: Before<M>) {
        self.waiters.undo(before.waiters);
        *self = Room { waiters: core::mem::take(&mut self.waiters), ..before.room };
    }

    /// Whether the token is here.
    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// The node to which this node would send a request for the token; none if the token is here, or the request of this
    /// node is on its way.
    pub fn way(&self, me: NodeId) -> Option<NodeId> {
        (self.pointer != me && !self.asked).then_some(self.pointer)
    }

    /// How many local clients are inside.
    pub fn inside(&self) -> u32 {
        self.inside
    }

    /// The local clients that wait, the oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = (ClientId, &M)> {
        self.waiters.iter().map(|(client, waiter)| (client, &waiter.mode))
    }

    /// The group and the fence of the current opening, if this node takes part in it.
    pub fn opening(&self) -> Option<(M::Group, u64)> {
        let here = self.token.as_ref().and_then(|token| Some((token.session.as_ref()?.group, token.counter)));
        here.or_else(|| self.following.map(|opening| (opening.group, opening.fence)))
    }

    /// The requests that wait here, in the token's queue or for this node's own turn.
    pub fn queue(&self) -> &[Entry<M>] {
        self.token.as_ref().map_or(&self.parked, |token| &token.queue)
    }

    /// A local client requests entry.
    pub fn acquire(&mut self, site: &Context<'_>, client: ClientId, mode: M, effects: &mut Vec<Effect<M>>) {
        if let Some((group, fence)) = self.joins(site, &mode, effects) {
            self.enter(client, group, fence, effects);
        } else {
            self.waiters.push_back(client, Waiter { mode, since: self.seen });
            self.settle(site, effects);
        }
        self.finish(site, effects);
    }

    /// A waiting local client cancels. The node's request stays, unless it is here: it cannot be taken back,
    /// and the answer shows whether a client still wants it.
    pub fn cancel(&mut self, site: &Context<'_>, client: ClientId, effects: &mut Vec<Effect<M>>) {
        self.waiters.remove(client);
        if site.has_defect(Defect::CancelWithdraws) && self.waiters.is_empty() {
            self.asked = false;
        }
        if let Some(token) = &mut self.token
            && self.waiters.is_empty()
        {
            self.asked = false;
            token.take_out(site.me);
        }
        self.finish(site, effects);
    }

    /// A local client leaves.
    pub fn release(&mut self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        if self.inside == 0 {
            return effects.push(Effect::Never("a client leaves and none is inside"));
        }
        self.inside -= 1;
        self.settle(site, effects);
        self.finish(site, effects);
    }

    /// A message arrives.
    pub fn deliver(
        &mut self,
        site: &Context<'_>,
        from: NodeId,
        message: Message<M>,
        effects: &mut Vec<Effect<M>>,
    ) {
        match message {
            Message::Request(entry) => self.on_request(site, entry, effects),
            Message::Token { queue, counter } => self.on_token(site, queue, counter, effects),
            Message::Start { group, number, fence, closed } => {
                let opening = Following { captain: from, group, number, fence, closed };
                self.on_start(site, opening, effects);
            }
            Message::Complete { number } => self.on_complete(site, from, number, effects),
            Message::Close { fence } => self.on_close(fence, effects),
            Message::Idle => self.on_idle(effects),
            Message::Forget => self.on_forget(from),
            Message::Inform { counter } => self.on_inform(site, counter, effects),
            Message::Left => self.on_left(site, from, effects),
        }
        self.finish(site, effects);
    }

    /// A timer expires. One that was armed by a state dropped since does no harm.
    pub fn expire(&mut self, site: &Context<'_>, timer: Timer, effects: &mut Vec<Effect<M>>) {
        self.on_timer(site, timer, effects);
        self.check(site, effects);
    }

    pub(super) fn finish(&mut self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        if site.rules.forget {
            self.track_use(site, effects);
        }
        self.check(site, effects);
    }

    /// Whether a new client may enter at once; returns group and fence of the opening.
    fn joins(
        &mut self,
        site: &Context<'_>,
        mode: &M,
        effects: &mut Vec<Effect<M>>,
    ) -> Option<(M::Group, u64)> {
        if let Some(token) = &mut self.token {
            return token.joins(site.rules, Some(mode), effects);
        }
        let opening = self.following?;
        // Earlier waiters have closed the opening, so none is overtaken.
        let joins = !opening.closed && shares(mode, opening.group);
        joins.then_some((opening.group, opening.fence))
    }

    pub(super) fn enter(
        &mut self,
        client: ClientId,
        group: M::Group,
        fence: u64,
        effects: &mut Vec<Effect<M>>,
    ) {
        self.inside += 1;
        effects.push(Effect::Enter { client, group, fence });
    }

    /// Does everything that has become possible or necessary.
    pub(super) fn settle(&mut self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        if self.token.is_some() {
            return self.settle_captain(site, effects);
        }
        let wants = !self.waiters.is_empty() && !self.asked;
        if self.inside == 0 && self.earlier_opening.take().is_some() {
            self.tell_home_of_leaving(site, effects);
        }
        match &mut self.following {
            Some(opening) => {
                let Following { captain, number, .. } = *opening;
                opening.closed |= wants;
                // The request goes first: after the completion the captain may no longer have the token.
                if wants {
                    self.ask(site, captain, effects);
                }
                if self.inside == 0 {
                    self.following = None;
                    effects.push(Effect::Send { to: captain, message: Message::Complete { number } });
                }
            }
            None if wants => self.ask(site, self.pointer, effects),
            None => {}
        }
    }

    pub(super) fn ask(&mut self, site: &Context<'_>, to: NodeId, effects: &mut Vec<Effect<M>>) {
        let entry = self.own(site);
        effects.push(Effect::Send { to, message: Message::Request(entry) });
    }

    /// A request of this node, for its oldest waiter if there is one.
    pub(super) fn own(&mut self, site: &Context<'_>) -> Entry<M> {
        self.number += 1;
        self.asked = true;
        let oldest = self.waiters.front().map(|(_, waiter)| waiter);
        Entry {
            node: site.me,
            number: self.number,
            mode: oldest.map(|waiter| waiter.mode.clone()),
            since: oldest.map_or(0, |waiter| waiter.since),
        }
    }

    fn on_request(&mut self, site: &Context<'_>, entry: Entry<M>, effects: &mut Vec<Effect<M>>) {
        if entry.node == site.me {
            effects.push(Effect::Never("a request comes back to its sender"));
        } else if self.token.is_some() {
            self.request_here(site, entry, effects);
        } else if let Some(opening) = &self.following {
            // The captain decides better, and a request must not reach it through its followers.
            effects.push(Effect::Note("a follower passed a request to its captain"));
            effects.push(Effect::Send { to: opening.captain, message: Message::Request(entry) });
        } else if self.asked && !site.has_defect(Defect::WaitingForwards) {
            effects.push(Effect::Note("a request was parked"));
            self.parked.push(entry);
        } else {
            effects.push(Effect::Note("a request was forwarded"));
            let to = core::mem::replace(&mut self.pointer, entry.node);
            effects.push(Effect::Send { to, message: Message::Request(entry) });
        }
    }

    fn on_token(
        &mut self,
        site: &Context<'_>,
        queue: Vec<Entry<M>>,
        counter: u64,
        effects: &mut Vec<Effect<M>>,
    ) {
        if !self.asked || self.following.is_some() || self.token.is_some() {
            effects.push(Effect::Never("a token comes to a node that does not wait for it"));
        }
        let mine = |head: &Entry<M>| head.node == site.me && head.number == self.number;
        if !queue.first().is_some_and(mine) {
            effects.push(Effect::Never("a token comes without its receiver at the head of the queue"));
        }
        if self.waiters.is_empty() {
            effects.push(Effect::Note("a token came that no client wants"));
        }
        self.asked = false;
        self.pointer = site.me;
        self.learn(counter);
        let mut token = Token::new(queue, counter);
        token.take_out(site.me);
        for entry in self.parked.drain(..) {
            token.insert(site.rules, entry);
        }
        self.token = Some(token);
        self.settle(site, effects);
    }

    fn on_start(&mut self, site: &Context<'_>, opening: Following<M::Group>, effects: &mut Vec<Effect<M>>) {
        if !self.asked || opening.number != self.number || self.token.is_some() {
            effects.push(Effect::Never("a start comes to a node that does not wait for it"));
        }
        if let Some(before) = self.following {
            effects.push(Effect::Note("a follower was admitted again"));
            if (before.captain, before.fence) != (opening.captain, opening.fence) {
                effects.push(Effect::Never("a node follows two openings"));
            }
        }
        self.asked = false;
        self.learn(opening.fence);
        if !site.has_defect(Defect::StartKeepsPointer) {
            self.pointer = opening.captain;
        }
        self.following = Some(opening);
        if !site.has_defect(Defect::ParkedKept) {
            for entry in self.parked.drain(..) {
                effects.push(Effect::Send { to: opening.captain, message: Message::Request(entry) });
            }
        }
        self.admit_waiters(opening.group, opening.fence, effects);
        if self.inside == 0 {
            effects.push(Effect::Note("a start came that no client wants"));
            if site.has_defect(Defect::UnwantedStartIgnored) {
                self.following = None;
            }
        }
        self.settle(site, effects);
    }

    fn on_close(&mut self, fence: u64, effects: &mut Vec<Effect<M>>) {
        match &mut self.following {
            Some(opening) if opening.fence == fence => opening.closed = true,
            _ => effects.push(Effect::Note("a close came for an opening that was left")),
        }
    }

    /// Records the counter of the token. A client that arrived when this node knew of no opening is as old as
    /// the first.
    pub(super) fn learn(&mut self, counter: u64) {
        if self.seen == 0 {
            self.waiters.for_each(|waiter| waiter.since = counter);
        }
        self.seen = counter;
    }

    /// Admits all local waiters that accept this group and are not exclusive in it.
    pub(super) fn admit_waiters(&mut self, group: M::Group, fence: u64, effects: &mut Vec<Effect<M>>) {
        let inside = &mut self.inside;
        self.waiters.retain(|client, waiter| {
            let enters = shares(&waiter.mode, group);
            if enters {
                *inside += 1;
                effects.push(Effect::Enter { client, group, fence });
            }
            !enters
        });
    }
}

/// Whether a client with this mode may be in this group together with others.
pub(super) fn shares<M: Mode>(mode: &M, group: M::Group) -> bool {
    mode.contains(group) && !mode.is_exclusive(group)
}
