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
            scope: Scope::new(2, 1, 1),
        },
        NeverInquires => DefectInfo {
            name: "never-inquires",
            source: "mutant",
            printed: "a member that is locked for a younger request lets the older one wait",
            right: "it asks its lock back with INQUIRE",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 1),
        },
        DisplacedNotTold => DefectInfo {
            name: "displaced-not-told",
            source: "mutant (a common reading of the rule)",
            printed: "FAILED goes only to a request that is not the first when it arrives",
            right: "also to the one that was the first until an older one arrived",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(4, 1, 1),
        },
        StaleInquireAnswered => DefectInfo {
            name: "stale-inquire-answered",
            source: "mutant",
            printed: "a node that has failed answers every INQUIRE with RELINQUISH",
            right: "only one about the request that it has now, and only while it has that lock",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 1, 2).fifo(),
        },
        StaleFailedBelieved => DefectInfo {
            name: "stale-failed-believed",
            source: "mutant",
            printed: "a FAILED counts whenever it arrives",
            right: "not if LOCKED has overtaken it, and not for a later request",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 1),
        },
    }
}
