//! The page of a node, and what it asks for: all nodes at once, their events, and where tokens are.

use std::time::Duration;

use serde_json::{Value, json};
use service::auth::{Change, Secret};
use tokenwood::Admin;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::Doors;

const LONG: Duration = Duration::from_secs(30);

/// Reads until this part was seen.
async fn read_until(stream: &mut TcpStream, seen: &mut String, part: &str) {
    while !seen.contains(part) {
        let mut bytes = [0; 4096];
        let count = timeout(LONG, stream.read(&mut bytes)).await.expect(part).unwrap();
        assert!(count > 0, "it ended without {part}: {seen}");
        *seen += &String::from_utf8_lossy(&bytes[..count]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_served_without_a_token_and_may_ask_its_node_only() {
    let doors = Doors::start(1).await;
    let mut admin = Admin::connect(&doors.cluster.endpoints[0]).await.unwrap();
    admin.change_rights(Change::Secure { admin: Secret::new([1; 32]).hash() }).await.unwrap();
    let mut tag = None;
    for path in ["/ui", "/ui/", "/ui/name/deploy%2Fapi", "/ui/node/3?theme=dark"] {
        let page = doors.exchange(0, &format!("GET {path}"), &[], "").await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{path}"
        );
        let policy = page.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.contains("connect-src 'self'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        tag = page.header("etag").map(str::to_string);
    }
    let tag = format!("if-none-match: {}", tag.unwrap());
    assert_eq!(doors.exchange(0, "GET /ui", &[&tag], "").await.status, 304);
    let script = doors.exchange(0, "GET /ui/app.js", &[], "").await;
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(doors.exchange(0, "POST /ui", &[], "").await.status, 405);
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_answer_has_what_every_node_says_of_itself() {
    let doors = Doors::start(3).await;
    for node in 0..3 {
        let granted = doors.send(node, &format!("POST /v1/locks/x{node}/acquire"), "").await;
        assert_eq!(granted.status, 200, "{granted:?}");
    }
    let cluster = doors.send(1, "GET /v1/cluster", "").await;
    assert_eq!((cluster.status, cluster.number("asked")), (200, 1), "{cluster:?}");
    let nodes = cluster.body["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 3);
    for node in nodes {
        assert_eq!((&node["answered"], &node["unreachable_ms"]), (&json!(true), &Value::Null), "{node}");
        assert_eq!((&node["counts"]["grants"], &node["requests"]), (&json!(1), &json!(1)), "{node}");
        assert!(node["lease_left_ms"].as_u64() > Some(0), "{node}");
        let waits = node["waits"].as_array().unwrap().iter().filter_map(|bucket| bucket["count"].as_u64());
        assert_eq!(waits.sum::<u64>(), 1, "{node}");
    }
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_says_where_its_token_is_and_which_nodes_get_it_next() {
    let doors = Doors::start(3).await;
    let held = doors.send(0, "POST /v1/locks/t/acquire", "").await;
    let _waiting = doors.begin(2, "POST /v1/locks/t/acquire?wait=60s", &[], "").await;
    let mut looks = 0;
    let name = loop {
        let name = doors.send(1, "GET /v1/locks/t", "").await;
        if name.body["tokens"] == json!([{ "slot": 0, "node": 0, "next": [2] }]) {
            break name;
        }
        looks += 1;
        assert!(looks < 300, "{name:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    // A node that waits has no pointer: its request is on its way. The token has none here, either.
    let pointers = name.body["pointers"].as_array().unwrap();
    assert!(pointers.iter().all(|pointer| pointer["from"] == 1 && pointer["slot"] == 0), "{name:?}");
    let clients = name.body["clients"].as_array().unwrap();
    assert_eq!((&clients[0]["node"], &clients[0]["fence"]), (&json!(0), &held.body["fence"]));
    assert!(clients.iter().all(|client| client["session"].as_u64() > Some(0)), "{name:?}");
    // Another node revokes the grant, if it is told where it is.
    let force = json!({ "slot": 0, "fence": held.body["fence"], "node": 0 }).to_string();
    let forced = doors.send(1, "POST /v1/locks/t/force", &force).await;
    assert_eq!(forced.body["revoked"][0]["fence"], held.body["fence"], "{forced:?}");
    let nowhere = json!({ "slot": 0, "fence": 1, "node": 9 }).to_string();
    assert_eq!(doors.send(1, "POST /v1/locks/t/force", &nowhere).await.status, 404);
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_all_nodes_has_the_events_of_each() {
    let doors = Doors::start(3).await;
    let mut stream = doors.begin(0, "GET /v1/watch?nodes=all&prefix=a/", &[], "").await;
    let mut seen = String::new();
    read_until(&mut stream, &mut seen, "event: watching").await;
    // The node has to reach the others first.
    let mut tries = 0;
    while !seen.contains("\"node\":1") || !seen.contains("\"node\":2") {
        for node in [1, 2] {
            let granted = doors.send(node, &format!("POST /v1/locks/a%2F{node}-{tries}/acquire"), "").await;
            assert_eq!(granted.status, 200, "{granted:?}");
            doors.send(node, &format!("POST /v1/locks/b%2F{node}-{tries}/acquire"), "").await;
        }
        tries += 1;
        assert!(tries < 100, "{seen}");
        let mut bytes = [0; 4096];
        if let Ok(count) = timeout(Duration::from_millis(300), stream.read(&mut bytes)).await {
            seen += &String::from_utf8_lossy(&bytes[..count.unwrap()]);
        }
    }
    assert!(!seen.contains("\"b/"), "the filter counts everywhere: {seen}");
    assert!(!seen.contains("node-silent"), "{seen}");
    doors.cluster.hosts[2].stop().await;
    read_until(&mut stream, &mut seen, "event: node-silent").await;
    doors.cluster.stop().await;
}
