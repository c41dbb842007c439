//! The ports for clients: TCP, encrypted or not, and a Unix socket. How many clients may be connected.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use mio::Interest;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use rustix::net::sockopt;
use security::{Callers, Holder, Identity};
use service::Refusal;
use service::auth::{Evidence, Secret};
use service::frame;
use service::limits::{Bound, Limits};
use service::protocol::{GREETING, Welcome};

use super::conversation::{Conversation, GREETING_LIMIT};
use crate::host::Shared;
use sync::IgnorePoison;
use tokio::time::timeout;
use transport::Secured;
use transport::reactor::{Next, Ready, Round, Source};
use transport::stream::{Socket, Stream};

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
    listener: Listener,
    places: Arc<Places>,
    /// The operating system had no connection to give: it is asked again at this time.
    exhausted: Option<Instant>,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Where a client is, and what it has shown of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// Its address, unless it is a process of this machine that uses the Unix socket.
    pub(super) address: Option<SocketAddr>,
    /// Its user, if it uses the Unix socket.
    pub(super) user: Option<u32>,
    /// Who it is by its certificate.
    pub(super) identity: Option<Identity>,
}

impl Origin {
    /// What connections are counted by.
    fn place(&self) -> (Option<IpAddr>, Option<u32>) {
        (self.address.map(|address| address.ip()), self.user)
    }
}

impl Origin {
    /// What the client has shown, with the token of its greeting.
    pub(super) fn evidence(&self, token: Option<Secret>) -> Evidence {
        let holder = self.identity.as_ref().map(Identity::holder);
        let (certificate, node) = match holder {
            Some(Holder::Client(name)) => (Some(name.clone()), None),
            Some(Holder::Node(id)) => (None, Some(*id)),
            None => (None, None),
        };
        Evidence { certificate, node, local_user: self.user, token }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.address, self.user) {
            (Some(address), _) => address.fmt(f),
            (None, Some(user)) => write!(f, "uid/{user}"),
            (None, None) => f.write_str("unknown"),
        }
    }
}

/// How many clients are connected, in all and from each address.
pub(crate) struct Places {
    most: u64,
    most_of_address: u64,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    in_all: u64,
    from: BTreeMap<(Option<IpAddr>, Option<u32>), u64>,
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
    fn take(&self, origin: &Origin) -> Result<(), Refusal> {
        let (mut taken, place) = (self.taken(), origin.place());
        let from = taken.from.get(&place).copied().unwrap_or(0);
        if taken.in_all >= self.most {
            return Err(Refusal::Bound { bound: Bound::Connections, most: self.most });
        }
        if from >= self.most_of_address {
            return Err(Refusal::Bound { bound: Bound::ClientConnections, most: self.most_of_address });
        }
        taken.in_all += 1;
        taken.from.insert(place, from + 1);
        Ok(())
    }

    /// A client is gone.
    pub(super) fn free(&self, origin: &Origin) {
        let (mut taken, place) = (self.taken(), origin.place());
        taken.in_all -= 1;
        match taken.from.get_mut(&place) {
            Some(from) if *from > 1 => *from -= 1,
            _ => _ = taken.from.remove(&place),
        }
    }
}

impl ClientPort {
    pub(crate) fn new(
        listener: tokio::net::TcpListener,
        shared: &Arc<Shared>,
        places: &Arc<Places>,
    ) -> io::Result<ClientPort> {
        let listener = TcpListener::from_std(listener.into_std()?);
        // Connections have it from the listener. Without it a client that reads nothing costs more, and nothing else changes.
        _ = sockopt::set_socket_send_buffer_size(&listener, SEND_BUFFER);
        Ok(ClientPort::at(Listener::Tcp(listener), shared, places))
    }

    /// A Unix socket for clients of this machine. Only the user of this process, and its group, can open it.
    pub(crate) fn local(path: &Path, shared: &Arc<Shared>, places: &Arc<Places>) -> io::Result<ClientPort> {
        // A socket that a killed node left behind takes no connection.
        let is_left_behind = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
            && std::os::unix::net::UnixStream::connect(path).is_err();
        if is_left_behind {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o660))?;
        Ok(ClientPort::at(Listener::Unix(listener), shared, places))
    }

    fn at(listener: Listener, shared: &Arc<Shared>, places: &Arc<Places>) -> ClientPort {
        ClientPort { shared: shared.clone(), listener, places: places.clone(), exhausted: None }
    }

    /// Accepts one client.
    fn accept(&self, round: &mut Round<'_>) -> io::Result<()> {
        let (stream, origin) = match &self.listener {
            Listener::Tcp(listener) => {
                let (stream, from) = listener.accept()?;
                // Frames are batched already; waiting for more would only delay them. Without it a client is served all the same.
                _ = stream.set_nodelay(true);
                (Socket::Tcp(stream), Origin { address: Some(from), ..Origin::default() })
            }
            Listener::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                let user = user_of(&stream)?;
                (Socket::Unix(stream), Origin { user: Some(user), ..Origin::default() })
            }
        };
        match (self.places.take(&origin), stream) {
            (Err(refusal), stream) => turn_away(&Stream::new(stream, None), refusal),
            (Ok(()), Socket::Tcp(stream)) if self.shared.encryption.credentials().is_some() => {
                self.begin_handshake(stream, origin);
            }
            (Ok(()), stream) => round.newcomers.push(self.conversation(Stream::new(stream, None), origin)),
        }
        Ok(())
    }

    fn conversation(&self, stream: Stream, origin: Origin) -> Box<Conversation> {
        Box::new(Conversation::new(&self.shared, stream, origin, self.places.clone()))
    }

    /// A task sees to the handshake, which takes far longer than anything that the reactor does.
    fn begin_handshake(&self, stream: TcpStream, mut origin: Origin) {
        let (shared, places) = (self.shared.clone(), self.places.clone());
        self.shared.runtime.spawn(async move {
            let greeted = timeout(GREETING_LIMIT, shake_hands(&shared, stream)).await;
            let greeted = greeted.unwrap_or_else(|_| Err(io::Error::other("the handshake took too long")));
            match greeted {
                Ok((stream, identity)) => {
                    origin.identity = identity;
                    let conversation = Conversation::new(&shared, stream, origin, places);
                    shared.reactor.adopt(Box::new(conversation));
                }
                Err(why) => {
                    shared.log.bad_greeting(origin.address, &why);
                    places.free(&origin);
                }
            }
        });
    }
}

async fn shake_hands(shared: &Shared, stream: TcpStream) -> io::Result<(Stream, Option<Identity>)> {
    let stream = tokio::net::TcpStream::from_std(stream.into())?;
    let secured: Secured =
        shared.encryption.accept(stream.into(), &[security::CLIENTS], Callers::Clients).await?;
    let identity = secured.identity().cloned();
    Ok((secured.into_stream()?, identity))
}

/// The user of the process at the other end.
fn user_of(stream: &UnixStream) -> io::Result<u32> {
    Ok(sockopt::socket_peercred(stream)?.uid.as_raw())
}

/// How many connections of clients the operating system lets this process have: some are kept for peers, disks and others.
fn descriptors_for_clients() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.map_or(u64::MAX, |most| most.saturating_sub(KEPT_DESCRIPTORS).max(most / 2))
}

/// Tells a client why it is not served, without waiting.
fn turn_away(stream: &Stream, refusal: Refusal) {
    let mut bytes = Vec::new();
    frame::put(GREETING, &Welcome::Refused(refusal), &mut bytes);
    // A fresh connection takes a few bytes at once, or it is broken.
    _ = stream.write(&bytes);
}

impl Source for ClientPort {
    fn socket(&mut self) -> Option<(&mut dyn mio::event::Source, Interest)> {
        match &mut self.listener {
            Listener::Tcp(listener) => Some((listener, Interest::READABLE)),
            Listener::Unix(listener) => Some((listener, Interest::READABLE)),
        }
    }

    fn visit(&mut self, _ready: Ready, round: &mut Round<'_>) -> Next {
        self.exhausted = None;
        for _ in 0..AT_ONCE {
            match self.accept(round) {
                Ok(()) => {}
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
