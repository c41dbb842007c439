//! The number of slots of a resource, and how it changes.

use algorithms::forest::{RemoteToken, Size};

use super::{Position, Resource, ResourceMessage, RunBy, Setup, Workspace, site};
use crate::name::Definition;
use crate::opening::Report;
use crate::view::MemberIndex;

impl Resource {
    /// What its name is defined as has changed.
    pub(crate) fn is_defined_as(&mut self, definition: Option<Definition>) {
        self.defined = definition;
        self.expect_slots();
    }

    /// As long as it is opening: how many slots it will have. What is defined counts, or else how many there were.
    pub(super) fn expect_slots(&mut self) {
        let RunBy::Opening(opening) = &self.run_by else { return };
        let Some(before) = opening.slots() else { return };
        self.definition = Definition::Slots(self.defined.and_then(Definition::slots).unwrap_or(before));
    }

    /// A node that takes this for something is about to say something. Returns how many slots there are, if that is
    /// news.
    pub(crate) fn hears(&mut self, taken_for: Definition, message: &ResourceMessage) -> Option<u32> {
        match &mut self.run_by {
            RunBy::Opening(opening) => {
                taken_for.slots().into_iter().for_each(|slots| opening.is_taken_for(slots));
                None
            }
            RunBy::Forest(_, forest) => {
                let Size { stamp, tokens } = forest.size();
                let news = message.size().filter(|size| size.stamp > stamp && size.tokens != tokens)?;
                Some(news.tokens)
            }
            RunBy::Room(..) => None,
        }
    }

    /// At the home: what to say to a node that takes it for something with another number of slots.
    pub(crate) fn correction(&self) -> Option<ResourceMessage> {
        match &self.run_by {
            RunBy::Forest(_, forest) => Some(ResourceMessage::Slots(forest.how_many())),
            RunBy::Room(..) | RunBy::Opening(_) => None,
        }
    }

    /// At the home: changes the number of slots.
    pub(crate) fn resize(&mut self, slots: u32, Setup { position, origin, .. }: Setup, work: &mut Workspace) {
        let RunBy::Forest(rules, forest) = &mut self.run_by else { return };
        let mut out = work.outbox();
        forest.resize(&site(position, self.definition, rules), origin, slots, &mut out);
        self.definition = Definition::Slots(slots);
        work.take_from_forest();
    }

    /// At the home: a node has slots that are not used any more; those that are were known before.
    pub(super) fn reported_late(
        &mut self,
        position: Position,
        from: MemberIndex,
        report: Report,
        work: &mut Workspace,
    ) {
        let (RunBy::Forest(rules, forest), Report::Slots(slots, _)) = (&mut self.run_by, report) else {
            return work.never("a mutex is reported as a room");
        };
        let late = slots.into_iter().map(|(token, version)| RemoteToken { token, holder: from.0, version });
        let late: Vec<RemoteToken> = late.collect();
        let mut out = work.outbox();
        forest.reported_late(&site(position, self.definition, rules), &late, &mut out);
        work.take_from_forest();
    }
}
