//! Misreadings of the thesis' description (001 ch. III).

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        RepliesPerAttempt => DefectInfo {
            name: "replies-per-attempt",
            source: "001 ch. III, a misreading: a node waits for n−k reply messages",
            printed: "each attempt counts its replies anew, so that a late one for the attempt before counts too",
            right: "for each node the replies that it owes are counted over all requests",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(3, 2, 2),
        },
        OwnNumbersOnly => DefectInfo {
            name: "own-numbers-only",
            source: "001 ch. III, a misreading: the text does not say where sequence numbers come from",
            printed: "a node numbers its requests by itself",
            right: "the next number is one more than the highest seen in any request",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 1),
        },
    }
}
