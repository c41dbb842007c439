//! The events that a watcher of a node receives, in their order.

use std::time::Duration;

use service::core::Timeout;
use service::event::{Change, Event};
use service::view::View;
use service::{Acquire, Config, Core, Definition, Effects, SessionId, Time, Want};

const SECOND: Duration = Duration::from_secs(1);

fn ask(core: &mut Core, session: SessionId, request: u64, timeout: Timeout, out: &mut Effects) {
    let (name, definition) = ("x".into(), Definition::MUTEX);
    let ask = Acquire { request, name, definition, want: Want::Slot, timeout };
    core.acquire(session, &ask, Time(0), out).unwrap();
}

/// Events in short: the session, the request and its change.
fn told(out: &mut Effects) -> Vec<String> {
    let short = |event| match event {
        Event::SessionEnded { session, ran_out: true, .. } => format!("{} ran out", session.number),
        Event::SessionEnded { session, .. } => format!("{} closed", session.number),
        Event::ForceReleased(released) => format!("{}/{} forced", released.session.number, released.request),
        Event::Client { session, request, change, .. } => {
            let change = match change {
                Change::Waits => "waits".to_string(),
                Change::Granted(_) => "granted".to_string(),
                Change::Released(_) => "released".to_string(),
                Change::Lost(_) => "lost".to_string(),
                Change::GaveUp(refusal) => format!("gave up, {refusal:?}"),
                Change::TakenAway(_) => "taken away".to_string(),
            };
            format!("{}/{request} {change}", session.number)
        }
    };
    out.events.as_mut().map_or_else(Vec::new, |events| events.drain(..).map(short).collect())
}

#[test]
fn everything_that_happens_to_clients_is_told_once() {
    let mut core = Core::new(Config::new(0, View::of(1, [0])));
    let mut out = Effects { events: Some(Vec::new()), ..Effects::default() };
    let (one, _) = core.open(Some(SECOND), Time(0)).unwrap();
    let (two, _) = core.open(None, Time(0)).unwrap();
    ask(&mut core, one, 1, Timeout::Never, &mut out);
    ask(&mut core, two, 1, Timeout::Try, &mut out);
    ask(&mut core, two, 2, Timeout::After(SECOND), &mut out);
    ask(&mut core, two, 3, Timeout::Never, &mut out);
    assert_eq!(told(&mut out), ["1/1 granted", "2/1 gave up, NotFree", "2/2 waits", "2/3 waits"]);
    core.cancel(two, 3, Time(0), &mut out).unwrap();
    core.wake(Time(0) + SECOND, &mut out);
    assert_eq!(told(&mut out), ["2/3 gave up, Cancelled", "2/2 gave up, TimedOut"]);
    ask(&mut core, two, 4, Timeout::Never, &mut out);
    core.wake(Time(0) + 2 * SECOND, &mut out);
    assert_eq!(told(&mut out), ["2/4 waits", "1/1 lost", "2/4 granted", "1 ran out"]);
    ask(&mut core, two, 5, Timeout::Never, &mut out);
    core.close(two, Time(0) + 2 * SECOND, &mut out).unwrap();
    assert_eq!(
        told(&mut out)[1..],
        ["2/4 released", "2/5 granted", "2/5 released", "2 closed"],
        "a session that ends leaves one thing after the other"
    );
}

#[test]
fn nobody_watches_and_nothing_is_told() {
    let mut core = Core::new(Config::new(0, View::of(1, [0])));
    let mut out = Effects::default();
    let (one, _) = core.open(None, Time(0)).unwrap();
    ask(&mut core, one, 1, Timeout::Never, &mut out);
    assert!(out.replies.len() == 1 && out.events.is_none());
}
