//! A node that is to leave: it grants nothing any more, and has left when all promises to clients have run
//! out.

use std::time::Duration;

use service::core::{RequestOutcome, Timeout};
use service::view::View;
use service::{Acquire, Config, Core, Definition, Effects, Refusal, SessionId, Time, Want};

const SECOND: u64 = 1_000_000_000;

fn ask(core: &mut Core, session: SessionId, out: &mut Effects) {
    let (name, definition) = ("x".into(), Definition::MUTEX);
    let ask = Acquire { request: 1, name, definition, want: Want::Slot, timeout: Timeout::Never };
    core.acquire(session, &ask, Time(0), out).unwrap();
}

/// One holds, one waits, one does neither; then the node is to leave within 5 s.
fn leaving() -> (Core, Effects, [SessionId; 3]) {
    let (mut core, mut out) = (Core::new(Config::new(0, View::of(1, [0]))), Effects::default());
    let sessions = [(); 3].map(|()| core.open(Some(Duration::from_secs(10)), Time(0)).unwrap().0);
    ask(&mut core, sessions[0], &mut out);
    ask(&mut core, sessions[1], &mut out);
    out.replies.clear();
    core.leave(Time(5 * SECOND), Time(0), &mut out);
    (core, out, sessions)
}

#[test]
fn a_leaving_node_refuses_waiters_and_newcomers() {
    let (mut core, out, [holds, waits, idle]) = leaving();
    assert_eq!(out.replies.len(), 1);
    assert_eq!(
        (out.replies[0].session, &out.replies[0].outcome),
        (waits, &RequestOutcome::Refused(Refusal::Leaving))
    );
    assert_eq!(core.open(None, Time(1)), Err(Refusal::Leaving));
    assert!(core.knows(holds) && !core.knows(idle));
}

#[test]
fn a_leaving_node_waits_for_holders_for_a_while() {
    let (mut core, mut out, [holds, ..]) = leaving();
    assert!(!core.may_say_goodbye(Time(SECOND)));
    let promise = core.keep_alive(holds, 1, 0, Time(4 * SECOND), &mut out).unwrap();
    assert_eq!(promise.lasts, 10 * SECOND);
    assert_eq!(core.keep_alive(holds, 2, 0, Time(6 * SECOND), &mut out), Err(Refusal::Leaving));
    // Promised at 4 s for 10 s, on a clock that may be slower than this one.
    assert!(!core.may_say_goodbye(Time(16 * SECOND)));
    assert!(
        core.may_say_goodbye(Time(4 * SECOND) + Duration::from_secs(10) * 11 / 9 + Duration::from_nanos(1))
    );
    core.wake(Time(20 * SECOND), &mut out);
    assert!(!core.knows(holds));
}

#[test]
fn a_holder_that_releases_is_not_waited_for() {
    let (mut core, mut out, [holds, ..]) = leaving();
    let fence = (1 << 40) + 1;
    core.release(holds, 1, fence, Time(SECOND), &mut out).unwrap();
    assert!(core.may_say_goodbye(Time(SECOND)));
}
