//! `GET /metrics`: what the node measures, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use node::Measured;
use service::metrics::{HandOff, Histogram};
use service::name::Kind;
use service::protocol::Question;

use crate::Door;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::talk::ask;

/// The answers of the door, by the first digit of their status.
#[derive(Default)]
pub(crate) struct Answered([AtomicU64; 5]);

impl Answered {
    pub(crate) fn count(&self, status: u16) {
        if let Some(answers) = self.0.get(usize::from(status / 100).wrapping_sub(1)) {
            answers.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// `GET /metrics`. A caller that may ask for the status may have it.
pub(crate) async fn metrics(State(door): State<Door>, caller: Caller) -> Result<Response, Problem> {
    ask(&door.host, caller.caller, Question::Status).await?;
    let text = render(&door.host.measured(), &door.answered, SystemTime::now());
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

/// The kinds of locks, as labels.
const KINDS: [(Kind, &str); 3] = [(Kind::Slots, "slots"), (Kind::RwLock, "rwlock"), (Kind::Room, "room")];

struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        _ = writeln!(self.0, "# HELP tokenwood_{name} {help}\n# TYPE tokenwood_{name} {kind}");
    }

    /// A metric with one value.
    fn one(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.head(name, kind, help);
        _ = writeln!(self.0, "tokenwood_{name} {value}");
    }

    /// A metric with a value for each value of a label.
    fn labelled<'a>(
        &mut self,
        (name, kind, help): (&str, &str, &str),
        label: &str,
        values: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        self.head(name, kind, help);
        for (of, value) in values {
            _ = writeln!(self.0, "tokenwood_{name}{{{label}=\"{of}\"}} {value}");
        }
    }

    /// Histograms, each with its label, as `kind="room"`, or none.
    fn histograms<'a>(
        &mut self,
        name: &str,
        help: &str,
        all: impl IntoIterator<Item = (String, &'a Histogram)>,
    ) {
        self.head(name, "histogram", help);
        for (label, histogram) in all {
            let (mut below, units) = (0, histogram.scale.units as f64);
            let (comma, braces) = match label.is_empty() {
                true => ("", String::new()),
                false => (",", format!("{{{label}}}")),
            };
            let bounds = histogram.scale.bounds.iter().map(|bound| (*bound as f64 / units).to_string());
            for (bound, count) in bounds.chain(["+Inf".to_string()]).zip(&histogram.buckets) {
                below += count;
                _ = writeln!(self.0, "tokenwood_{name}_bucket{{{label}{comma}le=\"{bound}\"}} {below}");
            }
            _ = writeln!(self.0, "tokenwood_{name}_sum{braces} {}", histogram.sum as f64 / units);
            _ = writeln!(self.0, "tokenwood_{name}_count{braces} {below}");
        }
    }
}

/// A histogram for each kind of lock.
fn by_kind<'a>(of: impl Fn(Kind) -> &'a Histogram) -> [(String, &'a Histogram); 3] {
    KINDS.map(|(kind, label)| (format!("kind=\"{label}\""), of(kind)))
}

fn render(measured: &Measured, answered: &Answered, now: SystemTime) -> String {
    let mut text = Text(String::new());
    render_clients(measured, &mut text);
    render_door(measured, answered, &mut text);
    render_node(measured, now, &mut text);
    text.0
}

/// What clients did, and how long it took.
fn render_clients(measured: &Measured, text: &mut Text) {
    let metrics = &measured.metrics;
    let waits = by_kind(|kind| metrics.waits(kind));
    text.histograms("wait_seconds", "How long requests waited until they were granted.", waits);
    text.histograms("hold_seconds", "How long grants were held.", by_kind(|kind| metrics.holds(kind)));
    text.histograms(
        "queue_length",
        "How many waiters of this node a request found in the queue of its name.",
        [(String::new(), metrics.queues())],
    );
    let hand_offs = [("local", HandOff::Local), ("remote", HandOff::Remote)];
    text.labelled(
        (
            "hand_offs_total",
            "counter",
            "Waiters that were granted a slot: one that was free at this node, or whose token came from another.",
        ),
        "from",
        hand_offs.map(|(label, how)| (label, metrics.hand_offs(how))),
    );
    let refusals = metrics.refusals().iter().map(|(reason, count)| (*reason, *count));
    let what = ("refusals_total", "counter", "Requests that were refused, by reason.");
    text.labelled(what, "reason", refusals);
}

/// What came to the doors of the node, and was too much.
fn render_door(measured: &Measured, answered: &Answered, text: &mut Text) {
    let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"].into_iter().zip(&answered.0);
    text.labelled(
        ("http_answers_total", "counter", "Answers of the HTTP door, by the first digit of their status."),
        "class",
        classes.map(|(class, count)| (class, count.load(Ordering::Relaxed))),
    );
    let mut bounds = measured.metrics.bounds().clone();
    bounds.extend(&measured.no_place);
    bounds.insert("connection_unread", measured.hung_up);
    text.labelled(
        (
            "bounds_reached_total",
            "counter",
            "How often a bound of the node was reached, by its name in [limits].",
        ),
        "bound",
        bounds,
    );
    let lag = measured.lag.iter().map(|(name, lag)| (format!("loop=\"{name}\""), lag));
    text.histograms("loop_lag_seconds", "How late a loop of the node was for what was due.", lag);
}

/// How many there are of what, and how the node is doing.
fn render_node(measured: &Measured, now: SystemTime, text: &mut Text) {
    let (status, counts) = (&measured.status, &measured.status.counts);
    let counters = [
        ("grants_total", "Grants.", counts.grants),
        ("messages_sent_total", "Messages to other nodes.", counts.sent),
        ("messages_received_total", "Messages from other nodes.", counts.received),
        ("messages_of_other_views_total", "Messages of another view, discarded.", counts.of_other_views),
        ("sessions_expired_total", "Sessions that ran out.", counts.sessions_ended),
        ("names_forgotten_total", "Names that the node no longer keeps.", counts.forgotten),
        (
            "wrong_keys_total",
            "Frames that named a session with a key that is not its own.",
            counts.wrong_keys,
        ),
        ("links_made_total", "Connections to peers that were made.", measured.links_made),
        (
            "messages_resent_total",
            "Messages that were sent again to a peer, because a connection broke.",
            measured.resent,
        ),
        (
            "log_lines_left_out_total",
            "Lines of the log that were left out, because strangers caused too many.",
            measured.lines_left_out,
        ),
    ];
    for (name, help, value) in counters {
        text.one(name, "counter", help, value as f64);
    }
    let gauges = [
        ("sessions", "Open sessions.", status.sessions as f64),
        ("requests", "Requests that hold or wait.", status.requests as f64),
        ("waiters", "Requests that wait.", measured.waiting as f64),
        ("names", "Names that the node keeps.", status.resources as f64),
        ("connections", "Connections of clients, of all protocols.", measured.connections as f64),
        ("unread_bytes", "Bytes that wait to be read by clients.", measured.unread as f64),
        (
            "lease_left_seconds",
            "How long the lease of the node lasts; 0: it grants nothing.",
            measured.lease_left.as_secs_f64(),
        ),
        ("view", "The number of the view that the node is in.", status.epoch as f64),
        ("members", "Members of that view.", f64::from(status.members)),
        ("unreachable_members", "Members without a connection.", measured.unreachable as f64),
        ("term", "The term of consensus: it rises with every election.", measured.term as f64),
        ("leads", "1 if the node leads.", f64::from(u8::from(measured.leads))),
    ];
    for (name, help, value) in gauges {
        text.one(name, "gauge", help, value);
    }
    text.head("certificate_left_seconds", "gauge", "How long the certificate is still valid.");
    if let Some(ends) = measured.certificate_ends {
        let left = ends.duration_since(now).unwrap_or_default().as_secs_f64();
        _ = writeln!(text.0, "tokenwood_certificate_left_seconds {left}");
    }
}
