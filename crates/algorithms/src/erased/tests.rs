//! An erased algorithm does what the algorithm does, and its values are like those they hold.

use alloc::format;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use crate::drs_gme::DrsGme;
use crate::registry;
use crate::schedule::parse_schedule;
use crate::{Algorithm, Conditions, Setting, System, World};

/// Collects what is hashed.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

fn hashed(value: &impl Hash) -> Vec<u8> {
    let mut bytes = Bytes::default();
    value.hash(&mut bytes);
    bytes.0
}

fn setting() -> Setting {
    Setting { groups: 2, ..Setting::new(3, 1) }
}

/// Requests, deliveries, an exit, a crash, and a restart from stable storage.
const SCHEDULE: &str = "req1 req2:1 1>0 2>0 0>1 crash2 restart2 exit1 req0";

#[test]
fn every_step_has_the_same_effects() {
    let mut plain = World::start(System::<DrsGme>::new(&setting()).unwrap(), Conditions::Faulty);
    let mut erased = World::start(registry::system("drs-gme", &setting()).unwrap(), Conditions::Faulty);
    for step in parse_schedule(SCHEDULE).unwrap() {
        let (expected, found) = (plain.take(&step).unwrap(), erased.take(&step).unwrap());
        assert_eq!(found.lines(), expected.lines(), "{step}");
        assert_eq!(format!("{:?}", found.effects), format!("{:?}", expected.effects), "{step}");
        assert_eq!(hashed(&erased.nodes), hashed(&plain.nodes), "{step}");
        assert_eq!(hashed(&erased.channels), hashed(&plain.channels), "{step}");
        assert_eq!(format!("{:?}", erased.nodes), format!("{:?}", plain.nodes), "{step}");
        assert_eq!(erased.census(), plain.census(), "{step}");
    }
}

#[test]
fn values_are_equal_if_what_they_hold_is() {
    let system = registry::system("drs-gme", &setting()).unwrap();
    let (mut one, mut other) =
        (World::start(system.clone(), Conditions::Faulty), World::start(system, Conditions::Faulty));
    one.run("req1").unwrap();
    assert_ne!(one.nodes, other.nodes);
    other.run("req1").unwrap();
    assert_eq!(one.nodes, other.nodes);
    assert_eq!(one.channels, other.channels);
    let message = &one.channels[&(1, 0)][0];
    assert!(message.open::<DrsGme>().is_some());
    assert!(message.open::<crate::lamport::Lamport>().is_none());
    assert_eq!(crate::Erased::kind(message), DrsGme::kind(message.open::<DrsGme>().unwrap()));
}
