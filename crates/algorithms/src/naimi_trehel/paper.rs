//! Claims and examples of 001 ch. II.

use crate::World;
use crate::info::Scope;
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
