//! Claims of 001 ch. II about Singhal's heuristically aided algorithm, and the deadlock of its usual form.

use crate::World;
use crate::algorithm::Effect;
use crate::info::Scope;
use crate::light_load;
use crate::shuffle;
use crate::singhal_heuristic::{Message, SinghalHeuristic};
use crate::world::StepOutcome;

fn world(nodes: u32, defect: Option<&str>) -> World<SinghalHeuristic> {
    World::of(&Scope::new(nodes, 1, 1), defect).unwrap()
}

/// At the start node i takes the i nodes below it for requesting: i requests and the token.
#[test]
fn the_first_entry_of_a_node_costs_a_message_per_node_below_it_and_the_token() {
    for node in 0..8 {
        let mut world = world(8, None);
        light_load::enter_alone(&mut world, node);
        light_load::enter_alone(&mut world, node);
        let expected = if node == 0 { 0 } else { u64::from(node) + 1 };
        assert_eq!((world.sent, world.entries), (expected, 2), "the second costs nothing");
    }
}

/// 001 ch. II: at most n messages per entry. A waiting node asks each other node at most once, and the token
/// comes once. Hints come on top, so that a run can cost more; they are rare.
#[test]
fn requests_and_the_token_are_at_most_n_messages_per_entry() {
    let (mut hints, mut dearer, mut sent) = (0, 0, 0);
    for seed in 0..500 {
        let mut here = 0;
        let is_hint =
            |effect: &Effect<SinghalHeuristic>| matches!(effect, Effect::Send { message: Message::Hint, .. });
        let scope = Scope::new(5, 1, 4);
        let world: World<SinghalHeuristic> = shuffle::watch(&scope, seed, |_, outcome| {
            here += outcome.effects.iter().filter(|effect| is_hint(effect)).count() as u64;
        })
        .unwrap();
        assert!(world.sent - here <= 5 * world.entries, "seed {seed}: {} and {here} hints", world.sent);
        dearer += u32::from(world.sent > 5 * world.entries);
        (hints, sent) = (hints + here, sent + world.sent);
    }
    assert!(hints > 0 && 50 * hints < sent, "{hints} hints among {sent} messages");
    assert!(dearer > 0, "no run cost more than n messages per entry");
}

/// Of two nodes the one that was inside longer ago asks the other: (n - 1)/2 requests on average, and the
/// token unless it is here.
#[test]
fn at_light_load_half_of_the_others_are_asked() {
    for nodes in [2, 10, 30] {
        let mut world = world(nodes, None);
        let mut number = light_load::numbers();
        for _ in 0..5_000 {
            light_load::enter_alone(&mut world, number(nodes));
        }
        let measured = world.sent as f64 / world.entries as f64;
        let n = f64::from(nodes);
        let expected = (n - 1.0) / 2.0 + (n - 1.0) / n;
        assert!((measured / expected - 1.0).abs() < 0.05, "n = {nodes}: {measured}, expected {expected}");
    }
}

/// Node 2's request to node 1 is late. Node 1 has learnt from the token that it was served, and has the token
/// now; node 2 waits again. Without HINT neither asks the other.
#[test]
fn without_hints_a_late_request_leaves_two_nodes_strangers() {
    const LATE: &str =
        "req0 exit0 req1 req2 2>0 req0 0>2 exit2 0>2 req2 2>0 exit0 1>0 0>1 exit1 req1 exit1 2>0 2>1";
    let mut right = world(3, None);
    right.run(LATE).unwrap();
    assert!(right.channels.contains_key(&(1, 2)), "a hint is under way");
    right.settle(100).unwrap();
    assert!(right.inside(2));

    let mut wrong = world(3, Some("no-hint"));
    wrong.run(LATE).unwrap();
    assert!(wrong.channels.is_empty() && wrong.violated_at_end().is_some());
}

/// Node 2 entered and asked again before node 1's request came to any holder of the token.
#[test]
fn a_waiting_node_asks_back() {
    const MEETS: &str = "req0 exit0 req0 exit0 req1 req2 2>0 0>2 exit2 1>0 2>1";
    let mut right = world(3, None);
    right.run(MEETS).unwrap();
    shuffle::serve_all(&mut right);
    assert_eq!(right.violated_at_end(), None);

    let mut wrong = world(3, Some("not-asked-back"));
    wrong.run(MEETS).unwrap();
    shuffle::serve_all(&mut wrong);
    assert!(wrong.violated_at_end().is_some());
}

/// A request that the token has served is not new, even if the node that gets it did not know of it.
#[test]
fn the_token_comes_only_to_nodes_that_wait() {
    for (defect, schedule) in [
        ("equal-numbers-new", "req1 1>0 0>1 exit1 1>0"),
        ("number-not-recorded", "req1 1>0 0>1 exit1 req0 0>1 1>0 exit0 0>1"),
    ] {
        assert!(world(2, Some(defect)).run(schedule).unwrap_err().contains("does not wait"), "{defect}");
        // Without the defect the last message does not exist.
        assert!(world(2, None).run(schedule).unwrap_err().contains("no such message"), "{defect}");
    }
}

/// The node that sent the token has recorded the number of the request that the token serves, so that the
/// record on exit repeats it.
#[test]
fn the_token_knows_the_request_that_it_serves() {
    for seed in 0..200 {
        let scope = Scope::new(5, 1, 4);
        let check = |world: &World<SinghalHeuristic>, _: &StepOutcome<SinghalHeuristic>| {
            for (me, node) in world.nodes.iter().enumerate() {
                let state = node.state.as_ref().unwrap();
                let served = state.token.as_ref().map(|token| token[me].number);
                assert!(served.is_none_or(|served| served == state.known[me].number), "seed {seed}");
            }
        };
        shuffle::watch(&scope, seed, check).unwrap();
    }
}
