//! What a node keeps about a name: what it is, the algorithm that runs it, and the timers of that.

use std::sync::Arc;

use algorithms::forest::{self, Forest, Size};
use algorithms::rooms::{self, Act, Room, Spot};
use algorithms::{
    Algorithm, Bounds, Chance, ClientId, Effect, Groups, Input, NodeId, Origin, Outbox, Site, Timer, Wait,
};
use serde::{Deserialize, Serialize};

use crate::defect::Defect;
use crate::name::{Definition, Kind};
use crate::opening::{Kept, Opened, Opening, Report, Reports};
use crate::time::Time;
use crate::wish::Numbered;

mod resizing;

/// What nodes say to each other about a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// A message of the algorithm for mutexes and semaphores.
    Slots(forest::Message),
    /// A message of the algorithm for rooms and read-write locks.
    Rooms(rooms::Message<Numbered>),
    /// The home says that the resource is something else.
    Refused {
        /// What it is.
        defined: Definition,
    },
    /// After a change of views, to the home: what the sender has of the resource.
    Report(Report),
    /// After a change of views, to the home: somebody has waited here for so many nanoseconds.
    Age(u64),
}

impl Content {
    /// The node that asks for something with this, if it is a request.
    pub(crate) fn asks_for(&self) -> Option<NodeId> {
        match self {
            Content::Slots(message) => message.origin(),
            Content::Rooms(rooms::Message::Request(entry)) => Some(entry.node),
            Content::Rooms(_) | Content::Refused { .. } | Content::Report(_) | Content::Age(_) => None,
        }
    }

    /// Whether it is about this kind of resource.
    pub(crate) fn fits(&self, kind: Kind) -> bool {
        match self {
            Content::Slots(_) | Content::Report(Report::Slots(..)) => kind == Kind::Slots,
            Content::Rooms(_) | Content::Report(Report::Captain(..) | Report::Insider(..)) => {
                kind != Kind::Slots
            }
            Content::Refused { .. } | Content::Age(_) => true,
        }
    }

    /// Whether everything that it names can be.
    pub(crate) fn is_within(&self, bounds: &Bounds) -> bool {
        match self {
            Content::Slots(message) => message.is_within(bounds),
            Content::Rooms(message) => {
                message.is_within(bounds) && message.wishes().all(Numbered::is_within_limits)
            }
            Content::Refused { defined } => defined.validate().is_ok(),
            Content::Report(report) => report.is_within(bounds),
            Content::Age(_) => true,
        }
    }

    /// Whether it only says how many slots there are.
    pub(crate) fn is_resized(&self) -> bool {
        matches!(self, Content::Slots(message) if matches!(message.body, forest::Body::Resized { .. }))
    }

    /// What it says about how many slots there are.
    fn size(&self) -> Option<Size> {
        match self {
            Content::Slots(message) => message.size(),
            _ => None,
        }
    }
}

/// Something that happens to a resource.
pub(crate) enum Happening {
    /// A client asks; for a room with what it wishes.
    Request(ClientId, Option<Numbered>),
    /// A client gives up.
    Cancel(ClientId),
    /// A client leaves.
    Exit(ClientId),
    /// A node says something.
    Deliver(NodeId, Content),
    /// A timer runs out.
    Expire(Timer),
    /// At the home: all nodes have said what they have.
    AllReported,
}

/// Something that a resource wants done.
pub(crate) enum Deed {
    Send(NodeId, Content),
    /// A client enters: by this slot, with this fence, in this group.
    Enter(ClientId, u32, u64, u64),
    Arm(Timer, Wait),
    Disarm(Timer),
    Never(&'static str),
}

/// Lists that are used again for every step, and empty between two.
#[derive(Default)]
pub(crate) struct Scratch {
    effects: Vec<Effect<Forest>>,
    acts: Vec<Act<Numbered>>,
    pub(crate) deeds: Vec<Deed>,
}

impl Clone for Scratch {
    fn clone(&self) -> Scratch {
        Scratch::default()
    }
}

/// A resource at a node.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) name: Arc<str>,
    /// What it is, as far as its home has said, or else as it was asked for first.
    pub(crate) definition: Definition,
    /// What its name is defined as, if it is.
    pub(crate) defined: Option<Definition>,
    pub(crate) home: NodeId,
    run_by: RunBy,
    /// The timers that run, or are planned to be looked at.
    pub(crate) timers: Vec<Armed>,
    /// When something last happened to it.
    pub(crate) used: Time,
    /// Whether it is on the list of those that may be forgotten.
    pub(crate) listed: bool,
}

/// A timer. Most are stopped and started again long before they run out: that moves only `runs_out`, and whoever looks at
/// the time that was planned plans anew.
#[derive(Clone, Debug)]
pub(crate) struct Armed {
    pub(crate) timer: Timer,
    /// When it runs out, if it runs.
    pub(crate) runs_out: Option<Time>,
    /// When it is looked at: not later than it runs out.
    pub(crate) planned: Time,
}

#[derive(Clone, Debug)]
enum RunBy {
    Forest(forest::Rules, Forest),
    Room(rooms::Rules, Box<Room<Numbered>>),
    /// At the home after a change of views: it is not known yet where everything is.
    Opening(Box<Opening>),
}

/// What can be chosen about all resources of a node.
#[derive(Clone, Copy)]
pub(crate) struct Habits {
    /// How often a local client may pass clients of other nodes that wait.
    pub(crate) passes: u32,
    /// How many hops what nobody uses stays where it is.
    pub(crate) linger: u32,
    /// Fences of this view are higher than this.
    pub(crate) floor: u64,
    /// A rule to leave out.
    pub(crate) defect: Option<Defect>,
}

impl Habits {
    pub(crate) fn of_forest(self, home: NodeId) -> forest::Rules {
        let slip = match self.defect {
            Some(Defect::SlotFromTheStart) => Some(forest::Slip::NoFloor),
            Some(Defect::GrowsBlindly) => Some(forest::Slip::GrowBlindly),
            _ => None,
        };
        forest::Rules { slip, ..forest::Rules::service(home, self.passes, self.linger) }
    }

    pub(crate) fn of_room(self, home: NodeId) -> rooms::Rules {
        let omits = match self.defect {
            Some(Defect::CaptainKeepsFollowers) => Some(rooms::Shortcut::KeepsFollowers),
            Some(Defect::CompletesToCaptain) => Some(rooms::Shortcut::CompletesToCaptain),
            _ => None,
        };
        let mut rules = rooms::Rules::service(home, self.passes, self.linger, self.floor);
        rules.omits = omits;
        rules
    }
}

/// The node that a resource is looked at from.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) me: NodeId,
    pub(crate) nodes: u32,
}

/// What a resource needs to know to begin, or to go on in another view.
#[derive(Clone, Copy)]
pub(crate) struct Begin {
    pub(crate) place: Place,
    pub(crate) habits: Habits,
    /// Higher than whatever was forgotten: a home may open a name that it has opened and forgotten in the same view.
    pub(crate) origin: Origin,
}

impl Resource {
    /// A resource that this node has not heard of. If `opening`, this is its home, and other nodes may have something of it.
    pub(crate) fn new(
        name: Arc<str>,
        definition: Definition,
        home: NodeId,
        Begin { place, habits, origin }: Begin,
        opening: bool,
    ) -> Resource {
        let run_by = match definition {
            _ if opening => RunBy::Opening(Box::new(Opening::new(Kept::nothing(definition)))),
            Definition::Slots(_) => {
                let rules = habits.of_forest(home);
                let forest = Forest::create(&site(place, definition, &rules), origin);
                RunBy::Forest(rules, forest)
            }
            Definition::RwLock | Definition::Room => {
                let rules = habits.of_room(home);
                let spot = Spot { me: place.me, rules: &rules };
                RunBy::Room(rules, Box::new(Room::create(&spot, origin)))
            }
        };
        let timers = Vec::new();
        let defined = None;
        Resource { name, definition, defined, home, run_by, timers, used: Time(0), listed: false }
    }

    /// Lets something happen to it. What it wants done is in `scratch.deeds` afterwards.
    pub(crate) fn step(
        &mut self,
        place: Place,
        happening: Happening,
        scratch: &mut Scratch,
        chance: &mut dyn Chance,
    ) {
        match &mut self.run_by {
            RunBy::Forest(rules, forest) => {
                let input = match happening {
                    Happening::Request(client, _) => Input::Request { client, groups: Groups::one(0) },
                    Happening::Cancel(client) => Input::Cancel { client },
                    Happening::Exit(client) => Input::Exit { client },
                    Happening::Deliver(from, Content::Slots(message)) => Input::Deliver { from, message },
                    Happening::Deliver(from, Content::Report(report)) => {
                        return self.reported_late(place, from, report, scratch, chance);
                    }
                    // The sender takes it for something else, and has been told.
                    Happening::Deliver(..) | Happening::AllReported => return,
                    Happening::Expire(timer) => Input::Expire(timer),
                };
                let site = site(place, self.definition, rules);
                forest.step(&site, input, &mut Outbox::new(&mut scratch.effects, chance));
                self.definition = Definition::Slots(forest.size().tokens);
                scratch.deeds.extend(scratch.effects.drain(..).filter_map(deed_of_forest));
            }
            RunBy::Room(rules, room) => {
                let (spot, acts) = (Spot { me: place.me, rules }, &mut scratch.acts);
                match happening {
                    Happening::Request(client, Some(wish)) => room.want(&spot, client, wish, acts),
                    Happening::Cancel(client) => room.cancel(&spot, client, acts),
                    Happening::Exit(_) => room.release(&spot, acts),
                    Happening::Deliver(from, Content::Rooms(message)) => {
                        room.deliver(&spot, from, message, acts);
                    }
                    Happening::Expire(timer) => room.expire(&spot, timer, acts),
                    Happening::Deliver(from, Content::Report(report)) => match report.insider() {
                        Some(_) => room.is_inside(from, acts),
                        None => acts.push(Act::Never("a room's token is at two nodes")),
                    },
                    Happening::AllReported => room.all_reported(&spot, acts),
                    Happening::Request(_, None) | Happening::Deliver(..) => return,
                }
                scratch.deeds.extend(acts.drain(..).filter_map(deed_of_room));
            }
            RunBy::Opening(opening) => {
                if let Some(what) = opening.step(happening) {
                    scratch.deeds.push(Deed::Never(what));
                }
                self.expect_slots();
            }
        }
    }

    /// Whether nothing would be lost if it were forgotten here; then what to begin with when it is needed again.
    pub(crate) fn droppable(&self, place: Place) -> Option<Origin> {
        match &self.run_by {
            RunBy::Forest(rules, forest) => forest.droppable(&site(place, self.definition, rules)),
            RunBy::Room(rules, room) => {
                let floor = room.droppable(&Spot { me: place.me, rules })?;
                Some(Origin { floor, clock: 0 })
            }
            RunBy::Opening(_) => None,
        }
    }

    /// What must not be fallen below even if it is forgotten in the middle of something.
    pub(crate) fn clock(&self) -> Origin {
        match &self.run_by {
            RunBy::Forest(_, forest) => Origin { floor: 0, clock: forest.clock() },
            RunBy::Room(..) | RunBy::Opening(_) => Origin::default(),
        }
    }

    /// Whether nobody can be let in before somebody at this node leaves.
    pub(crate) fn all_taken_here(&self) -> bool {
        match (&self.run_by, self.definition) {
            (RunBy::Forest(_, forest), Definition::Slots(slots)) => forest.busy() == slots,
            (RunBy::Room(_, room), _) => room.has_token() && room.inside() > 0,
            _ => false,
        }
    }

    /// The slots whose tokens are here, each with the nodes that wait for it, in their order.
    pub(crate) fn slots_here(&self) -> Vec<(u32, Vec<NodeId>)> {
        match &self.run_by {
            RunBy::Forest(_, forest) => forest.tokens_here().collect(),
            RunBy::Room(_, room) if room.has_token() => {
                vec![(0, room.queue().iter().map(|entry| entry.node).collect())]
            }
            RunBy::Room(..) | RunBy::Opening(_) => Vec::new(),
        }
    }

    /// Requests of other nodes that wait for tokens that are here.
    pub(crate) fn queued(&self) -> Vec<Content> {
        let request = |origin, token| forest::Message {
            clock: 0,
            body: forest::Body::Request { origin, token, front: false },
        };
        match &self.run_by {
            RunBy::Forest(_, forest) => {
                let queues = forest.tokens_here();
                let requests =
                    queues.flat_map(|(token, nodes)| nodes.into_iter().map(move |node| (node, token)));
                requests.map(|(node, token)| Content::Slots(request(node, token))).collect()
            }
            RunBy::Room(_, room) if room.has_token() => {
                let requests = room.queue().iter().cloned();
                requests.map(|entry| Content::Rooms(rooms::Message::Request(entry))).collect()
            }
            RunBy::Room(..) | RunBy::Opening(_) => Vec::new(),
        }
    }

    /// Requests of other nodes that this node keeps until its own has been served.
    pub(crate) fn parked(&self) -> Vec<Content> {
        match &self.run_by {
            RunBy::Forest(_, forest) => forest.parked().map(Content::Slots).collect(),
            RunBy::Room(_, room) if room.has_token() => Vec::new(),
            RunBy::Room(_, room) => {
                let requests = room.queue().iter().cloned();
                requests.map(|entry| Content::Rooms(rooms::Message::Request(entry))).collect()
            }
            RunBy::Opening(opening) => opening.parked().collect(),
        }
    }

    /// Whether it is not known yet what this resource is: nobody has reported to have anything of it.
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

    /// Ends a view: what this node has of the resource.
    pub(crate) fn freeze(&mut self) -> Kept {
        self.timers.clear();
        let blank = RunBy::Opening(Box::new(Opening::new(Kept::nothing(self.definition))));
        match std::mem::replace(&mut self.run_by, blank) {
            RunBy::Forest(_, forest) => Kept::Slots(forest.freeze()),
            RunBy::Room(rules, room) => Kept::Room(room.freeze(&rules)),
            RunBy::Opening(opening) => opening.into_kept(),
        }
    }

    /// Begins a view at its home, where it waits for the reports of others.
    pub(crate) fn wait_for_reports(&mut self, kept: Kept) {
        self.run_by = RunBy::Opening(Box::new(Opening::new(kept)));
        self.expect_slots();
    }

    /// Begins a view elsewhere.
    pub(crate) fn resume(
        &mut self,
        kept: Kept,
        begin: Begin,
        scratch: &mut Scratch,
        chance: &mut dyn Chance,
    ) {
        self.go_on(kept, None, begin, scratch, chance);
    }

    /// At the home: opens, and says what was parked meanwhile. `all` if everybody has reported.
    pub(crate) fn open(
        &mut self,
        all: bool,
        begin: Begin,
        scratch: &mut Scratch,
        chance: &mut dyn Chance,
    ) -> Vec<(NodeId, Content)> {
        let blank = RunBy::Opening(Box::new(Opening::new(Kept::nothing(self.definition))));
        let RunBy::Opening(opening) = std::mem::replace(&mut self.run_by, blank) else { return Vec::new() };
        let Opened { kept, reported, parked, differs } = opening.open(all, self.definition, begin);
        self.go_on(kept, Some(reported), begin, scratch, chance);
        if let RunBy::Forest(rules, forest) = &self.run_by
            && differs
        {
            let site = site(begin.place, self.definition, rules);
            forest.announce(&site, &mut Outbox::new(&mut scratch.effects, chance));
            scratch.deeds.extend(scratch.effects.drain(..).filter_map(deed_of_forest));
        }
        parked
    }

    fn go_on(
        &mut self,
        kept: Kept,
        reported: Option<Reports>,
        Begin { place, habits, origin }: Begin,
        scratch: &mut Scratch,
        chance: &mut dyn Chance,
    ) {
        self.run_by = match kept {
            Kept::Slots(kept) => {
                let rules = habits.of_forest(self.home);
                let elsewhere = reported.map_or(Vec::new(), |reported| reported.elsewhere);
                let mut out = Outbox::new(&mut scratch.effects, chance);
                let site = site(place, self.definition, &rules);
                let forest = Forest::resume(&site, origin, kept, &elsewhere, &mut out);
                scratch.deeds.extend(scratch.effects.drain(..).filter_map(deed_of_forest));
                RunBy::Forest(rules, forest)
            }
            Kept::Room(kept) => {
                let rules = Habits { floor: origin.floor, ..habits }.of_room(self.home);
                let spot = Spot { me: place.me, rules: &rules };
                let reported = reported.map(|reported| reported.room);
                let room = Room::resume(&spot, kept, reported, &mut scratch.acts);
                scratch.deeds.extend(scratch.acts.drain(..).filter_map(deed_of_room));
                RunBy::Room(rules, Box::new(room))
            }
        };
    }
}

fn site(place: Place, definition: Definition, rules: &forest::Rules) -> Site<'_, Forest> {
    let tokens = match definition {
        Definition::Slots(slots) => slots,
        Definition::RwLock | Definition::Room => 1,
    };
    Site { me: place.me, nodes: place.nodes, tokens, rules }
}

fn deed_of_forest(effect: Effect<Forest>) -> Option<Deed> {
    Some(match effect {
        Effect::Send { to, message } => Deed::Send(to, Content::Slots(message)),
        Effect::Enter(pass) => Deed::Enter(pass.client, pass.slot, pass.fence, 0),
        Effect::Arm(timer, wait) => Deed::Arm(timer, wait),
        Effect::Disarm(timer) => Deed::Disarm(timer),
        Effect::Never(what) => Deed::Never(what),
        Effect::Persist(()) | Effect::Note(_) => return None,
    })
}

fn deed_of_room(act: Act<Numbered>) -> Option<Deed> {
    Some(match act {
        Act::Send { to, message } => Deed::Send(to, Content::Rooms(message)),
        Act::Enter { client, group, fence } => Deed::Enter(client, 0, fence, group),
        Act::Arm(timer, wait) => Deed::Arm(timer, wait),
        Act::Never(what) => Deed::Never(what),
        Act::Note(_) => return None,
    })
}
