//! Callers that have not identified themselves: how many may wait, and which of them has to make room.
//!
//! A caller that is not slow has sent its hello before a hundred others come. So when there are too many, the
//! one that has waited longest makes room: of the same address, if that has many, or of the address that has
//! most. However many strangers call and say nothing, a member that calls is heard.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

use sync::IgnorePoison;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::secure::Secured;

/// This many callers may wait.
const MOST: usize = 1024;
/// This many callers of one address may wait.
const MOST_OF_ADDRESS: usize = 256;

/// A connection that was accepted, of a caller that has not said who it is.
pub struct Call {
    /// The connection. Before its handshake it is plain.
    pub stream: Secured,
    /// The address of the caller.
    pub address: SocketAddr,
    /// The bytes that were read already.
    pub read: Vec<u8>,
    /// Counts the caller among those that wait.
    pub entry: Entry,
    /// Tells the caller to make room.
    pub eviction: Eviction,
}

/// The callers that wait.
#[derive(Default)]
pub struct Callers {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    /// The one that has waited longest first.
    queue: VecDeque<Caller>,
    of_address: BTreeMap<IpAddr, usize>,
}

struct Caller {
    number: u64,
    address: IpAddr,
    evict: oneshot::Sender<()>,
}

/// Counts a caller among those that wait, until it is dropped.
pub struct Entry {
    callers: Arc<Callers>,
    number: u64,
}

/// Comes to a caller that has to make room, and to no other.
pub struct Eviction(oneshot::Receiver<()>);

impl Eviction {
    /// Waits for it.
    pub async fn comes(&mut self) {
        if (&mut self.0).await.is_err() {
            // The caller has said who it is, and waits no longer.
            std::future::pending::<()>().await;
        }
    }
}

impl Callers {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().ignore_poison()
    }

    /// Takes a caller in; another may have to make room.
    pub fn admit(self: &Arc<Callers>, stream: TcpStream, address: SocketAddr) -> Call {
        let (evict, eviction) = oneshot::channel();
        let mut waiting = self.waiting();
        waiting.make_room_for(address.ip());
        waiting.last += 1;
        let number = waiting.last;
        waiting.queue.push_back(Caller { number, address: address.ip(), evict });
        *waiting.of_address.entry(address.ip()).or_default() += 1;
        let entry = Entry { callers: self.clone(), number };
        Call { stream: stream.into(), address, read: Vec::new(), entry, eviction: Eviction(eviction) }
    }
}

impl Waiting {
    fn make_room_for(&mut self, address: IpAddr) {
        let crowd = if self.of_address.get(&address).is_some_and(|count| *count >= MOST_OF_ADDRESS) {
            Some(address)
        } else if self.queue.len() >= MOST {
            self.of_address.iter().max_by_key(|(_, count)| **count).map(|(address, _)| *address)
        } else {
            None
        };
        let oldest = crowd.and_then(|crowd| self.queue.iter().position(|caller| caller.address == crowd));
        if let Some(caller) = oldest.and_then(|entry| self.remove(entry)) {
            // It fails only if the caller is gone.
            _ = caller.evict.send(());
        }
    }

    fn remove(&mut self, entry: usize) -> Option<Caller> {
        let caller = self.queue.remove(entry)?;
        match self.of_address.get_mut(&caller.address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => _ = self.of_address.remove(&caller.address),
        }
        Some(caller)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut waiting = self.callers.waiting();
        let entry = waiting.queue.binary_search_by_key(&self.number, |caller| caller.number);
        entry.ok().and_then(|entry| waiting.remove(entry));
    }
}
