//! Locks in ZooKeeper by its recipe: each client creates an ephemeral sequential node; the lowest holds the
//! lock, and every other one watches its predecessor. Only the part of the protocol that this needs.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Locker, Peer, Workload, name_of};
use crate::error::Error;

const SESSION_MILLIS: i32 = 30_000;
/// Types of requests in the protocol.
const CREATE: i32 = 1;
const DELETE: i32 = 2;
const EXISTS: i32 = 3;
const CHILDREN: i32 = 8;
const CLOSE: i32 = -11;
/// Flags of nodes: persistent, or ephemeral and sequential.
const PERSISTENT: i32 = 0;
const EPHEMERAL_SEQUENTIAL: i32 = 3;
/// Errors: the node does not exist, or it exists already.
const NO_NODE: i32 = -101;
const NODE_EXISTS: i32 = -110;
/// The number of frames that are watch events and not answers.
const WATCH: i32 = -1;

/// A session at ZooKeeper.
pub(super) struct ZooKeeper {
    stream: TcpStream,
    incoming: Vec<u8>,
    sent: i32,
    held: Option<String>,
}

pub(super) async fn clients(peer: &Peer, workload: &Workload) -> Result<Vec<ZooKeeper>, Error> {
    let mut clients = Vec::new();
    for endpoint in peer.endpoints.iter().cycle().take(workload.clients) {
        clients.push(ZooKeeper::connect(endpoint).await?);
    }
    let first = clients.first_mut().ok_or_else(|| Error::Measurement("no clients".to_string()))?;
    for number in 0..workload.names {
        first.create(&format!("/{}", name_of(workload, number)), PERSISTENT).await?;
    }
    // Other clients may be at servers that do not know the folder yet: a read after a write of their own is
    // up to date.
    for (number, client) in clients.iter_mut().enumerate() {
        client.create(&format!("/client-{number}"), PERSISTENT).await?;
    }
    Ok(clients)
}

impl ZooKeeper {
    async fn connect(endpoint: &str) -> Result<ZooKeeper, Error> {
        let stream = TcpStream::connect(endpoint).await?;
        stream.set_nodelay(true)?;
        let mut zookeeper = ZooKeeper { stream, incoming: Vec::with_capacity(4096), sent: 0, held: None };
        // Version, last transaction seen, timeout, no session yet, and an empty password of 16 bytes.
        let mut hello = Request::default();
        hello.int(0).long(0).int(SESSION_MILLIS).long(0).int(16).long(0).long(0);
        zookeeper.write(hello).await?;
        zookeeper.frame().await?;
        Ok(zookeeper)
    }

    async fn write(&mut self, request: Request) -> Result<(), Error> {
        let Request(body) = request;
        let mut bytes = Vec::with_capacity(body.len() + 4);
        bytes.extend_from_slice(&(body.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&body);
        Ok(self.stream.write_all(&bytes).await?)
    }

    /// The next frame, without its length.
    async fn frame(&mut self) -> Result<Vec<u8>, Error> {
        loop {
            if let Some(length) = self.incoming.first_chunk::<4>() {
                let end = 4 + u32::from_be_bytes(*length) as usize;
                if self.incoming.len() >= end {
                    let frame = self.incoming[4..end].to_vec();
                    self.incoming.drain(..end);
                    return Ok(frame);
                }
            }
            let read = self.stream.read_buf(&mut self.incoming).await?;
            if read == 0 {
                return Err(Error::HungUp("ZooKeeper"));
            }
        }
    }

    /// Sends a request, and returns the error number and the body of the answer. Watch events before it are
    /// skipped: this client reads the state itself.
    async fn ask(&mut self, kind: i32, fill: impl FnOnce(&mut Request)) -> Result<(i32, Vec<u8>), Error> {
        self.sent += 1;
        let mut request = Request::default();
        request.int(self.sent).int(kind);
        fill(&mut request);
        self.write(request).await?;
        loop {
            let frame = self.frame().await?;
            let number =
                int(&frame, 0).ok_or_else(|| Error::Peer("ZooKeeper answers too little".to_string()))?;
            if number == self.sent {
                let error =
                    int(&frame, 12).ok_or_else(|| Error::Peer("ZooKeeper answers too little".to_string()))?;
                return Ok((error, frame[16..].to_vec()));
            }
        }
    }

    async fn create(&mut self, path: &str, flags: i32) -> Result<String, Error> {
        let (error, body) = self
            .ask(CREATE, |request| {
                // No data; all permissions (31) for all users.
                request.text(path).int(0).int(1).int(31).text("world").text("anyone").int(flags);
            })
            .await?;
        match error {
            0 => texts(&body, 0, 1).pop().ok_or_else(|| Error::Peer(format!("{path} has no name"))),
            NODE_EXISTS => Ok(path.to_string()),
            error => Err(Error::Peer(format!("{path} cannot be made: error {error}"))),
        }
    }

    /// The predecessor of this child, if there is one.
    async fn before(&mut self, folder: &str, own: &str) -> Result<Option<String>, Error> {
        let (error, body) = self
            .ask(CHILDREN, |request| {
                request.text(folder).byte(0);
            })
            .await?;
        let (0, Some(count)) = (error, int(&body, 0)) else {
            return Err(Error::Peer(format!("{folder} cannot be listed: error {error}")));
        };
        let children = texts(&body, 4, count);
        Ok(children.into_iter().filter(|child| child.as_str() < own).max())
    }

    /// Waits until this node is gone.
    async fn until_gone(&mut self, path: &str) -> Result<(), Error> {
        let (error, _) = self
            .ask(EXISTS, |request| {
                request.text(path).byte(1);
            })
            .await?;
        match error {
            NO_NODE => return Ok(()),
            0 => {}
            error => return Err(Error::Peer(format!("{path} cannot be watched: error {error}"))),
        }
        loop {
            if int(&self.frame().await?, 0) == Some(WATCH) {
                return Ok(());
            }
        }
    }
}

impl Locker for ZooKeeper {
    async fn acquire(&mut self, name: &str) -> Result<(), Error> {
        let folder = format!("/{name}");
        let path = self.create(&format!("{folder}/lock-"), EPHEMERAL_SEQUENTIAL).await?;
        let own = path.rsplit('/').next().unwrap_or_default().to_string();
        while let Some(before) = self.before(&folder, &own).await? {
            self.until_gone(&format!("{folder}/{before}")).await?;
        }
        self.held = Some(path);
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Error> {
        let Some(path) = self.held.take() else { return Ok(()) };
        let (error, _) = self
            .ask(DELETE, |request| {
                request.text(&path).int(-1);
            })
            .await?;
        if error == 0 { Ok(()) } else { Err(Error::Peer(format!("{path} cannot be deleted: error {error}"))) }
    }
}

impl Drop for ZooKeeper {
    fn drop(&mut self) {
        // Closes the session, so that its server drops it now. If this does not arrive, the session expires.
        let mut bytes = vec![0, 0, 0, 8];
        bytes.extend_from_slice(&(self.sent + 1).to_be_bytes());
        bytes.extend_from_slice(&CLOSE.to_be_bytes());
        _ = self.stream.try_write(&bytes);
    }
}

/// The bytes of a request.
#[derive(Default)]
struct Request(Vec<u8>);

impl Request {
    fn byte(&mut self, value: u8) -> &mut Request {
        self.0.push(value);
        self
    }

    fn int(&mut self, value: i32) -> &mut Request {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    fn long(&mut self, value: i64) -> &mut Request {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    fn text(&mut self, text: &str) -> &mut Request {
        self.int(text.len() as i32);
        self.0.extend_from_slice(text.as_bytes());
        self
    }
}

/// The number that begins at this byte.
fn int(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..)?.first_chunk::<4>().map(|bytes| i32::from_be_bytes(*bytes))
}

/// The `count` strings from this byte on, as far as they are complete.
fn texts(bytes: &[u8], mut at: usize, count: i32) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..count {
        let Some(length) = int(bytes, at).and_then(|length| usize::try_from(length).ok()) else { break };
        let Some(text) = bytes.get(at + 4..at + 4 + length) else { break };
        all.push(String::from_utf8_lossy(text).into_owned());
        at += 4 + length;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_out_as_they_went_in() {
        let mut request = Request::default();
        request.int(2).text("lock-1").text("");
        assert_eq!(
            (int(&request.0, 0), texts(&request.0, 4, 2)),
            (Some(2), vec!["lock-1".into(), "".into()])
        );
        assert_eq!(texts(&request.0[..9], 4, 2), Vec::<String>::new(), "cut off");
    }
}
