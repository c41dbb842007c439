//! Locks in Redis as its documentation describes them: `SET name token NX PX`, and a script that deletes the name if it still
//! has the token. A client that finds the lock taken tries again after a short random pause: Redis has no queue.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::{Locker, Peer, Workload};
use crate::storm::Dice;

/// Pauses between tries, in microseconds: evenly spread between these.
const PAUSE: (u64, u64) = (1_000, 3_000);

const COMPARE_AND_DELETE: &str =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";

/// A connection to Redis.
pub(super) struct Redis {
    stream: TcpStream,
    /// The hash of the script that releases.
    script: String,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    held: Option<String>,
    /// So many tokens were made: each is used once.
    tokens: u64,
    token: String,
    number: usize,
    dice: Dice,
    /// Releases and acquires in one write.
    joined: bool,
}

pub(super) async fn clients(peer: &Peer, workload: &Workload, joined: bool) -> Result<Vec<Redis>, String> {
    let mut clients = Vec::new();
    for (number, endpoint) in peer.endpoints.iter().cycle().take(workload.clients).enumerate() {
        clients.push(Redis::connect(endpoint, number, joined).await?);
    }
    Ok(clients)
}

impl Redis {
    async fn connect(endpoint: &str, number: usize, joined: bool) -> Result<Redis, String> {
        let stream = TcpStream::connect(endpoint).await.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let mut redis = Redis {
            stream,
            script: String::new(),
            outgoing: Vec::new(),
            incoming: Vec::with_capacity(4096),
            held: None,
            tokens: 0,
            token: String::new(),
            number,
            dice: Dice::new(number as u64 + 1),
            joined,
        };
        put(&mut redis.outgoing, &["SCRIPT", "LOAD", COMPARE_AND_DELETE]);
        redis.write().await?;
        match redis.reply().await? {
            Reply::Text(script) => redis.script = script,
            other => return Err(format!("Redis loads no script: {other:?}")),
        }
        Ok(redis)
    }

    fn ask(&mut self, name: &str) {
        self.tokens += 1;
        self.token = format!("{:04x}{:016x}", self.number, self.tokens);
        put(&mut self.outgoing, &["SET", name, &self.token, "NX", "PX", "30000"]);
    }

    /// Puts the release of what is held into the buffer, if anything is held.
    fn let_go(&mut self) -> bool {
        let Some(name) = self.held.take() else { return false };
        put(&mut self.outgoing, &["EVALSHA", &self.script, "1", &name, &self.token]);
        true
    }

    async fn released(&mut self) -> Result<(), String> {
        match self.reply().await? {
            Reply::Number(1) => Ok(()),
            other => Err(format!("not released: {other:?}")),
        }
    }

    /// Waits for the answer to `SET NX`, and tries again until it is granted.
    async fn granted(&mut self, name: &str) -> Result<(), String> {
        loop {
            match self.reply().await? {
                Reply::Text(_) => {
                    self.held = Some(name.to_string());
                    return Ok(());
                }
                Reply::Nothing => {}
                other => return Err(format!("not set: {other:?}")),
            }
            let pause = PAUSE.0 + self.dice.below(PAUSE.1 - PAUSE.0);
            sleep(Duration::from_micros(pause)).await;
            put(&mut self.outgoing, &["SET", name, &self.token, "NX", "PX", "30000"]);
            self.write().await?;
        }
    }

    async fn write(&mut self) -> Result<(), String> {
        let written = self.stream.write_all(&self.outgoing).await;
        self.outgoing.clear();
        written.map_err(|error| error.to_string())
    }

    async fn reply(&mut self) -> Result<Reply, String> {
        loop {
            if let Some((reply, length)) = parse(&self.incoming) {
                self.incoming.drain(..length);
                return match reply {
                    Reply::Error(error) => Err(error),
                    reply => Ok(reply),
                };
            }
            let read = self.stream.read_buf(&mut self.incoming).await.map_err(|error| error.to_string())?;
            if read == 0 {
                return Err("Redis hung up".to_string());
            }
        }
    }
}

impl Locker for Redis {
    async fn acquire(&mut self, name: &str) -> Result<(), String> {
        self.ask(name);
        self.write().await?;
        self.granted(name).await
    }

    async fn release(&mut self) -> Result<(), String> {
        if !self.let_go() {
            return Ok(());
        }
        self.write().await?;
        self.released().await
    }

    async fn go_on(&mut self, name: &str, released: impl Fn() + Send) -> Result<Instant, String> {
        released();
        if !self.joined {
            self.release().await?;
            let asked = Instant::now();
            self.acquire(name).await?;
            return Ok(asked);
        }
        let asked = Instant::now();
        let held = self.let_go();
        self.ask(name);
        self.write().await?;
        if held {
            self.released().await?;
        }
        self.granted(name).await?;
        Ok(asked)
    }
}

/// What Redis answers, as far as it is needed here.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Text(String),
    Number(i64),
    Nothing,
    Error(String),
}

/// Appends a command.
fn put(bytes: &mut Vec<u8>, words: &[&str]) {
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
