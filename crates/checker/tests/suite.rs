//! The standard suite, as every algorithm declares it.

use algorithms::registry::{self, Visitor};
use algorithms::{Algorithm, Scope};
use checker::{Finding, Job, Verdict, check};

struct Check(Job);

impl Visitor for Check {
    type Output = Finding;
    fn visit<A: Algorithm>(self) -> Finding {
        check::<A>(&self.0, &|_| {}).unwrap_or_else(|refusal| panic!("{}: {refusal}", A::INFO.name))
    }
}

fn run(name: &str, scope: &Scope) -> Finding {
    let job = Job { threads: 2, ..Job::of(scope, None) };
    registry::visit(name, Check(job)).expect("a known name")
}

#[test]
fn the_standard_suite_holds() {
    for info in registry::ALL {
        let mut seen = vec![false; info.sometimes.len()];
        assert!(!info.suite.is_empty(), "{} has no suite", info.name);
        for scope in info.suite {
            let finding = run(info.name, scope);
            assert_eq!(finding.verdict(), Verdict::Holds, "{} {scope:?}: {:?}", info.name, finding.violation);
            for (index, what) in info.sometimes.iter().enumerate() {
                seen[index] |= finding.sometimes.iter().any(|note| note.what == *what && note.seen);
            }
        }
        for (what, seen) in info.sometimes.iter().zip(seen) {
            assert!(seen, "{}: never seen in the suite: {what}", info.name);
        }
    }
}
