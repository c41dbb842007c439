//! How much of each quota is used at this node.

use std::collections::BTreeMap;
use std::sync::Arc;

use algorithms::ClientId;

use crate::auth::{Limit, Quota, QuotaOf};
use crate::refusal::{QuotaUsed, Refusal};

/// How much of each quota is used. Only principals and namespaces with a quota are counted: without quotas this costs a branch.
#[derive(Clone, Default)]
pub(crate) struct Usage {
    quotas: BTreeMap<QuotaOf, (Quota, Used)>,
    /// The requests that count in a quota, with those quotas.
    requests: BTreeMap<ClientId, Counts>,
}

#[derive(Clone, Default)]
struct Used {
    sessions: u64,
    /// Requests that hold or wait: each is for one slot.
    slots: u64,
    waiters: u64,
    /// The requests for each resource.
    names: BTreeMap<u32, u64>,
}

#[derive(Clone)]
struct Counts {
    of: Vec<QuotaOf>,
    resource: u32,
    waits: bool,
}

/// Whose quotas something counts in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Of<'a> {
    pub(crate) principal: Option<&'a Arc<str>>,
    pub(crate) name: &'a str,
}

impl Of<'_> {
    fn quotas(self) -> impl Iterator<Item = QuotaOf> {
        let namespace = self.name.split_once('/').map(|(first, _)| QuotaOf::Namespace(first.into()));
        self.principal.map(|principal| QuotaOf::Principal(principal.clone())).into_iter().chain(namespace)
    }
}

impl Usage {
    /// From now on these quotas count, of which nothing is used.
    pub(crate) fn new(quotas: &BTreeMap<QuotaOf, Quota>) -> Usage {
        let quotas = quotas.iter().map(|(of, quota)| (of.clone(), (*quota, Used::default())));
        Usage { quotas: quotas.collect(), requests: BTreeMap::new() }
    }

    /// Whether there are no quotas.
    pub(crate) fn is_empty(&self) -> bool {
        self.quotas.is_empty()
    }

    /// Whether the quotas that count are these.
    pub(crate) fn is_of(&self, quotas: &BTreeMap<QuotaOf, Quota>) -> bool {
        self.quotas.len() == quotas.len()
            && self.quotas.iter().zip(quotas).all(|(own, other)| (own.0, &own.1.0) == other)
    }

    /// Refuses one more session of a principal than its quota allows.
    pub(crate) fn allows_session(&self, principal: Option<&Arc<str>>) -> Result<(), Refusal> {
        for (of, quota, used) in self.found(Of { principal, name: "" }) {
            within(used.sessions, quota.sessions, of, Limit::Sessions)?;
        }
        Ok(())
    }

    /// Refuses one more request than a quota allows; `resource` is the number of its resource, if the node knows it.
    pub(crate) fn allows_request(&self, of: Of<'_>, resource: Option<u32>) -> Result<(), Refusal> {
        for (of, quota, used) in self.found(of) {
            within(used.slots, quota.slots, of.clone(), Limit::Slots)?;
            if resource.is_none_or(|resource| !used.names.contains_key(&resource)) {
                within(used.names.len() as u64, quota.names, of, Limit::Names)?;
            }
        }
        Ok(())
    }

    /// Refuses a request that waits if more wait than a quota allows.
    pub(crate) fn allows_to_wait(&self, client: ClientId) -> Result<(), Refusal> {
        let of = self.requests.get(&client).map_or(&[][..], |counts| &counts.of);
        for of in of {
            if let Some((quota, used)) = self.quotas.get(of) {
                within(used.waiters.saturating_sub(1), quota.waiters, of.clone(), Limit::Waiters)?;
            }
        }
        Ok(())
    }

    /// A session was opened (`true`) or has ended.
    pub(crate) fn count_session(&mut self, principal: Option<&Arc<str>>, opened: bool) {
        if self.is_empty() {
            return;
        }
        let Some(principal) = principal else { return };
        if let Some((_, used)) = self.quotas.get_mut(&QuotaOf::Principal(principal.clone())) {
            used.sessions = if opened { used.sessions + 1 } else { used.sessions.saturating_sub(1) };
        }
    }

    /// A request begins to wait, or to hold.
    pub(crate) fn begin(&mut self, client: ClientId, of: Of<'_>, (resource, waits): (u32, bool)) {
        let of: Vec<QuotaOf> = of.quotas().filter(|of| self.quotas.contains_key(of)).collect();
        if of.is_empty() {
            return;
        }
        for of in &of {
            if let Some((_, used)) = self.quotas.get_mut(of) {
                used.slots += 1;
                used.waiters += u64::from(waits);
                *used.names.entry(resource).or_default() += 1;
            }
        }
        self.requests.insert(client, Counts { of, resource, waits });
    }

    /// A request that waited holds.
    pub(crate) fn granted(&mut self, client: ClientId) {
        if self.is_empty() {
            return;
        }
        let Some(counts) = self.requests.get_mut(&client) else { return };
        counts.waits = false;
        for of in &counts.of {
            if let Some((_, used)) = self.quotas.get_mut(of) {
                used.waiters = used.waiters.saturating_sub(1);
            }
        }
    }

    /// A request neither waits nor holds any more.
    pub(crate) fn end(&mut self, client: ClientId) {
        if self.is_empty() {
            return;
        }
        let Some(Counts { of, resource, waits }) = self.requests.remove(&client) else { return };
        for of in &of {
            let Some((_, used)) = self.quotas.get_mut(of) else { continue };
            used.slots = used.slots.saturating_sub(1);
            used.waiters = used.waiters.saturating_sub(u64::from(waits));
            if let Some(requests) = used.names.get_mut(&resource) {
                *requests -= 1;
                if *requests == 0 {
                    used.names.remove(&resource);
                }
            }
        }
    }

    fn found(&self, of: Of<'_>) -> impl Iterator<Item = (QuotaOf, &Quota, &Used)> {
        let quotas = if self.is_empty() { None } else { Some(of.quotas()) };
        quotas.into_iter().flatten().filter_map(|of| {
            let (quota, used) = self.quotas.get(&of)?;
            Some((of, quota, used))
        })
    }
}

fn within(used: u64, most: Option<u64>, of: QuotaOf, limit: Limit) -> Result<(), Refusal> {
    match most {
        Some(most) if used >= most => Err(Refusal::Quota(Box::new(QuotaUsed { of, limit, most }))),
        _ => Ok(()),
    }
}
