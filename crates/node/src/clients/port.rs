//! The port for clients: how many may be connected.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use mio::Interest;
use mio::net::{TcpListener, TcpStream};
use rustix::net::sockopt;
use service::Refusal;
use service::frame;
use service::limits::{Bound, Limits};
use service::protocol::{GREETING, Welcome};

use super::conversation::Conversation;
use crate::host::Shared;
use sync::IgnorePoison;
use transport::reactor::{Next, Ready, Round, Source};

/// This many clients are accepted in one visit.
const AT_ONCE: usize = 64;
/// So much of what a client does not read is in the operating system's hands, or twice that. By itself the system takes some
/// megabytes for each connection, and all of it is work for a client that may never read it.
const SEND_BUFFER: usize = 128 << 10;
/// So many descriptors are not for clients.
const KEPT_DESCRIPTORS: u64 = 512;
/// How long to wait when the operating system has no connections left to give.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// Where clients connect.
pub(crate) struct ClientPort {
    shared: Arc<Shared>,
    listener: TcpListener,
    places: Arc<Places>,
    /// The operating system had no connection to give: it is asked again at this time.
    exhausted: Option<Instant>,
}

/// How many clients are connected, in all and from each address.
pub(super) struct Places {
    most: u64,
    most_of_address: u64,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    in_all: u64,
    from: BTreeMap<IpAddr, u64>,
}

impl Places {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().ignore_poison()
    }

    /// Takes a place for a client at this address, if there is one.
    fn take(&self, address: IpAddr) -> Result<(), Refusal> {
        let mut taken = self.taken();
        let from = taken.from.get(&address).copied().unwrap_or(0);
        if taken.in_all >= self.most {
            return Err(Refusal::Bound { bound: Bound::Connections, most: self.most });
        }
        if from >= self.most_of_address {
            return Err(Refusal::Bound { bound: Bound::ClientConnections, most: self.most_of_address });
        }
        taken.in_all += 1;
        taken.from.insert(address, from + 1);
        Ok(())
    }

    /// A client at this address is gone.
    pub(super) fn free(&self, address: IpAddr) {
        let mut taken = self.taken();
        taken.in_all -= 1;
        match taken.from.get_mut(&address) {
            Some(from) if *from > 1 => *from -= 1,
            _ => _ = taken.from.remove(&address),
        }
    }
}

impl ClientPort {
    pub(crate) fn new(listener: tokio::net::TcpListener, shared: &Arc<Shared>) -> io::Result<ClientPort> {
        let listener = TcpListener::from_std(listener.into_std()?);
        // Connections have it from the listener. Without it a client that reads nothing costs more, and nothing else changes.
        _ = sockopt::set_socket_send_buffer_size(&listener, SEND_BUFFER);
        let Limits { connections, client_connections, .. } = shared.limits;
        let most = connections.min(descriptors_for_clients());
        let places = Arc::new(Places { most, most_of_address: client_connections, taken: Mutex::default() });
        Ok(ClientPort { shared: shared.clone(), listener, places, exhausted: None })
    }

    fn welcome(&self, stream: TcpStream, address: IpAddr, round: &mut Round<'_>) {
        // Frames are batched already; waiting for more would only delay them. Without it a client is served all the same.
        _ = stream.set_nodelay(true);
        match self.places.take(address) {
            Ok(()) => {
                let conversation = Conversation::new(&self.shared, stream, address, self.places.clone());
                round.newcomers.push(Box::new(conversation));
            }
            Err(refusal) => turn_away(&stream, refusal),
        }
    }
}

/// How many connections of clients the operating system lets this process have: some are kept for peers, disks and others.
fn descriptors_for_clients() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.map_or(u64::MAX, |most| most.saturating_sub(KEPT_DESCRIPTORS).max(most / 2))
}

/// Tells a client why it is not served, without waiting.
fn turn_away(mut stream: &TcpStream, refusal: Refusal) {
    let mut bytes = Vec::new();
    frame::put(GREETING, &Welcome::Refused(refusal), &mut bytes);
    // A fresh connection takes a few bytes at once, or it is broken.
    _ = stream.write(&bytes);
}

impl Source for ClientPort {
    fn socket(&mut self) -> Option<(&mut dyn mio::event::Source, Interest)> {
        Some((&mut self.listener, Interest::READABLE))
    }

    fn visit(&mut self, _ready: Ready, round: &mut Round<'_>) -> Next {
        self.exhausted = None;
        for _ in 0..AT_ONCE {
            match self.listener.accept() {
                Ok((stream, from)) => self.welcome(stream, from.ip(), round),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Next::Wait,
                Err(error) if is_of_caller(&error) => {}
                Err(_) => {
                    self.exhausted = Some(round.now + EXHAUSTED);
                    return Next::Wait;
                }
            }
        }
        Next::Again
    }

    fn due(&self) -> Option<Instant> {
        self.exhausted
    }

    fn close(self: Box<Self>, _round: &mut Round<'_>) {}
}

/// Whether a caller gave up before it was accepted, which says nothing about the next.
fn is_of_caller(error: &io::Error) -> bool {
    let kinds =
        [io::ErrorKind::ConnectionAborted, io::ErrorKind::ConnectionReset, io::ErrorKind::Interrupted];
    kinds.contains(&error.kind())
}
