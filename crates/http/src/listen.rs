//! Connections: accepted, encrypted where the node encrypts, bounded, and served until they or the node end.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::IntoResponse;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use node::Host;
use security::Callers;
use service::Refusal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::caller::Origin;
use crate::eager::eagerly;
use crate::metrics::Answered;
use crate::problem::Problem;
use crate::same_site::is_foreign;

/// What the handshake calls this protocol.
const HTTP: &[u8] = b"http/1.1";
/// A handshake, and the head of a request, have to be over in this time.
const LONGEST_GREETING: Duration = Duration::from_secs(10);
/// So many callers at once are told that there is no room for them, each for so long at most.
const MOST_REFUSED: usize = 64;
const LONGEST_REFUSAL: Duration = Duration::from_secs(1);
/// How long to wait when the operating system has no connections left to give.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// What connections are served with.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) router: Router,
    pub(crate) answered: Arc<Answered>,
}

/// Serves connections for ever.
pub(crate) async fn serve(host: Host, listener: TcpListener, served: Served) {
    let (mut connections, refused) = (JoinSet::new(), Arc::new(Semaphore::new(MOST_REFUSED)));
    loop {
        while connections.try_join_next().is_some() {}
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(_) => {
                sleep(EXHAUSTED).await;
                continue;
            }
        };
        let place = match host.take_place(address) {
            Ok(place) => place,
            Err(refusal) => {
                // Beyond this, a caller only sees that the connection ends. So does one that wants a handshake: the handshake
                // is what there is no room for.
                if host.encryption().credentials().is_none()
                    && let Ok(told) = refused.clone().try_acquire_owned()
                {
                    connections.spawn(async move {
                        _ = timeout(LONGEST_REFUSAL, turn_away(stream, refusal)).await;
                        drop(told);
                    });
                }
                continue;
            }
        };
        let (host, served) = (host.clone(), served.clone());
        connections.spawn(async move {
            // What a caller does wrong concerns the caller alone.
            if let Err(error) = connected(stream, address, &host, served).await {
                tracing::debug!(target: "http", "connection from {address} ended: {error}");
            }
            drop(place);
        });
    }
}

/// Tells a caller why it is not served.
async fn turn_away(mut stream: TcpStream, refusal: Refusal) -> io::Result<()> {
    let body = serde_json::to_string(&Problem::from(refusal))?;
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    // Were its request left unread, the system would discard the answer with the connection.
    while stream.read(&mut [0; 1024]).await? > 0 {}
    Ok(())
}

async fn connected(
    stream: TcpStream,
    address: std::net::SocketAddr,
    host: &Host,
    served: Served,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let encryption = host.encryption();
    let Some(credentials) = encryption.credentials() else {
        return converse(stream, Origin::new(address, None), served).await;
    };
    if !encryption.is_required() && !is_handshake(&stream).await? {
        return converse(stream, Origin::new(address, None), served).await;
    }
    let acceptor = TlsAcceptor::from(credentials.accept_config(&[HTTP], Callers::Clients));
    let accepted = timeout(LONGEST_GREETING, acceptor.accept(stream)).await;
    let stream = accepted.map_err(io::Error::from).flatten().inspect_err(|error| {
        host.http_handshake_failed(address, security::take_refused().as_ref(), error);
    })?;
    let certificates = stream.get_ref().1.peer_certificates();
    let identity = certificates.and_then(|chain| security::identity_of(chain.first()?).ok());
    converse(stream, Origin::new(address, identity), served).await
}

/// Whether a caller begins with a handshake of TLS.
async fn is_handshake(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    timeout(LONGEST_GREETING, stream.peek(&mut first)).await??;
    Ok(first == [0x16])
}

pub(crate) async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    origin: Arc<Origin>,
    Served { router, answered }: Served,
) -> io::Result<()> {
    let router = TowerToHyperService::new(router.into_service());
    // Not as layers of the router: each would cost every request two allocations.
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(origin.clone());
        let answer = (!is_foreign(&request)).then(|| router.call(request));
        let answered = answered.clone();
        async move {
            let answer = match answer {
                Some(answer) => answer.await?,
                None => Problem::foreign_page().into_response(),
            };
            answered.count(answer.status().as_u16());
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(LONGEST_GREETING)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), service);
    eagerly(connection).await.map_err(io::Error::other)
}
