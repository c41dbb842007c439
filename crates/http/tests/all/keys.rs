//! Idempotency-Keys: requests that are sent again, and requests that are withdrawn.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::sleep;

use crate::client::Doors;

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_sent_again_takes_nothing_more() {
    let doors = Doors::start(1).await;
    let key = ["idempotency-key: 7f"];
    let (path, other) = ("POST /v1/locks/s/acquire?slots=5", "POST /v1/locks/s/acquire?slots=5&ttl=9s");
    let (one, two) = tokio::join!(doors.send_with(0, path, &key, ""), doors.send_with(0, path, &key, ""));
    let three = doors.send_with(0, path, &key, "").await;
    assert_eq!((one.text("grant"), two.text("grant")), (two.text("grant"), three.text("grant")));
    assert_eq!(doors.clients(0, "s").await, (1, 0));
    let reused = doors.send_with(0, other, &key, "").await;
    assert_eq!((reused.status, reused.problem()), (422, "key-reused"), "{reused:?}");
    let second = doors.send_with(0, path, &["idempotency-key: 8a"], "").await;
    assert_eq!((second.number("slot"), doors.clients(0, "s").await), (1, (2, 0)), "{second:?}");

    // What was released stays so.
    doors.send(0, "DELETE /v1/locks/s", &json!({ "grant": one.text("grant") }).to_string()).await;
    assert_eq!(doors.send_with(0, path, &key, "").await.status, 410);
    // A client that hung up while it waited begins anew.
    let held = doors.send(0, "POST /v1/locks/m/acquire", "").await;
    let waits = doors.begin(0, "POST /v1/locks/m/acquire?wait=1m", &["idempotency-key: 9"], "").await;
    until!(doors.clients(0, "m").await == (1, 1));
    drop(waits);
    until!(doors.clients(0, "m").await == (1, 0));
    doors.send(0, "DELETE /v1/locks/m", &json!({ "grant": held.text("grant") }).to_string()).await;
    let again = doors.send_with(0, "POST /v1/locks/m/acquire?wait=1m", &["idempotency-key: 9"], "").await;
    assert_eq!(again.status, 200, "{again:?}");
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_may_wait_for_another_time_when_it_is_sent_again() {
    let doors = Doors::start(1).await;
    let key = ["idempotency-key: a"];
    let held = doors.send(0, "POST /v1/locks/w/acquire?ttl=1h", "").await;
    let first = doors.send_with(0, "POST /v1/locks/w/acquire?wait=50s", &key, "");
    let others = async {
        until!(doors.clients(0, "w").await == (1, 1));
        // It waits no longer than it says, although the first goes on.
        let began = Instant::now();
        let short = doors.send_with(0, "POST /v1/locks/w/acquire?wait=300ms", &key, "").await;
        assert_eq!((short.status, short.problem()), (408, "timed-out"), "{short:?}");
        assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
        let now = doors.send_with(0, "POST /v1/locks/w/acquire", &key, "").await;
        assert_eq!((now.status, now.problem(), &now.body["waiting"]), (423, "taken", &json!(1)), "{now:?}");
        assert_eq!(doors.clients(0, "w").await, (1, 1), "one waiter for one key");
        let last = doors.send_with(0, "POST /v1/locks/w/acquire?wait=40s", &key, "");
        let release = async {
            sleep(Duration::from_millis(100)).await;
            doors.send(0, "DELETE /v1/locks/w", &json!({ "grant": held.text("grant") }).to_string()).await
        };
        tokio::join!(last, release).0
    };
    let (first, last) = tokio::join!(first, others);
    assert_eq!((first.status, last.status), (200, 200), "{first:?} {last:?}");
    assert_eq!(first.text("grant"), last.text("grant"));
    // Everything else belongs to the key.
    for other in ["w/acquire?ttl=9s", "w/acquire?kind=rwlock", "w/acquire?label=x", "v/acquire?wait=1s"] {
        let reused = doors.send_with(0, &format!("POST /v1/locks/{other}"), &key, "").await;
        assert_eq!((reused.status, reused.problem()), (422, "key-reused"), "{other}: {reused:?}");
    }
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_can_be_withdrawn_by_its_key() {
    let doors = Doors::start(1).await;
    let withdraw = async |name: &str, key: &str| {
        let key = format!("idempotency-key: {key}");
        doors.send_with(0, &format!("DELETE /v1/locks/{name}"), &[&key], "").await
    };
    let acquire = async |request: &str, key: &str| {
        let key = format!("idempotency-key: {key}");
        doors.send_with(0, &format!("POST /v1/locks/{request}"), &[&key], "").await
    };
    // What it took is released, with a session of its own or in one of several.
    let session = doors.send(0, "POST /v1/sessions?ttl=1h", "").await.text("session");
    let paths = ["t/acquire?ttl=1h".to_string(), format!("t/acquire?session={session}")];
    for (key, path) in ["k1", "k2"].iter().zip(&paths) {
        assert_eq!(acquire(path, key).await.status, 200);
        assert_eq!(withdraw("other", key).await.problem(), "key-reused");
        assert_eq!(doors.clients(0, "t").await, (1, 0));
        assert_eq!(withdraw("t", key).await.status, 204);
        assert_eq!(doors.clients(0, "t").await, (0, 0));
        assert_eq!(withdraw("t", key).await.status, 204, "twice does no harm");
        let again = acquire(path, key).await;
        assert_eq!((again.status, again.problem()), (410, "lost"), "it takes nothing any more: {again:?}");
    }
    // What waits is cancelled.
    let held = doors.send(0, "POST /v1/locks/t/acquire?ttl=1h", "").await;
    let paths = ["t/acquire?wait=60s".to_string(), format!("t/acquire?wait=60s&session={session}")];
    for (key, path) in ["k3", "k4"].iter().zip(&paths) {
        let (waits, withdrawn) = tokio::join!(acquire(path, key), async {
            until!(doors.clients(0, "t").await == (1, 1));
            withdraw("t", key).await
        });
        assert_eq!((waits.status, waits.problem(), withdrawn.status), (410, "lost", 204), "{waits:?}");
        until!(doors.clients(0, "t").await == (1, 0));
        assert_eq!(withdraw("t", key).await.status, 204);
    }
    // A request that is overtaken by its withdrawal takes nothing.
    for _ in 0..2 {
        let unknown = withdraw("u", "k5").await;
        assert_eq!((unknown.status, unknown.problem()), (404, "not-found"), "{unknown:?}");
    }
    assert_eq!(acquire("u/acquire", "k5").await.problem(), "lost");
    assert_eq!(doors.clients(0, "u").await, (0, 0));
    // A grant is released by itself, whatever the key says.
    let grant = json!({ "grant": held.text("grant") }).to_string();
    let released = doors.send_with(0, "DELETE /v1/locks/t", &["idempotency-key: k6"], &grant).await;
    assert_eq!((released.status, doors.clients(0, "t").await), (204, (0, 0)));
    doors.cluster.stop().await;
}
