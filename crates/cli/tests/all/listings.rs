//! Listings of any length, and of clusters in which not every node answers.

use std::collections::BTreeSet;

use crate::cluster::{Cluster, SOON, error, kill};
use crate::folder::{code, text};
use crate::json_schema::document;
use serde_json::Value;
use tokenwood::{Guard, Tokenwood};
use tokio::task::JoinSet;

const MANY: usize = 30_000;
const WAITERS: usize = 50_000;

#[test]
fn all_names_are_listed_however_many() {
    let cluster = Cluster::start("many-names", 1, false);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let held = runtime.block_on(async {
        let client = Tokenwood::connect([&cluster.endpoints[0][..]]).await.unwrap();
        let acquire = |number| {
            let lock = client.mutex(&name(number));
            async move { lock.acquire().await.unwrap() }
        };
        tokio::time::timeout(SOON, (0..MANY).map(acquire).collect::<JoinSet<Guard>>().join_all()).await
    });
    let held = held.expect("all are granted");
    let expected: BTreeSet<String> = (0..MANY).map(name).collect();
    let listed = cluster.json(0, &["locks"]);
    let names = listed["locks"].as_array().unwrap().iter().map(|lock| lock["name"].as_str().unwrap());
    assert_eq!(names.clone().count(), MANY, "each is listed once");
    assert!(names.map(str::to_string).collect::<BTreeSet<_>>() == expected);
    let table = cluster.says(0, &["locks"]);
    let names = table.lines().skip(2).filter_map(|line| line.split(' ').next());
    assert!(names.map(str::to_string).collect::<BTreeSet<_>>() == expected);
    drop(held);
}

fn name(number: usize) -> String {
    format!("jobs/{number:05}")
}

#[test]
fn all_waiters_of_a_name_are_listed_however_many() {
    let cluster = Cluster::start("many-waiters", 1, false);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _waiting = runtime.block_on(async {
        let client = Tokenwood::connect([&cluster.endpoints[0][..]]).await.unwrap();
        let held = client.mutex("x").acquire().await.unwrap();
        let mut waiting = JoinSet::new();
        for _ in 0..WAITERS {
            let lock = client.mutex("x");
            waiting.spawn(async move { lock.acquire().await.map(drop) });
        }
        (held, waiting)
    });
    let mut waits = 0;
    for _ in 0..100 {
        let status = cluster.json(0, &["status"]);
        waits = status["nodes"][0]["status"]["requests"].as_u64().unwrap() as usize;
        if waits == WAITERS + 1 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(waits, WAITERS + 1);
    let listed = cluster.json(0, &["locks"]);
    assert_eq!(listed["locks"].as_array().unwrap().len(), 1, "it is one lock");
    assert!(listed["locks"][0]["clients"][0]["fence"].is_number(), "its holder comes first");
    assert_each_once(listed["locks"][0]["clients"].as_array().unwrap(), WAITERS + 1);
    let inspected = cluster.json(0, &["inspect", "x"]);
    assert_eq!(inspected["holders"].as_array().unwrap().len(), 1);
    assert_each_once(inspected["waiters"].as_array().unwrap(), WAITERS);
}

fn assert_each_once(clients: &[Value], expected: usize) {
    assert_eq!(clients.len(), expected);
    let requests = clients.iter().map(|client| client["request"].as_u64().unwrap());
    assert_eq!(requests.collect::<BTreeSet<_>>().len(), expected);
}

#[test]
fn a_node_that_gives_no_answer_is_named_and_makes_the_command_fail() {
    let cluster = Cluster::start("silent", 3, true);
    let _grant = cluster.says(0, &["acquire", "x", "--ttl", "60s", "--quiet"]);
    kill("-STOP", cluster.pids[2]);
    // At once: after a lease the stopped node is no member any more.
    std::thread::scope(|scope| {
        for (arguments, expected) in
            [(&["locks"][..], "holds"), (&["inspect", "x"], "holds"), (&["status"], "reaches all")]
        {
            let cluster = &cluster;
            scope.spawn(move || {
                let partial = cluster.run(0, arguments);
                assert_eq!(code(&partial), 69, "{arguments:?}: {}", error(&partial));
                let said = error(&partial);
                assert!(said.contains("node 2") && said.contains("no answer"), "{arguments:?}: {said}");
                assert!(text(&partial.stdout).contains(expected), "what others told is shown: {arguments:?}");
            });
        }
        for arguments in [&["locks"][..], &["inspect", "y"]] {
            let cluster = &cluster;
            scope.spawn(move || {
                let partial = cluster.run(0, &[arguments, &["--format", "json"]].concat());
                assert_eq!(code(&partial), 69, "{arguments:?}: {}", error(&partial));
                let value = document(&partial.stdout);
                assert_eq!(value["no_answer"][0]["node"], 2, "{value}");
            });
        }
        let cluster = &cluster;
        scope.spawn(move || {
            let partial = cluster.run(1, &["inspect", "nobody-knows"]);
            assert!(!text(&partial.stdout).contains("no client uses it"), "{}", text(&partial.stdout));
        });
    });
    kill("-CONT", cluster.pids[2]);
}
