//! The folder of a report: made or refused before anything is simulated, and replaced only if a report is in it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use figures::report::File;
use serde::Serialize;
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
            folder.mark(&[""; 0], &Value::Null)?;
        }
        Ok(folder)
    }

    /// Writes a report in place of the one that is there, which stays until all of this one is written. Says where to begin
    /// reading.
    pub(crate) fn write(&self, files: &[File], content: &Value) -> Result<PathBuf> {
        let earlier = self.read_marker()?;
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        // What is set aside is known as ours before it is there: nothing is left over if writing is interrupted.
        let aside: Vec<String> =
            names.iter().map(|name| whole_file::beside(Path::new(name)).display().to_string()).collect();
        let left = || names_in(&earlier).filter(|name| !aside.iter().any(|other| other == name));
        let known: Vec<&str> = left().chain(aside.iter().map(String::as_str)).collect();
        self.mark(&known, &earlier["content"])?;
        for (index, file) in files.iter().enumerate() {
            let path = self.path.join(&file.name);
            if let Err(error) = whole_file::set_aside(&path, &file.content) {
                files[..index].iter().for_each(|done| whole_file::forget(&self.path.join(&done.name)));
                return Err(error).with_context(|| format!("cannot write '{}'", path.display()));
            }
        }
        self.remove(left())?;
        self.mark(&names, content)?;
        for name in names {
            let path = self.path.join(name);
            whole_file::put_in_place(&path).with_context(|| format!("cannot write '{}'", path.display()))?;
        }
        Ok(self.path.join("index.html"))
    }

    fn mark(&self, names: &[impl Serialize], content: &Value) -> Result<()> {
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

    /// What is said of the report that is there.
    fn read_marker(&self) -> Result<Value> {
        let text = fs::read_to_string(self.path.join(MARKER))?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Removes files of an earlier report, so that none is taken for one of this. Other files stay.
    fn remove<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<()> {
        for name in names {
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

/// The names of the files of a report. A name with a path in it is none of ours.
fn names_in(marker: &Value) -> impl Iterator<Item = &str> {
    let names = marker["files"].as_array().into_iter().flatten().filter_map(Value::as_str);
    names.filter(|name| !name.contains(['/', '\\']))
}
