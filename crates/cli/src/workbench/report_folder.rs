//! The folder of a report: made or refused before anything is simulated, and replaced only if a report is in it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use figures::report::File;
use serde_json::{Value, json};

use crate::workbench::whole_file;

/// Says that a folder is ours, and which files in it are.
const MARKER: &str = "tokenwood-report.json";

/// A folder that a report can be written to.
pub(crate) struct ReportFolder {
    path: PathBuf,
    /// Whether an earlier report is in it.
    pub(crate) has_report: bool,
}

impl ReportFolder {
    /// Makes it if it is not there, and tries to write to it.
    pub(crate) fn prepare(path: &Path) -> Result<ReportFolder> {
        let shown = path.display();
        let elsewhere = "choose another with --out";
        fs::create_dir_all(path)
            .with_context(|| format!("cannot create the folder '{shown}': {elsewhere}"))?;
        let marker = path.join(MARKER);
        let mut found =
            fs::read_dir(path).with_context(|| format!("cannot read the folder '{shown}': {elsewhere}"))?;
        if !marker.exists() && found.next().is_some() {
            bail!("the folder '{shown}' holds files that are not a report: {elsewhere}");
        }
        let has_report = path.join("index.html").exists();
        let folder = ReportFolder { path: path.to_path_buf(), has_report };
        // A marker that was there stays as it is: it still says what is in the folder.
        let trial = path.join(".tokenwood-trial");
        fs::write(&trial, "")
            .and_then(|()| fs::remove_file(&trial))
            .with_context(|| format!("cannot write to the folder '{shown}': {elsewhere}"))?;
        if !marker.exists() {
            folder.mark(&[], &Value::Null)?;
        }
        Ok(folder)
    }

    /// Writes a report in place of the one that is there, and says where to begin reading.
    pub(crate) fn write(&self, files: &[File], content: &Value) -> Result<PathBuf> {
        self.remove_earlier()?;
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        // First, so that nothing is left over if writing is interrupted.
        self.mark(&names, content)?;
        for file in files {
            self.put(&file.name, &file.content)?;
        }
        Ok(self.path.join("index.html"))
    }

    fn mark(&self, names: &[&str], content: &Value) -> Result<()> {
        let mut text = serde_json::to_string_pretty(&json!({
            "tokenwood_report": 1,
            "files": names,
            "content": content,
        }))?;
        text.push('\n');
        self.put(MARKER, text.as_bytes())
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        whole_file::write(&path, content).with_context(|| format!("cannot write '{}'", path.display()))
    }

    /// Removes the files of an earlier report, so that none is taken for one of this. Other files stay.
    fn remove_earlier(&self) -> Result<()> {
        let marker = self.path.join(MARKER);
        let text = fs::read_to_string(&marker)?;
        let earlier: Value = serde_json::from_str(&text).unwrap_or_default();
        let names = earlier["files"].as_array().into_iter().flatten().filter_map(Value::as_str);
        // A name with a path in it is none of ours.
        for name in names.filter(|name| !name.contains(['/', '\\'])) {
            let path = self.path.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot remove '{}'", path.display()));
                }
                _ => (),
            }
        }
        Ok(())
    }
}
