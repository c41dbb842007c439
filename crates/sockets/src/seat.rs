//! A seat: a process that waits for collectors and takes part in their runs, one after the other, as the node
//! that each says.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::Error;
use super::orders::{Connection, Hello, Summons};
use super::worker::take_part;

/// A caller must have said what it wants after this time.
const SUMMONS_LIMIT: Duration = Duration::from_secs(5);

/// What happens at a seat, for its log.
#[derive(Debug)]
pub enum SeatEvent {
    /// This collector begins a run.
    Begins(SocketAddr),
    /// The collector has ended its run.
    Ends(SocketAddr),
    /// The run of this collector ended early, for this reason.
    Breaks(SocketAddr, Error),
}

impl fmt::Display for SeatEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SeatEvent::Begins(collector) => write!(f, "a run for the collector at {collector} begins"),
            SeatEvent::Ends(collector) => write!(f, "the run for {collector} is over"),
            SeatEvent::Breaks(collector, why) => write!(f, "the run for {collector} ended early: {why}"),
        }
    }
}

/// Takes part in runs until listening fails. The nodes of a run find this one at `peer_port`, 0 for any.
pub async fn serve_seat(
    listener: &TcpListener,
    peer_port: u16,
    mut log: impl FnMut(SeatEvent),
) -> Result<(), Error> {
    loop {
        let (stream, collector) = listener.accept().await.map_err(Error::Accept)?;
        log(SeatEvent::Begins(collector));
        let ended = tokio::select! {
            ended = attend(stream, peer_port) => ended,
            refused = refuse_others(listener) => return refused,
        };
        log(match ended {
            Ok(()) => SeatEvent::Ends(collector),
            Err(error) => SeatEvent::Breaks(collector, error),
        });
    }
}

/// Takes part in one run.
async fn attend(stream: TcpStream, peer_port: u16) -> Result<(), Error> {
    let mut connection = Connection::new(stream)?;
    let summons = timeout(SUMMONS_LIMIT, connection.receive::<Summons>()).await;
    let Some(Summons { node }) = summons.map_err(|_| Error::SilentCollector)?? else { return Ok(()) };
    connection.send(&Hello::of(node)).await?;
    take_part(&mut connection, node, peer_port).await
}

/// Tells all other callers that the seat is busy.
async fn refuse_others(listener: &TcpListener) -> Result<(), Error> {
    loop {
        let (stream, _) = listener.accept().await.map_err(Error::Accept)?;
        tokio::spawn(async move {
            // The caller may have gone.
            let Ok(mut connection) = Connection::new(stream) else { return };
            let Ok(Ok(Some(Summons { node }))) = timeout(SUMMONS_LIMIT, connection.receive()).await else {
                return;
            };
            _ = connection.send(&Hello { busy: true, ..Hello::of(node) }).await;
        });
    }
}
