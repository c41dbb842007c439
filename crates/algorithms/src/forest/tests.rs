//! The claims of the page `docs/algorithms/forest.md`, as tests.

use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::size_of;

use super::{Body, Forest};
use crate::Origin;
use crate::algorithm::{Effect, Grant, NodeId};
use crate::schedule::parse_schedule;
use crate::{Setting, World};

fn start(nodes: u32, tokens: u32, options: &[(&str, &str)]) -> World<Forest> {
    World::new(&Setting::new(nodes, tokens).with(options)).unwrap()
}

fn node(world: &World<Forest>, index: NodeId) -> &Forest {
    world.nodes[index as usize].state.as_ref().unwrap()
}

/// Takes all steps and returns the entries in order, each with its node.
fn entries(world: &mut World<Forest>, schedule: &str) -> Vec<(NodeId, Grant)> {
    let mut entered = Vec::new();
    for step in parse_schedule(schedule).unwrap() {
        let happened = world.take(&step).unwrap_or_else(|error| panic!("{step}: {error}"));
        assert_eq!(happened.violation, None, "{step}");
        for effect in happened.effects {
            if let (Some(node), Effect::Enter(grant)) = (happened.node, effect) {
                entered.push((node, grant));
            }
        }
    }
    entered
}

#[test]
fn an_instance_is_small() {
    assert!(size_of::<Forest>() < 250, "{} bytes", size_of::<Forest>());
}

/// A token that is here costs no message and no new memory.
#[test]
fn a_token_that_is_here_costs_nothing() {
    for tokens in [1, 3] {
        let mut world = start(3, tokens, &[]);
        world.run("req0 exit0").unwrap();
        let memory = |world: &World<Forest>| {
            let forest = node(world, 0);
            (forest.waiters.capacity(), forest.held.capacity(), forest.held.as_ptr())
        };
        let before = memory(&world);
        for _ in 0..1000 {
            world.run("req0 exit0").unwrap();
        }
        assert_eq!((world.sent, world.entries, memory(&world)), (0, 1001, before));
    }
}

/// Ten clients of a node need one request and one token, and enter in the order of their requests.
#[test]
fn clients_of_a_node_share_a_request() {
    let mut world = start(2, 1, &[]);
    let asks: Vec<_> = (0..10).map(|client| format!("req1.{client}")).collect();
    let exits: Vec<_> = (0..10).map(|client| format!("exit1.{client}")).collect();
    let entered = entries(&mut world, &format!("{} 1>0 0>1 {}", asks.join(" "), exits.join(" ")));
    assert!(entered.iter().map(|(_, grant)| grant.client).eq(0..10), "{entered:?}");
    assert_eq!(world.sent, 2);
}

/// Clients of the holder enter ahead of the head of the queue as often as `passes` says. Then the holder
/// itself joins the queue of the token that it sends on, without a message.
#[test]
fn local_clients_pass_the_queue_as_often_as_allowed() {
    for (passes, before) in [(0, 0), (1, 1), (2, 2)] {
        let mut world = start(2, 1, &[("passes", &format!("{passes}"))]);
        let waiting = (1..5).map(|client| format!("req0.{client}")).collect::<Vec<_>>().join(" ");
        assert_eq!(
            entries(&mut world, &format!("req0 req1 1>0 {waiting} exit0")).len(),
            1 + usize::from(before > 0)
        );
        let mut passed = u32::from(before > 0);
        while !world.channels.contains_key(&(0, 1)) {
            let inside = world.nodes[0].clients().find(|(_, client)| client.is_inside()).unwrap().0;
            passed += entries(&mut world, &format!("exit0.{inside}")).len() as u32;
        }
        assert_eq!(passed, before, "passes = {passes}");
        assert_eq!(node(&world, 0).wait, Some(0));
        assert_eq!(entries(&mut world, "0>1 exit1 1>0").len(), 2);
        assert_eq!(world.sent, 3, "the request, the token there and the token back");
    }
}

/// A client that cancels sends nothing. The request is answered all the same, and the token passes through.
#[test]
fn a_cancel_costs_at_most_a_token_that_passes_through() {
    let mut world = start(3, 1, &[]);
    world.run("req0 req1 1>0 req2 2>0").unwrap();
    let sent = world.sent;
    world.run("cancel1").unwrap();
    assert_eq!(world.sent, sent);
    assert_eq!(entries(&mut world, "exit0 0>1 1>2").len(), 1);
    assert!(world.inside(2));
    assert_eq!(world.sent, sent + 2);
}

/// Each slot has a number of its own, and fences rise with every entry by it, wherever the token is.
#[test]
fn slots_and_fences() {
    let mut world = start(2, 2, &[]);
    let entered = entries(&mut world, "req0 req0.1 exit0.1 req0.1 req1/1 1>0 exit0.1 0>1 exit1 req1");
    let seen: Vec<_> = entered.iter().map(|(node, grant)| (*node, grant.slot, grant.fence)).collect();
    assert_eq!(seen, [(0, 0, 1), (0, 1, 1), (0, 1, 2), (1, 1, 4), (1, 1, 5)]);
}

/// A node that has fewer tokens than clients asks for another one after a while. A token that becomes idle
/// serves the queue of a busy one, and the entry keeps the token that was asked for.
#[test]
fn a_node_may_have_several_tokens() {
    let mut world = start(2, 3, &[]);
    world.run("req1/0 req1.1 req1.2 1>0 0>1").unwrap();
    assert!(world.channels.is_empty(), "a section that ends within a hop costs no request");
    world.run("tmo1:4/0 1>0 0>1 tmo1:4 1>0 0>1").unwrap();
    assert_eq!(node(&world, 1).held.len(), 3);
    assert_eq!(world.nodes[1].clients().filter(|(_, client)| client.is_inside()).count(), 3);
    world.run("req0/2 0>1").unwrap();
    // The request is queued at the token it asked for, and gets the one that is free first.
    world.run("exit1.2").unwrap();
    let freed = world.channels[&(1, 0)][0].to_string();
    assert!(freed.starts_with("TOKEN("), "{freed}");
    world.run("1>0").unwrap();
    assert!(world.inside(0));
}

/// Changes to the messages of a run, to show that a rule is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tamper {
    Nothing,
    /// Returned tickets are lost.
    LoseReturned,
    /// All tickets have the same version.
    NoVersions,
    /// Every INFORM looks new.
    NoClocks,
}

impl Tamper {
    fn apply(self, world: &mut World<Forest>) {
        for messages in world.channels.values_mut() {
            match self {
                Tamper::Nothing => {}
                Tamper::LoseReturned => {
                    messages.retain(|message| !matches!(message.body, Body::Idle { new: false, .. }));
                }
                Tamper::NoVersions => messages.iter_mut().for_each(|message| {
                    if let Body::Idle { ticket, .. } = &mut message.body {
                        ticket.version = u64::MAX;
                    }
                }),
                Tamper::NoClocks => messages.iter_mut().for_each(|message| {
                    if let Body::Inform { .. } = message.body {
                        message.clock += 1000;
                    }
                }),
            }
        }
        world.channels.retain(|_, messages| !messages.is_empty());
    }
}

/// Random numbers below `most`, from a seed.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut random = random::Random::new(seed);
    move |most| random.below(most as u64) as usize
}

/// A run in which some clients never leave, until nothing more can happen. Timers expire at any moment.
fn come_to_rest(options: &[(&str, &str)], seed: u64, stay_percent: usize, tamper: Tamper) -> World<Forest> {
    let (nodes, clients, tokens) = (4, 2, 2 + seed as u32 % 2);
    let mut world = start(nodes, tokens, options);
    let (mut number, mut left) = (numbers(seed), vec![1 + seed % 5; nodes as usize]);
    let mut staying = Vec::new();
    for _ in 0..5000 {
        let mut steps = Vec::new();
        for (id, node) in (0..nodes).zip(&world.nodes) {
            let idle = node.idle_client();
            if idle < clients && left[id as usize] > 0 {
                steps.push(format!("req{id}.{idle}/{}", number(2)));
            }
            steps.extend(node.armed.iter().map(|timer| format!("tmo{id}:{timer}/{}", number(2))));
            for (client, doing) in node.clients() {
                if doing.is_inside() && !staying.contains(&(id, client)) {
                    steps.push(format!("exit{id}.{client}/{}", number(2)));
                }
            }
        }
        let deliveries = world.channels.keys().map(|(from, to)| format!("{from}>{to}/0"));
        steps.extend(deliveries);
        if steps.is_empty() {
            return world;
        }
        let step = &steps[number(steps.len())];
        if let Some(node) = step.strip_prefix("req") {
            left[node[..1].parse::<usize>().unwrap()] -= 1;
        }
        for (node, grant) in entries(&mut world, step) {
            if number(100) < stay_percent {
                staying.push((node, grant.client));
            }
        }
        tamper.apply(&mut world);
    }
    panic!("seed {seed} does not come to rest");
}

/// How many of these runs end with a client that waits while a token is idle.
fn quiet_waits(options: &[(&str, &str)], tamper: Tamper) -> usize {
    let waits_beside_idle = |seed: &u64| {
        let world = come_to_rest(options, *seed, 15, tamper);
        let waits = world.census().waiting.iter().any(|&waiting| waiting > 0);
        waits && (0..4).any(|index| node(&world, index).held.iter().any(super::Held::is_idle))
    };
    (1..400).filter(waits_beside_idle).count()
}

/// Waiters and idle tokens find each other in every order of events.
#[test]
fn no_client_waits_beside_an_idle_token() {
    assert_eq!(quiet_waits(&[], Tamper::Nothing), 0);
    assert_eq!(quiet_waits(&[("forget", "yes"), ("passes", "0")], Tamper::Nothing), 0);
    assert!(quiet_waits(&[("hunt", "no")], Tamper::Nothing) > 0);
    assert!(quiet_waits(&[], Tamper::LoseReturned) > 0);
}

/// A ticket that is returned when a newer one exists must not replace it: the newer one is not sent again.
#[test]
fn an_old_ticket_does_not_replace_a_newer_one() {
    for (tamper, served) in [(Tamper::Nothing, true), (Tamper::NoVersions, false)] {
        let mut world = start(5, 2, &[]);
        // Token 0 is idle at node 1, and the ticket is on its way to node 2, where node 3 waits for token 1.
        let offered = "req1/0 1>0 0>1 req2/1 2>0 0>2 exit1 tmo1:1 1>0 req3/1 3>0 0>2 tmo2 2>0";
        // Token 1 goes to node 3, and token 0 to node 4, which sends a new ticket before node 2 returns the
        // old one.
        let returned = "exit2 2>3 req4/0 4>0 0>1 1>4 exit4 tmo4:1 4>0 0>2 2>0";
        // Node 0 asks for token 1, and node 3 is hungry.
        let hungry = "req0/1 0>3 tmo3 3>0 0>3";
        for step in format!("{offered} {returned} {hungry}").split_whitespace() {
            entries(&mut world, step);
            tamper.apply(&mut world);
        }
        for _ in 0..20 {
            world.settle(20).unwrap();
            let armed = (0..5).find_map(|index| Some((index, *world.nodes[index].armed.first()?)));
            let Some((index, timer)) = armed else { break };
            world.run(&format!("tmo{index}:{timer}")).unwrap();
        }
        assert!(world.channels.is_empty() && world.nodes.iter().all(|node| node.armed.is_empty()));
        assert_eq!(world.inside(0), served, "{tamper:?}");
    }
}

/// When all clients have left, all tokens come home, and no node need keep anything.
#[test]
fn everything_is_forgotten() {
    for seed in 1..200 {
        let world = come_to_rest(&[("forget", "yes")], seed, 0, Tamper::Nothing);
        for index in 0..4 {
            let origin = node(&world, index).droppable(&world.site(index));
            assert!(origin.is_some(), "seed {seed}, node {index}: {:?}", node(&world, index));
        }
    }
}

/// A dropped state is created again from what was kept: fences keep rising.
#[test]
fn fences_rise_across_a_dropped_state() {
    let mut world = start(2, 2, &[]);
    world.run("req0 exit0 req0 exit0 req0 exit0").unwrap();
    let site = world.site(0);
    let origin = node(&world, 0).droppable(&site).unwrap();
    assert_eq!(origin, Origin { floor: 3, clock: 0 });
    let again = Forest::create(&site, origin);
    world.nodes[0].state = Some(again);
    let entered = entries(&mut world, "req0 req0.1");
    assert!(entered.iter().all(|(_, grant)| grant.fence == 4), "{entered:?}");
    // Not while a client is inside, or while a token is elsewhere.
    assert_eq!(node(&world, 0).droppable(&world.site(0)), None);
    world.run("exit0 exit0.1 req1/0 1>0").unwrap();
    assert_eq!(node(&world, 0).droppable(&world.site(0)), None);
    assert!(node(&world, 1).droppable(&world.site(1)).is_none());
}

/// The home's INFORM is slow: before it arrives, its receiver has had the token. If the receiver accepted it
/// all the same, it would point to the home, which points to it.
#[test]
fn an_old_inform_of_the_home_is_ignored() {
    for tamper in [Tamper::Nothing, Tamper::NoClocks] {
        let mut world = start(4, 1, &[("forget", "yes")]);
        // Node 1 points to 2 and wants to forget; the home, which has fetched the token, sends INFORM.
        world.run("req1 1>0 0>1 exit1 req2 2>0 0>1 1>2 exit2 tmo2:1 2>0 tmo0:2 0>2 2>0 tmo1:3 1>0").unwrap();
        // The token goes to 3, to 1 by a request that passes 2 and the home, and to 3 again.
        world.run("req3 3>0 0>3 req1 1>2 2>0 0>3 exit3 3>1 exit1 req3 3>1 1>3").unwrap();
        // The INFORM arrives, and the home asks.
        tamper.apply(&mut world);
        world.run("0>1 req0 0>1").unwrap();
        match tamper {
            Tamper::Nothing => assert_eq!(entries(&mut world, "1>3 exit3 3>0").len(), 1),
            _ => assert!(world.run("1>0").unwrap_err().contains("own request comes back")),
        }
    }
}

/// A busy lock advances its clock about twice per hand-off: 32 bits last for two days. After an overflow an
/// old INFORM would count as new.
#[test]
fn a_clock_outlives_32_bits() {
    for behind in 0..24 {
        let mut world = start(4, 1, &[("forget", "yes")]);
        let origin = Origin { floor: 0, clock: u64::from(u32::MAX - behind) };
        for node in 0..4 {
            let again = Forest::create(&world.site(node), origin);
            world.nodes[node as usize].state = Some(again);
        }
        world.run("req1 1>0 0>1 exit1 req2 2>0 0>1 1>2 exit2 tmo2:1 2>0 tmo0:2 0>2 2>0 tmo1:3 1>0").unwrap();
        world.run("req3 3>0 0>3 req1 1>2 2>0 0>3 exit3 3>1 exit1 req3 3>1 1>3").unwrap();
        world.run("0>1 req0 0>1").unwrap();
        assert_eq!(entries(&mut world, "1>3 exit3 3>0").len(), 1, "{behind} behind the end of 32 bits");
    }
}
