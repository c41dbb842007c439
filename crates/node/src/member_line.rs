//! Lines: ways in for other protocols in this process. A line speaks the frames of clients without a socket, and the member judges
//! its caller as it judges any other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use service::auth::Caller;
use service::member::{ConnectionId, Effect};
use service::protocol::{ToClient, ToNode};
use service::{Refusal, SessionHandle};
use tokio::sync::mpsc;

use crate::host::{Host, Shared, Sink, Turn};

/// A line that has so many frames to hear is told how many events it missed instead of more events.
const MOST_UNHEARD: usize = 1024;

/// The end of a line that says things. The line ends when this is dropped; the sessions that were opened over it stay.
pub struct Line {
    shared: Weak<Shared>,
    connection: ConnectionId,
}

/// The end of a line that hears things.
pub struct Heard {
    frames: mpsc::UnboundedReceiver<ToClient>,
    backlog: Arc<Backlog>,
    connection: ConnectionId,
    shared: Weak<Shared>,
}

/// Where the member's frames for a line go.
pub(crate) struct LineSink {
    frames: mpsc::UnboundedSender<ToClient>,
    backlog: Arc<Backlog>,
}

/// What is still to be heard.
#[derive(Default)]
struct Backlog {
    unheard: AtomicUsize,
    /// The member knows that there is much to hear.
    behind: AtomicBool,
}

impl Host {
    /// Opens a line for a caller.
    pub fn line(&self, caller: Caller) -> (Line, Heard) {
        let (sender, frames) = mpsc::unbounded_channel();
        let backlog = Arc::<Backlog>::default();
        let sink = Arc::new(LineSink { frames: sender, backlog: backlog.clone() });
        let connection = self.shared().with_member(|Turn { member, sinks, .. }| {
            let connection = member.connected(caller);
            sinks.insert(connection, Sink::Line(sink));
            connection
        });
        let shared = Arc::downgrade(self.shared());
        (Line { shared: shared.clone(), connection }, Heard { frames, backlog, connection, shared })
    }
}

impl Line {
    /// Says something to the member. Whatever it answers at once is there to be heard when this returns.
    pub fn say(&self, frame: ToNode) {
        let Some(shared) = self.shared.upgrade() else { return };
        shared.with_member(|Turn { member, environment, now, effects, .. }| {
            member.hear(self.connection, frame, *environment, *now, effects);
        });
    }
}

impl Line {
    /// Releases a grant. The member says at once whether it did, also at a node that leaves or has no lease: such a node answers no
    /// keep-alive.
    pub fn release(&self, session: SessionHandle, request: u64, fence: u64) -> Result<(), Refusal> {
        let Some(shared) = self.shared.upgrade() else { return Err(Refusal::NoSuchSession) };
        shared.with_member(|turn| released(turn, self.connection, (session, request, fence)))
    }
}

impl Host {
    /// Releases a grant that has a session of its own, and ends the session: in one turn of the member, without a line.
    pub fn release(
        &self,
        caller: Caller,
        (session, request, fence): (SessionHandle, u64, u64),
    ) -> Result<(), Refusal> {
        self.shared().with_member(|turn| {
            let connection = turn.member.connected(caller);
            let result = released(turn, connection, (session, request, fence));
            if result.is_ok() {
                let close = ToNode::Close { session };
                turn.member.hear(connection, close, turn.environment, turn.now, turn.effects);
            }
            turn.member.disconnected(connection, turn.now, turn.effects);
            result
        })
    }
}

/// Says a release to the member, and looks what it answers.
fn released(
    turn: &mut Turn<'_>,
    connection: ConnectionId,
    (session, request, fence): (SessionHandle, u64, u64),
) -> Result<(), Refusal> {
    let frame = ToNode::Release { session, request, fence };
    turn.member.hear(connection, frame, turn.environment, turn.now, turn.effects);
    let refused = turn.effects.iter().find_map(|effect| match effect {
        Effect::Tell { connection: to, frame: ToClient::NotReleased { refusal, .. } } => {
            (*to == connection).then(|| refusal.clone())
        }
        _ => None,
    });
    refused.map_or(Ok(()), Err)
}

impl Drop for Line {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        shared.with_member(|Turn { member, now, effects, sinks, .. }| {
            sinks.remove(&self.connection);
            member.disconnected(self.connection, *now, effects);
        });
    }
}

impl LineSink {
    /// Queues a frame. Whether the member has to know that there is much to hear.
    pub(crate) fn tell(&self, frame: ToClient) -> bool {
        // An end that hears no more has ended, or is about to.
        let queued = self.frames.send(frame).is_ok();
        queued
            && self.backlog.unheard.fetch_add(1, Ordering::Relaxed) >= MOST_UNHEARD
            && !self.backlog.behind.swap(true, Ordering::Relaxed)
    }
}

impl Heard {
    /// The next frame; `None` when the node has stopped.
    pub async fn next(&mut self) -> Option<ToClient> {
        let frame = self.frames.recv().await;
        self.has_heard(frame.is_some());
        frame
    }

    /// The next frame, if there is one already.
    pub fn try_next(&mut self) -> Option<ToClient> {
        let frame = self.frames.try_recv().ok();
        self.has_heard(frame.is_some());
        frame
    }

    fn has_heard(&self, one: bool) {
        // With all of it heard, events are told again.
        if one
            && self.backlog.unheard.fetch_sub(1, Ordering::Relaxed) == 1
            && self.backlog.behind.swap(false, Ordering::Relaxed)
            && let Some(shared) = self.shared.upgrade()
        {
            shared.with_member(|turn| turn.member.client_caught_up(self.connection, turn.effects));
        }
    }
}
