//! Topologies and measured latencies: how long messages take, what stays right, and what is refused.

use algorithms::registry;
use simulator::Plan;
use simulator::topology::Topology;

use crate::common::{assert_near, outcome, summary};

/// No time at processors.
const TRANSIT_ONLY: &str = "send=0 receive=0 cs=1";

/// The wait of one node whose request goes to node 0, which has the token, and the token comes back.
fn there_and_back(node: u32, parameters: &str) -> f64 {
    let parameters = format!("workload=once:{node} {TRANSIT_ONLY} {parameters}");
    summary("naimi-trehel", &parameters, 1).time_to_enter.mean
}

#[test]
fn a_message_takes_the_transit_time_for_each_link() {
    for (_, topology) in Topology::ALL {
        for node in [1, 7, 13] {
            let wait = there_and_back(node, &format!("nodes=16 transit=0.5 topology={topology}"));
            let hops = f64::from(topology.hops(16, 0, node));
            assert_near(&topology.to_string(), wait, 2.0 * hops * 0.5, 1e-9);
        }
    }
}

/// Each link draws its own time: the mean grows as the number of links does, its spread as their root.
#[test]
fn every_link_draws_its_own_time() {
    let far = |topology: &str| {
        let parameters = format!(
            "nodes=17 workload=single entries=4000 topology={topology} delay=exponential transit=1 {TRANSIT_ONLY}"
        );
        summary("suzuki-kasami", &parameters, 1)
    };
    let constant = summary(
        "suzuki-kasami",
        &format!("nodes=17 workload=single entries=4000 topology=ring transit=1 {TRANSIT_ONLY}"),
        1,
    );
    let ring = far("ring");
    assert_near("mean", ring.time_to_enter.mean, constant.time_to_enter.mean, 0.1);
    // One draw for all links of a way would reach several times as far.
    assert!(ring.wait_at(99.0) < 2.0 * constant.wait_at(99.0), "{}", ring.wait_at(99.0));
}

/// From the site of the sender to that of the receiver, which may be another time than back.
#[test]
fn latencies_hold_for_each_direction() {
    let matrix = "latencies=one-way,a,b,c;a,,10,20;b,3,,5;c,4,5,1";
    assert_near("a to b", there_and_back(3, &format!("nodes=9 {matrix}")), 13.0, 1e-9);
    assert_near("a to c", there_and_back(6, &format!("nodes=9 {matrix}")), 24.0, 1e-9);
    assert_near("within a", there_and_back(1, &format!("nodes=9 {matrix} transit=2")), 4.0, 1e-9);
    assert_near("spread", there_and_back(1, &format!("nodes=9 {matrix} sites=spread")), 13.0, 1e-9);
    assert_near("counts", there_and_back(1, &format!("nodes=9 {matrix} sites=1,0,8")), 24.0, 1e-9);
    let round_trip = "latencies=round-trip,a,b;a,,10;b,10,";
    assert_near("halves", there_and_back(1, &format!("nodes=2 {round_trip}")), 10.0, 1e-9);
}

/// The properties are checked at every event. Channels stay FIFO, which some of them need, and the longest way
/// is the bound on delays that makki needs.
#[test]
fn every_algorithm_is_right_on_every_network() {
    let sites = "latencies=one-way,a,b;a,0.1,9;b,4,0.1";
    let varied = [format!("{sites} delay=heavy-tailed"), "topology=ring delay=uniform".to_string()];
    let unequal = "topology=star multicast=on slow=0-2:10".to_string();
    let constant = Topology::ALL.map(|(name, _)| format!("topology={name}"));
    for info in registry::ALL {
        let uneven = varied.iter().chain([&unequal]).filter(|_| !info.relies_on_pace());
        for network in constant.iter().map(String::as_str).chain([sites]).chain(uneven.map(String::as_str)) {
            outcome(info.name, &format!("nodes=16 rate=1 entries=200 {network}"), 1);
        }
    }
}

/// Timers allow for the longest way, so that no message is taken for lost on its way across.
#[test]
fn timers_allow_for_the_longest_way() {
    for network in ["topology=line", "latencies=one-way,a,b;a,1,50;b,50,1"] {
        let parameters = format!("nodes=12 rate=0.01 entries=300 timers=on {network}");
        let run = summary("drs-gme", &parameters, 1);
        let asked_again = run.messages_by_kind.iter().find(|(kind, _)| **kind == "GEN_TOKEN");
        assert!(asked_again.is_none_or(|(_, count)| count.mean == 0.0), "{network}: {asked_again:?}");
    }
    outcome("drs-gme", "nodes=12 rate=0.1 entries=300 topology=line loss=0.01 reorder=0.1", 1);
}

fn refusal(parameters: &str) -> String {
    let info = registry::info("bulgannawar-vaidya").unwrap();
    let mut plan = Plan::of(info);
    let set = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap();
        plan.set(info, name, value)
    };
    let refused = parameters.split(' ').try_for_each(set).and_then(|()| plan.validate(info));
    refused.unwrap_err().to_string()
}

#[test]
fn refusals_say_what_to_do() {
    let matrix = "latencies=one-way,a,b;a,1,2;b,2,1";
    for (parameters, wanted) in [
        ("topology=cube".to_string(), "topology: 'cube' is none of full, ring"),
        ("topology=hypercube".to_string(), "30 nodes are not a power of two: take 16 or 32 nodes"),
        ("topology=torus nodes=31".to_string(), "do not fill rows of 6: take 30 or 36 nodes"),
        (format!("{matrix} topology=ring"), "leave out topology ring"),
        (format!("{matrix} transit=1"), "transit: the latencies have all times"),
        (format!("{matrix} sites=3"), "sites: 1 numbers for 2 sites"),
        (format!("{matrix} sites=3,4"), "sites: 3,4 is 7 nodes, not 30: change them, or take --nodes 7"),
        (format!("{matrix} sites=some"), "'some' is not blocks, spread or how many"),
        (format!("{matrix} nodes=1 tokens=1"), "2 sites for 1 nodes"),
        ("sites=spread".to_string(), "sites needs latencies"),
        ("latencies=one-way,a;a,x".to_string(), "latencies: line 2, column 2: 'x' is not a number"),
        ("topology=line transit=100000".to_string(), "the longest way must be at most 1000000"),
    ] {
        let refusal = refusal(&parameters);
        assert!(refusal.contains(wanted), "{parameters}: {refusal}");
    }
}
