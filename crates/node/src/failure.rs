//! A node that has failed: what is wrong, who is told, and the tasks that are watched for it.
//!
//! Half a node is worse than none: it keeps its lease and does not do its part. So a node that has failed
//! does not renew its lease, and its owner is told ([`OnFailure`]); `tokenwood node` ends the process.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinError, JoinHandle};

use crate::watchdog::{BEAT, Heart};

/// What is wrong with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A task that lasts as long as the node has ended.
    TaskEnded {
        /// Which.
        task: &'static str,
    },
    /// A task has panicked.
    Panicked {
        /// Which.
        task: &'static str,
        /// What it said.
        why: String,
    },
    /// A panic left the member in the middle of something.
    Poisoned,
    /// A part of the process gives no sign of life.
    Hangs {
        /// Which.
        part: &'static str,
        /// For this long.
        limit: Duration,
    },
    /// The data folder was removed or replaced: why that matters, and what to do.
    Folder(String),
    /// The node cannot become a member as it was started: why not, and what to do.
    NoMember(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::TaskEnded { task } => write!(f, "the task '{task}' has ended while the node is running"),
            Failure::Panicked { task, why } => write!(f, "the task '{task}' panicked: {why}"),
            Failure::Poisoned => f.write_str("a panic left the member in an inconsistent state"),
            Failure::Hangs { part, limit } => {
                write!(f, "the {part} hangs: no sign of life for {} ms", limit.as_millis())
            }
            Failure::Folder(why) | Failure::NoMember(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Failure {}

/// Called with the first failure of a node, from any thread, perhaps while the member is locked: it must
/// neither block nor panic, nor call the node.
///
/// The default does nothing: in any case the error is logged and the lease is not renewed, so that the other
/// nodes continue without this one. The process belongs to the program that embeds the node, and continues.
pub struct OnFailure(Box<dyn Fn(&Failure) + Send + Sync>);

impl OnFailure {
    /// This is called.
    pub fn new(call: impl Fn(&Failure) + Send + Sync + 'static) -> OnFailure {
        OnFailure(Box::new(call))
    }
}

impl Default for OnFailure {
    fn default() -> OnFailure {
        OnFailure::new(|_| {})
    }
}

/// Whether a node has failed. Clones are the same.
#[derive(Clone)]
pub(crate) struct Failures(Arc<FailureState>);

struct FailureState {
    node: u32,
    failed: AtomicBool,
    on_failure: OnFailure,
}

impl Failures {
    pub(crate) fn new(node: u32, on_failure: OnFailure) -> Failures {
        Failures(Arc::new(FailureState { node, failed: AtomicBool::new(false), on_failure }))
    }

    /// Whether there was one.
    pub(crate) fn any(&self) -> bool {
        self.0.failed.load(Ordering::Relaxed)
    }

    /// The node has failed. Later failures follow from the first, and are not reported.
    pub(crate) fn raise(&self, failure: &Failure) {
        if self.0.failed.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::error!(target: "node", node = self.0.node, "this node has failed: {failure}");
        (self.0.on_failure.0)(failure);
    }

    /// A task has ended that came back with this.
    pub(crate) fn note(&self, task: &'static str, ended: Result<(), JoinError>) {
        match ended {
            Err(error) if error.is_panic() => {
                let why = panic_message(&*error.into_panic());
                self.raise(&Failure::Panicked { task, why });
            }
            // The node stops.
            Err(_) => {}
            Ok(()) => self.raise(&Failure::TaskEnded { task }),
        }
    }
}

/// What a panic said.
fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(|text| &text[..])).unwrap_or("no reason").to_owned()
}

/// A task that lasts as long as the node: if it ends before it is aborted, the node has failed.
pub(crate) struct Lasting {
    abort: AbortHandle,
    watched: JoinHandle<()>,
}

impl Lasting {
    pub(crate) fn watch(
        task: &'static str,
        handle: JoinHandle<()>,
        failures: Failures,
        runtime: &Handle,
    ) -> Lasting {
        let abort = handle.abort_handle();
        Lasting { abort, watched: runtime.spawn(async move { failures.note(task, handle.await) }) }
    }

    /// Ends it, and waits until it has.
    pub(crate) async fn end(self) {
        self.abort.abort();
        // What it says is noted.
        _ = self.watched.await;
    }
}

/// Beats for as long as the runtime does.
pub(crate) async fn keep_beating(heart: Heart, mut look: impl FnMut()) {
    loop {
        look();
        heart.beat();
        tokio::time::sleep(BEAT).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_task_that_ends_or_panics_is_a_failure_and_one_that_is_ended_is_none() {
        let (sender, told) = mpsc::channel();
        let failures = |sender: mpsc::Sender<Failure>| {
            Failures::new(0, OnFailure::new(move |failure| sender.send(failure.clone()).unwrap()))
        };
        let runtime = Handle::current();
        let pending = tokio::spawn(std::future::pending());
        Lasting::watch("pending", pending, failures(sender.clone()), &runtime).end().await;
        assert!(told.try_recv().is_err());
        let ends = Lasting::watch("ends", tokio::spawn(async {}), failures(sender.clone()), &runtime);
        ends.watched.await.unwrap();
        assert_eq!(told.try_recv(), Ok(Failure::TaskEnded { task: "ends" }));
        let both = failures(sender);
        for _ in 0..2 {
            let panics = tokio::spawn(async { panic!("on purpose") });
            Lasting::watch("panics", panics, both.clone(), &runtime).watched.await.unwrap();
        }
        assert_eq!(
            told.try_iter().collect::<Vec<_>>(),
            [Failure::Panicked { task: "panics", why: "on purpose".to_owned() }],
            "only the first is told"
        );
        assert!(both.any());
    }
}
