//! The results of a sweep as CSV and JSON: the same bytes for the same sweep, however it was run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::workbench::sweep_file::{Header, Row, Shard};
use crate::workbench::whole_file;

/// The files of a sweep. They have one name and lie beside each other.
pub(crate) struct Files {
    pub(crate) csv: PathBuf,
    pub(crate) json: PathBuf,
}

impl Files {
    /// From what --out says; refuses what cannot be written.
    pub(crate) fn new(out: &Path) -> Result<Files> {
        let name = out.display();
        let named = out.file_stem().is_some() && out.extension().is_some_and(|extension| extension == "csv");
        if !named {
            bail!("--out {name}: name the CSV file, for example sweep.csv; the other files go beside it");
        }
        let folder = match out.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            bail!("--out {name}: there is no folder {}: create it first", folder.display());
        }
        let files = Files { csv: out.to_path_buf(), json: out.with_extension("json") };
        for file in [&files.csv, &files.json] {
            if file.is_dir() {
                bail!("{} is a folder: choose another --out", file.display());
            }
        }
        Ok(files)
    }

    /// Where finished points are kept.
    pub(crate) fn journal(&self, shard: Option<Shard>) -> PathBuf {
        match shard {
            None => self.csv.with_extension("journal"),
            Some(Shard { index, of }) => self.csv.with_extension(format!("{index}-of-{of}.journal")),
        }
    }

    /// The --out of the sweep that a journal is of.
    pub(crate) fn out_of_journal(journal: &Path, shard: Shard) -> PathBuf {
        let name = journal.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let endings = [format!(".{}-of-{}.journal", shard.index, shard.of), ".journal".to_string()];
        let stem = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
        journal.with_file_name(format!("{stem}.csv"))
    }

    /// Refuses if there are results already that nothing is known of.
    pub(crate) fn refuse_existing(&self) -> Result<()> {
        for file in [&self.csv, &self.json] {
            if file.exists() {
                let name = file.display();
                bail!("{name} exists already, without a journal: move it away or choose another --out");
            }
        }
        Ok(())
    }

    /// Refuses if there are other results than these.
    pub(crate) fn refuse_others(&self, results: &Results) -> Result<()> {
        for (file, text) in [(&self.csv, &results.csv), (&self.json, &results.json)] {
            if file.exists() && fs::read(file).ok().as_deref() != Some(text.as_bytes()) {
                let name = file.display();
                bail!("{name} exists already and differs: move it away or choose another --out");
            }
        }
        Ok(())
    }

    /// Writes both files: each whole, or not at all.
    pub(crate) fn write(&self, results: &Results) -> Result<()> {
        for (file, text) in [(&self.csv, &results.csv), (&self.json, &results.json)] {
            whole_file::write(file, text.as_bytes())
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(())
    }
}

/// What is written.
pub(crate) struct Results {
    pub(crate) csv: String,
    pub(crate) json: String,
}

impl Results {
    /// Prints what the JSON file has, on one line.
    pub(crate) fn say(&self) {
        say!("{}", self.json.replace('\n', ""));
    }

    /// Of these points. If points are missing that there should be, the JSON says so.
    pub(crate) fn new(header: &Header, rows: &BTreeMap<u64, Row>, complete: bool) -> Results {
        Results { csv: csv(header, rows), json: json(header, rows, complete) }
    }
}

fn csv(header: &Header, rows: &BTreeMap<u64, Row>) -> String {
    let (mut parameters, mut measures): (Vec<&str>, Vec<&str>) = Default::default();
    for row in rows.values() {
        for (names, record) in [(&mut parameters, &row.parameters), (&mut measures, &row.measures)] {
            for (name, _) in &record.0 {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
    }
    let mut lines = Vec::new();
    let first = ["point", "algorithm"].into_iter().chain(parameters.iter().copied());
    let names: Vec<&str> = first.chain(["seed", "seeds"]).chain(measures.iter().copied()).collect();
    lines.push(names.join(","));
    let (seed, seeds) = (header.sweep.seed, header.sweep.seeds);
    for row in rows.values() {
        let mut cells = vec![row.point.to_string(), quoted(&row.algorithm)];
        cells.extend(parameters.iter().map(|name| cell(row.parameters.get(name))));
        cells.extend([seed.to_string(), seeds.to_string()]);
        cells.extend(measures.iter().map(|name| cell(row.measures.get(name))));
        lines.push(cells.join(","));
    }
    lines.join("\n") + "\n"
}

/// A number in plain decimals, so that every program reads it.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quoted(text),
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_string()
}

/// One object, a point to a line.
fn json(header: &Header, rows: &BTreeMap<u64, Row>, complete: bool) -> String {
    let line = |row: &Row| serde_json::to_string(row).expect("a row has only names and numbers");
    let rows: Vec<String> = rows.values().map(line).collect();
    let sweep = serde_json::to_string(&header.sweep).expect("a sweep has only names and numbers");
    let program = Value::from(header.program.as_str());
    let (schema, partial) = (Schema::Sweep.id(), !complete);
    let start = format!(r#"{{"schema":"{schema}","program":{program},"partial":{partial}"#);
    format!("{start},\"sweep\":{sweep},\"points\":[\n{}\n]}}\n", rows.join(",\n"))
}
