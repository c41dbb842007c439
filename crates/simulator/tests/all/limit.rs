//! What every algorithm needs at least, run by run.

use crate::common::summary;
use algorithms::{Kind, registry};
use simulator::Summary;

/// The share of the entries that came after a wait.
fn waited(summary: &Summary) -> f64 {
    1.0 - summary.waits.count_at(0) as f64 / summary.waits.len().max(1) as f64
}

/// A client that waits enters because its node receives a message, and a message causes one entry at most. Only
/// timers can take its place, which `makki` uses.
#[test]
fn a_message_for_every_entry_that_waited() {
    for info in registry::ALL.iter().filter(|info| !info.relies_on_pace()) {
        let size = match info.kind {
            Kind::Mutex => "nodes=9 tokens=1",
            Kind::KMutex => "nodes=9 tokens=3",
            Kind::GroupMutex => "nodes=9 tokens=1 groups=3",
        };
        for load in ["rate=0.005 cs=0", "rate=0.2 cs=1", "rate=5 cs=0.1"] {
            let found = summary(info.name, &format!("{size} {load} entries=2000"), 1);
            // A message that lets the first in may have come before measuring began.
            let least = waited(&found) - 9.0 / 2000.0;
            assert!(found.messages_per_entry.mean >= least, "{} {load}: {found:?}", info.name);
        }
    }
}

/// All nodes ask at the same moment: in whatever order, the places change hands a section and a hop later.
#[test]
fn one_round_takes_its_time() {
    let (nodes, tokens, section) = (12.0, 3.0, 2.0);
    let rounds = |entry: f64| (entry / tokens).floor() * (section + 1.0);
    let least = (0..12).map(|entry| rounds(f64::from(entry))).sum::<f64>() / nodes;
    let (mut nearest, mut touched) = (f64::MAX, "");
    for info in registry::ALL.iter().filter(|info| info.kind == Kind::KMutex) {
        let found = summary(info.name, "nodes=12 tokens=3 workload=once cs=2", 1).time_to_enter.mean;
        assert!(found >= least - 1e-9, "{}: {found} is less than {least}", info.name);
        if found < nearest {
            (nearest, touched) = (found, info.name);
        }
    }
    // A limit a quarter higher would be wrong.
    assert!(nearest < 1.25 * least, "{touched}: {nearest} beside {least}");
}
