//! What 001 ch. V proposes for Makki et al.'s algorithm, with `release=queue`, and the schedules that show why
//! its rules are needed.

use std::format;
use std::vec::Vec;

use super::{Makki, Rounds};
use crate::algorithm::Algorithm;
use crate::info::Scope;
use crate::properties::Property;
use crate::schedule::parse_schedule;
use crate::world::World;
use crate::{Setting, registry};

const QUEUE: &[(&str, &str)] = &[("release", "queue")];
const STRAIGHT: &[(&str, &str)] = &[("release", "queue"), ("token", "straight")];

fn world(scope: Scope) -> World<Makki> {
    World::of(&scope, None).unwrap()
}

fn rounds(world: &World<Makki>, node: usize) -> &Rounds {
    match world.nodes[node].state.as_ref() {
        Some(Makki::Rounds(rounds)) => rounds,
        other => panic!("{other:?}"),
    }
}

/// Takes every step, whatever it violates, and returns what was violated.
fn violated(scope: Scope, defect: Option<&str>, schedule: &str) -> Vec<Property> {
    let mut world: World<Makki> = World::of(&scope, defect).unwrap();
    let steps = parse_schedule(schedule).unwrap();
    let mut found: Vec<Property> = Vec::new();
    for step in &steps {
        let happened = world.take(step).unwrap_or_else(|error| panic!("{step}: {error}"));
        found.extend(happened.violation.map(|violation| violation.property));
    }
    found.extend(world.violated_at_end().map(|violation| violation.property));
    found
}

/// Figure 11's queue 2, 4, 7 with k = 2: node 7 enters by node 2's RELEASE, before the token has come through 4.
#[test]
fn figure_11_without_waiting_for_the_token() {
    let mut world = world(Scope::new(8, 2, 1).with(QUEUE));
    world.run("req0 req2 req4 req7 2>0 4>0 7>0 exit0 tmo0 0>2 exit2 2>7").unwrap();
    assert!(world.inside(7) && !world.inside(4));
    // 4 has not got the token yet. It finds one right in it, and passes it on to 7, which keeps it.
    world.run("2>4").unwrap();
    assert!(world.inside(4) && world.inside(7));
    world.run("4>7 exit7 exit4 4>7").unwrap();
    let last = rounds(&world, 7);
    assert_eq!((last.token, last.rights, last.round, last.served), (true, 2, 2, 2));
}

/// With `token=straight` the token leaves out the nodes that enter by RELEASE.
#[test]
fn a_token_without_rights_goes_to_the_good_site() {
    let mut world = world(Scope::new(5, 1, 1).with(STRAIGHT));
    world.run("req0 req1 req2 req3 req4 1>0 2>0 3>0 4>0 exit0 tmo0 0>1").unwrap();
    assert_eq!(format!("{}", world.channels[&(1, 4)][0]), "TOKEN(0 free, behind none) of round 2");
    world.run("exit1 1>2 exit2 2>3 exit3 1>4 3>4").unwrap();
    assert!(world.inside(4));
    world.run("exit4").unwrap();
    assert_eq!(world.violated_at_end(), None);
    // Four REQUESTs, the TOKEN twice, three RELEASEs; no UPDATE, because everybody is on the queue.
    assert_eq!((world.sent, world.entries), (9, 5));
}

/// An idle good site enters without a message, as in the bare form; requests that came before are not overtaken.
#[test]
fn the_good_site_enters_for_nothing() {
    let mut world = world(Scope::new(3, 2, 3).with(QUEUE));
    world.run("req0 exit0 req0 exit0").unwrap();
    assert_eq!((world.sent, world.entries), (0, 2));
}

/// Light load takes n messages, as before: REQUEST, n − 2 UPDATEs, TOKEN.
#[test]
fn light_load_costs_what_it_did() {
    for nodes in 3..=10 {
        let mut world = world(Scope::new(nodes, 2, 1).with(STRAIGHT));
        world.run("req1 1>0").unwrap();
        world.settle(100).unwrap();
        world.run("tmo0 0>1 exit1").unwrap();
        assert_eq!((world.sent, world.entries), (u64::from(nodes), 1));
    }
}

/// The good site has to have all k rights before it begins a round: otherwise a RELEASE of the old round makes
/// node 2 enter again, which is inside in the new one.
#[test]
fn a_round_begins_with_all_rights() {
    let schedule = "req0 req1 req2 1>0 2>0 exit0 tmo0 0>1 exit1 1>2 exit2 req2 1>2";
    let scope = Scope::new(3, 2, 2).with(QUEUE);
    assert_eq!(violated(scope, Some("round-without-all-rights"), schedule), [Property::NoDoubleEntry]);
    assert_eq!(violated(scope, None, schedule), []);
}

/// A RELEASE says of which round it is: the good site may wait for the next one already.
#[test]
fn a_release_names_its_round() {
    let schedule = "req0 req1 req2 1>0 2>0 exit0 tmo0 0>1 exit1 1>2 exit2 req2 1>2 exit2";
    let scope = Scope::new(3, 2, 2).with(QUEUE);
    assert_eq!(violated(scope, Some("release-without-round"), schedule), [Property::NoEntryWithoutRequest]);
    assert_eq!(violated(scope, None, schedule), []);
}

/// The heir is the k-th behind a node: with the next one, node 2 is left out.
#[test]
fn the_heir_is_k_places_behind() {
    let asked = "req0 req1 req2 req3 1>0 2>0 3>0 exit0 tmo0 0>1 exit1";
    let scope = Scope::new(4, 1, 1).with(STRAIGHT);
    let wrong = format!("{asked} 1>3 1>3 exit3");
    assert_eq!(violated(scope, Some("heir-too-far"), &wrong), [Property::NobodyLeftWaiting]);
    assert_eq!(violated(scope, None, &format!("{asked} 1>2 exit2 1>3 2>3 exit3")), []);
}

/// A request that chases the good site arrives: nodes forward it with their own round, and the good site to be
/// keeps it until it has heard of its round.
#[test]
fn requests_follow_the_good_site() {
    let mut world = world(Scope::new(4, 1, 2).with(QUEUE));
    // Node 3 asks node 0, which has just handed the token to node 1: it sends the request on.
    world.run("req1 1>0 req3 tmo0 0>2 3>0").unwrap();
    assert_eq!(format!("{}", world.channels[&(0, 1)][1]), "REQUEST(3) of round 1");
    // It overtakes the token: node 1 keeps it.
    world.run("0>1#1").unwrap();
    assert_eq!(rounds(&world, 1).early, [(3, 1)]);
    world.run("0>1").unwrap();
    assert!(world.inside(1) && rounds(&world, 1).collected == [3]);
    world.run("exit1 tmo1 1>3 exit3").unwrap();
    assert_eq!(rounds(&world, 3).round, 2);
}

/// Only this form needs no bounds on time, and only in this form a request stands in several places.
#[test]
fn options_change_what_it_needs() {
    let setting = |options: &[(&str, &str)]| Setting::new(3, 2).with(options);
    let bare = registry::info_with("makki", &setting(&[])).unwrap();
    let queue = registry::info_with("makki", &setting(QUEUE)).unwrap();
    assert_eq!((bare.relies_on_pace(), bare.unique_requests), (true, true));
    assert_eq!((queue.relies_on_pace(), queue.unique_requests), (false, false));
    assert!(queue.relies_on_timers() && queue.suite.len() == Makki::INFO.suite.len());
    let refused = |name, setting: &Setting| registry::info_with(name, setting).unwrap_err().0;
    assert!(refused("makki", &setting(&[("token", "straight")])).contains("say release=queue"));
    let defect = Setting { defect: Some("heir-too-far".into()), ..setting(&[]) };
    assert!(refused("makki", &defect).contains("say release=queue"));
    assert!(refused("partitioned(makki)", &setting(QUEUE)).contains("leave out release=queue"));
}
