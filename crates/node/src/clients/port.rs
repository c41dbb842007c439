//! The ports for clients: TCP, encrypted or not, and a Unix socket.

use std::fmt;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::Interest;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use rustix::net::sockopt;
use security::{Callers, Holder, Identity};
use service::Refusal;
use service::auth::{Evidence, Secret};
use service::frame;
use service::protocol::{GREETING, Welcome};

use super::conversation::{Conversation, GREETING_LIMIT};
use super::places::{Host, Place};
use crate::host::Shared;
use tokio::time::timeout;
use transport::Secured;
use transport::reactor::{Next, Ready, Round, Source};
use transport::stream::{Socket, Stream};

/// This many clients are accepted in one visit.
const AT_ONCE: usize = 64;
/// So much of what a client does not read is in the operating system's hands, or twice that. By itself the system takes some
/// megabytes for each connection, and all of it is work for a client that may never read it.
const SEND_BUFFER: usize = 128 << 10;
/// How long to wait when the operating system has no connections left to give.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// Where clients connect.
pub(crate) struct ClientPort {
    shared: Arc<Shared>,
    listener: Listener,
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
    fn host(&self) -> Host {
        (self.address.map(|address| address.ip()), self.user)
    }
}

impl Origin {
    /// What the client has shown, with the token of its greeting.
    pub(super) fn evidence(&self, token: Option<Secret>) -> Evidence {
        Evidence { local_user: self.user, ..evidence(self.identity.as_ref(), token) }
    }
}

/// What a caller has shown: a certificate, a token, or both.
pub fn evidence(identity: Option<&Identity>, token: Option<Secret>) -> Evidence {
    let (certificate, node) = match identity.map(Identity::holder) {
        Some(Holder::Client(name)) => (Some(name.clone()), None),
        Some(Holder::Node(id)) => (None, Some(*id)),
        None => (None, None),
    };
    Evidence { certificate, node, local_user: None, token }
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

impl ClientPort {
    pub(crate) fn new(listener: tokio::net::TcpListener, shared: &Arc<Shared>) -> io::Result<ClientPort> {
        let listener = TcpListener::from_std(listener.into_std()?);
        // Connections have it from the listener. Without it a client that reads nothing costs more, and nothing else changes.
        _ = sockopt::set_socket_send_buffer_size(&listener, SEND_BUFFER);
        Ok(ClientPort::at(Listener::Tcp(listener), shared))
    }

    /// A Unix socket for clients of this machine. Only the user of this process, and its group, can open it.
    pub(crate) fn local(path: &Path, shared: &Arc<Shared>) -> io::Result<ClientPort> {
        // A socket that a killed node left behind takes no connection.
        let is_left_behind = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
            && std::os::unix::net::UnixStream::connect(path).is_err();
        if is_left_behind {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o660))?;
        Ok(ClientPort::at(Listener::Unix(listener), shared))
    }

    fn at(listener: Listener, shared: &Arc<Shared>) -> ClientPort {
        ClientPort { shared: shared.clone(), listener, exhausted: None }
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
        match (self.shared.places.take(origin.host()), stream) {
            (Err(refusal), stream) => turn_away(&Stream::new(stream, None), refusal),
            (Ok(place), Socket::Tcp(stream)) if self.shared.encryption.credentials().is_some() => {
                self.begin_handshake(stream, origin, place);
            }
            (Ok(place), stream) => {
                let conversation = Conversation::new(&self.shared, Stream::new(stream, None), origin, place);
                round.newcomers.push(Box::new(conversation));
            }
        }
        Ok(())
    }

    /// A task sees to the handshake, which takes far longer than anything that the reactor does.
    fn begin_handshake(&self, stream: TcpStream, mut origin: Origin, place: Place) {
        let shared = self.shared.clone();
        self.shared.runtime.spawn(async move {
            let greeted = timeout(GREETING_LIMIT, shake_hands(&shared, stream)).await;
            let greeted = greeted.unwrap_or_else(|_| Err(io::Error::other("the handshake took too long")));
            match greeted {
                Ok((stream, identity)) => {
                    origin.identity = identity;
                    let conversation = Conversation::new(&shared, stream, origin, place);
                    shared.reactor.adopt(Box::new(conversation));
                }
                Err(why) => shared.client_handshake_failed(origin.address, &why),
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
