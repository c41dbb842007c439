//! However many threads search, they find the same.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use algorithms::info::Shows;
use algorithms::{Scope, registry};
use checker::{Finding, Job, Progress, Symmetry, Verdict, check, check_watched};

/// Everything that a reader of the report sees, except the steps of the trace: of several runs of the shortest
/// length, the threads choose one.
fn report(finding: &Finding) -> String {
    let violation =
        finding.violation.as_ref().map(|(violation, trace)| (violation.property, trace.steps.len()));
    let seen: Vec<(&str, bool)> = finding.sometimes.iter().map(|note| (note.what, note.seen)).collect();
    let counts = (finding.states, finding.represented, finding.transitions);
    // A violation ends the search in the middle of a level, and how much of it was seen until then is chance.
    let explored = (finding.verdict() == Verdict::Holds).then_some((counts, finding.depth, seen));
    format!("{violation:?} {:?} {explored:?}", finding.properties)
}

fn find(name: &str, job: &Job) -> Finding {
    check(name, job).unwrap_or_else(|refusal| panic!("{name} {:?}: {refusal}", job.case))
}

/// Whether one thread alone finds a verdict within this many states. Then more threads must find the same.
fn compare(name: &str, job: &Job, most: u64) -> bool {
    let alone = find(name, &Job { threads: 1, max_states: most, ..job.clone() });
    if alone.verdict() == Verdict::Unknown {
        return false;
    }
    for threads in [2, 4] {
        let together = find(name, &Job { threads, ..job.clone() });
        assert_eq!(report(&together), report(&alone), "{name} {:?} with {threads} threads", job.case);
    }
    true
}

/// Large enough that most states belong to levels which the threads share.
#[test]
fn a_whole_state_space_is_the_same() {
    for (name, scope) in [
        ("forest", Scope::new(4, 1, 2)),
        ("rooms", Scope::new(2, 1, 3).groups(2).clients(2)),
        ("naimi-trehel", Scope::new(4, 1, 2)),
        ("drs-gme", Scope::new(3, 1, 1).groups(2).any_of()),
    ] {
        assert!(compare(name, &Job::of(&scope, None), u64::MAX));
    }
}

#[test]
fn a_state_space_with_symmetry_is_the_same() {
    for (name, scope) in [
        ("forest", Scope::new(3, 1, 2).clients(2)),
        ("rooms", Scope::new(2, 1, 3).groups(2).clients(2)),
        ("naimi-trehel", Scope::new(4, 1, 3)),
    ] {
        let job = Job { symmetry: Symmetry::On, ..Job::of(&scope, None) };
        assert!(compare(name, &job, u64::MAX));
    }
}

/// Defects that show only among more states than this take too long for every run of the tests.
const QUICK: u64 = 60_000;

#[test]
fn a_defect_shows_in_as_few_steps() {
    let mut compared = 0;
    for info in registry::ALL {
        for defect in info.defects {
            if let Shows::Search(property) = defect.shows {
                let job = Job { only: Some(property), ..Job::of(&defect.scope, Some(defect.name)) };
                compared += usize::from(compare(info.name, &job, QUICK));
            }
        }
    }
    assert!(compared > 40, "{compared} are too few to show anything");
}

/// The other threads wait for what it finds, and must not do so for ever.
#[test]
fn a_thread_that_panics_ends_the_search() {
    let job = Job { threads: 2, ..Job::of(&Scope::new(4, 1, 2), None) };
    let me = thread::current().id();
    for is_mine in [true, false] {
        let watch = |_: Progress| {
            assert!((thread::current().id() == me) != is_mine, "on purpose");
            ControlFlow::Continue(())
        };
        let ended = catch_unwind(AssertUnwindSafe(|| check_watched("forest", &job, &watch)));
        assert!(ended.is_err(), "no thread panicked");
    }
}
