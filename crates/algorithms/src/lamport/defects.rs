//! Mutants: each takes away one thing that the algorithm rests on.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        RepliesNotAwaited => DefectInfo {
            name: "replies-not-awaited",
            source: "mutant",
            printed: "a node enters as soon as its own request is the oldest in its own queue",
            right: "it also waits for a reply of every other node: an older request may still be under way",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 1),
        },
        ClockNotAdvanced => DefectInfo {
            name: "clock-not-advanced",
            source: "mutant",
            printed: "a node numbers its requests by itself and ignores the times it receives",
            right: "its clock moves to the latest time seen, so that what it asks after a reply is younger",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 1),
        },
        OutOfOrder => DefectInfo {
            name: "out-of-order",
            source: "Lamport 1978 (an assumption)",
            printed: "channels are FIFO",
            right: "they must be: a reply that overtakes an older request of its sender hides that request",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 1).reordered(),
        },
    }
}
