//! The report claims only what the search has looked at.

use algorithms::registry::{self, Visitor};
use algorithms::{Algorithm, Property, Scope};
use checker::{Finding, Job, Verdict, check};

struct Check(Job);

impl Visitor for Check {
    type Output = Result<Finding, String>;

    fn visit<A: Algorithm>(self) -> Result<Finding, String> {
        check::<A>(&self.0, &|_| {}).map_err(|refusal| refusal.to_string())
    }
}

fn run(only: Option<Property>) -> Result<Finding, String> {
    let job = Job { only, ..Job::of(&Scope::new(2, 1, 2).clients(2), None) };
    registry::visit("forest", Check(job)).expect("a known name")
}

#[test]
fn a_property_of_runs_is_not_said_to_hold_in_all_states() {
    let finding = run(None).unwrap();
    assert_eq!(finding.verdict(), Verdict::Holds);
    for (property, verdict) in finding.properties {
        let expected = if property == Property::FencesRise { Verdict::NotChecked } else { Verdict::Holds };
        assert_eq!(verdict, expected, "{property}");
    }
    let refused = run(Some(Property::FencesRise)).expect_err("it would find nothing");
    assert!(refused.contains("--random"), "{refused}");
}
