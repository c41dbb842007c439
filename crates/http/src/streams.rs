//! Watches whose connections broke. They are kept for a while, so that a client that comes back misses nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use service::auth::Shown;
use service::event::Filter;
use sync::IgnorePoison;
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::elsewhere::Elsewhere;
use crate::talk::Talk;

/// A watch is kept for this long after its connection broke. Meanwhile its line hears as many events as any slow client does;
/// of the others it learns the number.
const KEPT: Duration = Duration::from_secs(30);
/// So many are kept.
const MOST_KEPT: usize = 64;
/// So many events of a watch are remembered after they were written: the connection may have broken before they arrived.
const REMEMBERED: usize = 256;

/// An event of a watch: its number there, its name and its JSON.
pub(crate) type Numbered = (u64, &'static str, Arc<str>);

/// A watch, whatever connections it has.
pub(crate) struct Stream {
    id: u64,
    pub(crate) talk: Talk,
    /// The other nodes, in a watch of all of them.
    pub(crate) elsewhere: Option<Elsewhere>,
    owner: Owner,
    /// The number of its last event.
    number: u64,
    /// The last events.
    sent: VecDeque<Numbered>,
}

/// Who watches what: nobody else takes the watch over.
#[derive(PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) shown: Shown,
    pub(crate) filter: Filter,
    /// At all nodes.
    pub(crate) all: bool,
}

/// The watches that wait for their clients.
#[derive(Default)]
pub(crate) struct Streams(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    /// The number of the next watch.
    next: u64,
    kept: BTreeMap<u64, Stream>,
}

impl Stream {
    /// Numbers an event, and remembers it.
    pub(crate) fn number(&mut self, name: &'static str, json: String) -> Numbered {
        self.number += 1;
        let event = (self.number, name, json.into());
        if self.sent.len() == REMEMBERED {
            self.sent.pop_front();
        }
        self.sent.push_back(event.clone());
        event
    }

    /// The text by which a client names an event when it comes back.
    pub(crate) fn event_id(&self, incarnation: u64, number: u64) -> String {
        format!("{incarnation}.{}.{number}", self.id)
    }

    /// What came after this event, if all of it is remembered.
    fn after(&self, number: u64) -> Option<VecDeque<Numbered>> {
        let behind = self.number.checked_sub(number)? as usize;
        let first = self.sent.len().checked_sub(behind)?;
        Some(self.sent.range(first..).cloned().collect())
    }
}

impl Streams {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().ignore_poison()
    }

    /// A new watch.
    pub(crate) fn begin(&self, talk: Talk, elsewhere: Option<Elsewhere>, owner: Owner) -> Stream {
        let mut waiting = self.waiting();
        waiting.next += 1;
        Stream { id: waiting.next, talk, elsewhere, owner, number: 0, sent: VecDeque::new() }
    }

    /// The watch of a client that has come back, with the number of the last event that it has seen, and those after it. `None` if
    /// it is gone, or another's, or too much was written since.
    pub(crate) fn resume(
        &self,
        last: &str,
        incarnation: u64,
        owner: &Owner,
    ) -> Option<(Stream, u64, VecDeque<Numbered>)> {
        let mut parts = last.split('.').map(|part| part.parse::<u64>().ok());
        let (of, id, number) = (parts.next()??, parts.next()??, parts.next()??);
        let mut waiting = self.waiting();
        let kept = waiting.kept.get(&id).filter(|kept| of == incarnation && kept.owner == *owner)?;
        let after = kept.after(number)?;
        let stream = waiting.kept.remove(&id)?;
        Some((stream, number, after))
    }

    /// The connection of a watch broke: it waits for its client, if there is room.
    pub(crate) fn keep(self: &Arc<Streams>, stream: Stream) {
        // Without a runtime the node is about to end.
        let Ok(runtime) = Handle::try_current() else { return };
        let (id, number) = (stream.id, stream.number);
        let mut waiting = self.waiting();
        if waiting.kept.len() >= MOST_KEPT {
            return;
        }
        waiting.kept.insert(id, stream);
        let streams = Arc::downgrade(self);
        runtime.spawn(async move {
            sleep(KEPT).await;
            let Some(streams) = streams.upgrade() else { return };
            let mut waiting = streams.waiting();
            // Its client may have been back meanwhile, and gone again.
            if waiting.kept.get(&id).is_some_and(|kept| kept.number == number) {
                waiting.kept.remove(&id);
            }
        });
    }
}
