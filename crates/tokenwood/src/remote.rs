//! A session at a node far away: what it decides is in [`service::client`], here are its connection and its clock.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use service::client::{Client, Grant};
use service::frame;
use service::protocol::ToNode;
use service::{Acquire, SessionHandle, Time};
use sync::IgnorePoison;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

use crate::access::Access;
use crate::backend::{Asked, Backend, Losses};
use crate::connection::{Broken, Connection};
use crate::error::{Error, NoAnswer};
use crate::tokenwood::Options;
use crate::waiters::{Bell, Waits};
use transport::clock;

mod state;

use state::{Ended, State};

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
    /// What the socket rings when there is something to read.
    bell: Arc<Bell>,
    lost: watch::Sender<Losses>,
    endpoint: String,
    access: Access,
    /// The node that has the session. A name may lead to another one after a break: that one does not know the session.
    node: u32,
}

impl Remote {
    /// Opens a session at this endpoint.
    pub(crate) async fn open(endpoint: &str, options: &Options) -> Result<Remote, NoAnswer> {
        let connection = Connection::open(endpoint, &options.access).await?;
        let (opened, is_open) = oneshot::channel();
        let state = State::new(Client::new(options.ttl).with_label(options.label.clone()), opened);
        let (lost, _) = watch::channel(Losses::default());
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            wake: Notify::new(),
            bell: Arc::default(),
            lost,
            endpoint: endpoint.to_string(),
            access: options.access.clone(),
            node: connection.node.id,
        });
        let remote = Remote { shared: shared.clone() };
        tokio::spawn(async move {
            let _deaf = Deaf(&shared);
            shared.live(connection).await;
        });
        match is_open.await {
            Ok(Ok(())) => Ok(remote),
            Ok(Err(refusal)) => Err(NoAnswer::Refused(refusal)),
            Err(_) => Err(NoAnswer::NeverOpened),
        }
    }
}

/// What the task of a session heard.
enum Heard {
    /// Answers to several requests: their tasks are about to say something.
    Several,
    /// Nothing more will be heard over this connection.
    End(Ended),
}

/// When a runtime is shut down, it drops the task of a session wherever it is. What is held can still be released, but
/// nothing keeps it any more, so it counts as lost; what waits would wait for ever.
struct Deaf<'a>(&'a Shared);

impl Drop for Deaf<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.deaf = true;
        state.opened = None;
        state.waiting.lose_all();
        // What did not fit into the socket before: there is nothing else that could write it.
        _ = state.write();
        drop(state);
        self.0.lost.send_modify(Losses::lose_all);
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
        let idle = state.is_idle();
        let asked = self.shared.ask(&mut state, ask);
        // Only a request can wait for others: a program may end right after it has released something.
        if !state.gathers {
            self.shared.flush(&mut state, idle);
        }
        asked
    }

    fn acquire_after(&self, held: u64, ask: Acquire) -> Result<(u64, Asked), Error> {
        Losses::let_go(&self.shared.lost, held);
        let mut state = self.shared.lock();
        let released = state.client.release(held);
        let idle = state.is_idle();
        released.iter().for_each(|said| state.say(said));
        let asked = self.shared.ask(&mut state, ask);
        self.shared.flush(&mut state, idle);
        asked
    }

    fn poll_answer(&self, request: u64, context: &mut Context<'_>) -> Poll<Result<Grant, Error>> {
        let Shared { bell, .. } = &*self.shared;
        let mut state = self.shared.lock();
        let mut waits = state.waiting.fetch(request);
        if waits == Waits::Again {
            // Woken, perhaps by the socket.
            state.listen(&self.shared);
            if state.ended.is_some() {
                bell.call_task();
            }
            waits = state.waiting.fetch(request);
        }
        let answer = match waits {
            Waits::Answered(answer) => answer.map_err(Error::Refused),
            Waits::NotAnyMore => Err(Error::Lost),
            Waits::First | Waits::Again => {
                state.waiting.wait(request, context.waker());
                if state.is_all_for_one() {
                    bell.is_heard_by_waiter(context.waker());
                }
                return Poll::Pending;
            }
        };
        bell.reads_no_more();
        Poll::Ready(answer)
    }

    fn leave(&self, request: u64) {
        Losses::let_go(&self.shared.lost, request);
        let mut state = self.shared.lock();
        if state.waiting.remove(request) {
            self.shared.bell.reads_no_more();
        }
        let said = state.client.release(request).or_else(|| state.client.cancel(request));
        if let Some(said) = said {
            self.shared.send(&mut state, &said);
        }
    }

    fn detach(&self, request: u64) -> Option<(String, SessionHandle)> {
        let (session, _) = self.shared.lock().client.detach(request)?;
        Some((self.shared.endpoint.clone(), session))
    }

    fn access(&self) -> Access {
        self.shared.access.clone()
    }

    fn is_alive(&self) -> bool {
        let state = self.shared.lock();
        !state.deaf && state.client.is_within_promise(clock::now())
    }

    fn remaining(&self) -> Option<Duration> {
        let (state, now) = (self.shared.lock(), clock::now());
        let alive = !state.deaf && state.client.is_within_promise(now);
        Some(state.client.deadline().filter(|_| alive).map_or(Duration::ZERO, |deadline| deadline - now))
    }

    fn has_lost(&self, request: u64) -> bool {
        self.shared.lost.borrow().include(request)
    }

    fn lost(&self) -> watch::Receiver<Losses> {
        self.shared.lost.subscribe()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }

    /// Asks, and says so in the connection's buffer.
    fn ask(&self, state: &mut State, ask: Acquire) -> Result<(u64, Asked), Error> {
        if state.deaf {
            return Err(Error::Lost);
        }
        let (request, said) = state.client.acquire(ask).ok_or(Error::Lost)?;
        state.waiting.add(request);
        if !state.is_all_for_one() {
            // A waiter reads for nobody but itself.
            self.bell.reads_no_more();
        }
        state.say(&said);
        Ok((request, Asked::Waits))
    }

    /// Says something, or leaves it to the task of this session if it cannot be written at once.
    fn send(&self, state: &mut State, said: &ToNode) {
        let idle = state.is_idle();
        state.say(said);
        self.flush(state, idle);
    }

    /// Writes what is in the buffer, or leaves it to the task of this session; `idle` if that does not wait for the socket.
    fn flush(&self, state: &mut State, idle: bool) {
        if idle && (state.write().is_err() || state.has_more_to_write()) {
            self.wake.notify_one();
        }
    }

    /// The life of a session: conversations over one connection after another, until it is lost or not wanted.
    async fn live(&self, first: Connection) {
        let mut connection = Some(first);
        let mut retry = FIRST_RETRY;
        while let Some(current) = connection.take() {
            let ended = self.converse(current).await;
            let never_open = {
                let mut state = self.lock();
                (state.reader, state.writer) = (None, None);
                state.opened.is_some()
            };
            if ended == Ended::Over || never_open {
                break;
            }
            while connection.is_none() && !self.is_over() {
                sleep(retry.min(self.until_deadline())).await;
                retry = (retry * 2).min(LONGEST_RETRY);
                if !self.is_over() {
                    // A node that accepts and says nothing must not delay the news of the loss.
                    let opening = timeout(self.until_deadline(), self.connect()).await;
                    connection = opening.ok().and_then(Result::ok).filter(|it| it.node.id == self.node);
                }
            }
            if connection.is_some() {
                retry = FIRST_RETRY;
            }
        }
        let goodbye = {
            let mut state = self.lock();
            state.opened = None;
            state.waiting.lose_all();
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
            if let Ok(connection) = self.connect().await
                && connection.node.id == self.node
            {
                let mut bytes = Vec::new();
                frame::put(connection.version, goodbye, &mut bytes);
                // A few bytes on a fresh connection are taken at once, or it is broken.
                _ = connection.writer.writable().await;
                if connection.writer.try_write(&bytes).is_ok() {
                    return;
                }
            }
            sleep(LONGEST_RETRY).await;
        }
    }

    async fn connect(&self) -> Result<Connection, NoAnswer> {
        Connection::open(&self.endpoint, &self.access).await
    }

    fn is_over(&self) -> bool {
        let state = self.lock();
        state.closing || !state.client.is_within_promise(clock::now())
    }

    fn until_deadline(&self) -> Duration {
        self.lock().client.deadline().map_or(LONGEST_RETRY, |deadline| deadline - clock::now())
    }

    /// Talks over a connection until it breaks or the session is over.
    async fn converse(&self, connection: Connection) -> Ended {
        let writer = connection.writer.clone();
        if self.begin(connection).is_err() {
            return Ended::Broken;
        }
        let mut next_keep_alive = clock::now() + self.lock().client.pace();
        // One timer for all turns, set again only when it has fired: deadlines and keep-alives only move away.
        let mut timer = pin!(sleep(self.pause(next_keep_alive)));
        let mut wake = pin!(self.wake.notified());
        let mut more_to_write = false;
        loop {
            let mut fired = false;
            tokio::select! {
                biased;
                heard = poll_fn(|context| self.poll_heard(context)) => match heard {
                    // Their tasks come first.
                    Heard::Several => yield_now().await,
                    Heard::End(ended) => return ended,
                },
                () = &mut wake => wake.set(self.wake.notified()),
                _ = writer.writable(), if more_to_write => {}
                () = &mut timer => fired = true,
            }
            if fired {
                next_keep_alive = self.keep_alive(next_keep_alive);
                timer.as_mut().reset(Instant::now() + self.pause(next_keep_alive));
            }
            match self.speak() {
                Ok(more) => more_to_write = more,
                Err(ended) => return ended,
            }
        }
    }

    /// Reads all that is there whenever it is woken; comes back when several requests were answered at once, or when there is
    /// nothing more to be read.
    fn poll_heard(&self, context: &Context<'_>) -> Poll<Heard> {
        self.bell.is_heard_by_task(context.waker());
        let mut state = self.lock();
        let answered = state.listen(self);
        if let Some(ended) = state.ended {
            return Poll::Ready(Heard::End(ended));
        }
        if answered < 2 {
            return Poll::Pending;
        }
        state.gathers = true;
        Poll::Ready(Heard::Several)
    }

    /// How long until a keep-alive is due, or the session is lost.
    fn pause(&self, next_keep_alive: Time) -> Duration {
        let deadline = self.lock().client.deadline().unwrap_or(Time(u64::MAX));
        next_keep_alive.min(deadline) - clock::now()
    }

    /// Says that the client is there, if that is due. Returns when it is due next.
    fn keep_alive(&self, due: Time) -> Time {
        let now = clock::now();
        if now < due {
            return due;
        }
        let mut state = self.lock();
        if let Some(said) = state.client.keep_alive(now) {
            state.say(&said);
        }
        now + state.client.pace()
    }

    /// Says what has to be said first on a connection.
    fn begin(&self, Connection { reader, writer, version, .. }: Connection) -> Result<(), Broken> {
        let mut state = self.lock();
        state.ended = None;
        state.reader = Some((reader, Waker::from(self.bell.clone())));
        state.writer = Some((writer, version));
        state.outgoing.clear();
        state.unflushed = false;
        state.gathers = false;
        for said in state.client.connected(clock::now()) {
            state.say(&said);
        }
        state.write()
    }

    /// Writes what waits, unless the session is over. Returns whether there is more than the socket takes.
    fn speak(&self) -> Result<bool, Ended> {
        let mut state = self.lock();
        if state.client.deadline().is_some_and(|deadline| clock::now() >= deadline) {
            return Err(Ended::Over);
        }
        state.gathers = false;
        state.write()?;
        if state.closing {
            return Err(Ended::Over);
        }
        Ok(state.has_more_to_write())
    }
}
