//! Mutants: each takes away one thing that the algorithm rests on.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        NewsNotCompared => DefectInfo {
            name: "news-not-compared",
            source: "mutant",
            printed: "a node believes every NEW",
            right: "only one with a higher epoch than it knows: the token may have overtaken the news",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 2).firings(1, 2),
        },
        LateDropped => DefectInfo {
            name: "late-dropped",
            source: "mutant",
            printed: "a node that is no longer the collector drops a request",
            right: "it forwards the request to the newest collector that it knows",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 1).firings(1, 2),
        },
        EarlyForwarded => DefectInfo {
            name: "early-forwarded",
            source: "mutant",
            printed: "a request that follows a newer collector than its receiver knows is forwarded",
            right: "it waits for the news: it would go back and forth between two nodes until then",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 1, 1).firings(1, 2),
        },
        HeadAnnounced => DefectInfo {
            name: "head-announced",
            source: "mutant",
            printed: "the first node of the queue is the next collector",
            right: "the last: the token stays there",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2).firings(1, 2),
        },
        SentWhileInside => DefectInfo {
            name: "sent-while-inside",
            source: "mutant",
            printed: "a collector that has the token sends it to the collected requests",
            right: "only while its own client is not inside",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 1).firings(1, 2),
        },
    }
}
