//! With symmetry the search finds what it finds without: the same states, up to names, and the same violations.

use algorithms::info::{Clients, Shows};
use algorithms::{Scope, registry};
use checker::{Finding, Job, Symmetry, Verdict, check, is_symmetric};

/// Scopes with more states than this take too long for every run of the tests.
const QUICK: u64 = 60_000;

fn run(name: &str, job: &Job) -> Finding {
    check(name, job).unwrap_or_else(|refusal| panic!("{name} {:?}: {refusal}", job.case))
}

/// Explores a scope without symmetry and with each kind that it has. Returns with how many kinds it agrees: none
/// if it has none, or too many states.
fn compare(name: &str, job: &Job) -> usize {
    let has = |kind: Symmetry| is_symmetric(name, &job.case, kind).expect("a scope that is served");
    let mut kinds = vec![Symmetry::Nodes, Symmetry::Clients];
    kinds.retain(|&kind| has(kind));
    if kinds.len() == 2 {
        kinds.push(Symmetry::On);
    }
    if kinds.is_empty() {
        return 0;
    }
    let plain = run(name, job);
    if plain.verdict() == Verdict::Unknown {
        return 0;
    }
    for &symmetry in &kinds {
        let symmetric = run(name, &Job { symmetry, ..job.clone() });
        let what = format!("{name} {:?} {}", job.case, symmetry.name());
        agree(&plain, &symmetric, symmetry, &what);
        println!("{what}: {} states, {} with symmetry", plain.states, symmetric.states);
    }
    kinds.len()
}

fn agree(plain: &Finding, symmetric: &Finding, symmetry: Symmetry, what: &str) {
    assert_eq!(symmetric.verdict(), plain.verdict(), "{what}");
    match (&plain.violation, &symmetric.violation) {
        (None, None) => {
            match symmetry {
                Symmetry::Nodes => assert_eq!(symmetric.represented, plain.states, "{what}"),
                // They also stand for states that no run leads to where the lowest idle client makes the next
                // request. `plain.rs` counts them.
                _ => assert!(symmetric.represented >= plain.states, "{what}"),
            }
            assert!(symmetric.states <= plain.states, "{what}");
            assert_eq!(symmetric.depth, plain.depth, "{what}");
            assert_eq!(symmetric.properties, plain.properties, "{what}");
            let seen = |finding: &Finding| finding.sometimes.iter().map(|note| note.seen).collect::<Vec<_>>();
            assert_eq!(seen(symmetric), seen(plain), "{what}");
        }
        // Traces replay the run, so that one with wrong names would not have been recorded.
        (Some((expected, shortest)), Some((violation, trace))) => {
            assert_eq!(violation.property, expected.property, "{what}");
            assert_eq!(trace.steps.len(), shortest.steps.len(), "{what}");
            assert_eq!(trace.violated, shortest.violated, "{what}");
        }
        _ => unreachable!("the verdicts are the same"),
    }
}

fn compare_all(max_states: u64) -> usize {
    let mut compared = 0;
    for info in registry::ALL {
        let defects = info.defects.iter().filter_map(|defect| match defect.shows {
            Shows::Search(property) => Some((defect.scope, Some(defect.name), Some(property))),
            Shows::Random(..) | Shows::Dearer(_) => None,
        });
        let scopes = info.suite.iter().map(|scope| (*scope, None, None));
        for (scope, defect, only) in scopes.chain(defects) {
            let mut job = Job { only, max_states, ..Job::of(&scope, defect) };
            compared += compare(info.name, &job);
            // Where one client per node shows a defect, two show it as well.
            if defect.is_some() && info.clients == Clients::Many && scope.allowance.clients == 1 {
                job.case.allowance.clients = 2;
                compared += compare(info.name, &job);
            }
        }
    }
    compared
}

/// `TOKENWOOD_ALL_SCOPES=1 cargo test -p tokenwood-checker --test all symmetry` compares the large ones too.
#[test]
fn scopes_and_defects_agree() {
    let all = std::env::var_os("TOKENWOOD_ALL_SCOPES").is_some();
    let compared = compare_all(if all { u64::MAX } else { QUICK });
    assert!(compared > 80, "{compared} are too few to show anything");
}

#[test]
fn what_is_told_apart_is_refused() {
    let scope = Scope::new(3, 1, 1);
    let refuse = |name: &str, scope: &Scope, symmetry: Symmetry| {
        check(name, &Job { symmetry, ..Job::of(scope, None) }).expect_err("no symmetry").0
    };
    for (name, scope) in [
        ("lamport", scope),
        ("bulgannawar-vaidya", scope.with(&[("inform", "1"), ("whom", "ring")])),
        ("helary", scope.with(&[("behaviour", "open-cube")])),
    ] {
        for symmetry in [Symmetry::Nodes, Symmetry::On] {
            assert!(refuse(name, &scope, symmetry).contains("leave out --symmetry"), "{name}");
        }
    }
    assert!(refuse("naimi-trehel", &Scope::new(7, 1, 1), Symmetry::On).contains("6 nodes"));
    let clients = |name: &str, scope: &Scope| refuse(name, scope, Symmetry::Clients);
    assert!(clients("naimi-trehel", &scope).contains("one client per node"));
    assert!(clients("forest", &scope).contains("try --clients 2"));
    assert!(clients("forest", &scope.clients(7)).contains("6 clients"));
    assert!(clients("rooms", &scope.clients(2).paced(1, 1)).contains("where time counts"));
}

#[test]
fn what_there_is_of_symmetry_is_used() {
    let used = |name: &str, scope: Scope, symmetry: Symmetry| {
        let finding = run(name, &Job { symmetry, max_states: 1_000, ..Job::of(&scope, None) });
        (finding.renamings, finding.client_renamings)
    };
    let three = Scope::new(3, 1, 1);
    assert_eq!(used("naimi-trehel", three, Symmetry::On), (2, 1));
    assert_eq!(used("forest", three, Symmetry::On), (2, 1));
    assert_eq!(used("forest", three.clients(3), Symmetry::On), (2, 6));
    assert_eq!(used("forest", three.clients(3), Symmetry::Nodes), (2, 1));
    assert_eq!(used("forest", three.clients(3), Symmetry::Clients), (1, 6));
    // Its nodes are told apart, its clients are not.
    assert_eq!(used("rooms", three.clients(2).with(&[("turns", "0")]), Symmetry::On), (1, 2));
    // There are too many nodes to try all their orders, but not too many clients.
    assert_eq!(used("forest", Scope::new(7, 1, 1).clients(2), Symmetry::Clients), (1, 2));
    assert_eq!(used("partitioned(forest)", Scope::new(2, 2, 2).clients(2), Symmetry::On), (1, 2));
}
