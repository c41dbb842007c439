//! One step of a resource: an input, and the effects that come of it.

use algorithms::rooms;
use algorithms::{Algorithm, ClientId, Groups, Timer, Wait};

use super::{Position, Resource, ResourceMessage, RunBy, Workspace, site};
use crate::metrics::HandOff;
use crate::name::Definition;
use crate::view::MemberIndex;
use crate::want::Numbered;

/// An input of a resource.
pub(crate) enum Input {
    /// A client acquires; for a room, with the groups that it wants.
    Request(ClientId, Option<Numbered>),
    /// A client gives up.
    Cancel(ClientId),
    /// A client releases.
    Exit(ClientId),
    /// A message of another node arrives.
    Deliver(MemberIndex, ResourceMessage),
    /// A timer expires.
    Expire(Timer),
    /// At the home: all members have reported everything.
    AllReported,
}

impl Input {
    /// How a slot was handed off that this input has granted; `None` if it did not have to be.
    pub(crate) fn hand_off(&self) -> Option<HandOff> {
        match self {
            Input::Request(..) | Input::AllReported => None,
            Input::Cancel(_) | Input::Exit(_) | Input::Expire(_) => Some(HandOff::Local),
            Input::Deliver(..) => Some(HandOff::Remote),
        }
    }
}

/// An effect of a step of a resource.
pub(crate) enum Effect {
    Send(MemberIndex, ResourceMessage),
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

impl Resource {
    /// Takes one step. Its effects are in `work` afterwards.
    pub(crate) fn step(&mut self, position: Position, input: Input, work: &mut Workspace) {
        match &mut self.run_by {
            RunBy::Forest(rules, forest) => {
                let input = match input {
                    Input::Request(client, _) => {
                        algorithms::Input::Request { client, groups: Groups::one(0) }
                    }
                    Input::Cancel(client) => algorithms::Input::Cancel { client },
                    Input::Exit(client) => algorithms::Input::Exit { client },
                    Input::Deliver(from, ResourceMessage::Slots(message)) => {
                        algorithms::Input::Deliver { from: from.0, message }
                    }
                    Input::Deliver(from, ResourceMessage::Report(report)) => {
                        return self.reported_late(position, from, report, work);
                    }
                    // The sender takes the resource for another kind, and has been told.
                    Input::Deliver(..) | Input::AllReported => return,
                    Input::Expire(timer) => algorithms::Input::Expire(timer),
                };
                let site = site(position, self.definition, rules);
                forest.step(&site, input, &mut work.outbox());
                self.definition = Definition::Slots(forest.size().tokens);
                work.take_from_forest();
            }
            RunBy::Room(rules, room) => {
                let (site, effects) = (site(position, self.definition, rules), work.room());
                match input {
                    Input::Request(client, Some(mode)) => room.acquire(&site, client, mode, effects),
                    Input::Cancel(client) => room.cancel(&site, client, effects),
                    Input::Exit(_) => room.release(&site, effects),
                    Input::Deliver(from, ResourceMessage::Rooms(message)) => {
                        room.deliver(&site, from.0, message, effects);
                    }
                    Input::Expire(timer) => room.expire(&site, timer, effects),
                    Input::Deliver(from, ResourceMessage::Report(report)) => match report.insider() {
                        Some(_) => room.is_inside(from.0, effects),
                        None => effects.push(rooms::Effect::Never("a room's token is at two nodes")),
                    },
                    Input::AllReported => room.all_reported(&site, effects),
                    Input::Request(_, None) | Input::Deliver(..) => return,
                }
                work.take_from_room();
            }
            RunBy::Opening(opening) => {
                if let Some(what) = opening.step(input) {
                    work.never(what);
                }
                self.expect_slots();
            }
        }
    }
}
