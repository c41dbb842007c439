//! Nodes that fail on request, for tests. Only in builds with the feature `faults`.

use std::sync::Arc;

use crate::host::Shared;

/// What fails and when, as `WHAT@500ms`. WHAT: `panic-task`, `panic-member` (while it is locked), `end-task` (one that should
/// last), `block-runtime` (all its threads), `block-thread` (one of them), `hold-member` (its lock, for ever). Only builds with the feature `faults` look at it.
pub const FAULT: &str = "TOKENWOOD_FAULT";

/// Fails later, if that was asked for.
#[cfg(not(feature = "faults"))]
pub(crate) fn plan(_shared: &Arc<Shared>) {}

/// Fails later, if that was asked for.
#[cfg(feature = "faults")]
pub(crate) fn plan(shared: &Arc<Shared>) {
    let Some(text) = std::env::var(FAULT).ok().filter(|text| !text.is_empty()) else { return };
    let planned = text.split_once('@').and_then(|(what, after)| {
        let millis: u64 = after.strip_suffix("ms")?.parse().ok()?;
        Some((what.to_owned(), std::time::Duration::from_millis(millis)))
    });
    // A test of a fault must not go on without one.
    let (what, after) = planned.unwrap_or_else(|| panic!("{FAULT}: '{text}' is no WHAT@500ms"));
    let it = shared.clone();
    if what == "end-task" {
        return shared.watch_task("one that is to end", tokio::spawn(tokio::time::sleep(after)));
    }
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        provoke(&it, &what);
    });
}

#[cfg(feature = "faults")]
fn provoke(shared: &Arc<Shared>, what: &str) {
    match what {
        "panic-task" => panic!("a task was told to panic"),
        "panic-member" => shared.with_member(|_| panic!("the member was told to panic")),
        "hold-member" => shared.with_member(|_| block()),
        "block-thread" => block(),
        "block-runtime" => (0..64).for_each(|_| drop(tokio::spawn(async { block() }))),
        _ => panic!("{FAULT}: there is no fault '{what}'"),
    }
}

#[cfg(feature = "faults")]
fn block() {
    loop {
        std::thread::park();
    }
}
