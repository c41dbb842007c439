//! A room (and so a reader-writer lock) for production: one token, whose holder, the captain, opens the room
//! for a group and admits followers, as in DRS_GME. Requests find the token by path reversal, as in Naimi and
//! Trehel's mutex. A node serves many clients, which may cancel. Ours. Page: `docs/algorithms/rooms.md`.
//!
//! The rules are written once, in [`Room`], for any kind of [`Mode`]; a node uses that directly. [`Rooms`]
//! wraps it for the workbench, whose groups are small numbers.

use alloc::vec::Vec;

use crate::Origin;
use crate::algorithm::{Algorithm, Grant, Input, NodeId, Outbox, Site};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};

mod captain;
mod defects;
#[cfg(test)]
mod fairness;
mod forgetting;
mod invariants;
mod message;
mod mode;
mod picture;
mod room;
mod rules;
#[cfg(test)]
mod tests;
mod views;

pub use defects::Defect;
pub use message::{Effect, Entry, Message};
pub use mode::{AnyOf, Mode};
pub use room::{Before, Context, Room};
pub use rules::{QueueOrder, Rules};
pub use views::{Frozen, FrozenToken, RoomReports, ViewDefect};

/// A room of the workbench.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rooms(Room<AnyOf>);

const SUITE: &[Scope] = &[
    Scope::new(1, 1, 3).groups(2).clients(2),
    Scope::new(2, 1, 2).groups(2).clients(2).any_of(),
    Scope::new(2, 1, 3).groups(2).clients(2).any_of().with(&[("exclusive", "1")]),
    Scope::new(3, 1, 1).groups(3).clients(1).any_of().with(&[("exclusive", "1")]),
    Scope::new(3, 1, 2).groups(2),
    Scope::new(3, 1, 2).groups(2).with(&[("queue", "arrival"), ("close", "no")]),
    Scope::new(2, 1, 2).groups(2).clients(2).with(&[("turns", "0")]),
    Scope::new(3, 1, 2).groups(2).with(&[("turns", "0")]),
    Scope::new(3, 1, 2).groups(2).clients(1),
    Scope::new(4, 1, 1).groups(2).clients(1),
    Scope::new(2, 1, 3).groups(2).clients(2).with(&[
        ("exclusive", "1"),
        ("hand-off", "yes"),
        ("passes", "1"),
    ]),
    Scope::new(2, 1, 2).groups(2).clients(2).with(&[("forget", "yes")]).firings(1, 2),
    Scope::new(3, 1, 1).groups(2).clients(1).any_of().with(&[("forget", "yes")]).firings(1, 2),
    Scope::new(3, 1, 2).with(&[("forget", "yes")]).firings(1, 0),
];

impl Algorithm for Rooms {
    type Message = Message<AnyOf>;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "rooms",
        title: "group mutex for production: captain and followers, path reversal, many clients per node",
        kind: Kind::GroupMutex,
        source: "ours, from 004 and 001 ch. II",
        cost: "0 if the room is open here or the token is; about log n + 2 otherwise",
        tokens: Tokens::One,
        needs: Needs::RELIABLE_FIFO,
        clients: Clients::Many,
        unique_requests: true,
        options: Rules::OPTIONS,
        timers: forgetting::TIMERS,
        sometimes: &[
            "a request was forwarded",
            "a request was parked",
            "a follower passed a request to its captain",
            "a follower was admitted again",
            "a request was admitted past the queue",
            "a captain left the turn to another node",
            "a writer took over from another past the queue",
            "a start came that no client wants",
            "a token came that no client wants",
            "a completion came after the next start was sent",
            "a close came for an opening that was left",
            "the home fetched an idle token",
            "a node forgot the way",
            "an INFORM came too late",
        ],
        suite: SUITE,
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Rules::of(setting)
    }

    fn start(site: &Site<'_, Self>) -> Self {
        Rooms(Room::create(site, Origin::default()))
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        let (room, mut effects) = (&mut self.0, Vec::new());
        match input {
            Input::Request { client, groups } => {
                let mode = AnyOf::new(groups, site.rules.first_exclusive);
                room.acquire(site, client, mode, &mut effects);
            }
            Input::Cancel { client } => room.cancel(site, client, &mut effects),
            Input::Exit { .. } => room.release(site, &mut effects),
            Input::Deliver { from, message } => room.deliver(site, from, message, &mut effects),
            Input::Expire(timer) => room.expire(site, timer, &mut effects),
        }
        for effect in effects {
            match effect {
                Effect::Send { to, message } => out.send(to, message),
                Effect::Enter { client, group, fence } => out.grant(Grant { client, group, slot: 0, fence }),
                Effect::Arm(timer, wait) => out.arm(timer, wait),
                Effect::Note(what) => out.note(what),
                Effect::Never(what) => out.never(what),
            }
        }
        // A droppable state is dropped at once, so that the drivers check that this is safe.
        if site.rules.forget
            && let Some(floor) = room.droppable(site)
        {
            let floor = if site.has_defect(Defect::FloorForgotten) { 0 } else { floor };
            *room = Room::create(site, Origin { floor, clock: 0 });
        }
    }

    fn count(&self, site: &Site<'_, Self>, census: &mut Census) {
        self.0.count(site.me, census);
    }

    fn count_message(message: &Self::Message, to: NodeId, census: &mut Census) {
        message.count(to, census);
    }

    /// Captains take turns by number, but in no run that is short enough to be explored, unless the turns are
    /// few.
    fn allows_renaming(rules: &Rules, _: &Renaming) -> bool {
        rules.turns >= Rules::TURNS
    }

    fn rename(&mut self, _: &Rules, renaming: &Renaming) {
        self.0.rename(renaming);
    }

    fn rename_message(message: &mut Self::Message, renaming: &Renaming) {
        match message {
            Message::Request(entry) => renaming.rename([&mut entry.node]),
            Message::Token { queue, .. } => renaming.rename(queue.iter_mut().map(|entry| &mut entry.node)),
            _ => {}
        }
    }

    fn allows_client_renaming(_: &Rules) -> bool {
        true
    }

    fn rename_clients(&mut self, renaming: &Renaming) {
        self.0.waiters.rename(renaming);
    }

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        self.0.draw(site.me, picture);
    }

    fn draw_message(message: &Self::Message) -> Contents {
        message.drawn()
    }

    fn kind(message: &Self::Message) -> &'static str {
        message.kind()
    }

    fn words(message: &Self::Message) -> u32 {
        message.words()
    }
}

impl<M: Mode> Room<M> {
    /// Renames the nodes that the room names in the workbench, where there is only one view.
    fn rename(&mut self, renaming: &Renaming) {
        if let Some(token) = &mut self.token {
            renaming.rename(token.queue.iter_mut().map(|entry| &mut entry.node));
            let followers = token.session.iter_mut().flat_map(|session| &mut session.followers);
            renaming.rename(followers.map(|(node, _)| node));
        }
        if let Some(following) = &mut self.following {
            renaming.rename([&mut following.captain]);
        }
        renaming.rename([&mut self.pointer]);
        renaming.rename(self.parked.iter_mut().map(|entry| &mut entry.node));
        renaming.rename(&mut self.leavers);
        self.leavers.sort_unstable();
    }

    fn count(&self, me: NodeId, census: &mut Census) {
        if self.asked {
            census.asks(me);
        }
        census.queue_of(self.parked.iter().map(|entry| entry.node));
        if let Some(token) = &self.token {
            census.token_here();
            census.queue_of(token.queue.iter().map(|entry| entry.node));
        }
    }
}
