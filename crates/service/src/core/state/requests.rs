//! The clients that wait or hold at a node.

use std::collections::BTreeSet;
use std::time::Duration;

use algorithms::ClientId;

use super::AccountId;
use crate::core::Timeout;
use crate::grant::Grant;
use crate::slab::Slab;
use crate::time::Time;
use crate::want::Want;

/// A client that waits or holds.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The number of its session.
    pub(crate) session: u64,
    /// The account that it counts in.
    pub(crate) account: Option<AccountId>,
    /// The client's number for the request.
    pub(crate) number: u64,
    /// The number of the resource.
    pub(crate) resource: u32,
    /// When it asked; once it holds, when that was granted.
    pub(crate) since: Time,
    /// When it stops waiting, if it does.
    pub(crate) until: Option<Time>,
    pub(crate) timeout: Timeout,
    pub(crate) want: Want,
    /// What it holds, once it does.
    pub(crate) granted: Option<Grant>,
    /// It asked for this many slots although the name was not defined, and wants no other number.
    pub(crate) insists: Option<u32>,
    /// What it holds was revoked, and is free then at the latest.
    pub(crate) revoked: Option<Time>,
}

impl Request {
    /// Whether it waits; otherwise it holds.
    pub(crate) fn waits(&self) -> bool {
        self.granted.is_none()
    }
}

/// All clients that wait or hold, by small numbers.
///
/// A request first waits and then holds, never the other way round, and is granted once. Only one that waits has a
/// time at which it stops waiting, and only one that holds has a time at which it is revoked. Requests can be read
/// from outside, but change only here.
///
/// The requests of each resource are linked, so that finding them does not take a look at all others: `of` has the
/// first of each resource, by its number. It grows to the highest number of a resource that was asked for, at 8 bytes
/// each.
#[derive(Clone)]
pub(crate) struct Requests {
    all: Slab<Linked>,
    /// How many of them wait.
    waiters: usize,
    of: Vec<OfResource>,
    /// Granted requests whose clients asked again while the node had no lease: they are answered when it has
    /// one.
    asked_again: BTreeSet<ClientId>,
}

/// A request, with the numbers of those before and after it that are about the same resource.
#[derive(Clone)]
struct Linked {
    request: Request,
    before: u32,
    after: u32,
}

/// No request.
const NONE: u32 = u32::MAX;

/// The requests of a resource.
#[derive(Clone, Copy)]
struct OfResource {
    first: u32,
    /// How many of them wait.
    waiters: u32,
}

/// What [`Requests::grant`] has changed.
pub(crate) struct Granted {
    pub(crate) session: u64,
    pub(crate) number: u64,
    pub(crate) grant: Grant,
    /// When it would have stopped waiting.
    pub(crate) until: Option<Time>,
    pub(crate) resource: u32,
    /// How long it has waited.
    pub(crate) waited: Duration,
}

impl Requests {
    pub(crate) fn new() -> Requests {
        Requests { all: Slab::new(), waiters: 0, of: Vec::new(), asked_again: BTreeSet::new() }
    }

    /// How many wait or hold.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn get(&self, client: ClientId) -> Option<&Request> {
        Some(&self.all.get(client)?.request)
    }

    fn get_mut(&mut self, client: ClientId) -> Option<&mut Request> {
        Some(&mut self.all.get_mut(client)?.request)
    }

    /// All, in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ClientId, &Request)> {
        self.all.iter().map(|(client, linked)| (client, &linked.request))
    }

    /// How many wait.
    pub(crate) fn waiters(&self) -> usize {
        self.waiters
    }

    /// How many wait for a resource.
    pub(crate) fn waiters_of(&self, resource: u32) -> u32 {
        self.of.get(resource as usize).map_or(0, |of| of.waiters)
    }

    /// The numbers of all that wait.
    pub(crate) fn waiting(&self) -> Vec<ClientId> {
        self.iter().filter(|(_, request)| request.waits()).map(|(client, _)| client).collect()
    }

    /// The numbers of all that wait for a resource or hold something of it, upwards.
    pub(crate) fn of_resource(&self, resource: u32) -> Vec<ClientId> {
        let mut clients = Vec::new();
        let mut next = self.first(resource);
        while let Some(linked) = self.all.get(next) {
            clients.push(next);
            next = linked.after;
        }
        clients.sort_unstable();
        clients
    }

    /// The numbers of those that wait for a resource or hold something of it and are such, in no particular order.
    pub(crate) fn of_resource_where(
        &self,
        resource: u32,
        is_one: impl Fn(&Request) -> bool,
    ) -> impl Iterator<Item = (ClientId, &Request)> {
        let mut next = self.first(resource);
        let all = std::iter::from_fn(move || {
            let (client, linked) = (next, self.all.get(next)?);
            next = linked.after;
            Some((client, &linked.request))
        });
        all.filter(move |(_, request)| is_one(request))
    }

    /// The first that wait for a resource or hold something of it, behind this number, in the order of their numbers: not more
    /// than `most` of them, and not more than `looks` requests are looked at. Returns where to go on, if there may be more.
    pub(crate) fn of_resource_after(
        &self,
        resource: u32,
        after: Option<ClientId>,
        (most, looks): (usize, usize),
    ) -> (Vec<(ClientId, &Request)>, Option<ClientId>) {
        let is_behind = |client: ClientId| after.is_none_or(|after| after < client);
        let (mut found, mut next) = (Vec::new(), self.first(resource));
        for _ in 0..looks {
            let Some(linked) = self.all.get(next) else {
                found.sort_unstable_by_key(|(client, _)| *client);
                let more = found.len() > most;
                found.truncate(most);
                let last = found.last().map(|(client, _)| *client);
                return (found, last.filter(|_| more));
            };
            if is_behind(next) {
                found.push((next, &linked.request));
            }
            next = linked.after;
        }
        // There are so many that scanning a part of all requests is quicker than looking at all of these.
        found.clear();
        let begin = after.map_or(0, |after| after.saturating_add(1));
        for client in (begin..self.all.end()).take(looks) {
            found.extend(self.get(client).filter(|it| it.resource == resource).map(|it| (client, it)));
            if found.len() == most {
                return (found, Some(client));
            }
        }
        let last = begin.saturating_add(looks as u32) - 1;
        (found, Some(last).filter(|last| last + 1 < self.all.end()))
    }

    /// Takes note of a request that waits.
    pub(crate) fn insert(&mut self, request: Request) -> ClientId {
        assert!(request.waits() && request.revoked.is_none(), "a request begins with waiting");
        let index = request.resource as usize;
        if self.of.len() <= index {
            self.of.resize(index + 1, OfResource { first: NONE, waiters: 0 });
        }
        let after = self.of[index].first;
        let client = self.all.insert(Linked { request, before: NONE, after });
        self.waiters += 1;
        self.of[index] = OfResource { first: client, waiters: self.of[index].waiters + 1 };
        if let Some(next) = self.all.get_mut(after) {
            next.before = client;
        }
        client
    }

    /// A client neither waits nor holds any more.
    pub(crate) fn remove(&mut self, client: ClientId) -> Option<Request> {
        let Linked { request, before, after } = self.all.remove(client)?;
        self.asked_again.remove(&client);
        let of = &mut self.of[request.resource as usize];
        self.waiters -= usize::from(request.waits());
        of.waiters -= u32::from(request.waits());
        match self.all.get_mut(before) {
            Some(previous) => previous.after = after,
            None => of.first = after,
        }
        if let Some(next) = self.all.get_mut(after) {
            next.before = before;
        }
        Some(request)
    }

    /// The client of a request asks again, and cannot be answered now.
    pub(crate) fn ask_again(&mut self, client: ClientId) {
        self.asked_again.insert(client);
    }

    /// The requests whose clients have asked again and were not answered.
    pub(crate) fn asked_again(&self) -> &BTreeSet<ClientId> {
        &self.asked_again
    }

    /// The same. They are answered now.
    pub(crate) fn take_asked_again(&mut self) -> BTreeSet<ClientId> {
        std::mem::take(&mut self.asked_again)
    }

    fn first(&self, resource: u32) -> u32 {
        self.of.get(resource as usize).map_or(NONE, |of| of.first)
    }

    /// A request that waits stops to do so at this time.
    pub(crate) fn wait_until(&mut self, client: ClientId, until: Time) {
        if let Some(request) = self.get_mut(client).filter(|request| request.waits()) {
            request.until = Some(until);
        }
    }

    /// A request holds from now on: this slot, with this fence, in the group of this number.
    pub(crate) fn grant(
        &mut self,
        client: ClientId,
        (slot, fence, group): (u32, u64, u64),
        now: Time,
    ) -> Granted {
        let request = self.get_mut(client).expect("only requests that wait are granted");
        assert!(request.granted.is_none(), "a request is granted twice");
        let grant = Grant { slot, fence, group: request.want.index_of_group(group) };
        request.granted = Some(grant);
        let (resource, waited) = (request.resource, now - request.since);
        request.since = now;
        let (session, number, until) = (request.session, request.number, request.until.take());
        self.waiters -= 1;
        self.of[resource as usize].waiters -= 1;
        Granted { session, number, grant, until, resource, waited }
    }

    /// What a request holds is free at this time at the latest. Returns the time that was set before.
    pub(crate) fn revoke(&mut self, client: ClientId, until: Time) -> Option<Time> {
        self.get_mut(client).filter(|request| !request.waits())?.revoked.replace(until)
    }

    /// The number of slots that a request asked for has been defined: it may change from now on.
    pub(crate) fn accept_any_size(&mut self, client: ClientId) {
        if let Some(request) = self.get_mut(client) {
            request.insists = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(resource: u32) -> Request {
        Request {
            session: 1,
            account: None,
            number: 1,
            resource,
            since: Time(1),
            until: None,
            timeout: Timeout::Never,
            want: Want::Slot,
            granted: None,
            insists: None,
            revoked: None,
        }
    }

    #[test]
    fn a_resource_finds_its_own_requests_in_whatever_order_they_go() {
        for first_to_go in 0..3 {
            let mut requests = Requests::new();
            let clients: Vec<u32> = [5, 2, 5, 5].map(|resource| requests.insert(request(resource))).into();
            assert_eq!((requests.of_resource(5), requests.of_resource(2)), (vec![0, 2, 3], vec![1]));
            let mut left = vec![clients[0], clients[2], clients[3]];
            left.rotate_left(first_to_go);
            while let Some(gone) = left.pop() {
                assert!(requests.remove(gone).is_some() && requests.remove(gone).is_none());
                assert_eq!(requests.waiters_of(5) as usize, left.len());
                let mut sorted = left.clone();
                sorted.sort_unstable();
                assert_eq!(requests.of_resource(5), sorted);
            }
            assert_eq!(
                (requests.of_resource(2), requests.of_resource(9), requests.len()),
                (vec![1], vec![], 1)
            );
        }
    }

    #[test]
    fn the_requests_of_a_resource_are_found_in_parts_and_each_once() {
        let mut requests = Requests::new();
        (0..3_000).for_each(|number| _ = requests.insert(request(u32::from(number % 30 == 0))));
        // However few are looked at, and also if most of those are of other resources.
        for (most, looks) in [(1, 1), (7, 10), (1_000, 64), (10, 100_000)] {
            for resource in [0, 1, 2] {
                let (mut told, mut after) = (Vec::new(), None);
                loop {
                    let (found, next) = requests.of_resource_after(resource, after, (most, looks));
                    assert!(found.len() <= most.min(looks));
                    told.extend(found.iter().map(|(client, _)| *client));
                    assert!(next.is_none_or(|next| after < Some(next)), "it goes on");
                    after = next;
                    if after.is_none() {
                        break;
                    }
                }
                assert_eq!(told, requests.of_resource(resource), "{most} of {looks}");
            }
        }
        assert_eq!(requests.of_resource_after(0, Some(u32::MAX), (10, 10)).1, None);
    }

    #[test]
    fn a_request_that_holds_waits_no_longer() {
        let mut requests = Requests::new();
        let client = requests.insert(request(0));
        assert_eq!(requests.revoke(client, Time(3)), None);
        assert_eq!(requests.get(client).unwrap().revoked, None, "it holds nothing yet");
        requests.wait_until(client, Time(9));
        assert_eq!((requests.waiting(), requests.waiters(), requests.waiters_of(0)), (vec![client], 1, 1));
        let granted = requests.grant(client, (0, 7, 0), Time(2));
        assert_eq!(granted.until, Some(Time(9)));
        requests.wait_until(client, Time(9));
        let request = requests.get(client).unwrap();
        assert_eq!((request.until, request.since, requests.waiting()), (None, Time(2), vec![]));
        assert_eq!((requests.waiters(), requests.waiters_of(0)), (0, 0));
        assert_eq!(
            (requests.revoke(client, Time(3)), requests.revoke(client, Time(4))),
            (None, Some(Time(3)))
        );
    }

    #[test]
    #[should_panic(expected = "granted twice")]
    fn a_request_is_granted_once() {
        let mut requests = Requests::new();
        let client = requests.insert(request(0));
        requests.grant(client, (0, 7, 0), Time(2));
        requests.grant(client, (0, 8, 0), Time(2));
    }
}
