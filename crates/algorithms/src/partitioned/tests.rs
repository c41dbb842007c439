//! Clusters, node numbers on both sides of the boundary, and the names in the registry.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use random::Random;

use super::Cluster;
use crate::algorithm::NodeId;
use crate::erased::Erased;
use crate::info::{Order, Tokens};
use crate::registry;
use crate::{Conditions, Kind, Setting, World};

/// A partitioned system of this algorithm at its start.
fn world(algorithm: &str, setting: &Setting) -> World<Erased> {
    World::start(
        registry::system(&format!("partitioned({algorithm})"), setting).unwrap(),
        Conditions::Reliable,
    )
}

/// The clusters of a system, as (base, size).
fn clusters(nodes: u32, clusters: u32) -> Vec<(NodeId, u32)> {
    let mut all: Vec<(NodeId, u32)> = Vec::new();
    for node in 0..nodes {
        let Cluster { base, size } = Cluster::of(node, nodes, clusters);
        assert!((base..base + size).contains(&node));
        if all.last() != Some(&(base, size)) {
            all.push((base, size));
        }
    }
    all
}

#[test]
fn clusters_are_as_equal_as_can_be() {
    // The thesis' case: thirty nodes and three tokens become three times ten nodes and one token.
    assert_eq!(clusters(30, 3), [(0, 10), (10, 10), (20, 10)]);
    assert_eq!(clusters(5, 2), [(0, 3), (3, 2)]);
    assert_eq!(clusters(7, 4), [(0, 2), (2, 2), (4, 2), (6, 1)]);
    for nodes in 1..40 {
        for k in 1..=nodes {
            let all = clusters(nodes, k);
            assert_eq!(all.len(), k as usize);
            assert_eq!(all.iter().map(|&(_, size)| size).sum::<u32>(), nodes);
            assert!(all.iter().all(|&(_, size)| size == nodes / k || size == nodes.div_ceil(k)));
        }
    }
}

/// Five nodes, two clusters: 0, 1, 2 and 3, 4. Nodes 0 and 3 start with the tokens.
#[test]
fn five_nodes_two_clusters() {
    let mut world = world("naimi-trehel", &Setting::new(5, 2));
    // One in each cluster: as many clients inside as there are tokens, and no message.
    world.run("req0 req3").unwrap();
    assert_eq!((world.census().inside, world.sent), (2, 0));
    // The others ask inside their cluster only, and wait for the client inside.
    world.run("req1 req2 req4").unwrap();
    let channels: Vec<(NodeId, NodeId)> = world.channels.keys().copied().collect();
    assert_eq!(channels, [(1, 0), (2, 0), (4, 3)]);
    world.settle(20).unwrap();
    assert_eq!(world.census().inside, 2);
    // Requests are counted by the numbers of the whole system.
    let places: Vec<u32> = world.census().requests.iter().map(|count| count.places).collect();
    assert_eq!(places, [0, 1, 1, 0, 1]);
    // A free token in one cluster is of no use in the other.
    world.run("exit3").unwrap();
    world.settle(20).unwrap();
    world.run("exit4").unwrap();
    assert_eq!(world.census().inside, 1);
    assert!(!world.inside(1) && !world.inside(2));
    world.run("exit0").unwrap();
    world.settle(20).unwrap();
    world.run("exit1").unwrap();
    world.settle(20).unwrap();
    assert!(world.inside(2));
    assert_eq!(world.violated_at_end(), None);
}

/// Requests, deliveries and exits at random (but the same each time): never two inside a cluster, and all are
/// served.
fn random_run(algorithm: &str, nodes: u32, tokens: u32) {
    let mut world = world(algorithm, &Setting::new(nodes, tokens));
    let mut random = Random::new(1);
    let mut full = false;
    for step in 0.. {
        let mut steps: Vec<_> = world.channels.keys().map(|(from, to)| format!("{from}>{to}")).collect();
        steps.extend((0..nodes).filter(|&node| world.inside(node)).map(|node| format!("exit{node}")));
        if step < 3000 {
            let idle = (0..nodes).filter(|&node| world.census().waiting[node as usize] == 0);
            steps.extend(idle.filter(|&node| !world.inside(node)).map(|node| format!("req{node}")));
        }
        assert!(step < 10_000);
        if steps.is_empty() {
            break;
        }
        let step = random.choose(&steps);
        world.run(step).unwrap();
        for (base, size) in clusters(nodes, tokens) {
            assert!((base..base + size).filter(|&node| world.inside(node)).count() <= 1);
        }
        full |= world.census().inside == tokens;
    }
    assert!(full && world.entries > 200);
    assert_eq!(world.violated_at_end(), None);
}

#[test]
fn at_most_one_inside_each_cluster() {
    random_run("naimi-trehel", 5, 2);
    random_run("naimi-trehel", 30, 3);
    random_run("bulgannawar-vaidya", 7, 3);
    random_run("naimi-trehel", 4, 4);
}

#[test]
fn what_is_known_of_it_follows_from_the_algorithm() {
    let info = registry::info("partitioned(naimi-trehel)").unwrap();
    assert_eq!(
        (info.name, info.kind, info.tokens),
        ("partitioned(naimi-trehel)", Kind::KMutex, Tokens::PerSlot)
    );
    // With one token in each cluster there is no need for FIFO, although several tokens would need it.
    assert_eq!(registry::info("partitioned(bulgannawar-vaidya)").unwrap().needs.order, Order::Any);
}

/// Options are the algorithm's own; a cluster of one node is served, too.
#[test]
fn options_reach_the_clusters() {
    let mut setting = Setting::new(5, 2);
    setting.options.push(("inform".to_string(), "1".to_string()));
    let mut world = world("bulgannawar-vaidya", &setting);
    // The pick is among the other nodes of the cluster, in its own numbers: the second one of 0 and 2 is 2.
    world.run("req1 1>0 0>1 exit1/1").unwrap();
    assert_eq!(world.channels.keys().copied().collect::<Vec<_>>(), [(1, 2)]);
    setting.options[0].0 = "informs".to_string();
    assert!(registry::system("partitioned(bulgannawar-vaidya)", &setting).is_err());
}

#[test]
fn messages_print_where_their_numbers_start() {
    let mut world = world("naimi-trehel", &Setting::new(5, 2));
    world.run("req1 req4").unwrap();
    let texts: Vec<_> = world.channels.values().flatten().map(ToString::to_string).collect();
    assert_eq!(texts, ["REQUEST(1)", "3+REQUEST(1)"]);
}

#[test]
fn the_registry_knows_the_names() {
    let inner = |name| registry::inner_of_partitioned(name).unwrap().map(|info| info.name);
    assert_eq!(inner("partitioned(naimi-trehel)"), Some("naimi-trehel"));
    assert_eq!(inner("naimi-trehel"), None);
    assert_eq!(registry::info("naimi-trehel").unwrap().kind, Kind::Mutex);
    for info in registry::ALL.iter().filter(|info| info.kind != Kind::GroupMutex) {
        let name = format!("partitioned({})", info.name);
        let divided = registry::info(&name).unwrap();
        assert_eq!((divided.name, divided.kind), (&*name, Kind::KMutex));
    }
    let refusal = |name: &str| registry::info(name).map(|info| info.name).unwrap_err().to_string();
    assert_eq!(refusal("partitioned(naimi)"), "there is no algorithm 'naimi'; did you mean naimi-trehel?");
    for wrong in
        ["partitioned", "partitioned()", "partitioned(naimi-trehel", "partitioned(partitioned(makki))"]
    {
        assert!(refusal(wrong).contains("partitioned(NAME)"), "{}", refusal(wrong));
    }
    for info in registry::ALL.iter().filter(|info| info.kind == Kind::GroupMutex) {
        assert!(refusal(&format!("partitioned({})", info.name)).contains("group"));
    }
}
