//! Light load, for paper tests: one node after the other enters, each drawn from all of them.

use alloc::format;

use crate::algorithm::Algorithm;
use crate::info::Scope;
use crate::world::World;

const ENTRIES: u32 = 20_000;

/// Pseudo-random numbers below the given bound, the same ones in every run.
pub(crate) fn numbers() -> impl FnMut(u32) -> u32 {
    let mut state = 7u64;
    move |bound| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % bound
    }
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
