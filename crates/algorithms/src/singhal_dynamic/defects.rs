//! Mutants: each takes away one thing that the algorithm rests on.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        IdleKeepsSet => DefectInfo {
            name: "idle-keeps-set",
            source: "mutant",
            printed: "an idle node replies and does not put the other node into its request set",
            right: "it asks the other node from then on: that node no longer asks it",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 1),
        },
        ExitKeepsSet => DefectInfo {
            name: "exit-keeps-set",
            source: "mutant",
            printed: "a node that leaves replies and does not put those nodes into its request set",
            right: "it asks them from then on: they no longer ask it",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 2),
        },
        ClockNotRaised => DefectInfo {
            name: "clock-not-raised",
            source: "mutant",
            printed: "the time of a request is the number of this node's requests",
            right: "one more than the latest time that the node has seen",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 1),
        },
        NotAskedAgain => DefectInfo {
            name: "not-asked-again",
            source: "mutant",
            printed: "a waiting node that replies puts the other node into its set and does not ask it",
            right: "it sends its request after the reply: it had not asked that node this time",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2),
        },
        NoStaircase => DefectInfo {
            name: "no-staircase",
            source: "mutant",
            printed: "all request sets are empty at the start",
            right: "of two nodes one has to ask the other from the start: each asks the nodes below it",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 1),
        },
    }
}
