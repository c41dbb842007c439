//! Mutants: each takes away one thing that the algorithm rests on.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        GroupAlone => DefectInfo {
            name: "group-alone",
            source: "mutant",
            printed: "a waiting node defers every request of another group",
            right: "only if its own request is older: two waiting nodes must not both defer",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 1).groups(2),
        },
        TiesHoldOn => DefectInfo {
            name: "ties-hold-on",
            source: "mutant",
            printed: "of two requests with the same time, both nodes hold on to theirs",
            right: "the node number decides",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 1).groups(2),
        },
        TiesGiveWay => DefectInfo {
            name: "ties-give-way",
            source: "mutant",
            printed: "of two requests with the same time, both nodes give way",
            right: "the node number decides",
            shows: Shows::Search(Property::OneGroupAtATime),
            scope: Scope::new(2, 1, 1).groups(2),
        },
        TimeNotFromHighest => DefectInfo {
            name: "time-not-from-highest",
            source: "mutant",
            printed: "the time of a request is the number of this node's requests",
            right: "one more than the latest time that the node has seen",
            shows: Shows::Search(Property::OneGroupAtATime),
            scope: Scope::new(2, 1, 1).groups(2),
        },
    }
}
