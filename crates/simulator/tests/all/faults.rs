//! Faults in a run: algorithms that tolerate them go on, others show the damage, and in both cases the steps
//! can be replayed.

use algorithms::registry;
use algorithms::{Action, Property, World};
use simulator::workload::Workload;
use simulator::{Outcome, Plan, Recording};

const BULGANNAWAR: &str = "bulgannawar-vaidya";
const DRS: &str = "drs-gme";
const NAIMI: &str = "naimi-trehel";

/// One fault of each kind, as on the command line.
const FAULTS: &[&[(&str, &str)]] = &[
    &[("loss", "0.05")],
    &[("duplicate", "0.2")],
    &[("duplicate", "0.2"), ("delay", "exponential"), ("order", "any")],
    &[("reorder", "0.3")],
    &[("fault", "partition 0-1 at 30 for 100")],
    &[("fault", "partition any every 40 for 60")],
    &[("fault", "pause any every 20 for 15")],
    &[("fault", "pause 0 at 10 for 50"), ("fault", "crash 0 at 20 for 10")],
    &[("fault", "crash any every 50 for 20")],
    &[("fault", "crash 0 at 20 for 30"), ("fault", "crash 0 at 40 for 50")],
    &[("fault", "crash 0-2 every 60 for 0")],
    &[("loss", "0.02"), ("duplicate", "0.05"), ("reorder", "0.05"), ("fault", "crash any every 80 for 30")],
];

fn plan(name: &str, sets: &[(&str, &str)]) -> Plan {
    let info = registry::info(name).unwrap();
    let mut plan = Plan::of(info);
    plan.setting.nodes = 6;
    plan.setting.tokens = plan.setting.tokens.min(2);
    (plan.section.mean, plan.rate, plan.entries, plan.warmup) = (1.0, 0.2, 300, 20);
    for (name, value) in sets {
        plan.set(info, name, value).unwrap();
    }
    plan
}

fn run(name: &str, plan: &Plan, seed: u64) -> Outcome {
    simulator::run(name, plan, seed, Recording::On).unwrap_or_else(|refusal| panic!("{name}: {refusal}"))
}

/// Replays the recorded steps on the simplest driver, which must come to the same end.
fn replay(name: &str, plan: &Plan, outcome: &Outcome) {
    let system = registry::system(name, &plan.setting).unwrap();
    let conditions = plan.conditions(system.info());
    let mut world = World::start(system, conditions);
    let mut last = None;
    for (index, step) in outcome.steps.iter().enumerate() {
        let happened = world
            .take(step)
            .unwrap_or_else(|why| panic!("{name} seed {}: step {index}, {step}: {why}", outcome.seed));
        assert!(last.is_none(), "{name} seed {}: {last:?} before step {index}", outcome.seed);
        last = happened.violation;
    }
    match &outcome.violation {
        None => {
            assert_eq!(world.sent, outcome.messages, "{name}");
            assert_eq!(last, None, "{name}");
        }
        Some(found) if found.property == Property::EndReachable => {}
        Some(found) if found.property == Property::NobodyLeftWaiting => {
            assert!(world.violated_at_end().is_some(), "{name}: {found}");
        }
        Some(found) => assert_eq!(last.map(|last| last.property), Some(found.property), "{name}"),
    }
}

fn count(outcome: &Outcome, wanted: impl Fn(&Action) -> bool) -> usize {
    outcome.steps.iter().filter(|step| wanted(&step.action)).count()
}

#[test]
fn drs_gme_goes_on_whatever_happens() {
    for sets in FAULTS {
        let plan = plan(DRS, sets);
        for seed in 1..=10 {
            let outcome = run(DRS, &plan, seed);
            assert_eq!(outcome.violation, None, "{sets:?} seed {seed}");
            assert_eq!(outcome.measures.entries, plan.entries, "{sets:?} seed {seed}");
            assert!(outcome.measures.throughput() > 0.0);
            let unserved = outcome.measures.by_node.iter().position(|node| node.entries == 0);
            assert_eq!(unserved, None, "{sets:?} seed {seed}");
            replay(DRS, &plan, &outcome);
        }
    }
}

#[test]
fn the_faults_asked_for_happen() {
    let lost = run(DRS, &plan(DRS, &[("loss", "0.05"), ("warmup", "0")]), 1);
    let losses = count(&lost, |action| matches!(action, Action::Lose(_)));
    assert_eq!(losses as u64, lost.measures.tampered);
    let share = losses as f64 / lost.messages as f64;
    assert!((0.03..0.07).contains(&share), "{share}");
    let doubled = run(DRS, &plan(DRS, &[("duplicate", "0.2")]), 1);
    let share =
        count(&doubled, |action| matches!(action, Action::Duplicate(_))) as f64 / doubled.messages as f64;
    assert!((0.16..0.24).contains(&share), "{share}");
    let late = run(DRS, &plan(DRS, &[("reorder", "0.3")]), 1);
    assert!(count(&late, |action| matches!(action, Action::Deliver(envelope) if envelope.overtakes > 0)) > 0);
}

/// Exactly the messages asked for are lost, and no other; a run that never sends one of them is refused.
#[test]
fn single_messages_are_lost() {
    let with = |list: &str| plan(DRS, &[("lose", list), ("warmup", "0")]);
    let outcome = run(DRS, &with("TOKEN:3,START,START:5"), 1);
    assert_eq!(
        (count(&outcome, |action| matches!(action, Action::Lose(_))), outcome.measures.tampered),
        (3, 3)
    );
    replay(DRS, &with("TOKEN:3,START,START:5"), &outcome);
    let refused = |list: &str| simulator::run(DRS, &with(list), 1, Recording::Off).unwrap_err().to_string();
    assert_eq!(refused("TOKN"), "lose: the run sent no TOKN; it sent COMPLETE, REQUEST, START, TOKEN");
    assert!(refused("TOKEN:100000").contains("so TOKEN:100000 was not lost: take more entries"));
}

#[test]
fn a_message_to_lose_has_a_kind_and_a_number() {
    let mut plan = plan(DRS, &[]);
    for wrong in ["", "TOKEN:0", "TOKEN:x", "TOKEN:1,", "A TOKEN", ":3", "TOKEN:-1"] {
        let refusal = plan.set(registry::info(DRS).unwrap(), "lose", wrong).unwrap_err().to_string();
        assert!(refusal.contains("lose: '") && refusal.contains("'TOKEN:5'"), "{wrong}: {refusal}");
    }
}

/// A message that arrives at the last moment is in time: without faults no timer of drs-gme expires, though all times
/// are constant and answers arrive exactly at the bound.
#[test]
fn no_loss_is_suspected_where_nothing_is_lost() {
    for watch in ["left", "start"] {
        let sets = [("timers", "on"), ("watch", watch), ("send", "0"), ("receive", "0"), ("transit", "1")];
        let mut plan = plan(DRS, &sets);
        (plan.entries, plan.section.mean, plan.rate) = (2000, 5.0, 0.05);
        for seed in 1..=5 {
            let outcome = run(DRS, &plan, seed);
            let expired = count(&outcome, |action| matches!(action, Action::Expire { .. }));
            assert_eq!(expired, 0, "watch={watch} seed {seed}");
        }
    }
}

/// Damage or not, nothing panics and every recorded run can be replayed.
#[test]
fn every_algorithm_under_every_fault_can_be_replayed() {
    for info in registry::ALL {
        for sets in FAULTS {
            if info.relies_on_pace() && sets.iter().any(|(name, _)| *name == "delay") {
                continue;
            }
            let mut plan = plan(info.name, sets);
            plan.entries = 150;
            for seed in 1..=3 {
                replay(info.name, &plan, &run(info.name, &plan, seed));
            }
        }
    }
}

#[test]
fn a_lost_message_leaves_naimi_trehel_waiting() {
    let plan = plan(NAIMI, &[("loss", "0.05")]);
    for seed in 1..=20 {
        let violation = run(NAIMI, &plan, seed).violation.expect("something gets lost");
        assert_eq!(violation.property, Property::NobodyLeftWaiting, "seed {seed}: {violation}");
    }
}

#[test]
fn a_crash_costs_naimi_trehel_its_token_or_gives_it_two() {
    let lost = plan(NAIMI, &[("fault", "crash 1-5 at 40 for 5")]);
    let doubled = plan(NAIMI, &[("fault", "crash 0 at 40 for 5")]);
    let violated = |plan: &Plan, property: Property| {
        let of = |seed| run(NAIMI, plan, seed).violation.map(|violation| violation.property);
        (1..=20).filter(|&seed| of(seed) == Some(property)).count()
    };
    assert!(violated(&lost, Property::NobodyLeftWaiting) > 0);
    assert!(violated(&doubled, Property::TokensConserved) > 0);
}

#[test]
fn messages_out_of_order_break_bulgannawar_vaidya() {
    let with = plan(BULGANNAWAR, &[("reorder", "0.3"), ("rate", "1"), ("cs", "0.1"), ("entries", "2000")]);
    let without = Plan { faults: simulator::fault::Faults::default(), ..with.clone() };
    let broken = |plan| (1..=20).filter(|&seed| run(BULGANNAWAR, plan, seed).violation.is_some()).count();
    assert!(broken(&with) > 0);
    assert_eq!(broken(&without), 0);
}

/// FIFO channels stay FIFO while nodes pause or crash, however long messages take.
#[test]
fn pauses_and_crashes_keep_the_order_of_messages() {
    let faults = ["pause 0 at 5 for 200", "pause any every 30 for 25", "crash any every 20 for 1"];
    for fault in faults {
        for transit in ["0.8", "100"] {
            let plan = plan(DRS, &[("fault", fault), ("transit", transit), ("send", "0.5")]);
            for seed in 1..=10 {
                let outcome = run(DRS, &plan, seed);
                let overtaking = |action: &Action| match action {
                    Action::Deliver(envelope) => envelope.overtakes > 0,
                    _ => false,
                };
                assert_eq!(count(&outcome, overtaking), 0, "{fault}, transit {transit}, seed {seed}");
            }
        }
    }
}

/// Nothing is lost in a pause: the run is complete, only later.
#[test]
fn a_pause_only_delays() {
    let calm = plan(NAIMI, &[("warmup", "0")]);
    let paused = plan(NAIMI, &[("warmup", "0"), ("fault", "pause 0-5 at 50 for 1000")]);
    let (calm, paused) = (run(NAIMI, &calm, 1), run(NAIMI, &paused, 1));
    assert_eq!((paused.violation.as_ref(), paused.measures.tampered), (None, 0));
    assert_eq!(paused.measures.entries, calm.measures.entries);
    assert!(paused.measures.ended > calm.measures.ended);
    assert!(paused.measures.longest_wait() >= simulator::time::ticks(1000.0));
}

#[test]
fn a_partition_loses_what_crosses_it_and_heals() {
    let plan = plan(DRS, &[("fault", "partition 0-2 at 100 for 400"), ("warmup", "0")]);
    let outcome = run(DRS, &plan, 3);
    let across = |from: u32, to: u32| (from < 3) != (to < 3);
    let within = count(&outcome, |action| matches!(action, Action::Lose(it) if !across(it.from, it.to)));
    let crossing = count(&outcome, |action| matches!(action, Action::Lose(it) if across(it.from, it.to)));
    assert_eq!(within, 0);
    assert!(crossing > 0);
    let last_lost = outcome.steps.iter().rposition(|step| matches!(step.action, Action::Lose(_))).unwrap();
    let crosses =
        |step: &algorithms::Step| matches!(step.action, Action::Deliver(it) if across(it.from, it.to));
    assert!(outcome.steps[last_lost..].iter().any(crosses), "it heals");
    // A partition that is renewed before its end never heals.
    let renewed = ["partition 0-2 at 100 for 400 every 300"];
    let plan = self::plan(DRS, &[("fault", renewed[0]), ("warmup", "0"), ("entries", "600")]);
    let outcome = run(DRS, &plan, 3);
    let first_lost = outcome.steps.iter().position(|step| matches!(step.action, Action::Lose(_))).unwrap();
    // Messages under way when it began still arrive: at most one for each pair.
    assert!(outcome.steps[first_lost..].iter().filter(|step| crosses(step)).count() < 18);
}

#[test]
fn a_node_that_crashes_while_it_is_down_stays_down_for_longer() {
    let plan = plan(DRS, &[("fault", "crash 0 at 20 for 30"), ("fault", "crash 0 at 40 for 50")]);
    let outcome = run(DRS, &plan, 1);
    assert_eq!(count(&outcome, |action| matches!(action, Action::Crash { node: 0 })), 1);
    assert_eq!(count(&outcome, |action| matches!(action, Action::Restart { node: 0 })), 1);
}

#[test]
fn rounds_do_not_multiply_when_nodes_crash() {
    for workload in [Workload::Burst, Workload::Single] {
        let mut plan = plan(DRS, &[("fault", "crash any every 15 for 10"), ("warmup", "0")]);
        plan.workload = workload.clone();
        for seed in 1..=10 {
            let outcome = run(DRS, &plan, seed);
            assert_eq!(outcome.violation, None, "{workload:?} seed {seed}");
            replay(DRS, &plan, &outcome);
            if workload == Workload::Single {
                assert_eq!(outcome.measures.most_inside, 1, "seed {seed}");
            }
        }
    }
}

#[test]
fn a_seed_decides_what_goes_wrong() {
    let plan = plan(DRS, FAULTS[FAULTS.len() - 1]);
    let (first, again) = (run(DRS, &plan, 7), run(DRS, &plan, 7));
    assert_eq!(first.steps, again.steps);
    assert_ne!(first.steps, run(DRS, &plan, 8).steps);
}
