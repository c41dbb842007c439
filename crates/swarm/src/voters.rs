//! The voters, which elect leaders and answer them. They have clocks of their own, and restart from time to
//! time.

use random::Random;
use service::leases::{Support, Votes};
use service::{Defect, Time};

use crate::clock::{Clock, WhilePaused};
use crate::plan::Plan;
use crate::run;

const VOTERS: usize = 3;

struct Voter {
    clock: Clock,
    support: Support,
}

pub(crate) struct Voters {
    voters: [Voter; VOTERS],
    defect: Option<Defect>,
    random: Random,
}

impl Voters {
    pub(crate) fn new(plan: &Plan, now: Time, seed: u64) -> Voters {
        let drift = 10 * plan.drift;
        let voters = [1000 - drift, 1000, 1000 + drift].map(|rate| {
            let clock = Clock::new(rate, WhilePaused::Runs);
            Voter { support: Support::new(clock.at(now)), clock }
        });
        Voters { voters, defect: plan.defect, random: Random::stream(seed, run::VOTERS) }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    /// The voter that does not take part; a majority does not need it. Past the last one if all take part.
    fn without(&mut self) -> usize {
        self.below(VOTERS + 1)
    }

    /// A majority confirms the leader.
    pub(crate) fn answer(&mut self, now: Time) {
        let without = self.without();
        for (number, Voter { clock, support }) in self.voters.iter_mut().enumerate() {
            if number != without {
                support.given(clock.at(now));
            }
        }
    }

    /// A majority votes for a node, on whose clock it is `here`.
    pub(crate) fn vote(&mut self, now: Time, term: u64, here: Time) -> Votes {
        let mut votes = Votes::with_defect(self.defect);
        let (starts, without) = (self.below(2 * VOTERS), self.without());
        if let Some(Voter { clock, support }) = self.voters.get_mut(starts) {
            let forgets = self.defect == Some(Defect::QuietAfterRestart);
            *support = Support::new(if forgets { Time(0) } else { clock.at(now) });
        }
        for (number, Voter { clock, support }) in self.voters.iter().enumerate() {
            if number != without {
                votes.granted(term, here, support.quiet(clock.at(now)), Time(0));
            }
        }
        votes
    }
}
