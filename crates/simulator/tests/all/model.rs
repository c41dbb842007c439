//! The model of time, by small scenarios computed by hand, and the meaning of a plan's parameters.

use crate::common::{assert_near, outcome, plan, summary};
use algorithms::registry;
use algorithms::world::World;
use algorithms::{Action, Conditions, Kind, Property};
use simulator::time::{Shape, UNIT, units};
use simulator::{Outcome, Point, Recording};

/// Ts, Tr and Tt of the scenarios below: all different, so that a wrong sum shows.
const TIMES: &str = "send=0.2 receive=0.3 transit=1 cs=0 warmup=0";

/// The total wait of each node.
fn waits(outcome: &Outcome) -> Vec<f64> {
    outcome.measures.by_node.iter().map(|node| units(node.waited as u64)).collect()
}

#[test]
fn a_message_takes_send_transit_and_receive() {
    // Node 0 has the token and enters at once; node 1's REQUEST and the token back take 0.2 + 1 + 0.3 each.
    let run = outcome("naimi-trehel", &format!("nodes=2 workload=burst entries=2 {TIMES}"), 1);
    assert_eq!(waits(&run), [0.0, 3.0]);
    assert_eq!(run.messages, 2);
}

#[test]
fn sends_leave_one_after_the_other_and_arrivals_are_handled_one_after_the_other() {
    // Two REQUESTs leave at Ts and 2Ts. The REPLYs come back at 2Ts + 2Tt + Tr and Ts later; the first is
    // taken in for Tr, and the second after it: Tr + max(Ts, Tr) from the first arrival to its handling
    // begins.
    for (send, receive, wait) in [(0.2, 0.3, 3.3), (0.5, 0.2, 3.9)] {
        let parameters = format!(
            "nodes=3 workload=single entries=1 warmup=0 send={send} receive={receive} transit=1 cs=0"
        );
        let run = outcome("ricart-agrawala", &parameters, 1);
        assert_near("the wait", waits(&run).iter().sum(), wait, 1e-9);
    }
    // Sending takes no time: four REPLYs arrive at the same moment, 0.3 + 2 after the request, and take 0.3
    // each.
    let run = outcome(
        "ricart-agrawala",
        "nodes=5 workload=single entries=1 warmup=0 send=0 receive=0.3 transit=1",
        1,
    );
    assert_near("the wait", waits(&run).iter().sum(), 0.3 + 2.0 + 4.0 * 0.3, 1e-9);
    // Receiving takes no time: the last REQUEST leaves at 4 × 0.2, its REPLY 0.2 after it arrived.
    let run = outcome(
        "ricart-agrawala",
        "nodes=5 workload=single entries=1 warmup=0 send=0.2 receive=0 transit=1",
        1,
    );
    assert_near("the wait", waits(&run).iter().sum(), 0.8 + 2.0 + 0.2, 1e-9);
}

#[test]
fn what_a_handler_sends_goes_before_the_next_message_is_received() {
    // Both REQUESTs reach node 0, which has left, at 1.2. The first is handled at 1.5 and the token leaves
    // until 1.7. Only then is the second received: handled at 2.0, forwarded to node 1 until 2.2, there at
    // 3.2. Node 1 has entered and left at 3.0; it handles the REQUEST at 3.5 and sends the token, which is
    // handled at 5.0.
    let run = outcome("naimi-trehel", &format!("nodes=3 workload=burst entries=3 {TIMES}"), 1);
    assert_eq!(waits(&run), [0.0, 3.0, 5.0]);
}

#[test]
fn a_client_acts_at_once_and_its_messages_wait_for_the_processor() {
    // Node 0 is inside until 1.65, which does not keep messages from being handled: node 1's REQUEST at 1.5.
    // Node 2's is being received until 1.8 when the client leaves. The token is the first to be sent after
    // that, until 2.0, and is handled at 3.3; node 2's REQUEST leaves for node 1 at 2.2 and is handled there
    // at 3.6. Node 1 leaves at 4.95, and the token is at node 2 after 1.5.
    let times = "send=0.2 receive=0.3 transit=1 warmup=0 cs=1.65";
    let run = outcome("naimi-trehel", &format!("nodes=3 workload=burst entries=3 {times}"), 1);
    let expected = [0.0, 3.3, 6.45];
    for (wait, expected) in waits(&run).into_iter().zip(expected) {
        assert!((wait - expected).abs() < 1e-9, "{wait} and not {expected}");
    }
}

#[test]
fn a_client_beside_the_token_never_waits() {
    // Clients ask a thousand times in a unit, so most find the token on their node, very many while the
    // processor is receiving. The others wait for a REQUEST and the token.
    let parameters = format!("nodes=2 rate=1000 entries=20000 {TIMES}");
    let run = outcome("naimi-trehel", &parameters, 1);
    let hop = (1.5 * UNIT) as u64;
    let waits = &run.measures.waits;
    assert!(waits.count_between(0, 0) > 19_000);
    assert!(waits.count_between(hop, u64::MAX) > 10);
    assert_eq!(waits.count_between(1, hop - hop / 100), 0);
}

#[test]
fn the_warm_up_is_left_out() {
    // In the second round the token is at node 1.
    let parameters = format!("nodes=2 workload=burst entries=2 {TIMES} warmup=2");
    let run = outcome("naimi-trehel", &parameters, 1);
    assert_eq!(waits(&run), [3.0, 0.0]);
    assert_eq!((run.measures.entries, run.measures.messages(), run.messages), (2, 2, 4));
    // All measures belong to this many entries, however many came before.
    let run = outcome("raymond-k", "nodes=5 tokens=2 rate=1 entries=300 warmup=250", 1);
    let by_node: u64 = run.measures.by_node.iter().map(|node| node.entries).sum();
    assert_eq!((run.measures.entries, run.measures.waits.len(), by_node), (300, 300, 300));
    assert!(run.measures.messages() < run.messages);
}

#[test]
fn a_seed_decides_everything() {
    for info in registry::ALL {
        let tokens = if info.kind == Kind::KMutex { 2 } else { 1 };
        let parameters = format!("nodes=9 tokens={tokens} rate=0.5 entries=300 warmup=20");
        let run = |seed| format!("{:?}", outcome(info.name, &parameters, seed));
        assert_eq!(run(7), run(7), "{}", info.name);
        assert_ne!(run(7), run(8), "{}", info.name);
    }
}

#[test]
fn the_number_of_threads_decides_nothing() {
    let parameters = "nodes=12 tokens=3 rate=0.7 delay=exponential entries=500 choose=random inform=2";
    let point = Point {
        algorithm: "bulgannawar-vaidya".to_string(),
        plan: plan("bulgannawar-vaidya", parameters),
        seed: 1,
        seeds: 8,
    };
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        format!("{:?}", pool.install(|| point.run().unwrap()))
    };
    assert_eq!(with_threads(1), with_threads(3));
}

#[test]
fn means_and_tails_of_the_shapes() {
    // The median of each shape, in means, and the share of values above four means.
    let shapes = [
        (Shape::Constant, 1.0, 0.0, 1e-3),
        (Shape::Exponential, 0.5f64.ln().abs(), (-4.0f64).exp(), 0.01),
        (Shape::Uniform, 1.0, 0.0, 0.01),
        // A Pareto distribution from a third of the mean on, with exponent 3/2. Its variance is infinite, so
        // its mean is slow to settle.
        (Shape::HeavyTailed, 2f64.powf(2.0 / 3.0) / 3.0, 12f64.powf(-1.5), 0.1),
    ];
    for (shape, median, above_four, share) in shapes {
        // Two clients that ask again at once: each waits for as long as the other is inside.
        let parameters = format!("nodes=1 clients=2 rate=1000000000 cs=2 section={shape} entries=300000");
        let run = outcome("naimi-trehel", &parameters, 1).measures;
        assert_near(&format!("mean of {shape}"), run.mean_wait() / 2.0, 1.0, share);
        let middle = units(run.waits.value_at_percentile(50.0)) / 2.0;
        assert_near(&format!("median of {shape}"), middle, median, 0.01);
        let above = run.waits.count_between((8.0 * UNIT) as u64, u64::MAX) as f64 / run.waits.len() as f64;
        assert_near(&format!("tail of {shape}"), above, above_four, 0.05);
    }
}

#[test]
fn delays_of_every_shape_reach_the_network() {
    // A client without the token waits for two messages on average; one in four finds the token on its node.
    for (shape, share) in
        [("constant", 0.02), ("exponential", 0.02), ("uniform", 0.02), ("heavy-tailed", 0.1)]
    {
        let parameters =
            format!("nodes=2 workload=single delay={shape} send=0 receive=0 transit=1 cs=0 entries=20000");
        let mean = summary("naimi-trehel", &parameters, 1).time_to_enter.mean;
        assert_near(shape, mean, 1.0, share);
    }
    // Critical sections of every shape, too: a single client is inside all the time except while it thinks.
    for (shape, share) in
        [("constant", 1e-3), ("exponential", 0.02), ("uniform", 0.02), ("heavy-tailed", 0.1)]
    {
        let parameters = format!("nodes=1 rate=1000 cs=2 section={shape} entries=20000");
        let throughput = summary("naimi-trehel", &parameters, 1).throughput.mean;
        assert_near(shape, throughput, 1.0 / 2.001, share);
    }
}

#[test]
fn workloads() {
    // Bursts: every client once in each round, and the next round begins 1/λ after all have left.
    let run = outcome("suzuki-kasami", "nodes=7 workload=burst entries=70 warmup=0 rate=0.5", 3);
    assert!(run.measures.by_node.iter().all(|node| node.entries == 10));
    // Single requests: one client at a time, all equally often, always the same pause.
    let run = outcome("naimi-trehel", "nodes=5 workload=single cs=1 transit=0 send=0 receive=0 rate=0.25", 3);
    assert_eq!(run.measures.most_inside, 1);
    assert_near("throughput", run.measures.throughput(), 1.0 / 5.0, 1e-6);
    assert!(run.measures.by_node.iter().all(|node| (900..1100).contains(&node.entries)));
    // On and off: clients think for 1/λ of the time that they are on, here a quarter of all.
    let quick = "transit=0 send=0 receive=0 cs=0";
    let run =
        outcome("naimi-trehel", &format!("nodes=4 workload=on-off:3:9 rate=2 entries=20000 {quick}"), 1);
    assert_near("throughput", run.measures.throughput(), 4.0 * 2.0 / 4.0, 0.02);
    // Thinking: four clients, each as often as the rate says.
    let run = outcome("naimi-trehel", &format!("nodes=4 workload=think rate=2 entries=20000 {quick}"), 1);
    assert_near("throughput", run.measures.throughput(), 4.0 * 2.0, 0.02);
    // Steady: exactly 1/λ between leaving and asking.
    let run = outcome("naimi-trehel", &format!("nodes=4 workload=steady rate=2 entries=4000 {quick}"), 1);
    assert_near("throughput", run.measures.throughput(), 4.0 * 2.0, 1e-3);
    assert!(run.measures.by_node.iter().all(|node| node.entries == 1000));
    // Skewed: by Zipf's law with exponent 1, node 0 as often as the third and twice the second.
    let run = outcome("naimi-trehel", &format!("nodes=4 workload=skewed:1 rate=2 entries=50000 {quick}"), 1);
    let harmonic = 1.0 + 1.0 / 2.0 + 1.0 / 3.0 + 1.0 / 4.0;
    for (rank, node) in (1..).zip(&run.measures.by_node) {
        let share = node.entries as f64 / 50_000.0;
        assert_near("share", share, 1.0 / (f64::from(rank) * harmonic), 0.03);
    }
    assert_near("throughput", run.measures.throughput(), 4.0 * 2.0, 0.02);
}

#[test]
fn runs_that_the_clock_cannot_hold_are_refused() {
    let info = registry::info("naimi-trehel").unwrap();
    let refusal = |parameters: &str| match plan("naimi-trehel", parameters).validate(info) {
        Ok(()) => String::new(),
        Err(refusal) => refusal.to_string(),
    };
    assert!(refusal("nodes=1 rate=0.000001 entries=50000").contains("larger unit"));
    assert!(refusal("nodes=2 cs=1000000 entries=1000000").contains("larger unit"));
    assert!(refusal("nodes=2 workload=on-off:0.01:1000000 rate=1 entries=1000000").contains("larger unit"));
    assert!(refusal("nodes=2 workload=on-off:0.000001:1 rate=0.0001").contains("hardly ever ask"));
    for fine in [
        "nodes=1 rate=0.000001 entries=1000",
        "nodes=100000 rate=0.000001 entries=10000000",
        "nodes=100000 send=0.1 receive=0.1 entries=100000",
        "nodes=30 entries=900000000",
        "workload=on-off:1:1000",
    ] {
        assert_eq!(refusal(fine), "", "{fine}");
    }
}

#[test]
fn clients_of_one_node_wait_for_each_other() {
    // Three clients of one node that ask again at once: each waits for the two others.
    let run = outcome("naimi-trehel", "nodes=1 clients=3 cs=1 rate=1000000 entries=3000", 1);
    assert_near("wait", run.measures.mean_wait(), 2.0, 1e-3);
    assert_near("throughput", run.measures.throughput(), 1.0, 1e-3);
    // Without contention they ask as often as three nodes would.
    let parameters = "nodes=2 clients=3 rate=0.5 cs=0 send=0 receive=0 transit=0 entries=20000";
    let run = outcome("naimi-trehel", parameters, 1);
    assert_near("throughput", run.measures.throughput(), 3.0, 0.02);
}

#[test]
fn groups_are_chosen_as_asked_for() {
    // A client alone asks for one of two groups; by Zipf's law with exponent 1 it changes with 2 · 2/3 · 1/3.
    for (choice, switches) in [("uniform", 0.5), ("zipf:1", 4.0 / 9.0)] {
        let parameters = format!("nodes=1 groups=2 group-choice={choice} entries=50000 rate=1");
        let run = outcome("drs-gme", &parameters, 1);
        assert_near(choice, run.measures.switches as f64 / 50_000.0, switches, 0.02);
    }
}

#[test]
fn messages_keep_their_order_unless_told_otherwise() {
    let overtaking = |order: &str| {
        let parameters = format!(
            "nodes=4 tokens=2 rate=5 delay=heavy-tailed order={order} entries=2000 send=0.01 receive=0.01"
        );
        let steps = outcome("raymond-k", &parameters, 5).steps;
        let overtakes = |action| matches!(action, Action::Deliver(envelope) if envelope.overtakes > 0);
        steps.iter().filter(|step| overtakes(step.action)).count()
    };
    assert_eq!(overtaking("fifo"), 0);
    assert!(overtaking("any") > 100);
}

#[test]
fn a_crash_takes_the_message_that_is_being_received_with_it() {
    // Node 0 is receiving node 1's REQUEST from 1.2 to 1.5. It crashes at 1.3, and restarts at 1.4 without
    // it.
    let mut plan = plan("naimi-trehel", &format!("nodes=2 workload=burst entries=2 {TIMES}"));
    plan.faults.add("crash 0 at 1.3 for 0.1").unwrap();
    let run = simulator::run("naimi-trehel", &plan, 1, Recording::On).unwrap();
    assert_eq!(run.violation.unwrap().property, Property::NobodyLeftWaiting);
    let actions: Vec<String> = run.steps.iter().map(ToString::to_string).collect();
    assert_eq!(actions.len(), 6, "{actions:?}");
    assert!(matches!(run.steps[5].action, Action::Lose(_)), "{actions:?}");
}

#[test]
fn every_run_can_be_replayed() {
    for info in registry::ALL {
        let parameters = if info.kind == Kind::KMutex {
            "nodes=6 tokens=2 rate=1 entries=200 warmup=20"
        } else {
            "nodes=6 rate=1 entries=200 warmup=20"
        };
        let run = outcome(info.name, parameters, 2);
        let system = registry::system(info.name, &plan(info.name, parameters).setting).unwrap();
        let mut world = World::start(system, Conditions::Reliable);
        for step in &run.steps {
            let happened = world.take(step).unwrap_or_else(|why| panic!("{} {step}: {why}", info.name));
            assert_eq!(happened.violation, None, "{}", info.name);
            assert_eq!(happened.picks, step.picks, "{}", info.name);
        }
        assert_eq!(world.entries, 220, "{}", info.name);
        assert_eq!(world.sent, run.messages, "{}", info.name);
    }
}

#[test]
fn each_node_may_have_its_own_group() {
    let run = outcome("drs-gme", "nodes=5 groups=3 group-choice=own entries=50 warmup=0", 1);
    let asked = run.steps.iter().filter_map(|step| match step.action {
        Action::Request { node, groups, .. } => Some((node, groups)),
        _ => None,
    });
    let asked: Vec<_> = asked.collect();
    assert!(asked.len() >= 50);
    assert!(asked.iter().all(|(node, groups)| groups.iter().eq([node % 3])), "{asked:?}");
}
