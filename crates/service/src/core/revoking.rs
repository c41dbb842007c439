//! Forced releases: revoking what a client holds.
//!
//! The client is told at once, and again before every promise until it releases. So a client that has not
//! heard of it can rely only on an earlier promise. The slot is free when the client has released it, or when
//! that promise has certainly run out.

use super::state::{Due, Request};
use super::{Core, Effects, Reply, RequestOutcome};
use crate::defect::Defect;
use crate::event::{Change, Event, ForceReleased};
use crate::refusal::Refusal;
use crate::time::Time;

/// When a revoked slot is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// At once, without waiting for the holder: that breaks exclusion.
    AtOnce,
    /// When the holder has released it, or its promise has certainly run out.
    AfterPromise,
}

/// A grant that an order reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// The grant, its holder, and when the slot is free.
    pub released: ForceReleased,
    /// The same order came before, and this one changes nothing: it is neither an event nor logged.
    pub is_repeated: bool,
}

impl Core {
    /// Revokes what a client of this node holds of a name, by this slot and fence. `by` says who orders it. Doing it
    /// again does no harm.
    pub fn force_release(
        &mut self,
        name: &str,
        (slot, fence): (u32, u64),
        when: Revocation,
        by: &str,
        now: Time,
        out: &mut Effects,
    ) -> Result<Vec<Revoked>, Refusal> {
        self.check_lease(now, out);
        let holds = |request: &Request| {
            request.granted.is_some_and(|grant| (grant.slot, grant.fence) == (slot, fence))
        };
        let resources = self.names.all_of(name);
        let clients = resources.flat_map(|number| self.requests.of_resource_where(number, holds));
        let mut holders: Vec<(bool, u32)> =
            clients.map(|(client, request)| (request.revoked.is_some(), client)).collect();
        if holders.is_empty() {
            return Err(Refusal::NobodyHolds);
        }
        // Holders that were not told before go first, so that the same order again reaches the rest.
        holders.sort_unstable();
        holders.truncate(self.config.limits.slice.max(1));
        holders.sort_unstable_by_key(|(_, client)| *client);
        let revoked = holders.into_iter().filter_map(|(_, client)| self.revoke(client, when, by, now, out));
        Ok(revoked.collect())
    }

    fn revoke(
        &mut self,
        client: u32,
        when: Revocation,
        by: &str,
        now: Time,
        out: &mut Effects,
    ) -> Option<Revoked> {
        let omitted = self.has_defect(Defect::ForcedAtOnce);
        let request = self.requests.get(client)?;
        let (number, before) = (request.number, request.revoked);
        let promised_until = self.sessions.get_mut(request.session)?.revoke(number, now);
        let at_once = when == Revocation::AtOnce;
        let until = if at_once || omitted { now } else { before.unwrap_or(promised_until) };
        if let Some(before) = before {
            self.deadlines.cancel(before, Due::Revoked(client));
        }
        self.deadlines.plan(until, Due::Revoked(client));
        let resource = self.names.get(request.resource)?;
        let released = ForceReleased {
            by: by.to_string(),
            session: self.sessions.id(request.session),
            request: number,
            name: resource.name().clone(),
            definition: resource.definition(),
            grant: request.granted?,
            ends_in: until - now,
            at_once,
            label: self.sessions.label(request.session).map(Box::new),
        };
        self.requests.revoke(client, until);
        out.replies.push(Reply {
            session: released.session,
            request: number,
            outcome: RequestOutcome::Revoked,
        });
        let is_repeated = before == Some(until);
        if let Some(events) = out.events.as_mut().filter(|_| !is_repeated) {
            events.push(Event::ForceReleased(released.clone()));
        }
        self.revoked_due(client, now, out);
        Some(Revoked { released, is_repeated })
    }

    /// The client's promise for a revoked grant has certainly run out: the slot is free.
    pub(super) fn revoked_due(&mut self, client: u32, now: Time, out: &mut Effects) {
        let Some(request) = self.requests.get(client) else { return };
        let (session, number) = (request.session, request.number);
        let Some(grant) = request.granted.filter(|_| request.revoked.is_some_and(|until| until <= now))
        else {
            return;
        };
        if let Some(session) = self.sessions.get_mut(session) {
            session.remove_request(number);
        }
        self.emit(client, || Change::TakenAway(grant), out);
        self.end_request(client, now, out);
    }
}
