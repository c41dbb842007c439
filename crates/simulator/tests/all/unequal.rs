//! Options of the model beyond the thesis: multicast, and nodes that are slower than others.

use algorithms::registry;
use simulator::Plan;

use crate::common::{assert_near, outcome, summary};

/// One hop for every message, no time at processors.
const HOPS: &str = "send=0 receive=0 transit=1 cs=1";

fn alone(algorithm: &str, multicast: &str) -> f64 {
    let parameters = format!("nodes=10 workload=single entries=2000 multicast={multicast} {HOPS}");
    summary(algorithm, &parameters, 1).messages_per_entry.mean
}

/// Copies of one message count once: a broadcast is one message, however many nodes it goes to. What goes to
/// one node at a time costs the same as without.
#[test]
fn broadcasts_count_once_with_multicast() {
    let others = 9.0;
    for (algorithm, without, with) in [
        ("suzuki-kasami", others + 1.0, 2.0),
        ("ricart-agrawala", 2.0 * others, 1.0 + others),
        ("lamport", 3.0 * others, 2.0 + others),
        ("raymond-k", 2.0 * others, 1.0 + others),
    ] {
        // The holder of a token needs no message, which is one entry in ten.
        let share = if algorithm == "suzuki-kasami" { 0.9 } else { 1.0 };
        assert_near(algorithm, alone(algorithm, "off"), without * share, 0.3);
        assert_near(algorithm, alone(algorithm, "on"), with * share, 0.1);
    }
    assert_eq!(alone("naimi-trehel", "on"), alone("naimi-trehel", "off"));
}

/// A broadcast to nine nodes occupies its sender nine times, or once.
#[test]
fn a_multicast_occupies_its_sender_once() {
    let wait = |multicast: &str| {
        let parameters =
            format!("nodes=10 workload=once:3 multicast={multicast} send=1 receive=0 transit=0 cs=1");
        summary("ricart-agrawala", &parameters, 1).time_to_enter.mean
    };
    // The last request leaves after 9 or 1, and its reply takes its sender 1.
    assert_near("without", wait("off"), 10.0, 1e-9);
    assert_near("with", wait("on"), 2.0, 1e-9);
}

/// A node that is ten times slower sends and receives ten times longer.
#[test]
fn slow_nodes_take_longer() {
    let wait = |slow: &str| {
        let parameters = format!("nodes=3 workload=once:1 {slow} send=1 receive=2 transit=5 cs=1");
        summary("naimi-trehel", &parameters, 1).time_to_enter.mean
    };
    // REQUEST from 1 to 0, token back.
    assert_near("equal", wait(""), 16.0, 1e-9);
    assert_near("the owner", wait("slow=0:10"), 16.0 + 9.0 * 3.0, 1e-9);
    assert_near("the requester", wait("slow=1:10"), 16.0 + 9.0 * 3.0, 1e-9);
    assert_near("a bystander", wait("slow=2:10"), 16.0, 1e-9);
}

#[test]
fn slow_is_read_and_written() {
    let info = registry::info("naimi-trehel").unwrap();
    let set = |value: &str| {
        let mut plan = Plan::of(info);
        plan.set(info, "slow", value).and_then(|()| plan.validate(info)).map(|()| plan)
    };
    let plan = set("0-2,7:10").unwrap();
    assert_eq!(plan.slow.unwrap().to_string(), "0-2,7-7:10");
    for (value, why) in [
        ("7", "NODES:FACTOR"),
        ("x:3", "names no nodes"),
        ("1:x", "NODES:FACTOR"),
        ("1:0.5", "between 1 and a million"),
        ("30:2", "slow: 30-30 is not within the nodes 0 to 29"),
        ("1,1:2", "named twice"),
    ] {
        let refusal = set(value).unwrap_err().to_string();
        assert!(refusal.contains(why), "{value}: {refusal}");
    }
}

/// The clock has an end: a run whose slow nodes would take it there is refused before it begins.
#[test]
fn slow_nodes_do_not_outlast_the_clock() {
    let info = registry::info("raymond-k").unwrap();
    let mut plan = Plan { send: 100.0, ..Plan::of(info) };
    plan.validate(info).unwrap();
    plan.set(info, "slow", "0-29:1000000").unwrap();
    let refusal = plan.validate(info).unwrap_err().to_string();
    assert!(refusal.contains("more than the clock has"), "{refusal}");
}

/// Neither changes what is right: the properties are checked at every event.
#[test]
fn every_algorithm_is_right_with_both() {
    for info in registry::ALL.iter().filter(|info| !info.relies_on_pace()) {
        let run = outcome(info.name, "nodes=9 rate=1 entries=300 multicast=on slow=0-2:10", 1);
        assert!(run.violation.is_none(), "{}: {:?}", info.name, run.violation);
    }
}

/// makki needs equal nodes, constant sections and constant delays, unless RELEASE carries the queue.
#[test]
fn an_option_can_do_away_with_bounds_on_time() {
    let varying = "nodes=9 tokens=3 rate=1 entries=300 section=exponential delay=exponential slow=0-2:10";
    for token in ["walks", "straight"] {
        let run = outcome("makki", &format!("{varying} release=queue token={token}"), 1);
        assert!(run.violation.is_none() && run.measures.entries == 300, "{token}: {:?}", run.violation);
    }
    let mut plan = Plan::of(registry::info("makki").unwrap());
    let bare = registry::info_with("makki", &plan.setting).unwrap();
    plan.set(bare, "slow", "0-2:10").unwrap();
    assert!(plan.validate(bare).unwrap_err().to_string().contains("leave out slow"));
    plan.set(bare, "release", "queue").unwrap();
    plan.validate(registry::info_with("makki", &plan.setting).unwrap()).unwrap();
}

/// Of two nodes with twenty clients and one, each client gets the same where the algorithm serves all that wait, and
/// each node the same where it serves as many of each.
#[test]
fn nodes_with_more_clients_are_fair_to_clients_or_to_nodes() {
    let of = |option: &str| {
        let parameters = format!("nodes=2 tokens=1 clients=20,1 rate=100 entries=4200 {option} {HOPS}");
        let outcome = outcome("forest", &parameters, 1);
        let entries: Vec<f64> = outcome.measures.by_node.iter().map(|node| node.entries as f64).collect();
        (entries, outcome.measures.fairness())
    };
    let (by_client, fairness) = of("share=clients");
    assert_near("clients", by_client[0] / by_client[1], 20.0, 1.0);
    assert!(fairness > 0.99, "{fairness}");
    let (by_node, fairness) = of("share=nodes");
    assert!(by_node[0] / by_node[1] < 6.0, "{by_node:?}");
    assert_near("fairness", fairness, 0.76, 0.01);
}
