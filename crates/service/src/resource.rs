//! What a node keeps about a name: what it is, the algorithm that runs it, and the timers of that.
//!
//! A resource is a state machine: `Resource::step` takes an input, and the effects are in the `Workspace`
//! afterwards. The kind of a resource never changes, and all timers end with the view.

use std::sync::Arc;

use algorithms::forest::{self, Forest, Size};
use algorithms::rooms::{self, Room};
use algorithms::{Algorithm, Bounds, Origin, Site};
use serde::{Deserialize, Serialize};

use crate::name::{Definition, Kind};
pub use crate::opening::Report;
use crate::opening::{Kept, Opening};
use crate::time::Time;
use crate::view::MemberIndex;
use crate::want::Numbered;

mod resizing;
mod setup;
mod step;
mod timers;
mod undoing;
mod views;
mod workspace;

pub(crate) use setup::{Policy, Position, Setup, Start};
pub(crate) use step::{Effect, Input};
pub(crate) use timers::{Looked, Planned, Timers};
pub(crate) use workspace::Workspace;

/// A message between nodes about a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResourceMessage {
    /// A message of the algorithm for mutexes and semaphores.
    Slots(forest::Message),
    /// A message of the algorithm for rooms and read-write locks.
    Rooms(rooms::Message<Numbered>),
    /// The home says that the resource is something else.
    Refused {
        /// What the name stands for.
        defined: Definition,
    },
    /// After a change of views, to the home: what the sender has of the resource.
    Report(Report),
    /// After a view change, to the home: the oldest waiter here has waited for this many nanoseconds.
    Age(u64),
}

impl ResourceMessage {
    /// The node that asks for something with this, if it is a request.
    pub(crate) fn asks_for(&self) -> Option<MemberIndex> {
        match self {
            ResourceMessage::Slots(message) => message.origin().map(MemberIndex),
            ResourceMessage::Rooms(rooms::Message::Request(entry)) => Some(MemberIndex(entry.node)),
            ResourceMessage::Rooms(_)
            | ResourceMessage::Refused { .. }
            | ResourceMessage::Report(_)
            | ResourceMessage::Age(_) => None,
        }
    }

    /// Whether it is about this kind of resource.
    pub(crate) fn fits(&self, kind: Kind) -> bool {
        match self {
            ResourceMessage::Slots(_) | ResourceMessage::Report(Report::Slots(..)) => kind == Kind::Slots,
            ResourceMessage::Rooms(_)
            | ResourceMessage::Report(Report::Captain(..) | Report::Insider(..)) => kind != Kind::Slots,
            ResourceMessage::Refused { .. } | ResourceMessage::Age(_) => true,
        }
    }

    /// Whether everything that it names can be.
    pub(crate) fn is_within(&self, bounds: &Bounds) -> bool {
        match self {
            ResourceMessage::Slots(message) => message.is_within(bounds),
            ResourceMessage::Rooms(message) => {
                message.is_within(bounds) && message.modes().all(Numbered::is_within_limits)
            }
            ResourceMessage::Refused { defined } => defined.validate().is_ok(),
            ResourceMessage::Report(report) => report.is_within(bounds),
            ResourceMessage::Age(_) => true,
        }
    }

    /// Whether it only says how many slots there are.
    pub(crate) fn is_resized(&self) -> bool {
        matches!(self, ResourceMessage::Slots(message) if matches!(message.body, forest::Body::Resized { .. }))
    }

    /// What it says about how many slots there are.
    fn size(&self) -> Option<Size> {
        match self {
            ResourceMessage::Slots(message) => message.size(),
            _ => None,
        }
    }
}

/// A resource at a node.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    name: Arc<str>,
    /// What it is, as far as its home has said, or else as it was asked for first.
    definition: Definition,
    /// What its name is defined as, if it is.
    defined: Option<Definition>,
    home: MemberIndex,
    run_by: RunBy,
    timers: Timers,
    /// When it was last used.
    used: Time,
    /// Whether it is on the list of idle resources.
    listed: bool,
    /// The view in which it was last run.
    epoch: u64,
}

#[derive(Clone, Debug)]
enum RunBy {
    Forest(forest::Rules, Forest),
    Room(rooms::Rules, Box<Room<Numbered>>),
    /// At the home after a change of views: it is not known yet where everything is.
    Opening(Box<Opening>),
}

impl Resource {
    /// A resource that this node has not heard of, as `definition`; `defined` is what its name is defined as.
    pub(crate) fn new(
        name: Arc<str>,
        (definition, defined): (Definition, Option<Definition>),
        home: MemberIndex,
        Setup { position, policy, origin }: Setup,
        start: Start,
    ) -> Resource {
        let run_by = match definition {
            _ if start == Start::AfterReports => {
                RunBy::Opening(Box::new(Opening::new(Kept::nothing(definition))))
            }
            Definition::Slots(_) => {
                let rules = policy.of_forest(home);
                let forest = Forest::create(&site(position, definition, &rules), origin);
                RunBy::Forest(rules, forest)
            }
            Definition::RwLock | Definition::Room => {
                let rules = policy.of_room(home);
                let room = Room::create(&site(position, definition, &rules), origin);
                RunBy::Room(rules, Box::new(room))
            }
        };
        let timers = Timers::new();
        Resource { name, definition, defined, home, run_by, timers, used: Time(0), listed: false, epoch: 0 }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What it is, as far as its home has said, or else as it was asked for first. Its kind never changes.
    pub(crate) fn definition(&self) -> Definition {
        self.definition
    }

    /// What its name is defined as, if it is.
    pub(crate) fn defined(&self) -> Option<Definition> {
        self.defined
    }

    /// The view in which it was last run.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The index of its home.
    pub(crate) fn home(&self) -> MemberIndex {
        self.home
    }

    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }

    pub(crate) fn timers_mut(&mut self) -> &mut Timers {
        &mut self.timers
    }

    /// When it was last used.
    pub(crate) fn used(&self) -> Time {
        self.used
    }

    /// It is used now.
    pub(crate) fn use_at(&mut self, now: Time) {
        self.used = now;
    }

    /// Whether it is on the list of idle resources.
    pub(crate) fn is_listed(&self) -> bool {
        self.listed
    }

    pub(crate) fn set_listed(&mut self, listed: bool) {
        self.listed = listed;
    }

    /// Whether nothing would be lost if it were forgotten here; then what to begin with when it is needed again.
    pub(crate) fn droppable(&self, position: Position) -> Option<Origin> {
        match &self.run_by {
            RunBy::Forest(rules, forest) => forest.droppable(&site(position, self.definition, rules)),
            RunBy::Room(rules, room) => {
                let floor = room.droppable(&site(position, self.definition, rules))?;
                Some(Origin { floor, clock: 0 })
            }
            RunBy::Opening(_) => None,
        }
    }

    /// The clock that must not fall, even if the resource is forgotten while it is in use.
    pub(crate) fn clock(&self) -> Origin {
        match &self.run_by {
            RunBy::Forest(_, forest) => Origin { floor: 0, clock: forest.clock() },
            RunBy::Room(..) | RunBy::Opening(_) => Origin::default(),
        }
    }

    /// Whether nothing can be granted before a client of this node releases.
    pub(crate) fn all_taken_here(&self) -> bool {
        match (&self.run_by, self.definition) {
            (RunBy::Forest(_, forest), Definition::Slots(slots)) => forest.busy() == slots,
            (RunBy::Room(_, room), _) => room.has_token() && room.inside() > 0,
            _ => false,
        }
    }

    /// The slots whose tokens are here, each with the nodes that wait for it, in their order.
    pub(crate) fn slots_here(&self) -> Vec<(u32, Vec<MemberIndex>)> {
        match &self.run_by {
            RunBy::Forest(_, forest) => {
                let indices = |nodes: Vec<u32>| nodes.into_iter().map(MemberIndex).collect();
                forest.tokens_here().map(|(token, nodes)| (token, indices(nodes))).collect()
            }
            RunBy::Room(_, room) if room.has_token() => {
                vec![(0, room.queue().iter().map(|entry| MemberIndex(entry.node)).collect())]
            }
            RunBy::Room(..) | RunBy::Opening(_) => Vec::new(),
        }
    }

    /// The slots whose tokens are elsewhere, each with the node to which a request for it would be sent from here.
    pub(crate) fn pointers(&self, position: Position, most: usize) -> Vec<(u32, MemberIndex)> {
        match &self.run_by {
            RunBy::Forest(rules, forest) => {
                let site = site(position, self.definition, rules);
                forest.ways(&site).take(most).map(|(token, node)| (token, MemberIndex(node))).collect()
            }
            RunBy::Room(_, room) => {
                room.way(position.me.0).into_iter().map(|node| (0, MemberIndex(node))).collect()
            }
            RunBy::Opening(_) => Vec::new(),
        }
    }

    /// Requests of other nodes that wait for tokens that are here.
    pub(crate) fn queued(&self) -> Vec<ResourceMessage> {
        let request = |origin, token| forest::Message {
            clock: 0,
            body: forest::Body::Request { origin, token, front: false },
        };
        match &self.run_by {
            RunBy::Forest(_, forest) => {
                let queues = forest.tokens_here();
                let requests =
                    queues.flat_map(|(token, nodes)| nodes.into_iter().map(move |node| (node, token)));
                requests.map(|(node, token)| ResourceMessage::Slots(request(node, token))).collect()
            }
            RunBy::Room(_, room) if room.has_token() => {
                let requests = room.queue().iter().cloned();
                requests.map(|entry| ResourceMessage::Rooms(rooms::Message::Request(entry))).collect()
            }
            RunBy::Room(..) | RunBy::Opening(_) => Vec::new(),
        }
    }

    /// Requests of other nodes that this node keeps until its own has been served.
    pub(crate) fn parked(&self) -> Vec<ResourceMessage> {
        match &self.run_by {
            RunBy::Forest(_, forest) => forest.parked().map(ResourceMessage::Slots).collect(),
            RunBy::Room(_, room) if room.has_token() => Vec::new(),
            RunBy::Room(_, room) => {
                let requests = room.queue().iter().cloned();
                requests.map(|entry| ResourceMessage::Rooms(rooms::Message::Request(entry))).collect()
            }
            RunBy::Opening(opening) => opening.parked().collect(),
        }
    }

    /// Whether no member has reported to have anything of it: its name may stand for something else.
    pub(crate) fn is_guess(&self) -> bool {
        matches!(&self.run_by, RunBy::Opening(opening) if opening.is_guess())
    }

    /// Whether it waits for reports.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.run_by, RunBy::Opening(_))
    }

    /// Whether it waits for reports that it does not need: all there is has been reported.
    pub(crate) fn can_open(&self) -> bool {
        matches!(&self.run_by, RunBy::Opening(opening) if opening.is_complete(self.definition))
    }
}

fn site<A: Algorithm>(position: Position, definition: Definition, rules: &A::Rules) -> Site<'_, A> {
    let tokens = match definition {
        Definition::Slots(slots) => slots,
        Definition::RwLock | Definition::Room => 1,
    };
    Site { me: position.me.0, nodes: position.nodes, tokens, rules }
}
