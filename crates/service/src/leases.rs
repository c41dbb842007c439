//! Leases of nodes: until when a node may grant anything, and when the others may count it as lost.
//!
//! A node counts its lease from when it *sent* a renewal ([`Lease`]). The leader confirms renewals in batches, each after a
//! round that shows that it still leads; nothing is written for that. A node is left out of the next view only when its
//! lease has certainly run out on every clock, however the leader learned that it might be lost ([`Leases`]).
//!
//! The leader's table belongs to one leadership. Whoever leads next begins with an empty one and waits as long as the
//! longest lease that anybody may have been promised, counted from when its voters last helped another to lead
//! ([`Votes`]): that covers a restart of the whole cluster too. This needs that a node that led, stopped and started again
//! does so under a new leadership.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::defect::Defect;
use crate::identity::Identity;
use crate::refusal::Refusal;
use crate::registry::{Entry, Leadership, MemberEntry, Registry};
use crate::time::{Time, certainly};

mod lease;
mod newcomer;
#[cfg(test)]
mod tests;
mod trouble;
mod votes;

pub use lease::Lease;
pub use votes::{Support, Votes};

/// The shortest lease that can be agreed on: shorter ones would be lost to short pauses of machines.
pub const SHORTEST_LEASE: Duration = Duration::from_millis(500);
/// The longest: what a node that died held is kept from others for so long.
pub const LONGEST_LEASE: Duration = Duration::from_secs(600);

/// Refuses a time that leases cannot last.
pub fn validate_lease(lasts: Duration) -> Result<(), Refusal> {
    let can_be = (SHORTEST_LEASE..=LONGEST_LEASE).contains(&lasts);
    if can_be { Ok(()) } else { Err(Refusal::Lease(lasts)) }
}

/// Nodes whose time is up within so long of each other are left out of one view together.
pub const EXCLUSIONS_WITHIN: Duration = Duration::from_millis(100);

/// Newcomers within so long of each other enter one view together.
pub const NEWCOMERS_WITHIN: Duration = Duration::from_millis(50);

/// Of a lease, no more than one part of so many counts as spent when a leadership begins: members have the rest for finding whoever
/// leads, and nobody is left out because an election took long.
const SPENT_AT_MOST: u32 = 3;

/// A node renews its lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewal {
    /// The node, in its incarnation.
    pub identity: Identity,
    /// The number of the renewal, by which the node knows when it sent it.
    pub sequence: u64,
    /// The view that it is in.
    pub epoch: u64,
    /// Members that it has not reached for a while.
    pub unreachable: Vec<u32>,
    /// Members whose end mark it has been missing for a while.
    pub missing_ends: Vec<u32>,
}

/// Something that happens to a leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A renewal came.
    Renew(Renewal),
    /// The round for this batch succeeded: the leader led under the same leadership after the round was asked for, and
    /// has applied everything that was agreed on until then.
    Proven(u64),
    /// The round for this batch did not succeed.
    Unproven(u64),
    /// A member leaves. It grants nothing any more, its clients believe nothing, its tokens are handed over.
    Goodbye(Identity),
    /// Somebody wants to become a member. Says so again and again until it is one.
    Enter {
        /// The node.
        id: u32,
        /// Its incarnation, and where it is reached.
        member: MemberEntry,
    },
    /// Leases are to last so long from now on.
    Lasts(Duration),
    /// What was to be proposed has been; whether it counts is in the registry.
    Proposed,
    /// Time has passed.
    Tick,
}

/// Something that a leader wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Show, beginning now, that this leadership still stands; the answer names the batch.
    Prove(u64),
    /// Answer a renewal: the lease lasts so long, from when the node sent it.
    RenewOk {
        /// The node, in its incarnation.
        identity: Identity,
        /// Which renewal.
        sequence: u64,
        /// How long the lease lasts.
        lasts: Duration,
    },
    /// Answer a renewal: no longer. It says nothing about views: a node is excluded by a view that is agreed on, and learns of
    /// that from the log.
    RenewNo {
        /// The node, in its incarnation.
        identity: Identity,
        /// Which renewal.
        sequence: u64,
    },
    /// Propose this here, and nowhere else; [`Input::Proposed`] follows, whatever became of it.
    Propose(Entry),
}

/// Renewals that are confirmed together.
type Batch = BTreeMap<Identity, Renewal>;

/// What a leader knows of the leases of others, under one leadership.
#[derive(Clone, Debug)]
pub struct Leases {
    leadership: Leadership,
    defect: Option<Defect>,
    /// When a renewal of each member was last confirmed; or when the member was first seen; or, at the beginning, since when
    /// nobody else has confirmed anything. Any lease that others confirmed was asked for before that.
    since: BTreeMap<Identity, Time>,
    /// Members that get no lease any more under this leadership.
    refused: BTreeSet<Identity>,
    /// Those among them whose lease has run out: the next view is without them.
    lost: BTreeSet<Identity>,
    /// When the next view without them is proposed.
    exclude_at: Option<Time>,
    /// What the next round confirms.
    open: Batch,
    /// What the running round confirms.
    running: Option<(u64, Batch)>,
    rounds: u64,
    /// Who cannot reach whom, and since when.
    troubles: trouble::Troubles,
    newcomers: newcomer::Newcomers,
    /// How long leases are to last, until it is agreed on.
    wanted: Option<Duration>,
    shortening: Option<Shortening>,
    /// A proposal is under way.
    proposing: bool,
    /// Before that nothing is proposed: one proposal that comes to nothing is not followed by the next at once.
    propose_after: Time,
}

/// A shorter time that is promised already. It is agreed on when nobody believes in the longer one any more.
#[derive(Clone, Copy, Debug)]
struct Shortening {
    to: Duration,
    /// Since when no more than that is promised.
    since: Time,
    /// Once it was proposed, it may be agreed on at any time, and more must not be promised.
    proposed: bool,
}

impl Leases {
    /// A new leadership, whose own first entry has been applied. Nobody else has confirmed a lease that was asked for
    /// after `since` ([`Votes::since`]).
    pub fn new(leadership: Leadership, since: Time, now: Time, registry: &Registry) -> Leases {
        let mut leases = Leases {
            leadership,
            defect: None,
            since: BTreeMap::new(),
            refused: BTreeSet::new(),
            lost: BTreeSet::new(),
            exclude_at: None,
            open: Batch::new(),
            running: None,
            rounds: 0,
            troubles: trouble::Troubles::default(),
            newcomers: newcomer::Newcomers::default(),
            wanted: None,
            shortening: None,
            proposing: false,
            propose_after: now,
        };
        let spent = (now - since).min(registry.lease / SPENT_AT_MOST);
        leases.follow(Time(now.0 - spent.as_nanos() as u64), registry);
        leases
    }

    /// The same with a rule left out, to see that it is needed.
    #[must_use]
    pub fn with_defect(mut self, defect: Option<Defect>) -> Leases {
        if defect == Some(Defect::NewLeaderDoesNotWait) {
            self.since.values_mut().for_each(|since| *since = Time(0));
        }
        Leases { defect, ..self }
    }

    /// Lets something happen. The registry is what has been applied here so far; what is wanted is appended to `out`.
    pub fn step(&mut self, now: Time, registry: &Registry, input: Input, out: &mut Vec<Output>) {
        self.follow(now, registry);
        match input {
            Input::Renew(renewal) => self.renew(now, registry, renewal, out),
            Input::Proven(round) => self.proven(now, registry, round, out),
            Input::Unproven(round) => {
                // Whoever asked asks again.
                self.running.take_if(|(running, _)| *running == round);
                self.begin_round(out);
            }
            Input::Goodbye(member) => self.goodbye(now, member),
            Input::Enter { id, .. } if self.keeps_out(now, id) => {}
            Input::Enter { member, .. } if member.validate().is_err() => {}
            Input::Enter { id, member } => self.newcomers.knock(now, id, member),
            // What cannot be agreed on is not tried: whoever asked was told.
            Input::Lasts(lasts) if validate_lease(lasts).is_err() => {}
            Input::Lasts(lasts) => self.wanted = Some(lasts),
            Input::Proposed => (self.proposing, self.propose_after) = (false, now + EXCLUSIONS_WITHIN),
            Input::Tick => {}
        }
        self.give_up_the_lost(now, registry);
        self.propose(now, registry, out);
    }

    /// Whether a node is not let in for a while, because it was left out for not reaching others.
    pub fn keeps_out(&self, now: Time, id: u32) -> bool {
        self.troubles.keeps_out(now, id)
    }

    /// When [`Input::Tick`] is due next, if nothing else happens before.
    pub fn next_tick(&self, registry: &Registry) -> Option<Time> {
        let wait = certainly(registry.lease);
        let counted = self.since.iter().filter(|(member, _)| !self.lost.contains(member));
        let lapses = counted.map(|(_, since)| *since + wait).min();
        let shorter = self.shortening.map(|shortening| shortening.since + wait);
        let entering = self.newcomers.enter_at();
        let proposal = [self.exclude_at, shorter, entering].into_iter().flatten().min();
        let proposal = proposal.filter(|_| !self.proposing).map(|at| at.max(self.propose_after));
        [lapses, proposal].into_iter().flatten().min()
    }

    /// Takes note of who is a member. Who is new has as long as everybody; who is none any more is forgotten.
    fn follow(&mut self, now: Time, registry: &Registry) {
        let is_member = |member: &Identity| registry.is_member(*member);
        self.since.retain(|member, _| is_member(member));
        self.refused.retain(is_member);
        self.lost.retain(is_member);
        for member in registry.identities() {
            self.since.entry(member).or_insert(now);
        }
        self.troubles.keep_only(|id| registry.members.contains_key(&id));
        self.newcomers.follow(now, registry, self.defect);
        if self.lost.is_empty() {
            self.exclude_at = None;
        }
    }

    fn renew(&mut self, now: Time, registry: &Registry, renewal: Renewal, out: &mut Vec<Output>) {
        let member = renewal.identity;
        if self.since.contains_key(&member) {
            self.troubles.report(now, &renewal);
            self.newcomers.is_in(&renewal);
        }
        match (self.defect, &mut self.running) {
            (Some(Defect::NoRound), _) => return self.answer(now, registry, &renewal, out),
            (Some(Defect::JoinsRunningRound), Some((_, running))) => _ = running.insert(member, renewal),
            // A round that runs may have been answered before this was sent.
            _ => _ = self.open.insert(member, renewal),
        }
        self.begin_round(out);
    }

    /// Closes the batch and then begins its round, unless one is running.
    fn begin_round(&mut self, out: &mut Vec<Output>) {
        if self.running.is_none() && !self.open.is_empty() {
            self.rounds += 1;
            self.running = Some((self.rounds, std::mem::take(&mut self.open)));
            out.push(Output::Prove(self.rounds));
        }
    }

    fn proven(&mut self, now: Time, registry: &Registry, round: u64, out: &mut Vec<Output>) {
        if let Some((_, batch)) = self.running.take_if(|(running, _)| *running == round) {
            batch.values().for_each(|renewal| self.answer(now, registry, renewal, out));
        }
        self.begin_round(out);
    }

    fn answer(&mut self, now: Time, registry: &Registry, renewal: &Renewal, out: &mut Vec<Output>) {
        let Renewal { identity, sequence, .. } = *renewal;
        let refused = self.refused.contains(&identity) && self.defect != Some(Defect::RenewsDuringExclusion);
        let member = match self.defect {
            Some(Defect::MembersById) => self.since.keys().find(|other| other.id == identity.id).copied(),
            _ => Some(identity),
        };
        match member.and_then(|member| self.since.get_mut(&member)) {
            Some(since) if !refused => {
                *since = now;
                let lasts = self.shortening.map_or(registry.lease, |shorter| shorter.to.min(registry.lease));
                out.push(Output::RenewOk { identity, sequence, lasts });
            }
            _ => out.push(Output::RenewNo { identity, sequence }),
        }
    }

    /// Who has said goodbye is not waited for.
    fn goodbye(&mut self, now: Time, member: Identity) {
        if self.since.contains_key(&member) {
            self.refused.insert(member);
            self.lost.insert(member);
            self.exclude_at = Some(now);
        }
    }

    /// Refuses whoever must have lost its lease, for good, and one of two that cannot reach each other.
    fn give_up_the_lost(&mut self, now: Time, registry: &Registry) {
        let wait = match self.defect {
            Some(Defect::NoDrift) => registry.lease,
            Some(Defect::ExcludesOnSuspicion) => registry.lease / 3,
            _ => certainly(registry.lease),
        };
        for (member, since) in &self.since {
            if now - *since >= wait && self.lost.insert(*member) {
                self.refused.insert(*member);
                self.exclude_at.get_or_insert(now + EXCLUSIONS_WITHIN);
            }
        }
        let renewed: BTreeMap<u32, Time> = self
            .since
            .iter()
            .filter(|(member, _)| !self.refused.contains(member))
            .map(|(member, since)| (member.id, *since))
            .collect();
        if self.defect == Some(Defect::UnreachablePair) {
            return;
        }
        if let Some(id) = self.troubles.victim(now, registry.lease, &renewed, self.leadership.node) {
            let member = self.since.keys().find(|other| other.id == id);
            self.refused.extend(member);
            self.troubles.keep_out(now, id, registry.lease);
        }
    }

    fn propose(&mut self, now: Time, registry: &Registry, out: &mut Vec<Output>) {
        self.decide_lease(now, registry);
        if self.proposing || now < self.propose_after {
            return;
        }
        let entry = if self.exclude_at.is_some_and(|at| at <= now) {
            Some(self.view_without_the_lost(registry))
        } else if registry.epoch == 0 && self.wanted.is_some() {
            self.next_lease(now, registry)
        } else {
            let entering = self.newcomers.view(now, registry, self.leadership);
            entering.or_else(|| self.next_lease(now, registry))
        };
        if let Some(entry) = entry {
            self.proposing = true;
            out.push(Output::Propose(entry));
        }
    }

    fn view_without_the_lost(&self, registry: &Registry) -> Entry {
        let mut members = registry.members.clone();
        members.retain(|id, member| !self.lost.contains(&member.identity(*id)));
        if members.is_empty() {
            // There is nobody whose view newcomers would have to wait for.
            self.newcomers.add_to(&mut members);
        }
        Entry::View { base_epoch: registry.epoch, decided_by: self.leadership, members }
    }

    /// Begins to promise less, if leases are to become shorter.
    fn decide_lease(&mut self, now: Time, registry: &Registry) {
        let (lease, wanted) = (registry.lease, self.wanted);
        self.shortening
            .take_if(|shorter| shorter.to == lease || !shorter.proposed && wanted != Some(shorter.to));
        if self.shortening.is_none() {
            self.wanted.take_if(|wanted| *wanted == lease);
            let shorter = self.wanted.filter(|wanted| *wanted < lease);
            self.shortening = shorter.map(|to| Shortening { to, since: now, proposed: false });
        }
    }

    /// How long leases shall last, if that can be agreed on now: a shorter time only when nobody believes in the longer
    /// one any more, because it is also what everybody waits for.
    fn next_lease(&mut self, now: Time, registry: &Registry) -> Option<Entry> {
        // Before the first view nobody has been promised anything.
        let at_once = registry.epoch == 0 || self.defect == Some(Defect::ShorterAtOnce);
        let lasts = match &mut self.shortening {
            Some(shorter) if at_once || now - shorter.since >= certainly(registry.lease) => {
                shorter.proposed = true;
                Some(shorter.to)
            }
            Some(_) => None,
            None => self.wanted,
        };
        let (base, decided_by) = (registry.lease_changes, self.leadership);
        lasts.map(|lasts| Entry::Lease { base, lasts, decided_by })
    }
}
