//! The usual presentation, which deadlocks in two ways, and mutants.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        UsualForm => DefectInfo {
            name: "usual-form",
            source: "textbook form of Lodha and Kshemkalyani 2000",
            printed: "a REQUEST names only itself, and every concurrent request goes into the queue",
            right: "it also names the sender's last satisfied request, and one that is satisfied already is not queued",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2),
        },
        SatisfiedQueued => DefectInfo {
            name: "satisfied-queued",
            source: "textbook form of Lodha and Kshemkalyani 2000, half: a REQUEST names the last satisfied one",
            printed: "every concurrent request goes into the queue",
            right: "not one that is satisfied already: the FLUSH or REPLY that would remove it has come before it",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2),
        },
        LastNotTold => DefectInfo {
            name: "last-not-told",
            source: "textbook form of Lodha and Kshemkalyani 2000, half: a satisfied request is not queued",
            printed: "a REQUEST names only itself",
            right: "it also names the sender's last satisfied request: a node that asks again at once sends no REPLY",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2),
        },
        FlushCountsAsReply => DefectInfo {
            name: "flush-counts-as-reply",
            source: "mutant",
            printed: "a FLUSH counts as the sender's reply",
            right: "it only says what is satisfied: a late one would count as the reply to the next request",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(3, 1, 2),
        },
        DeferredAnsweredAtOnce => DefectInfo {
            name: "deferred-answered-at-once",
            source: "mutant",
            printed: "a second request of the same node is answered at once",
            right: "it gets its reply when this node leaves",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(3, 1, 2),
        },
        TimeNotFromHighest => DefectInfo {
            name: "time-not-from-highest",
            source: "mutant",
            printed: "a node counts only its own requests",
            right: "its time is later than that of every request it has seen",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2),
        },
        NoFlush => DefectInfo {
            name: "no-flush",
            source: "mutant",
            printed: "a node that leaves replies to the deferred requests only",
            right: "the next node of the queue gets a FLUSH",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 1),
        },
        OutOfOrder => DefectInfo {
            name: "out-of-order",
            source: "Lodha and Kshemkalyani 2000 (an assumption)",
            printed: "channels are FIFO",
            right: "they must be: a REQUEST that overtakes a REPLY of its sender counts as the answer",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 2).reordered(),
        },
        DropsOneOnly => DefectInfo {
            name: "drops-one-only",
            source: "mutant",
            printed: "what is told to be satisfied is removed from the queue",
            right: "and all before it: entries are in the order of priorities",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2),
        },
    }
}
