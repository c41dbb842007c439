//! Applies committed entries in order: the registry, and snapshots of it.
//!
//! The registry lives in memory. After a start it is rebuilt from the last snapshot and the entries after it.

use std::io::{self, Cursor};
use std::sync::Arc;

use openraft::storage::{RaftSnapshotBuilder, RaftStateMachine};
use openraft::{EntryPayload, OptionalSend, StorageIOError};
use service::frame;
use service::registry::{Applied, Registry};
use tokio::sync::watch;

use crate::disk::{Disk, Kept, Write};
use crate::types::{self, LogEntry, LogId, Membership, Snapshot, SnapshotMeta, StorageError, Types};

/// The registry with how far it got.
pub(crate) struct StateMachine {
    applied: Option<LogId>,
    membership: Membership,
    registry: watch::Sender<Arc<Registry>>,
    snapshot: Option<Kept>,
    disk: Arc<Disk>,
}

impl StateMachine {
    /// Begins with a snapshot, if there is one.
    pub(crate) fn new(disk: Arc<Disk>, snapshot: Option<Kept>) -> Result<StateMachine, frame::FrameError> {
        let (mut applied, mut membership, mut registry) = (None, Membership::default(), Registry::default());
        if let Some((meta, bytes)) = &snapshot {
            (applied, membership) = (meta.last_log_id, meta.last_membership.clone());
            registry = Registry::read(bytes)?;
        }
        let registry = watch::Sender::new(Arc::new(registry));
        Ok(StateMachine { applied, membership, registry, snapshot, disk })
    }

    /// What was applied here, as it comes.
    pub(crate) fn registry(&self) -> watch::Receiver<Arc<Registry>> {
        self.registry.subscribe()
    }

    fn apply_one(&mut self, registry: &mut Registry, entry: LogEntry) -> Applied {
        self.applied = Some(entry.log_id);
        match entry.payload {
            EntryPayload::Blank => Applied::Yes,
            EntryPayload::Normal(proposal) => {
                registry.apply(&proposal, types::leadership(entry.log_id.leader_id))
            }
            EntryPayload::Membership(membership) => {
                self.membership = Membership::new(Some(entry.log_id), membership);
                Applied::Yes
            }
        }
    }
}

impl RaftStateMachine<Types> for StateMachine {
    type SnapshotBuilder = Builder;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, Membership), StorageError> {
        Ok((self.applied, self.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Applied>, StorageError>
    where
        I: IntoIterator<Item = LogEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let before = self.registry.borrow().clone();
        let mut registry = Registry::clone(&before);
        let applied = entries.into_iter().map(|entry| self.apply_one(&mut registry, entry)).collect();
        if registry != *before {
            self.registry.send_replace(Arc::new(registry));
        }
        Ok(applied)
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        let mut bytes = Vec::new();
        self.registry.borrow().write(&mut bytes);
        let number = self.applied.map_or(0, |id| id.index);
        // If nothing can be drawn, the number still tells it from the others of this leader.
        let snapshot_id = format!("{number}-{:016x}", crate::folder::drawn().unwrap_or(0));
        let last_membership = self.membership.clone();
        let meta = SnapshotMeta { last_log_id: self.applied, last_membership, snapshot_id };
        self.snapshot = Some((meta.clone(), bytes.clone()));
        Builder { kept: (meta, bytes), disk: self.disk.clone() }
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>, StorageError> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), StorageError> {
        let bytes = snapshot.into_inner();
        let registry = Registry::read(&bytes).map_err(|error| {
            let error = io::Error::other(error.to_string());
            StorageIOError::read_snapshot(Some(meta.signature()), &error)
        })?;
        keep(&self.disk, &(meta.clone(), bytes.clone())).await?;
        self.registry.send_replace(Arc::new(registry));
        (self.applied, self.membership) = (meta.last_log_id, meta.last_membership.clone());
        self.snapshot = Some((meta.clone(), bytes));
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot>, StorageError> {
        Ok(self.snapshot.clone().map(from_kept))
    }
}

/// A snapshot that is on its way to disk.
pub(crate) struct Builder {
    kept: Kept,
    disk: Arc<Disk>,
}

impl RaftSnapshotBuilder<Types> for Builder {
    async fn build_snapshot(&mut self) -> Result<Snapshot, StorageError> {
        keep(&self.disk, &self.kept).await?;
        Ok(from_kept(self.kept.clone()))
    }
}

/// Writes a snapshot, and reports it only after that: the log before it is then cut off.
async fn keep(disk: &Disk, kept: &Kept) -> Result<(), StorageError> {
    let written = disk.written(Write::Snapshot(Box::new(kept.clone()))).await;
    written.map_err(|error| StorageIOError::write_snapshot(Some(kept.0.signature()), &error).into())
}

fn from_kept((meta, bytes): Kept) -> Snapshot {
    Snapshot { meta, snapshot: Box::new(Cursor::new(bytes)) }
}
