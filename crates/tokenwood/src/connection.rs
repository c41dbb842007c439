//! A connection to a node, by TCP or a Unix socket: greetings, and frames both ways.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use service::Identity;
use service::frame::{self, FrameError, Incoming};
use service::protocol::{GREETING, Hello, ToClient, VERSIONS, Welcome};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::{tcp, unix};
use tokio::time::timeout;
use transport::Secured;
use transport::secure::Parted;
use transport::tls::Tls;

use crate::access::Access;
use crate::error::NoAnswer;

/// A connection must be established within this time.
const GREETING_LIMIT: Duration = Duration::from_secs(2);

/// How much is read at once.
const READ_BYTES: usize = 16 * 1024;

/// An endpoint that begins so is the path of a Unix socket.
pub(crate) const LOCAL: &str = "unix:";

/// A connection that stands.
pub(crate) struct Connection {
    pub(crate) reader: Reader,
    /// Shared by all that write to it.
    pub(crate) writer: Arc<Writer>,
    /// The version that both ends agreed on.
    pub(crate) version: u8,
    /// The node at the other end.
    pub(crate) node: Identity,
}

/// The half that frames come from.
pub(crate) struct Reader {
    half: ReadHalf,
    tls: Option<Arc<Tls>>,
    incoming: Incoming,
    version: u8,
}

/// The half that frames go to.
pub(crate) struct Writer {
    half: WriteHalf,
    tls: Option<Arc<Tls>>,
}

enum ReadHalf {
    Tcp(tcp::OwnedReadHalf),
    Unix(unix::OwnedReadHalf),
}

enum WriteHalf {
    Tcp(tcp::OwnedWriteHalf),
    Unix(unix::OwnedWriteHalf),
}

impl Connection {
    /// Connects and greets.
    pub(crate) async fn open(endpoint: &str, access: &Access) -> Result<Connection, NoAnswer> {
        match timeout(GREETING_LIMIT, Connection::greet(endpoint, access)).await {
            Ok(connection) => connection,
            Err(_) => Err(NoAnswer::TimedOut(GREETING_LIMIT)),
        }
    }

    async fn greet(endpoint: &str, access: &Access) -> Result<Connection, NoAnswer> {
        let mut stream = match endpoint.strip_prefix(LOCAL) {
            Some(path) => Secured::local(Path::new(path)).await?,
            None => access.encryption.call(endpoint, security::CLIENTS, None).await?,
        };
        let mut bytes = Vec::new();
        frame::put(GREETING, &Hello::with(access.token_over(&stream)?), &mut bytes);
        stream.write_all(&bytes).await?;
        stream.flush().await?;
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
                // What a certificate says counts for more.
                if !stream.speaks_for(id) {
                    return Err(NoAnswer::NotANode);
                }
                let (half, writer, tls) = split(stream);
                let reader = Reader { half, tls: tls.clone(), incoming, version };
                let node = Identity { id, incarnation };
                Ok(Connection { reader, writer: Arc::new(Writer { half: writer, tls }), version, node })
            }
            Welcome::NoCommonVersion(node) => Err(NoAnswer::NoCommonVersion { node, client: VERSIONS }),
            Welcome::Refused(refusal) => Err(NoAnswer::Refused(refusal)),
        }
    }

    /// Writes everything, and waits until it is written.
    pub(crate) async fn write(&mut self, mut bytes: &[u8]) -> Result<(), NoAnswer> {
        loop {
            let written = match bytes {
                [] => self.writer.try_flush().map(|()| 0),
                bytes => self.writer.try_write(bytes),
            };
            match written {
                Ok(_) if bytes.is_empty() => return Ok(()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writer.writable().await?,
                Err(error) => return Err(error.into()),
            }
        }
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
        let Some(tls) = &self.tls else {
            let buffer = self.incoming.buffer();
            buffer.reserve(READ_BYTES);
            let read = match &mut self.half {
                ReadHalf::Tcp(half) => pin!(half.read_buf(buffer)).poll(context),
                ReadHalf::Unix(half) => pin!(half.read_buf(buffer)).poll(context),
            };
            return read.map(|read| match read {
                Ok(0) | Err(_) => Err(Broken),
                Ok(_) => Ok(()),
            });
        };
        let mut clear = [0; READ_BYTES];
        match tls.read(&mut Polled { half: &mut self.half, context }, &mut clear) {
            Ok(read @ 1..) => {
                self.incoming.extend(&clear[..read]);
                Poll::Ready(Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            Ok(_) | Err(_) => Poll::Ready(Err(Broken)),
        }
    }
}

/// A socket that is polled, as one that does not block: when it has nothing to give, it wakes the task later.
struct Polled<'a, 'b> {
    half: &'a mut ReadHalf,
    context: &'a mut Context<'b>,
}

impl Read for Polled<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut buffer = ReadBuf::new(buffer);
        let read = match self.half {
            ReadHalf::Tcp(half) => Pin::new(half).poll_read(self.context, &mut buffer),
            ReadHalf::Unix(half) => Pin::new(half).poll_read(self.context, &mut buffer),
        };
        match read {
            Poll::Ready(read) => read.map(|()| buffer.filled().len()),
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl Writer {
    /// Waits until the socket takes something.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        match &self.half {
            WriteHalf::Tcp(half) => half.writable().await,
            WriteHalf::Unix(half) => half.writable().await,
        }
    }

    /// Writes what the socket takes; it may have to be [flushed](Writer::try_flush).
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.tls {
            None => (&self.half).write(bytes),
            Some(tls) => tls.write(&mut &self.half, bytes),
        }
    }

    /// Writes what was taken and has not gone out. `WouldBlock` if the socket does not take all of it.
    pub(crate) fn try_flush(&self) -> io::Result<()> {
        match &self.tls {
            None => Ok(()),
            Some(tls) => tls.flush(&mut &self.half),
        }
    }
}

impl Write for &WriteHalf {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            WriteHalf::Tcp(half) => half.try_write(bytes),
            WriteHalf::Unix(half) => half.try_write(bytes),
        }
    }

    fn write_vectored(&mut self, bytes: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            WriteHalf::Tcp(half) => half.try_write_vectored(bytes),
            WriteHalf::Unix(half) => half.try_write_vectored(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn split(stream: Secured) -> (ReadHalf, WriteHalf, Option<Arc<Tls>>) {
    let (socket, tls) = stream.into_parts();
    let (reading, writing) = match socket {
        Parted::Tcp(socket) => {
            let (reading, writing) = socket.into_split();
            (ReadHalf::Tcp(reading), WriteHalf::Tcp(writing))
        }
        Parted::Unix(socket) => {
            let (reading, writing) = socket.into_split();
            (ReadHalf::Unix(reading), WriteHalf::Unix(writing))
        }
    };
    (reading, writing, tls.map(Arc::new))
}

/// Why a connection is over.
#[derive(Debug)]
pub(crate) struct Broken;

impl From<FrameError> for Broken {
    fn from(_: FrameError) -> Broken {
        Broken
    }
}
