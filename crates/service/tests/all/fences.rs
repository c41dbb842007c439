//! Fences at the end of what fits into them.

use algorithms::forest::{self, Body, Entry, Size};
use service::core::{PeerContent, Timeout};
use service::limits::Bound;
use service::resource::ResourceMessage;
use service::view::{LAST_EPOCH, View};
use service::{
    Acquire, Config, Core, Definition, Effects, Grant, PeerMessage, Refusal, RequestOutcome, SessionId, Time,
    Want,
};

fn ask(core: &mut Core, session: SessionId, name: &str, request: u64, out: &mut Effects) {
    let (definition, want, timeout) = (Definition::MUTEX, Want::Slot, Timeout::Never);
    let ask = Acquire { request, name: name.into(), definition, want, timeout };
    core.acquire(session, &ask, Time(1), out).unwrap();
}

fn replies(out: &mut Effects) -> Vec<RequestOutcome> {
    out.replies.drain(..).map(|reply| reply.outcome).collect()
}

/// A node whose client waits for a token that is elsewhere; it comes with a version so far below the last fence of its view.
fn token_comes(epoch: u64, below: u64) -> (Core, SessionId, Effects) {
    let view = View::of(epoch, [0, 1]);
    let name = (0..)
        .map(|number| format!("{number}"))
        .find(|name| Some(view.home(name)) == view.index_of(1))
        .unwrap();
    let from = view.home(&name);
    let mut core = Core::new(Config::new(0, view));
    let mut out = Effects::default();
    let (session, _) = core.open(None, Time(1)).unwrap();
    (1..=3).for_each(|request| ask(&mut core, session, &name, request, &mut out));
    assert_eq!(replies(&mut out), []);
    let last = (epoch << 40) | ((1 << 40) - 1);
    let size = Size { stamp: 0, tokens: 1 };
    let queue = vec![Entry { node: 0, via: None }];
    let body = Body::Token { token: 0, version: last - below, queue, size };
    let message = ResourceMessage::Slots(forest::Message { clock: 1, body });
    let content = PeerContent::Resource { name: name.into(), definition: Definition::MUTEX, message };
    core.receive(from, PeerMessage { epoch, content }, Time(2), &mut out);
    assert_eq!(out.contradictions, []);
    (core, session, out)
}

#[test]
fn no_fence_of_a_view_is_one_of_the_next() {
    for epoch in [1, LAST_EPOCH - 1, LAST_EPOCH] {
        let last = (epoch << 40) | ((1 << 40) - 1);
        let (mut core, session, mut out) = token_comes(epoch, 2);
        let fence = last - 1;
        assert_eq!(replies(&mut out), [RequestOutcome::Granted(Grant { slot: 0, fence, group: 0 })]);
        core.release(session, 1, fence, Time(3), &mut out).unwrap();
        // No other client is told of a grant. The node says why, as soon as it is woken.
        assert_eq!(replies(&mut out), []);
        while core.wakes_at().is_some_and(|at| at <= Time(3)) {
            core.wake(Time(3), &mut out);
        }
        let refused = RequestOutcome::Refused(Refusal::Bound { bound: Bound::Fences, most: (1 << 40) - 1 });
        assert_eq!(replies(&mut out), [refused.clone(), refused], "view {epoch}");
        assert_eq!(core.status().requests, 0);
    }
}
