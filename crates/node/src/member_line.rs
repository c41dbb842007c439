//! Lines: ways in for other protocols in this process. A line speaks the frames of clients without a socket, and the member judges
//! its caller as it judges any other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use service::auth::Caller;
use service::label::Label;
use service::member::{ConnectionId, Effect};
use service::protocol::{ToClient, ToNode};
use service::session::Promise;
use service::{Acquire, Refusal, RequestOutcome, SessionHandle};
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

/// How many frames are still to be heard, and whether the member knows that these are many. Both are one number, so that they
/// change together: a line that has heard everything is never left behind.
#[derive(Default)]
struct Backlog(AtomicUsize);

impl Backlog {
    /// The lowest bit says that the member knows; the others count.
    const BEHIND: usize = 1;
    const FRAME: usize = 2;

    /// Counts a frame, before it can be heard. Whether the member has to know that there is much to hear.
    fn add(&self) -> bool {
        let is_much = |it: usize| it / Backlog::FRAME >= MOST_UNHEARD;
        let mark = |it| if is_much(it) { Backlog::BEHIND } else { 0 };
        let before = self.change(|it| (it + Backlog::FRAME) | mark(it));
        is_much(before) && before & Backlog::BEHIND == 0
    }

    /// A frame was heard. Whether the member has to know that all of it was.
    fn remove(&self) -> bool {
        let before = self.change(|it| match it - Backlog::FRAME {
            Backlog::BEHIND => 0,
            left => left,
        });
        before == Backlog::FRAME | Backlog::BEHIND
    }

    /// Returns what it was before.
    fn change(&self, to: impl Fn(usize) -> usize) -> usize {
        let changed = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| Some(to(it)));
        changed.unwrap_or_else(|it| it)
    }
}

/// A request in a session of its own.
pub struct Begun {
    /// The session.
    pub session: SessionHandle,
    /// Its first promise.
    pub promise: Promise,
    /// What came of the request at once; otherwise the line that will hear it.
    pub outcome: Result<RequestOutcome, (Line, Heard)>,
}

impl Host {
    /// Opens a line for a caller.
    pub fn line(&self, caller: Caller) -> (Line, Heard) {
        self.shared().with_member(|turn| {
            let connection = turn.member.connected(caller);
            self.line_of(turn, connection)
        })
    }

    fn line_of(&self, turn: &mut Turn<'_>, connection: ConnectionId) -> (Line, Heard) {
        let (sender, frames) = mpsc::unbounded_channel();
        let backlog = Arc::<Backlog>::default();
        let sink = LineSink { frames: sender, backlog: backlog.clone() };
        turn.sinks.insert(connection, Sink::Line(Arc::new(sink)));
        let shared = Arc::downgrade(self.shared());
        (Line { shared: shared.clone(), connection }, Heard { frames, backlog, connection, shared })
    }

    /// Opens a session and sends a request in it: in one turn of the member, and without a line if the member replies at once.
    pub fn begin_request(
        &self,
        caller: Caller,
        (ttl, label): (Duration, Option<Label>),
        ask: Acquire,
    ) -> Result<Begun, Refusal> {
        self.shared().with_member(|turn| {
            let connection = turn.member.connected(caller);
            turn.hear(connection, ToNode::Open { ttl, label });
            let opened = turn.told(connection, |frame| match frame {
                ToClient::Opened { session, key, promise } => {
                    Some(Ok((SessionHandle { id: *session, key: *key }, *promise)))
                }
                ToClient::NotOpened(refusal) => Some(Err(refusal.clone())),
                _ => None,
            });
            let (session, promise) = match opened.unwrap_or(Err(Refusal::NoSuchSession)) {
                Ok(opened) => opened,
                Err(refusal) => {
                    turn.member.disconnected(connection, turn.now, turn.effects);
                    return Err(refusal);
                }
            };
            turn.hear(connection, ToNode::Acquire { session, ask });
            let replied = turn.told(connection, |frame| match frame {
                ToClient::Reply(reply) => Some(reply.outcome.clone()),
                _ => None,
            });
            let outcome = match replied {
                Some(outcome) => {
                    if !matches!(outcome, RequestOutcome::Granted(_)) {
                        turn.hear(connection, ToNode::Close { session });
                    }
                    turn.member.disconnected(connection, turn.now, turn.effects);
                    Ok(outcome)
                }
                None => Err(self.line_of(turn, connection)),
            };
            Ok(Begun { session, promise, outcome })
        })
    }
}

impl Turn<'_> {
    fn hear(&mut self, connection: ConnectionId, frame: ToNode) {
        self.member.hear(connection, frame, self.environment, self.now, self.effects);
    }

    /// What the member has told a client in this turn, as far as this picks it.
    fn told<T>(&self, connection: ConnectionId, pick: impl Fn(&ToClient) -> Option<T>) -> Option<T> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Tell { connection: to, frame } if *to == connection => pick(frame),
            _ => None,
        })
    }
}

impl Line {
    /// Says something to the member. Whatever it answers at once is there to be heard when this returns.
    pub fn say(&self, frame: ToNode) {
        let Some(shared) = self.shared.upgrade() else { return };
        shared.with_member(|turn| turn.hear(self.connection, frame));
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
                turn.hear(connection, ToNode::Close { session });
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
    turn.hear(connection, ToNode::Release { session, request, fence });
    let refused = turn.told(connection, |frame| match frame {
        ToClient::NotReleased { refusal, .. } => Some(refusal.clone()),
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
        let falls_behind = self.backlog.add();
        // An end that hears no more has ended, or is about to.
        self.frames.send(frame).is_ok() && falls_behind
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
            && self.backlog.remove()
            && let Some(shared) = self.shared.upgrade()
        {
            shared.with_member(|turn| turn.member.client_caught_up(self.connection, turn.effects));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> (LineSink, Heard) {
        let (sender, frames) = mpsc::unbounded_channel();
        let backlog = Arc::<Backlog>::default();
        let heard =
            Heard { frames, backlog: backlog.clone(), connection: ConnectionId(0), shared: Weak::new() };
        (LineSink { frames: sender, backlog }, heard)
    }

    /// A listener that hears a frame while it is being counted has not fallen behind: events would end for ever.
    #[test]
    fn a_listener_that_is_faster_than_the_count_has_not_fallen_behind() {
        for _ in 0..200 {
            let (sink, mut heard) = line();
            let listener = std::thread::spawn(move || {
                let mut frames = 0;
                while frames < MOST_UNHEARD / 2 {
                    frames += usize::from(heard.try_next().is_some());
                }
            });
            let behind = (0..MOST_UNHEARD / 2).filter(|_| sink.tell(ToClient::Missed(1))).count();
            listener.join().unwrap();
            assert_eq!(behind, 0, "half of the frames that may wait are not too many");
        }
    }

    /// As often as a line falls behind it catches up, however the two ends meet.
    #[test]
    fn a_line_catches_up_as_often_as_it_falls_behind() {
        let backlog = Arc::new(Backlog::default());
        let (sender, frames) = std::sync::mpsc::channel();
        let told = backlog.clone();
        let teller = std::thread::spawn(move || {
            let fell_behind = |_: &usize| {
                let falls_behind = told.add();
                sender.send(()).unwrap();
                falls_behind
            };
            (0..200 * MOST_UNHEARD).filter(fell_behind).count()
        });
        let caught_up = frames.iter().filter(|()| backlog.remove()).count();
        assert_eq!(teller.join().unwrap(), caught_up);
        assert_eq!(backlog.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_line_falls_behind_with_the_first_frame_too_many() {
        let backlog = Backlog::default();
        assert_eq!((0..2 * MOST_UNHEARD).find(|_| backlog.add()), Some(MOST_UNHEARD));
        assert_eq!((1..=2 * MOST_UNHEARD).find(|_| backlog.remove()), Some(MOST_UNHEARD + 1));
    }
}
