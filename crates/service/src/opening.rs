//! What a node has of a resource between two views, what it reports of it, and how its home waits for the reports of
//! all.
//!
//! After a change of views a node tells the home of each resource what it has of it. A home that knows where
//! everything is, or has the end marks of all members, opens, and mints what no member has. Until then it keeps the
//! requests of others.

use std::collections::{BTreeMap, BTreeSet};

use algorithms::forest::{self, RemoteToken, Size};
use algorithms::rooms::{self, RoomReports};
use algorithms::{Bounds, ClientId};
use serde::{Deserialize, Serialize};

use crate::defect::Defect;
use crate::name::Definition;
use crate::resource::{Input, ResourceMessage, Setup};
use crate::view::MemberIndex;
use crate::want::Numbered;

/// What a node has of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// Tokens: the slot of each with its version; and how many slots there are, as far as the sender has heard.
    Slots(Vec<(u32, u64)>, Size),
    /// The token of a room with its counter, and the group that it is open for, if it is; true if for one client alone.
    Captain(u64, Option<(u64, bool)>),
    /// Clients hold a room by an opening of this group and fence.
    Insider(u64, u64),
}

impl Report {
    /// Whether everything that it names can be.
    pub(crate) fn is_within(&self, bounds: &Bounds) -> bool {
        match self {
            Report::Slots(slots, size) => {
                let slot = |&(slot, version): &(u32, u64)| slot < bounds.tokens && version < bounds.counter;
                let size = (1..=bounds.tokens).contains(&size.tokens) && size.stamp < bounds.counter;
                size && slots.iter().all(slot)
            }
            Report::Captain(counter, _) | Report::Insider(_, counter) => *counter < bounds.counter,
        }
    }

    /// The opening by which clients of the sender hold.
    pub(crate) fn insider(&self) -> Option<(u64, u64)> {
        match self {
            Report::Insider(group, fence) => Some((*group, *fence)),
            _ => None,
        }
    }
}

/// What a node has of a resource between two views.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    Slots(forest::Frozen),
    Room(rooms::Frozen<Numbered>),
}

impl Kept {
    pub(crate) fn nothing(definition: Definition) -> Kept {
        match definition {
            Definition::Slots(tokens) => {
                Kept::Slots(forest::Frozen { size: Size { stamp: 0, tokens }, ..forest::Frozen::default() })
            }
            Definition::RwLock | Definition::Room => Kept::Room(rooms::Frozen::nothing()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Kept::Slots(kept) => kept.is_empty(),
            Kept::Room(kept) => kept.is_empty(),
        }
    }

    /// What the home has to know, if anything.
    pub(crate) fn report(&self) -> Option<Report> {
        match self {
            Kept::Slots(kept) if kept.tokens.is_empty() => None,
            Kept::Slots(kept) => {
                let slots = kept.tokens.iter().map(|token| (token.token, token.version)).collect();
                Some(Report::Slots(slots, kept.size))
            }
            Kept::Room(kept) => match (kept.token, kept.earlier_opening) {
                (Some(token), _) => Some(Report::Captain(token.counter, token.opening)),
                (None, Some((group, fence))) => Some(Report::Insider(group, fence)),
                (None, None) => None,
            },
        }
    }

    /// The client that has waited longest here.
    pub(crate) fn oldest_waiter(&self) -> Option<ClientId> {
        match self {
            Kept::Slots(kept) => kept.waiters.front().map(|(client, ())| client),
            Kept::Room(kept) => kept.oldest_waiter(),
        }
    }

    fn has_token(&self) -> bool {
        match self {
            Kept::Slots(kept) => !kept.tokens.is_empty(),
            Kept::Room(kept) => kept.token.is_some() || kept.earlier_opening.is_some(),
        }
    }

    fn acquire(&mut self, client: ClientId, mode: Option<Numbered>) {
        match (self, mode) {
            (Kept::Slots(kept), _) => kept.waiters.push_back(client, ()),
            (Kept::Room(kept), Some(mode)) => kept.acquire(client, mode),
            (Kept::Room(_), None) => {}
        }
    }

    fn cancel(&mut self, client: ClientId) {
        match self {
            Kept::Slots(kept) => kept.cancel(client),
            Kept::Room(kept) => kept.cancel(client),
        }
    }

    fn release(&mut self, client: ClientId) {
        match self {
            Kept::Slots(kept) => kept.release(client),
            Kept::Room(kept) => kept.release(),
        }
    }
}

/// What the home has heard.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    pub(crate) elsewhere: Vec<RemoteToken>,
    pub(crate) room: RoomReports<u64>,
}

/// A resource at its home while it is not known where everything is.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    kept: Kept,
    reports: Reports,
    /// The messages of other nodes meanwhile.
    parked: Vec<(MemberIndex, ResourceMessage)>,
    /// For how long the oldest waiter of each node has waited.
    ages: BTreeMap<MemberIndex, u64>,
    /// The numbers of slots that other nodes take for right.
    taken_for: BTreeSet<u32>,
}

/// An opening that is over.
pub(crate) struct Opened {
    pub(crate) kept: Kept,
    pub(crate) reported: Reports,
    /// The messages of other nodes meanwhile, those of the node with the oldest waiter first.
    pub(crate) parked: Vec<(MemberIndex, ResourceMessage)>,
    /// Whether a node takes another number of slots for right.
    pub(crate) differs: bool,
}

/// The members that have reported when a resource opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportedBy {
    /// All of them: what none of them has is nowhere.
    All,
    /// As many as are needed to know where everything is.
    Enough,
}

impl Opening {
    pub(crate) fn new(kept: Kept) -> Opening {
        let room = RoomReports { holder: None, inside: Vec::new(), opening: None, all: false };
        let reports = Reports { elsewhere: Vec::new(), room };
        let (ages, taken_for) = (BTreeMap::new(), BTreeSet::new());
        Opening { kept, reports, parked: Vec::new(), ages, taken_for }
    }

    pub(crate) fn into_kept(self) -> Kept {
        self.kept
    }

    /// Takes an input. Returns what is wrong with it, if anything is.
    pub(crate) fn step(&mut self, input: Input) -> Option<&'static str> {
        match input {
            Input::Request(client, mode) => self.kept.acquire(client, mode),
            Input::Cancel(client) => self.kept.cancel(client),
            Input::Exit(client) => self.kept.release(client),
            Input::Deliver(from, ResourceMessage::Report(report)) => return self.reported(from, report),
            Input::Deliver(from, ResourceMessage::Age(age)) => _ = self.ages.insert(from, age),
            Input::Deliver(from, message) => self.parked.push((from, message)),
            Input::Expire(_) | Input::AllReported => {}
        }
        None
    }

    fn reported(&mut self, from: MemberIndex, report: Report) -> Option<&'static str> {
        let Reports { elsewhere, room } = &mut self.reports;
        match report {
            Report::Slots(slots, size) => {
                let Kept::Slots(kept) = &mut self.kept else { return Some("a room has slots") };
                // The node that heard last from the home of an earlier view knows best.
                kept.size = kept.size.max(size);
                for (token, version) in slots {
                    let here = kept.tokens.iter().any(|kept| kept.token == token);
                    if here || elsewhere.iter().any(|other| other.token == token) {
                        return Some("a slot is at two nodes");
                    }
                    elsewhere.push(RemoteToken { token, holder: from.0, version });
                }
            }
            Report::Captain(_, opening) => {
                let shared = opening.is_some_and(|(_, alone)| !alone);
                if room.holder.replace((from.0, shared)).is_some() || self.kept.has_own_room() {
                    return Some("a room's token is at two nodes");
                }
            }
            Report::Insider(group, fence) => {
                if room.opening.is_some_and(|opening| opening != (group, fence)) {
                    return Some("a room is open for two groups");
                }
                room.opening = Some((group, fence));
                if let Err(index) = room.inside.binary_search(&from.0) {
                    room.inside.insert(index, from.0);
                }
            }
        }
        None
    }

    /// A node takes this number of slots for right.
    pub(crate) fn is_taken_for(&mut self, slots: u32) {
        self.taken_for.insert(slots);
    }

    /// How many slots there were in the view before, or how many were asked for first.
    pub(crate) fn slots(&self) -> Option<u32> {
        match &self.kept {
            Kept::Slots(kept) => Some(kept.size.tokens),
            Kept::Room(_) => None,
        }
    }

    /// Requests that are kept.
    pub(crate) fn parked(&self) -> impl Iterator<Item = ResourceMessage> {
        self.parked.iter().map(|(_, message)| message.clone())
    }

    /// Whether no member has reported to have anything of it as this kind.
    pub(crate) fn is_guess(&self) -> bool {
        let Reports { elsewhere, room } = &self.reports;
        let reported = !elsewhere.is_empty() || room.holder.is_some() || room.opening.is_some();
        !reported && !self.kept.has_token()
    }

    /// Whether it is known where everything is.
    pub(crate) fn is_complete(&self, definition: Definition) -> bool {
        match (&self.kept, definition) {
            (Kept::Slots(kept), Definition::Slots(slots)) => {
                let here = kept.tokens.iter().map(|token| token.token);
                let elsewhere = self.reports.elsewhere.iter().map(|other| other.token);
                here.chain(elsewhere).filter(|token| *token < slots).count() == slots as usize
            }
            (Kept::Room(kept), _) => kept.token.is_some() || self.reports.room.holder.is_some(),
            _ => false,
        }
    }

    /// It is known where everything is, or that the rest is nowhere.
    pub(crate) fn open(self, reported_by: ReportedBy, definition: Definition, setup: Setup) -> Opened {
        let Opening { kept, mut reports, mut parked, ages, taken_for } = self;
        let differs = taken_for.iter().any(|slots| definition.slots().is_some_and(|right| right != *slots));
        reports.room.all = reported_by == ReportedBy::All;
        match setup.policy.defect {
            Some(Defect::RoomMadeEmpty) => {
                reports.room.opening = None;
                reports.room.inside.clear();
            }
            Some(Defect::OpenRoomNewFence) => {
                reports.room.opening = reports.room.opening.map(|(group, _)| (group, setup.origin.floor + 1));
            }
            _ => {}
        }
        // The node with the oldest waiter asks first; the messages of one node stay in their order.
        parked.sort_by_key(|(from, _)| std::cmp::Reverse(ages.get(from).copied().unwrap_or(0)));
        Opened { kept, reported: reports, parked, differs }
    }
}

impl Kept {
    fn has_own_room(&self) -> bool {
        matches!(self, Kept::Room(kept) if kept.token.is_some())
    }
}
