//! A session at a node far away: what it decides is in [`service::client`], here are its connection and its clock.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use service::client::{Client, Grant, News};
use service::frame;
use service::protocol::{ToClient, ToNode};
use service::{Acquire, Refusal, SessionId, Time};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::backend::{Asked, Backend, Losses};
use crate::clock;
use crate::connection::{Broken, Connection};
use crate::error::Error;

/// After a lost connection, so long before the first new try; then twice as long each time, up to a limit.
const FIRST_RETRY: Duration = Duration::from_millis(5);
const LONGEST_RETRY: Duration = Duration::from_millis(500);

/// A session at a node far away. It ends when this is dropped.
pub(crate) struct Remote {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// There is now something that could not be written at once, or the session is to end. Raised by those who say
    /// something, never by the task that waits for it: that one knows what it could not write.
    wake: Notify,
    lost: watch::Sender<Losses>,
    endpoint: String,
}

struct State {
    client: Client,
    waiting: BTreeMap<u64, oneshot::Sender<Result<Grant, Refusal>>>,
    stream: Option<(Arc<TcpStream>, u8)>,
    outgoing: Vec<u8>,
    /// Nobody wants it any more.
    closing: bool,
}

impl Remote {
    /// Opens a session at this endpoint; the error says why not, in words.
    pub(crate) async fn open(endpoint: &str, ttl: Duration) -> Result<Remote, String> {
        let connection = Connection::open(endpoint).await?;
        let state = State {
            client: Client::new(ttl),
            waiting: BTreeMap::new(),
            stream: None,
            outgoing: Vec::new(),
            closing: false,
        };
        let (lost, _) = watch::channel(Losses::default());
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            wake: Notify::new(),
            lost,
            endpoint: endpoint.to_string(),
        });
        let (opened, is_open) = oneshot::channel();
        let remote = Remote { shared: shared.clone() };
        tokio::spawn(async move { shared.live(connection, opened).await });
        match is_open.await {
            Ok(Ok(())) => Ok(remote),
            Ok(Err(refusal)) => Err(refusal.to_string()),
            Err(_) => Err("it hung up before the session was open".to_string()),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closing = true;
        // Said right here: the program may end before the task that reads is scheduled again.
        if let Some(said) = state.client.end() {
            self.shared.send(&mut state, &said);
        }
        self.shared.wake.notify_one();
    }
}

impl Backend for Remote {
    fn acquire(&self, ask: Acquire) -> Result<(u64, Asked), Error> {
        let mut state = self.shared.lock();
        let (request, said) = state.client.acquire(ask).ok_or(Error::Lost)?;
        let (sender, answer) = oneshot::channel();
        state.waiting.insert(request, sender);
        self.shared.send(&mut state, &said);
        Ok((request, Asked::Waits(answer)))
    }

    fn leave(&self, request: u64) {
        self.shared.lost.send_if_modified(|losses| losses.let_go(request));
        let mut state = self.shared.lock();
        state.waiting.remove(&request);
        let said = state.client.release(request).or_else(|| state.client.cancel(request));
        if let Some(said) = said {
            self.shared.send(&mut state, &said);
        }
    }

    fn detach(&self, request: u64) -> Option<(String, SessionId)> {
        let (session, _) = self.shared.lock().client.detach(request)?;
        Some((self.shared.endpoint.clone(), session))
    }

    fn is_alive(&self) -> bool {
        self.shared.lock().client.believes(clock::now())
    }

    fn lost(&self) -> watch::Receiver<Losses> {
        self.shared.lost.subscribe()
    }
}

impl State {
    /// Puts something into the connection's buffer. Without a connection it is said when there is one.
    fn say(&mut self, said: &ToNode) {
        if let Some((_, version)) = self.stream {
            frame::put(version, said, &mut self.outgoing);
        }
    }

    /// Writes what the socket takes.
    fn write(&mut self) -> Result<(), Broken> {
        let Some((stream, _)) = &self.stream else { return Ok(()) };
        while !self.outgoing.is_empty() {
            match stream.try_write(&self.outgoing) {
                Ok(written) => _ = self.outgoing.drain(..written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return Err(Broken),
            }
        }
        Ok(())
    }

    fn hear(&mut self, heard: &ToClient) -> Option<News> {
        let news = self.client.hear(heard, clock::now())?;
        let (request, answer) = match &news {
            News::Granted(request, grant) => (request, Ok(*grant)),
            News::Refused(request, refusal) => (request, Err(refusal.clone())),
            _ => return Some(news),
        };
        if let Some(sender) = self.waiting.remove(request) {
            _ = sender.send(answer);
        }
        None
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something, or leaves it to the task of this session if it cannot be written at once.
    fn send(&self, state: &mut State, said: &ToNode) {
        let idle = state.outgoing.is_empty();
        state.say(said);
        // If something waited before, the task waits for the socket already.
        if idle && (state.write().is_err() || !state.outgoing.is_empty()) {
            self.wake.notify_one();
        }
    }

    /// The life of a session: conversations over one connection after another, until it is lost or not wanted.
    async fn live(&self, first: Connection, opened: oneshot::Sender<Result<(), Refusal>>) {
        let mut opened = Some(opened);
        let mut connection = Some(first);
        let mut retry = FIRST_RETRY;
        while let Some(current) = connection.take() {
            let over = self.converse(current, &mut opened).await;
            self.lock().stream = None;
            if over || opened.is_some() {
                break;
            }
            while connection.is_none() && !self.is_over() {
                sleep(retry.min(self.until_deadline())).await;
                retry = (retry * 2).min(LONGEST_RETRY);
                if !self.is_over() {
                    // A node that accepts and says nothing must not delay the news of the loss.
                    let opening = timeout(self.until_deadline(), Connection::open(&self.endpoint)).await;
                    connection = opening.ok().and_then(Result::ok);
                }
            }
            if connection.is_some() {
                retry = FIRST_RETRY;
            }
        }
        let goodbye = {
            let mut state = self.lock();
            // Whoever waits learns of the loss when the other end of its channel is gone.
            state.waiting.clear();
            let goodbye = state.client.end();
            goodbye.filter(|_| !state.closing)
        };
        self.lost.send_modify(Losses::lose_all);
        if let Some(goodbye) = goodbye {
            self.give_back(&goodbye).await;
        }
    }

    /// What was lost may still be kept at the node, for as long as the session was to live: others need not wait for that.
    async fn give_back(&self, goodbye: &ToNode) {
        let until = clock::now() + self.lock().client.ttl();
        while clock::now() < until {
            if let Ok(connection) = Connection::open(&self.endpoint).await {
                let mut bytes = Vec::new();
                frame::put(connection.version, goodbye, &mut bytes);
                // A few bytes on a fresh connection are taken at once, or it is broken.
                _ = connection.stream.writable().await;
                if connection.stream.try_write(&bytes).is_ok() {
                    return;
                }
            }
            sleep(LONGEST_RETRY).await;
        }
    }

    fn is_over(&self) -> bool {
        let state = self.lock();
        state.closing || !state.client.believes(clock::now())
    }

    fn until_deadline(&self) -> Duration {
        self.lock().client.deadline().map_or(LONGEST_RETRY, |deadline| deadline - clock::now())
    }

    /// Talks over a connection until it breaks (false) or the session is over (true).
    async fn converse(
        &self,
        mut connection: Connection,
        opened: &mut Option<oneshot::Sender<Result<(), Refusal>>>,
    ) -> bool {
        if self.begin(&connection).is_err() {
            return false;
        }
        let mut next_keep_alive = clock::now() + self.lock().client.pace();
        loop {
            let more_to_write = !self.lock().outgoing.is_empty();
            let deadline = self.lock().client.deadline().unwrap_or(Time(u64::MAX));
            let pause = next_keep_alive.min(deadline) - clock::now();
            tokio::select! {
                _ = connection.stream.readable() => {}
                _ = connection.stream.writable(), if more_to_write => {}
                () = self.wake.notified() => {}
                () = sleep(pause) => {}
            }
            match self.exchange(&mut connection, opened) {
                Ok(false) => {}
                Ok(true) => return true,
                Err(_) => return false,
            }
            let now = clock::now();
            if now >= next_keep_alive {
                let mut state = self.lock();
                next_keep_alive = now + state.client.pace();
                if let Some(said) = state.client.keep_alive(now) {
                    state.say(&said);
                    // If it is broken, that shows at the next exchange.
                    _ = state.write();
                }
            }
            // A node that never stops talking shall not keep this thread to itself.
            tokio::task::consume_budget().await;
        }
    }

    /// Says what has to be said first on a connection.
    fn begin(&self, connection: &Connection) -> Result<(), Broken> {
        let mut state = self.lock();
        state.stream = Some((connection.stream.clone(), connection.version));
        state.outgoing.clear();
        for said in state.client.connected(clock::now()) {
            state.say(&said);
        }
        state.write()
    }

    /// Hears what has come in, and writes what waits. Says whether the session is over.
    fn exchange(
        &self,
        connection: &mut Connection,
        opened: &mut Option<oneshot::Sender<Result<(), Refusal>>>,
    ) -> Result<bool, Broken> {
        let read = connection.read();
        let mut state = self.lock();
        while let Some(heard) = connection.incoming.next(connection.version)? {
            match state.hear(&heard) {
                Some(News::Lost) => return Ok(true),
                Some(News::Revoked(request)) => self.lost.send_modify(|losses| losses.lose(request)),
                Some(News::Opened) => _ = opened.take().map(|opened| opened.send(Ok(()))),
                Some(News::NotOpened(refusal)) => {
                    _ = opened.take().map(|opened| opened.send(Err(refusal)));
                    return Ok(true);
                }
                _ => {}
            }
        }
        read?;
        if state.client.deadline().is_some_and(|deadline| clock::now() >= deadline) {
            return Ok(true);
        }
        state.write()?;
        Ok(state.closing)
    }
}
