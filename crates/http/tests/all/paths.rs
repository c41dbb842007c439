//! What a path means, and what listings of all nodes have.

use std::collections::BTreeSet;

use serde_json::json;

use crate::client::{Answer, Doors};

#[tokio::test(flavor = "multi_thread")]
async fn a_verb_is_one_only_if_it_is_not_encoded() {
    let doors = Doors::start(1).await;
    let granted = doors.send(0, "POST /v1/locks/a%2Facquire/acquire", "").await;
    assert_eq!((granted.status, granted.text("name")), (200, "a/acquire".to_string()), "{granted:?}");
    assert_eq!(doors.clients(0, "a%2Facquire").await, (1, 0));
    for (request, allow) in [
        ("GET /v1/locks/a/acquire", "POST"),
        ("DELETE /v1/locks/a/acquire", "POST"),
        ("PATCH /v1/locks/a/acquire", "POST"),
        ("POST /v1/locks/a/renew", "PUT"),
        ("PUT /v1/locks/a/force", "POST"),
        ("POST /v1/locks/a%2Facquire", "GET,HEAD,DELETE"),
        ("PUT /v1/locks/a?grant=x&grant=y", "GET,HEAD,DELETE"),
        ("PATCH /v1/locks/a", "GET,HEAD,DELETE"),
        ("GET /v1/terraform/a", "LOCK,UNLOCK"),
    ] {
        let answer = doors.send(0, request, "").await;
        assert_eq!((answer.status, answer.problem()), (405, "no-such-method"), "{request}: {answer:?}");
        assert_eq!(answer.header("allow"), Some(allow), "{request}");
    }
    let grant = json!({ "grant": granted.text("grant") }).to_string();
    assert_eq!(doors.send(0, "DELETE /v1/locks/a%2Facquire", &grant).await.status, 204);
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_refused_as_a_problem() {
    let doors = Doors::start(1).await;
    let (long, held) = ("x".repeat(300), doors.send(0, "POST /v1/locks/f/acquire", "").await);
    let fence = held.number("fence");
    for (request, problem) in [
        ("POST /v1/locks/%ff/acquire".to_string(), "bad-request"),
        ("PUT /v1/definitions/%ff?kind=room".to_string(), "bad-request"),
        ("PUT /v1/sessions/%ff".to_string(), "bad-request"),
        (format!("GET /v1/locks/{long}"), "not-possible"),
        (format!("POST /v1/locks/{long}/force?slot=0&fence=1"), "not-possible"),
        (format!("POST /v1/locks/f/force?slot=0&fence={fence}&at_once=perhaps"), "bad-request"),
    ] {
        let answer = doors.send(0, &request, "").await;
        assert_eq!((answer.status, answer.problem()), (400, problem), "{request}: {answer:?}");
    }
    let session = doors.send(0, "POST /v1/sessions", "").await.text("session");
    let wrong = ["authorization: Bearer short"];
    assert_eq!(doors.send_with(0, &format!("PUT /v1/sessions/{session}"), &wrong, "").await.status, 401);
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_of_all_nodes_has_what_each_of_them_has() {
    let doors = Doors::start(3).await;
    let names = |answer: &Answer| -> Vec<String> {
        let locks = answer.body["locks"].as_array().unwrap_or_else(|| panic!("{answer:?}"));
        locks.iter().map(|lock| lock["name"].as_str().unwrap().to_string()).collect()
    };
    for node in 0..3 {
        let own = format!("POST /v1/locks/own-{node}/acquire?ttl=1h");
        assert_eq!(doors.send(node, &own, "").await.status, 200);
        assert_eq!(doors.send(node, "POST /v1/locks/all/acquire?mode=shared&ttl=1h", "").await.status, 200);
    }
    assert_eq!(names(&doors.send(1, "GET /v1/locks?nodes=one", "").await), ["own-1", "all"]);
    let all = doors.send(1, "GET /v1/locks?nodes=all", "").await;
    assert_eq!(names(&all), ["own-0", "own-1", "own-2", "all"], "{all:?}");
    let clients = all.body["locks"][3]["clients"].as_array().unwrap();
    let nodes: BTreeSet<u64> = clients.iter().filter_map(|client| client["node"].as_u64()).collect();
    assert_eq!((nodes, &all.body["no_answer"]), (BTreeSet::from([0, 1, 2]), &json!([])), "{all:?}");
    let some = doors.send(2, "GET /v1/locks?nodes=all&prefix=own-&kind=mutex", "").await;
    assert_eq!(names(&some), ["own-0", "own-1", "own-2"]);

    // A page has an end, and the next one begins there, at each node.
    let session = doors.send(0, "POST /v1/sessions?ttl=1h", "").await.text("session");
    for number in 0..1100 {
        let body = json!({ "session": session }).to_string();
        let taken = doors.send(0, &format!("POST /v1/locks/many-{number:04}/acquire"), &body).await;
        assert_eq!(taken.status, 200, "{taken:?}");
    }
    let (mut seen, mut request, mut pages) = (Vec::new(), "GET /v1/locks?nodes=all".to_string(), 0);
    while pages < 20 {
        let page = doors.send(1, &request, "").await;
        pages += 1;
        for lock in page.body["locks"].as_array().unwrap_or_else(|| panic!("{page:?}")) {
            let clients = lock["clients"].as_array().unwrap().iter();
            seen.extend(clients.map(|client| format!("{} {}", lock["name"], client["node"])));
        }
        let Some(next) = page.body["next"].as_str() else { break };
        let encoded: String = next.bytes().map(|byte| format!("%{byte:02x}")).collect();
        request = format!("GET /v1/locks?nodes=all&after={encoded}");
    }
    assert!((2..20).contains(&pages), "{pages} pages");
    assert_eq!((seen.len(), seen.iter().collect::<BTreeSet<_>>().len()), (1106, 1106));
    let wrong = doors.send(1, "GET /v1/locks?nodes=all&after=s..x", "").await;
    assert_eq!((wrong.status, wrong.problem()), (400, "bad-request"), "{wrong:?}");

    // A node that does not answer is named.
    doors.cluster.hosts[2].stop().await;
    until!({
        let answer = doors.send(0, "GET /v1/locks?nodes=all&prefix=own-0", "").await;
        names(&answer) == ["own-0"] && answer.body["no_answer"] == json!([2])
    });
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_place_takes_no_lock() {
    let doors = Doors::start(1).await;
    // The name of the host in these tests is 'door'.
    for (origin, status) in [("http://example.org", 403), ("null", 403), ("http://door", 200)] {
        let headers = [&*format!("origin: {origin}")];
        let answer = doors.send_with(0, "POST /v1/locks/by-a-page/acquire?ttl=1h", &headers, "").await;
        assert_eq!(answer.status, status, "{origin}: {answer:?}");
        if status == 403 {
            assert_eq!(answer.problem(), "not-allowed");
        }
    }
    doors.cluster.stop().await;
}
