//! Mutants: each takes away one thing that the algorithm rests on.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        TiesGiveWay => DefectInfo {
            name: "ties-give-way",
            source: "mutant",
            printed: "a reply is deferred only if the own request has the smaller time; equal times reply",
            right: "equal times are decided by the node number, so that exactly one of the two gives way",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 1),
        },
        TiesHoldOn => DefectInfo {
            name: "ties-hold-on",
            source: "mutant",
            printed: "a reply is deferred if the own request has a smaller or equal time",
            right: "equal times are decided by the node number, so that exactly one of the two gives way",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 1),
        },
        TimeNotFromHighest => DefectInfo {
            name: "time-not-from-highest",
            source: "mutant",
            printed: "a node numbers its requests by itself and ignores the times it receives",
            right: "a request is numbered one above the highest time seen",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 1),
        },
    }
}
