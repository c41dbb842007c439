//! The errors of the paper (004).

use crate::defects;
use crate::drs_gme::rules::WATCH_START;
use crate::info::{DefectInfo, Scope, Shows};
use crate::properties::Property;

/// With losses, a regenerated copy of the token is legal, so only its consequences count.
const fn timed(nodes: u32, requests: u32, groups: u32, losses: u32, firings: u32) -> Scope {
    Scope::new(nodes, 1, requests).groups(groups).fifo().losses(losses).firings(firings, 2)
}

const fn crashing(nodes: u32, requests: u32, groups: u32, firings: u32) -> Scope {
    Scope::new(nodes, 1, requests).groups(groups).fifo().crashes(1).firings(firings, 2)
}

const fn any_of(nodes: u32, requests: u32, groups: u32) -> Scope {
    Scope::new(nodes, 1, requests).groups(groups).any_of()
}

defects! {
    /// The defects that can be enabled.
    pub enum Defect {
        SessionOnlyFromIdle => DefectInfo {
            name: "session-only-from-idle",
            source: "004 app. A, events 1, 2 and 6",
            printed: "the session number grows only when an idle holder enters, and a token is valid only if its \
                      number is above the receiver's",
            right: "it grows at every hand-over",
            shows: Shows::Search(Property::TokensConserved),
            scope: Scope::new(2, 1, 1),
        },
        RequestsForgotten => DefectInfo {
            name: "requests-forgotten",
            source: "004 app. A, event 2; sec. V, lemma 3",
            printed: "a node without the token adds the asker to its request set and forgets the request",
            right: "it keeps the newest request of each node and queues it when the token comes",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 1),
        },
        ServedNotRecorded => DefectInfo {
            name: "served-not-recorded",
            source: "004 sec. III, app. A, events 2 and 6",
            printed: "the token does not say which requests were granted, and lets its receiver in, whether it \
                      waits or not",
            right: "the token carries the number of each node's last granted request",
            shows: Shows::Search(Property::NoEntryWithoutRequest),
            scope: Scope::new(3, 1, 1),
        },
        StartUnguarded => DefectInfo {
            name: "start-unguarded",
            source: "004 app. A, event 3",
            printed: "start names neither group nor request and lets its receiver in, whatever it does",
            right: "it names both, and is taken only by a node that waits with this request; others answer complete",
            shows: Shows::Search(Property::OneGroupAtATime),
            scope: timed(2, 2, 2, 1, 1),
        },
        OpeningUnwatched => DefectInfo {
            name: "opening-unwatched",
            source: "004 app. A, events 6 and 8",
            printed: "the start messages of an opening start no timer; gen_token of a follower repeats its start, \
                      but only joins the queue if the captain has left and the queue is not empty",
            right: "the timer for the followers runs for those of the opening, too",
            shows: Shows::Search(Property::EndReachable),
            scope: Scope::new(3, 1, 1).groups(2).fifo().losses(1).firings(1, 0).with(WATCH_START),
        },
        IdleGiverWaits => DefectInfo {
            name: "idle-giver-waits",
            source: "004 app. A, event 2, state HI",
            printed: "an idle holder that sends the token away goes into state R: it answers the next request that \
                      it hears with the number of its last entry, which the token does not know",
            right: "it does not wait: state N",
            shows: Shows::Search(Property::NoEntryWithoutRequest),
            scope: Scope::new(3, 1, 1),
        },
        HandOverToSelfChecked => DefectInfo {
            name: "hand-over-to-self-checked",
            source: "004 app. A, events 5 and 6",
            printed: "a captain whose own request is at the head sends itself the token, which is no newer than \
                      its copy and is deleted",
            right: "a hand-over to oneself is local",
            shows: Shows::Search(Property::TokensConserved),
            scope: Scope::new(2, 1, 2).groups(2),
        },
        OldTokenNotHighest => DefectInfo {
            name: "old-token-not-highest",
            source: "004 sec. V lemma 1, app. A, event 6",
            printed: "a token is valid if it is newer than the one that this node handed over last",
            right: "if it is newer than any that this node has accepted or handed over",
            shows: Shows::Search(Property::NoDoubleEntry),
            scope: timed(2, 1, 1, 1, 1),
        },
        RegenerateStaysIdle => DefectInfo {
            name: "regenerate-stays-idle",
            source: "004 app. A, event 8, state HI",
            printed: "an idle holder answers gen_token with a token without the asker's entry, and stays a holder",
            right: "gen_token at a holder is a request",
            shows: Shows::Search(Property::TokensConserved),
            scope: timed(2, 1, 1, 1, 1),
        },
        RegenerateUnrecorded => DefectInfo {
            name: "regenerate-unrecorded",
            source: "004 app. A, event 8, state HS",
            printed: "a captain that has left counts the follower that it lets in after gen_token, and does not \
                      record it, so its complete is ignored",
            right: "it records every follower",
            shows: Shows::Search(Property::NothingImpossible),
            scope: timed(3, 1, 1, 1, 1),
        },
        RegenerateFromNothing => DefectInfo {
            name: "regenerate-from-nothing",
            source: "004 app. A, event 8, states N and R",
            printed: "a node that never handed a token over makes one from its empty copy, for the head of an \
                      empty queue",
            right: "only a node that has handed the token over sends it again",
            shows: Shows::Search(Property::NothingImpossible),
            scope: timed(2, 1, 1, 1, 1),
        },
        IsCompleteUnnumbered => DefectInfo {
            name: "is-complete-unnumbered",
            source: "004 app. A, events 9 and 10",
            printed: "is_complete names the group alone and admits any node that waits for it",
            right: "it carries the number of the request",
            shows: Shows::Search(Property::OneGroupAtATime),
            scope: timed(2, 2, 2, 1, 1),
        },
        CompleteUnnumbered => DefectInfo {
            name: "complete-unnumbered",
            source: "004 app. A, events 4, 5 and 10",
            printed: "complete names its sender alone, so the second of two answers ends the sender's next stay",
            right: "it carries the number of the request, and followers are recorded with theirs",
            shows: Shows::Search(Property::OneGroupAtATime),
            scope: timed(2, 2, 2, 1, 1).with(WATCH_START),
        },
        SuspectTooEarly => DefectInfo {
            name: "suspect-too-early",
            source: "004 sec. IV",
            printed: "a loss is suspected after n + 1 messages and n - 1 critical sections",
            right: "a session may take two sections and three messages, and n of them may come first: 3n + 4 \
                    messages and 2n sections",
            shows: Shows::Search(Property::TokensConserved),
            scope: Scope::new(3, 1, 1).groups(2).fifo().paced(1, 1),
        },
        TokenNotStored => DefectInfo {
            name: "token-not-stored",
            source: "004 sec. II, app. A (old_token alone is a local variable)",
            printed: "the token and the followers of its holder are lost in a crash",
            right: "they are in stable storage before any start or hand-over",
            shows: Shows::Search(Property::EndReachable),
            scope: crashing(2, 2, 2, 1),
        },
        AnyOfEntryStays => DefectInfo {
            name: "any-of-entry-stays",
            source: "004 sec. VII with app. A, event 6",
            printed: "a follower is deleted from the entry of the group that is opened and stays in its other \
                      entries; the token lets its receiver in, whether it waits or not",
            right: "a grant removes the node from the whole queue",
            shows: Shows::Search(Property::NoEntryWithoutRequest),
            scope: any_of(3, 1, 2),
        },
        AnyOfFirstsAsked => DefectInfo {
            name: "any-of-firsts-asked",
            source: "004 sec. VII with app. A, events 4 and 5",
            printed: "at a hand-over the request set is the nodes that come first in some entry of the queue",
            right: "with requests for several groups, a node behind them may get the token too: all of the queue",
            shows: Shows::Random(Property::NobodyLeftWaiting, 5),
            scope: any_of(5, 4, 3),
        },
        StaleUnanswered => DefectInfo {
            name: "stale-unanswered",
            source: "004 sec. V lemma 2, app. A, event 2",
            printed: "a holder ignores an old request",
            right: "it answers with a hint: the asker may have held the token since, and then knows nothing of it",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 2).fifo(),
        },
        HintIgnored => DefectInfo {
            name: "hint-ignored-by-holder",
            source: "mutant",
            printed: "a node that has got the token in the meantime ignores a hint",
            right: "it sends it back: the other node has handed the token over and may not know who has it",
            shows: Shows::Search(Property::NobodyLeftWaiting),
            scope: Scope::new(3, 1, 3).fifo(),
        },
    }
}
