//! Openraft's own tests of what it expects of a store, and what is on disk afterwards.

use std::sync::Arc;

use openraft::storage::{RaftLogReader, RaftLogStorage, RaftLogStorageExt};
use openraft::testing::{StoreBuilder, Suite};
use openraft::{CommittedLeaderId, EntryPayload};

use super::LogStore;
use crate::disk::Disk;
use crate::folder::Folder;
use crate::state_machine::StateMachine;
use crate::test_folder::TestFolder;
use crate::types::{LogEntry, LogId, StorageError, Types, Vote};

struct Builder;

impl StoreBuilder<Types, LogStore, StateMachine, TestFolder> for Builder {
    async fn build(&self) -> Result<(TestFolder, LogStore, StateMachine), StorageError> {
        let folder = TestFolder::new();
        let (store, machine, _) = open(&folder);
        Ok((folder, store, machine))
    }
}

fn open(folder: &TestFolder) -> (LogStore, StateMachine, Arc<Disk>) {
    let folder = Folder::open(&folder.0, "test", 0).unwrap();
    let (disk, mut found) = Disk::open(folder).unwrap();
    let disk = Arc::new(disk);
    let machine = StateMachine::new(disk.clone(), found.snapshot.take()).unwrap();
    (LogStore::new(0, disk.clone(), found), machine, disk)
}

#[test]
fn openrafts_tests_of_stores_pass() {
    Suite::test_all(Builder).unwrap();
}

#[tokio::test]
async fn what_was_reported_as_flushed_is_there_again() {
    let folder = TestFolder::new();
    let id = |index| LogId::new(CommittedLeaderId::new(3, 1), index);
    let entry = |index| LogEntry { log_id: id(index), payload: EntryPayload::Blank };
    let (mut store, _, disk) = open(&folder);
    store.save_vote(&Vote::new_committed(3, 1)).await.unwrap();
    store.blocking_append((0..10).map(entry)).await.unwrap();
    store.save_committed(Some(id(7))).await.unwrap();
    store.truncate(id(9)).await.unwrap();
    store.purge(id(2)).await.unwrap();
    disk.stop();
    assert!(store.save_vote(&Vote::new(4, 1)).await.is_err(), "a closed folder takes nothing");

    let (mut store, _, disk) = open(&folder);
    assert_eq!(store.read_vote().await.unwrap(), Some(Vote::new_committed(3, 1)));
    assert_eq!(store.read_committed().await.unwrap(), Some(id(7)));
    let state = store.get_log_state().await.unwrap();
    assert_eq!((state.last_purged_log_id, state.last_log_id), (Some(id(2)), Some(id(8))));
    let indices: Vec<u64> =
        store.try_get_log_entries(..).await.unwrap().iter().map(|entry| entry.log_id.index).collect();
    assert_eq!(indices, [3, 4, 5, 6, 7, 8]);
    disk.stop();
}
