//! Locks in Redis as its documentation describes them: `SET name token NX PX`, and a script that deletes the
//! name if it still has the token. A client that finds the lock held retries after a short random pause:
//! Redis has no queue.

use std::time::{Duration, Instant};

use random::Random;
use tokio::time::sleep;

use self::connection::{Commands, Connection, Reply, Shared};
use super::{Connections, Locker, Peer, Workload};
use crate::error::Error;

mod connection;

/// The shortest and the longest pause between attempts, in microseconds; pauses are uniformly distributed.
const PAUSE: (u64, u64) = (1_000, 3_000);

const COMPARE_AND_DELETE: &str =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";

/// A client of Redis.
pub(super) struct Redis {
    connection: Connection,
    /// The hash of the script that releases.
    script: String,
    commands: Commands,
    held: Option<String>,
    /// The number of tokens created; each is used once.
    tokens: u64,
    token: String,
    number: usize,
    random: Random,
    /// Whether release and acquire go out in one write.
    joined: bool,
}

pub(super) async fn clients(peer: &Peer, workload: &Workload, joined: bool) -> Result<Vec<Redis>, Error> {
    let mut clients = Vec::new();
    let shared = match workload.connections {
        Connections::Own => None,
        Connections::Shared => Some(Shared::open(&peer.endpoints[0]).await?),
    };
    for (number, endpoint) in peer.endpoints.iter().cycle().take(workload.clients).enumerate() {
        let connection = match &shared {
            Some(shared) => Connection::share(shared),
            None => Connection::open(endpoint).await?,
        };
        clients.push(Redis::start(connection, number, joined).await?);
    }
    Ok(clients)
}

impl Redis {
    async fn start(connection: Connection, number: usize, joined: bool) -> Result<Redis, Error> {
        let mut redis = Redis {
            connection,
            script: String::new(),
            commands: Commands::default(),
            held: None,
            tokens: 0,
            token: String::new(),
            number,
            random: Random::new(number as u64 + 1),
            joined,
        };
        redis.commands.put(&["SCRIPT", "LOAD", COMPARE_AND_DELETE]);
        redis.send().await?;
        match redis.connection.reply().await? {
            Reply::Text(script) => redis.script = script,
            other => return Err(Error::Peer(format!("Redis loads no script: {other:?}"))),
        }
        Ok(redis)
    }

    fn ask(&mut self, name: &str) {
        self.tokens += 1;
        self.token = format!("{:04x}{:016x}", self.number, self.tokens);
        self.ask_again(name);
    }

    fn ask_again(&mut self, name: &str) {
        self.commands.put(&["SET", name, &self.token, "NX", "PX", "30000"]);
    }

    /// Appends the release of the held lock to the buffer, if a lock is held.
    fn let_go(&mut self) -> bool {
        let Some(name) = self.held.take() else { return false };
        self.commands.put(&["EVALSHA", &self.script, "1", &name, &self.token]);
        true
    }

    async fn released(&mut self) -> Result<(), Error> {
        match self.connection.reply().await? {
            Reply::Number(1) => Ok(()),
            other => Err(Error::Peer(format!("not released: {other:?}"))),
        }
    }

    /// Waits for the answer to `SET NX`, and retries until it is granted.
    async fn granted(&mut self, name: &str) -> Result<(), Error> {
        loop {
            match self.connection.reply().await? {
                Reply::Text(_) => {
                    self.held = Some(name.to_string());
                    return Ok(());
                }
                Reply::Nothing => {}
                other => return Err(Error::Peer(format!("not set: {other:?}"))),
            }
            let pause = PAUSE.0 + self.random.below(PAUSE.1 - PAUSE.0);
            sleep(Duration::from_micros(pause)).await;
            self.ask_again(name);
            self.send().await?;
        }
    }

    async fn send(&mut self) -> Result<(), Error> {
        self.connection.send(&mut self.commands).await
    }
}

impl Locker for Redis {
    async fn acquire(&mut self, name: &str) -> Result<(), Error> {
        self.ask(name);
        self.send().await?;
        self.granted(name).await
    }

    async fn release(&mut self) -> Result<(), Error> {
        if !self.let_go() {
            return Ok(());
        }
        self.send().await?;
        self.released().await
    }

    async fn go_on(&mut self, name: &str, released: impl Fn() + Send) -> Result<Instant, Error> {
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
        self.send().await?;
        if held {
            self.released().await?;
        }
        self.granted(name).await?;
        Ok(asked)
    }
}
