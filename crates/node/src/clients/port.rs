//! The port for clients: how many may be connected.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mio::Interest;
use mio::net::{TcpListener, TcpStream};
use service::frame;
use service::protocol::{GREETING, Welcome};

use super::ConnectionLimits;
use super::conversation::Conversation;
use crate::host::Shared;
use crate::reactor::{Next, Ready, Round, Source};

/// So many clients are let in in one visit.
const AT_ONCE: usize = 64;
/// How long to wait when the operating system has no connections left to give.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// Where clients connect.
pub(crate) struct ClientPort {
    shared: Arc<Shared>,
    listener: TcpListener,
    places: Arc<Places>,
    /// The operating system had no connection to give: it is asked again then.
    exhausted: Option<Instant>,
}

/// How many clients are connected, in all and from each address.
pub(super) struct Places {
    limits: ConnectionLimits,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    in_all: usize,
    from: BTreeMap<IpAddr, usize>,
}

impl Places {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a client at this address, if there is one.
    fn take(&self, address: IpAddr) -> Result<(), String> {
        let ConnectionLimits { connections, per_address, .. } = self.limits;
        let mut taken = self.taken();
        let from = taken.from.get(&address).copied().unwrap_or(0);
        if taken.in_all >= connections {
            return Err(format!("this node serves {connections} connections at most, and has as many"));
        }
        if from >= per_address {
            return Err(format!(
                "this node serves {per_address} connections of one address at most, and has as many of {address}"
            ));
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
    pub(crate) fn new(
        listener: tokio::net::TcpListener,
        limits: ConnectionLimits,
        shared: &Arc<Shared>,
    ) -> io::Result<ClientPort> {
        let listener = TcpListener::from_std(listener.into_std()?);
        let places = Arc::new(Places { limits, taken: Mutex::default() });
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
            Err(why) => turn_away(&stream, why),
        }
    }
}

/// Tells a client why it is not served, without waiting.
fn turn_away(mut stream: &TcpStream, why: String) {
    let mut bytes = Vec::new();
    frame::put(GREETING, &Welcome::Full(why), &mut bytes);
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
