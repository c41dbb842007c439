//! Commands to Redis and its replies, over a connection of its own or a shared one.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

const HUNG_UP: &str = "Redis hung up";

/// A connection to Redis. Replies come in the order of commands.
pub(super) enum Connection {
    Own { stream: TcpStream, incoming: Vec<u8> },
    Shared { with: Arc<Shared>, replies: VecDeque<oneshot::Receiver<Reply>> },
}

/// A connection that several clients share: commands queued before its task runs go out in one write.
pub(super) struct Shared {
    desk: Arc<Desk>,
    task: JoinHandle<io::Result<()>>,
}

/// The state that the clients and the task share.
#[derive(Default)]
struct Desk {
    board: Mutex<Board>,
    /// Notifies the task of bytes to write.
    said: Notify,
}

#[derive(Default)]
struct Board {
    outgoing: Vec<u8>,
    /// The clients that wait for the next replies, in order.
    waiting: VecDeque<oneshot::Sender<Reply>>,
}

impl Connection {
    /// A connection for one client.
    pub(super) async fn open(endpoint: &str) -> Result<Connection, String> {
        Ok(Connection::Own { stream: connect(endpoint).await?, incoming: Vec::with_capacity(4096) })
    }

    /// A shared connection.
    pub(super) fn share(with: &Arc<Shared>) -> Connection {
        Connection::Shared { with: with.clone(), replies: VecDeque::new() }
    }

    /// Sends these bytes, which contain this many commands.
    pub(super) async fn send(&mut self, bytes: &[u8], commands: usize) -> Result<(), String> {
        match self {
            Connection::Own { stream, .. } => {
                stream.write_all(bytes).await.map_err(|error| error.to_string())
            }
            Connection::Shared { with, replies } => {
                let mut board = with.desk.board();
                board.outgoing.extend_from_slice(bytes);
                for _ in 0..commands {
                    let (sender, reply) = oneshot::channel();
                    board.waiting.push_back(sender);
                    replies.push_back(reply);
                }
                drop(board);
                with.desk.said.notify_one();
                Ok(())
            }
        }
    }

    /// Waits for the next reply.
    pub(super) async fn reply(&mut self) -> Result<Reply, String> {
        let reply = match self {
            Connection::Own { stream, incoming } => loop {
                if let Some((reply, length)) = parse(incoming) {
                    incoming.drain(..length);
                    break reply;
                }
                let read = stream.read_buf(incoming).await.map_err(|error| error.to_string())?;
                if read == 0 {
                    return Err(HUNG_UP.to_string());
                }
            },
            Connection::Shared { replies, .. } => {
                let reply = replies.pop_front().ok_or("nothing was asked")?;
                reply.await.map_err(|_| HUNG_UP)?
            }
        };
        match reply {
            Reply::Error(error) => Err(error),
            reply => Ok(reply),
        }
    }
}

impl Shared {
    /// A connection for several clients. It ends with the last of them.
    pub(super) async fn open(endpoint: &str) -> Result<Arc<Shared>, String> {
        let stream = connect(endpoint).await?;
        let desk = Arc::<Desk>::default();
        Ok(Arc::new(Shared { desk: desk.clone(), task: tokio::spawn(desk.serve(stream)) }))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Desk {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(self: Arc<Desk>, stream: TcpStream) -> io::Result<()> {
        let (mut reader, mut writer) = stream.into_split();
        let (mut incoming, mut outgoing) = (Vec::with_capacity(16 << 10), Vec::new());
        loop {
            tokio::select! {
                biased;
                read = reader.read_buf(&mut incoming) => {
                    if read? == 0 {
                        // Closing their channels tells the waiting clients.
                        self.board().waiting.clear();
                        return Ok(());
                    }
                    self.hand_out(&mut incoming);
                }
                () = self.said.notified() => {
                    std::mem::swap(&mut outgoing, &mut self.board().outgoing);
                    writer.write_all(&outgoing).await?;
                    outgoing.clear();
                }
            }
        }
    }

    /// Gives each reply to the client that waits for it.
    fn hand_out(&self, incoming: &mut Vec<u8>) {
        let (mut board, mut read) = (self.board(), 0);
        while let Some((reply, length)) = parse(&incoming[read..]) {
            read += length;
            // A client that is gone needs no reply.
            _ = board.waiting.pop_front().map(|waiting| waiting.send(reply));
        }
        incoming.drain(..read);
    }
}

async fn connect(endpoint: &str) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(endpoint).await.map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
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

/// Appends a command.
pub(super) fn put(bytes: &mut Vec<u8>, words: &[&str]) {
    bytes.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word.as_bytes());
        bytes.extend_from_slice(b"\r\n");
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

    #[test]
    fn commands_are_written_with_their_lengths() {
        let mut bytes = Vec::new();
        put(&mut bytes, &["GET", "a b"]);
        assert_eq!(bytes, b"*2\r\n$3\r\nGET\r\n$3\r\na b\r\n");
    }
}
