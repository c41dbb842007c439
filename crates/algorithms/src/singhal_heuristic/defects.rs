//! The usual form without HINT, and mutants: each takes away one thing that the algorithm rests on.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        NoHint => DefectInfo {
            name: "no-hint",
            source: "textbook form of Singhal 1989",
            printed: "a request that is not new is ignored; there is no HINT",
            right: "its sender may know no node that gets the token: a node without the token takes it for requesting, \
                    and asks it back if it waits itself; a node with the token sends HINT",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2).fifo(),
        },
        NotAskedBack => DefectInfo {
            name: "not-asked-back",
            source: "mutant",
            printed: "a waiting node that learns of a requesting node does not send its own request there",
            right: "it does: the token may come to the other node first",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2),
        },
        StartKnowsZeroAlone => DefectInfo {
            name: "start-knows-zero-alone",
            source: "mutant",
            printed: "at the start each node takes only node 0 for requesting",
            right: "each takes all nodes below it for requesting, so that of two nodes one asks the other",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2),
        },
        OldIsNew => DefectInfo {
            name: "old-is-new",
            source: "mutant",
            printed: "every request is treated as new",
            right: "only one with a higher number than the node and its token know",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 1, 1),
        },
        EqualNumbersNew => DefectInfo {
            name: "equal-numbers-new",
            source: "mutant",
            printed: "on exit the node's entry goes into the token also if both have the same number",
            right: "only if the node's number is higher: with equal numbers the token knows what was served",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(2, 1, 1),
        },
        NumberNotRecorded => DefectInfo {
            name: "number-not-recorded",
            source: "mutant",
            printed: "neither a holder that sends the token nor a node that leaves records the served number in it",
            right: "each of them does, and one would be enough: without it a served request looks new",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(2, 1, 1),
        },
        HintNotAnswered => DefectInfo {
            name: "hint-not-answered",
            source: "mutant",
            printed: "a node with the token ignores HINT",
            right: "it sends HINT back: the sender waits again and does not know it",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2),
        },
        OldIgnored => DefectInfo {
            name: "old-ignored",
            source: "mutant",
            printed: "a node without the token ignores requests that are not new",
            right: "it takes the sender for requesting, and asks back if it waits itself",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2),
        },
        TokenNotLookedAt => DefectInfo {
            name: "token-not-looked-at",
            source: "mutant",
            printed: "a node with the token compares a request with its own numbers only",
            right: "with the token's numbers too: they may be newer",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2),
        },
    }
}
