//! What clients do: acquire, cancel, release.

use std::collections::BTreeMap;
use std::sync::Arc;

use algorithms::ClientId;

use super::state::{AccountId, Counted, Due, Granted, Of, Request, Usage};
use super::{Acquire, Core, Effects, Reply, RequestOutcome, Timeout};
use crate::auth::{Quota, QuotaOf};
use crate::defect::Defect;
use crate::event::Change;
use crate::grant::Grant;
use crate::limits::Bound;
use crate::name::{self, Definition, Kind};
use crate::refusal::Refusal;
use crate::resource::{Input, Resource};
use crate::session::{Session, SessionId};
use crate::time::Time;
use crate::want::Want;

impl Core {
    /// A client asks. The answer comes at once or later; one comes, unless the session ends first. Asking again with
    /// the same number, say after a broken connection, changes nothing, and gives the answer again if there was one.
    /// The only error is that there is no such session here: then there is no session to answer to.
    pub fn acquire(
        &mut self,
        id: SessionId,
        ask: &Acquire,
        now: Time,
        out: &mut Effects,
    ) -> Result<(), Refusal> {
        self.check_lease(now, out);
        self.sessions.find(id)?;
        if let Err(refusal) = self.ask(id, ask, now, out) {
            self.reply_with_refusal(id.number, ask.request, refusal, out);
        }
        Ok(())
    }

    /// Refuses a request of a session, for a reason that the core does not know. What was granted before stays granted, and the
    /// client is told again.
    pub fn refuse(
        &mut self,
        id: SessionId,
        request: u64,
        refusal: Refusal,
        now: Time,
        out: &mut Effects,
    ) -> Result<(), Refusal> {
        self.check_lease(now, out);
        let session = self.sessions.find(id)?;
        match session.client(request) {
            Some(client) if self.requests.get(client).is_some_and(Request::waits) => {
                self.refuse_waiter(client, refusal, now, out);
            }
            Some(client) => self.reply_again(client, now, out),
            None => {
                session.highest_request = session.highest_request.max(request);
                self.reply_with_refusal(id.number, request, refusal, out);
            }
        }
        Ok(())
    }

    /// From now on these quotas count. What is here counts in them, also if it is more than they allow.
    pub fn set_quotas(&mut self, quotas: &BTreeMap<QuotaOf, Quota>) {
        if self.usage.is_of(quotas) {
            return;
        }
        self.usage = Usage::new(quotas);
        for session in self.sessions.iter() {
            self.usage.count_session(session.principal(), true);
        }
        for (client, request) in self.requests.iter() {
            let principal = self.sessions.get(request.session).and_then(Session::principal);
            let Some(resource) = self.names.get(request.resource) else { continue };
            let of = Of { principal, name: resource.name() };
            self.usage.begin(client, of, (request.resource, request.waits()));
        }
    }

    /// Refuses one more request than the quotas allow.
    fn within_quotas(&self, session: u64, ask: &Acquire) -> Result<(), Refusal> {
        if self.usage.is_empty() {
            return Ok(());
        }
        let principal = self.sessions.get(session).and_then(Session::principal);
        let resource = self.names.find(&ask.name, ask.definition.kind());
        self.usage.allows_request(Of { principal, name: &ask.name }, resource)
    }

    /// Counts a request that begins, if there are quotas.
    fn count_in_quotas(&mut self, client: ClientId, session: u64, (name, resource): (&str, u32)) {
        if !self.usage.is_empty() {
            let principal = self.sessions.get(session).and_then(Session::principal);
            self.usage.begin(client, Of { principal, name }, (resource, true));
        }
    }

    /// How many requests wait.
    pub fn waiters(&self) -> usize {
        self.requests.waiters()
    }

    /// All requests that wait: the node's number, that of the session, and the name.
    pub fn waiting(&self) -> Vec<(u32, u64, Arc<str>)> {
        let about = |client: u32| {
            let request = self.requests.get(client)?;
            Some((client, request.session, self.names.get(request.resource)?.name().clone()))
        };
        self.requests.waiting().into_iter().filter_map(about).collect()
    }

    /// Refuses these requests, which wait, in slices.
    pub fn refuse_waiting(&mut self, clients: Vec<u32>, refusal: Refusal, now: Time, out: &mut Effects) {
        self.refuse_waiters(clients, refusal, now, out);
    }

    fn ask(&mut self, id: SessionId, ask: &Acquire, now: Time, out: &mut Effects) -> Result<(), Refusal> {
        let session = self.sessions.find(id)?;
        if let Some(client) = session.client(ask.request) {
            self.reply_again(client, now, out);
            return Ok(());
        }
        if let Some(refusal) = session.refusal(ask.request).cloned() {
            out.replies.push(Reply {
                session: id,
                request: ask.request,
                outcome: RequestOutcome::Refused(refusal),
            });
            return Ok(());
        }
        if session.revoked().contains(&ask.request) {
            out.replies.push(Reply { session: id, request: ask.request, outcome: RequestOutcome::Revoked });
            return Ok(());
        }
        if ask.request <= session.highest_request {
            return Err(Refusal::RequestUsed(ask.request));
        }
        session.highest_request = ask.request;
        if !self.is_leased(now) {
            return Err(Refusal::NoLease);
        }
        self.admission.of_request()?;
        name::validate(&ask.name)?;
        ask.definition.validate()?;
        ask.want.validate(ask.definition)?;
        self.within_quotas(id.number, ask)?;
        self.bring_name_into_view(&ask.name, now, out);
        let (account, weight) = (self.count_request(id, ask)?, ask.want.weight());
        let (resource, insists) = match self.resolve(ask, account, now) {
            Ok(resolved) => resolved,
            Err(refusal) => {
                self.accounts.give_back(account, Counted::Requests, weight);
                return Err(refusal);
            }
        };
        self.metrics.queued(self.requests.waiters_of(resource));
        let client = self.requests.insert(Request {
            session: id.number,
            account,
            number: ask.request,
            resource,
            since: now,
            until: None,
            timeout: ask.timeout,
            want: if ask.want == Want::AnySlot { Want::Slot } else { ask.want.clone() },
            granted: None,
            insists,
            revoked: None,
        });
        self.count_in_quotas(client, id.number, (&ask.name, resource));
        self.sessions.find(id)?.add_request(ask.request, client);
        self.step(resource, Input::Request(client, ask.want.numbered()), now, out);
        self.wait(client, now, out);
        Ok(())
    }

    /// Counts a request, and returns the account that it counts in.
    fn count_request(&mut self, id: SessionId, ask: &Acquire) -> Result<Option<AccountId>, Refusal> {
        let session = self.sessions.find(id)?;
        let (account, requests) = (session.account, session.requests() as u64);
        let most = self.config.limits.session_requests;
        if account.is_some() && requests >= most {
            return Err(Refusal::Bound { bound: Bound::SessionRequests, most });
        }
        self.accounts.keep(account, Counted::Requests, ask.want.weight())?;
        Ok(account)
    }

    /// The resource that is asked for, made if need be, and the number of slots that the client insists on. A defined
    /// resource may get another number while the client waits; one that is not defined may not.
    fn resolve(
        &mut self,
        ask: &Acquire,
        account: Option<AccountId>,
        now: Time,
    ) -> Result<(u32, Option<u32>), Refusal> {
        let (name, asked) = (&ask.name, ask.definition);
        let any_number = ask.want == Want::AnySlot;
        let fits = |defined: Definition| defined == asked || (any_number && defined.slots().is_some());
        let found = self.names.find(name, asked.kind());
        let resource = found.and_then(|number| Some((number, self.names.get(number)?)));
        let defined = match resource {
            Some((_, resource)) => resource.defined(),
            None => self.names.definition(name),
        };
        match (defined, resource) {
            (Some(defined), Some((number, _))) if fits(defined) => return Ok((number, None)),
            (None, Some((number, resource))) if resource.definition() == asked => {
                return Ok((number, asked.slots()));
            }
            (Some(defined), _) if !fits(defined) => return Err(Refusal::DefinedAs { defined, asked }),
            (Some(_), _) => {}
            (None, _) => {}
        }
        let contradicts = |defined| Refusal::Contradicts { defined, asked };
        let found = match defined {
            Some(_) => found,
            None => self.find_for(name, asked),
        };
        let number = match found {
            Some(number) => number,
            None => self.create_for_client(name, asked, account, now)?.map_err(contradicts)?,
        };
        match self.names.get(number) {
            Some(resource) if defined.is_none() && resource.definition() != asked => {
                Err(contradicts(resource.definition()))
            }
            _ => Ok((number, asked.slots().filter(|_| defined.is_none()))),
        }
    }

    /// An overloaded node refuses new requests, because the driver cannot take more. Requests from before are not
    /// affected.
    pub fn set_overloaded(&mut self, overloaded: bool) {
        self.admission.set_overloaded(overloaded);
    }

    /// Gives the answer again, if there was one: the client may not have heard it. Without a lease it has to wait, because
    /// another client may have been granted the same meanwhile, with a higher fence.
    pub(super) fn reply_again(&mut self, client: u32, now: Time, out: &mut Effects) {
        let leased = self.is_leased(now) || self.has_defect(Defect::ToldWithoutLease);
        let Some(request) = self.requests.get(client) else { return };
        if let Some(grant) = request.granted {
            if !leased {
                return self.requests.ask_again(client);
            }
            let (session, number) = (self.sessions.id(request.session), request.number);
            out.replies.push(Reply { session, request: number, outcome: RequestOutcome::Granted(grant) });
        }
    }

    /// A request that was not granted at once waits until its timeout.
    fn wait(&mut self, client: u32, now: Time, out: &mut Effects) {
        let Some(request) = self.requests.get(client).filter(|request| request.waits()) else { return };
        if let Err(refusal) = self.usage.allows_to_wait(client) {
            return self.refuse_waiter(client, refusal, now, out);
        }
        let until = match request.timeout {
            Timeout::Never => None,
            Timeout::After(timeout) => Some(now + timeout),
            // Unless all slots are here and taken, one may be free elsewhere.
            Timeout::Try => {
                let taken = self.names.get(request.resource).is_some_and(Resource::all_taken_here);
                Some(if taken { now } else { now + self.config.try_limit })
            }
        };
        if let Some(until) = until {
            self.requests.wait_until(client, until);
            if until <= now {
                return self.stop_waiting(client, now, out);
            }
            self.deadlines.plan(until, Due::Request(client));
        }
        self.emit(client, || Change::Waits, out);
    }

    /// A waiter has reached its timeout.
    pub(super) fn stop_waiting(&mut self, client: u32, now: Time, out: &mut Effects) {
        self.bring_request_into_view(client, now, out);
        let Some(request) = self.requests.get(client).filter(|request| request.waits()) else { return };
        let refusal = if request.timeout == Timeout::Try { Refusal::NotFree } else { Refusal::TimedOut };
        self.refuse_waiter(client, refusal, now, out);
    }

    /// Ends a request, and tells the client why.
    pub(super) fn refuse_waiter(&mut self, client: u32, refusal: Refusal, now: Time, out: &mut Effects) {
        self.bring_request_into_view(client, now, out);
        let Some(request) = self.requests.get(client) else { return };
        let (session, number) = (request.session, request.number);
        if let Some(session) = self.sessions.get_mut(session) {
            session.remove_request(number);
        }
        self.emit_end(client, Change::Released, &refusal, out);
        self.end_request(client, now, out);
        self.reply_with_refusal(session, number, refusal, out);
    }

    /// A client cancels a request. If it was granted meanwhile, the grant is released. The answer is that it
    /// was cancelled, unless there was another before.
    pub fn cancel(
        &mut self,
        id: SessionId,
        request: u64,
        now: Time,
        out: &mut Effects,
    ) -> Result<(), Refusal> {
        self.check_lease(now, out);
        self.sessions.find(id)?.forget_revoked(request);
        if let Some(client) = self.sessions.find(id)?.client(request) {
            self.refuse_waiter(client, Refusal::Cancelled, now, out);
        }
        Ok(())
    }

    /// A client releases what it holds. Doing it twice does no harm; doing it with the fence of another grant is
    /// refused.
    pub fn release(
        &mut self,
        id: SessionId,
        request: u64,
        fence: u64,
        now: Time,
        out: &mut Effects,
    ) -> Result<(), Refusal> {
        self.check_lease(now, out);
        let session = self.sessions.find(id)?;
        let Some(client) = session.client(request) else {
            session.forget_revoked(request);
            let known = request > 0 && request <= session.highest_request;
            return if known { Ok(()) } else { Err(Refusal::NotHeld) };
        };
        match self.requests.get(client).and_then(|request| request.granted) {
            None => Err(Refusal::NotHeld),
            Some(Grant { fence: held, .. }) if held != fence => {
                Err(Refusal::StaleFence { held, named: fence })
            }
            Some(grant) => {
                let session = self.sessions.find(id)?;
                session.remove_request(request);
                session.forget_revoked(request);
                self.emit(client, || Change::Released(grant), out);
                self.end_request(client, now, out);
                Ok(())
            }
        }
    }

    /// A request neither waits nor holds any more. Its session does not list it any more.
    pub(super) fn end_request(&mut self, client: u32, now: Time, out: &mut Effects) {
        // While the request is still there: it may be granted thereby.
        self.bring_request_into_view(client, now, out);
        let Some(request) = self.requests.remove(client) else { return };
        self.usage.end(client);
        self.accounts.give_back(request.account, Counted::Requests, request.want.weight());
        if let Some(until) = request.until {
            self.deadlines.cancel(until, Due::Request(client));
        }
        if let Some(until) = request.revoked {
            self.deadlines.cancel(until, Due::Revoked(client));
        }
        let input = match request.granted {
            Some(_) => {
                if let Some(kind) = self.kind_of(request.resource) {
                    self.metrics.held(kind, now - request.since);
                }
                Input::Exit(client)
            }
            None => Input::Cancel(client),
        };
        self.step(request.resource, input, now, out);
    }

    fn reply_with_refusal(&mut self, session: u64, request: u64, refusal: Refusal, out: &mut Effects) {
        self.counts.refused += 1;
        self.metrics.refused(&refusal);
        // A client that cancelled does not ask again.
        let asks_again = refusal != Refusal::Cancelled && refusal != Refusal::RequestUsed(request);
        if let Some(session) = self.sessions.get_mut(session).filter(|_| asks_again) {
            let replaces = session.is_full_of_refusals();
            if replaces || self.accounts.keep(session.account, Counted::Refusals, 1).is_ok() {
                session.keep_refusal(request, refusal.clone());
            }
        }
        out.replies.push(Reply {
            session: self.sessions.id(session),
            request,
            outcome: RequestOutcome::Refused(refusal),
        });
    }

    fn kind_of(&self, resource: u32) -> Option<Kind> {
        Some(self.names.get(resource)?.definition().kind())
    }

    /// Grants a request that waits: this slot, with this fence, in the group of this number.
    pub(super) fn grant(&mut self, client: ClientId, what: (u32, u64, u64), now: Time, out: &mut Effects) {
        let Granted { session, number, grant, until, resource, waited } =
            self.requests.grant(client, what, now);
        if let Some(kind) = self.kind_of(resource) {
            self.metrics.waited(kind, waited);
        }
        self.usage.granted(client);
        if let Some(until) = until {
            self.deadlines.cancel(until, Due::Request(client));
        }
        if let Some(refusal) = self.withholds(client, grant.fence, now) {
            return self.backlog.add_unwanted(client, session, refusal);
        }
        self.counts.grants += 1;
        self.names.count_grant(resource, now);
        let outcome = RequestOutcome::Granted(grant);
        out.replies.push(Reply { session: self.sessions.id(session), request: number, outcome });
        self.emit(client, || Change::Granted(grant), out);
    }
}
