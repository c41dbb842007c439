//! A caller that shows what it likes and checks nothing: it meets the node's refusals, and none of its own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use security::issue::Issued;
use service::core::Timeout;
use service::frame::{self, Incoming};
use service::protocol::{GREETING, Hello, ToClient, ToNode, VERSIONS, Welcome};
use service::{Acquire, Definition, SessionHandle, Want};
use tokenwood::auth::Secret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// What does not come within this time does not come.
pub(super) const SOON: Duration = Duration::from_secs(20);

/// What a caller shows of itself.
#[derive(Default)]
pub(super) struct Shown {
    /// It does not encrypt.
    pub(super) plain: bool,
    pub(super) certificate: Option<Issued>,
    pub(super) token: Option<Secret>,
}

impl Shown {
    pub(super) fn certificate(issued: Issued) -> Shown {
        Shown { certificate: Some(issued), ..Shown::default() }
    }

    pub(super) fn token(token: Secret) -> Shown {
        Shown { token: Some(token), ..Shown::default() }
    }

    /// Calls a port. What the node thinks of the certificate shows only when something is read.
    pub(super) async fn call(&self, address: &str, protocol: &[u8]) -> io::Result<Called> {
        let stream = dial(address).await?;
        let from = stream.local_addr()?;
        let stream: Box<dyn Duplex> =
            if self.plain { Box::new(stream) } else { Box::new(self.encrypt(stream, protocol).await?) };
        Ok(Called { stream, from, sealed: 0, incoming: Incoming::default() })
    }

    /// Has a handshake over a connection.
    pub(super) async fn encrypt(
        &self,
        stream: TcpStream,
        protocol: &[u8],
    ) -> io::Result<TlsStream<TcpStream>> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(TrustsAll));
        let mut config = match &self.certificate {
            None => config.with_no_client_auth(),
            Some(own) => {
                let chain = CertificateDer::from_pem_slice(own.certificate.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap();
                config.with_client_auth_cert(vec![chain], key).unwrap()
            }
        };
        config.alpn_protocols = vec![protocol.to_vec()];
        let name = ServerName::from(stream.peer_addr()?.ip());
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    /// What a client of this kind says first.
    pub(super) fn greeting(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame::put(GREETING, &Hello { token: self.token.clone(), ..Hello::MINE }, &mut bytes);
        bytes
    }
}

/// Connects from an address that no other connection of this process comes from: so each line about it can be told apart, and the
/// audit folds no two callers into one.
pub(super) async fn dial(address: &str) -> io::Result<TcpStream> {
    static COUNT: AtomicU16 = AtomicU16::new(1);
    let [high, low] = COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::new(127, 1, high, low), 0).into())?;
    socket.connect(address.parse().unwrap()).await
}

pub(super) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// A connection to a node.
pub(super) struct Called {
    stream: Box<dyn Duplex>,
    /// The address of the caller.
    pub(super) from: SocketAddr,
    /// How many bytes everything that was said takes on the way, if it is encrypted.
    pub(super) sealed: usize,
    incoming: Incoming,
}

/// What encryption adds to something that is said: the header of a record, its kind, and a tag.
const SEAL: usize = 5 + 1 + 16;

impl Called {
    pub(super) async fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sealed += bytes.len() + SEAL;
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    pub(super) async fn tell(&mut self, frames: &[ToNode]) -> io::Result<()> {
        let mut bytes = Vec::new();
        frames.iter().for_each(|said| frame::put(VERSIONS.1, said, &mut bytes));
        self.say(&bytes).await
    }

    /// Everything that the node says until it hangs up, or so many bytes of it.
    pub(super) async fn hear(&mut self, most: usize) -> Vec<u8> {
        let mut heard = Vec::new();
        while heard.len() < most {
            let mut rest = (&mut self.stream).take((most - heard.len()) as u64);
            let read = timeout(SOON, rest.read_buf(&mut heard)).await.expect("the node says nothing");
            if read.unwrap_or(0) == 0 {
                break;
            }
        }
        heard
    }

    /// The next frame in this version; `None` if the node hangs up instead.
    async fn next<T: for<'a> serde::Deserialize<'a>>(&mut self, version: u8) -> Option<T> {
        loop {
            if let Some(frame) = self.incoming.next(version).unwrap() {
                return Some(frame);
            }
            let read = timeout(SOON, self.stream.read_buf(self.incoming.buffer())).await;
            if read.expect("the node says nothing").unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    pub(super) async fn welcome(&mut self) -> Option<Welcome> {
        self.next(GREETING).await
    }

    pub(super) async fn answer(&mut self) -> Option<ToClient> {
        self.next(VERSIONS.1).await
    }

    /// Greets, and opens a session.
    pub(super) async fn open(&mut self, greeting: &[u8]) -> SessionHandle {
        self.say(greeting).await.unwrap();
        self.welcome().await.expect("a welcome");
        self.tell(&[OPEN]).await.unwrap();
        match self.answer().await {
            Some(ToClient::Opened { session: id, key, .. }) => SessionHandle { id, key },
            other => panic!("{other:?}"),
        }
    }
}

pub(super) const OPEN: ToNode = ToNode::Open { ttl: Duration::from_secs(60), label: None };

/// Asks for a mutex.
pub(super) fn acquire(session: SessionHandle, request: u64, name: &str) -> ToNode {
    let (definition, want) = (Definition::Slots(1), Want::Slot);
    let ask = Acquire { request, name: name.into(), definition, want, timeout: Timeout::Never };
    ToNode::Acquire { session, ask }
}

/// Takes every answer: these tests are about callers.
#[derive(Debug)]
struct TrustsAll;

impl ServerCertVerifier for TrustsAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
