//! A TCP connection to a node: greetings, and frames both ways.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use service::Identity;
use service::frame::{self, FrameError, Incoming};
use service::protocol::{GREETING, Hello, ToClient, VERSIONS, Welcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use crate::error::NoAnswer;

/// A connection must be established within this time.
const GREETING_LIMIT: Duration = Duration::from_secs(2);

/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;

/// A connection that stands.
pub(crate) struct Connection {
    pub(crate) reader: Reader,
    /// Shared by all that write to it.
    pub(crate) writer: Arc<OwnedWriteHalf>,
    /// The version that both ends agreed on.
    pub(crate) version: u8,
    /// The node at the other end.
    pub(crate) node: Identity,
}

/// The half that frames come from.
pub(crate) struct Reader {
    half: OwnedReadHalf,
    incoming: Incoming,
    version: u8,
}

impl Connection {
    /// Connects and greets.
    pub(crate) async fn open(endpoint: &str) -> Result<Connection, NoAnswer> {
        match timeout(GREETING_LIMIT, Connection::greet(endpoint)).await {
            Ok(connection) => connection,
            Err(_) => Err(NoAnswer::TimedOut(GREETING_LIMIT)),
        }
    }

    async fn greet(endpoint: &str) -> Result<Connection, NoAnswer> {
        let mut stream = TcpStream::connect(endpoint).await?;
        stream.set_nodelay(true)?;
        let mut bytes = Vec::new();
        frame::put(GREETING, &Hello::MINE, &mut bytes);
        stream.write_all(&bytes).await?;
        let mut incoming = Incoming::default();
        let welcome = loop {
            match incoming.next::<Welcome>(GREETING) {
                Ok(Some(welcome)) => break welcome,
                Ok(None) => {}
                Err(_) => return Err(NoAnswer::NotANode),
            }
            let read = stream.read_buf(incoming.buffer()).await?;
            if read == 0 {
                return Err(NoAnswer::ClosedEarly);
            }
        };
        match welcome {
            Welcome::Version { version, node: id, incarnation } => {
                let (half, writer) = stream.into_split();
                let reader = Reader { half, incoming, version };
                let node = Identity { id, incarnation };
                Ok(Connection { reader, writer: Arc::new(writer), version, node })
            }
            Welcome::NoCommonVersion(node) => Err(NoAnswer::NoCommonVersion { node, client: VERSIONS }),
            Welcome::Refused(refusal) => Err(NoAnswer::Refused(refusal)),
        }
    }

    /// Writes everything, and waits until it is written.
    pub(crate) async fn write(&mut self, mut bytes: &[u8]) -> Result<(), NoAnswer> {
        while !bytes.is_empty() {
            self.writer.writable().await?;
            match self.writer.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits for the next thing that the node says. Can be given up and called again: nothing is lost.
    pub(crate) async fn next(&mut self) -> Result<ToClient, NoAnswer> {
        loop {
            if let Some(heard) = self.reader.next().map_err(|error| NoAnswer::Malformed(error.to_string()))? {
                return Ok(heard);
            }
            self.reader.read().await.map_err(|_| NoAnswer::Closed)?;
        }
    }
}

impl Reader {
    /// What came in, a frame at a time.
    pub(crate) fn next(&mut self) -> Result<Option<ToClient>, FrameError> {
        self.incoming.next(self.version)
    }

    /// Waits for bytes and takes them in. Can be cancelled and called again: nothing is lost.
    ///
    /// One system call for what has arrived: a read that does not fill the buffer also says that there is no
    /// more.
    pub(crate) async fn read(&mut self) -> Result<(), Broken> {
        poll_fn(|context| self.poll_read(context)).await
    }

    /// The same, a poll at a time.
    pub(crate) fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let buffer = self.incoming.buffer();
        buffer.reserve(READ_BYTES);
        pin!(self.half.read_buf(buffer)).poll(context).map(|read| match read {
            Ok(0) | Err(_) => Err(Broken),
            Ok(_) => Ok(()),
        })
    }
}

/// Why a connection is over.
#[derive(Debug)]
pub(crate) struct Broken;

impl From<FrameError> for Broken {
    fn from(_: FrameError) -> Broken {
        Broken
    }
}
