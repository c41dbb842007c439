//! Claims of 000 sec. II about Banerjee and Chrysanthis' algorithm.

use alloc::format;
use alloc::string::String;

use crate::World;
use crate::banerjee_chrysanthis::BanerjeeChrysanthis;
use crate::info::Scope;
use crate::shuffle;

const AT_ONCE: Scope = Scope::new(5, 1, 4).with(&[("collect", "0")]);
const AT_ONCE_TO_REST: Scope = Scope::new(5, 1, 4).with(&[("collect", "0"), ("news", "rest")]);

fn world(nodes: u32, options: &'static [(&'static str, &'static str)]) -> World<BanerjeeChrysanthis> {
    World::of(&Scope::new(nodes, 1, 1).with(options), None).unwrap()
}

/// The idle collector enters without a message. Any other node that asks alone costs a REQUEST, the TOKEN and
/// a NEW to each other node: n + 1. With `news=rest` the receiver of the token gets no NEW.
#[test]
fn an_entry_alone_costs_none_or_n_plus_one() {
    for nodes in 2..=8 {
        for (options, cost) in [(&[][..], nodes + 1), (&[("news", "rest")][..], nodes)] {
            let mut world = world(nodes, options);
            world.run("req0 exit0").unwrap();
            assert_eq!(world.sent, 0);
            world.run("req1 1>0 tmo0").unwrap();
            world.settle(20).unwrap();
            assert!(world.inside(1));
            assert_eq!(world.sent, u64::from(cost));
            // It is the collector now.
            world.run("exit1 req1 exit1").unwrap();
            assert_eq!(world.sent, u64::from(cost));
        }
    }
}

/// A queue of b nodes costs b REQUESTs, b TOKENs and a broadcast: 2 + (n − 1)/b for each entry.
#[test]
fn a_queue_shares_the_broadcast() {
    let (nodes, batch) = (9, 6);
    let mut world = world(nodes, &[]);
    for node in 1..=batch {
        world.run(&format!("req{node} {node}>0")).unwrap();
    }
    world.run("tmo0").unwrap();
    world.settle(100).unwrap();
    for node in 1..=batch {
        assert!(world.inside(node), "the queue is in the order of arrival");
        world.run(&format!("exit{node}")).unwrap();
        world.settle(100).unwrap();
    }
    assert_eq!(world.sent, u64::from(2 * batch + nodes - 1));
    assert_eq!(world.entries, u64::from(batch));
}

/// 000 sec. II: the last node of the queue is the new collector. It keeps the requests that come before the
/// token or the news.
#[test]
fn the_last_node_of_the_queue_collects() {
    let mut world = world(4, &[]);
    world.run("req1 req2 1>0 2>0 tmo0 0>3 req3 3>2 0>1").unwrap();
    assert!(world.inside(1));
    // The request of node 3 came to node 2 before the news that node 2 is the collector: node 2 has kept it.
    world.run("exit1 1>2 exit2 tmo2").unwrap();
    world.settle(20).unwrap();
    assert!(world.inside(3));
}

/// 000 sec. II has node k pass on the token for a request that comes after the token has gone. It can only
/// be the request: node k has no token any more.
#[test]
fn a_late_request_is_forwarded() {
    let mut world = world(3, &[("collect", "0")]);
    world.run("req1 req2 1>0").unwrap();
    assert_eq!(world.census().tokens_held, 0);
    world.run("2>0 0>1 exit1").unwrap();
    let forwarded: String = format!("{}", world.channels[&(0, 1)][1]);
    assert_eq!(forwarded, "REQUEST(2, epoch 1)");
    world.run("0>1#1 1>2").unwrap();
    assert!(world.inside(2));
}

/// The token may overtake the news: an old NEW changes nothing.
#[test]
fn old_news_are_ignored() {
    let schedule = "req1 1>0 tmo0 req0 0>1 exit1 0>1#1 tmo1 1>0 0>1 1>0 req1 exit0 req0 exit0";
    let mut right = world(2, &[]);
    right.run(&schedule.replace(" exit0 req0 exit0", " exit0")).unwrap();
    right.settle(10).unwrap();
    right.run("tmo0").unwrap();
    right.settle(10).unwrap();
    assert!(right.inside(1));

    let scope = Scope::new(2, 1, 2);
    let mut wrong: World<BanerjeeChrysanthis> = World::of(&scope, Some("news-not-compared")).unwrap();
    assert!(wrong.run(schedule).unwrap_err().contains("nothing-impossible"));
}

/// Without a collecting phase nearly every entry has a broadcast of its own, and requests run after the
/// collector: some are forwarded several times.
#[test]
fn without_collecting_there_are_more_broadcasts() {
    let (mut all, mut rest) = (0, 0);
    for seed in 0..200 {
        let world: World<BanerjeeChrysanthis> = shuffle::run(&AT_ONCE, seed).unwrap();
        assert_eq!(world.entries, 20);
        all += world.sent;
        let world: World<BanerjeeChrysanthis> = shuffle::run(&AT_ONCE_TO_REST, seed).unwrap();
        rest += world.sent;
    }
    assert!(rest < all, "{rest}, {all}");
    // With a queue of all five nodes for each broadcast it would be 2 + 4/5.
    assert!(all > 200 * 20 * 3, "{all}");
}
