//! What nodes of this process say, collected as an embedding program would.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, Once};
use std::time::Duration;

use client::{Observer, Tokenwood};
use node::LocalCluster;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What the nodes of all tests said, as `target: message field=value …`.
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Begins to collect.
pub(crate) fn collect() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Collector).unwrap());
}

/// The lines so far that contain this.
pub(crate) fn lines(part: &str) -> Vec<String> {
    LINES.lock().unwrap().iter().filter(|line| line.contains(part)).cloned().collect()
}

struct Collector;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && !metadata.target().starts_with("openraft")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(format!("{}: ", event.metadata().target()));
        event.record(&mut line);
        LINES.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_release_is_audited_in_an_embedded_cluster() {
    collect();
    let cluster = LocalCluster::start(1).await.unwrap();
    let client = Tokenwood::connect(cluster.endpoints.clone()).await.unwrap();
    let held = client.mutex("audited").acquire().await.unwrap();
    let mut observer = Observer::connect(&cluster.endpoints[0]).await.unwrap();
    observer.force_release("audited", held.slot(), held.fence(), false).await.unwrap();
    let said = lines("audit: ");
    let fence = format!("fence={}", held.fence());
    assert!(
        said.iter().any(|line| line.contains("forced release of audited") && line.contains(&fence)),
        "{said:?}"
    );
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_cannot_flood_the_log() {
    collect();
    let cluster = LocalCluster::start(1).await.unwrap();
    let mut mine = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(&cluster.endpoints[0]).await.unwrap();
        mine.push(format!("from {}:", stream.local_addr().unwrap()));
        _ = stream.write_all(&[0xff; 64]).await;
        _ = stream.read(&mut [0; 64]).await;
    }
    // Lines of the two kinds that say how they end are left to the unit tests; this is about the whole way.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let greetings = lines("no greeting of a client");
    let of_mine = mine.iter().filter(|from| greetings.iter().any(|line| line.contains(*from))).count();
    assert!((1..=12).contains(&of_mine), "{of_mine} lines about 100 strangers");
    cluster.stop().await;
}
