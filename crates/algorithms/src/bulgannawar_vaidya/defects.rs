//! The errors of the thesis (001) and the paper (003), and mutants.

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        HoldingNotSet => DefectInfo {
            name: "holding-not-set",
            source: "001 ch. IV, Entry_CS",
            printed: "a node that has a token enters without setting 'holding'",
            right: "set 'holding' whenever the client enters",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 1),
        },
        HoldingNotCleared => DefectInfo {
            name: "holding-not-cleared",
            source: "001 ch. IV, Exit_CS",
            printed: "'holding' is never cleared, and Entry_CS waits until it is true",
            right: "clear 'holding' on exit; only a token lets a waiting client in",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 2),
        },
        IdleGrantNotQueued => DefectInfo {
            name: "idle-grant-not-queued",
            source: "001 ch. IV, Handle_REQUEST",
            printed: "an idle holder sends the token without putting the requester on its queue",
            right: "the receiver is always the head of the queue: its tag is needed there",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 2, 1),
        },
        ForwardKeepsPointer => DefectInfo {
            name: "forward-keeps-pointer",
            source: "001 ch. IV, Handle_REQUEST",
            printed: "a node that forwards a request leaves its pointer as it is",
            right: "the pointer is set to the requester (path reversal), as the prose and 003 say",
            shows: Shows::Dearer(135),
            scope: Scope::new(30, 3, 10),
        },
        IdleGrantPointsAsked => DefectInfo {
            name: "idle-grant-points-asked",
            source: "001 and 003, prose of Handle_REQUEST",
            printed: "an idle holder of token p that serves a request for t sets pointer[t] to the requester",
            right: "it sets pointer[p], as the code says: it is p that leaves",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 2, 2),
        },
        TokenPointsGot => DefectInfo {
            name: "token-points-got",
            source: "003 sec. 3, prose of Handle_TOKEN",
            printed: "a node that gets token t instead of the one it asked for sets pointer[t] to its tag",
            right: "it sets the pointer of the token that it asked for, and pointer[t] to itself",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 2, 3),
        },
        InformAlways => DefectInfo {
            name: "inform-always",
            source: "003 sec. 3, Handle_INFORM",
            printed: "INFORM(y, t) sets pointer[t] to y whatever the receiver knows",
            right: "only if the message is newer, by Lamport's clock, than what the receiver knows about t",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2).with(&[("inform", "1")]).fifo(),
        },
        InformUnlessWaiting => DefectInfo {
            name: "inform-unless-waiting",
            source: "001 ch. IV, Handle_INFORM",
            printed: "INFORM(y, t) sets pointer[t] to y unless the receiver waits for t",
            right: "only if the message is newer, by Lamport's clock, than what the receiver knows about t",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2).with(&[("inform", "1")]).fifo(),
        },
        InformByVersion => DefectInfo {
            name: "inform-by-version",
            source: "mutant",
            printed: "INFORM is guarded by how often the token has moved",
            right: "by Lamport's clock: a node whose request was turned aside never learns that version",
            shows: Shows::Random(Property::NothingImpossible, 17070),
            scope: Scope::new(5, 2, 20).with(&[("inform", "4")]),
        },
        OutOfOrder => DefectInfo {
            name: "out-of-order",
            source: "001 ch. IV sec. A, 003 sec. 2 (an assumption)",
            printed: "channels are FIFO",
            right: "for k = 1 any order will do; for k of 2 or more FIFO is needed: a request overtaken by a \
                    token comes back to its sender",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 2, 2).reordered(),
        },
        NullTagsForModified => DefectInfo {
            name: "null-tags-for-modified",
            source: "mutant",
            printed: "the node queue of a request that was turned aside is appended without tags",
            right: "with the tag of that request",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(4, 2, 2),
        },
        OverflowSentOn => DefectInfo {
            name: "overflow-sent-on",
            source: "mutant",
            printed: "a token with more than its fair share of requests sends the others on to another token at once",
            right: "only the choice of the next token may depend on the queue: who waits for one token must not \
                    be served by another without a tag",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(4, 2, 2).with(&[("choose", "fair-share"), ("first", "same")]),
        },
        ExitPointsToLast => DefectInfo {
            name: "exit-points-to-last",
            source: "mutant",
            printed: "on exit the pointer is set to the last node of the queue, whatever its tag",
            right: "to the last one without a tag, else to the head",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(4, 2, 2),
        },
    }
}
