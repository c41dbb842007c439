//! Each rule of the protocol is needed: without it, the seed of its entry fails; with it, the same plan
//! and seed do not. Defects that need no clocks also show in the exploration of small clusters.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Once;

use service::Defect;
use swarm::exhaustive::{Explored, Size, explore};
use swarm::{DEFECT_SEEDS, DefectSeed, Plan, run_catching_panics, shrink};

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Failures are expected while this runs: nodes report them by a panic, which need not be printed.
fn quietly<T>(act: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !EXPECTED.get() {
                print(panic);
            }
        }));
    });
    EXPECTED.set(true);
    let result = act();
    EXPECTED.set(false);
    result
}

#[test]
fn every_rule_is_needed() {
    let judged: Vec<(Defect, Option<String>, Option<String>)> = quietly(|| {
        let of = |plan: &Plan, seed| run_catching_panics(plan, seed).failure().map(str::to_string);
        let judge = |shown: &swarm::DefectSeed| {
            let without = of(&shown.plan(shown.seed, Some(shown.defect)), shown.seed);
            (shown.defect, without, of(&shown.plan(shown.seed, None), shown.seed))
        };
        DEFECT_SEEDS.iter().map(judge).collect()
    });
    for (defect, without, with) in &judged {
        println!("{}: {without:?}", defect.name());
        assert!(with.is_none(), "the seed of {} fails with the rule too: {with:?}", defect.name());
    }
    let hidden: Vec<&str> =
        judged.iter().filter(|(_, without, _)| without.is_none()).map(|(defect, ..)| defect.name()).collect();
    assert!(hidden.is_empty(), "these show nothing from their seeds any more: {hidden:?}");
    assert!(Defect::ALL.iter().all(|defect| judged.iter().any(|(shown, ..)| shown == defect)));
}

#[test]
fn what_does_not_take_clocks_is_found_by_exploring() {
    let sizes = Defect::ALL.iter().filter_map(|defect| Some((*defect, Size::that_shows(*defect)?)));
    let found: Vec<(Defect, Explored)> = quietly(|| {
        sizes.map(|(defect, size)| (defect, explore(&size, |_| ControlFlow::Continue(())))).collect()
    });
    for (defect, explored) in &found {
        println!("explored {}: {:?}", defect.name(), explored.violation.as_ref().map(|(_, way)| way.len()));
        assert!(explored.violation.is_some(), "{} is not found in {} states", defect.name(), explored.states);
    }
    assert!(found.len() >= 15);
}

#[test]
fn nothing_is_wrong_in_any_order() {
    let two = Size { sample: 1, ..Size::default() };
    let sizes = [
        Size { failures: 2, sample: 8, ..two.clone() },
        Size { rounds: 2, timers: 1, ..two.clone() },
        Size { slots: 2, clients: 2, failures: 0, ..two.clone() },
        Size { groups: 2, rounds: 2, ..two.clone() },
        Size { groups: 1, ..two },
    ];
    for size in sizes {
        let found = explore(&size, |_| ControlFlow::Continue(()));
        println!("{} states, {} deep: {size:?}", found.states, found.depth);
        assert!(found.violation.is_none(), "{size:?}: {:#?}", found.violation);
        assert!(found.complete && found.grants > 0, "{size:?}: {found:?}");
    }
}

#[test]
fn a_failure_is_made_smaller() {
    let shown = DefectSeed::of(Defect::FenceWithoutView);
    let plan = shown.plan(shown.seed, Some(shown.defect));
    let (smaller, wrong) = quietly(|| {
        let smaller = shrink(&plan, shown.seed, &|| false);
        let wrong = run_catching_panics(&smaller, shown.seed).failure().map(str::to_string);
        (smaller, wrong)
    });
    assert!(wrong.is_some());
    assert!(smaller.clients < plan.clients || smaller.lasts < plan.lasts, "{smaller:?}");
    let mut typed = plan.clone();
    typed.adjust(&smaller.differences(&plan)).unwrap();
    assert_eq!(typed, smaller);
}

/// A node that repeats a grant after its lease has lapsed grants nothing: the client knows that the grant is
/// over.
#[test]
fn a_grant_that_is_repeated_is_not_granted_again() {
    let shown = DefectSeed::of(Defect::ToldWithoutLease);
    for seed in 0..8 {
        let outcome = run_catching_panics(&shown.plan(seed, None), seed);
        assert_eq!(outcome.failure(), None, "seed {seed}");
    }
}

/// A node that has left learns of nothing more. The swarm once delivered a late view to it, and it started
/// again.
#[test]
fn a_node_that_has_left_does_not_come_back() {
    for seed in 0..20 {
        let plan = Plan { leaves: 2, late_news: 30, nodes: 5, ..Plan::drawn(seed) };
        let outcome = run_catching_panics(&plan, seed);
        assert_eq!(outcome.failure(), None, "seed {seed}");
    }
}
