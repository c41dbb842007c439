//! What a guard needs of whoever it is from: a session at a node far away, or a node in this process.

use std::sync::Arc;

use service::client::Grant;
use service::{Acquire, Refusal, SessionId};
use tokio::sync::{oneshot, watch};

use crate::Error;

/// A session, near or far. Implemented by connections and by embedded nodes.
pub trait Backend: Send + Sync + 'static {
    /// Asks; the number in `ask` is filled in. Returns the number and the answer, or where it will come.
    fn acquire(&self, ask: Acquire) -> Result<(u64, Asked), Error>;

    /// Releases what this request holds and asks for something else, with one message if it can. If this fails, it is
    /// released all the same.
    fn acquire_after(&self, held: u64, ask: Acquire) -> Result<(u64, Asked), Error> {
        self.leave(held);
        self.acquire(ask)
    }

    /// Releases or cancels, whichever it is. Does not wait, and does not put it off: the program may end right after.
    fn leave(&self, request: u64);

    /// Lets go of the session without ending it, if this request is all it is for. Returns where it is.
    fn detach(&self, request: u64) -> Option<(String, SessionId)>;

    /// Whether what it holds it holds at this moment.
    fn is_alive(&self) -> bool;

    /// What is lost of this session, as it happens.
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

    /// Nobody needs to know any more whether what this request held is lost. Always false: nothing is lost by it.
    pub fn let_go(&mut self, request: u64) -> bool {
        self.taken_away.retain(|taken_away| *taken_away != request);
        false
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

/// An answer, or where it will come.
#[derive(Debug)]
pub enum Asked {
    /// Inside already.
    Granted(Grant),
    /// The answer comes here.
    Waits(oneshot::Receiver<Result<Grant, Refusal>>),
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
