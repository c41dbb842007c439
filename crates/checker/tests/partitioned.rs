//! Partitioned systems hold what their algorithm holds.

use algorithms::registry::{self, Visitor};
use algorithms::{Algorithm, Property};
use checker::{Job, Verdict, check};

struct CheckSuite;

impl Visitor for CheckSuite {
    type Output = ();

    fn visit<A: Algorithm>(self) {
        for scope in A::INFO.suite {
            let finding = check::<A>(&Job::of(scope, None), &|_| {}).expect("a scope that is served");
            assert_eq!(finding.verdict(), Verdict::Holds, "{} {scope:?}", A::INFO.name);
            assert!(finding.properties.iter().any(|(property, _)| *property == Property::TokensConserved));
            println!("{} {scope:?}: {} states", A::INFO.name, finding.states);
        }
    }
}

#[test]
fn clusters_hold_what_the_algorithm_holds() {
    for name in ["partitioned(naimi-trehel)", "partitioned(bulgannawar-vaidya)", "partitioned(makki)"] {
        assert!(!registry::info(name).expect("a known name").suite.is_empty());
        registry::visit(name, CheckSuite).expect("a known name");
    }
}
