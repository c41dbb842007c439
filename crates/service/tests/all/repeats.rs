//! Clients that repeat something, because they may not have been heard: nothing is done twice, and no other
//! client is answered.

use std::time::Duration;

use service::core::{RequestOutcome, Timeout};
use service::view::View;
use service::{Acquire, Config, Core, Definition, Effects, Refusal, Reply, SessionId, Time, Want};

fn ask(request: u64, timeout: Timeout) -> Acquire {
    Acquire { request, name: "x".into(), definition: Definition::MUTEX, want: Want::Slot, timeout }
}

fn node() -> (Core, Effects, SessionId, SessionId) {
    let mut core = Core::new(Config::new(0, View::of(1, [0])));
    let mut open = || core.open(Some(Duration::from_secs(10)), Time(0)).unwrap().0;
    let (first, second) = (open(), open());
    (core, Effects::default(), first, second)
}

fn answers(out: &mut Effects) -> Vec<Reply> {
    std::mem::take(&mut out.replies)
}

#[test]
fn an_answer_that_was_not_heard_is_given_again() {
    let (mut core, mut out, first, second) = node();
    core.acquire(first, &ask(1, Timeout::Never), Time(0), &mut out).unwrap();
    let granted = answers(&mut out);
    core.acquire(first, &ask(1, Timeout::Never), Time(1), &mut out).unwrap();
    assert_eq!(answers(&mut out), granted);
    core.acquire(second, &ask(1, Timeout::Try), Time(2), &mut out).unwrap();
    let refused = answers(&mut out);
    assert_eq!(refused[0].outcome, RequestOutcome::Refused(Refusal::NotFree));
    // Even if it is free by now.
    core.close(first, Time(3), &mut out).unwrap();
    core.acquire(second, &ask(1, Timeout::Try), Time(4), &mut out).unwrap();
    assert_eq!(answers(&mut out), refused);
    // Once the client has said that it heard, the number is only used.
    core.keep_alive(second, 1, 1, Time(5), &mut out).unwrap();
    core.acquire(second, &ask(1, Timeout::Try), Time(6), &mut out).unwrap();
    assert_eq!(answers(&mut out)[0].outcome, RequestOutcome::Refused(Refusal::RequestUsed(1)));
}

/// Found by the swarm: a client that had not heard of its grant asked again when the lease had run out, and
/// was told, after another node had granted the same slot to another client with a higher fence.
#[test]
fn a_grant_is_not_told_again_without_a_lease_but_as_soon_as_there_is_one() {
    let config = Config { leased: true, incarnation: 1, ..Config::new(0, View::of(1, [0])) };
    let (mut core, mut out) = (Core::new(config), Effects::default());
    let second = |seconds: u64| Time(seconds * 1_000_000_000);
    let renew = |core: &mut Core, at: Time, out: &mut Effects| {
        let sequence = core.renew(at);
        core.renewed((1, sequence), Duration::from_secs(3), at, out);
    };
    renew(&mut core, second(0), &mut out);
    let (session, _) = core.open(Some(Duration::from_secs(60)), second(0)).unwrap();
    core.acquire(session, &ask(1, Timeout::Never), second(1), &mut out).unwrap();
    let granted = answers(&mut out);
    for _ in 0..2 {
        core.acquire(session, &ask(1, Timeout::Never), second(4), &mut out).unwrap();
        assert_eq!(answers(&mut out), []);
    }
    renew(&mut core, second(5), &mut out);
    assert_eq!(answers(&mut out), granted);
    renew(&mut core, second(6), &mut out);
    assert_eq!(answers(&mut out), [], "it is told once");
}

/// After a restart the numbers of sessions start again: a client with an old one must not be taken for
/// another client.
#[test]
fn a_session_of_an_earlier_incarnation_gets_no_replies() {
    let (mut core, mut out, first, _) = node();
    let old = SessionId { incarnation: first.incarnation + 1, ..first };
    assert_eq!(core.acquire(old, &ask(1, Timeout::Never), Time(0), &mut out), Err(Refusal::NoSuchSession));
    assert_eq!(answers(&mut out), []);
    core.acquire(first, &ask(1, Timeout::Never), Time(1), &mut out).unwrap();
    assert!(matches!(answers(&mut out)[0].outcome, RequestOutcome::Granted(_)));
}

#[test]
fn a_node_that_cannot_take_more_serves_those_who_are_there() {
    let (mut core, mut out, first, second) = node();
    core.acquire(first, &ask(1, Timeout::Never), Time(0), &mut out).unwrap();
    let granted = answers(&mut out);
    core.set_overloaded(true);
    core.acquire(second, &ask(1, Timeout::Never), Time(1), &mut out).unwrap();
    assert_eq!(answers(&mut out)[0].outcome, RequestOutcome::Refused(Refusal::Overloaded));
    core.acquire(first, &ask(1, Timeout::Never), Time(2), &mut out).unwrap();
    assert_eq!(answers(&mut out), granted);
    core.set_overloaded(false);
    core.acquire(second, &ask(2, Timeout::Try), Time(3), &mut out).unwrap();
    assert_eq!(answers(&mut out)[0].outcome, RequestOutcome::Refused(Refusal::NotFree));
}

/// A node that was not the home of a name held its mutex, and asked for a read-write lock of that name for another client, when it
/// became the home. The mutex comes into the view in one slice, and the read-write lock must not be minted in the next.
#[test]
fn a_name_comes_into_a_view_as_a_whole() {
    let mut config = Config::new(0, View::of(1, [0]));
    config.limits.slice = 1;
    let (mut core, mut out) = (Core::new(config), Effects::default());
    let both = View::of(2, [0, 1]);
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let name = names.into_iter().find(|name| both.id(both.home(name)) == 1).unwrap();
    let mut open = || core.open(Some(Duration::from_secs(60)), Time(0)).unwrap().0;
    let (first, second) = (open(), open());
    let mutex = Acquire { name: name.into(), ..ask(1, Timeout::Never) };
    core.acquire(first, &mutex, Time(0), &mut out).unwrap();
    assert!(matches!(answers(&mut out)[0].outcome, RequestOutcome::Granted(_)));
    let enter = |core: &mut Core, view: View, now: Time, out: &mut Effects| {
        core.enter(view, now, out);
        while core.wakes_at().is_some_and(|at| at <= now) {
            core.wake(now, out);
        }
    };
    enter(&mut core, both, Time(1), &mut out);
    let lock = Acquire { definition: Definition::RwLock, want: Want::Write, ..mutex };
    core.acquire(second, &lock, Time(2), &mut out).unwrap();
    assert_eq!(answers(&mut out), []);
    enter(&mut core, View::of(3, [0]), Time(3), &mut out);
    let (defined, asked) = (Definition::MUTEX, Definition::RwLock);
    assert_eq!(
        answers(&mut out)[0].outcome,
        RequestOutcome::Refused(Refusal::Contradicts { defined, asked })
    );
}
