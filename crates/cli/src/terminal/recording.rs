//! A recording: a file of JSON lines, the first of which says of what it is. `swarm --record` and `watch --record` write it,
//! `trace` reads it. Each line is written at once, so that a program that is killed leaves a file of whole lines.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value;

use crate::terminal::json;
use crate::terminal::schema::Schema;

/// What the first line says.
#[derive(Serialize)]
pub(crate) struct Header<'a> {
    /// `swarm` or `cluster`.
    pub(crate) kind: &'a str,
    pub(crate) title: &'a str,
    /// The command that gives the same again.
    pub(crate) command: Option<&'a str>,
    /// The nodes at the beginning.
    pub(crate) nodes: &'a [u32],
    /// When it began; simulated time began at no time.
    pub(crate) began_unix_seconds: Option<f64>,
    /// The names that are recorded, if not all are.
    pub(crate) names: Option<&'a [String]>,
    /// The beginnings of names that are recorded, if not all are.
    pub(crate) prefixes: Option<&'a [String]>,
}

/// A line after the first.
#[derive(Serialize)]
struct Line<'a> {
    time: f64,
    node: Option<u32>,
    #[serde(flatten)]
    event: &'a Value,
}

/// A recording that is being written.
pub(crate) struct Recording {
    file: File,
    path: PathBuf,
}

impl Recording {
    /// A file that is not there yet, or is empty: what was recorded before is not lost by a slip.
    pub(crate) fn create(path: &Path) -> Result<Recording> {
        let shown = path.display();
        if path.metadata().is_ok_and(|there| there.len() > 0) {
            bail!("--record {shown}: the file is there and is not empty: name another, or remove it");
        }
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(|| format!("--record {shown}: cannot write there"))?;
        Ok(Recording { file, path: path.to_path_buf() })
    }

    pub(crate) fn begin(&mut self, header: &Header<'_>) -> Result<()> {
        self.write(json::line(Schema::Recording, header))
    }

    pub(crate) fn add(&mut self, time: Duration, node: Option<u32>, event: &Value) -> Result<()> {
        let time = (time.as_secs_f64() * 1e6).round() / 1e6;
        self.write(serde_json::to_string(&Line { time, node, event })?)
    }

    fn write(&mut self, mut line: String) -> Result<()> {
        line.push('\n');
        let written = self.file.write_all(line.as_bytes());
        written.with_context(|| format!("--record {}: the recording ends here", self.path.display()))
    }

    /// How to see it.
    pub(crate) fn how_to_open(&self) -> String {
        format!("tokenwood trace {} --open", quoted(&self.path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// A path as a shell needs it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "._-/+=:@%,".contains(sign);
    match !text.is_empty() && text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
