//! A resource from one view to the next.

use algorithms::forest::Forest;
use algorithms::rooms::Room;

use super::{Policy, Resource, ResourceMessage, RunBy, Setup, Workspace, site};
use crate::opening::{Kept, Opened, Opening, ReportedBy, Reports};
use crate::view::MemberIndex;

impl Resource {
    /// The resource is in this view from now on, with its home at this index.
    pub(crate) fn enter(&mut self, epoch: u64, home: MemberIndex) {
        (self.epoch, self.home) = (epoch, home);
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
    pub(crate) fn resume(&mut self, kept: Kept, setup: Setup, work: &mut Workspace) {
        self.run(kept, None, setup, work);
    }

    /// At the home: opens, and returns what was parked meanwhile.
    pub(crate) fn open(
        &mut self,
        reported_by: ReportedBy,
        setup: Setup,
        work: &mut Workspace,
    ) -> Vec<(MemberIndex, ResourceMessage)> {
        let blank = RunBy::Opening(Box::new(Opening::new(Kept::nothing(self.definition))));
        let RunBy::Opening(opening) = std::mem::replace(&mut self.run_by, blank) else { return Vec::new() };
        let Opened { kept, reported, parked, differs } = opening.open(reported_by, self.definition, setup);
        self.run(kept, Some(reported), setup, work);
        if let RunBy::Forest(rules, forest) = &self.run_by
            && differs
        {
            let site = site(setup.position, self.definition, rules);
            forest.announce(&site, &mut work.outbox());
            work.take_from_forest();
        }
        parked
    }

    /// Runs the algorithm from what was kept.
    fn run(
        &mut self,
        kept: Kept,
        reported: Option<Reports>,
        Setup { position, policy, origin }: Setup,
        work: &mut Workspace,
    ) {
        self.run_by = match kept {
            Kept::Slots(kept) => {
                let rules = policy.of_forest(self.home);
                let elsewhere = reported.map_or(Vec::new(), |reported| reported.elsewhere);
                let mut out = work.outbox();
                let site = site(position, self.definition, &rules);
                let forest = Forest::resume(&site, origin, kept, &elsewhere, &mut out);
                work.take_from_forest();
                RunBy::Forest(rules, forest)
            }
            Kept::Room(kept) => {
                let rules = Policy { floor: origin.floor, ..policy }.of_room(self.home);
                let site = site(position, self.definition, &rules);
                let reported = reported.map(|reported| reported.room);
                let room = Room::resume(&site, kept, reported, work.room());
                work.take_from_room();
                RunBy::Room(rules, Box::new(room))
            }
        };
    }
}
