//! A node that takes part in a run, by the orders of a collector: in a process of its own or as a task.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use algorithms::NodeId;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::orders::{Answer, Connection, Hello, Order};
use super::{Error, Participant, Plan, Report};
use service::view::ViewMember;
use transport::clock;

/// This much of a report goes into a frame; the rest is for the envelope.
const PIECE: usize = service::frame::LONGEST_BODY / 2;
/// The members must have connected to each other within this time.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// A collector that says nothing for so long is gone: it asks for the progress several times a second.
const SILENCE_LIMIT: Duration = Duration::from_secs(120);

/// Takes part in a run as this node until the collector closes the connection. Failures in the run are
/// reported to the collector; the error is about the connection to it.
pub async fn run_worker(collector: &str, me: NodeId) -> Result<(), Error> {
    let stream = TcpStream::connect(collector).await;
    let stream = stream.map_err(|error| Error::NoCollector(collector.to_string(), error))?;
    let mut connection = Connection::new(stream)?;
    connection.send(&Hello::of(me)).await?;
    take_part(&mut connection, me, 0).await
}

/// Obeys the collector at the other end as this node, until it closes the connection. Peers find the node at
/// this port; 0 is any.
pub(super) async fn take_part(connection: &mut Connection, me: NodeId, peer_port: u16) -> Result<(), Error> {
    // Where the collector reaches this node, other nodes do too.
    let peer_address = SocketAddr::new(connection.local_ip()?, peer_port);
    let mut worker = Worker { me, peer_address, prepared: None, participant: None, client: None };
    let result = worker.obey(connection).await;
    worker.end().await;
    result
}

/// A node and how far the collector's orders have brought it.
struct Worker {
    me: NodeId,
    peer_address: SocketAddr,
    prepared: Option<(String, Plan, TcpListener)>,
    participant: Option<Arc<Participant>>,
    client: Option<JoinHandle<Result<(), Error>>>,
}

impl Worker {
    async fn obey(&mut self, connection: &mut Connection) -> Result<(), Error> {
        loop {
            let received = timeout(SILENCE_LIMIT, connection.receive()).await;
            let Some(order) = received.map_err(|_| Error::SilentCollector)?? else { return Ok(()) };
            let done = match order {
                Order::Prepare { name, plan } => self.prepare(name, plan).await,
                Order::ReadClock => Ok(Answer::Clock(clock::now().0)),
                Order::Connect { members, ahead } => tokio::select! {
                    connected = self.connect(members, &ahead) => connected,
                    // The collector sends nothing before the answer, so its connection has ended, and perhaps
                    // those of other nodes too.
                    _ = connection.receive::<Order>() => return Ok(()),
                },
                Order::StartClient => self.start_client(),
                Order::Progress => self.progress().await,
                Order::Finish => match self.finish().await {
                    Ok(report) => {
                        send_report(connection, &report).await?;
                        continue;
                    }
                    Err(error) => Err(error),
                },
            };
            connection.send(&done.unwrap_or_else(|error| Answer::Failed(error.to_string()))).await?;
        }
    }

    async fn prepare(&mut self, name: String, plan: Plan) -> Result<Answer, Error> {
        let listener = TcpListener::bind(self.peer_address).await;
        let listener = listener.map_err(Error::Listen)?;
        let address = listener.local_addr().map_err(Error::Listen)?.to_string();
        self.prepared = Some((name, plan, listener));
        Ok(Answer::Listening(address))
    }

    /// Completes when all connections stand, so that no message waits for one.
    async fn connect(&mut self, members: Vec<ViewMember>, ahead: &[i64]) -> Result<Answer, Error> {
        let (name, plan, listener) = self.prepared.take().ok_or(Error::OutOfOrder("it is not prepared"))?;
        let participant = Arc::new(Participant::start(&name, &plan, self.me, (members, ahead), listener)?);
        self.participant = Some(participant.clone());
        let connected = timeout(CONNECT_LIMIT, async {
            while !participant.peers.unreachable().is_empty() {
                sleep(Duration::from_millis(1)).await;
            }
        });
        match connected.await {
            Ok(()) => Ok(Answer::Done),
            Err(_) => Err(Error::Unreachable(participant.peers.unreachable().into_keys().collect())),
        }
    }

    fn start_client(&mut self) -> Result<Answer, Error> {
        let participant = self.participant()?.clone();
        self.client = Some(tokio::spawn(async move { participant.run_client().await }));
        Ok(Answer::Done)
    }

    async fn progress(&mut self) -> Result<Answer, Error> {
        if let Some(client) = self.client.take_if(|client| client.is_finished()) {
            client.await.map_err(Error::Client)??;
        }
        Ok(Answer::Progress { counts: self.participant()?.counts(), finished: self.client.is_none() })
    }

    async fn finish(&mut self) -> Result<Report, Error> {
        Ok(self.participant()?.finish().await)
    }

    fn participant(&self) -> Result<&Arc<Participant>, Error> {
        self.participant.as_ref().ok_or(Error::OutOfOrder("it has not begun"))
    }

    async fn end(self) {
        if let Some(client) = self.client {
            client.abort();
        }
        if let Some(participant) = self.participant {
            participant.peers.stop().await;
        }
    }
}

async fn send_report(connection: &mut Connection, report: &Report) -> Result<(), Error> {
    let mut bytes = Vec::new();
    service::frame::append(report, &mut bytes);
    let pieces = bytes.chunks(PIECE);
    let last = pieces.len() - 1;
    for (index, piece) in pieces.enumerate() {
        connection.send(&Answer::Piece { bytes: piece.to_vec(), last: index == last }).await?;
    }
    Ok(())
}
