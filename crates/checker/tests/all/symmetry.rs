//! With symmetry the search finds what it finds without: the same states, up to names, and the same violations.

use algorithms::info::Shows;
use algorithms::{Scope, Setting, registry};
use checker::{Finding, Job, Verdict, check, is_symmetric};

/// Scopes with more states than this take too long for every run of the tests.
const QUICK: u64 = 60_000;

fn run(name: &str, job: &Job) -> Finding {
    check(name, job, &|_| {}).unwrap_or_else(|refusal| panic!("{name} {:?}: {refusal}", job.case))
}

/// Explores a scope with and without symmetry. Returns whether it is within the limit.
fn compare(name: &str, job: &Job) -> bool {
    let plain = run(name, job);
    if plain.verdict() == Verdict::Unknown {
        return false;
    }
    let symmetric = run(name, &Job { symmetry: true, ..job.clone() });
    let what = format!("{name} {:?}", job.case);
    assert_eq!(symmetric.verdict(), plain.verdict(), "{what}");
    match (&plain.violation, &symmetric.violation) {
        (None, None) => {
            assert_eq!(symmetric.represented, plain.states, "{what}");
            assert_eq!(symmetric.depth, plain.depth, "{what}");
            assert_eq!(symmetric.properties, plain.properties, "{what}");
            let seen = |finding: &Finding| finding.sometimes.iter().map(|note| note.seen).collect::<Vec<_>>();
            assert_eq!(seen(&symmetric), seen(&plain), "{what}");
        }
        // Traces replay the run, so that one with wrong names would not have been recorded.
        (Some((expected, shortest)), Some((violation, trace))) => {
            assert_eq!(violation.property, expected.property, "{what}");
            assert_eq!(trace.steps.len(), shortest.steps.len(), "{what}");
            assert_eq!(trace.violated, shortest.violated, "{what}");
        }
        _ => unreachable!("the verdicts are the same"),
    }
    println!("{what}: {} states, {} with symmetry", plain.states, symmetric.states);
    true
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
            if is_symmetric(info.name, &Setting::of(&scope, defect)).expect("a scope that is served") {
                let job = Job { only, max_states, ..Job::of(&scope, defect) };
                compared += usize::from(compare(info.name, &job));
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
    assert!(compared > 50, "{compared} are too few to show anything");
}

#[test]
fn an_algorithm_that_tells_nodes_apart_is_refused() {
    let scope = Scope::new(3, 1, 1);
    let refuse = |name: &str, scope: &Scope| {
        check(name, &Job { symmetry: true, ..Job::of(scope, None) }, &|_| {}).expect_err("no symmetry").0
    };
    for (name, scope) in [
        ("lamport", scope),
        ("bulgannawar-vaidya", scope.with(&[("inform", "1"), ("whom", "ring")])),
        ("helary", scope.with(&[("behaviour", "open-cube")])),
    ] {
        assert!(refuse(name, &scope).contains("--symmetry on"), "{name}");
    }
    assert!(refuse("naimi-trehel", &Scope::new(7, 1, 1)).contains("6 nodes"));
}
