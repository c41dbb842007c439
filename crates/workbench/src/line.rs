//! What a collector and the nodes of a run say to each other, over a connection of their own: orders and answers in turn.

use serde::{Deserialize, Serialize};
use service::frame::{self, Incoming};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Counts, Plan};
use algorithms::NodeId;
use node::ViewMember;

/// Both ends are the same program.
const VERSION: u8 = 1;

/// What a node says first: who it is.
#[derive(Serialize, Deserialize)]
pub(super) struct Hello {
    /// The node that it was started as.
    pub(super) node: NodeId,
}

/// What a collector wants next.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Order {
    /// Get ready to run this algorithm; say where you listen.
    Prepare {
        /// The algorithm.
        name: String,
        /// What is run.
        plan: Plan,
    },
    /// Start, and find these members.
    Meet(Vec<ViewMember>),
    /// Let the client live.
    Begin,
    /// Say how far you are.
    Tell,
    /// Stop, and report.
    Finish,
}

/// What a node answers.
#[derive(Serialize, Deserialize)]
pub(super) enum Answer {
    /// It listens here.
    Listening(String),
    /// Done.
    Done,
    /// It is so far.
    So {
        /// In numbers.
        counts: Counts,
        /// Whether its client has entered as often as planned.
        lived: bool,
    },
    /// A piece of the report: a frame is too small for all of it.
    Piece {
        /// As it is encoded.
        bytes: Vec<u8>,
        /// Whether it ends with this.
        last: bool,
    },
    /// It cannot, in its own words.
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

    /// What the other end says next; `None` if it has hung up.
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
