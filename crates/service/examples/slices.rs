//! What the end of a session with very many requests costs: the longest call, how many calls there are, and all of them together.

use std::time::{Duration, Instant};

use service::core::Patience;
use service::view::View;
use service::{Acquire, Config, Core, Definition, Out, Time, Want};

fn main() {
    let groups: std::sync::Arc<str> = "a".into();
    for (what, definition, want) in [
        ("mutex", Definition::MUTEX, Want::Slot),
        ("writers", Definition::RwLock, Want::Write),
        ("room", Definition::Room, Want::AnyOf([groups].into())),
    ] {
        for waiters in [20_000, 200_000] {
            measure(what, definition, &want, waiters);
        }
    }
}

fn measure(what: &str, definition: Definition, want: &Want, waiters: u64) {
    let mut core = Core::new(Config::new(0, View::of(1, [0])));
    let mut out = Out::default();
    let ttl = Some(Duration::from_secs(10));
    let (holder, _) = core.open(ttl, Time(1)).expect("it opens");
    let (session, _) = core.open(ttl, Time(1)).expect("it opens");
    let mut ask = |core: &mut Core, session, request, want: &Want| {
        let patience = Patience::For(Duration::from_secs(100));
        let ask = Acquire { request, name: "x".into(), definition, want: want.clone(), patience };
        core.acquire(session, &ask, Time(1), &mut out).expect("it is there");
    };
    let other = if let Want::AnyOf(_) = want { Want::AnyOf(["b".into()].into()) } else { want.clone() };
    ask(&mut core, holder, 1, &other);
    (1..=waiters).for_each(|request| ask(&mut core, session, request, want));
    let (mut calls, mut longest, begin) = (1, Duration::ZERO, Instant::now());
    core.close(session, Time(2), &mut out).expect("it is there");
    longest = longest.max(begin.elapsed());
    while core.wakes_at().is_some_and(|at| at <= Time(2)) {
        let call = Instant::now();
        core.wake(Time(2), &mut out);
        (calls, longest) = (calls + 1, longest.max(call.elapsed()));
    }
    println!("{what} {waiters}: {calls} calls, the longest {longest:?}, all {:?}", begin.elapsed());
    assert_eq!(core.status().requests, 1);
}
