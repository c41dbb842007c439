//! The log as openraft wants it: all of it in memory, because it is short, and everything also on disk.
//!
//! The log is cut off behind every snapshot, so memory and file stay small however much is committed.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::ops::RangeBounds;
use std::sync::{Arc, Mutex, MutexGuard};

use openraft::storage::{LogFlushed, LogState, RaftLogReader, RaftLogStorage};
use openraft::{OptionalSend, RaftLogId, StorageIOError};
use sync::IgnorePoison;

use crate::disk::{Disk, Found, Tell, Write};
use crate::types::{LogEntry, LogId, StorageError, Types, Vote};

#[cfg(test)]
mod tests;

/// The log, and with it the votes.
#[derive(Clone)]
pub(crate) struct LogStore {
    memory: Arc<Mutex<Memory>>,
    disk: Arc<Disk>,
}

struct Memory {
    vote: Option<Vote>,
    committed: Option<LogId>,
    purged: Option<LogId>,
    log: BTreeMap<u64, LogEntry>,
}

impl LogStore {
    /// Continues what was found on disk.
    ///
    /// A node that led when it stopped has to be elected again. Openraft would let it continue under the same
    /// leadership, but what it had decided under that, and which members it had refused, is forgotten. Its
    /// vote for itself stays; that a majority had confirmed it does not.
    pub(crate) fn new(node: u32, disk: Arc<Disk>, found: Found) -> LogStore {
        let Found { mut vote, committed, purged, log, snapshot: _ } = found;
        if let Some(vote) = &mut vote {
            vote.committed &= vote.leader_id.node_id != u64::from(node);
        }
        let log = log.into_iter().map(|entry| (entry.log_id.index, entry)).collect();
        LogStore { memory: Arc::new(Mutex::new(Memory { vote, committed, purged, log })), disk }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().ignore_poison()
    }
}

fn log_error(error: &io::Error) -> StorageError {
    StorageIOError::write_logs(error).into()
}

impl RaftLogReader<Types> for LogStore {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<LogEntry>, StorageError> {
        Ok(self.memory().log.range(range).map(|(_, entry)| entry.clone()).collect())
    }
}

impl RaftLogStorage<Types> for LogStore {
    type LogReader = LogStore;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageError> {
        let memory = self.memory();
        let last = memory.log.last_key_value().map(|(_, entry)| *entry.get_log_id());
        Ok(LogState { last_purged_log_id: memory.purged, last_log_id: last.or(memory.purged) })
    }

    async fn get_log_reader(&mut self) -> LogStore {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), StorageError> {
        self.memory().vote = Some(*vote);
        let written = self.disk.written(Write::Vote(*vote)).await;
        written.map_err(|error| StorageIOError::write_vote(&error).into())
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, StorageError> {
        Ok(self.memory().vote)
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        self.memory().committed = committed;
        self.disk.write(Write::Committed(committed), Tell::Nobody);
        Ok(())
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError> {
        Ok(self.memory().committed)
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<Types>) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = LogEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<LogEntry> = entries.into_iter().collect();
        self.memory().log.extend(entries.iter().map(|entry| (entry.log_id.index, entry.clone())));
        self.disk.write(Write::Append(entries), Tell::Raft(callback));
        Ok(())
    }

    async fn truncate(&mut self, log_id: LogId) -> Result<(), StorageError> {
        // What is cut off is dropped.
        self.memory().log.split_off(&log_id.index);
        self.disk.written(Write::Truncate(log_id.index)).await.map_err(|error| log_error(&error))
    }

    async fn purge(&mut self, log_id: LogId) -> Result<(), StorageError> {
        {
            let mut memory = self.memory();
            memory.log = memory.log.split_off(&(log_id.index + 1));
            memory.purged = memory.purged.max(Some(log_id));
        }
        self.disk.written(Write::Purge(log_id)).await.map_err(|error| log_error(&error))
    }
}
