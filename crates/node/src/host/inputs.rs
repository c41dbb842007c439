//! What gives the member inputs by itself: the messages of peers, and the clock.

use std::sync::Arc;
use std::time::Instant;

use service::{Identity, NodeId, PeerMessage, frame};
use transport::clock;
use transport::peers::{Inbox, Notice, Outbox};
use transport::reactor::{Next, Ready, Round, Source};

use super::{Shared, Turn};

/// Where peers' messages to one incarnation of the node arrive.
pub(crate) struct Door {
    pub(crate) shared: Arc<Shared>,
    pub(crate) me: Identity,
}

impl Inbox for Door {
    fn received(&self, from: NodeId, _epoch: u64, payloads: &[&[u8]], outbox: &mut Outbox<'_>) {
        let messages: Vec<_> = payloads.iter().map(|payload| frame::whole::<PeerMessage>(payload)).collect();
        self.shared.step_in(outbox.0, |Turn { member, now, effects, .. }| {
            for message in messages {
                // What comes before may have ended this incarnation.
                if member.identity() != self.me {
                    return;
                }
                match message {
                    Ok(message) => member.receive(from, message, *now, effects),
                    Err(error) => member.received_nonsense(from, error.to_string(), effects),
                }
            }
        });
    }

    fn notice(&self, notice: Notice) {
        self.shared.heed(&notice);
    }
}

/// Wakes the member when it wants to be.
pub(super) struct Alarm(pub(super) Arc<Shared>);

impl Source for Alarm {
    fn socket(&mut self) -> Option<(&mut dyn mio::event::Source, mio::Interest)> {
        None
    }

    fn visit(&mut self, _ready: Ready, round: &mut Round<'_>) -> Next {
        self.0.step_in(round.dirty, |turn| turn.member.wake(turn.environment, turn.now, turn.effects));
        Next::Wait
    }

    fn due(&self) -> Option<Instant> {
        let mut state = self.0.lock();
        state.planned = state.member.wakes_at();
        // The member's clock may be another than the reactor's, so only how long it takes counts.
        state.planned.map(|wakes| Instant::now() + (wakes - clock::now()))
    }

    fn close(self: Box<Self>, _round: &mut Round<'_>) {}
}
