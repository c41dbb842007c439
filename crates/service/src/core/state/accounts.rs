//! What is kept for each client, and for all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limits::{Bound, Limits};
use crate::refusal::Refusal;
use crate::slab::Slab;

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Sessions,
    LongSessions,
    Requests,
    Refusals,
    Slots,
}

const KINDS: usize = 5;

/// The account of a client, by which its sessions and requests find it without a look at its address. Clients in this process have
/// none: they count only in the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccountId(u32);

/// How much is kept for each address, and in all.
///
/// An account exists as long as anything is kept for its address. The sums are those of all accounts and of
/// clients in this process.
#[derive(Clone)]
pub(crate) struct Accounts {
    limits: [(Most, Most); KINDS],
    sums: [u64; KINDS],
    accounts: Slab<Account>,
    by_host: BTreeMap<Arc<str>, u32>,
}

/// A limit, and the bound to name when it is reached.
type Most = (u64, Bound);

#[derive(Clone)]
struct Account {
    host: Arc<str>,
    kept: [u64; KINDS],
}

impl Accounts {
    pub(crate) fn new(limits: &Limits) -> Accounts {
        Accounts {
            limits: [
                ((limits.sessions, Bound::Sessions), (limits.client_sessions, Bound::ClientSessions)),
                (
                    (limits.long_sessions, Bound::LongSessions),
                    (limits.client_long_sessions, Bound::ClientLongSessions),
                ),
                ((limits.requests, Bound::Requests), (limits.client_requests, Bound::ClientRequests)),
                ((limits.refusals, Bound::Refusals), (limits.client_refusals, Bound::ClientRefusals)),
                ((limits.slots, Bound::Slots), (limits.client_slots, Bound::ClientSlots)),
            ],
            sums: [0; KINDS],
            accounts: Slab::new(),
            by_host: BTreeMap::new(),
        }
    }

    /// The account of an address, made if need be. Something has to be kept for it, or [`Accounts::close_if_empty`] called.
    pub(crate) fn of(&mut self, host: &str) -> AccountId {
        if let Some(number) = self.by_host.get(host) {
            return AccountId(*number);
        }
        let host: Arc<str> = host.into();
        let number = self.accounts.insert(Account { host: host.clone(), kept: [0; KINDS] });
        self.by_host.insert(host, number);
        AccountId(number)
    }

    /// Keeps more for a client; or refuses, and keeps nothing.
    pub(crate) fn keep(&mut self, who: Option<AccountId>, what: Counted, more: u64) -> Result<(), Refusal> {
        let index = what as usize;
        let (all, each) = self.limits[index];
        let within = |kept: u64, (most, bound): Most| {
            let fits = kept.checked_add(more).is_some_and(|kept| kept <= most);
            if fits { Ok(()) } else { Err(Refusal::Bound { bound, most }) }
        };
        let account = who.and_then(|AccountId(number)| self.accounts.get_mut(number));
        if let Some(account) = &account {
            within(account.kept[index], each)?;
        }
        within(self.sums[index], all)?;
        if let Some(account) = account {
            account.kept[index] += more;
        }
        self.sums[index] += more;
        Ok(())
    }

    /// Keeps less for a client.
    pub(crate) fn give_back(&mut self, who: Option<AccountId>, what: Counted, less: u64) {
        let index = what as usize;
        self.sums[index] = self.sums[index].saturating_sub(less);
        let Some(AccountId(number)) = who else { return };
        if let Some(account) = self.accounts.get_mut(number) {
            account.kept[index] = account.kept[index].saturating_sub(less);
        }
        self.close_if_empty(AccountId(number));
    }

    /// Closes an account for which nothing is kept.
    pub(crate) fn close_if_empty(&mut self, AccountId(number): AccountId) {
        let empty = self.accounts.get(number).is_some_and(|account| account.kept == [0; KINDS]);
        if empty && let Some(account) = self.accounts.remove(number) {
            self.by_host.remove(&account.host);
        }
    }

    /// How much is kept in all.
    #[cfg(test)]
    fn sum(&self, what: Counted) -> u64 {
        self.sums[what as usize]
    }

    /// For how many addresses anything is kept.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.accounts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> Accounts {
        Accounts::new(&Limits { requests: 5, client_requests: 3, ..Limits::default() })
    }

    fn bound(bound: Bound, most: u64) -> Result<(), Refusal> {
        Err(Refusal::Bound { bound, most })
    }

    #[test]
    fn one_client_does_not_take_everything() {
        let mut accounts = accounts();
        let (one, other) = (accounts.of("one"), accounts.of("other"));
        assert_eq!(accounts.keep(Some(one), Counted::Requests, 3), Ok(()));
        assert_eq!(accounts.keep(Some(one), Counted::Requests, 1), bound(Bound::ClientRequests, 3));
        assert_eq!(accounts.keep(Some(other), Counted::Requests, 2), Ok(()));
        assert_eq!(accounts.keep(Some(other), Counted::Requests, 1), bound(Bound::Requests, 5));
        assert_eq!(accounts.keep(None, Counted::Requests, 1), bound(Bound::Requests, 5));
        accounts.give_back(Some(one), Counted::Requests, 1);
        assert_eq!(accounts.keep(Some(other), Counted::Requests, u64::MAX), bound(Bound::ClientRequests, 3));
        assert_eq!((accounts.sum(Counted::Requests), accounts.keep(None, Counted::Requests, 1)), (4, Ok(())));
    }

    #[test]
    fn accounts_of_clients_that_have_gone_cost_nothing() {
        let mut accounts = accounts();
        let one = accounts.of("one");
        assert_eq!((accounts.of("one"), accounts.len()), (one, 1));
        accounts.keep(Some(one), Counted::Sessions, 1).unwrap();
        accounts.keep(Some(one), Counted::Requests, 1).unwrap();
        accounts.give_back(Some(one), Counted::Requests, 1);
        assert_eq!(accounts.len(), 1);
        accounts.give_back(Some(one), Counted::Sessions, 1);
        assert_eq!((accounts.len(), accounts.by_host.len()), (0, 0));
    }
}
