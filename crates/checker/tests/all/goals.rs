//! The shortest way to a state, from the start and from later states.

use std::ops::ControlFlow;

use algorithms::schedule::parse_schedule;
use algorithms::{Conditions, Erased, Property, Scope, Setting, SettingError, Step, System, World, registry};
use checker::{Job, Wanted, Way, find};

fn way(name: &str, scope: &Scope, from: &str, wanted: Wanted) -> Result<Way, SettingError> {
    let from: Vec<Step> = parse_schedule(from).unwrap();
    let go_on = |_| ControlFlow::Continue(());
    find(name, &Job::of(scope, None), &from, Conditions::Reliable, wanted, &go_on)
}

fn system(scope: &Scope) -> System<Erased> {
    registry::system("naimi-trehel", &Setting::of(scope, None)).unwrap()
}

fn steps(name: &str, scope: &Scope, from: &str, wanted: Wanted) -> Vec<String> {
    let steps = way(name, scope, from, wanted).unwrap().steps;
    steps.expect("there is a way").iter().map(ToString::to_string).collect()
}

#[test]
fn a_way_has_the_fewest_steps_and_can_be_taken() {
    let scope = Scope::new(3, 1, 1);
    assert_eq!(steps("naimi-trehel", &scope, "", Wanted::Waiting(2)).len(), 2);
    assert_eq!(steps("naimi-trehel", &scope, "", Wanted::Inside(1)), ["req0"]);
    assert_eq!(steps("naimi-trehel", &scope, "req0", Wanted::Inside(1)).len(), 0);
    let note = Wanted::Note("a request was forwarded".to_string());
    let forwarded = steps("naimi-trehel", &scope, "", note);
    let mut world = World::start(system(&scope), Conditions::Reliable);
    world.run(&forwarded.join(" ")).unwrap();
    assert_eq!(forwarded.len(), 4, "{forwarded:?}");
}

/// Messages and clients are where the steps left them, and each client has its requests left.
#[test]
fn a_search_goes_on_where_the_steps_end() {
    let scope = Scope::new(3, 1, 1);
    let before = "req1 1>0 req2";
    let rest = steps("naimi-trehel", &scope, before, Wanted::AllServed);
    // Three deliveries and an exit for node 1 and what it passes on, a delivery and an exit for node 2.
    assert_eq!(rest.len(), 6, "{rest:?}");
    let mut world = World::start(system(&scope), Conditions::Reliable);
    world.run(&format!("{before} {}", rest.join(" "))).unwrap();
    assert!(world.channels.is_empty() && world.violated_at_end().is_none() && world.entries == 2);
    let of = |from: &str| way("naimi-trehel", &scope, from, Wanted::Violation).unwrap();
    // From the start it is the whole state space of the suite; from a later state, clients ask once more.
    assert!(of("").steps.is_none() && of("").stopped.is_none());
    assert!(of(before).steps.is_none() && of(before).states > 10);
}

#[test]
fn a_violation_is_found_from_a_later_state_too() {
    let scope = Scope::new(2, 1, 1);
    let from = parse_schedule("req0").unwrap();
    let job = Job { only: Some(Property::AtMostKInside), ..Job::of(&scope, Some("holding-not-set")) };
    let go_on = |_| ControlFlow::Continue(());
    let found =
        find("bulgannawar-vaidya", &job, &from, Conditions::Reliable, Wanted::Violation, &go_on).unwrap();
    assert_eq!(found.violation.unwrap().property, Property::AtMostKInside);
    assert_eq!(found.steps.unwrap().len(), 3);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let scope = Scope::new(2, 1, 1);
    assert!(way("lamport", &scope, "", Wanted::TokenLost).is_err());
    assert!(way("lamport", &scope, "", Wanted::Note("no such note".to_string())).is_err());
    assert!(way("lamport", &scope, "exit0", Wanted::Inside(1)).is_err());
    let paced = Scope::new(2, 1, 1).paced(1, 1);
    assert!(way("makki", &paced, "", Wanted::Waiting(2)).unwrap().steps.is_some());
    assert!(way("makki", &paced, "req0", Wanted::Waiting(2)).is_err());
}
