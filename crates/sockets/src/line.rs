//! The protocol between a collector and the nodes of a run, over connections of their own: orders and answers
//! in turn.

use serde::{Deserialize, Serialize};
use service::frame::{self, Incoming};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Counts, Plan};
use algorithms::NodeId;
use service::view::ViewMember;

/// Both ends are the same program.
const VERSION: u8 = 1;

/// The first frame of a node: its identity.
#[derive(Serialize, Deserialize)]
pub(super) struct Hello {
    /// The node's number.
    pub(super) node: NodeId,
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
    /// Start, and connect to these members.
    Meet(Vec<ViewMember>),
    /// Start the client.
    Begin,
    /// Report the progress.
    Tell,
    /// Stop, and report.
    Finish,
}

/// An answer of a node.
#[derive(Serialize, Deserialize)]
pub(super) enum Answer {
    /// The node listens here.
    Listening(String),
    /// Done.
    Done,
    /// The node's progress.
    So {
        /// Its counts.
        counts: Counts,
        /// Whether its client has made all its entries.
        lived: bool,
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

/// One end of the connection.
pub(super) struct Line {
    stream: TcpStream,
    incoming: Incoming,
}

impl Line {
    pub(super) fn new(stream: TcpStream) -> Result<Line, String> {
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(Line { stream, incoming: Incoming::default() })
    }

    pub(super) async fn say<T: Serialize>(&mut self, what: &T) -> Result<(), String> {
        let mut bytes = Vec::new();
        frame::put(VERSION, what, &mut bytes);
        self.stream.write_all(&bytes).await.map_err(|error| error.to_string())
    }

    /// The next frame of the other end; `None` if it has closed the connection.
    pub(super) async fn hear<T: for<'a> Deserialize<'a>>(&mut self) -> Result<Option<T>, String> {
        loop {
            if let Some(said) = self.incoming.next(VERSION).map_err(|error| error.to_string())? {
                return Ok(Some(said));
            }
            let read = self.stream.read_buf(self.incoming.buffer()).await;
            if read.map_err(|error| error.to_string())? == 0 {
                return Ok(None);
            }
        }
    }
}
