//! Something that locks protect: numbers that clients read, count up by one and write back. Every number is kept twice:
//! once by a store that checks fences, once by one that does not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use sync::IgnorePoison;
use tokenwood::fence::Gate;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Updates that the store took which checks fences,
    pub(crate) updates: u64,
    /// and those it refused.
    pub(crate) too_late: u64,
    /// Updates that a client overwrote without having seen them, although fences are checked,
    pub(crate) lost: u64,
    /// and where they are not.
    pub(crate) lost_without_fences: u64,
}

/// Both stores, behind one socket.
#[derive(Default)]
struct Store {
    gates: BTreeMap<String, Gate>,
    /// By name and slot: what is there with fences checked, and without.
    values: BTreeMap<(String, u32), (u64, u64)>,
    count: Count,
}

impl Store {
    /// What is there, for a client with this fence; `None` for the first if a client with a higher one was there.
    fn read(&mut self, name: &str, slot: u32, fence: u64) -> (Option<u64>, u64) {
        let passes = self.gates.entry(name.to_string()).or_default().pass(slot, fence).is_ok();
        let (careful, careless) = *self.values.entry((name.to_string(), slot)).or_default();
        if !passes {
            self.count.too_late += 1;
        }
        (passes.then_some(careful), careless)
    }

    /// A client counted up what it had read.
    fn write(&mut self, name: &str, slot: u32, fence: u64, read: (Option<u64>, u64)) {
        let passes = self.gates.entry(name.to_string()).or_default().pass(slot, fence).is_ok();
        let (careful, careless) = self.values.entry((name.to_string(), slot)).or_default();
        match read.0 {
            Some(seen) if passes => {
                self.count.updates += 1;
                self.count.lost += u64::from(seen != *careful);
                *careful = seen + 1;
            }
            _ => self.count.too_late += 1,
        }
        self.count.lost_without_fences += u64::from(read.1 != *careless);
        *careless = read.1 + 1;
    }

    /// A line of a client, and what to answer.
    fn hear(&mut self, line: &str) -> Option<String> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["read", name, slot, fence] => {
                let (careful, careless) = self.read(name, slot.parse().ok()?, fence.parse().ok()?);
                Some(format!("{} {careless}", careful.map_or("late".to_string(), |value| value.to_string())))
            }
            ["write", name, slot, fence, careful, careless] => {
                let read = (careful.parse().ok(), careless.parse().ok()?);
                self.write(name, slot.parse().ok()?, fence.parse().ok()?, read);
                Some("written".to_string())
            }
            _ => None,
        }
    }
}

/// The store while it can be used: a socket in the file system, which is reached from every network.
pub(crate) struct OpenStore {
    pub(crate) path: PathBuf,
    store: Arc<Mutex<Store>>,
    listener: JoinHandle<()>,
}

impl OpenStore {
    pub(crate) fn open(path: PathBuf) -> Result<OpenStore> {
        let listener = UnixListener::bind(&path).context("cannot open the store")?;
        let store: Arc<Mutex<Store>> = Arc::default();
        let kept = store.clone();
        let listener = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, kept.clone()));
            }
        });
        Ok(OpenStore { path, store, listener })
    }

    pub(crate) fn count(&self) -> Count {
        self.store.lock().ignore_poison().count
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

async fn serve(stream: UnixStream, store: Arc<Mutex<Store>>) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let answer = store.lock().ignore_poison().hear(&line);
        let Some(answer) = answer else { return };
        if writer.write_all((answer + "\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// A client's way to the store.
pub(crate) struct Register {
    lines: tokio::io::Lines<BufReader<OwnedReadHalf>>,
    writer: OwnedWriteHalf,
}

/// What a client has read: from the store that checks fences unless it came too late, and from the other.
pub(crate) type Seen = (Option<u64>, u64);

impl Register {
    pub(crate) async fn connect(path: &Path) -> Result<Register> {
        let (reader, writer) = UnixStream::connect(path).await?.into_split();
        Ok(Register { lines: BufReader::new(reader).lines(), writer })
    }

    pub(crate) async fn read(&mut self, name: &str, slot: u32, fence: u64) -> Result<Seen> {
        let answer = self.ask(&format!("read {name} {slot} {fence}\n")).await?;
        let (careful, careless) = answer.split_once(' ').context("unexpected answer from the store")?;
        Ok((careful.parse().ok(), careless.parse()?))
    }

    pub(crate) async fn count_up(&mut self, name: &str, slot: u32, fence: u64, seen: Seen) -> Result<()> {
        let careful = seen.0.map_or("late".to_string(), |value| value.to_string());
        self.ask(&format!("write {name} {slot} {fence} {careful} {}\n", seen.1)).await.map(|_| ())
    }

    async fn ask(&mut self, line: &str) -> Result<String> {
        self.writer.write_all(line.as_bytes()).await?;
        match self.lines.next_line().await? {
            Some(answer) => Ok(answer),
            None => bail!("the store has hung up"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_writer_overwrites_only_where_fences_are_not_checked() {
        let mut store = Store::default();
        let paused = store.read("x", 0, 1);
        let next = store.read("x", 0, 2);
        store.write("x", 0, 1, paused);
        assert_eq!(
            store.count,
            Count { too_late: 1, ..Count::default() },
            "not even before the next has written"
        );
        store.write("x", 0, 2, next);
        assert_eq!(store.count, Count { updates: 1, too_late: 1, lost: 0, lost_without_fences: 1 });
        assert_eq!(store.hear("read x 0 1"), Some("late 1".to_string()));
        assert_eq!(store.hear("read x 0 2"), Some("1 1".to_string()));
        assert_eq!(store.hear("write x 0 2 0 1"), Some("written".to_string()));
        assert_eq!(store.count.lost, 1, "two holders with one fence are found");
    }
}
