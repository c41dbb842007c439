//! From one view to the next: what a node keeps of a room when members change, and how it resumes.
//!
//! An opening lasts through a view change: clients inside stay, with the same fence. Its captain may be lost,
//! and its followers cannot know. So in the new view the home answers for all nodes with clients inside by an
//! earlier opening. It follows the captain on their behalf, or replaces a lost captain. These nodes tell the
//! home when their clients have left. When all have, and no more of them can be reported, the home completes.

use alloc::vec;
use alloc::vec::Vec;

use super::captain::{Session, Token};
use super::message::{Effect, Message};
use super::mode::Mode;
use super::room::{Context, Room, Waiter};
use super::rules::Rules;
use crate::Origin;
use crate::algorithm::{ClientId, NodeId};
use crate::sorted;
use crate::waiters::Waiters;

/// The number by which the home follows for others; no request has it.
pub(super) const FOR_OTHERS: u64 = 0;

/// A rule of view changes that can be left out, to show that it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewDefect {
    /// A captain waits for its followers of the previous view, not for the home.
    KeepsFollowers,
    /// A node whose clients leave an opening of an earlier view tells that view's captain, not the home.
    CompletesToCaptain,
}

/// At the home: the nodes, perhaps the home itself, with clients inside by an opening of an earlier view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Insiders {
    /// The holder of the token.
    captain: NodeId,
    /// The nodes with clients inside, in ascending order.
    inside: Vec<NodeId>,
    /// Whether all nodes have reported whether they are among them.
    all_reported: bool,
}

/// What a node keeps of a room between two views.
#[derive(Clone, Debug)]
pub struct Frozen<M: Mode> {
    waiters: Waiters<Waiter<M>>,
    /// How many local clients are inside.
    pub inside: u32,
    /// The token, if it is here.
    pub token: Option<FrozenToken<M::Group>>,
    /// The group and the fence of the opening by which clients are inside here, if it is another node's.
    pub earlier_opening: Option<(M::Group, u64)>,
    number: u64,
    seen: u64,
    /// Empty, unless a defect is enabled: the followers of this node.
    followers: Vec<(NodeId, u64)>,
}

/// A token between two views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrozenToken<G> {
    /// Its counter: none of its fences is higher.
    pub counter: u64,
    /// The group that the room is open for, and whether the one client inside is exclusive.
    pub opening: Option<(G, bool)>,
}

/// The reports of all other nodes, at the home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomReports<G> {
    /// The holder of the token, if there is one, and whether the room is open there for others too.
    pub holder: Option<(NodeId, bool)>,
    /// The nodes with clients inside by an opening of an earlier view, in ascending order.
    pub inside: Vec<NodeId>,
    /// The group and the fence of that opening.
    pub opening: Option<(G, u64)>,
    /// Whether all nodes have reported. If not, some node has the token.
    pub all: bool,
}

impl<M: Mode> Frozen<M> {
    /// An empty state.
    pub fn nothing() -> Frozen<M> {
        let (waiters, followers) = (Waiters::new(), Vec::new());
        Frozen { waiters, inside: 0, token: None, earlier_opening: None, number: 0, seen: 0, followers }
    }

    /// A client requests entry.
    pub fn acquire(&mut self, client: ClientId, mode: M) {
        self.waiters.push_back(client, Waiter { mode, since: self.seen });
    }

    /// A client leaves.
    pub fn release(&mut self) {
        self.inside -= 1;
        if self.inside == 0 {
            self.earlier_opening = None;
        }
    }

    /// A waiting client cancels.
    pub fn cancel(&mut self, client: ClientId) {
        self.waiters.remove(client);
    }

    /// The client that has waited longest here.
    pub fn oldest_waiter(&self) -> Option<ClientId> {
        self.waiters.front().map(|(client, _)| client)
    }

    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty() && self.inside == 0 && self.token.is_none()
    }
}

impl<M: Mode> Room<M> {
    /// Ends a view at this node: freezes the state.
    pub fn freeze(self, rules: &Rules) -> Frozen<M> {
        let session = |token: &Token<M>| token.session.as_ref().map(|open| (open.group, open.alone));
        let token =
            self.token.as_ref().map(|token| FrozenToken { counter: token.counter, opening: session(token) });
        let followed = self.following.map(|opening| (opening.group, opening.fence));
        let earlier_opening = if self.inside > 0 { self.earlier_opening.or(followed) } else { None };
        let session = self.token.and_then(|token| token.session);
        let keeps = |_: &Session<M::Group>| rules.view_defect == Some(ViewDefect::KeepsFollowers);
        let followers = session.filter(keeps).map_or(Vec::new(), |session| session.followers);
        let Room { waiters, inside, number, seen, .. } = self;
        Frozen { waiters, inside, token, earlier_opening, number, seen, followers }
    }

    /// Resumes in the next view. `reported` is given at the home, and only there.
    pub fn resume(
        site: &Context<'_>,
        frozen: Frozen<M>,
        reported: Option<RoomReports<M::Group>>,
        effects: &mut Vec<Effect<M>>,
    ) -> Room<M> {
        let Frozen { waiters, inside, token, earlier_opening, number, seen, followers } = frozen;
        let origin = Origin { floor: 0, clock: number };
        let blank =
            Room { waiters, inside, earlier_opening, seen, token: None, ..Room::create(site, origin) };
        let mut room = match (token, &reported) {
            (Some(token), _) => blank.with_token(site, token, followers),
            (None, Some(reported)) if reported.holder.is_none() => blank.with_new_token(site, reported),
            (None, _) => blank,
        };
        if let Some(RoomReports { holder, inside, all, .. }) = reported {
            let (captain, open) = holder.unwrap_or((site.me, room.is_open_for_others()));
            room.pointer = captain;
            if open {
                room.insiders = Some(Insiders { captain, inside, all_reported: all });
            }
            if room.earlier_opening.is_some() {
                room.is_inside(site.me, effects);
            }
            room.complete_for_others(site, effects);
        }
        room.settle(site, effects);
        room.finish(site, effects);
        room
    }

    fn with_token(
        self,
        site: &Context<'_>,
        FrozenToken { counter, opening }: FrozenToken<M::Group>,
        followed_by: Vec<(NodeId, u64)>,
    ) -> Room<M> {
        let followers = |alone: bool| match alone {
            true => Vec::new(),
            false if !followed_by.is_empty() => followed_by,
            false => vec![(site.rules.home, FOR_OTHERS)],
        };
        let open = |(group, alone)| Session { group, alone, followers: followers(alone) };
        let token = Token { session: opening.map(open), ..Token::new(Vec::new(), counter) };
        // Clients inside here entered by this node's own opening.
        Room { token: Some(token), pointer: site.me, earlier_opening: None, ..self }
    }

    /// At the home: no node has the token. If clients are inside, the room is open for them.
    fn with_new_token(self, site: &Context<'_>, reported: &RoomReports<M::Group>) -> Room<M> {
        let opening = self.earlier_opening.or(reported.opening);
        let counter = opening.map_or(site.rules.floor, |(_, fence)| fence);
        let opening = opening.map(|(group, _)| (group, false));
        self.with_token(site, FrozenToken { counter, opening }, Vec::new())
    }

    fn is_open_for_others(&self) -> bool {
        let session = self.token.as_ref().and_then(|token| token.session.as_ref());
        session.is_some_and(|session| !session.followers.is_empty())
    }

    /// At the home: this node has clients inside by an opening of an earlier view.
    pub fn is_inside(&mut self, node: NodeId, effects: &mut Vec<Effect<M>>) {
        match &mut self.insiders {
            None => effects.push(Effect::Never("a client is inside a room that is not open")),
            Some(insiders) => sorted::insert(&mut insiders.inside, node),
        }
    }

    /// At the home: all nodes have reported.
    pub fn all_reported(&mut self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        if let Some(insiders) = &mut self.insiders {
            insiders.all_reported = true;
        }
        self.complete_for_others(site, effects);
        self.finish(site, effects);
    }

    /// The clients that were inside by an opening of an earlier view have left this node.
    pub(super) fn tell_home_of_leaving(&mut self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        if site.rules.view_defect == Some(ViewDefect::CompletesToCaptain) {
            // That captain belongs to an earlier view, in which no message is sent any more.
            return;
        }
        if site.is_home() {
            self.on_left(site, site.me, effects);
        } else {
            effects.push(Effect::Send { to: site.rules.home, message: Message::Left });
        }
    }

    pub(super) fn on_left(&mut self, site: &Context<'_>, from: NodeId, effects: &mut Vec<Effect<M>>) {
        match &mut self.insiders {
            Some(insiders) => insiders.inside.retain(|node| *node != from),
            None => effects.push(Effect::Never("a node that had no client inside reports an exit")),
        }
        self.complete_for_others(site, effects);
    }

    /// At the home: when all have left, the captain may go on.
    fn complete_for_others(&mut self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        let over = |insiders: &mut Insiders| insiders.all_reported && insiders.inside.is_empty();
        let Some(Insiders { captain, .. }) = self.insiders.take_if(over) else { return };
        effects.push(Effect::Note("the home completed for those of a view before"));
        if captain != site.me {
            effects.push(Effect::Send { to: captain, message: Message::Complete { number: FOR_OTHERS } });
        } else {
            self.on_complete(site, site.me, FOR_OTHERS, effects);
        }
    }
}
