//! Rules of the form with `release=queue` that can be left out. No text prints that form's rules, so these are
//! mutants.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

const STRAIGHT: &[(&str, &str)] = &[("release", "queue"), ("token", "straight")];

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        RoundWithoutAllRights => DefectInfo {
            name: "round-without-all-rights",
            source: "mutant",
            printed: "the good site begins the next round with the rights that it has",
            right: "it waits for all k: a RELEASE of the old round would let a node enter that is served in the new one",
            shows: Shows::Search(Property::NoDoubleEntry),
            scope: Scope::new(3, 2, 2).with(&[("release", "queue")]).firings(2, 2),
        },
        ReleaseWithoutRound => DefectInfo {
            name: "release-without-round",
            source: "mutant",
            printed: "a RELEASE serves the receiver's request, if it waits",
            right: "only in a round that the receiver has not entered in: the good site may wait for the next one",
            shows: Shows::Search(Property::NoEntryWithoutRequest),
            scope: Scope::new(3, 2, 2).with(&[("release", "queue")]).firings(2, 2),
        },
        HeirTooFar => DefectInfo {
            name: "heir-too-far",
            source: "mutant",
            printed: "RELEASE goes to the node k + 1 places behind",
            right: "to the node k places behind: the first that finds no right in the token",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(4, 1, 1).with(STRAIGHT).firings(2, 2),
        },
    }
}
