//! Clients in the same process: no connection, no message, no waiting where the token is here.

use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};

use service::member::ConnectionId;
use service::protocol::ToClient;
use service::{Acquire, Reply, RequestOutcome, SessionHandle, SessionId};
use sync::IgnorePoison;
use tokenwood::{Asked, Backend, Error, Grant, Losses, Refusal, Waiters, Waits};
use tokio::sync::watch;

use crate::host::{Shared, Sink, Turn};

/// A session of this process. It ends with the node, and with its lease.
pub(crate) struct Near {
    shared: Weak<Shared>,
    session: SessionId,
    connection: ConnectionId,
    waiting: Mutex<Waiting>,
    lost: watch::Sender<Losses>,
}

#[derive(Default)]
struct Waiting {
    last_request: u64,
    waiters: Waiters,
    /// The fence of what is held, by request.
    held: Vec<(u64, u64)>,
}

impl Near {
    /// Opens a session that ends when what is returned is dropped, or with the node's lease.
    pub(crate) fn open(shared: &Arc<Shared>) -> Result<Arc<dyn Backend>, Error> {
        let label = Some(tokenwood::label::of_this_process());
        let near = shared.with_member(|Turn { member, now, sinks, .. }| {
            let (session, connection) = member.open_here(label, *now)?;
            let near = Arc::new(Near {
                shared: Arc::downgrade(shared),
                session,
                connection,
                waiting: Mutex::default(),
                lost: watch::channel(Losses::default()).0,
            });
            sinks.insert(connection, Sink::Near(near.clone()));
            Ok::<_, Refusal>(near)
        })?;
        Ok(Arc::new(Owned(near)))
    }

    /// What the member tells this session.
    pub(crate) fn hear(&self, frame: ToClient) {
        match frame {
            ToClient::Reply(reply) => self.replied(reply),
            ToClient::SessionGone { .. } => self.end(),
            _ => {}
        }
    }

    /// A reply that did not come at once.
    fn replied(&self, reply: Reply) {
        if reply.outcome == RequestOutcome::Revoked {
            return self.lost.send_modify(|losses| losses.lose(reply.request));
        }
        let mut waiting = self.waiting.lock().ignore_poison();
        let result = waiting.settle(reply.request, reply.outcome);
        waiting.waiters.answer(reply.request, result);
    }

    /// Everything is lost: the node stops, is about to lose its lease, or was excluded.
    pub(crate) fn end(&self) {
        self.waiting.lock().ignore_poison().waiters.lose_all();
        self.lost.send_modify(Losses::lose_all);
    }
}

/// A session that ends with its owner.
struct Owned(Arc<Near>);

impl Drop for Owned {
    fn drop(&mut self) {
        let Some(shared) = self.0.shared.upgrade() else { return };
        shared.with_member(|Turn { member, now, effects, sinks, .. }| {
            sinks.remove(&self.0.connection);
            member.close((self.0.session, self.0.connection), *now, effects);
        });
    }
}

impl Backend for Owned {
    fn acquire(&self, ask: Acquire) -> Result<(u64, Asked), Error> {
        self.0.acquire(ask)
    }

    fn poll_answer(&self, request: u64, context: &mut Context<'_>) -> Poll<Result<Grant, Error>> {
        self.0.poll_answer(request, context)
    }

    fn leave(&self, request: u64) {
        self.0.leave(request);
    }

    /// Sessions of this process end with it.
    fn detach(&self, _request: u64) -> Option<(String, SessionHandle)> {
        None
    }

    fn is_alive(&self) -> bool {
        !self.0.lost.borrow().are_all()
    }

    fn has_lost(&self, request: u64) -> bool {
        self.0.lost.borrow().include(request)
    }

    fn lost(&self) -> watch::Receiver<Losses> {
        self.0.lost.subscribe()
    }
}

impl Waiting {
    fn settle(&mut self, request: u64, outcome: RequestOutcome) -> Result<Grant, Refusal> {
        match outcome {
            RequestOutcome::Granted(grant) => {
                self.held.push((request, grant.fence));
                Ok(grant)
            }
            RequestOutcome::Refused(refusal) => Err(refusal),
            RequestOutcome::Revoked => Err(Refusal::ForceReleased),
        }
    }
}

impl Near {
    fn acquire(&self, mut ask: Acquire) -> Result<(u64, Asked), Error> {
        let shared = self.shared.upgrade().ok_or(Error::Lost)?;
        shared.with_member(|Turn { member, environment, now, effects, .. }| {
            let mut waiting = self.waiting.lock().ignore_poison();
            waiting.last_request += 1;
            let request = waiting.last_request;
            ask.request = request;
            let reply =
                member.acquire(self.session, &ask, *environment, *now, effects).map_err(|_| Error::Lost)?;
            match reply {
                Some(reply) => Ok((request, Asked::Granted(waiting.settle(request, reply)?))),
                None => {
                    waiting.waiters.add(request);
                    Ok((request, Asked::Waits))
                }
            }
        })
    }

    fn poll_answer(&self, request: u64, context: &mut Context<'_>) -> Poll<Result<Grant, Error>> {
        let mut waiting = self.waiting.lock().ignore_poison();
        match waiting.waiters.fetch(request) {
            Waits::Answered(answer) => Poll::Ready(answer.map_err(Error::Refused)),
            Waits::NotAnyMore => Poll::Ready(Err(Error::Lost)),
            Waits::First | Waits::Again => {
                waiting.waiters.wait(request, context.waker());
                Poll::Pending
            }
        }
    }

    fn leave(&self, request: u64) {
        let Some(shared) = self.shared.upgrade() else { return };
        shared.with_member(|Turn { member, now, effects, .. }| {
            let mut waiting = self.waiting.lock().ignore_poison();
            let place = waiting.held.iter().position(|(held, _)| *held == request);
            let left = match place.map(|place| waiting.held.swap_remove(place)) {
                Some((_, fence)) => member.release(self.session, (request, fence), *now, effects),
                None => member.cancel(self.session, request, *now, effects),
            };
            waiting.waiters.remove(request);
            Losses::let_go(&self.lost, request);
            // What was lost is not left.
            debug_assert!(left.is_ok() || self.lost.borrow().are_all(), "{left:?}");
        });
    }
}
