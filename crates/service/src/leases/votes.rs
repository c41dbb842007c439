//! Since when a new leader has to wait.
//!
//! Any lease was confirmed after a majority of the voters had answered a leader: each of them has since
//! supported no leader, for as long as it says with its vote ([`Support`]). Some voter is in both majorities,
//! that which confirmed the last lease and that which elects. The new leader takes the latest moment that any
//! of its voters names ([`Votes`]), and every lease of others was asked for before it. So the time that an
//! election takes is not waited for twice.
//!
//! A part of the wait is then measured on a voter's clock, the rest on the leader's. No more is needed for
//! that: the wait is long enough on the fastest clock allowed, and neither is faster.

use std::time::Duration;

use crate::defect::Defect;
use crate::time::Time;

/// When a voter last helped a node to prove that it leads, itself included.
#[derive(Clone, Copy, Debug)]
pub struct Support {
    last: Time,
}

impl Support {
    /// A voter that starts: what it did before, it did before now.
    pub fn new(now: Time) -> Support {
        Support { last: now }
    }

    /// A question of a leader has come, and will be answered; or this node begins to show that it leads. To be said before
    /// anything else is done about it.
    pub fn given(&mut self, now: Time) {
        self.last = self.last.max(now);
    }

    /// When that was, on the voter's own clock.
    pub fn last(&self) -> Time {
        self.last
    }

    /// For how long it has not. To be asked after the vote was given.
    pub fn quiet(&self, now: Time) -> Duration {
        now - self.last
    }
}

/// What a node heard with the votes that it was given.
#[derive(Clone, Debug, Default)]
pub struct Votes {
    defect: Option<Defect>,
    /// The term, and the latest moment at which one of the voters in it may have supported another leader.
    latest: Option<(u64, Time)>,
}

impl Votes {
    /// The same with a rule left out, to see that it is needed.
    #[must_use]
    pub fn with_defect(defect: Option<Defect>) -> Votes {
        Votes { defect, latest: None }
    }

    /// A vote has come, of a voter that has been quiet for this long. The node itself, which votes too,
    /// supported others until `own`.
    pub fn granted(&mut self, term: u64, now: Time, quiet: Duration, own: Time) {
        let helped = Time(now.0.saturating_sub(u64::try_from(quiet.as_nanos()).unwrap_or(u64::MAX)));
        let helped = helped.max(own);
        self.latest = match self.latest {
            Some((of, latest)) if of == term && self.defect == Some(Defect::QuietestVoter) => {
                Some((term, latest.min(helped)))
            }
            Some((of, latest)) if of == term => Some((term, latest.max(helped))),
            Some((of, latest)) if of > term => Some((of, latest)),
            _ => Some((term, helped)),
        };
    }

    /// Since when no other leader has confirmed a lease, if the node leads in this term.
    pub fn since(&self, term: u64, now: Time) -> Time {
        let heard = self.latest.filter(|(of, _)| *of == term).map(|(_, latest)| latest);
        heard.unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u64) -> Time {
        Time(1000) + SECOND * seconds as u32
    }

    #[test]
    fn the_voter_that_helped_last_counts_and_the_node_itself_is_one() {
        let mut votes = Votes::default();
        votes.granted(3, at(100), SECOND * 9, at(0));
        assert_eq!(votes.since(3, at(100)), at(91));
        votes.granted(3, at(100), SECOND * 22, at(0));
        assert_eq!(votes.since(3, at(100)), at(91));
        votes.granted(3, at(101), SECOND * 22, at(95));
        assert_eq!(votes.since(3, at(102)), at(95));
        votes.granted(3, at(101), Duration::ZERO, at(95));
        assert_eq!(votes.since(3, at(102)), at(101));
    }

    #[test]
    fn votes_of_another_term_say_nothing() {
        let mut votes = Votes::default();
        assert_eq!(votes.since(1, at(5)), at(5));
        votes.granted(4, at(50), SECOND * 9, at(0));
        votes.granted(3, at(50), SECOND, at(0));
        assert_eq!(votes.since(4, at(60)), at(41));
        votes.granted(5, at(70), SECOND * 9, at(0));
        assert_eq!((votes.since(4, at(80)), votes.since(5, at(80))), (at(80), at(61)));
    }

    #[test]
    fn a_voter_that_has_just_started_has_not_been_quiet() {
        let mut support = Support::new(at(10));
        assert_eq!(support.quiet(at(12)), SECOND * 2);
        support.given(at(13));
        support.given(at(11));
        assert_eq!(support.quiet(at(14)), SECOND);
    }
}
