//! Rounds in which chosen nodes make one request: their notation, and that they are measured to the last
//! message.

use algorithms::registry;
use simulator::workload::Workload;
use simulator::{Plan, Point, Summary};

fn point(algorithm: &str, parameters: &[(&str, &str)]) -> Point {
    let info = registry::info(algorithm).unwrap();
    let mut plan = Plan::of(info);
    let usual = [("send", "0"), ("receive", "0"), ("transit", "10"), ("cs", "50")];
    for (name, value) in usual.iter().chain(parameters) {
        plan.set(info, name, value).unwrap();
    }
    Point { algorithm: algorithm.to_string(), plan, seed: 1, seeds: 1 }
}

fn run(algorithm: &str, parameters: &[(&str, &str)]) -> Summary {
    let summary = point(algorithm, parameters).run().unwrap();
    assert!(summary.violation.is_none(), "{:?}", summary.violation);
    summary
}

#[test]
fn nodes_are_written_as_blocks() {
    let parsed = |text| Workload::parse(text).unwrap();
    assert_eq!(parsed("once"), Workload::Once(Vec::new()));
    assert_eq!(parsed("once:7"), Workload::Once(vec![(7, 7)]));
    assert_eq!(parsed("once:1-3,7,9-9"), Workload::Once(vec![(1, 3), (7, 7), (9, 9)]));
}

#[test]
fn what_names_no_nodes_is_refused_with_an_example() {
    for text in ["once:", "once:a", "once:3-1", "once:1-", "once:-1", "once:1,,2", "once:1;2"] {
        let refusal = Workload::parse(text).unwrap_err().to_string();
        assert!(refusal.contains("write them as 1-3,7"), "{text}: {refusal}");
    }
    assert!(Workload::parse("only").is_err(), "it has to name some");
    let refusal = Workload::parse("once:1:2").unwrap_err().to_string();
    assert!(refusal.contains("once:NODES"), "{refusal}");
}

#[test]
fn nodes_that_are_not_there_or_twice_there_are_refused() {
    let refusal = |workload: &str, clients: &str| {
        let point = point("naimi-trehel", &[("nodes", "5"), ("workload", workload), ("clients", clients)]);
        point.validate().unwrap_err().to_string()
    };
    assert_eq!(refusal("once:2-5", "1"), "workload once: 2-5 is not within the nodes 0 to 4");
    assert_eq!(refusal("only:5", "1"), "workload only: 5-5 is not within the nodes 0 to 4");
    assert_eq!(refusal("once:3,1-4", "1"), "workload once: node 3 is named twice");
    assert!(refusal("once", "2").contains("one client per node"));
}

/// A node of another group asks: REQ, GREQ, GRANT, TOKEN, the section, HOME, RET.
#[test]
fn a_round_is_measured_to_its_last_message() {
    let summary = run("collectors", &[("nodes", "16"), ("tokens", "1"), ("workload", "once:5")]);
    assert_eq!((summary.entries, summary.messages), (1, 6));
    assert_eq!((summary.time_to_enter.mean, summary.last_exit.mean), (40.0, 90.0));
    assert_eq!(summary.settled.mean, 110.0);
    // The global collector needs no other node: the exit is the last event.
    let summary = run("collectors", &[("nodes", "16"), ("tokens", "4"), ("workload", "once:0")]);
    assert_eq!((summary.entries, summary.messages, summary.settled.mean), (1, 0, 50.0));
}

#[test]
fn only_those_named_ask_again_and_again() {
    let parameters =
        [("nodes", "9"), ("workload", "only:3,5"), ("entries", "500"), ("warmup", "0"), ("rate", "1")];
    let summary = run("naimi-trehel", &parameters);
    assert_eq!(summary.entries, 500);
    // Of nine nodes two have all the entries, half each: Jain's index is 2/9.
    assert!((summary.fairness.mean - 2.0 / 9.0).abs() < 0.01, "{}", summary.fairness.mean);
}

#[test]
fn only_those_named_ask_each_once_whatever_entries_and_warmup_say() {
    for (workload, askers) in [("once:1-3,7", 4), ("once", 9)] {
        let summary = run("ricart-agrawala", &[("nodes", "9"), ("workload", workload), ("entries", "3")]);
        assert_eq!((summary.entries, summary.messages), (askers, askers * 16));
    }
}

/// A client whose node crashed has not been served yet: it asks again, and the round goes on until it has
/// left.
#[test]
fn a_client_whose_node_crashed_asks_again() {
    let faults = [("fault", "crash 2 at 5 for 1000"), ("groups", "2")];
    let summary = run("drs-gme", &[&faults[..], &[("nodes", "4"), ("workload", "once")]].concat());
    assert_eq!((summary.entries, summary.fewest_entries), (4, 1));
    assert!(summary.last_exit.mean > 1000.0);
}
