//! What a recorder writes of views and lists, without a cluster.

use std::fs;
use std::path::PathBuf;

use service::{Definition, SessionId, Want};
use tokenwood::Grant;

use super::*;

/// A recorder, and where it writes.
fn recorder(name: &str) -> (Recorder, PathBuf) {
    let path = std::env::temp_dir().join(format!("tokenwood-recorder-{}-{name}.jsonl", std::process::id()));
    fs::write(&path, "").unwrap();
    (Recorder::create(&path).unwrap(), path)
}

/// The events that were written, each with its node.
fn written(path: &Path) -> Vec<(Option<u64>, String)> {
    let text = fs::read_to_string(path).unwrap();
    fs::remove_file(path).unwrap();
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        (line["node"].as_u64(), line["event"].as_str().unwrap().to_string())
    };
    text.lines().map(line).collect()
}

/// The cluster, with the incarnation of each node that is a member.
fn cluster(epoch: u64, nodes: &[(u32, Option<u64>)]) -> Cluster {
    let node = |(id, incarnation): &(u32, Option<u64>)| ClusterNode {
        id: *id,
        address: format!("10.0.0.{id}:7700"),
        clients: incarnation.map(|_| format!("10.0.0.{id}:7710")),
        incarnation: *incarnation,
        votes: true,
    };
    Cluster {
        name: "test".to_string(),
        asked: 0,
        epoch,
        in_view: epoch,
        lease: Duration::from_secs(3),
        lease_left: Duration::from_secs(3),
        leader: Some(0),
        invited: Vec::new(),
        nodes: nodes.iter().map(node).collect(),
    }
}

#[test]
fn it_says_which_nodes_are_out_of_the_view_and_which_are_back() {
    let (mut recorder, path) = recorder("views");
    let views = [
        // Node 2 is out from the beginning.
        cluster(4, &[(0, Some(10)), (1, Some(11)), (2, None)]),
        cluster(5, &[(0, Some(10)), (1, None), (2, None)]),
        cluster(6, &[(0, Some(10)), (1, None), (2, Some(22))]),
        // It was started again before a view without it.
        cluster(7, &[(0, Some(10)), (1, Some(21)), (2, Some(32)), (3, Some(13))]),
        cluster(8, &[(0, Some(10)), (2, Some(32)), (3, Some(13))]),
    ];
    for view in &views {
        recorder.looked(0, view).unwrap();
        // The same again, and what is old, is no news.
        recorder.looked(0, view).unwrap();
        recorder.looked(0, &views[0]).unwrap();
    }
    let told = written(&path);
    let told: Vec<(u64, &str)> = told.iter().filter_map(|(node, event)| Some(((*node)?, &**event))).collect();
    let expected = [
        (1, "joins"),
        (2, "out_of_view"),
        (0, "leads"),
        (1, "out_of_view"),
        (2, "comes_back"),
        (1, "comes_back"),
        (2, "comes_back"),
        (3, "joins"),
        (1, "removed"),
    ];
    assert_eq!(told, expected);
}

fn held(session: u64, request: u64, slot: Option<u32>) -> Held {
    Held {
        session: SessionId { node: 0, incarnation: 10, number: session },
        request,
        granted: slot.map(|slot| Grant { slot, fence: (1 << 40) + request, group: 0 }),
        want: Want::Slot,
        since: Duration::from_secs(60),
        label: None,
        left: None,
        revoked: false,
    }
}

/// The list is asked for on another connection than the events, so it may be older than those that came before it.
#[test]
fn a_list_does_not_bring_back_what_events_have_ended() {
    let (mut recorder, path) = recorder("lists");
    let listing = Listing {
        name: "gpu".to_string(),
        definition: Definition::Slots(3),
        home: 0,
        slots: Vec::new(),
        pointers: Vec::new(),
        clients: vec![held(1, 1, Some(0)), held(1, 2, Some(1)), held(2, 1, Some(2)), held(3, 1, None)],
    };
    let ended = |session| SessionId { node: 0, incarnation: 10, number: session };
    recorder.watched(0).unwrap();
    let released = Event::Client {
        session: ended(1),
        request: 2,
        name: "gpu".into(),
        definition: Definition::Slots(3),
        want: Want::Slot,
        change: tokenwood::Change::Released(Grant { slot: 1, fence: (1 << 40) + 2, group: 0 }),
        label: None,
    };
    recorder.seen(0, &Seen::Event(released)).unwrap();
    let session = Event::SessionEnded { session: ended(2), ran_out: true, label: None };
    recorder.seen(0, &Seen::Event(session)).unwrap();
    recorder.listed(0, &Ok(vec![listing])).unwrap();
    recorder.listed(1, &Err("permission denied".to_string())).unwrap();
    let told: Vec<String> = written(&path).into_iter().map(|(_, event)| event).collect();
    assert_eq!(told, ["released", "session_ended", "holding", "waiting", "listed", "not_listed"]);
}
