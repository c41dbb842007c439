//! How many messages a second one core delivers.
use std::time::Instant;

use algorithms::bulgannawar_vaidya::BulgannawarVaidya;
use simulator::Plan;

fn main() {
    let check = std::env::args().nth(1).as_deref() == Some("check");
    let mut plan = Plan {
        entries: std::env::args().nth(2).map_or(2_000_000, |n| n.parse().unwrap()),
        rate: 1.0,
        check,
        ..Plan::default()
    };
    plan.setting.options.push(("choose".into(), "last-seen".into()));
    let began = Instant::now();
    let outcome = simulator::run::<BulgannawarVaidya>(&plan, 1, false).unwrap();
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{} messages, {:.2} million/s, wait {} messages/entry {} violation {:?}",
        outcome.messages,
        outcome.messages as f64 / seconds / 1e6,
        outcome.measures.mean_wait(),
        outcome.measures.messages_per_entry(),
        outcome.violation,
    );
}
