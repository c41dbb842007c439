//! Captures events of `tracing`: which ones, and what they say.
//!
//! A subscriber of our own, because this is all that is needed of one: no spans, one filter, one queue. What is usual would bring
//! a registry of spans, filters in a language of their own, and dependencies.

use std::fmt::Debug;
use std::time::SystemTime;

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record as Values};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

use super::queue::Queue;
use super::record::Record;

/// What operators order by force, and what comes of it: always written.
pub(crate) const AUDIT: &str = "audit";
/// Where lines of our own come from.
const OURS: [&str; 5] = ["tokenwood", "node", "control", "client", "service"];

/// Puts events into the queue.
pub(crate) struct Capture {
    threshold: Level,
    queue: &'static Queue,
}

impl Capture {
    pub(crate) fn new(threshold: Level, queue: &'static Queue) -> Capture {
        Capture { threshold, queue }
    }
}

/// Whether an event is written. Libraries (consensus above all) log much that matters only for their own errors:
/// they are quiet unless the threshold is debug, and log details only at trace.
fn is_wanted(target: &str, level: Level, threshold: Level) -> bool {
    let module = target.split("::").next().unwrap_or(target);
    match threshold {
        _ if target == AUDIT => true,
        _ if OURS.contains(&module) => level <= threshold,
        Level::TRACE => level <= Level::DEBUG,
        Level::DEBUG => level <= Level::INFO,
        _ => false,
    }
}

impl Subscriber for Capture {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && is_wanted(metadata.target(), *metadata.level(), self.threshold)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        // The audit is at info, whatever the threshold.
        Some(LevelFilter::from_level(self.threshold.max(Level::INFO)))
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        self.queue.put(Record {
            time: SystemTime::now(),
            level: *metadata.level(),
            target: metadata.target(),
            message: fields.message,
            fields: fields.fields,
        });
    }

    // There are no spans.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Values<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What an event says.
#[derive(Default)]
struct Fields {
    message: String,
    fields: Vec<(&'static str, Value)>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.message = text,
            name => self.fields.push((name, text.into())),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            name => self.fields.push((name, value.into())),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.push((field.name(), value.into()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields.push((field.name(), value.into()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.fields.push((field.name(), value.into()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields.push((field.name(), value.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consensus_is_quiet_and_the_audit_is_never() {
        for threshold in [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE] {
            assert!(is_wanted(AUDIT, Level::INFO, threshold));
            assert_eq!(is_wanted("node", Level::INFO, threshold), threshold >= Level::INFO);
            assert_eq!(is_wanted("openraft::core", Level::ERROR, threshold), threshold >= Level::DEBUG);
            assert_eq!(is_wanted("openraft::core", Level::DEBUG, threshold), threshold >= Level::TRACE);
        }
    }
}
