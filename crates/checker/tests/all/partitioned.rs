//! Partitioned systems keep the properties of their algorithm.

use algorithms::registry::{self, Visitor};
use algorithms::{Algorithm, Kind};
use checker::{Job, Verdict, check};

struct CheckSuite;

impl Visitor for CheckSuite {
    type Output = ();

    fn visit<A: Algorithm>(self) {
        for scope in A::INFO.suite {
            let finding = check::<A>(&Job::of(scope, None), &|_| {}).expect("a scope that is served");
            assert_eq!(finding.verdict(), Verdict::Holds, "{} {scope:?}", A::INFO.name);
            println!("{} {scope:?}: {} states", A::INFO.name, finding.states);
        }
    }
}

#[test]
fn clusters_hold_what_the_algorithm_holds() {
    for info in registry::ALL.iter().filter(|info| info.kind != Kind::GroupMutex) {
        registry::visit(&format!("partitioned({})", info.name), CheckSuite).expect("a known name");
    }
}
