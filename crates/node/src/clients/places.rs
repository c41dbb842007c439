//! How many clients may be connected to a node, by the native protocol and by others.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use service::Refusal;
use service::limits::{Bound, Limits};
use sync::IgnorePoison;

/// So many descriptors are not for clients.
const KEPT_DESCRIPTORS: u64 = 512;

/// What connections are counted by: an address, or a user of this machine.
pub(crate) type Host = (Option<IpAddr>, Option<u32>);

/// How many clients are connected, in all and from each address.
pub(crate) struct Places {
    most: u64,
    most_of_address: u64,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    in_all: u64,
    from: BTreeMap<Host, u64>,
    /// How often there was no place, because of which bound.
    refused: BTreeMap<&'static str, u64>,
}

/// The place of one client. It is free again when this is dropped.
pub struct Place {
    places: Arc<Places>,
    host: Host,
}

impl Places {
    /// Nobody is connected yet.
    pub(crate) fn new(limits: &Limits) -> Arc<Places> {
        let most = limits.connections.min(descriptors_for_clients());
        Arc::new(Places { most, most_of_address: limits.client_connections, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().ignore_poison()
    }

    /// Takes a place for a client, if there is one.
    pub(crate) fn take(self: &Arc<Places>, host: Host) -> Result<Place, Refusal> {
        let mut taken = self.taken();
        let from = taken.from.get(&host).copied().unwrap_or(0);
        let (bound, most) = match () {
            () if taken.in_all >= self.most => (Bound::Connections, self.most),
            () if from >= self.most_of_address => (Bound::ClientConnections, self.most_of_address),
            () => {
                taken.in_all += 1;
                taken.from.insert(host, from + 1);
                return Ok(Place { places: self.clone(), host });
            }
        };
        *taken.refused.entry(bound.field()).or_default() += 1;
        Err(Refusal::Bound { bound, most })
    }

    /// How many clients are connected.
    pub(crate) fn count(&self) -> u64 {
        self.taken().in_all
    }

    /// How many clients found no place, by the bound that was reached.
    pub(crate) fn refused(&self) -> BTreeMap<&'static str, u64> {
        self.taken().refused.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.in_all -= 1;
        match taken.from.get_mut(&self.host) {
            Some(from) if *from > 1 => *from -= 1,
            _ => _ = taken.from.remove(&self.host),
        }
    }
}

/// How many connections of clients the operating system lets this process have: some are kept for peers, disks and others.
fn descriptors_for_clients() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.map_or(u64::MAX, |most| most.saturating_sub(KEPT_DESCRIPTORS).max(most / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_in_all_and_for_an_address_and_come_free() {
        let places = Places::new(&Limits { connections: 3, client_connections: 2, ..Limits::default() });
        let (here, there): (Host, Host) = ((Some([127, 0, 0, 1].into()), None), (None, Some(7)));
        let taken = [places.take(here), places.take(here)].map(Result::unwrap);
        let refused = |host| places.take(host).err();
        let bound = |bound, most| Some(Refusal::Bound { bound, most });
        assert_eq!(refused(here), bound(Bound::ClientConnections, 2));
        let third = places.take(there).unwrap();
        assert_eq!(refused(there), bound(Bound::Connections, 3));
        assert_eq!(places.refused(), [("client_connections", 1), ("connections", 1)].into());
        drop(third);
        drop(taken);
        assert_eq!(places.count(), 0);
        assert!(places.taken().from.is_empty());
    }
}
