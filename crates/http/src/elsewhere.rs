//! Events of the other nodes, for a watch of all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use node::Host;
use service::auth::{Action, Subject};
use service::event::{Event, Filter};
use tokenwood::{Access, Admin, Error, Seen};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::caller::Caller;
use crate::cluster::{access, may, others};

/// So many events wait for a client. If it does not take them, the other nodes count what it misses.
const MOST_WAITING: usize = 256;
/// Members come and go: who is there is asked this often.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// How long to wait before a node that is silent is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// A node that does not answer within this time is silent.
const LONGEST_ANSWER: Duration = Duration::from_secs(2);

/// What is heard of another node.
pub(crate) enum Heard {
    Event(Event),
    /// So many of its events were missed.
    Missed(u64),
    /// Its events do not come any more.
    Silent,
    /// Its events come, or come again.
    Again,
}

/// The events of all other nodes. They end when this is dropped.
pub(crate) struct Elsewhere {
    heard: mpsc::Receiver<(u32, Heard)>,
    host: Host,
    caller: Caller,
    #[expect(dead_code, reason = "it is there to be dropped")]
    watching: JoinSet<()>,
}

impl Elsewhere {
    /// Begins to watch the other nodes. They may take this node for the caller, so it asks them only for what the caller may
    /// read, and looks at each event again: rights change.
    pub(crate) fn watch(host: &Host, caller: Caller, filter: Filter) -> Elsewhere {
        let (tell, heard) = mpsc::channel(MOST_WAITING);
        let mut watching = JoinSet::new();
        watching.spawn(watch_members(host.clone(), caller.clone(), filter, tell));
        Elsewhere { heard, host: host.clone(), caller, watching }
    }

    /// What is heard next, and of which node.
    pub(crate) async fn next(&mut self) -> Option<(u32, Heard)> {
        loop {
            let heard = self.heard.recv().await?;
            match &heard.1 {
                Heard::Event(event) if !self.may_read(event) => {}
                _ => return Some(heard),
            }
        }
    }

    fn may_read(&self, event: &Event) -> bool {
        // What is about no name is for callers that may read all of them.
        let name = event.name().unwrap_or_default();
        may(&self.host, &self.caller, Action::Read, name)
    }
}

/// Watches every member that there is.
async fn watch_members(host: Host, caller: Caller, filter: Filter, tell: mpsc::Sender<(u32, Heard)>) {
    let (mut tasks, mut watched) = (JoinSet::new(), BTreeMap::<(u32, String), AbortHandle>::new());
    // What a node did before it came is missing, but for those that are there from the beginning.
    let mut came_late = false;
    loop {
        let registry = host.control().registry().borrow().clone();
        let readable = Subject::of(&registry.rights, &caller.caller.shown).readable(&filter);
        if let (Ok(others), Some(filter)) = (others(&host, &caller).await, readable) {
            let gone: Vec<_> = watched.extract_if(.., |member, _| !others.contains(member)).collect();
            for ((id, _), task) in gone {
                task.abort();
                if tell.send((id, Heard::Silent)).await.is_err() {
                    return;
                }
            }
            for (id, endpoint) in others {
                watched.entry((id, endpoint.clone())).or_insert_with(|| {
                    let (access, filter, tell) = (access(&host, &caller), filter.clone(), tell.clone());
                    tasks.spawn(async move {
                        watch_node((id, &endpoint), &access, &filter, came_late, &tell).await;
                    })
                });
            }
            came_late = true;
        }
        while tasks.try_join_next().is_some() {}
        sleep(LOOK_EVERY).await;
    }
}

/// Watches a node for ever. Ends when nothing listens any more.
async fn watch_node(
    (id, endpoint): (u32, &str),
    access: &Access,
    filter: &Filter,
    mut silent: bool,
    tell: &mpsc::Sender<(u32, Heard)>,
) {
    loop {
        let begun = timeout(LONGEST_ANSWER, async {
            let mut admin = Admin::connect_to(id, endpoint, access).await?;
            admin.watch(filter.clone()).await?;
            Ok::<_, Error>(admin)
        });
        if let Ok(Ok(mut admin)) = begun.await {
            if silent && tell.send((id, Heard::Again)).await.is_err() {
                return;
            }
            silent = false;
            while let Ok(seen) = admin.next().await {
                let heard = match seen {
                    Seen::Event(event) => Heard::Event(event),
                    Seen::Missed(events) => Heard::Missed(events),
                };
                if tell.send((id, heard)).await.is_err() {
                    return;
                }
            }
        }
        if !silent && tell.send((id, Heard::Silent)).await.is_err() {
            return;
        }
        silent = true;
        sleep(ASK_AGAIN).await;
    }
}
