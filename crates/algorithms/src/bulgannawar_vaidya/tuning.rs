//! Our own rules: how silence and long queues move nodes to another token. Nodes and tokens count from 0.

use alloc::vec::Vec;

use super::{BulgannawarVaidya, TokenId};
use crate::info::Scope;
use crate::{Setting, World};

fn start(scope: &Scope) -> World<BulgannawarVaidya> {
    World::of(scope, None).unwrap()
}

fn seen(world: &World<BulgannawarVaidya>) -> Vec<TokenId> {
    world.nodes.iter().filter_map(|node| Some(node.state.as_ref()?.seen)).collect()
}

/// A holder sends an INFORM only if it has entered again before another node asked. A node that gets one and
/// does not wait asks for that token from then on.
#[test]
fn silence_informs() {
    let mut world = start(&Scope::new(4, 2, 3).with(&[("tuning", "balanced"), ("first", "same")]));
    assert_eq!(seen(&world), [0, 0, 0, 0]);
    // Node 2 got the token because it asked: more requests are to be expected.
    world.run("req2 2>0 0>2 exit2").unwrap();
    assert!(world.channels.is_empty());
    // It enters again, and no node has asked in between. The pick is the receiver: the last of the others.
    world.run("req2 exit2/2 2>3").unwrap();
    assert!(world.channels.is_empty());
    // Node 1 is alone with its token from the start; node 0 is informed and asks there.
    world.run("req1 exit1/0 1>0 req0 0>1 1>0 exit0").unwrap();
    assert_eq!(seen(&world), [1, 0, 0, 0]);
    assert_eq!(world.entries, 4);
}

/// Two of four nodes wait for one of two tokens: with the node that leaves that makes three, more than its
/// share.
#[test]
fn a_long_queue_turns_nodes_away() {
    for (choose, then) in [("last-seen", 0), ("fair-share", 1)] {
        let mut setting = Setting::new(4, 2);
        setting.options =
            [("choose", choose), ("first", "same")].map(|(name, value)| (name.into(), value.into())).into();
        let mut world = World::new(&setting).unwrap();
        world.run("req0 req2 2>0 req3 3>0 exit0").unwrap();
        assert_eq!(seen(&world), [then, 0, 0, 0], "{choose}");
        // One alone in the queue is no reason.
        world.run("0>2 exit2 2>3 exit3").unwrap();
        assert_eq!(seen(&world), [then, 0, 0, 0], "{choose}");
    }
}

/// The short name stands for its parts, and each part can be set otherwise.
#[test]
fn balanced_is_a_name_for_three_options() {
    let rules = |options: &[(&str, &str)]| {
        let rules = super::Rules::of(&Setting::new(4, 2).with(options)).unwrap();
        (rules.choose, rules.inform, rules.repeats)
    };
    let parts = rules(&[("choose", "fair-share"), ("inform", "1"), ("repeats", "1")]);
    assert_eq!(rules(&[("tuning", "balanced")]), parts);
    assert_eq!(rules(&[("tuning", "balanced"), ("inform", "0")]), rules(&[("choose", "fair-share")]));
    assert_eq!(rules(&[("tuning", "none")]), rules(&[]));
}

/// The texts say how many nodes are informed, and not which: any; those that follow; or those that have asked.
#[test]
fn informed_nodes_follow_the_option() {
    let told = |options| {
        let mut world = start(&Scope::new(5, 1, 3).with(options));
        world.run("req3 3>0 0>3").unwrap();
        world.run("req0 0>3 exit3 3>0").unwrap();
        // Node 0 has seen the request of node 3, and leaves with an empty queue.
        world.run("exit0").unwrap();
        world.channels.keys().copied().collect::<Vec<_>>()
    };
    assert_eq!(told(&[("inform", "2"), ("whom", "ring")]), [(0, 1), (0, 2)]);
    assert_eq!(told(&[("inform", "2"), ("whom", "askers")]), [(0, 1), (0, 3)]);
    assert_eq!(told(&[("inform", "1"), ("whom", "askers")]), [(0, 3)]);
    assert_eq!(told(&[("inform", "9"), ("whom", "ring")]).len(), 4);
}
