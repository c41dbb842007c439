//! What a client holds.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use service::client::Grant;

use crate::backend::Backend;
use crate::detached::Detached;
use crate::error::Error;

/// A resource that is held. Released when dropped.
pub struct Guard {
    backend: Arc<dyn Backend>,
    request: u64,
    grant: Grant,
    /// Released by other means than dropping this.
    released: bool,
}

impl Guard {
    pub(crate) fn new(backend: Arc<dyn Backend>, request: u64, grant: Grant) -> Guard {
        Guard { backend, request, grant, released: false }
    }

    /// Whether it is held by this session.
    pub(crate) fn is_of(&self, backend: &Arc<dyn Backend>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.backend), Arc::as_ptr(backend))
    }

    /// What it is held by, for a caller that releases it.
    pub(crate) fn let_go(mut self) -> u64 {
        self.released = true;
        self.request
    }

    /// Which of the slots it is, from 0: no two guards have the same at the same time.
    pub fn slot(&self) -> u32 {
        self.grant.slot
    }

    /// A number that only rises from holder to holder of this slot. Pass it along to whatever you change, so that it
    /// can tell you from those who come later.
    pub fn fence(&self) -> u64 {
        self.grant.fence
    }

    /// Which of the groups that were named it is in, from 0.
    pub fn group(&self) -> u32 {
        self.grant.group
    }

    /// Whether the grant is lost: another client may hold the slot soon. Decided by the clock at this moment,
    /// also after a long pause.
    pub fn is_lost(&self) -> bool {
        self.backend.has_lost(self.request) || !self.backend.is_alive()
    }

    /// How long it is still held, unless it is renewed, which happens in the background. Nothing if the session is over; of a
    /// revoked grant, how long the slot is kept from others at least. `None` if it is held at a node in this process, as long
    /// as the node serves.
    pub fn remaining(&self) -> Option<Duration> {
        self.backend.remaining()
    }

    /// Completes when the grant is lost, before another client is granted the slot: the node was unreachable
    /// for too long, or an operator revoked the grant. Stop the protected work then, and drop the guard.
    pub async fn lost(&self) {
        let mut lost = self.backend.lost();
        // An error says that the session is gone, which is the same.
        _ = lost.wait_for(|losses| losses.include(self.request)).await;
    }

    /// Leaves the grant held without this program. The node keeps it until its session has had no keep-alive
    /// for its ttl, or until a program with the handle releases it. Returns the handle, and how long the
    /// grant is held from now on unless it is renewed; see [`Detached`] for what that means. If this fails,
    /// the grant is released, or will be when its ttl has run out.
    ///
    /// The session goes with it, so the [`Tokenwood`](crate::Tokenwood) it is from must hold nothing else and
    /// wait for nothing; it opens another session when it is used again.
    pub async fn detach(self) -> Result<(Detached, Duration), Error> {
        if self.is_lost() {
            return Err(Error::Lost);
        }
        let (endpoint, session) = self.backend.detach(self.request).ok_or(Error::CannotDetach)?;
        let detached = Detached { endpoint, session, request: self.request, fence: self.fence() };
        let held_for = detached.renew(&self.backend.access()).await?;
        Ok((detached, held_for))
    }

    /// Releases it. Dropping the guard does the same; this reads better.
    pub fn release(self) {}
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.released {
            self.backend.leave(self.request);
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("slot", &self.slot())
            .field("fence", &self.fence())
            .finish_non_exhaustive()
    }
}
