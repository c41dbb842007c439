//! The standard suite and the defects, as every algorithm declares them.

use std::time::Instant;

use algorithms::info::Shows;
use algorithms::registry::{self, Visitor};
use algorithms::{Algorithm, Property, Scope};
use checker::{Finding, Job, Verdict, check};

struct Check(Job);

impl Visitor for Check {
    type Output = Finding;
    fn visit<A: Algorithm>(self) -> Finding {
        check::<A>(&self.0, &|_| {}).unwrap_or_else(|refusal| panic!("{}: {refusal}", A::INFO.name))
    }
}

fn run(name: &str, scope: &Scope, defect: Option<&str>, only: Option<Property>) -> Finding {
    let job = Job { threads: 2, only, ..Job::of(scope, defect) };
    let started = Instant::now();
    let finding = registry::visit(name, Check(job)).expect("a known name");
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{name} {defect:?} n={} k={} r={} {} states, depth {}, {} bytes, {seconds:.2} s",
        scope.nodes, scope.tokens, scope.requests, finding.states, finding.depth, finding.bytes_per_state
    );
    if let Some((violation, trace)) = &finding.violation {
        println!("   {violation}");
        for step in &trace.steps {
            println!("     {}: {}", step.step, step.shows.join("; "));
        }
    }
    finding
}

#[test]
fn the_standard_suite_holds() {
    for info in registry::ALL {
        let mut seen = vec![false; info.sometimes.len()];
        for scope in info.suite {
            let finding = run(info.name, scope, None, None);
            assert_eq!(finding.verdict(), Verdict::Holds, "{} {scope:?}", info.name);
            for (index, what) in info.sometimes.iter().enumerate() {
                seen[index] |= finding.sometimes.iter().any(|note| note.what == *what && note.seen);
            }
        }
        for (what, seen) in info.sometimes.iter().zip(seen) {
            assert!(seen || info.suite.is_empty(), "{}: never seen in the suite: {what}", info.name);
        }
    }
}

#[test]
fn every_defect_is_found() {
    for info in registry::ALL {
        for defect in info.defects {
            if let Shows::Search(property) = defect.shows {
                let finding = run(info.name, &defect.scope, Some(defect.name), Some(property));
                let violated = finding.violation.map(|(violation, _)| violation.property);
                assert_eq!(violated, Some(property), "{} {}", info.name, defect.name);
            }
        }
    }
}
