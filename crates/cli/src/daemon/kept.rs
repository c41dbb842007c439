//! What a node keeps in its data folder for its next start: where it listens and is reached, so that naming the folder is
//! enough to start it again.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::daemon::node_file::{NodeFile, Settings};

/// The file in the data folder. It has the format of the file for --config.
const FILE: &str = "settings.toml";

/// What was in effect at the last start; nothing, if there was none.
pub(crate) fn read(data: &Path) -> Result<NodeFile> {
    let file = data.join(FILE);
    if file.exists() { NodeFile::read(&file) } else { Ok(NodeFile::default()) }
}

/// Keeps what is in effect for the next start.
pub(crate) fn write(settings: &Settings) -> Result<()> {
    let file = settings.data.join(FILE);
    let text = text(settings);
    if fs::read_to_string(&file).is_ok_and(|kept| kept == text) {
        return Ok(());
    }
    replace(&file, &text).with_context(|| format!("cannot write {}", file.display()))
}

fn text(settings: &Settings) -> String {
    let mut text = "# What this node was last started with. The node reads it when it starts again, and writes it then:\n\
                    # flags, the environment and the file of --config override it.\n"
        .to_string();
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        // Strings in TOML are written as in JSON.
        _ = writeln!(text, "{name} = {}", json!(value.to_string()));
    };
    line("listen", &settings.listen);
    line("reached_at", &settings.reached_at);
    line("clients", &settings.clients);
    settings.advertise.iter().for_each(|advertise| line("advertise", advertise));
    if let Some(http) = &settings.http {
        line("http", http);
        line("player", &settings.player);
    }
    line("lease", &settings.lease);
    text += &settings.encryption.to_string();
    if !settings.members.is_empty() {
        text += "\n[members]\n";
        for (id, address) in &settings.members {
            _ = writeln!(text, "{id} = {}", json!(address.to_string()));
        }
    }
    text
}

/// Whole or not at all, and for this user alone, like all files in the folder.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_extension("toml.new");
    let mut writing = File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    writing.write_all(text.as_bytes())?;
    writing.sync_all()?;
    fs::rename(&new, file)
}

/// Where it is noted that a cluster of one was founded: beside the folder, so that it is there when the folder is not.
fn founded(data: &Path) -> PathBuf {
    let mut name = data.as_os_str().to_owned();
    name.push(".founded");
    name.into()
}

/// A cluster of one has no other node that remembers it. If its folder is lost, it must not begin again unnoticed, with fences
/// that it has given out.
pub(crate) fn refuse_to_found_again(data: &Path, id: u32) -> Result<()> {
    let founded = founded(data);
    if founded.exists() {
        bail!(
            "the folder {} of node {id} is lost: a cluster was founded there before ({} says so), and a new one would give \
             out its fences again. Put the folder back. If no store remembers those fences, remove {} and start the node again",
            data.display(),
            founded.display(),
            founded.display()
        );
    }
    Ok(())
}

/// Notes that a cluster of one was founded.
pub(crate) fn note_founded(settings: &Settings) {
    let file = founded(&settings.data);
    let text = format!(
        "Node {} founded cluster '{}' in the folder of the same name. If that folder is lost, the node does not begin again\n\
         while this file is here: the new cluster would give out the same fences.\n",
        settings.id, settings.cluster
    );
    // The folder around may belong to another user: then there is no note.
    if !file.exists() && fs::write(&file, text).is_err() {
        tracing::debug!(target: "tokenwood", "cannot write {}", file.display());
    }
}
