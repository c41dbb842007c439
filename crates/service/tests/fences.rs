//! Fences at the end of what fits into them.

use algorithms::forest::{self, Body, Entry, Size};
use service::core::{Patience, Said};
use service::limits::Bound;
use service::resource::Content;
use service::view::{LAST_EPOCH, View};
use service::{
    Acquire, Config, Core, Definition, Grant, Out, PeerMessage, Refusal, Reply, SessionId, Time, Want,
};

fn ask(core: &mut Core, session: SessionId, name: &str, request: u64, out: &mut Out) {
    let (definition, want, patience) = (Definition::MUTEX, Want::Slot, Patience::Forever);
    let ask = Acquire { request, name: name.into(), definition, want, patience };
    core.acquire(session, &ask, Time(1), out).unwrap();
}

fn replies(out: &mut Out) -> Vec<Reply> {
    out.answers.drain(..).map(|answer| answer.reply).collect()
}

/// A node whose client waits for a token that is elsewhere; it comes with a version so far below the last fence of its view.
fn token_comes(epoch: u64, below: u64) -> (Core, SessionId, Out) {
    let view = View::of(epoch, [0, 1]);
    let name =
        (0..).map(|number| format!("{number}")).find(|name| Some(view.home(name)) == view.place(1)).unwrap();
    let from = view.home(&name);
    let mut core = Core::new(Config::new(0, view));
    let mut out = Out::default();
    let (session, _) = core.open(None, Time(1)).unwrap();
    (1..=3).for_each(|request| ask(&mut core, session, &name, request, &mut out));
    assert_eq!(replies(&mut out), []);
    let last = (epoch << 40) | ((1 << 40) - 1);
    let size = Size { stamp: 0, tokens: 1 };
    let queue = vec![Entry { node: 0, via: None }];
    let body = Body::Token { token: 0, version: last - below, queue, size };
    let content = Content::Slots(forest::Message { clock: 1, body });
    let said = Said::About { name: name.into(), definition: Definition::MUTEX, content };
    core.receive(from, PeerMessage { epoch, said }, Time(2), &mut out);
    assert_eq!(out.contradictions, []);
    (core, session, out)
}

#[test]
fn no_fence_of_a_view_is_one_of_the_next() {
    for epoch in [1, LAST_EPOCH - 1, LAST_EPOCH] {
        let last = (epoch << 40) | ((1 << 40) - 1);
        let (mut core, session, mut out) = token_comes(epoch, 2);
        let fence = last - 1;
        assert_eq!(replies(&mut out), [Reply::Granted(Grant { slot: 0, fence, group: 0 })]);
        core.release(session, 1, fence, Time(3), &mut out).unwrap();
        // No other client is told of a grant. The node says why, as soon as it is woken.
        assert_eq!(replies(&mut out), []);
        while core.wakes_at().is_some_and(|at| at <= Time(3)) {
            core.wake(Time(3), &mut out);
        }
        let refused = Reply::Refused(Refusal::Bound { bound: Bound::Fences, most: (1 << 40) - 1 });
        assert_eq!(replies(&mut out), [refused.clone(), refused], "view {epoch}");
        assert_eq!(core.status().requests, 0);
    }
}
