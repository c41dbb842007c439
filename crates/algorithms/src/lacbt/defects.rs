//! The errors of 002, and a mutant.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        ParentByCeil => DefectInfo {
            name: "parent-by-ceil",
            source: "002 eq. (1)",
            printed: "the parent of position i is ⌈(i − 1) / 2⌉",
            right: "⌊(i − 1) / 2⌋: equations (2) and (3) give the children of that tree, no other; from nine \
                    nodes on, swaps tell the wrong children and parents form a cycle",
            shows: Shows::Random(Property::EndReachable, 72),
            scope: Scope::new(9, 1, 2),
        },
        OnePathInTable => DefectInfo {
            name: "one-path-in-table",
            source: "002 algorithm 1, step 8",
            printed: "every path is written to M[0], so that only the one to the last position is left",
            right: "one row for each position (here paths are worked out when they are needed)",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 1),
        },
        ReleaseServesNobody => DefectInfo {
            name: "release-serves-nobody",
            source: "002 algorithm 3, CS_Release",
            printed: "only CS_Request takes the next out of the queue; CS_Release ends with the swap",
            right: "after a release the root, the new one if there was a swap, serves the next in the queue",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 1),
        },
        SwapLoopForever => DefectInfo {
            name: "swap-loop-forever",
            source: "002 algorithm 3, steps 42 to 54",
            printed: "after a swap the loop goes on with the same y, which never becomes 0",
            right: "the loop ends with the first swap",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(2, 1, 1),
        },
        SwapIndexUnderflow => DefectInfo {
            name: "swap-index-underflow",
            source: "002 algorithm 3, steps 50 and 56",
            printed: "if everybody waits, the loop ends with y = 0 and step 56 makes it −1",
            right: "if there is nobody to swap with, the next swap begins with the last position",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(2, 1, 1),
        },
        PlacesInRequests => DefectInfo {
            name: "places-in-requests",
            source: "002 algorithm 3, steps 2 and 5",
            printed: "a request carries the position of its sender, not its name",
            right: "its name: a swap that overtakes the request puts another node into that position",
            shows: Shows::Search(Property::NoEntryWithoutRequest),
            scope: Scope::new(2, 1, 1),
        },
        NobodyIsTold => DefectInfo {
            name: "nobody-is-told",
            source: "002 algorithm 3, steps 44 to 47",
            printed: "a swap changes an array that all nodes read as if they shared a memory",
            right: "the children of both positions are told who their parent is now",
            shows: Shows::Search(Property::EndReachable),
            scope: Scope::new(4, 1, 1),
        },
        OldNewsTaken => DefectInfo {
            name: "old-news-taken",
            source: "mutant",
            printed: "a node believes whatever it is told last about its parent",
            right: "only what is newer than what it knows, by the number of the swap",
            shows: Shows::Search(Property::EndReachable),
            scope: Scope::new(4, 1, 1),
        },
    }
}
