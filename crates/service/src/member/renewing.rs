//! When a member renews its lease, what it says to the leader, and what it makes of the reply.

use std::time::Duration;

use super::{Effect, Environment, Member, Note, Standing};
use crate::leases::{LONGEST_LEASE, Renewal};
use crate::registry::MemberEntry;
use crate::time::Time;

/// A peer that is unreachable for this long, or whose end mark is missing for this long, is named to the
/// leader; with short leases after a third of one, so that the pair can be parted before the lease ends.
const TROUBLE_AFTER: Duration = Duration::from_secs(1);
/// A member without a lease logs that after this many leases,
const NOTE_AFTER: u32 = 3;
/// and after this many if the leader says why.
const NOTE_REFUSAL_AFTER: u32 = 1;
/// A member without a lease logs that again at this interval.
const NOTE_EVERY: Duration = Duration::from_secs(30);
/// Without a reply the next try comes after this part of the usual time: another node may lead by then.
const SOON: u32 = 8;
/// With a reply but no lease, the next try comes after this part.
const SOONER: u32 = 2;

/// The leader's reply to [`Effect::Renew`] or [`Effect::Join`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaderReply {
    /// The leader confirms this renewal of this incarnation: the lease lasts this long, counted from when the
    /// renewal was sent.
    Confirmed {
        /// The incarnation.
        incarnation: u64,
        /// The number of the renewal.
        sequence: u64,
        /// How long the lease lasts.
        lasts: Duration,
    },
    /// The leader does not renew the lease. That says nothing about views: only a committed view excludes.
    NotRenewed,
    /// The leader has taken note that this node wants to become a member.
    Noted,
    /// The leader refuses, for this reason.
    Refused(String),
    /// There was no answer.
    Silence,
}

/// When the lease is renewed next.
#[derive(Clone, Debug)]
pub(super) struct Renewing {
    next: Time,
    /// When it was tried last.
    tried: Time,
    /// Since when this incarnation has had no lease; advances while it has one.
    without: Time,
    /// When that was last logged.
    noted: Option<Time>,
    /// Why the leader refused, if it did.
    refused: Option<String>,
}

impl Renewing {
    pub(super) fn at_once(now: Time) -> Renewing {
        Renewing { next: now, tried: now, without: now, noted: None, refused: None }
    }

    pub(super) fn next(&self) -> Time {
        self.next
    }

    pub(super) fn renew_by(&mut self, now: Time) {
        self.next = self.next.min(now);
    }
}

impl Member {
    pub(super) fn renew_if_due(
        &mut self,
        environment: &dyn Environment,
        now: Time,
        effects: &mut Vec<Effect>,
    ) {
        if self.has_left() || now < self.renewing.next {
            return;
        }
        self.note_missing_lease(now, effects);
        self.renewing.tried = now;
        self.renewing.next = now + self.core.lease().renewed_every(self.registry.lease);
        if self.is_in_a_view() {
            let renewal = self.renewal(environment, now);
            effects.push(Effect::Renew(renewal));
        } else if matches!(self.standing, Standing::Serving) {
            let member = MemberEntry::new(self.incarnation, &self.setup.address, &self.setup.clients);
            effects.push(Effect::Join(member));
        }
    }

    /// Whether there is a lease to renew.
    fn is_in_a_view(&self) -> bool {
        use crate::defect::Defect::{ReadmitsIncarnation, ResumesAfterExclusion};
        // With these defects a node that was excluded goes on as it is, and asks to join.
        let asks_again = self.has_defect(ReadmitsIncarnation) || self.has_defect(ResumesAfterExclusion);
        self.view().epoch > 0 && (!asks_again || self.is_member())
    }

    fn renewal(&mut self, environment: &dyn Environment, now: Time) -> Renewal {
        let after = TROUBLE_AFTER.min(self.registry.lease / 3);
        let mut unreachable: Vec<u32> = environment
            .unreachable()
            .into_iter()
            .filter(|(_, lasts)| *lasts >= after)
            .map(|(id, _)| id)
            .collect();
        unreachable.extend(&self.barred);
        let late = now - self.entered >= after;
        Renewal {
            identity: self.identity(),
            sequence: self.core.renew(now),
            epoch: self.view().epoch,
            unreachable,
            missing_ends: if late { self.core.missing_ends() } else { Vec::new() },
        }
    }

    /// The leader replied to [`Effect::Renew`] or [`Effect::Join`], or did not.
    pub fn leader_replied(&mut self, reply: LeaderReply, now: Time, effects: &mut Vec<Effect>) {
        let mut part = SOONER;
        match reply {
            LeaderReply::Confirmed { incarnation, sequence, lasts } => {
                // A leader that says more is wrong: the others do not wait that long.
                self.core.renewed((incarnation, sequence), lasts.min(LONGEST_LEASE), now, &mut self.out);
                self.pass_on(effects);
            }
            LeaderReply::NotRenewed | LeaderReply::Noted => self.renewing.refused = None,
            LeaderReply::Refused(why) => (self.renewing.refused, part) = (Some(why), SOON),
            // What it said last may still be why.
            LeaderReply::Silence => part = SOON,
        }
        if !self.is_leased(now) || part == SOON {
            let soon = self.core.lease().renewed_every(self.registry.lease) / part;
            let next = (self.renewing.tried + soon).max(now);
            self.renewing.next = self.renewing.next.min(next);
        }
    }

    /// A member without a lease says so, instead of waiting in silence.
    fn note_missing_lease(&mut self, now: Time, effects: &mut Vec<Effect>) {
        let leased = self.is_leased(now);
        let Renewing { without, noted, refused, .. } = &mut self.renewing;
        if leased || !matches!(self.standing, Standing::Serving) {
            (*without, *noted, *refused) = (now, None, None);
            return;
        }
        let lasts = now - *without;
        let again = noted.is_none_or(|told| now - told >= NOTE_EVERY);
        let after = if refused.is_some() { NOTE_REFUSAL_AFTER } else { NOTE_AFTER };
        if lasts >= self.registry.lease.saturating_mul(after) && again {
            *noted = Some(now);
            effects.push(Effect::Note(Note::NoLease { lasts, refused: refused.clone() }));
        }
    }
}
