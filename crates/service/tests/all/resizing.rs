//! Definitions that come, change and go while names are in use, at nodes that hear of it at different times, through changes of
//! views.

use crate::cluster::{Cluster, Does, NAME};
use random::Random;
use service::protocol::Order;
use service::registry::Entry;
use service::{Definition, Refusal, Want};

fn semaphore(slots: u32) -> Option<Definition> {
    Some(Definition::Slots(slots))
}

/// The slots that these clients hold, in order.
fn slots(cluster: &Cluster, clients: &[u64]) -> Vec<u32> {
    let held = clients.iter().filter_map(|client| match cluster.does(*client) {
        Does::Holds { slot, .. } => Some(*slot),
        _ => None,
    });
    let mut held: Vec<u32> = held.collect();
    held.sort_unstable();
    held
}

#[test]
fn a_request_as_defined_gets_what_is_defined() {
    let mut cluster = Cluster::new(3, 1);
    let alone = cluster.ask(0, None);
    let second = cluster.ask(1, None);
    cluster.settle();
    assert_eq!((slots(&cluster, &[alone, second]).len(), cluster.does(second)), (1, &Does::Waits), "a mutex");
    // It is defined while a client holds it: a request that insists on one slot is refused.
    cluster.agree(semaphore(3));
    cluster.settle();
    let asked = Definition::MUTEX;
    let defined = Definition::Slots(3);
    assert_eq!(cluster.does(second), &Does::Refused(Refusal::DefinedAs { defined, asked }));
    assert_eq!(slots(&cluster, &[alone]), [0], "the holder stays");
    let third = cluster.ask(2, Some(1));
    assert_eq!(cluster.does(third), &Does::Refused(Refusal::DefinedAs { defined, asked }));
    let more: Vec<u64> =
        [(1, None), (2, Some(3)), (0, None)].map(|(node, slots)| cluster.ask(node, slots)).into();
    cluster.settle();
    assert_eq!(slots(&cluster, &more).len(), 2, "and {alone}");
    cluster.agree(semaphore(4));
    cluster.settle();
    assert_eq!(slots(&cluster, &more).len(), 3);
}

#[test]
fn a_holder_of_a_retired_slot_keeps_it_and_no_client_follows() {
    let mut cluster = Cluster::new(3, 2);
    cluster.agree(semaphore(4));
    cluster.settle();
    let first: Vec<u64> = [0, 1, 2, 1].map(|node| cluster.ask(node, None)).into();
    cluster.settle();
    assert_eq!(slots(&cluster, &first), [0, 1, 2, 3]);
    let waiting: Vec<u64> = [0, 1, 2].map(|node| cluster.ask(node, None)).into();
    cluster.agree(semaphore(1));
    cluster.settle();
    assert_eq!(slots(&cluster, &first), [0, 1, 2, 3]);
    for client in &first {
        let Does::Holds { slot, .. } = *cluster.does(*client) else { panic!("it holds") };
        let before = cluster.grants;
        cluster.leave(*client);
        cluster.settle();
        assert_eq!(cluster.grants - before, u64::from(slot == 0), "only slot 0 is granted again");
    }
    // Fences of slots that went and came back go on rising: the cluster looks at every grant.
    for size in [3, 1, 4, 2, 4] {
        cluster.agree(semaphore(size));
        cluster.settle();
    }
    assert_eq!(slots(&cluster, &waiting).len(), 3);
}

#[test]
fn a_node_that_has_not_heard_is_neither_refused_nor_wrong() {
    for home_is_late in [true, false] {
        let mut cluster = Cluster::new(2, 3);
        cluster.agree(semaphore(2));
        cluster.settle();
        let home = cluster.cores[0].as_ref().unwrap().home(NAME) as usize;
        let late = if home_is_late { home } else { 1 - home };
        // Grown to 3, then shrunk to 1; one node has heard of the first, the other of both or neither.
        cluster.agree(semaphore(3));
        cluster.hear(1 - late);
        let first: Vec<u64> = [home, 1 - home, 1 - late].map(|node| cluster.ask(node, None)).into();
        for _ in 0..1000 {
            let Some(way) = cluster.ways().first().copied() else { break };
            cluster.deliver(way);
        }
        let expected = if home_is_late { 2 } else { 3 };
        assert_eq!(slots(&cluster, &first).len(), expected, "late: {home_is_late}");
        cluster.settle();
        assert_eq!(slots(&cluster, &first), [0, 1, 2]);
    }
}

#[test]
fn what_is_not_defined_any_more_becomes_what_is_asked_first() {
    let mut cluster = Cluster::new(2, 4);
    cluster.agree(semaphore(3));
    let client = cluster.ask(0, Some(3));
    cluster.settle();
    cluster.agree(None);
    cluster.settle();
    let other = cluster.ask(1, Some(2));
    cluster.settle();
    let (defined, asked) = (Definition::Slots(3), Definition::Slots(2));
    assert_eq!(cluster.does(other), &Does::Refused(Refusal::Contradicts { defined, asked }), "it is in use");
    cluster.leave(client);
    cluster.settle();
    let other = cluster.ask(1, Some(2));
    cluster.settle();
    assert_eq!(slots(&cluster, &[other]).len(), 1);
}

#[test]
fn orders_that_make_no_sense_are_refused_with_a_reason() {
    let mut cluster = Cluster::new(1, 5);
    let resize = |slots| Order::Resize { name: NAME.into(), slots };
    let define = |definition| Order::Define { name: NAME.into(), definition };
    assert_eq!(cluster.proposal(0, &resize(3)), Err(Refusal::NotDefined));
    assert_eq!(cluster.proposal(0, &define(None)), Err(Refusal::NotDefined));
    assert_eq!(cluster.proposal(0, &define(semaphore(0))), Err(Refusal::Slots(0)));
    cluster.agree(Some(Definition::Room));
    cluster.settle();
    let (defined, asked) = (Definition::Room, Definition::Slots(3));
    assert_eq!(cluster.proposal(0, &resize(3)), Err(Refusal::DefinedAs { defined, asked }));
    let entry = Entry::Define { name: NAME.into(), definition: semaphore(3) };
    assert_eq!(cluster.proposal(0, &define(semaphore(3))), Ok(Some(entry.clone())), "who leads knows best");
    let applied = cluster.registry.apply(&entry, Default::default());
    assert_eq!(applied.of_definition(&entry), Err(Refusal::DefinedAs { defined, asked }));
}

#[test]
fn another_kind_counts_when_nobody_uses_the_name_any_more() {
    let mut cluster = Cluster::new(2, 6);
    let holder = cluster.ask(0, Some(1));
    cluster.settle();
    cluster.agree(Some(Definition::RwLock));
    cluster.settle();
    let (defined, asked) = (Definition::RwLock, Definition::MUTEX);
    let second = cluster.ask(1, Some(1));
    assert_eq!(cluster.does(second), &Does::Refused(Refusal::DefinedAs { defined, asked }));
    assert_eq!(slots(&cluster, &[holder]), [0]);
    let core = cluster.cores[1].as_ref().unwrap();
    assert_eq!(core.definitions().get(NAME), Some(&Definition::RwLock));
    cluster.leave(holder);
    cluster.settle();
    let reader = cluster.ask_for(1, Definition::RwLock, Want::Read);
    cluster.settle();
    assert_eq!(slots(&cluster, &[reader]), [0]);
}

/// Reports which run has failed.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("seed {}", self.0);
        }
    }
}

/// Anything in any order. What must hold is asserted by the cluster at every answer.
fn anything(seed: u64) -> u64 {
    let _seed = Seed(seed);
    let mut random = Random::new(seed);
    let mut below = move |bound: usize| random.below(bound as u64) as usize;
    let mut cluster = Cluster::new(2 + below(3) as u32, seed);
    let (views, lasts) = (seed.is_multiple_of(2), 400 + below(400));
    let defines = !seed.is_multiple_of(5);
    for _ in 0..lasts {
        let nodes = cluster.nodes();
        let node = nodes[below(nodes.len())];
        match below(100) {
            0..20 if cluster.clients.len() < 12 => {
                let slots = if below(4) == 0 { Some(1 + below(4) as u32) } else { None };
                cluster.ask(node, slots);
            }
            20..34 if !cluster.clients.is_empty() => {
                let client = cluster.clients[below(cluster.clients.len())].request;
                cluster.leave(client);
            }
            34..38 if defines => {
                cluster.agree((below(8) > 0).then(|| Definition::Slots(1 + below(4) as u32)));
            }
            38..40 => cluster.catch_up(node),
            40..46 => cluster.hear(node),
            46..52 => cluster.wake(),
            52..54 if views => {
                let lost = (below(3) == 0 && nodes.len() > 2).then_some(node);
                cluster.next_view(lost);
            }
            54..58 => cluster.enter(node),
            _ => {
                let ways = cluster.ways();
                if !ways.is_empty() {
                    cluster.deliver(ways[below(ways.len())]);
                }
            }
        }
    }
    finish(&mut cluster, seed);
    cluster.grants
}

/// All clients are served; then there are exactly as many slots as are defined, and in the end nothing is left.
fn finish(cluster: &mut Cluster, seed: u64) {
    let defined = cluster.registry.definitions.get(NAME).and_then(|definition| definition.slots());
    for _ in 0..200 {
        cluster.settle();
        cluster.most = defined;
        let holder = cluster.clients.iter().find(|client| client.does != Does::Waits);
        let Some(holder) = holder.map(|client| client.request) else { break };
        cluster.leave(holder);
    }
    assert!(cluster.clients.is_empty(), "seed {seed}: a client waits for ever: {:?}", cluster.clients);
    let Some(defined) = defined else { return };
    let nodes = cluster.nodes();
    let clients: Vec<u64> =
        (0..defined as usize + 2).map(|number| cluster.ask(nodes[number % nodes.len()], None)).collect();
    cluster.settle();
    assert!(slots(cluster, &clients).into_iter().eq(0..defined), "seed {seed}");
    clients.iter().for_each(|client| cluster.leave(*client));
    clients.iter().for_each(|_| cluster.settle());
    let left: Vec<u64> = cluster.clients.iter().map(|client| client.request).collect();
    left.into_iter().for_each(|client| cluster.leave(client));
    cluster.settle();
    for core in cluster.cores.iter().flatten() {
        assert_eq!(core.status().resources, 0, "seed {seed}: {:?}", core.everything());
    }
}

/// Seeds that showed errors of ours; `docs/views.md` says which.
#[test]
fn what_was_wrong_once_is_not_wrong_again() {
    [6_106, 33_530].into_iter().for_each(|seed| _ = anything(seed));
}

#[test]
fn anything_in_any_order_keeps_slots_apart_and_fences_rising() {
    let runs = std::env::var("RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(2_000);
    let grants: u64 = (0..runs).map(anything).sum();
    println!("{runs} runs, {grants} grants");
    assert!(grants > 10 * runs, "{grants}");
}
