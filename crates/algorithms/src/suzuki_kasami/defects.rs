//! Mutants of the form with `next=ring`: each takes away one thing that the algorithm rests on.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

/// The option of Ricart and Agrawala's token algorithm.
pub(super) const RING: &[(&str, &str)] = &[("next", "ring")];

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        IdleDoesNotCompare => DefectInfo {
            name: "idle-does-not-compare",
            source: "mutant",
            printed: "an idle holder sends the token to every node whose request arrives",
            right: "only if the token has not served that request: it may have been served elsewhere",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 1, 1).with(RING),
        },
        ServedNotRecorded => DefectInfo {
            name: "served-not-recorded",
            source: "mutant",
            printed: "a node that leaves does not record its request in the token",
            right: "served[me] := asked[me] on exit: otherwise the token comes again for the same request",
            shows: Shows::Search(Property::NoEntryWithoutRequest),
            scope: Scope::new(2, 1, 1).with(RING),
        },
        EqualNumbersWait => DefectInfo {
            name: "equal-numbers-wait",
            source: "mutant",
            printed: "a node waits if asked[j] >= served[j]",
            right: "if asked[j] > served[j]: equal numbers say that its last request was served",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(2, 1, 1).with(RING),
        },
        OlderNumberTaken => DefectInfo {
            name: "older-number-taken",
            source: "mutant (right if messages cannot overtake each other)",
            printed: "asked[j] := the number that arrives",
            right: "the larger one: an old request that was overtaken hides the newer one",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2).with(RING),
        },
    }
}
