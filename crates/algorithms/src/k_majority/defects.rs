//! Mutants: each takes away one thing that the algorithm rests on.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        NeverFailed => DefectInfo {
            name: "never-failed",
            source: "mutant",
            printed: "a request that has to wait is told nothing",
            right: "FAILED tells it, so that it gives back the locks that an older request needs",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(4, 2, 1).with(&[("pick", "window")]),
        },
        NeverInquires => DefectInfo {
            name: "never-inquires",
            source: "mutant",
            printed: "a member that is locked for a younger request lets the older one wait",
            right: "it asks its lock back with INQUIRE",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(4, 2, 1).with(&[("pick", "window")]),
        },
        DoneForgotten => DefectInfo {
            name: "done-forgotten",
            source: "mutant",
            printed: "a member forgets a RELEASE that overtakes its REQUEST",
            right: "it keeps the time of each node's latest RELEASE and drops a REQUEST that is not later: otherwise it \
                    locks itself for ever",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 2, 2),
        },
    }
}
