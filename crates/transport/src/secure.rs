//! Connections with or without encryption: handshakes, and what the other end has shown in them.
//!
//! Handshakes are tasks of the runtime, because they take a thousand times as long as a message. What comes out of one
//! is a [`Secured`] stream: tasks read and write it, or hand it [to the reactor](Secured::into_stream).

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use rustls::pki_types::ServerName;
use security::{Callers, CertificateFault, Credentials, Holder, Identity};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream, client, server};

use crate::stream::{Socket, Stream};
use crate::tls::Tls;

/// An encrypted connection begins with a record of a handshake, in some version 3. As the length of a frame these bytes
/// would be beyond every limit, so no plain connection begins with them.
const FIRST_BYTES: [u8; 2] = [22, 3];

/// Whether connections are encrypted, and what this end shows and trusts.
#[derive(Clone, Default)]
pub enum Encryption {
    /// Nothing is.
    #[default]
    Off,
    /// Both kinds of callers are served, and nodes are called without encryption if they know none: on the way from
    /// [`Encryption::Off`] to [`Encryption::Required`] in a cluster that runs.
    Optional(Credentials),
    /// Everything is.
    Required(Credentials),
}

/// What a port is for: the name of its protocol, which both ends agree on in the handshake.
pub type Protocol = &'static [u8];

/// A connection, after its handshake if it is encrypted.
pub struct Secured {
    carrier: Carrier,
    /// Who the other end is, by its certificate.
    shown: Option<Identity>,
    /// What was agreed on, on a connection that is encrypted.
    protocol: Option<Vec<u8>>,
}

enum Carrier {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl fmt::Debug for Encryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encryption::Off => "Off",
            Encryption::Optional(_) => "Optional",
            Encryption::Required(_) => "Required",
        })
    }
}

impl Encryption {
    /// What this end shows and trusts, if anything is encrypted.
    pub fn credentials(&self) -> Option<&Credentials> {
        match self {
            Encryption::Off => None,
            Encryption::Optional(credentials) | Encryption::Required(credentials) => Some(credentials),
        }
    }

    /// Whether what is not encrypted is refused.
    pub fn is_required(&self) -> bool {
        matches!(self, Encryption::Required(_))
    }

    /// Calls a node, which has to be this one if it is known which.
    pub async fn call(&self, address: &str, protocol: Protocol, node: Option<u32>) -> io::Result<Secured> {
        let plain = async || Ok(Secured::plain(Carrier::Tcp(connect(address).await?)));
        let Some(credentials) = self.credentials() else { return plain().await };
        match encrypt(credentials, connect(address).await?, protocol, node).await {
            Err(error) if !self.is_required() && knows_no_encryption(&error) => plain().await,
            called => called,
        }
    }

    /// Takes a call in that nothing was read from: encrypted if it is, for one of these protocols and from these callers.
    /// A call that has had its handshake stays as it is.
    pub async fn accept(
        &self,
        call: Secured,
        protocols: &[Protocol],
        callers: Callers,
    ) -> io::Result<Secured> {
        let Carrier::Tcp(stream) = call.carrier else { return Ok(call) };
        // Frames are batched already; waiting for more would only delay them.
        stream.set_nodelay(true)?;
        let Some(credentials) = self.credentials() else { return Ok(Secured::plain(Carrier::Tcp(stream))) };
        if !begins_encrypted(&stream).await? {
            if self.is_required() {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not encrypted"));
            }
            return Ok(Secured::plain(Carrier::Tcp(stream)));
        }
        let acceptor = TlsAcceptor::from(credentials.accept_config(protocols, callers));
        let stream = shake_hands(&acceptor, stream).await?;
        let shown = shown(stream.get_ref().1)?;
        let protocol = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        Ok(Secured { carrier: Carrier::Tls(Box::new(TlsStream::Server(stream))), shown, protocol })
    }
}

/// Why a caller did not get through its handshake: inside the [`io::Error`] of [`Encryption::accept`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedHandshake {
    /// Whom its certificate names, if that was refused and could be read. Nothing vouches for it.
    pub claims: Option<Identity>,
    why: String,
}

impl fmt::Display for FailedHandshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl Error for FailedHandshake {}

impl FailedHandshake {
    /// What is in an error, if it is one of a handshake.
    pub fn of(error: &io::Error) -> Option<&FailedHandshake> {
        error.get_ref()?.downcast_ref()
    }
}

/// Has a handshake with a caller.
async fn shake_hands(acceptor: &TlsAcceptor, stream: TcpStream) -> io::Result<server::TlsStream<TcpStream>> {
    let mut accepting = pin!(acceptor.accept(stream));
    let mut claims = None;
    let accepted = poll_fn(|context| {
        // What another caller has left behind on this thread.
        security::take_refused();
        let polled = accepting.as_mut().poll(context);
        claims = security::take_refused().or(claims.take());
        polled
    });
    accepted.await.map_err(|error| match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(inner) => {
            let fault = CertificateFault::of(inner);
            let why = fault.map_or_else(|| inner.to_string(), |fault| fault.to_string());
            io::Error::new(error.kind(), FailedHandshake { claims, why })
        }
        None => error,
    })
}

async fn connect(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn encrypt(
    credentials: &Credentials,
    stream: TcpStream,
    protocol: Protocol,
    node: Option<u32>,
) -> io::Result<Secured> {
    let connector = TlsConnector::from(credentials.call_config(&[protocol], node.map(Holder::Node)));
    // Who a node is stands in its certificate, whatever its address. The name is what sessions are resumed by.
    let name = ServerName::from(stream.peer_addr()?.ip());
    let stream = connector.connect(name, stream).await?;
    let shown = shown(stream.get_ref().1)?;
    let protocol = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
    Ok(Secured { carrier: Carrier::Tls(Box::new(TlsStream::Client(stream))), shown, protocol })
}

fn shown(connection: &rustls::CommonState) -> io::Result<Option<Identity>> {
    security::caller(connection).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Looks at the first bytes of a connection without taking them.
async fn begins_encrypted(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0; FIRST_BYTES.len()];
    loop {
        let seen = stream.peek(&mut first).await?;
        if seen == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if first[..seen] != FIRST_BYTES[..seen] || seen == first.len() {
            return Ok(first == FIRST_BYTES);
        }
        // The second byte of two is on its way; a peek alone would find the first one again and again.
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

/// Whether a node that was called hung up or answered with something else than a handshake.
fn knows_no_encryption(error: &io::Error) -> bool {
    let is_no_handshake =
        error.get_ref().and_then(|inner| inner.downcast_ref()).is_some_and(|error: &rustls::Error| {
            matches!(error, rustls::Error::InvalidMessage(_) | rustls::Error::PeerMisbehaved(_))
        });
    let kinds = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe];
    is_no_handshake || kinds.contains(&error.kind())
}

impl Secured {
    fn plain(carrier: Carrier) -> Secured {
        Secured { carrier, shown: None, protocol: None }
    }

    /// Connects to a process of this machine.
    pub async fn local(path: &Path) -> io::Result<Secured> {
        Ok(Secured::plain(Carrier::Unix(UnixStream::connect(path).await?)))
    }

    /// What both ends agreed on in a handshake; `None` if there was none.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.protocol.as_deref()
    }

    /// Whether it is encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.carrier, Carrier::Tls(_))
    }

    /// Who the other end is, by its certificate; `None` if it has shown none.
    pub fn identity(&self) -> Option<&Identity> {
        self.shown.as_ref()
    }

    /// The node at the other end, by its certificate.
    pub fn node(&self) -> Option<u32> {
        match self.shown.as_ref()?.holder() {
            Holder::Node(id) => Some(*id),
            Holder::Client(_) => None,
        }
    }

    /// Whether the other end may speak for this node: on a connection that is not encrypted any may.
    pub fn speaks_for(&self, node: u32) -> bool {
        !self.is_encrypted() || self.node() == Some(node)
    }

    /// The address of the other end.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.carrier {
            Carrier::Tcp(stream) => stream.peer_addr().ok(),
            Carrier::Tls(stream) => stream.get_ref().0.peer_addr().ok(),
            Carrier::Unix(_) => None,
        }
    }

    /// For the reactor. What was read ahead stays in it.
    pub fn into_stream(self) -> io::Result<Stream> {
        let tcp = |stream: TcpStream| {
            io::Result::Ok(Socket::Tcp(mio::net::TcpStream::from_std(stream.into_std()?)))
        };
        Ok(match self.into_parts() {
            (Parted::Tcp(stream), tls) => Stream::new(tcp(stream)?, tls),
            (Parted::Unix(stream), tls) => {
                Stream::new(Socket::Unix(mio::net::UnixStream::from_std(stream.into_std()?)), tls)
            }
        })
    }

    /// The socket, and the state of its encryption. What was read ahead stays there.
    pub fn into_parts(self) -> (Parted, Option<Tls>) {
        match self.carrier {
            Carrier::Tcp(stream) => (Parted::Tcp(stream), None),
            Carrier::Unix(stream) => (Parted::Unix(stream), None),
            Carrier::Tls(stream) => match *stream {
                TlsStream::Client(stream) => {
                    let (stream, state) = client::TlsStream::into_inner(stream);
                    (Parted::Tcp(stream), Some(Tls::new(state)))
                }
                TlsStream::Server(stream) => {
                    let (stream, state) = server::TlsStream::into_inner(stream);
                    (Parted::Tcp(stream), Some(Tls::new(state)))
                }
            },
        }
    }
}

/// A socket without its encryption.
pub enum Parted {
    /// To another machine, or to this one by its network.
    Tcp(TcpStream),
    /// To a process of this machine.
    Unix(UnixStream),
}

impl From<TcpStream> for Secured {
    fn from(stream: TcpStream) -> Secured {
        Secured::plain(Carrier::Tcp(stream))
    }
}

impl Secured {
    fn carrier(&mut self) -> Pin<&mut dyn Duplex> {
        let carrier: &mut dyn Duplex = match &mut self.carrier {
            Carrier::Tcp(stream) => stream,
            Carrier::Unix(stream) => stream,
            Carrier::Tls(stream) => &mut **stream,
        };
        Pin::new(carrier)
    }
}

trait Duplex: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

impl AsyncRead for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.carrier().poll_read(context, buffer)
    }
}

impl AsyncWrite for Secured {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.carrier().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.carrier().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.carrier().poll_shutdown(context)
    }
}
