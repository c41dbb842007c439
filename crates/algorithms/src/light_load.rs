//! Light load, for paper tests: one node after the other enters, each drawn from all of them.

use alloc::format;

use random::Random;

use crate::algorithm::Algorithm;
use crate::info::Scope;
use crate::world::World;

const ENTRIES: u32 = 20_000;

/// Random numbers below the given bound, the same ones in every run.
pub(crate) fn numbers() -> impl FnMut(u32) -> u32 {
    let mut random = Random::new(7);
    move |bound| random.below(u64::from(bound)) as u32
}

/// A client of the node enters when nothing is under way, and leaves.
pub(crate) fn enter_alone<A: Algorithm>(world: &mut World<A>, node: u32) {
    world.run(&format!("req{node}")).unwrap();
    world.settle(1000).unwrap();
    world.run(&format!("exit{node}")).unwrap();
}

/// Expects what path reversal costs: H(n−1) messages per entry, the harmonic number.
pub(crate) fn expect_path_reversal<A: Algorithm>() {
    for nodes in [2, 10, 30] {
        let mut world: World<A> = World::of(&Scope::new(nodes, 1, 1), None).unwrap();
        let mut number = numbers();
        for _ in 0..ENTRIES {
            enter_alone(&mut world, number(nodes));
        }
        expect_harmonic(nodes, world.sent as f64 / world.entries as f64);
    }
}

/// Expects about H(n−1) messages per entry.
pub(crate) fn expect_harmonic(nodes: u32, measured: f64) {
    let harmonic: f64 = (1..nodes).map(|i| 1.0 / f64::from(i)).sum();
    assert!((measured / harmonic - 1.0).abs() < 0.03, "n = {nodes}: {measured}, expected {harmonic}");
}
