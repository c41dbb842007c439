//! The report claims only what the search has looked at.

use algorithms::{Property, Scope, SettingError};
use checker::{Finding, Job, Verdict, check};

fn run(only: Option<Property>) -> Result<Finding, SettingError> {
    let job = Job { only, ..Job::of(&Scope::new(2, 1, 2).clients(2), None) };
    check("forest", &job)
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
    assert!(refused.0.contains("--random"), "{refused}");
}
