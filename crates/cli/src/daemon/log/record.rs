//! How an event is written: a line for people, or an object of JSON.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use tracing::Level;

use super::Format;

/// A message, or a text in a field, is no longer than this.
const MOST_LETTERS: usize = 4096;

/// An event that was captured.
pub(crate) struct Record {
    pub(crate) time: SystemTime,
    pub(crate) level: Level,
    pub(crate) target: &'static str,
    pub(crate) message: String,
    pub(crate) fields: Vec<(&'static str, Value)>,
}

impl Record {
    /// With its end.
    pub(crate) fn line(mut self, format: Format) -> String {
        shorten(&mut self.message);
        for (_, value) in &mut self.fields {
            if let Value::String(text) = value {
                shorten(text);
            }
        }
        match format {
            Format::Text => self.text(),
            Format::Json => self.json(),
        }
    }

    fn text(&self) -> String {
        let Record { time, level, target, message, fields } = self;
        let mut line = format!("{} {:<5} {target}: ", timestamp(*time), self::level(*level).to_uppercase());
        line.extend(message.chars().flat_map(|letter| escaped(letter, |code| format!("\\u{{{code:x}}}"))));
        for (name, value) in fields {
            // Texts are quoted as in JSON, so that nothing in them looks like another field.
            _ = write!(line, " {name}={}", harmless(&value.to_string()));
        }
        line.push('\n');
        line
    }

    fn json(self) -> String {
        let fields: Map<String, Value> =
            self.fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        // By hand, so that a line begins with its time, for people who look at it all the same.
        let object = format!(
            r#"{{"timestamp":{},"level":{},"target":{},"message":{},"fields":{}}}"#,
            json!(timestamp(self.time)),
            json!(level(self.level)),
            json!(self.target),
            json!(self.message),
            Value::Object(fields),
        );
        harmless(&object) + "\n"
    }
}

/// As it is written.
pub(crate) fn level(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

fn shorten(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(MOST_LETTERS) {
        text.truncate(end);
        text.push('…');
    }
}

/// JSON in which also those letters are escaped that JSON allows and terminals obey.
fn harmless(json: &str) -> String {
    json.chars().flat_map(|letter| escaped(letter, |code| format!("\\u{code:04x}"))).collect()
}

/// A letter, or what stands for one that a terminal would obey: controls, and marks that turn the direction of text.
fn escaped(letter: char, escape: fn(u32) -> String) -> impl Iterator<Item = char> {
    let obeyed = letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let (as_is, instead) = if obeyed { (None, Some(escape(letter.into()))) } else { (Some(letter), None) };
    as_is.into_iter().chain(instead.into_iter().flat_map(|text| text.chars().collect::<Vec<_>>()))
}

/// A moment as `2026-01-31T23:59:59.123Z`.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, clock) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Years that begin with March have their leap day at the end; 400 of them have the same number of days.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hours, minutes, seconds) = (clock / 3600, clock / 60 % 60, clock % 60);
    format!(
        "{year:04}-{month:02}-{date:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z",
        since.subsec_millis()
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_as_rfc_3339_writes_them() {
        let at = |millis| timestamp(UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_827_696_007), "2000-02-29T12:34:56.007Z");
        assert_eq!(at(951_868_800_000), "2000-03-01T00:00:00.000Z");
        assert_eq!(at(1_798_761_599_999), "2026-12-31T23:59:59.999Z");
    }

    fn record() -> Record {
        Record {
            time: UNIX_EPOCH,
            level: Level::WARN,
            target: "node",
            message: "a \"b\"\n\u{1b}[2J\u{9b}\u{202e}".to_owned(),
            fields: vec![("node", 7.into()), ("by", "x y=\n\u{9b}".into())],
        }
    }

    #[test]
    fn a_line_of_text_is_one_line_and_harmless() {
        let line = record().line(Format::Text);
        assert_eq!(
            line,
            "1970-01-01T00:00:00.000Z WARN  node: a \"b\"\\u{a}\\u{1b}[2J\\u{9b}\\u{202e} node=7 by=\"x y=\\n\\u009b\"\n"
        );
        let long = Record { message: "x".repeat(1 << 20), ..record() }.line(Format::Text);
        assert!(long.len() < 5000, "{}", long.len());
    }

    #[test]
    fn a_line_of_json_says_the_same() {
        let line = record().line(Format::Json);
        assert!(line.ends_with("}\n") && !line.trim_end().chars().any(char::is_control), "{line:?}");
        let said: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            said,
            json!({
                "timestamp": "1970-01-01T00:00:00.000Z", "level": "warn", "target": "node",
                "message": record().message, "fields": { "node": 7, "by": "x y=\n\u{9b}" },
            })
        );
    }
}
