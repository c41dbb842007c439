//! The thesis' experiment across machines: three network namespaces with a seat each, whose clocks are hours apart, and a
//! fourth with the collector.

use std::fs;

use crate::folder::{Folder, code, text};
use crate::namespaces;
use serde_json::Value;

/// Runs in namespaces of its own, which end with it. `$1` is the program.
const MACHINES: &str = r#"
# Machines that were started at different times.
for i in 1 2 3; do
    ip netns exec m$i unshare --time --fork --kill-child --boottime ${i}0000 "$1" seat --listen 10.78.0.$i:7720 > seat$i.log 2>&1 &
    eval "seat$i=\$!"
done
for i in 1 2 3; do
    until grep -q "waits at 10.78.0.$i:7720" seat$i.log; do sleep 0.05; done
done
collect() {
    ip netns exec m4 "$1" reproduce --sockets --seat 10.78.0.1:7720 --seat 10.78.0.2:7720 --seat 10.78.0.3:7720 \
        --tokens 2 --seeds 2 --rates $3 --entries $4 --record $2-runs --out $2 > $2.out 2> $2.err
}
collect "$1" good 0.2,1 10 || echo "failed: $?" >> good.err
# Machines 1 and 2 do not reach each other, the collector reaches both.
ip -n m1 route add blackhole 10.78.0.2/32
collect "$1" apart 0.2 10 && exit 6 || echo "failed: $?" >> apart.err
ip -n m1 route del blackhole 10.78.0.2/32
collect "$1" killed 0.1 10000 &
collector=$!
# Five runs are over by then, and the next has begun.
tries=0
until [ $(grep -c begins seat2.log) -gt 5 ]; do
    sleep 0.1
    tries=$((tries + 1))
    [ $tries -lt 600 ] || exit 9
done
sleep 0.5
kill -9 $seat2
wait $collector && exit 7 || echo "failed: $?" >> killed.err
collect "$1" missing 0.2 10 && exit 8 || echo "failed: $?" >> missing.err
"#;

#[test]
fn three_machines_and_a_collector() {
    let folder = Folder::new("seats");
    let Some(output) = namespaces::run(MACHINES, &folder) else { return };
    let read = |name: &str| fs::read_to_string(folder.0.join(name)).unwrap_or_default();
    assert_eq!(code(&output), 0, "{} {} {}", text(&output.stderr), read("good.err"), read("seat1.log"));

    assert!(!read("good.err").contains("failed"), "{}", read("good.err"));
    let said = read("good.out");
    assert!(said.contains("4 runs over TCP, 120 entries") && said.contains("on 3 machines"), "{said}");
    let runs = read("good/sockets-runs.csv");
    let raymond = runs.lines().find(|line| line.starts_with("raymond-k,1,")).unwrap();
    let cells: Vec<f64> = raymond.split(',').skip(1).map(|cell| cell.parse().unwrap_or(0.0)).collect();
    // Each entry asks both others; and clocks that are hours apart do not make messages take hours.
    assert!((3.0..=4.0).contains(&cells[4]), "{raymond}");
    let record: Value = serde_json::from_str(&read("good-runs/raymond-k-1.json")).unwrap();
    let travelled = record["reports"][0]["tally"]["travelled"]["secs"].as_u64().unwrap();
    assert!(travelled < 60, "{travelled} s for 60 messages");
    assert_eq!(code(&folder.run("trace good-runs/raymond-k-1.json")), 0);

    let apart = read("apart.err");
    let named = "node 0: there is no connection to node 1: every node has to reach every other (the seat at 10.78.0.1:7720)";
    assert!(apart.contains(named) && apart.contains("failed: 2"), "{apart}");
    let killed = read("killed.err");
    // It hung up, or its machine reset the connection.
    let named = ["node 1 is gone: ", " (the seat at 10.78.0.2:7720): the experiment has ended", "failed: 2"];
    assert!(named.iter().all(|part| killed.contains(part)), "{killed}");
    let missing = read("missing.err");
    assert!(
        missing.contains("no seat answers at 10.78.0.2:7720") && missing.contains("failed: 2"),
        "{missing}"
    );
    assert!(read("seat1.log").contains("begins"), "{}", read("seat1.log"));
}

#[test]
fn what_seats_cannot_do_is_told() {
    let folder = Folder::new("no-seats");
    for (arguments, said) in [
        ("reproduce --sockets --seat a:1 --seat a:1 --out report", "--seat a:1 is given twice"),
        (
            "reproduce --sockets --seat a:1 --seat b:1 --nodes 3 --out report",
            "--nodes 3 does not fit 2 seats, one for each node",
        ),
        (
            "reproduce --sockets --seat a:1 --out report",
            "tokens must be between 1 and the number of nodes (1)",
        ),
        ("reproduce --sockets --set release --out report", "--set takes NAME=VALUE"),
        ("reproduce --sockets --set no-such=1 --out report", "has no option 'no-such'"),
        ("reproduce --all --seat a:1 --out report", "--seat is for --sockets"),
        ("seat", "--listen"),
        ("seat --peer-port 7", "--listen"),
        ("seat --listen 10.0.0.11", "write HOST:PORT, for instance 0.0.0.0:7720"),
        (
            "seat --listen 203.0.113.7:7720",
            "cannot listen at 203.0.113.7:7720: choose a free port, and an address of",
        ),
        (
            "reproduce --sockets --seat 127.0.0.1:1 --seat 127.0.0.1:2 --tokens 1 --out report",
            "no seat answers at 127.0.0.1:1 (",
        ),
    ] {
        let output = folder.run(arguments);
        assert_eq!(code(&output), 2, "{arguments}");
        assert!(text(&output.stderr).contains(said), "{arguments}: {}", text(&output.stderr));
    }
}
