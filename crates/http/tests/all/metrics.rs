//! What a node measures, as a scraper sees it.

use serde_json::json;

use crate::client::Doors;

impl Doors {
    async fn metrics(&self, node: usize) -> String {
        self.send(node, "GET /metrics", "").await.body.as_str().unwrap().to_string()
    }

    /// The value of a metric with its labels.
    async fn value(&self, node: usize, metric: &str) -> f64 {
        let text = self.metrics(node).await;
        let found = text.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("no {metric} in {text}")).parse().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_tell_what_happened() {
    let doors = Doors::start(1).await;
    let value = async |line: &str| doors.value(0, line).await;
    let held = doors.send(0, "POST /v1/locks/x/acquire", "").await;
    doors.send(0, "POST /v1/locks/x/acquire", "").await;
    assert_eq!(value("tokenwood_grants_total").await, 1.0);
    assert_eq!(value(r#"tokenwood_refusals_total{reason="not_free"}"#).await, 1.0);
    assert_eq!(value(r#"tokenwood_wait_seconds_count{kind="slots"}"#).await, 1.0);
    assert_eq!(value(r#"tokenwood_hold_seconds_count{kind="slots"}"#).await, 0.0);
    let waits = doors.begin(0, "POST /v1/locks/x/acquire?wait=1m", &[], "").await;
    until!(value("tokenwood_waiters").await == 1.0);
    let second = doors.begin(0, "POST /v1/locks/x/acquire?wait=1m", &[], "").await;
    until!(value("tokenwood_waiters").await == 2.0);
    // Four requests so far. Three found no waiter of this node before them, and the last found one.
    assert_eq!(value(r#"tokenwood_queue_length_bucket{le="0"}"#).await, 3.0);
    assert_eq!(value(r#"tokenwood_queue_length_bucket{le="1"}"#).await, 4.0);
    assert!(value("tokenwood_connections").await >= 2.0);
    doors.send(0, "DELETE /v1/locks/x", &json!({ "grant": held.text("grant") }).to_string()).await;
    until!(value(r#"tokenwood_wait_seconds_bucket{kind="slots",le="+Inf"}"#).await == 2.0);
    assert_eq!(value(r#"tokenwood_hold_seconds_count{kind="slots"}"#).await, 1.0);
    assert_eq!(value(r#"tokenwood_hand_offs_total{from="local"}"#).await, 1.0);
    assert_eq!(value(r#"tokenwood_hand_offs_total{from="remote"}"#).await, 0.0);
    assert_eq!((value("tokenwood_waiters").await, value("tokenwood_members").await), (1.0, 1.0));
    assert!(value(r#"tokenwood_http_answers_total{class="4xx"}"#).await >= 1.0);
    assert!(value("tokenwood_lease_left_seconds").await > 0.0);
    until!(value(r#"tokenwood_loop_lag_seconds_count{loop="sockets"}"#).await > 1.0);
    until!(value(r#"tokenwood_loop_lag_seconds_count{loop="runtime"}"#).await > 1.0);
    drop((waits, second));
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_comes_from_another_node_is_a_remote_hand_off() {
    let doors = Doors::start(2).await;
    let held = doors.send(0, "POST /v1/locks/x/acquire", "").await;
    let waits = doors.begin(1, "POST /v1/locks/x/acquire?wait=1m", &[], "").await;
    until!(doors.value(1, "tokenwood_waiters").await == 1.0);
    let before = doors.value(1, r#"tokenwood_hand_offs_total{from="remote"}"#).await;
    doors.send(0, "DELETE /v1/locks/x", &json!({ "grant": held.text("grant") }).to_string()).await;
    until!(doors.value(1, "tokenwood_waiters").await == 0.0);
    assert_eq!(doors.value(1, r#"tokenwood_hand_offs_total{from="remote"}"#).await, before + 1.0);
    assert!(doors.value(1, "tokenwood_links_made_total").await >= 1.0);
    drop(waits);
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_the_door_count_and_one_too_many_is_told_so() {
    let doors = Doors::start_with(1, |config| config.limits.client_connections = 2).await;
    doors.send(0, "POST /v1/locks/x/acquire", "").await;
    let first = doors.begin(0, "POST /v1/locks/x/acquire?wait=1m", &[], "").await;
    let second = doors.begin(0, "POST /v1/locks/x/acquire?wait=1m", &[], "").await;
    let refused = doors.send(0, "GET /metrics", "").await;
    assert_eq!((refused.status, refused.problem()), (503, "unavailable"), "{}", refused.head);
    assert!(refused.head.contains("retry-after: 1"), "{}", refused.head);
    drop((first, second));
    until!(doors.send(0, "GET /metrics", "").await.status == 200);
    assert!(doors.value(0, r#"tokenwood_bounds_reached_total{bound="client_connections"}"#).await >= 1.0);
    doors.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_that_a_request_reached_is_counted_by_its_name() {
    let doors = Doors::start_with(1, |config| config.limits.client_requests = 1).await;
    doors.send(0, "POST /v1/locks/a/acquire", "").await;
    assert_eq!(doors.send(0, "POST /v1/locks/b/acquire", "").await.status, 503);
    assert_eq!(doors.value(0, r#"tokenwood_bounds_reached_total{bound="client_requests"}"#).await, 1.0);
    doors.cluster.stop().await;
}

/// The names of metrics in a text.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("tokenwood_") && !word.ends_with('_'))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manual_the_board_and_the_alerts_use_metrics_that_are_there_and_the_manual_has_all() {
    let doors = Doors::start(1).await;
    let text = doors.metrics(0).await;
    let types: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    let is_there = |word: &str| {
        types.iter().any(|(name, kind)| match word.strip_prefix(name) {
            Some("") => true,
            Some("_bucket" | "_sum" | "_count") => *kind == "histogram",
            _ => false,
        })
    };
    let manual = include_str!("../../../../docs/monitoring.md");
    let board = include_str!("../../../../docs/monitoring/grafana.json");
    let alerts = include_str!("../../../../docs/monitoring/alerts.yml");
    for file in [manual, board, alerts] {
        assert!(names_in(file).count() > 5);
        names_in(file).for_each(|word| assert!(is_there(word), "there is no metric {word}"));
    }
    for (name, _) in &types {
        assert!(names_in(manual).any(|word| word == *name), "docs/monitoring.md does not have {name}");
    }
    for (name, kind) in types {
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
    }
    doors.cluster.stop().await;
}
