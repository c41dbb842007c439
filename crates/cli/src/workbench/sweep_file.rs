//! The journal of a sweep: a header that describes the sweep, then a line for each finished point. Whatever ends the
//! program, at most the last line is incomplete; what the lines before it say is never simulated again.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow, bail};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use simulator::{Cell, Column};
use sync::IgnorePoison;

use crate::terminal::output::note;
use crate::terminal::table::count;
use crate::workbench::sweep_grid::Sweep;

const FORMAT: &str = "tokenwood sweep journal";
const VERSION: u64 = 1;

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    format: String,
    version: u64,
    /// The version of the program: another one may measure something else.
    pub(crate) program: String,
    /// Which part of the sweep this journal is for.
    pub(crate) shard: Shard,
    pub(crate) sweep: Sweep,
}

/// Every `of`-th point, beginning with the `index`-th (from 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shard {
    pub(crate) index: u64,
    pub(crate) of: u64,
}

/// A finished point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Its number in the sweep, from 1.
    pub(crate) point: u64,
    pub(crate) algorithm: String,
    pub(crate) parameters: Record,
    pub(crate) measures: Record,
}

/// Finished points by their number.
pub(crate) type Rows = BTreeMap<u64, Row>;

/// Names with values, in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record(pub(crate) Vec<(String, Value)>);

impl Shard {
    pub(crate) const WHOLE: Shard = Shard { index: 1, of: 1 };

    /// Reads `2/3`.
    pub(crate) fn parse(text: &str) -> Result<Shard> {
        let parts = text.split_once('/').map(|(index, of)| (index.parse(), of.parse()));
        match parts {
            Some((Ok(index), Ok(of))) if 1 <= index && index <= of => Ok(Shard { index, of }),
            Some((Ok(_), Ok(of))) if of > 0 => bail!("--shard {text}: the parts are 1/{of} to {of}/{of}"),
            _ => bail!("--shard {text}: write I/N, for example 2/3 for the second of three parts"),
        }
    }

    /// Whether a point (numbered from 1) belongs to it.
    pub(crate) fn holds(self, point: u64) -> bool {
        (point - 1) % self.of == self.index - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl Header {
    pub(crate) fn new(sweep: Sweep, shard: Shard) -> Header {
        let program = env!("CARGO_PKG_VERSION").to_string();
        Header { format: FORMAT.to_string(), version: VERSION, program, shard, sweep }
    }

    fn line(&self) -> String {
        serde_json::to_string(self).expect("a header has only names and numbers") + "\n"
    }

    fn parse(file: &Path, line: &str) -> Result<Header> {
        let name = file.display();
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        if value["format"] != FORMAT {
            bail!("{name} is not a journal of 'tokenwood sweep': move it away or use another name");
        }
        if value["version"] != VERSION {
            let versions = format!("journal version {}, this one knows {VERSION}", value["version"]);
            bail!(
                "{name} was written by another version of tokenwood ({versions}): use that, or another name"
            );
        }
        serde_json::from_value(value).map_err(|why| {
            anyhow!("the first line of {name} is damaged ({why}): move the file away to start again")
        })
    }

    /// Refuses a journal that is not of this sweep.
    fn expect(&self, found: &Header, file: &Path) -> Result<()> {
        let name = file.display();
        if found.program != self.program {
            let versions = format!("by tokenwood {}, this is {}", found.program, self.program);
            bail!("{name} was begun {versions}: finish it with that, or choose another --out");
        }
        if found.shard != self.shard {
            bail!("{name} is of shard {}, not {}: give it its old name again", found.shard, self.shard);
        }
        Ok(())
    }

    /// Refuses a journal of another sweep whose points are of no use in this one.
    fn refuse(&self, found: &Header, file: &Path) -> anyhow::Error {
        let (name, difference) = (file.display(), self.sweep.difference(&found.sweep));
        let hint = if self.is_extendable(found) && self.shard != Shard::WHOLE {
            "the points of shards have other numbers in a larger sweep: sweep the new values alone with another --out"
        } else {
            "choose another --out, or move it away"
        };
        anyhow!("{name} belongs to another sweep ({difference}): {hint}")
    }

    /// Whether a point of the other sweep that is also in this one has the same results.
    fn is_extendable(&self, other: &Header) -> bool {
        let runs = |header: &Header| (header.sweep.seed, header.sweep.seeds);
        runs(self) == runs(other)
    }
}

/// What a journal says.
pub(crate) struct Contents {
    pub(crate) header: Header,
    /// Finished points by their number.
    pub(crate) rows: Rows,
    /// How many bytes belong to complete lines.
    complete: usize,
}

impl Contents {
    /// Reads a journal that is not going to be continued. An incomplete last line is left out.
    pub(crate) fn of_file(file: &Path) -> Result<Contents> {
        refuse_devices(file)?;
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let contents = Contents::read(file, &bytes)?;
        if contents.complete < bytes.len() {
            note!("note: the last line of {} is incomplete and left out", file.display());
        }
        Ok(contents)
    }

    fn read(file: &Path, bytes: &[u8]) -> Result<Contents> {
        let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut lines = bytes[..complete].split_inclusive(|byte| *byte == b'\n');
        let first = String::from_utf8_lossy(lines.next().unwrap_or(bytes));
        let header = Header::parse(file, first.trim_end())?;
        let mut rows = Rows::new();
        for (number, line) in (2..).zip(lines) {
            let damaged = |why: &dyn fmt::Display| {
                let advice = "delete that line to have its point simulated again, or move the file away";
                anyhow!("line {number} of {} is damaged ({why}): {advice}", file.display())
            };
            let row: Row = serde_json::from_slice(line).map_err(|why| damaged(&why))?;
            if row.point == 0 || row.point > header.sweep.points || !header.shard.holds(row.point) {
                return Err(damaged(&format!("point {} does not belong here", row.point)));
            }
            if rows.get(&row.point).is_some_and(|earlier| *earlier != row) {
                return Err(damaged(&format!("it contradicts an earlier line on point {}", row.point)));
            }
            rows.insert(row.point, row);
        }
        Ok(Contents { header, rows, complete })
    }
}

/// A journal that is being written, by this process alone.
pub(crate) struct Journal {
    path: PathBuf,
    /// `None` once a write has failed: what follows half a line would be lost.
    file: Mutex<Option<File>>,
    /// The file that this one has replaced: its lock keeps out a process that has opened it already.
    _replaced: Option<File>,
}

impl Journal {
    /// Opens the journal of a sweep, or begins it; what is finished comes with it. `fresh` is asked before one is begun,
    /// `adopt` for the points of a journal of another sweep under their numbers in this one.
    pub(crate) fn open(
        path: &Path,
        header: &Header,
        fresh: &dyn Fn() -> Result<()>,
        adopt: &dyn Fn(&Contents) -> Result<Option<Rows>>,
    ) -> Result<(Journal, Contents)> {
        if path.exists() {
            refuse_devices(path)?;
        } else {
            fresh()?;
        }
        let cannot = || format!("cannot write {}", path.display());
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(path).with_context(cannot)?;
        lock(&file, path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(|| format!("cannot read {}", path.display()))?;
        let line = header.line();
        let contents = if line.as_bytes().starts_with(&bytes) && bytes.len() < line.len() {
            // Killed before even the header was there.
            fresh()?;
            file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).with_context(cannot)?;
            file.write_all(line.as_bytes()).with_context(cannot)?;
            Contents { header: header.clone(), rows: BTreeMap::new(), complete: line.len() }
        } else {
            let contents = Contents::read(path, &bytes)?;
            header.expect(&contents.header, path)?;
            if contents.header.sweep != header.sweep {
                let whole = header.shard == Shard::WHOLE && header.is_extendable(&contents.header);
                let rows = if whole { adopt(&contents)? } else { None };
                let rows = rows.ok_or_else(|| header.refuse(&contents.header, path))?;
                return Journal::replace(path, header, rows, file);
            }
            contents
        };
        let journal = Journal { path: path.to_path_buf(), file: Mutex::new(Some(file)), _replaced: None };
        Ok((journal, contents))
    }

    /// Puts the journal of a larger sweep in place of that of a smaller one: the whole file, or nothing.
    fn replace(path: &Path, header: &Header, rows: Rows, replaced: File) -> Result<(Journal, Contents)> {
        let cannot = || format!("cannot write {}", path.display());
        let mut text = header.line();
        for row in rows.values() {
            text += &(serde_json::to_string(row)? + "\n");
        }
        let unfinished = path.with_extension("journal.part");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        let mut file = options.open(&unfinished).with_context(cannot)?;
        lock(&file, path)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        if let Err(error) = written.and_then(|()| fs::rename(&unfinished, path)) {
            _ = fs::remove_file(&unfinished);
            return Err(error).with_context(cannot);
        }
        let (kept, of) = (count(rows.len() as u64, "finished point"), header.sweep.points);
        note!("note: the sweep is larger than before; {kept} of {of} stay as they are in {}", path.display());
        let contents = Contents { header: header.clone(), rows, complete: text.len() };
        let (path, file) = (path.to_path_buf(), Mutex::new(Some(file)));
        Ok((Journal { path, file, _replaced: Some(replaced) }, contents))
    }

    /// Takes away what is left of a line that was being written when the program ended, so that the next one can follow.
    pub(crate) fn mend(&self, contents: &Contents) -> Result<()> {
        let mut file = self.file.lock().ignore_poison();
        let cannot = || format!("cannot write {}", self.path.display());
        let Some(file) = file.as_mut() else { return Ok(()) };
        let complete = contents.complete as u64;
        if file.metadata().with_context(cannot)?.len() > complete {
            let name = self.path.display();
            note!("note: the last line of {name} is incomplete; its point is simulated again");
            file.set_len(complete).with_context(cannot)?;
        }
        file.seek(SeekFrom::Start(complete)).with_context(cannot)?;
        Ok(())
    }

    /// Adds a finished point. It stays, whatever happens to the program afterwards.
    pub(crate) fn append(&self, row: &Row) -> Result<()> {
        let line = serde_json::to_string(row)? + "\n";
        let mut guard = self.file.lock().ignore_poison();
        let Some(file) = guard.as_mut() else { bail!("{} cannot be written any more", self.path.display()) };
        if let Err(error) = file.write_all(line.as_bytes()) {
            *guard = None;
            let advice = "what is finished is kept; make room and run the same command again";
            return Err(error).with_context(|| format!("cannot write {} ({advice})", self.path.display()));
        }
        Ok(())
    }

    /// All that is finished. Everything goes through the file, so that results are the same bytes however often they
    /// were interrupted.
    pub(crate) fn contents(&self) -> Result<Contents> {
        let mut guard = self.file.lock().ignore_poison();
        let Some(file) = guard.as_mut() else { bail!("{} cannot be written any more", self.path.display()) };
        let mut bytes = Vec::new();
        let read = file.sync_all().and_then(|()| file.seek(SeekFrom::Start(0)));
        read.and_then(|_| file.read_to_end(&mut bytes))
            .with_context(|| format!("cannot read {}", self.path.display()))?;
        Contents::read(&self.path, &bytes)
    }
}

/// Refuses folders, and devices that one could read for ever.
fn refuse_devices(path: &Path) -> Result<()> {
    if path.exists() && !path.is_file() {
        bail!("{} is not an ordinary file: move it away or use another name", path.display());
    }
    Ok(())
}

/// Keeps others out for as long as this process lives: the system takes the lock away when it ends, however it ends.
fn lock(file: &File, path: &Path) -> Result<()> {
    let name = path.display();
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            bail!("{name} is in use by another process: wait for it, or choose another --out")
        }
        Err(TryLockError::Error(error)) => {
            note!("note: {name} cannot be locked ({error}): let no other process run the same sweep");
            Ok(())
        }
    }
}

impl Record {
    pub(crate) fn of(columns: Vec<Column>) -> Record {
        let value = |cell| match cell {
            Cell::Count(count) => count.into(),
            Cell::Number(number) => number.into(),
            Cell::Text(text) => text.into(),
            Cell::Nothing => Value::Null,
        };
        Record(columns.into_iter().map(|column| (column.name, value(column.value))).collect())
    }

    /// The value of this name; nothing if there is none.
    pub(crate) fn get(&self, name: &str) -> &Value {
        self.0.iter().find(|(known, _)| known == name).map_or(&Value::Null, |(_, value)| value)
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Record, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Record;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("names with values")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Record, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Record(pairs))
            }
        }

        deserializer.deserialize_map(Pairs)
    }
}
