//! What a guard needs of its origin: a session at a remote node, or a node in this process.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use service::client::Grant;
use service::{Acquire, SessionHandle};
use tokio::sync::watch;

use crate::Error;
use crate::access::Access;

/// A session, near or far. Implemented by connections and by embedded nodes.
pub trait Backend: Send + Sync + 'static {
    /// Asks; the number in `ask` is filled in. Returns the number and the answer, or that it comes later.
    fn acquire(&self, ask: Acquire) -> Result<(u64, Asked), Error>;

    /// Releases what this request holds and asks for something else, with one message if it can. If this fails, it is
    /// released all the same.
    fn acquire_after(&self, held: u64, ask: Acquire) -> Result<(u64, Asked), Error> {
        self.leave(held);
        self.acquire(ask)
    }

    /// Waits for the answer to a request that was asked and is not answered; not called again when it has come. A client
    /// that does not want it any more says so with [`Backend::leave`].
    fn poll_answer(&self, request: u64, context: &mut Context<'_>) -> Poll<Result<Grant, Error>>;

    /// Releases or cancels, whichever it is. Does not wait, and does not put it off: the program may end right after.
    fn leave(&self, request: u64);

    /// Lets go of the session without ending it, if this request is all it is for. Returns where it is.
    fn detach(&self, request: u64) -> Option<(String, SessionHandle)>;

    /// How it got in.
    fn access(&self) -> Access {
        Access::default()
    }

    /// Whether what it holds it holds at this moment.
    fn is_alive(&self) -> bool;

    /// How long it holds what it holds, unless it is renewed; `None` if that has no end.
    fn remaining(&self) -> Option<Duration> {
        None
    }

    /// Whether it is known that what this request held is lost.
    fn has_lost(&self, request: u64) -> bool;

    /// What this session loses, as it is lost.
    fn lost(&self) -> watch::Receiver<Losses>;
}

/// What is lost of a session: nothing, what some requests held, or everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    all: bool,
    taken_away: Vec<u64>,
}

impl Losses {
    /// Everything is lost.
    pub fn lose_all(&mut self) {
        self.all = true;
    }

    /// What this request held is lost.
    pub fn lose(&mut self, request: u64) {
        self.taken_away.push(request);
    }

    /// No guard needs to know any more whether what this request held is lost.
    pub fn let_go(losses: &watch::Sender<Losses>, request: u64) {
        // Revocations are rare, and a look is cheaper than a change.
        if !losses.borrow().taken_away.is_empty() {
            losses.send_if_modified(|losses| {
                losses.taken_away.retain(|taken_away| *taken_away != request);
                // Nothing is lost by it.
                false
            });
        }
    }

    /// Whether everything is lost.
    pub fn are_all(&self) -> bool {
        self.all
    }

    /// Whether what this request held is lost.
    pub fn include(&self, request: u64) -> bool {
        self.all || self.taken_away.contains(&request)
    }
}

/// An answer, or that it comes later.
#[derive(Debug)]
pub enum Asked {
    /// Inside already.
    Granted(Grant),
    /// The answer comes later: [`Backend::poll_answer`] waits for it.
    Waits,
}

/// A request whose answer has not come. Given up when dropped, so that nothing leaks.
pub(crate) struct Pending {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) request: u64,
    pub(crate) answered: bool,
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.answered {
            self.backend.leave(self.request);
        }
    }
}
