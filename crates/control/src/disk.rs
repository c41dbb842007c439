//! What is on disk: votes, log and snapshot in one database file, written by a thread of its own.
//!
//! Everything that waits is written in one transaction, so a burst costs one flush; callers are answered only
//! after the flush. The file is read only once, when it is opened.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use openraft::storage::LogFlushed;
use redb::backends::InMemoryBackend;
use redb::{Database, Durability, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition};
use serde::Serialize;
use serde::de::DeserializeOwned;
use service::frame;
use sync::IgnorePoison;
use tokio::sync::oneshot;

use crate::folder::{Folder, FolderError};
use crate::types::{LogEntry, LogId, SnapshotMeta, Types, Vote};

/// Entries of the log, by index.
const LOG: TableDefinition<u64, &[u8]> = TableDefinition::new("log");
/// The values that there is one of: vote, marks, snapshot.
const SINGLE: TableDefinition<&str, &[u8]> = TableDefinition::new("single");

/// Every flush takes this many milliseconds longer, as on a busy disk. Only builds with the feature `faults`
/// read it.
pub const SLOW_DISK: &str = "TOKENWOOD_SLOW_DISK";

/// The name of the one thread that may panic: a program that ends when a thread does leaves it alone.
pub const MAY_PANIC: &str = "control check";

const MARK: &str = "mark";
const VOTE: &str = "vote";
const COMMITTED: &str = "committed";
const PURGED: &str = "purged";
const SNAPSHOT: &str = "snapshot";

/// A snapshot as it is kept: what it is of, and its bytes.
pub(crate) type Kept = (SnapshotMeta, Vec<u8>);

/// What was found on disk.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) vote: Option<Vote>,
    pub(crate) committed: Option<LogId>,
    pub(crate) purged: Option<LogId>,
    pub(crate) log: Vec<LogEntry>,
    pub(crate) snapshot: Option<Kept>,
}

/// Something to write.
pub(crate) enum Write {
    Vote(Vote),
    /// Need not be on disk at once: the leader knows better. It goes with the next write.
    Committed(Option<LogId>),
    Append(Vec<LogEntry>),
    /// Removes this entry and all after it.
    Truncate(u64),
    /// Removes this entry and all before it.
    Purge(LogId),
    Snapshot(Box<Kept>),
}

/// The receiver of the result of a write.
pub(crate) enum Tell {
    Nobody,
    Raft(LogFlushed<Types>),
    Caller(oneshot::Sender<io::Result<()>>),
}

impl Tell {
    fn tell(self, result: io::Result<()>) {
        match self {
            Tell::Nobody => {}
            Tell::Raft(flushed) => flushed.log_io_completed(result),
            // The caller may have gone.
            Tell::Caller(sender) => _ = sender.send(result),
        }
    }
}

enum Job {
    Write(Write, Tell),
    BelongsTo(u64, Tell),
    Stop,
}

/// The thread that writes.
pub(crate) struct Disk {
    jobs: mpsc::Sender<Job>,
    thread: std::sync::Mutex<Option<thread::JoinHandle<()>>>,
}

impl Disk {
    /// Opens what is in a folder, and keeps it open.
    pub(crate) fn open(mut folder: Folder) -> Result<(Disk, Found), FolderError> {
        let path = folder.database();
        if !folder.has_database() {
            if path.exists() {
                // An interrupted first start left it, before anything was promised.
                std::fs::remove_file(&path).map_err(|error| io_error("remove", &path, error))?;
            }
            make(&folder)?;
            folder.database_was_made()?;
        }
        check_a_copy(&folder)?;
        let database = Database::open(&path).map_err(|error| folder.damaged(error.to_string()))?;
        let found = read(&database, folder.mark).map_err(|damage| folder.damaged(damage.to_string()))?;
        let (jobs, waiting) = mpsc::channel();
        let run = move || work(&database, folder, &waiting);
        let thread = thread::Builder::new().name("control disk".to_owned()).spawn(run);
        let thread = thread.map_err(|error| io_error("start the thread that writes to", &path, error))?;
        Ok((Disk { jobs, thread: std::sync::Mutex::new(Some(thread)) }, found))
    }

    /// Writes something, in the order of the calls.
    pub(crate) fn write(&self, write: Write, tell: Tell) {
        self.job(Job::Write(write, tell));
    }

    /// Writes something and waits until it is on disk.
    pub(crate) async fn written(&self, write: Write) -> io::Result<()> {
        let (sender, receiver) = oneshot::channel();
        self.write(write, Tell::Caller(sender));
        receiver.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Writes down the number of the cluster and waits until it is on disk.
    pub(crate) async fn belongs_to(&self, cluster_id: u64) -> io::Result<()> {
        let (sender, receiver) = oneshot::channel();
        self.job(Job::BelongsTo(cluster_id, Tell::Caller(sender)));
        receiver.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Writes what waits, closes the files and releases the folder.
    pub(crate) fn stop(&self) {
        // The thread may have ended already.
        _ = self.jobs.send(Job::Stop);
        if let Some(thread) = self.thread.lock().ignore_poison().take() {
            thread.join().expect("the thread that writes does not panic");
        }
    }

    fn job(&self, job: Job) {
        if let Err(mpsc::SendError(Job::Write(_, tell) | Job::BelongsTo(_, tell))) = self.jobs.send(job) {
            tell.tell(Err(stopped()));
        }
    }
}

fn stopped() -> io::Error {
    io::Error::other("the data folder is closed")
}

fn io_error(doing: &'static str, path: &Path, error: io::Error) -> FolderError {
    FolderError::Io { doing, path: path.to_owned(), error }
}

/// How much longer every flush takes.
#[cfg(feature = "faults")]
fn slow() -> Option<Duration> {
    let millis = std::env::var(SLOW_DISK).ok().filter(|millis| !millis.is_empty())?;
    // A test of a slow disk must not go on with a quick one.
    let millis =
        millis.parse().unwrap_or_else(|_| panic!("{SLOW_DISK}: '{millis}' is not a number of milliseconds"));
    Some(Duration::from_millis(millis))
}

/// How much longer every flush takes: disks are as they are.
#[cfg(not(feature = "faults"))]
fn slow() -> Option<Duration> {
    None
}

/// The thread: takes everything that waits and writes it in one go.
fn work(database: &Database, mut folder: Folder, waiting: &mpsc::Receiver<Job>) {
    let slow = slow();
    // After a failed write it is not known what is on disk: nothing may follow.
    let mut broken: Option<String> = None;
    while let Ok(first) = waiting.recv() {
        let (mut writes, mut tells, mut stop, mut next) = (Vec::new(), Vec::new(), false, Some(first));
        while let Some(job) = next {
            match job {
                Job::Write(write, tell) => {
                    writes.push(write);
                    tells.push(tell);
                }
                Job::BelongsTo(cluster_id, tell) => {
                    tell.tell(
                        folder.belongs_to(cluster_id).map_err(|error| io::Error::other(error.to_string())),
                    );
                }
                Job::Stop => stop = true,
            }
            next = if stop { None } else { waiting.try_recv().ok() };
        }
        if broken.is_none() {
            let can_wait = |write: &Write| matches!(write, Write::Committed(_));
            let flush = if stop || !writes.iter().all(can_wait) { Flush::Now } else { Flush::Later };
            slow.filter(|_| flush == Flush::Now).into_iter().for_each(thread::sleep);
            broken = commit(database, &writes, flush).err().map(|error| error.to_string());
        }
        for tell in tells {
            tell.tell(broken.as_ref().map_or(Ok(()), |error| Err(io::Error::other(error.clone()))));
        }
        if stop {
            return;
        }
    }
}

/// Whether a transaction is flushed to disk before it is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flush {
    Now,
    /// With the next transaction that is.
    Later,
}

/// Writes all of this or nothing.
fn commit(database: &Database, writes: &[Write], flush: Flush) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    if flush == Flush::Later {
        transaction.set_durability(Durability::None)?;
    }
    {
        let mut log = transaction.open_table(LOG)?;
        let mut single = transaction.open_table(SINGLE)?;
        let mut bytes = Vec::new();
        for write in writes {
            bytes.clear();
            match write {
                Write::Vote(vote) => _ = single.insert(VOTE, encoded(vote, &mut bytes))?,
                Write::Committed(id) => _ = single.insert(COMMITTED, encoded(id, &mut bytes))?,
                Write::Append(entries) => {
                    for entry in entries {
                        bytes.clear();
                        log.insert(entry.log_id.index, encoded(entry, &mut bytes))?;
                    }
                }
                Write::Truncate(from) => log.retain_in(*from.., |_, _| false)?,
                Write::Purge(upto) => {
                    log.retain_in(..=upto.index, |_, _| false)?;
                    single.insert(PURGED, encoded(upto, &mut bytes))?;
                }
                Write::Snapshot(kept) if is_older(kept, single.get(SNAPSHOT)?) => {}
                Write::Snapshot(kept) => _ = single.insert(SNAPSHOT, encoded(kept, &mut bytes))?,
            }
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Whether a later snapshot exists: one that came from the leader while this one was made.
fn is_older(kept: &Kept, there: Option<redb::AccessGuard<'_, &[u8]>>) -> bool {
    let there: Option<Kept> = there.and_then(|there| frame::whole(there.value()).ok());
    there.is_some_and(|(meta, _)| meta.last_log_id > kept.0.last_log_id)
}

fn encoded<'a, T: Serialize>(value: &T, bytes: &'a mut Vec<u8>) -> &'a [u8] {
    frame::append(value, bytes);
    bytes
}

/// Makes an empty database that knows its folder.
fn make(folder: &Folder) -> Result<(), FolderError> {
    let make = || -> Result<(), redb::Error> {
        let database = Database::builder().create_file(folder.new_file(&folder.database())?)?;
        let transaction = database.begin_write()?;
        transaction.open_table(LOG)?;
        transaction.open_table(SINGLE)?.insert(MARK, folder.mark.to_le_bytes().as_slice())?;
        transaction.commit()?;
        Ok(())
    };
    make().map_err(|error| io_error("make", &folder.database(), io::Error::other(error.to_string())))
}

/// Opens a copy in memory and checks every page of it. Opening the file itself would mend what it can, and so hide what
/// was lost; a file that is damaged stays as it is.
fn check_a_copy(folder: &Folder) -> Result<(), FolderError> {
    let path = folder.database();
    let bytes = std::fs::read(&path).map_err(|error| io_error("read", &path, error))?;
    let mark = folder.mark;
    let check = move || -> Result<(), Damage> {
        let copy = InMemoryBackend::new();
        copy.set_len(bytes.len() as u64).and_then(|()| copy.write(0, &bytes)).map_err(Damage::Copy)?;
        let mut database = Database::builder().create_with_backend(copy)?;
        if !database.check_integrity()? {
            return Err(Damage::Checksums);
        }
        read(&database, mark).map(|_| ())
    };
    // Bytes that make no sense at all may panic in there; in a thread of its own that is an answer too.
    let thread = thread::Builder::new().name(MAY_PANIC.to_owned()).spawn(check);
    let thread = thread.map_err(|error| io_error("start the thread that checks", &path, error))?;
    let checked = thread.join().unwrap_or(Err(Damage::Unreadable));
    checked.map_err(|damage| folder.damaged(damage.to_string()))
}

/// Reads everything.
fn read(database: &Database, mark: u64) -> Result<Found, Damage> {
    let transaction = database.begin_read()?;
    let (log, single) = (transaction.open_table(LOG)?, transaction.open_table(SINGLE)?);
    let get = |key: &str| {
        let value = single.get(key)?;
        Ok::<_, Damage>(value.map(|value| value.value().to_owned()))
    };
    if get(MARK)?.as_deref() != Some(mark.to_le_bytes().as_slice()) {
        return Err(Damage::OtherFolder);
    }
    let mut found = Found {
        vote: decoded(get(VOTE)?)?,
        committed: decoded(get(COMMITTED)?)?.flatten(),
        purged: decoded(get(PURGED)?)?,
        log: Vec::new(),
        snapshot: decoded(get(SNAPSHOT)?)?,
    };
    let mut expected = found.purged.map(|id| id.index + 1);
    for item in log.iter()? {
        let (index, entry) = item?;
        let entry: LogEntry = frame::whole(entry.value()).map_err(Damage::Malformed)?;
        if index.value() != entry.log_id.index || expected.is_some_and(|expected| expected != index.value()) {
            return Err(Damage::Gap { before: index.value() });
        }
        expected = Some(index.value() + 1);
        found.log.push(entry);
    }
    Ok(found)
}

fn decoded<T: DeserializeOwned>(bytes: Option<Vec<u8>>) -> Result<Option<T>, Damage> {
    bytes.map(|bytes| frame::whole(&bytes).map_err(Damage::Malformed)).transpose()
}

/// Why a database cannot be used.
#[derive(Debug)]
enum Damage {
    /// The database library reports an error.
    Database(redb::Error),
    /// The copy to check could not be made.
    Copy(io::Error),
    /// Pages do not have the checksums that they should have.
    Checksums,
    /// The bytes make so little sense that reading them panics.
    Unreadable,
    /// The database was made for another folder.
    OtherFolder,
    /// A value is malformed.
    Malformed(frame::FrameError),
    /// The log lacks an entry.
    Gap {
        /// The index of the entry after it.
        before: u64,
    },
}

macro_rules! from_database_errors {
    ($($error:ident),*) => {
        $(impl From<redb::$error> for Damage {
            fn from(error: redb::$error) -> Damage {
                Damage::Database(error.into())
            }
        })*
    };
}

from_database_errors!(DatabaseError, StorageError, TableError, TransactionError);

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Database(error) => error.fmt(f),
            Damage::Copy(error) => error.fmt(f),
            Damage::Checksums => f.write_str("its checksums are wrong"),
            Damage::Unreadable => f.write_str("it cannot be read"),
            Damage::OtherFolder => f.write_str("it belongs to another folder"),
            Damage::Malformed(error) => error.fmt(f),
            Damage::Gap { before } => write!(f, "its log has a gap before entry {before}"),
        }
    }
}
