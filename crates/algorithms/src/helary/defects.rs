//! Mutants: each takes away one thing that the scheme rests on.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        FatherKept => DefectInfo {
            name: "father-kept",
            source: "mutant",
            printed: "a node that passes a request on, or gives the token, keeps its father",
            right: "the requester is its father: that is where the token goes",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 1),
        },
        LenderNotAsking => DefectInfo {
            name: "lender-not-asking",
            source: "mutant",
            printed: "a proxy goes on to serve requests",
            right: "requests wait until it has got the token or got it back",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(2, 1, 1).with(&[("behaviour", "proxy")]),
        },
        LoanKeepsFather => DefectInfo {
            name: "loan-keeps-father",
            source: "mutant",
            printed: "a node that gets the token as a loan keeps its father",
            right: "the sender of the loan is its father: the old one may be a child now",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2).with(&[("behaviour", "any")]),
        },
        AskingKept => DefectInfo {
            name: "asking-kept",
            source: "mutant",
            printed: "a proxy that passes a loan on still counts as asking",
            right: "the token goes back to the lender, not to the proxy: it is free to serve the next request",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2).with(&[("behaviour", "any")]),
        },
    }
}
