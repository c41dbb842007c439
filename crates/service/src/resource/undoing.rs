//! A message that contradicts what this node knows changes nothing: what it did to a resource is undone.

use algorithms::{forest, rooms};

use super::{Resource, RunBy};
use crate::name::Definition;
use crate::opening::Opening;
use crate::want::Numbered;

/// What a resource was like before a message.
pub(crate) struct Before {
    definition: Definition,
    run_by: RanBy,
}

enum RanBy {
    Forest(forest::Before),
    Room(rooms::Before<Numbered>),
    Opening(Box<Opening>),
}

impl Resource {
    /// From here on what messages do can be undone, until [`Resource::keep`]. It does not matter how many clients wait.
    pub(crate) fn mark(&mut self) -> Before {
        let run_by = match &mut self.run_by {
            RunBy::Forest(_, forest) => RanBy::Forest(forest.mark()),
            RunBy::Room(_, room) => RanBy::Room(room.mark()),
            RunBy::Opening(opening) => RanBy::Opening(opening.clone()),
        };
        Before { definition: self.definition, run_by }
    }

    /// Keeps all changes since the mark.
    pub(crate) fn keep(&mut self) {
        match &mut self.run_by {
            RunBy::Forest(_, forest) => forest.keep(),
            RunBy::Room(_, room) => room.keep(),
            RunBy::Opening(_) => {}
        }
    }

    /// Undoes all changes since the mark. No message changes which algorithm runs.
    pub(crate) fn undo(&mut self, before: Before) {
        self.definition = before.definition;
        match (&mut self.run_by, before.run_by) {
            (RunBy::Forest(_, forest), RanBy::Forest(before)) => forest.undo(before),
            (RunBy::Room(_, room), RanBy::Room(before)) => room.undo(before),
            (RunBy::Opening(opening), RanBy::Opening(before)) => *opening = before,
            _ => panic!("a message changed the algorithm of a resource"),
        }
    }
}
