//! Closed forms of the algorithms, measured: every formula within 2 %, every bound kept.
//!
//! "Alone" is one request at a time from a node drawn at random, so a share of the requests finds the token
//! at hand and costs nothing. "Saturated" means that all clients ask again almost at once.

use crate::common::{assert_near, outcome, summary};
use algorithms::maekawa::Quorums;
use simulator::{Estimate, Summary};

/// A message takes one unit of time, and nothing else takes any.
const HOPS: &str = "send=0 receive=0 transit=1";

fn alone(algorithm: &str, parameters: &str) -> Summary {
    summary(algorithm, &format!("workload=single {HOPS} entries=20000 {parameters}"), 1)
}

fn saturated(algorithm: &str, parameters: &str) -> Summary {
    summary(algorithm, &format!("rate=100 {HOPS} {parameters}"), 1)
}

fn assert_form(what: &str, measured: Estimate, expected: f64) {
    assert_near(what, measured.mean, expected, 0.02);
}

fn harmonic(number: u32) -> f64 {
    (1..=number).map(|part| 1.0 / f64::from(part)).sum()
}

/// The number of edges between two nodes of the binary tree in which 0 is the root and (i − 1) / 2 is above
/// i.
fn distance(mut one: u32, mut other: u32) -> u32 {
    let mut edges = 0;
    while one != other {
        let lower = one.max(other);
        (one, other) = (one.min(other), (lower - 1) / 2);
        edges += 1;
    }
    edges
}

/// The mean over all pairs of nodes, a node and itself included.
fn mean_distance(nodes: u32) -> f64 {
    let pairs = (0..nodes).flat_map(|one| (0..nodes).map(move |other| f64::from(distance(one, other))));
    pairs.sum::<f64>() / f64::from(nodes).powi(2)
}

fn mean_depth(nodes: u32) -> f64 {
    (0..nodes).map(|node| f64::from(distance(0, node))).sum::<f64>() / f64::from(nodes)
}

#[test]
fn bulgannawar_vaidya_saturated() {
    for (nodes, tokens, rate, section) in [(30, 3, 10.0, 0.0002), (30, 3, 1.0, 0.0002), (20, 2, 5.0, 0.01)] {
        // The model of the thesis: a hop is 0.1 + 0.8 + 0.1.
        let parameters =
            format!("nodes={nodes} tokens={tokens} rate={rate} cs={section} choose=last-seen entries=10000");
        let found = summary("bulgannawar-vaidya", &parameters, 1);
        let wait = f64::from(nodes) / f64::from(tokens) * (1.0 + section) - section - 1.0 / rate;
        assert_form(&format!("{parameters}: wait"), found.time_to_enter, wait);
        assert_form(&format!("{parameters}: messages"), found.messages_per_entry, 2.0);
    }
}

#[test]
fn path_reversal_alone() {
    // The mean over all requesters is H(n−1), the node that has the token included: it needs no message,
    // which is why two nodes need one message on average and not two. Every message takes a hop.
    for nodes in [2, 3, 10, 30, 100] {
        let form = harmonic(nodes - 1);
        for algorithm in ["naimi-trehel", "bulgannawar-vaidya"] {
            let found = alone(algorithm, &format!("nodes={nodes} tokens=1 entries=40000"));
            assert_form(&format!("{algorithm} {nodes}: messages"), found.messages_per_entry, form);
            assert_form(&format!("{algorithm} {nodes}: wait"), found.time_to_enter, form);
        }
    }
}

/// With one client at each node, and without the rules of its own, the forest is Bulgannawar and Vaidya's
/// algorithm. With one token the same seeds give the same runs; with several, tokens start elsewhere and
/// nodes form other clusters.
#[test]
fn forest_is_bulgannawar_and_vaidya_for_single_clients() {
    for (rate, tokens) in [(0.005, 1), (0.05, 1), (1.0, 1), (0.005, 3), (0.05, 3), (0.2, 3), (1.0, 3)] {
        let both = format!("nodes=30 tokens={tokens} rate={rate}");
        let ours = summary("forest", &format!("{both} passes=0 hunt=no"), 4).messages_per_entry.mean;
        let theirs =
            summary("bulgannawar-vaidya", &format!("{both} choose=last-seen"), 4).messages_per_entry.mean;
        assert_near(&both, ours, theirs, if tokens == 1 { 0.0 } else { 0.03 });
    }
}

/// With a token for each node, nodes that share one still leave its queue, however short: else they would wait while
/// another token serves one node alone. But no holder invites another node: that would only cost messages.
#[test]
fn forest_with_a_token_for_each_node_balances_without_invitations() {
    let measured = |balance| {
        summary("forest", &format!("nodes=3 tokens=3 clients=10 rate=1 cs=0.1 balance={balance}"), 3)
    };
    let (without, with) = (measured("no"), measured("yes"));
    assert!(without.fairness.mean < 0.85 && with.fairness.mean > 0.97);
    assert!(with.time_to_enter.mean < 0.5 * without.time_to_enter.mean);
    assert_eq!(with.messages_by_kind.get("INVITE"), None);
    assert!(with.messages_per_entry.mean < 0.05, "{}", with.messages_per_entry.mean);
    // With fewer tokens there are invitations.
    let fewer = summary("forest", "nodes=9 tokens=3 rate=1 balance=yes", 3);
    assert!(fewer.messages_by_kind.contains_key("INVITE"));
}

/// Ten clients at each of five nodes, critical sections of one hop: local hand-offs save most messages, and
/// serving all that waited when the token came saves half of the rest. With long sections and little load,
/// hunting shortens waits to less than half.
#[test]
fn forest_hands_over_locally_and_hunts() {
    let messages = |options: &str| {
        let found = summary("forest", &format!("nodes=5 clients=10 rate=1 cs=1 {options}"), 2);
        found.messages_per_entry.mean
    };
    let by_nodes = "share=nodes ask=at-once balance=no";
    assert_near("no passes", messages(&format!("passes=0 {by_nodes}")), 1.63, 0.03);
    assert_near("four passes", messages(&format!("passes=4 {by_nodes}")), 0.37, 0.03);
    assert_near("by clients", messages(""), 0.205, 0.02);
    let wait = |hunt: &str| {
        summary("forest", &format!("nodes=10 cs=200 rate=0.0003 hunt={hunt}"), 2).time_to_enter.mean
    };
    assert!(wait("no") > 2.0 * wait("yes"), "{} and {}", wait("no"), wait("yes"));
}

#[test]
fn raymond_k() {
    let found = alone("raymond-k", "nodes=30 tokens=3 entries=2000");
    assert_eq!(found.messages_per_entry.mean, 58.0);
    assert_near("wait", found.time_to_enter.mean, 2.0, 1e-9);
    for (tokens, load) in [(1, "rate=0.1"), (3, "rate=1"), (10, "rate=100 cs=1"), (29, "rate=10 cs=5")] {
        let parameters = format!("nodes=30 tokens={tokens} section=exponential {load}");
        let messages = summary("raymond-k", &parameters, 1).messages_per_entry.mean;
        let least = f64::from(2 * 30 - tokens - 1);
        // Requests that were under way when the run ended belong to no entry.
        assert!((0.99 * least..=58.0 * 1.01).contains(&messages), "{parameters}: {messages}");
    }
}

#[test]
fn srimani_reddy() {
    for (tokens, rate) in [(1, "1"), (3, "0.001"), (3, "1"), (10, "0.01"), (10, "10")] {
        let found = summary("srimani-reddy", &format!("nodes=30 tokens={tokens} rate={rate}"), 1);
        let asked = found.messages_by_kind["REQUEST"].mean / 29.0;
        assert!(asked < 1.02, "{asked}");
        let messages = found.messages_per_entry.mean / asked;
        assert!(messages >= 29.9 && messages <= f64::from(30 + tokens - 1), "k {tokens}, {rate}: {messages}");
    }
    // Saturated, nearly every request meets no idle privilege: n − 1 requests and the one that comes.
    assert_form("saturated", saturated("srimani-reddy", "nodes=30 tokens=3").messages_per_entry, 30.0);
}

#[test]
fn makki() {
    // The good site, which is the last requester, waits for nothing; the others for a REQUEST, two hops of
    // collecting and the token.
    let found = alone("makki", "nodes=30 tokens=3 entries=5000");
    assert_form("wait alone", found.time_to_enter, 4.0 * 29.0 / 30.0);
    assert_form("messages alone", found.messages_per_entry, 29.0);
    for rate in ["10", "1"] {
        let found = saturated("makki", &format!("nodes=30 tokens=3 rate={rate}"));
        assert_form("messages saturated", found.messages_per_entry, 3.0);
    }
}

#[test]
fn permissions() {
    for load in ["rate=0.001", "rate=0.1", "rate=100"] {
        let parameters = format!("nodes=20 {load}");
        assert_form("lamport", summary("lamport", &parameters, 1).messages_per_entry, 3.0 * 19.0);
        assert_form("ricart-agrawala", summary("ricart-agrawala", &parameters, 1).messages_per_entry, 38.0);
        for algorithm in ["carvalho-roucairol", "singhal-dynamic"] {
            let messages = summary(algorithm, &parameters, 1).messages_per_entry.mean;
            assert!(messages > 0.0 && messages <= 38.0, "{algorithm}: {messages}");
        }
        let groups = format!("groups=3 {parameters}");
        assert_form("ra1", summary("ra1", &groups, 1).messages_per_entry, 38.0);
    }
    assert_form("lamport's wait", alone("lamport", "nodes=20 entries=1000").time_to_enter, 2.0);
    assert_form("ricart-agrawala's", alone("ricart-agrawala", "nodes=20 entries=1000").time_to_enter, 2.0);
    // Of two nodes the one that was inside last has the permission: half of the nodes have to be asked.
    for algorithm in ["carvalho-roucairol", "singhal-dynamic"] {
        assert_form("alone", alone(algorithm, "nodes=20").messages_per_entry, 19.0);
        assert_form("saturated", saturated(algorithm, "nodes=20").messages_per_entry, 38.0);
        // Only node 0 ever asks.
        let found = summary(algorithm, "nodes=20 workload=skewed:60", 1);
        assert_eq!(found.messages_per_entry.mean, 0.0, "{algorithm}");
    }
    // At saturation the others have heard of a node that asks again, so they all reply; requests that are made
    // at the same time answer each other.
    assert_form("alone", alone("lodha-kshemkalyani", "nodes=20").messages_per_entry, 38.0);
    assert_form("saturated", saturated("lodha-kshemkalyani", "nodes=20").messages_per_entry, 38.0);
    let burst = summary("lodha-kshemkalyani", "nodes=20 workload=burst entries=20 warmup=0", 1);
    assert_form("all at once", burst.messages_per_entry, 19.0 * 21.0 / 20.0);
}

#[test]
fn banerjee_chrysanthis() {
    // The collector asks no other node. Two hops to ask and to answer, and two to collect.
    let found = alone("banerjee-chrysanthis", "nodes=20");
    assert_form("messages alone", found.messages_per_entry, 21.0 * 19.0 / 20.0);
    assert_form("wait alone", found.time_to_enter, 4.0 * 19.0 / 20.0);
    let found = alone("banerjee-chrysanthis", "nodes=20 news=rest collect=0");
    assert_form("news to the rest", found.messages_per_entry, 20.0 * 19.0 / 20.0);
    assert_form("wait without collecting", found.time_to_enter, 2.0 * 19.0 / 20.0);
    // Every queue has all nodes, and the collector appends itself without a message.
    let found = saturated("banerjee-chrysanthis", "nodes=20 cs=5");
    assert_form("saturated", found.messages_per_entry, 3.0 - 2.0 / 20.0);
}

#[test]
fn helary() {
    assert_form("transit", alone("helary", "nodes=20").messages_per_entry, harmonic(19));
    for load in ["workload=single", "rate=100"] {
        let found = summary("helary", &format!("nodes=20 behaviour=proxy {load} entries=20000 {HOPS}"), 1);
        assert_form("proxy on a star", found.messages_per_entry, 3.0 * 19.0 / 20.0);
    }
    // On a chain the shares are 1/2, 1/4, … : the sum of their squares is near 1/3.
    let found = saturated("helary", "nodes=8 behaviour=proxy tree=chain cs=5");
    assert_form("proxy on a chain", found.fairness, 3.0 / 8.0);
}

#[test]
fn suzuki_kasami() {
    assert_form("alone", alone("suzuki-kasami", "nodes=20").messages_per_entry, 20.0 * 19.0 / 20.0);
    assert_form("wait alone", alone("suzuki-kasami", "nodes=20").time_to_enter, 2.0 * 19.0 / 20.0);
    assert_form("saturated", saturated("suzuki-kasami", "nodes=20").messages_per_entry, 20.0);
    assert_eq!(summary("suzuki-kasami", "nodes=20 workload=skewed:60", 1).messages_per_entry.mean, 0.0);
}

#[test]
fn suzuki_kasami_on_a_ring() {
    let ring = "nodes=20 next=ring";
    assert_form("alone", alone("suzuki-kasami", ring).messages_per_entry, 20.0 * 19.0 / 20.0);
    assert_form("wait alone", alone("suzuki-kasami", ring).time_to_enter, 2.0 * 19.0 / 20.0);
    assert_form("saturated", saturated("suzuki-kasami", ring).messages_per_entry, 20.0);
}

#[test]
fn singhal_heuristic() {
    // Half of the others are asked, and the token comes unless it is here.
    let found = alone("singhal-heuristic", "nodes=20");
    assert_form("alone", found.messages_per_entry, 19.0 / 2.0 + 19.0 / 20.0);
    assert_form("wait alone", found.time_to_enter, 2.0 * 19.0 / 20.0);
    assert_form("saturated", saturated("singhal-heuristic", "nodes=20").messages_per_entry, 20.0);
    let found = summary("singhal-heuristic", "nodes=20 workload=skewed:60", 1);
    assert_eq!(found.messages_per_entry.mean, 0.0);
}

#[test]
fn maekawa_by_its_quorums() {
    let plane_and_tree = [(31, "plane", Quorums::Plane), (15, "tree", Quorums::Tree)];
    let grids = [9, 16, 31].map(|nodes| (nodes, "grid", Quorums::Grid));
    for (nodes, name, quorums) in grids.into_iter().chain(plane_and_tree) {
        let members: usize = quorums.of(nodes).unwrap().iter().map(Vec::len).sum();
        let mean = members as f64 / f64::from(nodes) - 1.0;
        let parameters = format!("nodes={nodes} quorum={name}");
        assert_form("alone", alone("maekawa", &parameters).messages_per_entry, 3.0 * mean);
        assert_form("wait alone", alone("maekawa", &parameters).time_to_enter, 2.0);
        for load in ["rate=0.1 delay=exponential", "rate=1 delay=exponential", "rate=100"] {
            let parameters = format!("{parameters} {load}");
            let messages = summary("maekawa", &parameters, 1).messages_per_entry.mean;
            assert!(
                messages >= 2.98 * mean && messages <= 5.0 * mean,
                "{parameters}: {messages}, q - 1 {mean}"
            );
        }
    }
}

#[test]
fn trees_that_stay() {
    let (nodes, n) = (31, 31f64);
    for (shape, distance) in [("binary", mean_distance(nodes)), ("star", 2.0 * (1.0 - 1.0 / n).powi(2))] {
        let parameters = format!("nodes={nodes} shape={shape}");
        let found = alone("raymond-tree", &parameters);
        assert_form(&format!("raymond-tree alone, {shape}"), found.messages_per_entry, 2.0 * distance);
        let found = saturated("raymond-tree", &parameters);
        assert_form(
            &format!("raymond-tree saturated, {shape}"),
            found.messages_per_entry,
            4.0 * (n - 1.0) / n,
        );
        let found = alone("neilsen-mizuno", &parameters);
        let form = distance + 1.0 - 1.0 / n;
        assert_form(&format!("neilsen-mizuno alone, {shape}"), found.messages_per_entry, form);
        // Each message takes a hop, so the longest wait is that of the most expensive entry: the diameter and
        // one.
        let diameter = if shape == "star" { 2.0 } else { 8.0 };
        assert_near("longest", found.longest_wait, diameter + 1.0, 1e-9);
        assert_near("raymond-tree's", alone("raymond-tree", &parameters).longest_wait, 2.0 * diameter, 1e-9);
    }
    let found = saturated("neilsen-mizuno", "nodes=31 shape=star");
    assert_form("neilsen-mizuno saturated, star", found.messages_per_entry, 3.0 - 2.0 / n);
}

#[test]
fn lacbt() {
    let work = |found: &Summary| -> f64 {
        ["REQUEST", "TOKEN", "RETURN"].iter().map(|kind| found.messages_by_kind[kind].mean).sum()
    };
    for nodes in [15, 31, 40] {
        let form = 3.0 * mean_depth(nodes);
        let found = alone("lacbt", &format!("nodes={nodes} swap=no"));
        assert_near("alone", found.messages_per_entry.mean, form, 0.02);
        // A leaf of the lowest level: as many REQUESTs and TOKENs as it is deep, waited for, and as many
        // RETURNs.
        assert_near("a leaf", found.longest_wait * 1.5, 3.0 * f64::from(nodes).log2().floor(), 1e-9);
        // Swaps change the positions of nodes, and not the depth of the tree.
        let found = alone("lacbt", &format!("nodes={nodes} rate=0.01"));
        assert_near("alone, with swaps", work(&found), form, 0.02);
        assert_near("ROOT", found.messages_by_kind["ROOT"].mean, 1.0, 0.02);
        assert!(found.messages_by_kind["PARENT"].mean <= 4.0);
        let found = saturated("lacbt", &format!("nodes={nodes} cs=5"));
        assert_near("saturated", found.messages_per_entry.mean, form, 0.02);
    }
    // The text's formula for all nodes asking, for complete trees: with 3(n+1)/n where it has 6.
    let levels = 5.0;
    let text = 6.0 * (levels + 2.0 * (2f64.powf(-levels) - 1.0));
    assert_near("the text's series", 3.0 * mean_depth(31), text * 3.0 * 32.0 / 31.0 / 6.0, 1e-9);
}

#[test]
fn collectors() {
    // 16 nodes in 4 groups. Alone: nothing for node 0; 3 for the others of its group and for the other
    // collectors; 6 for the rest; one more where a grant has more tokens than the one that is needed.
    let single = (6.0 * 3.0 + 9.0 * 6.0) / 16.0;
    let cases = [
        ("chaudhuri-edward", "tokens=4", single),
        ("chaudhuri-edward", "tokens=8", single),
        ("collectors", "tokens=4 share=cap", single),
        ("collectors", "tokens=8 share=cap", single + 12.0 / 16.0),
        ("collectors", "tokens=1", single),
        ("collectors", "tokens=4", single + 12.0 / 16.0),
    ];
    for (algorithm, parameters, form) in cases {
        let found = alone(algorithm, &format!("nodes=16 {parameters}"));
        assert_form(&format!("{algorithm} {parameters}"), found.messages_per_entry, form);
        // REQ, GREQ, GRANT, TOKEN before the entry; HOME and RET after it.
        assert_near("longest", found.longest_wait, 4.0, 1e-9);
    }
    // All nodes at once, k = √n: 2n + 3√n − 5 in total.
    let found = summary("collectors", &format!("workload=burst nodes=16 tokens=4 share=cap {HOPS}"), 1);
    assert_form("all at once", found.messages_per_entry, (2.0 * 16.0 + 3.0 * 4.0 - 5.0) / 16.0);
}

#[test]
fn drs_gme() {
    for load in ["rate=0.01", "rate=0.1", "rate=1", "rate=100", "rate=1 cs=3"] {
        for groups in [1, 3, 10] {
            let messages =
                summary("drs-gme", &format!("nodes=10 groups={groups} {load}"), 1).messages_per_entry;
            assert!(messages.mean <= 11.0, "{load}, {groups} groups: {}", messages.mean);
        }
    }
    let found = summary("drs-gme", "nodes=10 groups=3 workload=skewed:60", 1);
    assert_eq!(found.messages_per_entry.mean, 0.0);
    // A follower needs n − 1 REQUESTs, START and COMPLETE: one group, and a captain that stays inside for
    // ever.
    let run =
        outcome("drs-gme", &format!("nodes=10 groups=1 workload=burst entries=10 warmup=0 cs=100 {HOPS}"), 1);
    let count =
        |kind| run.measures.kinds.iter().find(|count| count.kind == kind).map_or(0, |count| count.messages);
    assert_eq!((count("REQUEST"), count("START"), count("TOKEN")), (81, 9, 0));
}

#[test]
fn synchronisation_delays() {
    // From an exit to the entry it makes possible, in hops. With short critical sections a client that leaves
    // often comes back before the first request has arrived, and that must not count as a hand-off.
    for section in ["0.0002", "5"] {
        let delay = |algorithm: &str| {
            let parameters = format!("nodes=16 tokens=1 cs={section}");
            saturated(algorithm, &parameters).sync_delay
        };
        for algorithm in [
            "lamport",
            "ricart-agrawala",
            "carvalho-roucairol",
            "singhal-dynamic",
            "singhal-heuristic",
            "lodha-kshemkalyani",
            "suzuki-kasami",
            "naimi-trehel",
            "neilsen-mizuno",
            "helary",
            "bulgannawar-vaidya",
            "raymond-k",
        ] {
            assert_form(&format!("{algorithm}, cs {section}"), delay(algorithm), 1.0);
        }
        assert_form("maekawa", delay("maekawa"), 2.0);
        assert_form("raymond-tree", delay("raymond-tree"), 2.0 * 15.0 / 16.0);
    }
    let found = saturated("bulgannawar-vaidya", "nodes=30 tokens=3 choose=last-seen cs=0.0002");
    assert_form("bulgannawar-vaidya with three tokens", found.sync_delay, 1.0);
    // The token goes back to the root, then down to the next.
    let found = saturated("lacbt", "nodes=31 swap=no cs=5");
    assert_form("lacbt", found.sync_delay, 2.0 * mean_depth(31));
    // One message if the captain leaves last, two if a follower does.
    let found = saturated("drs-gme", "nodes=10 groups=10 cs=0.0002");
    assert!((1.0..=2.0).contains(&found.sync_delay.mean), "{}", found.sync_delay.mean);
}

/// An algorithm, parameters, and the words of each kind of message.
type Words = (&'static str, &'static str, &'static [(&'static str, f64)]);

#[test]
fn words() {
    // Type, source and destination are three; alone, a queue has only the receiver.
    let cases: &[Words] = &[
        ("bulgannawar-vaidya", "tokens=3 inform=2", &[("REQUEST", 5.0), ("INFORM", 4.0), ("TOKEN", 6.0)]),
        ("raymond-k", "tokens=3", &[("REQUEST", 4.0), ("REPLY", 4.0)]),
        ("srimani-reddy", "tokens=3", &[("REQUEST", 4.0), ("PRIVILEGE", 3.0 + 12.0)]),
        ("makki", "tokens=3", &[("REQUEST", 4.0), ("UPDATE", 4.0), ("TOKEN", 6.0)]),
        ("naimi-trehel", "", &[("REQUEST", 4.0), ("TOKEN", 3.0)]),
        ("lamport", "", &[("REQUEST", 4.0), ("REPLY", 3.0), ("RELEASE", 3.0)]),
        ("ricart-agrawala", "", &[("REQUEST", 4.0), ("REPLY", 3.0)]),
        ("carvalho-roucairol", "", &[("REQUEST", 4.0), ("REPLY", 3.0)]),
        ("singhal-dynamic", "", &[("REQUEST", 4.0), ("REPLY", 3.0)]),
        ("ra1", "groups=3", &[("REQUEST", 5.0), ("REPLY", 3.0)]),
        ("singhal-heuristic", "", &[("REQUEST", 4.0), ("TOKEN", 3.0 + 24.0)]),
        ("suzuki-kasami", "next=ring", &[("REQUEST", 4.0), ("TOKEN", 3.0 + 12.0)]),
        ("lodha-kshemkalyani", "", &[("REQUEST", 5.0), ("REPLY", 4.0)]),
        ("suzuki-kasami", "", &[("REQUEST", 4.0), ("TOKEN", 3.0 + 12.0)]),
        ("banerjee-chrysanthis", "", &[("REQUEST", 5.0), ("NEW", 5.0), ("TOKEN", 5.0)]),
        ("helary", "", &[("REQUEST", 4.0), ("TOKEN", 4.0)]),
        ("maekawa", "", &[("REQUEST", 4.0), ("LOCKED", 3.0), ("RELEASE", 3.0)]),
        ("k-majority", "tokens=3", &[("REQUEST", 4.0), ("LOCKED", 4.0), ("RELEASE", 4.0)]),
        ("raymond-tree", "", &[("REQUEST", 3.0), ("PRIVILEGE", 3.0)]),
        ("neilsen-mizuno", "", &[("REQUEST", 4.0), ("PRIVILEGE", 3.0)]),
        (
            "collectors",
            "nodes=9 tokens=3",
            &[("REQ", 4.0), ("GREQ", 4.0), ("GRANT", 4.0), ("TOKEN", 4.0), ("HOME", 3.0), ("RET", 4.0)],
        ),
        ("drs-gme", "groups=3", &[("REQUEST", 5.0), ("TOKEN", 4.0 + 12.0 + 3.0)]),
    ];
    for (algorithm, parameters, kinds) in cases {
        let parameters = format!("nodes=12 workload=single rate=0.01 entries=500 {parameters}");
        let run = outcome(algorithm, &parameters, 1);
        assert_eq!(run.measures.kinds.len(), kinds.len(), "{algorithm}: {:?}", run.measures.kinds);
        for (kind, words) in *kinds {
            let count = run.measures.kinds.iter().find(|count| count.kind == *kind).unwrap();
            assert_eq!(count.words as f64 / count.messages as f64, *words, "{algorithm} {kind}");
        }
    }
    // A RELEASE needs a waiter; so does a longer queue.
    let run = outcome("makki", "nodes=12 tokens=3 rate=10 entries=500", 1);
    let release = run.measures.kinds.iter().find(|count| count.kind == "RELEASE").unwrap();
    assert_eq!(release.words, 3 * release.messages);
}
