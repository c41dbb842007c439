//! The synchronisation delay where it is known: at saturation the privilege of Raymond's tree moves only from
//! a node that leaves to the next, a unit of time for each message, so the delay is the number of those
//! messages.

use algorithms::registry;
use simulator::{Plan, Point};

#[test]
fn a_token_that_is_kept_for_one_more_entry_does_not_shift_all_later_delays() {
    let info = registry::info("raymond-tree").unwrap();
    let mut plan = Plan::of(info);
    let parameters =
        [("nodes", "31"), ("send", "0"), ("receive", "0"), ("transit", "1"), ("cs", "1"), ("rate", "100")];
    for (name, value) in parameters.iter().chain(&[("entries", "500"), ("warmup", "200")]) {
        plan.set(info, name, value).unwrap();
    }
    for seed in 1..=20 {
        let point = Point { algorithm: info.name.to_string(), plan: plan.clone(), seed, seeds: 1 };
        let summary = point.run().unwrap();
        let (delay, hops) = (summary.sync_delay.mean, summary.messages_by_kind["PRIVILEGE"].mean);
        assert!((delay / hops - 1.0).abs() < 0.02, "seed {seed}: {delay} for {hops} hops");
    }
}
