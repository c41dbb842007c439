//! Mutants: each takes away one thing that the algorithm rests on.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        NotAskedAgain => DefectInfo {
            name: "not-asked-again",
            source: "mutant",
            printed: "a waiting node that gives a permission away does not ask for it again",
            right: "it sends its request after the reply: it had not asked that node this time",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2),
        },
        PermissionKept => DefectInfo {
            name: "permission-kept",
            source: "mutant",
            printed: "a node that replies keeps the other one's permission",
            right: "of two nodes at most one has the other's permission: replying gives it away",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 2),
        },
        InsideComparesTimes => DefectInfo {
            name: "inside-compares-times",
            source: "mutant (right in ricart-agrawala)",
            printed: "a node that is inside defers a request only if its own is older",
            right: "inside it defers every request: it may have entered unasked with a younger one",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 2),
        },
    }
}
