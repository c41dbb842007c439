//! Leases of nodes: until when a node may grant anything, and when the others may count it as lost.
//!
//! A node counts its lease from when it *sent* a renewal ([`Lease`]). The leader confirms renewals in
//! batches, each after a round that proves that it still leads; nothing is written for that. A node is
//! excluded from the next view only when its lease has certainly run out on every clock, however the leader
//! learned that it might be lost ([`Leases`]).
//!
//! The leader's table belongs to one leadership. The next leader begins with an empty one and waits as long
//! as the longest lease that any node may have been promised, counted from when its voters last supported
//! another leader ([`Votes`]): that covers a restart of the whole cluster too. This requires that a node that
//! led, stopped and started again leads under a new leadership.

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
mod reachability;
#[cfg(test)]
mod tests;
mod votes;

pub use lease::Lease;
pub use votes::{Support, Votes};

/// The shortest lease that can be committed: shorter ones would be lost to short pauses of machines.
pub const SHORTEST_LEASE: Duration = Duration::from_millis(500);
/// The longest lease: what a dead node held is kept from others for this long.
pub const LONGEST_LEASE: Duration = Duration::from_secs(600);

/// Refuses a time that leases cannot last.
pub fn validate_lease(lasts: Duration) -> Result<(), Refusal> {
    let can_be = (SHORTEST_LEASE..=LONGEST_LEASE).contains(&lasts);
    if can_be { Ok(()) } else { Err(Refusal::Lease(lasts)) }
}

/// Nodes whose leases run out within this time of each other are excluded in one view together.
pub const EXCLUSIONS_WITHIN: Duration = Duration::from_millis(100);

/// Newcomers within this time of each other enter one view together.
pub const NEWCOMERS_WITHIN: Duration = Duration::from_millis(50);

/// When a leadership begins, at most this part of a lease counts as spent: members have the rest of it to
/// find the leader, and none is excluded because an election took long.
const SPENT_AT_MOST: u32 = 3;

/// A node renews its lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewal {
    /// The node, in its incarnation.
    pub identity: Identity,
    /// The number of the renewal, by which the node knows when it sent it.
    pub sequence: u64,
    /// The epoch of the view that the node is in.
    pub epoch: u64,
    /// Members that the node has not reached for a while.
    pub unreachable: Vec<u32>,
    /// Members whose end mark the node has been missing for a while.
    pub missing_ends: Vec<u32>,
}

/// An input of a leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A renewal came.
    Renew(Renewal),
    /// The round for this batch succeeded: the leader led under the same leadership after the round was asked
    /// for, and has applied everything that was committed until then.
    Proven(u64),
    /// The round for this batch did not succeed.
    Unproven(u64),
    /// A member leaves. It grants nothing any more, its clients hold nothing, its tokens are handed off.
    Goodbye(Identity),
    /// A node wants to become a member. It repeats this until it is one.
    Enter {
        /// The node.
        id: u32,
        /// The node's incarnation and addresses.
        member: MemberEntry,
    },
    /// Change how long leases last.
    Lasts(Duration),
    /// What was to be proposed has been; whether it counts is in the registry.
    Proposed,
    /// Time has passed.
    Tick,
}

/// An effect of an input on a leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Show, beginning now, that this leadership still stands; the answer names the batch.
    Prove(u64),
    /// Answer a renewal: the lease lasts this long, from when the node sent it.
    RenewOk {
        /// The node, in its incarnation.
        identity: Identity,
        /// The number of the renewal.
        sequence: u64,
        /// How long the lease lasts.
        lasts: Duration,
    },
    /// Answer a renewal: the lease is not renewed. It says nothing about views: a node is excluded by a
    /// committed view, and learns of that from the log.
    RenewNo {
        /// The node, in its incarnation.
        identity: Identity,
        /// The number of the renewal.
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
    /// When a renewal of each member was last confirmed; or when the member was first seen; or, at the
    /// beginning, since when no other leader has confirmed anything. Any lease that others confirmed was
    /// asked for before that.
    since: BTreeMap<Identity, Time>,
    /// Members that get no lease any more under this leadership.
    refused: BTreeSet<Identity>,
    /// Those among them whose lease has run out: the next view excludes them.
    lost: BTreeSet<Identity>,
    /// When the next view without them is proposed.
    exclude_at: Option<Time>,
    /// The renewals that the next round confirms.
    open: Batch,
    /// The round that is running, and the renewals that it confirms.
    running: Option<(u64, Batch)>,
    rounds: u64,
    /// Which members cannot reach each other, and since when.
    reachability: reachability::Reachability,
    newcomers: newcomer::Newcomers,
    /// How long leases are to last, until it is committed.
    wanted: Option<Duration>,
    shortening: Option<Shortening>,
    /// A proposal is under way.
    proposing: bool,
    /// Before that nothing is proposed: one proposal that comes to nothing is not followed by the next at once.
    propose_after: Time,
}

/// A shorter time that is promised already. It is committed when no lease of the longer time is valid any
/// more.
#[derive(Clone, Copy, Debug)]
struct Shortening {
    to: Duration,
    /// Since when no more than that is promised.
    since: Time,
    /// Once proposed, it may commit at any time, and more must not be promised.
    proposed: bool,
}

impl Leases {
    /// A new leadership, whose own first entry has been applied. No other leader has confirmed a lease that
    /// was asked for after `since` ([`Votes::since`]).
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
            reachability: reachability::Reachability::default(),
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

    /// Takes one input. The registry is what has been applied here so far; effects are appended to `out`.
    pub fn step(&mut self, now: Time, registry: &Registry, input: Input, out: &mut Vec<Output>) {
        self.follow(now, registry);
        match input {
            Input::Renew(renewal) => self.renew(now, registry, renewal, out),
            Input::Proven(round) => self.proven(now, registry, round, out),
            Input::Unproven(round) => {
                // The nodes renew again.
                self.running.take_if(|(running, _)| *running == round);
                self.begin_round(out);
            }
            Input::Goodbye(member) => self.goodbye(now, member),
            Input::Enter { id, .. } if self.keeps_out(now, id) => {}
            Input::Enter { member, .. } if member.validate().is_err() => {}
            Input::Enter { id, member } => self.newcomers.request_admission(now, id, member),
            // What cannot be committed is not tried: the caller was told.
            Input::Lasts(lasts) if validate_lease(lasts).is_err() => {}
            Input::Lasts(lasts) => self.wanted = Some(lasts),
            Input::Proposed => (self.proposing, self.propose_after) = (false, now + EXCLUSIONS_WITHIN),
            Input::Tick => {}
        }
        self.refuse_lost_members(now, registry);
        self.propose(now, registry, out);
    }

    /// Whether a node must wait before it is admitted, because it was excluded for not reaching others.
    pub fn keeps_out(&self, now: Time, id: u32) -> bool {
        self.reachability.keeps_out(now, id)
    }

    /// When [`Input::Tick`] is due next, if no other input comes before.
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

    /// Follows the membership. A new member has as long as the others; one that is no member any more is
    /// forgotten.
    fn follow(&mut self, now: Time, registry: &Registry) {
        let is_member = |member: &Identity| registry.is_member(*member);
        self.since.retain(|member, _| is_member(member));
        self.refused.retain(is_member);
        self.lost.retain(is_member);
        for member in registry.identities() {
            self.since.entry(member).or_insert(now);
        }
        self.reachability.keep_only(|id| registry.members.contains_key(&id));
        self.newcomers.follow(now, registry, self.defect);
        if self.lost.is_empty() {
            self.exclude_at = None;
        }
    }

    fn renew(&mut self, now: Time, registry: &Registry, renewal: Renewal, out: &mut Vec<Output>) {
        let member = renewal.identity;
        if self.since.contains_key(&member) {
            self.reachability.report(now, &renewal);
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

    /// The leader does not wait for a member that has said goodbye.
    fn goodbye(&mut self, now: Time, member: Identity) {
        if self.since.contains_key(&member) {
            self.refused.insert(member);
            self.lost.insert(member);
            self.exclude_at = Some(now);
        }
    }

    /// Refuses every member whose lease must have run out, for good, and one of two that cannot reach each
    /// other.
    fn refuse_lost_members(&mut self, now: Time, registry: &Registry) {
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
        if let Some(id) =
            self.reachability.member_to_exclude(now, registry.lease, &renewed, self.leadership.node)
        {
            let member = self.since.keys().find(|other| other.id == id);
            self.refused.extend(member);
            self.reachability.keep_out(now, id, registry.lease);
        }
    }

    fn propose(&mut self, now: Time, registry: &Registry, out: &mut Vec<Output>) {
        self.decide_lease(now, registry);
        if self.proposing || now < self.propose_after {
            return;
        }
        let entry = if self.exclude_at.is_some_and(|at| at <= now) {
            Some(self.view_without_lost_members(registry))
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

    fn view_without_lost_members(&self, registry: &Registry) -> Entry {
        let mut members = registry.members.clone();
        members.retain(|id, member| !self.lost.contains(&member.identity(*id)));
        if members.is_empty() {
            // There is no member whose view newcomers would have to wait for.
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

    /// How long leases shall last, if that can be committed now: a shorter time only when no lease of the
    /// longer time is valid any more, because it is also how long all nodes wait.
    fn next_lease(&mut self, now: Time, registry: &Registry) -> Option<Entry> {
        // Before the first view no lease was promised.
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
