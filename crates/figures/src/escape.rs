//! Text inside HTML, SVG and CSV.

/// Escapes all characters with a meaning in HTML and SVG.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Characters that XML does not allow at all.
            control if control < ' ' && !matches!(control, '\n' | '\r' | '\t') => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A cell of a CSV file (RFC 4180).
pub(crate) fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}
