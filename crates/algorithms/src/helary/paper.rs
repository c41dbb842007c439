//! Claims about Helary, Mostefaoui and Raynal's scheme.

use alloc::format;
use alloc::vec::Vec;

use super::rules::power;
use crate::World;
use crate::helary::Helary;
use crate::info::Scope;
use crate::light_load::{enter_alone, expect_path_reversal, numbers};
use crate::setting::Setting;
use crate::shuffle;

fn world(nodes: u32, options: &[(&str, &str)], defect: Option<&str>) -> World<Helary> {
    let setting = Setting::of(&Scope::new(nodes, 1, 1), defect).with(options);
    World::new(&setting).unwrap()
}

fn fathers(world: &World<Helary>) -> Vec<Option<u32>> {
    world.nodes.iter().map(|node| node.state.as_ref().unwrap().father).collect()
}

/// Transit always is path reversal, as in naimi-trehel: H(n − 1) messages for each entry at light load.
#[test]
fn transit_is_path_reversal() {
    expect_path_reversal::<Helary>();
}

/// Proxy always leaves the tree as it is. On a star an entry of another node than the root takes a REQUEST,
/// the loan and the TOKEN back.
#[test]
fn proxy_on_a_star_costs_three_messages() {
    let mut world = world(6, &[("behaviour", "proxy")], None);
    let before = fathers(&world);
    for node in 0..6 {
        enter_alone(&mut world, node);
        world.settle(2).unwrap();
    }
    assert_eq!((world.sent, world.entries), (3 * 5, 6));
    assert_eq!(fathers(&world), before);
}

/// On a chain every node on the way asks in its own name and passes the loan on; the token comes back from the
/// borrower straight.
#[test]
fn proxy_on_a_chain_costs_two_messages_per_hop_and_one() {
    for node in 1..6 {
        let mut world = world(6, &[("behaviour", "proxy"), ("tree", "chain")], None);
        let before = fathers(&world);
        enter_alone(&mut world, node);
        world.settle(2).unwrap();
        assert_eq!(world.sent, u64::from(2 * node + 1));
        assert_eq!(fathers(&world), before);
    }
}

/// An open cube: a node of power p has p sons, of powers 0 to p − 1.
fn expect_open_cube(world: &World<Helary>) {
    let fathers = fathers(world);
    let nodes = fathers.len() as u32;
    let power_of = |node: u32| power(nodes, node, fathers[node as usize]);
    for node in 0..nodes {
        let sons = (0..nodes).filter(|&son| fathers[son as usize] == Some(node));
        let mut powers: Vec<u32> = sons.map(power_of).collect();
        powers.sort_unstable();
        assert!(powers.iter().copied().eq(0..power_of(node)), "node {node}: {fathers:?}");
    }
}

/// The open cube stays one, whatever the order of entries, so no node is more than log2 n hops from the owner.
/// An entry takes at most log2 n + 2 messages, and fewer than log2 n on average.
#[test]
fn an_open_cube_stays_one() {
    for dimension in 0..=5u64 {
        let nodes = 1 << dimension;
        let mut world = world(nodes, &[("behaviour", "open-cube")], None);
        expect_open_cube(&world);
        let (mut number, mut most) = (numbers(), 0);
        for _ in 0..500 {
            let before = world.sent;
            enter_alone(&mut world, number(nodes));
            world.settle(2).unwrap();
            expect_open_cube(&world);
            most = most.max(world.sent - before);
        }
        assert!(most <= dimension + 2, "n = {nodes}: {most}");
        assert!(world.sent <= 500 * dimension, "n = {nodes}: {}", world.sent);
    }
}

/// The same under load, when nothing is under way any more.
#[test]
fn an_open_cube_is_one_again_after_a_storm() {
    let cube = Scope::new(8, 1, 4).with(&[("behaviour", "open-cube")]);
    for seed in 0..100 {
        let world: World<Helary> = shuffle::run(&cube, seed).unwrap();
        assert_eq!(world.entries, 32);
        expect_open_cube(&world);
    }
}

/// The cube may lack nodes: the depth is still at most the dimension of the whole cube.
#[test]
fn an_open_cube_may_lack_nodes() {
    for nodes in 1..=20u32 {
        let mut world = world(nodes, &[("behaviour", "open-cube")], None);
        let mut number = numbers();
        for _ in 0..300 {
            enter_alone(&mut world, number(nodes));
            world.settle(2).unwrap();
            let fathers = fathers(&world);
            for node in 0..nodes {
                let way = core::iter::successors(Some(node), |&node| fathers[node as usize]);
                assert!(way.count() as u32 - 1 <= nodes.next_power_of_two().ilog2(), "{fathers:?}");
            }
        }
    }
}

/// A request must find its way after the token has gone.
#[test]
fn the_owner_that_gave_or_lent_the_token_knows_where_it_is() {
    for (options, defect) in [(&[][..], "father-kept"), (&[("behaviour", "proxy")][..], "lender-not-asking")]
    {
        let mut wrong = world(2, options, Some(defect));
        assert!(wrong.run("req1 1>0 req0").unwrap_err().contains("nowhere to go"), "{defect}");
        let mut right = world(2, options, None);
        right.run("req1 1>0 req0 0>1 exit1").unwrap();
        right.settle(4).unwrap();
        assert!(right.inside(0));
    }
}

/// After a loan the way to the owner leads by the node that sent it. The picks: 0 is transit, 1 is proxy.
#[test]
fn a_loan_shows_the_way_to_the_owner() {
    let any = [("behaviour", "any")];
    for (schedule, defect) in [(FATHER, "loan-keeps-father"), (ASKING, "asking-kept")] {
        let mut right = world(3, &any, None);
        let mut wrong = world(3, &any, Some(defect));
        let outcome = wrong.run(schedule);
        assert!(outcome.is_err() || wrong.violated_at_end().is_some(), "{defect}");
        for step in schedule.split_whitespace() {
            // The steps of the wrong run, as far as they are possible.
            let _ = right.run(step);
        }
        for _ in 0..6 {
            right.settle(20).unwrap();
            for node in (0..3).filter(|&node| right.inside(node)).collect::<Vec<u32>>() {
                right.run(&format!("exit{node}")).unwrap();
            }
        }
        assert!(right.violated_at_end().is_none(), "{defect}");
    }
}

const FATHER: &str = "req2 2>0/0 req1 0>2 exit2 1>0/0 0>2/1 2>1 exit1 req1 1>0/0 0>1";
const ASKING: &str = "req1 1>0/0 req2 2>0/1 0>1 exit1 0>1/1 1>0 0>2 exit2 req1 2>1 exit1 req2 2>0 req0";
