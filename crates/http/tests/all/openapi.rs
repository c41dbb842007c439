//! The served document: every operation and every type of problem of a real node is in it, and nothing else is.

use serde_json::{Value, json};
use service::auth::{Change, Quota, QuotaOf, Secret, Token};
use tokenwood::Admin;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::client::Doors;
use crate::{SOON, validator};

/// `Doors::send` compares each answer with the document; here is one of each.
#[tokio::test(flavor = "multi_thread")]
async fn every_operation_and_every_problem_is_as_documented() {
    let doors = Doors::start(2).await;
    let send = async |request: &str, body: Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        doors.send(0, request, &body).await
    };
    for path in
        ["/openapi.json", "/livez", "/readyz?verbose", "/metrics", "/v1/status", "/v1/members", "/v1/locks"]
    {
        until!(send(&format!("GET {path}"), Value::Null).await.status == 200);
    }
    let held = send("POST /v1/locks/a/b/acquire?label=me", Value::Null).await;
    let (grant, fence) = (json!({ "grant": held.text("grant") }), held.number("fence"));
    send("PUT /v1/locks/a/b/renew", grant.clone()).await;
    send("POST /v1/locks/a/b/acquire", Value::Null).await; // taken
    send("POST /v1/locks/a/b/acquire?wait=50ms", Value::Null).await; // timed-out
    send("POST /v1/locks/a/b/acquire?mode=shared", Value::Null).await; // defined-otherwise
    send("POST /v1/locks/a/b/acquire?ttl=1ms", Value::Null).await; // not-possible
    send("POST /v1/locks/a/b/acquire", json!({ "wat": 1 })).await; // bad-request
    send("POST /v1/locks/a/b/acquire", json!({ "label": "x".repeat(70_000) })).await; // too-large
    doors.send_with(0, "POST /v1/locks/a/b/acquire", &["content-type: text/plain"], "x").await;
    doors.send(1, "PUT /v1/locks/a/b/renew", &grant.to_string()).await; // wrong-node
    let stale = held.text("grant").replace(&format!(".{fence}."), &format!(".{}.", fence + 1));
    send("DELETE /v1/locks/a/b", json!({ "grant": stale })).await; // stale
    send("POST /v1/locks/a/b/force", json!({ "slot": 0, "fence": fence + 1 })).await; // not-found
    send("GET /v1/locks/a/b", Value::Null).await;
    for rest in ["?mode=shared&ttl=9s", "?group=x&group=y&ttl=9s"] {
        send(&format!("POST /v1/locks/kind{}/acquire{rest}", rest.len()), Value::Null).await;
    }
    send("GET /v1/locks?nodes=all", Value::Null).await;
    send("GET /v1/cluster", Value::Null).await;
    send("POST /v1/locks/a/b/force", json!({ "slot": 0, "fence": fence })).await;
    send("DELETE /v1/locks/a/b", grant).await;
    let session = send("POST /v1/sessions", json!({ "ttl": "30s" })).await.text("session");
    send(&format!("PUT /v1/sessions/{session}"), Value::Null).await;
    send(&format!("DELETE /v1/sessions/{session}"), Value::Null).await;
    until!(send(&format!("PUT /v1/sessions/{session}"), Value::Null).await.problem() == "lost");
    send("PUT /v1/definitions/d", json!({ "kind": "semaphore", "slots": 2 })).await;
    send("GET /v1/definitions", Value::Null).await;
    send("DELETE /v1/definitions/d", Value::Null).await;
    let key = ["idempotency-key: 1"];
    doors.send_with(0, "POST /v1/locks/k/acquire", &key, "").await;
    doors.send_with(0, "POST /v1/locks/k/acquire?ttl=9s", &key, "").await; // key-reused
    doors.send_with(0, "DELETE /v1/locks/k", &["idempotency-key: 2"], "").await; // not-found
    let root = rights(&doors).await;
    doors.cluster.hosts[0].stop().await;
    until!(doors.send_with(0, "POST /v1/locks/late/acquire", &[&root], "").await.problem() == "unavailable");
    // The one type is for paths that are not in the document; the stream of events has a test of its own.
    assert_eq!(doors.judge.missing(), ["watchLocks", "no-such-method"]);
    doors.cluster.stop().await;
}

/// Callers without a token, with too few rights, and with a quota that is used up. Returns what an administrator sends.
async fn rights(doors: &Doors) -> String {
    let (root, ci) = (Secret::new([1; 32]), Secret::new([2; 32]));
    let mut admin = Admin::connect(&doors.cluster.endpoints[0]).await.unwrap();
    admin.change_rights(Change::Secure { admin: root.hash() }).await.unwrap();
    until!(doors.send(0, "GET /v1/status", "").await.problem() == "no-token");
    // An operation asks who calls unless the document says that it does not.
    let paths = doors.judge.document["paths"].as_object().unwrap();
    for (path, item) in paths {
        for method in item.as_object().unwrap().keys().filter(|key| item[*key]["operationId"].is_string()) {
            let path = path.replace("{name}", "n").replace("{session}", &format!("0.1.1.{}", "0".repeat(32)));
            let query = if path.ends_with("/force") { "?slot=0&fence=1" } else { "?" };
            let query = if path.contains("definitions/") && method == "put" { "?kind=room" } else { query };
            let query = if path == "/v1/locks/n" && method == "delete" || path.ends_with("renew") {
                continue;
            } else {
                query
            };
            let request = format!("{} {path}{query}", method.to_uppercase());
            let is_public = item[method]["security"] == json!([]);
            let answer = doors.send(0, &request, "").await;
            // A session, and a grant, are secrets themselves: a caller that has one needs no token.
            let is_secret = path.starts_with("/v1/sessions/");
            assert_eq!(answer.problem() == "no-token", !is_public && !is_secret, "{request}: {answer:?}");
        }
    }
    let access = tokenwood::Access { token: Some(root.clone()), ..Default::default() };
    let mut admin = Admin::connect_with(&doors.cluster.endpoints[0], &access).await.unwrap();
    let token = Token { principal: "ci".into(), expires: None };
    admin.change_rights(Change::AddToken { hash: ci.hash(), token }).await.unwrap();
    let (who, prefix, actions) = ("ci".parse().unwrap(), "ci/".into(), "acquire,read".parse().unwrap());
    admin.change_rights(Change::Allow { who, prefix, actions }).await.unwrap();
    let quota = Quota { slots: Some(1), ..Quota::default() };
    admin.change_rights(Change::SetQuota { of: QuotaOf::Principal("ci".into()), quota }).await.unwrap();
    let header = format!("authorization: Bearer {}", ci.reveal());
    let as_ci = async |request: &str| doors.send_with(0, request, &[&header], "").await;
    until!(as_ci("POST /v1/locks/other/acquire").await.problem() == "not-allowed");
    until!(as_ci("POST /v1/locks/ci/x/acquire").await.status == 200);
    until!(as_ci("POST /v1/locks/ci/y/acquire").await.problem() == "quota");
    // A caller sees of other nodes, too, only what it may read.
    let root = format!("authorization: Bearer {}", root.reveal());
    let taken =
        async |name: &str| doors.send_with(1, &format!("POST /v1/locks/{name}/acquire"), &[&root], "").await;
    until!(taken("secret").await.status == 200);
    until!(taken("ci/z").await.status == 200);
    // Node 1 learns of the new rights a little later, and says so: until then it is under `no_answer`.
    let seen = async || as_ci("GET /v1/locks?nodes=all").await;
    until!(seen().await.body["no_answer"] == json!([]));
    let seen = seen().await;
    let names = seen.body["locks"].as_array().unwrap().iter().map(|lock| lock["name"].as_str().unwrap());
    assert_eq!((names.collect::<Vec<_>>(), seen.status), (vec!["ci/x", "ci/z"], 200), "{seen:?}");
    root
}

/// A method that is not in the document is refused at each of its paths.
#[tokio::test(flavor = "multi_thread")]
async fn methods_that_are_not_documented_are_refused() {
    let doors = Doors::start(1).await;
    let mut refused = 0;
    for path in doors.judge.document["paths"].as_object().unwrap().keys() {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "QUERY"] {
            let path = path.replace("{name}", "n").replace("{session}", "s");
            let request = format!("{method} {path}");
            if doors.judge.operation(&request).is_none() {
                let answer = doors.send(0, &request, "").await;
                assert_eq!((answer.status, answer.problem()), (405, "no-such-method"), "{request}");
                refused += 1;
            }
        }
    }
    assert!(refused > 80, "only {refused} were tried");
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_as_documented() {
    let doors = Doors::start(1).await;
    let mut stream = doors.begin(0, "GET /v1/watch", &[], "").await;
    let held = doors.send(0, "POST /v1/locks/e/acquire?ttl=1h&label=me", "").await;
    doors.send(0, "POST /v1/locks/e/acquire?wait=50ms", "").await;
    let force = json!({ "slot": 0, "fence": held.number("fence"), "at_once": true });
    assert_eq!(doors.send(0, "POST /v1/locks/e/force", &force.to_string()).await.status, 200);
    let next = doors.send(0, "POST /v1/locks/f/acquire?group=g", "").await;
    doors.send(0, "DELETE /v1/locks/f", &json!({ "grant": next.text("grant") }).to_string()).await;
    let document = &doors.judge.document;
    let answer = &document["paths"]["/v1/watch"]["get"]["responses"]["200"]["content"]["text/event-stream"];
    let (mut text, mut names) = (String::new(), Vec::new());
    while !names.contains(&"session-ended".to_string()) || !names.contains(&"released".to_string()) {
        let mut bytes = [0; 4096];
        let count =
            timeout(SOON, stream.read(&mut bytes)).await.unwrap_or_else(|_| panic!("{names:?}")).unwrap();
        assert!(count > 0, "it ended after {names:?}");
        text += std::str::from_utf8(&bytes[..count]).unwrap();
        let complete = text.rsplit_once("\n\n").map_or("", |(complete, _)| complete);
        names.clear();
        for event in complete.split("\n\n") {
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
            let (Some(name), Some(data)) = (field("event: "), field("data: ")) else { continue };
            let schema = answer["x-events"].get(name).unwrap_or_else(|| panic!("{name} is not documented"));
            let wrong = validator::problems(document, schema, &serde_json::from_str(data).unwrap());
            assert_eq!(wrong, [""; 0], "{name}: {data}");
            names.push(name.to_string());
        }
    }
    for name in ["watching", "waits", "granted", "gave-up", "force-released"] {
        assert!(names.contains(&name.to_string()), "no {name}: {names:?}");
    }
    let refused = doors.send(0, "GET /v1/watch?kind=mutex", "").await;
    assert_eq!((refused.status, refused.problem()), (400, "bad-request"));
    doors.cluster.stop().await;
}
