//! The page of a node: static files without a build step, and the headers that say what a browser may do with them.
//!
//! This crate has no network and knows no cluster: a path goes in, headers and bytes come out. `crates/http` serves them at
//! `/ui`. The files are in `files`; begin with `files/app.js`.

#![forbid(unsafe_code)]

use std::sync::LazyLock;

mod bundle;

pub use bundle::bundle;

/// A file of the page.
struct File {
    /// Below `/ui/`.
    path: &'static str,
    bytes: &'static [u8],
}

macro_rules! files {
    ($($path:literal)*) => {
        &[$(File { path: $path, bytes: include_bytes!(concat!("../files/", $path)) }),*]
    };
}

const FILES: &[File] = files! {
    "index.html" "style.css" "icon.svg" "theme.js"
    "app.js" "ask.js" "dom.js" "frame.js" "keys.js" "router.js" "words.js"
    "draw/charts.js" "draw/icons.js" "draw/marks.js" "draw/paint.js" "draw/pan.js" "draw/ring.js" "draw/tabs.js"
    "live/acts.js" "live/drawer.js" "live/events.js" "live/figures.js" "live/filter.js" "live/graph.js" "live/handoffs.js"
    "live/model.js" "live/name.js" "live/names.js" "live/nodes.js" "live/overview.js" "live/states.js" "live/tables.js"
    "compare/chart.js" "compare/compare.js" "compare/curves.js" "compare/half.js" "compare/load.js" "compare/run.js"
    "compare/scene.js" "compare/strip.js" "compare/versus.js"
    "gallery.css" "gallery/card.js" "gallery/data.js" "gallery/exhibit.js" "gallery/gallery.js"
    "gallery/outline.js" "gallery/stories.js" "open.js" "play-address.js"
    "play.css" "play/acts.js" "play/graph.js" "play/kept.js" "play/keys.js" "play/looks.js" "play/model.js" "play/motion.js"
    "play/outline.js" "play/panels.js" "play/places.js" "play/printed.js" "play/routes.js" "play/settings.js"
    "play/source.js" "play/transport.js" "play/view.js"
    "time.css" "play/branches.js" "play/export.js" "play/find.js" "play/offline.js" "play/share.js"
    "play/time-canvas.js" "play/time-faults.js" "play/time-marks.js" "play/time-more.js" "play/time.js"
    "recording.css" "recording/line.js" "recording/marks.js" "recording/picture.js" "recording/read.js" "recording/says.js"
    "recording/view.js"
};

/// The page itself: every address that is no file is a view of it.
const INDEX: &str = "index.html";

/// What a file is, by its ending.
const TYPES: [(&str, &str); 4] = [
    (".html", "text/html; charset=utf-8"),
    (".css", "text/css; charset=utf-8"),
    (".js", "text/javascript; charset=utf-8"),
    (".svg", "image/svg+xml"),
];

/// An answer to a browser.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// 200, or 304 if the browser has the file.
    pub status: u16,
    /// All headers but the length.
    pub headers: Vec<(&'static str, String)>,
    /// The file; nothing if the browser has it.
    pub body: &'static [u8],
}

/// A request of a browser.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// The path below `/ui`, with or without a slash before it.
    pub path: &'a str,
    /// The query, without its question mark.
    pub query: &'a str,
    /// The tags of what the browser has, as it sent them.
    pub if_none_match: Option<&'a str>,
    /// The encodings that the browser takes, as it sent them.
    pub accept_encoding: Option<&'a str>,
}

/// Answers a request. Every path has an answer: an address that is no file is a view of the page.
pub fn answer(asked: &Asked<'_>) -> Answer {
    let path = asked.path.trim_start_matches('/');
    let (file, made) = file(path).unwrap_or_else(|| file(INDEX).expect("the page is there"));
    let packed = asked.accept_encoding.is_some_and(takes_deflate);
    let (tag, bytes) = if packed { (&made.packed_tag, &*made.packed) } else { (&made.tag, file.bytes) };
    let has_it = asked.if_none_match.is_some_and(|tags| has(tags, tag));
    let embed = asked.query.split('&').any(|part| part == "embed=1");
    let mut headers = vec![
        ("content-type", content_type(file.path).to_string()),
        ("etag", tag.clone()),
        // The browser asks each time whether the file is another one: a node may have been upgraded.
        ("cache-control", "no-cache".to_string()),
        ("vary", "accept-encoding".to_string()),
        ("content-security-policy", policy(embed)),
        ("x-content-type-options", "nosniff".to_string()),
        ("referrer-policy", "no-referrer".to_string()),
        ("cross-origin-resource-policy", "same-origin".to_string()),
    ];
    if packed {
        headers.push(("content-encoding", DEFLATE.to_string()));
    }
    Answer { status: if has_it { 304 } else { 200 }, headers, body: if has_it { &[] } else { bytes } }
}

/// What HTTP calls the encoding of packed files: zlib's.
pub const DEFLATE: &str = "deflate";

/// Packs what is sent often.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(bytes, 9)
}

/// Whether a browser that accepts these encodings takes what is packed.
pub fn takes_deflate(accepted: &str) -> bool {
    accepted.split(',').any(|one| {
        let mut parts = one.split(';').map(str::trim);
        parts.next() == Some(DEFLATE)
            && parts.all(|part| !matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

/// What the page may load and ask: its own node and nothing else. A page that is embedded elsewhere shows no acts, so that no
/// other page can lead a click to one.
fn policy(embed: bool) -> String {
    let ancestors = if embed { "*" } else { "'none'" };
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors {ancestors}"
    )
}

/// What is made of a file when the first browser asks.
struct Made {
    tag: String,
    /// A third of the bytes.
    packed: Vec<u8>,
    packed_tag: String,
}

impl Made {
    fn of(bytes: &[u8]) -> Made {
        let packed = pack(bytes);
        Made { tag: tag(bytes), packed_tag: tag(&packed), packed }
    }
}

/// A file, and what is made of it.
fn file(path: &str) -> Option<(&'static File, &'static Made)> {
    static MADE: LazyLock<Vec<Made>> =
        LazyLock::new(|| FILES.iter().map(|file| Made::of(file.bytes)).collect());
    let index = FILES.iter().position(|file| file.path == path)?;
    Some((&FILES[index], &MADE[index]))
}

/// Whether a browser that sent these tags has what has this tag.
pub fn has(tags: &str, tag: &str) -> bool {
    tags.split(',').map(str::trim).any(|it| it == "*" || it.strip_prefix("W/").unwrap_or(it) == tag)
}

/// A strong tag: other bytes have another one. Tags need not resist an attacker, who would have to change the program.
pub fn tag(bytes: &[u8]) -> String {
    // FNV-1a, of 64 bits.
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("\"{hash:016x}-{:x}\"", bytes.len())
}

fn content_type(path: &str) -> &'static str {
    let found = TYPES.iter().find(|(ending, _)| path.ends_with(ending));
    found.map_or("application/octet-stream", |(_, kind)| kind)
}

#[cfg(test)]
mod tests;
