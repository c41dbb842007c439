//! What the steps of all resources share.

use algorithms::forest::Forest;
use algorithms::{Outbox, rooms};
use random::Random;

use super::ResourceMessage;
use super::step::Effect;
use crate::view::MemberIndex;
use crate::want::Numbered;

/// Lists that are used again for every step, so that a step allocates nothing, and the source of chance.
///
/// Between two steps all lists are empty.
pub(crate) struct Workspace {
    forest: Vec<algorithms::Effect<Forest>>,
    room: Vec<rooms::Effect<Numbered>>,
    effects: Vec<Effect>,
    random: Random,
}

impl Workspace {
    pub(crate) fn new(seed: u64) -> Workspace {
        Workspace::drawing_from(Random::new(seed))
    }

    fn drawing_from(random: Random) -> Workspace {
        Workspace { forest: Vec::new(), room: Vec::new(), effects: Vec::new(), random }
    }

    /// Where a forest puts its effects. Then comes [`Workspace::take_from_forest`].
    pub(super) fn outbox(&mut self) -> Outbox<'_, Forest> {
        Outbox::new(&mut self.forest, &mut self.random)
    }

    /// Where a room puts its effects. Then comes [`Workspace::take_from_room`].
    pub(super) fn room(&mut self) -> &mut Vec<rooms::Effect<Numbered>> {
        &mut self.room
    }

    pub(super) fn take_from_forest(&mut self) {
        self.effects.extend(self.forest.drain(..).filter_map(of_forest));
    }

    pub(super) fn take_from_room(&mut self) {
        self.effects.extend(self.room.drain(..).filter_map(of_room));
    }

    /// Records something that must never happen.
    pub(super) fn never(&mut self, what: &'static str) {
        self.effects.push(Effect::Never(what));
    }

    /// Drops the effects of a step that cannot be, and says why it cannot; `None`, and nothing changes, if it can.
    pub(crate) fn take_contradiction(&mut self) -> Option<&'static str> {
        let what = self.effects.iter().find_map(|effect| match effect {
            Effect::Never(what) => Some(*what),
            _ => None,
        })?;
        self.effects.clear();
        Some(what)
    }

    /// Takes the effects of a step. The list comes back by [`Workspace::put_back`].
    pub(crate) fn take(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    pub(crate) fn put_back(&mut self, list: Vec<Effect>) {
        assert!(list.is_empty() && self.effects.is_empty(), "all effects were carried out");
        self.effects = list;
    }
}

/// The lists are empty, so there is nothing to clone but the source of chance.
impl Clone for Workspace {
    fn clone(&self) -> Workspace {
        Workspace::drawing_from(self.random.clone())
    }
}

fn of_forest(effect: algorithms::Effect<Forest>) -> Option<Effect> {
    Some(match effect {
        algorithms::Effect::Send { to, message } => {
            Effect::Send(MemberIndex(to), ResourceMessage::Slots(message))
        }
        algorithms::Effect::Enter(grant) => {
            Effect::Grant { client: grant.client, slot: grant.slot, fence: grant.fence, group: 0 }
        }
        algorithms::Effect::Arm(timer, wait) => Effect::Arm(timer, wait),
        algorithms::Effect::Disarm(timer) => Effect::Disarm(timer),
        algorithms::Effect::Never(what) => Effect::Never(what),
        algorithms::Effect::Persist(()) | algorithms::Effect::Note(_) => return None,
    })
}

fn of_room(effect: rooms::Effect<Numbered>) -> Option<Effect> {
    Some(match effect {
        rooms::Effect::Send { to, message } => Effect::Send(MemberIndex(to), ResourceMessage::Rooms(message)),
        rooms::Effect::Enter { client, group, fence } => Effect::Grant { client, slot: 0, fence, group },
        rooms::Effect::Arm(timer, wait) => Effect::Arm(timer, wait),
        rooms::Effect::Never(what) => Effect::Never(what),
        rooms::Effect::Note(_) => return None,
    })
}
