//! Watches over server-sent events, and clients that come back to them.

use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::SOON;
use crate::client::Doors;

/// A watcher, and what it has read.
struct Watcher {
    stream: TcpStream,
    seen: String,
}

impl Watcher {
    async fn begin(doors: &Doors, path: &str, last: Option<&str>) -> Watcher {
        let headers: Vec<String> = last.iter().map(|last| format!("last-event-id: {last}")).collect();
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        Watcher { stream: doors.begin(0, &format!("GET {path}"), &headers, "").await, seen: String::new() }
    }

    async fn until(&mut self, part: &str) -> &str {
        while !self.seen.contains(part) {
            let mut bytes = [0; 4096];
            let count = timeout(SOON, self.stream.read(&mut bytes)).await.expect(part).unwrap();
            assert!(count > 0, "it ended without {part}: {}", self.seen);
            self.seen += std::str::from_utf8(&bytes[..count]).unwrap();
        }
        &self.seen
    }

    /// The id of the last event.
    fn last(&self) -> String {
        let last = self.seen.rsplit("id: ").next().unwrap();
        last.lines().next().unwrap().to_string()
    }
}

async fn cycle(doors: &Doors, name: &str) -> u64 {
    let granted = doors.send(0, &format!("POST /v1/locks/{name}/acquire"), "").await;
    let body = json!({ "grant": granted.text("grant") }).to_string();
    doors.send(0, &format!("DELETE /v1/locks/{name}"), &body).await;
    granted.number("fence")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_sees_what_happens_as_it_happens() {
    let doors = Doors::start(1).await;
    let mut watcher = Watcher::begin(&doors, "/v1/watch?prefix=a/", Some("1.2.3")).await;
    // A client that comes back to a watch that is not there is told that it may have missed something.
    assert!(watcher.until("\"gap\":true").await.contains("text/event-stream"));
    cycle(&doors, "b/x").await;
    let fence = cycle(&doors, "a/x").await;
    watcher.until("event: granted").await;
    let seen = watcher.until("event: released").await;
    assert!(seen.contains(&fence.to_string()) && !seen.contains("b/x"), "{seen}");
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_that_comes_back_misses_nothing() {
    let doors = Doors::start(1).await;
    let mut watcher = Watcher::begin(&doors, "/v1/watch?prefix=a/", None).await;
    watcher.until("event: watching").await;
    let seen = cycle(&doors, "a/seen").await;
    watcher.until("event: granted").await;
    let last = watcher.last();
    watcher.until("event: released").await;
    drop(watcher);
    // The node notices that the watcher is gone when it writes.
    let missed = cycle(&doors, "a/missed").await;
    until!({
        let mut again = Watcher::begin(&doors, "/v1/watch?prefix=a/", Some(&last)).await;
        again.until("event: resumed").await;
        if again.until("\n\n").await.contains("\"gap\":false") {
            let text = again.until("a/missed").await.to_string();
            assert!(text.contains("event: released"), "{text}");
            again.until(&missed.to_string()).await;
            assert!(!again.seen.contains("event: granted\ndata: {\"name\":\"a/seen\""), "{}", again.seen);
            assert_ne!(seen, 0);
            true
        } else {
            false
        }
    });
    // Another filter is another watch.
    let mut other = Watcher::begin(&doors, "/v1/watch", Some(&last)).await;
    other.until("\"gap\":true").await;
    doors.cluster.stop().await;
}
