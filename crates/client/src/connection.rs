//! A TCP connection to a node: greetings, and frames both ways.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use service::frame::{self, FrameError, Incoming};
use service::protocol::{GREETING, Hello, ToClient, VERSIONS, Welcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A connection must stand after so long.
const GREETING_LIMIT: Duration = Duration::from_secs(2);

/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// A connection that stands.
pub(crate) struct Connection {
    pub(crate) stream: Arc<TcpStream>,
    pub(crate) incoming: Incoming,
    /// The version that was agreed on.
    pub(crate) version: u8,
}

impl Connection {
    /// Connects; the error says why not, in words.
    pub(crate) async fn open(endpoint: &str) -> Result<Connection, String> {
        match timeout(GREETING_LIMIT, Connection::greet(endpoint)).await {
            Ok(connection) => connection,
            Err(_) => Err(format!("nothing heard within {} s", GREETING_LIMIT.as_secs())),
        }
    }

    async fn greet(endpoint: &str) -> Result<Connection, String> {
        let mut stream = TcpStream::connect(endpoint).await.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        frame::put(GREETING, &Hello::MINE, &mut bytes);
        stream.write_all(&bytes).await.map_err(|error| error.to_string())?;
        let mut incoming = Incoming::default();
        let welcome = loop {
            match incoming.next::<Welcome>(GREETING) {
                Ok(Some(welcome)) => break welcome,
                Ok(None) => {}
                Err(_) => return Err("not a Tokenwood node (is this the port for clients?)".to_string()),
            }
            let read = stream.read_buf(incoming.buffer()).await.map_err(|error| error.to_string())?;
            if read == 0 {
                return Err("it hung up: not a Tokenwood node, or one that is stopping".to_string());
            }
        };
        match welcome {
            Welcome::Version { version, .. } => {
                Ok(Connection { stream: Arc::new(stream), incoming, version })
            }
            Welcome::NoCommonVersion(theirs) => Err(format!(
                "no protocol version in common: the node speaks {} to {}, this client {} to {}",
                theirs.0, theirs.1, VERSIONS.0, VERSIONS.1
            )),
            Welcome::Full(why) => Err(why),
        }
    }

    /// Writes everything, and waits until it is written.
    pub(crate) async fn write(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            self.stream.writable().await.map_err(|error| error.to_string())?;
            match self.stream.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    /// Waits for the next thing that the node says. Can be given up and called again: nothing is lost.
    pub(crate) async fn next(&mut self) -> Result<ToClient, String> {
        loop {
            if let Some(heard) = self.incoming.next(self.version).map_err(|error| error.to_string())? {
                return Ok(heard);
            }
            self.stream.readable().await.map_err(|error| error.to_string())?;
            self.read().map_err(|_| "it hung up".to_string())?;
        }
    }

    /// Takes in what is there without waiting.
    pub(crate) fn read(&mut self) -> Result<(), Broken> {
        loop {
            let buffer = self.incoming.buffer();
            buffer.reserve(READ_BYTES);
            match self.stream.try_read_buf(buffer) {
                Ok(0) => return Err(Broken),
                Ok(read) if read < READ_BYTES => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(Broken),
            }
        }
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
