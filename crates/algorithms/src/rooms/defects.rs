//! Rules that look right and are wrong.

use crate::defects;
use crate::info::{Allowance, DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        CompleteUnnumbered => DefectInfo {
            name: "complete-unnumbered",
            source: "mutant",
            printed: "COMPLETE does not say which request it completes",
            right: "it carries the number of the last request that was granted: a follower that was admitted again \
                    meanwhile has not completed",
            shows: Shows::Search(Property::OneGroupAtATime),
            scope: Scope::new(2, 1, 2).groups(2).with_allowance(Allowance { clients: 2, ..Allowance::new(2) }),
        },
        FollowersNotAwaited => DefectInfo {
            name: "followers-not-awaited",
            source: "mutant",
            printed: "a captain whose own clients have left goes on to the next opening",
            right: "it waits until all followers have completed",
            shows: Shows::Search(Property::OneGroupAtATime),
            scope: Scope::new(2, 1, 2).groups(2),
        },
        StartKeepsPointer => DefectInfo {
            name: "start-keeps-pointer",
            source: "mutant",
            printed: "a node that gets a START leaves its pointer as it is",
            right: "it points to its captain from then on",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 1),
        },
        ParkedKept => DefectInfo {
            name: "parked-kept",
            source: "mutant",
            printed: "a node that gets a START keeps the requests that were parked there",
            right: "it sends them to its captain: the token that would take them along may never come here",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 1),
        },
        UnwantedStartIgnored => DefectInfo {
            name: "unwanted-start-ignored",
            source: "mutant",
            printed: "a START that no client wants any more is ignored",
            right: "it is answered by COMPLETE: the captain counts on it",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 2).groups(2).clients(1),
        },
        CancelWithdraws => DefectInfo {
            name: "cancel-withdraws",
            source: "mutant",
            printed: "when the last waiting client gives up, its node no longer waits",
            right: "its request is out all the same, and the node waits for the answer",
            shows: Shows::Search(Property::OnePlacePerRequest),
            scope: Scope::new(2, 1, 1).clients(1),
        },
        WaitingForwards => DefectInfo {
            name: "waiting-forwards",
            source: "mutant",
            printed: "a node that waits itself forwards requests like any other",
            right: "it parks them until it has the token or a captain",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 1, 1),
        },
        InformUnguarded => DefectInfo {
            name: "inform-unguarded",
            source: "mutant",
            printed: "a node without use for the room points home whenever an INFORM says so",
            right: "only if the token has not let it in since: the counter tells",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 1, 2).with(&[("forget", "yes")]).firings(1, 0),
        },
        FloorForgotten => DefectInfo {
            name: "floor-forgotten",
            source: "mutant",
            printed: "the home drops an idle room and begins again with fence 0",
            right: "it keeps the counter of the token as a floor",
            shows: Shows::Random(Property::FencesRise, 1),
            scope: Scope::new(2, 1, 2).with(&[("forget", "yes")]).firings(1, 2),
        },
        OutOfOrder => DefectInfo {
            name: "out-of-order",
            source: "mutant",
            printed: "messages between two nodes may overtake each other",
            right: "they must not: a node that forgets begins to number its requests again, and a completion that comes \
                    late would count for the next one",
            shows: Shows::Search(Property::OneGroupAtATime),
            scope: Scope::new(2, 1, 2).groups(2).with(&[("forget", "yes")]).firings(1, 0).reordered(),
        },
    }
}

impl Defect {
    pub(super) fn is_about_forgetting(self) -> bool {
        matches!(self, Defect::InformUnguarded | Defect::FloorForgotten | Defect::OutOfOrder)
    }
}
