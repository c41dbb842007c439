//! The errors of 000: of its pseudo-code (appendix A) and of its prose (section III B).

use crate::defects;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

const MOVES: &[(&str, &str)] = &[("grc", "moves"), ("move-after", "1")];

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        DanglingElse => DefectInfo {
            name: "dangling-else",
            source: "000 app. A, Init",
            printed: "the ELSE belongs to the inner IF: collectors become normal nodes, and normal nodes nothing",
            right: "a node that is not a collector is a normal node",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 1),
        },
        OwnGroupDropped => DefectInfo {
            name: "own-group-dropped",
            source: "000 app. A, Recieve_request",
            printed: "the global collector queues a request only if it comes from a collector (an ELSE is missing)",
            right: "a request from a node of its own group goes into the local queue",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(2, 1, 1),
        },
        QueuesItself => DefectInfo {
            name: "queues-itself",
            source: "000 app. A, Recieve_request",
            printed: "for a group request the global collector queues itself globally and the sender locally",
            right: "it queues the sender's group globally, and nothing locally",
            shows: Shows::Search(Property::NoEntryWithoutRequest),
            scope: Scope::new(4, 1, 1),
        },
        ForwardsTwice => DefectInfo {
            name: "forwards-twice",
            source: "000 app. A, Recieve_Token",
            printed: "a normal node passes its token on, then runs into the last ELSE and sends it again",
            right: "once",
            shows: Shows::Search(Property::TokensConserved),
            scope: Scope::new(2, 1, 1),
        },
        FastPathQueues => DefectInfo {
            name: "fast-path-queues",
            source: "000 app. A, Request_CS",
            printed: "a collector with a token enters at once and leaves its own id in the local queue",
            right: "it does not queue itself, or the next token is sent to it as well",
            shows: Shows::Search(Property::NoDoubleEntry),
            scope: Scope::new(2, 2, 1),
        },
        SharesFromK => DefectInfo {
            name: "shares-from-k",
            source: "000 sec. III B, cases 1 to 3",
            printed: "shares are computed from k, the number of all tokens",
            right: "from the number of tokens that are here",
            shows: Shows::Search(Property::AtMostKInside),
            scope: Scope::new(2, 1, 1),
        },
        GrantCountsOne => DefectInfo {
            name: "grant-counts-one",
            source: "000 app. A, Recieve_Token",
            printed: "numOfTokens grows by one whenever tokens come, however many they are",
            right: "by the number in the message",
            shows: Shows::Search(Property::TokensConserved),
            scope: Scope::new(3, 3, 1),
        },
        OwnGroupFirst => DefectInfo {
            name: "own-group-first",
            source: "000 sec. III B, case 3A",
            printed: "k − 1 tokens go to other groups and one stays in the own group: with one token, none goes",
            right: "groups are served in the order of their requests; the own group is one of them",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(3, 1, 1),
        },
        AnnouncesOnly => DefectInfo {
            name: "announces-only",
            source: "000 app. A, Broadcast_New_GRC",
            printed: "a new global collector is announced, and it is handed neither the free tokens nor the groups that wait",
            right: "OVER hands over both",
            shows: Shows::Search(Property::TokensConserved),
            scope: Scope::new(4, 3, 1).with(&[("grc", "moves"), ("move-after", "1"), ("share", "cap")]),
        },
        OverWithoutQueue => DefectInfo {
            name: "over-without-queue",
            source: "mutant of grc=moves",
            printed: "OVER hands over the free tokens and not the groups that wait",
            right: "it hands over both",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(4, 1, 2).with(MOVES),
        },
        LateRequestDropped => DefectInfo {
            name: "late-request-dropped",
            source: "mutant of grc=moves",
            printed: "a collector that is not the global one any more drops a group request",
            right: "it forwards it to the global one that it knows of",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(4, 1, 2).with(MOVES),
        },
        LateReturnDropped => DefectInfo {
            name: "late-return-dropped",
            source: "mutant of grc=moves",
            printed: "a collector that is not the global one any more drops tokens that return",
            right: "it forwards them to the global one that it knows of",
            shows: Shows::Search(Property::TokensConserved),
            scope: Scope::new(4, 1, 1).with(MOVES),
        },
        EarlyForwarded => DefectInfo {
            name: "early-forwarded",
            source: "mutant of grc=moves",
            printed: "a message of a newer epoch is forwarded like one of an older epoch",
            right: "it is kept until OVER comes: forwarded, it goes to and fro between two collectors",
            shows: Shows::Search(Property::NothingImpossible),
            scope: Scope::new(4, 1, 1).with(MOVES),
        },
    }
}
