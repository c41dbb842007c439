//! Claims and examples of 001 ch. II.

use alloc::format;

use crate::World;
use crate::info::Scope;
use crate::light_load::expect_path_reversal;
use crate::naimi_trehel::NaimiTrehel;

/// Figure 1 of the thesis, sites 1 to 4 there being nodes 0 to 3 here.
#[test]
fn figure_1() {
    let mut world: World<NaimiTrehel> = World::of(&Scope::new(4, 1, 2), None).unwrap();
    // Site 2 invokes the critical section and becomes the root.
    world.run("req1 1>0 0>1").unwrap();
    assert!(world.inside(1));
    // Site 3 asks site 1, which passes it to 2, which is inside: 3 waits.
    world.run("req2 2>0 0>1").unwrap();
    // Site 4 asks site 1, which passes it to 3.
    world.run("req3 3>0 0>2").unwrap();
    assert!(world.inside(1) && !world.inside(2) && !world.inside(3));
    // Site 2 leaves and gives the privilege to 3; it asks again: 3 passes it to 4.
    world.run("exit1 1>2 req1 1>2 2>3").unwrap();
    assert!(world.inside(2));
    // 4 and then 2 wait.
    world.run("exit2 2>3").unwrap();
    assert!(world.inside(3));
    world.run("exit3 3>1").unwrap();
    assert!(world.inside(1));
}

/// Ch. II sec. B.1: O(log n) messages per entry on average. With one node after the other, each drawn from
/// all of them, it is H(n−1), the harmonic number.
#[test]
fn light_load_takes_h_of_n_minus_1_messages() {
    expect_path_reversal::<NaimiTrehel>();
}

/// A chain of fathers is the worst case: a request goes to every node and is answered by one token, n
/// messages; after it every node points to the requester.
#[test]
fn a_chain_takes_n_messages_once() {
    let mut world: World<NaimiTrehel> = World::of(&Scope::new(6, 1, 1), None).unwrap();
    for (id, node) in (0..).zip(&mut world.nodes) {
        node.state.as_mut().unwrap().father = if id == 0 { None } else { Some(id - 1) };
    }
    world.run("req5 5>4 4>3 3>2 2>1 1>0 0>5 exit5").unwrap();
    assert_eq!((world.sent, world.entries), (6, 1));
    for node in (0..5).rev() {
        world.run(&format!("req{node}")).unwrap();
        world.settle(4).unwrap();
        world.run(&format!("exit{node}")).unwrap();
    }
    // Two messages for node 4, which points to the holder, and three for the nodes that point to node 5
    // instead.
    assert_eq!((world.sent, world.entries), (6 + 2 + 4 * 3, 6));
}
