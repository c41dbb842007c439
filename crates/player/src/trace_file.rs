//! A trace as a file: JSON that a person can read and write. `check` and `simulate` write such files.

use algorithms::trace::Trace;
use serde_json::Value;

use crate::refusal::{Refusal, RefusalKind};

/// Reads a trace from the text of a file.
pub fn parse(text: &str) -> Result<Trace, Refusal> {
    let bad = |why: String| {
        Refusal::new(RefusalKind::Unreadable, format!("this is not a trace that can be read: {why}"))
    };
    let value: Value = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    let (format, readable) = (Trace::FORMAT, Trace::VERSION);
    if value.get("format").and_then(Value::as_str) != Some(format) {
        return Err(bad(format!("it has no \"format\": \"{format}\"")));
    }
    match value.get("version").and_then(Value::as_u64) {
        Some(version) if version == u64::from(readable) => {}
        Some(version) => {
            return Err(bad(format!("it has version {version}, this program reads {readable}")));
        }
        None => return Err(bad("it has no version".to_string())),
    }
    serde_json::from_value(value).map_err(|error| bad(error.to_string()))
}

/// The text of the file.
pub fn print(trace: &Trace) -> String {
    serde_json::to_string_pretty(trace).expect("a trace has only text and numbers") + "\n"
}
