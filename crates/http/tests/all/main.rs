//! The door over real sockets, in front of real nodes.

/// Waits until it is so.
macro_rules! until {
    ($what:expr) => {{
        let is_so = async {
            loop {
                if $what {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout($crate::SOON, is_so).await.expect(stringify!($what));
    }};
}

mod client;
mod encrypted;
mod judge;
mod keys;
mod metrics;
mod openapi;
mod page;
mod paths;
mod player;
#[path = "../../../cli/tests/all/json_schema/validator.rs"]
mod validator;
mod watching;

use std::time::Duration;

use client::Doors;
use serde_json::{Value, json};
use service::auth::{Change, Secret, Token};
use tokenwood::Admin;
use tokio::time::sleep;

/// Nothing here takes longer.
pub(crate) const SOON: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_script_takes_renews_and_releases() {
    let doors = Doors::start(2).await;
    let first = doors.send(0, "POST /v1/locks/team/backup/acquire?ttl=20s", "").await;
    assert_eq!((first.status, first.number("slot"), first.number("ttl_ms")), (200, 0, 20_000), "{first:?}");
    assert!((10_000..=20_000).contains(&first.number("left_ms")), "{first:?}");
    assert!(first.number("certain_ms") <= first.number("left_ms"), "{first:?}");

    // A taken lock says who holds it, also at another node.
    let taken = doors.send_with(1, "POST /v1/locks/team/backup/acquire", &["user-agent: cron"], "").await;
    assert_eq!(
        (taken.status, taken.problem(), &taken.body["waiting"]),
        (423, "taken", &json!(0)),
        "{taken:?}"
    );
    assert!(taken.head.contains("application/problem+json"), "{}", taken.head);
    let holder = &taken.body["holders"][0];
    assert_eq!((&holder["node"], &holder["fence"]), (&json!(0), &first.body["fence"]), "{taken:?}");

    let grant = json!({ "grant": first.text("grant") }).to_string();
    let renewed = doors.send(0, "PUT /v1/locks/team/backup/renew", &grant).await;
    assert_eq!(renewed.status, 200, "{renewed:?}");
    let elsewhere = doors.send(1, "PUT /v1/locks/team/backup/renew", &grant).await;
    assert_eq!((elsewhere.status, &elsewhere.body["node"]), (421, &json!(0)), "{elsewhere:?}");
    assert_eq!(doors.send(0, "DELETE /v1/locks/team/backup", &grant).await.status, 204);
    for again in ["DELETE /v1/locks/team/backup", "PUT /v1/locks/team/backup/renew"] {
        let again = doors.send(0, again, &grant).await;
        assert_eq!((again.status, again.problem()), (410, "lost"), "{again:?}");
    }
    let next = doors.send(1, "POST /v1/locks/team/backup/acquire", "").await;
    assert!(next.number("fence") > first.number("fence"), "{next:?}");
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_is_granted_and_one_that_hangs_up_leaves_the_queue() {
    let doors = Doors::start(1).await;
    let held = doors.send(0, "POST /v1/locks/x/acquire?ttl=4s", "").await;
    // It waits for longer than its ttl, and its promise is one of now.
    let waits = async { doors.send(0, "POST /v1/locks/x/acquire?wait=19s&ttl=3s", "").await };
    let gone = doors.begin(0, "POST /v1/locks/x/acquire?wait=60s", &[], "").await;
    let (granted, ()) = tokio::join!(waits, async {
        until!(doors.clients(0, "x").await == (1, 2));
        drop(gone);
        until!(doors.clients(0, "x").await == (1, 1));
    });
    assert_eq!(granted.status, 200, "the holder's ttl ran out: {granted:?}");
    assert!(granted.number("fence") > held.number("fence") && granted.number("left_ms") > 300, "{granted:?}");
    let late = doors.send(0, "POST /v1/locks/y/acquire?ttl=30s", "").await;
    assert_eq!(late.status, 200);
    let timed_out = doors.send(0, "POST /v1/locks/y/acquire?wait=200ms", "").await;
    assert_eq!((timed_out.status, timed_out.problem()), (408, "timed-out"), "{timed_out:?}");
    assert_eq!(timed_out.body["holders"][0]["fence"], late.body["fence"], "{timed_out:?}");
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_holds_several_and_ends_with_all_of_them() {
    let doors = Doors::start(2).await;
    let opened = doors.send(0, "POST /v1/sessions", r#"{"ttl": "4s", "label": "worker 7"}"#).await;
    assert_eq!((opened.status, opened.number("ttl_ms")), (201, 4000), "{opened:?}");
    let session = opened.text("session");
    let take = |name: &str, more: &str| {
        let (path, body) =
            (format!("POST /v1/locks/{name}/acquire"), format!(r#"{{"session": "{session}"{more}}}"#));
        let doors = &doors;
        async move { doors.send(0, &path, &body).await }
    };
    let (a, b) = (take("a", "").await, take("b", r#", "mode": "shared""#).await);
    let mut others = Vec::new();
    for number in 0..8 {
        others.push(take(&format!("c{number}"), "").await);
    }
    assert_eq!((a.status, b.status), (200, 200), "{a:?} {b:?}");
    assert_eq!(take("a", "").await.problem(), "taken", "a session is no thread");
    // Keep-alives keep it beyond its ttl.
    for _ in 0..10 {
        sleep(Duration::from_millis(500)).await;
        let kept = doors.send(0, &format!("PUT /v1/sessions/{session}"), "").await;
        assert_eq!((kept.status, &kept.body["revoked"]), (200, &json!([])), "{kept:?}");
    }
    let list = doors.send(0, "GET /v1/locks?holder=worker+7&kind=rwlock", "").await;
    assert_eq!(list.body["locks"].as_array().map(Vec::len), Some(1), "{list:?}");
    // An operator takes one away, and its client learns of it.
    let force = json!({ "slot": 0, "fence": a.number("fence") }).to_string();
    assert_eq!(doors.send(0, "POST /v1/locks/a/force", &force).await.status, 200);
    let kept = doors.send(0, &format!("PUT /v1/sessions/{session}"), "").await;
    let revoked = json!([{ "name": "a", "grant": a.text("grant"), "fence": a.number("fence") }]);
    assert_eq!(kept.body["revoked"], revoked, "{kept:?}");
    // Fences of different names can be equal: only this grant is lost.
    assert!(others.iter().any(|other| other.number("fence") == a.number("fence")), "{others:?}");
    for other in &others {
        let grant = json!({ "grant": other.text("grant") }).to_string();
        assert_eq!(doors.send(0, "PUT /v1/locks/other/renew", &grant).await.status, 200);
    }
    let renewed =
        doors.send(0, "PUT /v1/locks/a/renew", &json!({ "grant": a.text("grant") }).to_string()).await;
    assert_eq!((renewed.status, renewed.problem()), (410, "lost"), "{renewed:?}");

    assert_eq!(doors.send(1, &format!("PUT /v1/sessions/{session}"), "").await.status, 421);
    let stolen = format!("{}{}", &session[..session.len() - 32], "0".repeat(32));
    assert_eq!(doors.send(0, &format!("DELETE /v1/sessions/{stolen}"), "").await.status, 410);
    assert_eq!(doors.clients(0, "b").await, (1, 0));
    assert_eq!(doors.send(0, &format!("DELETE /v1/sessions/{session}"), "").await.status, 204);
    until!(doors.clients(0, "b").await == (0, 0));
    assert_eq!(doors.send(0, &format!("PUT /v1/sessions/{session}"), "").await.status, 410);
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_lock() {
    let doors = Doors::start(1).await;
    let take = async |path: &str| doors.send(0, &format!("POST /v1/locks/{path}"), "").await;
    let slots = [
        take("gpu/acquire?slots=2").await,
        take("gpu/acquire?slots=2").await,
        take("gpu/acquire?slots=2").await,
    ];
    assert_eq!(slots.map(|answer| answer.status), [200, 200, 423]);
    let readers = [take("book/acquire?mode=shared").await, take("book/acquire?mode=shared").await];
    assert_eq!(readers.map(|answer| answer.status), [200, 200]);
    assert_eq!(take("book/acquire?kind=rwlock").await.status, 423);
    let red = take("stage/acquire?group=red").await;
    let any = take("stage/acquire?group=blue&group=red").await;
    assert_eq!((red.text("group"), any.text("group")), ("red".to_string(), "red".to_string()));
    assert_eq!(take("stage/acquire?group=blue").await.status, 423);
    let other = take("stage/acquire?slots=3").await;
    assert_eq!(
        (other.status, other.problem(), &other.body["defined"]["kind"]),
        (409, "defined-otherwise", &json!("room"))
    );

    let define = |body: &'static str| doors.send(0, "PUT /v1/definitions/pool", body);
    assert_eq!(define(r#"{"kind": "semaphore", "slots": 1}"#).await.status, 200);
    assert_eq!(take("pool/acquire").await.status, 200);
    assert_eq!(take("pool/acquire").await.status, 423);
    assert_eq!(define(r#"{"kind": "semaphore", "slots": 2}"#).await.status, 200);
    until!(take("pool/acquire").await.status == 200);
    assert_eq!(define(r#"{"kind": "room"}"#).await.problem(), "defined-otherwise");
    let all = doors.send(0, "GET /v1/definitions", "").await;
    assert_eq!(all.body["definitions"], json!([{ "kind": "semaphore", "name": "pool", "slots": 2 }]));
    assert_eq!(doors.send(0, "DELETE /v1/definitions/pool", "").await.status, 204);
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_understood_is_refused_and_nothing_happens() {
    let doors = Doors::start(1).await;
    let large = format!(r#"{{"label": "{}"}}"#, "x".repeat(70_000));
    let long = format!("POST /v1/locks/{}/acquire", "x".repeat(300));
    let acquire = "POST /v1/locks/x/acquire";
    for (request, body, status, problem) in [
        (acquire, "{", 400, "bad-request"),
        (acquire, "[]", 400, "bad-request"),
        (acquire, r#"{"wiat": "1s"}"#, 400, "bad-request"),
        (acquire, r#"{"ttl": "soon"}"#, 400, "bad-request"),
        (acquire, r#"{"ttl": true}"#, 400, "bad-request"),
        (acquire, r#"{"ttl": "1ms"}"#, 400, "not-possible"),
        (acquire, r#"{"slots": 0}"#, 400, "not-possible"),
        (acquire, r#"{"slots": -1}"#, 400, "bad-request"),
        (acquire, r#"{"slots": 2, "mode": "shared"}"#, 400, "bad-request"),
        (acquire, r#"{"kind": "room"}"#, 400, "bad-request"),
        (acquire, r#"{"kind": "lock"}"#, 400, "bad-request"),
        (acquire, r#"{"session": "1.2.3"}"#, 400, "bad-request"),
        (acquire, &large, 413, "too-large"),
        ("POST /v1/locks/x/acquire?wait=1s", r#"{"wait": "1s"}"#, 400, "bad-request"),
        ("POST /v1/locks/x/acquire?ttl=1s&ttl=2s", "", 400, "bad-request"),
        ("POST /v1/locks/x/take", "", 405, "no-such-method"),
        ("POST /v1/locks/acquire", "", 405, "no-such-method"),
        ("POST /v1/locks/%0a/acquire", "", 400, "not-possible"),
        (&long, "", 400, "not-possible"),
        ("DELETE /v1/locks/x", "", 400, "bad-request"),
        ("DELETE /v1/locks/x?grant=no", "", 400, "bad-request"),
        ("PATCH /v1/locks/x", "", 405, "no-such-method"),
        ("GET /v1/lcks", "", 404, "not-found"),
        ("GET /v1/locks?after=nonsense", "", 400, "bad-request"),
        ("GET /v1/watch?kind=mutex", "", 400, "bad-request"),
        ("PUT /v1/definitions/x", r#"{"kind": "semaphore"}"#, 400, "bad-request"),
        ("POST /v1/locks/x/force", r#"{"slot": 0, "fence": 1}"#, 404, "not-found"),
    ] {
        let answer = doors.send(0, request, body).await;
        assert_eq!((answer.status, answer.problem()), (status, problem), "{request} {body:.60}: {answer:?}");
    }
    assert_eq!(doors.send_with(0, acquire, &["content-type: text/plain"], "hi").await.status, 415);
    let slow = doors.send_with(0, acquire, &["content-length: 2"], "").await;
    assert_eq!((slow.status, slow.problem()), (400, "bad-request"), "{slow:?}");
    let wrong = doors.send_with(0, acquire, &["authorization: Bearer short"], "").await;
    assert_eq!((wrong.status, wrong.problem()), (401, "no-token"));
    let locks = doors.send(0, "GET /v1/locks", "").await;
    assert_eq!(locks.body["locks"], json!([]), "{locks:?}");
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_count_here_as_anywhere() {
    let doors = Doors::start(1).await;
    let (root, ci) = (Secret::new([1; 32]), Secret::new([2; 32]));
    let mut admin = Admin::connect(&doors.cluster.endpoints[0]).await.unwrap();
    admin.change_rights(Change::Secure { admin: root.hash() }).await.unwrap();
    let bearer = |secret: &Secret| format!("authorization: Bearer {}", secret.reveal());
    until!(doors.send(0, "GET /v1/status", "").await.status == 401);
    let access = tokenwood::Access { token: Some(root.clone()), ..Default::default() };
    let mut admin = Admin::connect_with(&doors.cluster.endpoints[0], &access).await.unwrap();
    let token = Token { principal: "ci".into(), expires: None };
    admin.change_rights(Change::AddToken { hash: ci.hash(), token }).await.unwrap();
    let (who, prefix, actions) = ("ci".parse().unwrap(), "ci/".into(), "acquire,read".parse().unwrap());
    admin.change_rights(Change::Allow { who, prefix, actions }).await.unwrap();

    let (root, ci) = (bearer(&root), bearer(&ci));
    let send = async |request: &str, token: &str| doors.send_with(0, request, &[token], "").await;
    until!(send("POST /v1/locks/ci/x/acquire", &ci).await.status == 200);
    let denied = send("POST /v1/locks/db/acquire", &ci).await;
    assert_eq!((denied.status, denied.problem()), (403, "not-allowed"), "{denied:?}");
    assert_eq!(send("POST /v1/locks/db/acquire", &root).await.status, 200);
    let names = |answer: &client::Answer| -> Vec<Value> {
        answer.body["locks"].as_array().unwrap().iter().map(|lock| lock["name"].clone()).collect()
    };
    assert_eq!(names(&send("GET /v1/locks", &ci).await), ["ci/x"]);
    assert_eq!(names(&send("GET /v1/locks", &root).await), ["ci/x", "db"]);
    assert_eq!(send("GET /v1/locks/db", &ci).await.status, 403);
    assert_eq!(doors.send(0, "GET /v1/locks", "").await.status, 401);
    assert_eq!(send("DELETE /v1/definitions/db", &ci).await.status, 403);
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_says_whether_the_node_serves() {
    let doors = Doors::start(3).await;
    assert_eq!(doors.send(0, "GET /livez", "").await.status, 200);
    let ready = doors.send(0, "GET /readyz?verbose", "").await;
    assert_eq!(ready.body, "[+] lease ok\n[+] members ok\n[+] disk ok\nok\n");
    let members = doors.send(1, "GET /v1/members", "").await;
    assert_eq!(members.body["nodes"].as_array().map(Vec::len), Some(3));
    let status = doors.send(1, "GET /v1/status", "").await;
    assert_eq!(
        (status.number("node"), status.body["certificate_left_ms"].is_null()),
        (1, true),
        "{status:?}"
    );
    doors.cluster.hosts[2].stop().await;
    until!(doors.send(0, "GET /readyz", "").await.status == 503);
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn terraform_locks_and_unlocks_its_state() {
    let doors = Doors::start(2).await;
    let info =
        |id: &str| json!({ "ID": id, "Operation": "apply", "Who": "ann@build", "Path": "" }).to_string();
    let send = async |node, method: &str, body: &str| {
        doors.send(node, &format!("{method} /v1/terraform/infra/prod"), body).await
    };
    assert_eq!(send(0, "LOCK", &info("1")).await.status, 200);
    let taken = send(0, "LOCK", &info("2")).await;
    assert_eq!(
        (taken.status, taken.text("ID"), taken.text("Who")),
        (423, "1".to_string(), "ann@build".to_string())
    );
    let elsewhere = send(1, "LOCK", &info("2")).await;
    assert_eq!(elsewhere.status, 423);
    assert!(elsewhere.text("Who").contains("terraform apply ann@build"), "{elsewhere:?}");
    assert_eq!(send(0, "UNLOCK", &info("2")).await.status, 409);
    assert_eq!(send(0, "UNLOCK", &info("1")).await.status, 200);
    assert_eq!(send(0, "UNLOCK", &info("1")).await.status, 410);
    assert_eq!(send(1, "LOCK", &info("2")).await.status, 200);
    assert_eq!(send(1, "UNLOCK", "").await.status, 200, "forced");
    assert_eq!(send(0, "GET", "").await.problem(), "no-such-method");
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_one_session_may_come_together() {
    let doors = std::sync::Arc::new(Doors::start(1).await);
    let session = doors.send(0, "POST /v1/sessions", "").await.text("session");
    let mut tasks = tokio::task::JoinSet::new();
    for name in 0..64 {
        let (doors, body) = (doors.clone(), json!({ "session": session }).to_string());
        tasks.spawn(
            async move { doors.send(0, &format!("POST /v1/locks/{name}/acquire"), &body).await.status },
        );
    }
    assert!(tasks.join_all().await.into_iter().all(|status| status == 200));
    assert_eq!(doors.send(0, &format!("DELETE /v1/sessions/{session}"), "").await.status, 204);
}
