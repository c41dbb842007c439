//! The protocol between a collector and the nodes of a run, over connections of their own: orders and answers
//! in turn.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use service::frame::{self, Incoming};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Counts, Error, Plan};
use algorithms::NodeId;
use service::view::ViewMember;

/// Both ends are the same program.
const VERSION: u8 = 2;

/// The version of this program. Records are replayed by the collector, so all nodes have to be of one version.
pub(super) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The first frame of a collector that calls a seat: which node the seat is to be.
#[derive(Serialize, Deserialize)]
pub(super) struct Summons {
    /// The node's number.
    pub(super) node: NodeId,
}

/// The first frame of a node: its identity.
#[derive(Serialize, Deserialize)]
pub(super) struct Hello {
    /// The node's number.
    pub(super) node: NodeId,
    /// The version of its program.
    pub(super) program: String,
    /// Whether it takes part in another run.
    pub(super) busy: bool,
}

impl Hello {
    /// The greeting of this program.
    pub(super) fn of(node: NodeId) -> Hello {
        Hello { node, program: PROGRAM.to_string(), busy: false }
    }
}

/// An order of the collector.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Order {
    /// Prepare to run this algorithm, and answer with the address.
    Prepare {
        /// The algorithm.
        name: String,
        /// What to run.
        plan: Plan,
    },
    /// Answer with the time on the node's clock.
    ReadClock,
    /// Start, and connect to these members.
    Connect {
        /// All members.
        members: Vec<ViewMember>,
        /// By how many nanoseconds the clock of each member is ahead of the collector's.
        ahead: Vec<i64>,
    },
    /// Start the client.
    StartClient,
    /// Report the progress.
    Progress,
    /// Stop, and report.
    Finish,
}

/// An answer of a node.
#[derive(Serialize, Deserialize)]
pub(super) enum Answer {
    /// The node listens here.
    Listening(String),
    /// The time on the node's clock, in nanoseconds.
    Clock(u64),
    /// Done.
    Done,
    /// The node's progress.
    Progress {
        /// Its counts.
        counts: Counts,
        /// Whether its client has made all its entries.
        finished: bool,
    },
    /// A piece of the report, which is too large for one frame.
    Piece {
        /// The encoded bytes.
        bytes: Vec<u8>,
        /// Whether this is the last piece.
        last: bool,
    },
    /// The node has failed, for this reason.
    Failed(String),
}

/// One end of a connection between the collector and a node.
pub(super) struct Connection {
    stream: TcpStream,
    incoming: Incoming,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Result<Connection, Error> {
        stream.set_nodelay(true).map_err(Error::Connection)?;
        Ok(Connection { stream, incoming: Incoming::default() })
    }

    /// The address at which this end is reached.
    pub(super) fn local_ip(&self) -> Result<IpAddr, Error> {
        Ok(self.stream.local_addr().map_err(Error::Connection)?.ip())
    }

    pub(super) async fn send<T: Serialize>(&mut self, frame: &T) -> Result<(), Error> {
        let mut bytes = Vec::new();
        frame::put(VERSION, frame, &mut bytes);
        self.stream.write_all(&bytes).await.map_err(Error::Connection)
    }

    /// The next frame of the other end; `None` if it has closed the connection.
    pub(super) async fn receive<T: for<'a> Deserialize<'a>>(&mut self) -> Result<Option<T>, Error> {
        loop {
            if let Some(frame) = self.incoming.next(VERSION).map_err(Error::Frame)? {
                return Ok(Some(frame));
            }
            let read = self.stream.read_buf(self.incoming.buffer()).await;
            if read.map_err(Error::Connection)? == 0 {
                return Ok(None);
            }
        }
    }
}
