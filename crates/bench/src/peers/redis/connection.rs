//! Commands to Redis and its replies, over a connection of its own or a shared one.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use sync::IgnorePoison;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use crate::error::Error;

const HUNG_UP: Error = Error::HungUp("Redis");

/// A connection to Redis. Replies come in the order of commands.
pub(super) enum Connection {
    Own { stream: TcpStream, incoming: Vec<u8> },
    Shared { with: Arc<Shared>, replies: VecDeque<oneshot::Receiver<Reply>> },
}

/// A connection that several clients share: commands queued before its task runs go out in one write.
pub(super) struct Shared {
    pipeline: Arc<Pipeline>,
    task: JoinHandle<()>,
}

/// The state that the clients and the task share.
#[derive(Default)]
struct Pipeline {
    queue: Mutex<Queue>,
    /// Notifies the task of bytes to write.
    queued: Notify,
}

#[derive(Default)]
struct Queue {
    outgoing: Vec<u8>,
    /// The clients that wait for the next replies, in order.
    waiting: VecDeque<oneshot::Sender<Reply>>,
    /// The connection is over: no reply will come.
    closed: bool,
}

impl Connection {
    /// A connection for one client.
    pub(super) async fn open(endpoint: &str) -> Result<Connection, Error> {
        Ok(Connection::Own { stream: connect(endpoint).await?, incoming: Vec::with_capacity(4096) })
    }

    /// A shared connection.
    pub(super) fn share(with: &Arc<Shared>) -> Connection {
        Connection::Shared { with: with.clone(), replies: VecDeque::new() }
    }

    /// Sends all of these commands.
    pub(super) async fn send(&mut self, commands: &mut Commands) -> Result<(), Error> {
        let Commands { bytes, count } = commands;
        match self {
            Connection::Own { stream, .. } => {
                stream.write_all(bytes).await?;
            }
            Connection::Shared { with, replies } => {
                let mut queue = with.pipeline.queue();
                if queue.closed {
                    return Err(HUNG_UP);
                }
                queue.outgoing.extend_from_slice(bytes);
                for _ in 0..*count {
                    let (sender, reply) = oneshot::channel();
                    queue.waiting.push_back(sender);
                    replies.push_back(reply);
                }
                drop(queue);
                with.pipeline.queued.notify_one();
            }
        }
        bytes.clear();
        *count = 0;
        Ok(())
    }

    /// Waits for the next reply.
    pub(super) async fn reply(&mut self) -> Result<Reply, Error> {
        let reply = match self {
            Connection::Own { stream, incoming } => loop {
                if let Some((reply, length)) = parse(incoming) {
                    incoming.drain(..length);
                    break reply;
                }
                let read = stream.read_buf(incoming).await?;
                if read == 0 {
                    return Err(HUNG_UP);
                }
            },
            Connection::Shared { replies, .. } => {
                let reply =
                    replies.pop_front().ok_or_else(|| Error::Measurement("nothing was asked".to_string()))?;
                reply.await.map_err(|_| HUNG_UP)?
            }
        };
        match reply {
            Reply::Error(error) => Err(Error::Peer(error)),
            reply => Ok(reply),
        }
    }
}

impl Shared {
    /// A connection for several clients. It ends with the last of them.
    pub(super) async fn open(endpoint: &str) -> Result<Arc<Shared>, Error> {
        let stream = connect(endpoint).await?;
        let pipeline = Arc::<Pipeline>::default();
        Ok(Arc::new(Shared { pipeline: pipeline.clone(), task: tokio::spawn(pipeline.serve(stream)) }))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Pipeline {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().ignore_poison()
    }

    /// Writes commands and hands out replies until the connection is over.
    async fn serve(self: Arc<Pipeline>, stream: TcpStream) {
        // How it ended makes no difference: closing their channels tells the waiting clients.
        _ = self.exchange(stream).await;
        let mut queue = self.queue();
        queue.closed = true;
        queue.waiting.clear();
    }

    async fn exchange(&self, stream: TcpStream) -> io::Result<()> {
        let (mut reader, mut writer) = stream.into_split();
        let (mut incoming, mut outgoing) = (Vec::with_capacity(16 << 10), Vec::new());
        loop {
            tokio::select! {
                biased;
                read = reader.read_buf(&mut incoming) => {
                    if read? == 0 {
                        return Ok(());
                    }
                    self.hand_out(&mut incoming);
                }
                () = self.queued.notified() => {
                    std::mem::swap(&mut outgoing, &mut self.queue().outgoing);
                    writer.write_all(&outgoing).await?;
                    outgoing.clear();
                }
            }
        }
    }

    /// Gives each reply to the client that waits for it.
    fn hand_out(&self, incoming: &mut Vec<u8>) {
        let (mut queue, mut read) = (self.queue(), 0);
        while let Some((reply, length)) = parse(&incoming[read..]) {
            read += length;
            // A client that is gone needs no reply.
            _ = queue.waiting.pop_front().map(|waiting| waiting.send(reply));
        }
        incoming.drain(..read);
    }
}

async fn connect(endpoint: &str) -> Result<TcpStream, Error> {
    let stream = TcpStream::connect(endpoint).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A reply of Redis, as far as it is needed here.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Text(String),
    Number(i64),
    Nothing,
    Error(String),
}

/// Commands to be sent.
#[derive(Default)]
pub(super) struct Commands {
    bytes: Vec<u8>,
    count: usize,
}

impl Commands {
    /// Appends a command.
    pub(super) fn put(&mut self, words: &[&str]) {
        self.count += 1;
        self.bytes.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            self.bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            self.bytes.extend_from_slice(word.as_bytes());
            self.bytes.extend_from_slice(b"\r\n");
        }
    }
}

/// The first reply in these bytes and its length; `None` if it is not complete.
fn parse(bytes: &[u8]) -> Option<(Reply, usize)> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (line, after) = (text(&bytes[1..end]), end + 2);
    let reply = match bytes[0] {
        b'+' => Reply::Text(line),
        b':' => line.parse().map_or(Reply::Error(line), Reply::Number),
        b'$' => match line.parse::<usize>() {
            Ok(length) => {
                let body = bytes.get(after..after + length + 2)?;
                return Some((Reply::Text(text(&body[..length])), after + length + 2));
            }
            Err(_) => Reply::Nothing,
        },
        _ => Reply::Error(line),
    };
    Some((reply, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_whole_or_not_at_all() {
        let replies = [
            (&b"+OK\r\n"[..], Reply::Text("OK".to_string())),
            (b":1\r\n", Reply::Number(1)),
            (b"$-1\r\n", Reply::Nothing),
            (b"$3\r\na\r\n\r\n", Reply::Text("a\r\n".to_string())),
            (b"-ERR no\r\n", Reply::Error("ERR no".to_string())),
        ];
        for (bytes, reply) in replies {
            assert_eq!(parse(bytes), Some((reply, bytes.len())));
            (0..bytes.len()).for_each(|cut| assert_eq!(parse(&bytes[..cut]), None, "{cut}"));
        }
    }

    #[tokio::test]
    async fn a_server_that_hangs_up_is_an_error_for_all_who_share_the_connection() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = Shared::open(&listener.local_addr().unwrap().to_string()).await.unwrap();
        drop(listener.accept().await.unwrap());
        for _ in 0..2 {
            let mut connection = Connection::share(&shared);
            let reply = async {
                let mut commands = Commands::default();
                commands.put(&["PING"]);
                connection.send(&mut commands).await?;
                connection.reply().await
            };
            let reply = tokio::time::timeout(std::time::Duration::from_secs(20), reply).await;
            assert!(matches!(reply.expect("it does not wait for ever"), Err(Error::HungUp(_))));
        }
    }

    #[test]
    fn commands_are_written_with_their_lengths() {
        let mut commands = Commands::default();
        commands.put(&["GET", "a b"]);
        assert_eq!(commands.bytes, b"*2\r\n$3\r\nGET\r\n$3\r\na b\r\n");
    }
}
