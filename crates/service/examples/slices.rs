//! What the end of a session with very many requests costs, of very many sessions with a few requests each, and a change of views with
//! very many names: the longest call, how many calls there are, and all of them together.

use std::time::{Duration, Instant};

use service::core::Timeout;
use service::view::View;
use service::{Acquire, Config, Core, Definition, Effects, Time, Want};

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
    sessions_run_out(300_000);
    for names in [100_000, 1_000_000] {
        change_views(names);
    }
}

/// Calls the core until there is nothing left to do.
fn finish(core: &mut Core, now: Time, out: &mut Effects, begin: Instant) -> (u32, Duration) {
    let (mut calls, mut longest) = (1, begin.elapsed());
    while core.wakes_at().is_some_and(|at| at <= now) {
        let call = Instant::now();
        core.wake(now, out);
        (calls, longest) = (calls + 1, longest.max(call.elapsed()));
        // As a driver does. What comes of a call is its to carry away.
        (out.messages, out.replies, out.ended) = Default::default();
    }
    (calls, longest)
}

fn ask(request: u64, name: &str) -> Acquire {
    let timeout = Timeout::Never;
    Acquire { request, name: name.into(), definition: Definition::MUTEX, want: Want::Slot, timeout }
}

/// All wait for one name, and expire in another order than they came in.
fn sessions_run_out(waiters: u64) {
    let mut core = Core::new(Config::new(0, View::of(1, [0])));
    let mut out = Effects::default();
    let (holder, _) = core.open(None, Time(1)).expect("it opens");
    core.acquire(holder, &ask(1, "x"), Time(1), &mut out).expect("it is there");
    let ttl = |number: u64| Duration::from_millis(10_000 + number * 7_919 % 5_000);
    for number in 0..waiters / 10 {
        let (session, _) = core.open(Some(ttl(number)), Time(1)).expect("it opens");
        for request in 1..=10 {
            core.acquire(session, &ask(request, "x"), Time(1), &mut out).expect("it is there");
        }
    }
    let (later, begin) = (Time(60_000_000_000), Instant::now());
    let (calls, longest) = finish(&mut core, later, &mut out, begin);
    println!(
        "sessions with {waiters} waiters run out: {calls} calls, the longest {longest:?}, all {:?}",
        begin.elapsed()
    );
    assert_eq!(core.status().requests, 1);
}

/// A node that is alone has this many names when another one joins it.
fn change_views(names: u64) {
    let mut core = Core::new(Config::new(0, View::of(1, [0])));
    let mut out = Effects::default();
    for session in 0..names.div_ceil(100_000) {
        let (id, _) = core.open(Some(Duration::from_secs(60)), Time(1)).expect("it opens");
        for request in 1..=names.min(100_000) {
            let name = format!("name-{session}-{request}");
            core.acquire(id, &ask(request, &name), Time(1), &mut out).expect("it is there");
        }
    }
    out = Effects::default();
    let begin = Instant::now();
    core.enter(View::of(2, [0, 1]), Time(2), &mut out);
    let (calls, longest) = finish(&mut core, Time(2), &mut out, begin);
    println!(
        "a view changes, {names} names: {calls} calls, the longest {longest:?}, all {:?}",
        begin.elapsed()
    );
}

fn measure(what: &str, definition: Definition, want: &Want, waiters: u64) {
    let mut core = Core::new(Config::new(0, View::of(1, [0])));
    let mut out = Effects::default();
    let ttl = Some(Duration::from_secs(10));
    let (holder, _) = core.open(ttl, Time(1)).expect("it opens");
    let (session, _) = core.open(ttl, Time(1)).expect("it opens");
    let mut ask = |core: &mut Core, session, request, want: &Want| {
        let timeout = Timeout::After(Duration::from_secs(100));
        let ask = Acquire { request, name: "x".into(), definition, want: want.clone(), timeout };
        core.acquire(session, &ask, Time(1), &mut out).expect("it is there");
    };
    let other = if let Want::AnyOf(_) = want { Want::AnyOf(["b".into()].into()) } else { want.clone() };
    ask(&mut core, holder, 1, &other);
    (1..=waiters).for_each(|request| ask(&mut core, session, request, want));
    let begin = Instant::now();
    core.close(session, Time(2), &mut out).expect("it is there");
    let (calls, longest) = finish(&mut core, Time(2), &mut out, begin);
    println!("{what} {waiters}: {calls} calls, the longest {longest:?}, all {:?}", begin.elapsed());
    assert_eq!(core.status().requests, 1);
}
