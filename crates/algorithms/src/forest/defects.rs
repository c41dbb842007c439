//! Simplifications that look right and are wrong.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        CancelClearsWait => DefectInfo {
            name: "cancel-clears-wait",
            source: "mutant",
            printed: "when its last client gives up, a node forgets that it asked",
            right: "the request is out and will be answered; the node passes the token on",
            shows: Shows::Search(Property::OnePlacePerRequest),
            scope: Scope::new(2, 1, 1).clients(1),
        },
        RejoinWhileWaiting => DefectInfo {
            name: "rejoin-while-waiting",
            source: "mutant",
            printed: "a node with clients that sends a token on joins its queue, even if it has asked for another",
            right: "only if it has no request out",
            shows: Shows::Search(Property::OnePlacePerRequest),
            scope: Scope::new(3, 2, 2).clients(2).with(&[("passes", "0"), ("ask", "at-once")]),
        },
        UnwantedKeepsPointer => DefectInfo {
            name: "unwanted-keeps-pointer",
            source: "mutant",
            printed: "a node that no longer wants the token that comes does not mend its pointer",
            right: "the way to the token that it asked for leads over the node that turned its request aside",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(2, 2, 2).clients(2).with(&[("ask", "at-once")]),
        },
        BorrowedUntagged => DefectInfo {
            name: "borrowed-untagged",
            source: "mutant",
            printed: "a token that becomes idle serves the queue of another one here as if it were its own",
            right: "the entry says what was asked for, and who turned it aside",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(2, 2, 2).clients(2).with(&[("ask", "at-once")]),
        },
        IdlePushedHome => DefectInfo {
            name: "idle-pushed-home",
            source: "mutant",
            printed: "an idle token is sent home",
            right: "a token moves only as the answer to a request: the home asks for it",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 2).with(&[("forget", "yes")]).firings(1, 1),
        },
        MovedAsRequest => DefectInfo {
            name: "moved-as-request",
            source: "mutant",
            printed: "a request that moves to an idle token becomes a request for that token",
            right: "it keeps what it asked for and who turned it aside",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 2, 2).firings(1, 1),
        },
        MoveReversesPath => DefectInfo {
            name: "move-reverses-path",
            source: "mutant",
            printed: "a node that moves a request to an idle token points to the requester for that token",
            right: "its pointer stays: the request does not travel in that token's forest",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 2, 2).clients(2).firings(1, 0),
        },
        FailedMoveForwarded => DefectInfo {
            name: "failed-move-forwarded",
            source: "mutant",
            printed: "a request that moved and found no token goes on by the pointer of the node where it is",
            right: "it goes back to the node that turned it aside",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 2, 2).firings(2, 4),
        },
        VoidIgnored => DefectInfo {
            name: "void-ignored",
            source: "mutant",
            printed: "a node to which its own request moves ignores it",
            right: "it has no request out any more, and what was parked there is asked anew",
            shows: Shows::Search(Property::OnePlacePerRequest),
            scope: Scope::new(2, 2, 2).clients(2).firings(1, 2),
        },
        ExitPointsToLast => DefectInfo {
            name: "exit-points-to-last",
            source: "mutant",
            printed: "a node that sends a token on points to the last node of the queue, whatever its tag",
            right: "to the last one without a tag, else to the head",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(4, 2, 2).with(&[("balance", "no")]),
        },
        OutOfOrder => DefectInfo {
            name: "out-of-order",
            source: "mutant",
            printed: "messages may overtake each other",
            right: "channels are FIFO",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 2, 2).reordered(),
        },
    }
}
