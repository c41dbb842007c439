//! The errors of the thesis' appendix A (001).

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        NumberNotRaised => DefectInfo {
            name: "number-not-raised",
            source: "001 app. A, P1",
            printed: "RN[I] is sent with a request and never incremented",
            right: "RN[I] is incremented before each broadcast",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 1),
        },
        LoopShadowsRequester => DefectInfo {
            name: "loop-shadows-requester",
            source: "001 app. A, P2",
            printed: "the loop that updates LN uses the name j of the requester, so that the privilege goes to the \
                      last node",
            right: "another name for the loop's variable",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 2, 1),
        },
        OnlyTheNextNumber => DefectInfo {
            name: "only-the-next-number",
            source: "001 app. A, P2",
            printed: "a free privilege is sent only if RN[j] = LN[j] + 1",
            right: "if RN[j] > max(LN[j], PLN[j]): LN of a privilege that stayed behind may be older",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 2, 2).fifo(),
        },
        RecordGoesBack => DefectInfo {
            name: "record-goes-back",
            source: "001 app. A, P6",
            printed: "LN[j] is set to PLN[j] also where LN[j] > RN[j], so that a privilege forgets whom it served and \
                      comes twice for one request",
            right: "the larger of the two: a privilege may know of a request before the request itself arrives",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 1, 1).fifo(),
        },
        BranchWithoutBlock => DefectInfo {
            name: "branch-without-block",
            source: "001 app. A, P4",
            printed: "no begin and end around what is done if Q is not empty: the privilege is sent and also counted",
            right: "it is counted only if it is not sent",
            shows: Shows::Search(Property::TokensConserved),
            scope: Scope::new(3, 2, 1),
        },
    }
}
