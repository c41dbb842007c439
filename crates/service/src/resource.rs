//! What a node keeps about a name: what it is, the algorithm that runs it, and the timers of that.

use std::sync::Arc;

use algorithms::forest::{self, Forest, Size};
use algorithms::rooms::{self, Room, Spot};
use algorithms::{Algorithm, Chance, ClientId, Groups, NodeId, Origin, Outbox, Pass, Site, Timer, Wait};
use serde::{Deserialize, Serialize};

use crate::defect::Defect;
use crate::name::Definition;
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
pub(crate) enum Input {
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
pub(crate) enum Effect {
    Send(NodeId, Content),
    /// A client holds this slot from now on, with this fence, in the group of this number. The client's request knows
    /// which of its groups that is.
    Grant {
        client: ClientId,
        slot: u32,
        fence: u64,
        group: u64,
    },
    Arm(Timer, Wait),
    Disarm(Timer),
    Never(&'static str),
}

/// Lists that are used again for every step, and empty between two.
#[derive(Default)]
pub(crate) struct Scratch {
    of_forest: Vec<algorithms::Effect<Forest>>,
    of_room: Vec<rooms::Effect<Numbered>>,
    pub(crate) effects: Vec<Effect>,
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
pub(crate) struct Policy {
    /// How often a local client may pass clients of other nodes that wait.
    pub(crate) passes: u32,
    /// How many hops what nobody uses stays where it is.
    pub(crate) linger: u32,
    /// Fences of this view are higher than this.
    pub(crate) floor: u64,
    /// A rule to leave out.
    pub(crate) defect: Option<Defect>,
}

impl Policy {
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
pub(crate) struct Position {
    pub(crate) me: NodeId,
    pub(crate) nodes: u32,
}

/// What a resource needs to know to start, or to go on in another view.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) position: Position,
    pub(crate) policy: Policy,
    /// Higher than whatever was forgotten: a home may open a name that it has opened and forgotten in the same view.
    pub(crate) origin: Origin,
}

impl Resource {
    /// A resource that this node has not heard of. If `opening`, this is its home, and other nodes may have something of it.
    pub(crate) fn new(
        name: Arc<str>,
        definition: Definition,
        home: NodeId,
        Setup { position, policy, origin }: Setup,
        opening: bool,
    ) -> Resource {
        let run_by = match definition {
            _ if opening => RunBy::Opening(Box::new(Opening::new(Kept::nothing(definition)))),
            Definition::Slots(_) => {
                let rules = policy.of_forest(home);
                let forest = Forest::create(&site(position, definition, &rules), origin);
                RunBy::Forest(rules, forest)
            }
            Definition::RwLock | Definition::Room => {
                let rules = policy.of_room(home);
                let spot = Spot { me: position.me, rules: &rules };
                RunBy::Room(rules, Box::new(Room::create(&spot, origin)))
            }
        };
        let timers = Vec::new();
        let defined = None;
        Resource { name, definition, defined, home, run_by, timers, used: Time(0), listed: false }
    }

    /// Lets something happen to it. What it wants done is in `scratch.effects` afterwards.
    pub(crate) fn step(
        &mut self,
        position: Position,
        input: Input,
        scratch: &mut Scratch,
        chance: &mut dyn Chance,
    ) {
        match &mut self.run_by {
            RunBy::Forest(rules, forest) => {
                let input = match input {
                    Input::Request(client, _) => {
                        algorithms::Input::Request { client, groups: Groups::one(0) }
                    }
                    Input::Cancel(client) => algorithms::Input::Cancel { client },
                    Input::Exit(client) => algorithms::Input::Exit { client },
                    Input::Deliver(from, Content::Slots(message)) => {
                        algorithms::Input::Deliver { from, message }
                    }
                    Input::Deliver(from, Content::Report(report)) => {
                        return self.reported_late(position, from, report, scratch, chance);
                    }
                    // The sender takes it for something else, and has been told.
                    Input::Deliver(..) | Input::AllReported => return,
                    Input::Expire(timer) => algorithms::Input::Expire(timer),
                };
                let site = site(position, self.definition, rules);
                forest.step(&site, input, &mut Outbox::new(&mut scratch.of_forest, chance));
                self.definition = Definition::Slots(forest.size().tokens);
                scratch.effects.extend(scratch.of_forest.drain(..).filter_map(forest_effect));
            }
            RunBy::Room(rules, room) => {
                let (spot, effects) = (Spot { me: position.me, rules }, &mut scratch.of_room);
                match input {
                    Input::Request(client, Some(wish)) => room.want(&spot, client, wish, effects),
                    Input::Cancel(client) => room.cancel(&spot, client, effects),
                    Input::Exit(_) => room.release(&spot, effects),
                    Input::Deliver(from, Content::Rooms(message)) => {
                        room.deliver(&spot, from, message, effects);
                    }
                    Input::Expire(timer) => room.expire(&spot, timer, effects),
                    Input::Deliver(from, Content::Report(report)) => match report.insider() {
                        Some(_) => room.is_inside(from, effects),
                        None => effects.push(rooms::Effect::Never("a room's token is at two nodes")),
                    },
                    Input::AllReported => room.all_reported(&spot, effects),
                    Input::Request(_, None) | Input::Deliver(..) => return,
                }
                scratch.effects.extend(effects.drain(..).filter_map(room_effect));
            }
            RunBy::Opening(opening) => {
                if let Some(what) = opening.step(input) {
                    scratch.effects.push(Effect::Never(what));
                }
                self.expect_slots();
            }
        }
    }

    /// Whether nothing would be lost if it were forgotten here; then what to begin with when it is needed again.
    pub(crate) fn droppable(&self, position: Position) -> Option<Origin> {
        match &self.run_by {
            RunBy::Forest(rules, forest) => forest.droppable(&site(position, self.definition, rules)),
            RunBy::Room(rules, room) => {
                let floor = room.droppable(&Spot { me: position.me, rules })?;
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
        setup: Setup,
        scratch: &mut Scratch,
        chance: &mut dyn Chance,
    ) {
        self.go_on(kept, None, setup, scratch, chance);
    }

    /// At the home: opens, and says what was parked meanwhile. `all` if everybody has reported.
    pub(crate) fn open(
        &mut self,
        all: bool,
        setup: Setup,
        scratch: &mut Scratch,
        chance: &mut dyn Chance,
    ) -> Vec<(NodeId, Content)> {
        let blank = RunBy::Opening(Box::new(Opening::new(Kept::nothing(self.definition))));
        let RunBy::Opening(opening) = std::mem::replace(&mut self.run_by, blank) else { return Vec::new() };
        let Opened { kept, reported, parked, differs } = opening.open(all, self.definition, setup);
        self.go_on(kept, Some(reported), setup, scratch, chance);
        if let RunBy::Forest(rules, forest) = &self.run_by
            && differs
        {
            let site = site(setup.position, self.definition, rules);
            forest.announce(&site, &mut Outbox::new(&mut scratch.of_forest, chance));
            scratch.effects.extend(scratch.of_forest.drain(..).filter_map(forest_effect));
        }
        parked
    }

    fn go_on(
        &mut self,
        kept: Kept,
        reported: Option<Reports>,
        Setup { position, policy, origin }: Setup,
        scratch: &mut Scratch,
        chance: &mut dyn Chance,
    ) {
        self.run_by = match kept {
            Kept::Slots(kept) => {
                let rules = policy.of_forest(self.home);
                let elsewhere = reported.map_or(Vec::new(), |reported| reported.elsewhere);
                let mut out = Outbox::new(&mut scratch.of_forest, chance);
                let site = site(position, self.definition, &rules);
                let forest = Forest::resume(&site, origin, kept, &elsewhere, &mut out);
                scratch.effects.extend(scratch.of_forest.drain(..).filter_map(forest_effect));
                RunBy::Forest(rules, forest)
            }
            Kept::Room(kept) => {
                let rules = Policy { floor: origin.floor, ..policy }.of_room(self.home);
                let spot = Spot { me: position.me, rules: &rules };
                let reported = reported.map(|reported| reported.room);
                let room = Room::resume(&spot, kept, reported, &mut scratch.of_room);
                scratch.effects.extend(scratch.of_room.drain(..).filter_map(room_effect));
                RunBy::Room(rules, Box::new(room))
            }
        };
    }
}

fn site(position: Position, definition: Definition, rules: &forest::Rules) -> Site<'_, Forest> {
    let tokens = match definition {
        Definition::Slots(slots) => slots,
        Definition::RwLock | Definition::Room => 1,
    };
    Site { me: position.me, nodes: position.nodes, tokens, rules }
}

fn forest_effect(effect: algorithms::Effect<Forest>) -> Option<Effect> {
    Some(match effect {
        algorithms::Effect::Send { to, message } => Effect::Send(to, Content::Slots(message)),
        algorithms::Effect::Enter(pass) => {
            let Pass { client, slot, fence, .. } = pass;
            Effect::Grant { client, slot, fence, group: 0 }
        }
        algorithms::Effect::Arm(timer, wait) => Effect::Arm(timer, wait),
        algorithms::Effect::Disarm(timer) => Effect::Disarm(timer),
        algorithms::Effect::Never(what) => Effect::Never(what),
        algorithms::Effect::Persist(()) | algorithms::Effect::Note(_) => return None,
    })
}

fn room_effect(effect: rooms::Effect<Numbered>) -> Option<Effect> {
    Some(match effect {
        rooms::Effect::Send { to, message } => Effect::Send(to, Content::Rooms(message)),
        rooms::Effect::Enter { client, group, fence } => Effect::Grant { client, slot: 0, fence, group },
        rooms::Effect::Arm(timer, wait) => Effect::Arm(timer, wait),
        rooms::Effect::Never(what) => Effect::Never(what),
        rooms::Effect::Note(_) => return None,
    })
}
