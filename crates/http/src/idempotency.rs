//! Requests that are sent again: the same `Idempotency-Key` never takes two grants.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use service::Refusal;
use service::auth::Shown;
use sync::IgnorePoison;
use tokio::sync::watch;
use tokio::time::timeout_at;

use crate::grants::{Granted, gone};
use crate::options::{AcquireOptions, Length};
use crate::problem::{KEY_REUSED, LOST, NOT_FOUND, Problem};

/// The header of a key.
pub(crate) const HEADER: &str = "idempotency-key";
/// A wait that is longer than this is for ever: the clock of the system ends somewhere.
const LONGEST_WAIT: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The longest key.
const LONGEST_KEY: usize = 255;
/// So many keys are remembered.
const MOST_KEYS: usize = 10_000;
/// A key is remembered for this long after the grant it brought would have run out.
const REMEMBERED: Duration = Duration::from_secs(60);

/// The keys of one caller are its own.
type Key = (Shown, String);

/// The keys that were used lately.
#[derive(Default)]
pub(crate) struct Keys(Mutex<BTreeMap<Key, Entry>>);

/// What a request asks for, as far as its key stands for it. A client that sends it again may wait for another time.
pub(crate) struct Asked<'a> {
    name: &'a str,
    options: String,
    pub(crate) wait: Option<Duration>,
}

impl Asked<'_> {
    pub(crate) fn new<'a>(name: &'a str, options: &AcquireOptions) -> Asked<'a> {
        let wait = options.wait.map(|Length(wait)| wait);
        Asked { name, options: format!("{:?}", options.with_wait(None)), wait }
    }
}

struct Entry {
    /// The request that came with the key.
    name: String,
    options: String,
    /// Whether the request that is being carried out may wait.
    waits: bool,
    done: watch::Receiver<Option<Granted>>,
    /// The client does not want it any more.
    withdrawn: watch::Sender<bool>,
    until: Option<Instant>,
}

impl Entry {
    fn is_withdrawn(&self) -> bool {
        *self.withdrawn.borrow()
    }

    /// No request came with the key. It is remembered so that one that was overtaken takes nothing.
    fn only_withdrawn(name: &str) -> Entry {
        let until = Some(Instant::now() + REMEMBERED);
        let (done, withdrawn) = (watch::channel(None).1, watch::Sender::new(true));
        Entry { name: name.to_string(), options: String::new(), waits: false, done, withdrawn, until }
    }

    fn is_only_withdrawn(&self) -> bool {
        self.is_withdrawn() && self.options.is_empty()
    }
}

/// What to do with a request.
pub(crate) enum First {
    /// It is the first with its key: carry it out, and say what came of it.
    Yes(Doing),
    /// Its like was granted this.
    No(Granted),
}

/// A request that is being carried out. If it is dropped before it has brought a grant, the next with the same key is the first,
/// unless it was withdrawn.
pub(crate) struct Doing {
    keys: Arc<Keys>,
    key: Key,
    done: watch::Sender<Option<Granted>>,
    withdrawn: watch::Receiver<bool>,
}

/// The key of a request, if it has one.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get(HEADER) else { return Ok(None) };
    let text = key.to_str().ok().filter(|text| !text.is_empty() && text.len() <= LONGEST_KEY);
    let wrong = || Problem::bad_request("an Idempotency-Key has 1 to 255 printable characters");
    text.map(|text| Some(text.to_string())).ok_or_else(wrong)
}

/// The client does not want it any more.
pub(crate) fn withdrawn() -> Problem {
    Problem::new(&LOST, "the request of this Idempotency-Key was withdrawn")
}

impl Keys {
    fn entries(&self) -> MutexGuard<'_, BTreeMap<Key, Entry>> {
        self.0.lock().ignore_poison()
    }

    /// Whether a request is the first with its key. If another is being carried out, waits for what comes of it, but no longer
    /// than the request itself wants to wait.
    pub(crate) async fn first(
        self: &Arc<Keys>,
        key: Key,
        asked: &Asked<'_>,
        came: Instant,
    ) -> Result<First, Problem> {
        loop {
            let (mut done, waits) = match self.look(&key, asked)? {
                Ok(doing) => return Ok(First::Yes(doing)),
                Err(other) => other,
            };
            let heard = match waits {
                true => {
                    let until = came + asked.wait.unwrap_or_default().min(LONGEST_WAIT);
                    let over = timeout_at(until.into(), done.wait_for(Option::is_some)).await;
                    over.map_err(|_| asked.not_in_time())?
                }
                // Its answer comes soon.
                false => done.wait_for(Option::is_some).await,
            };
            // If it was given up, this request may be the next.
            if let Ok(granted) = heard {
                return granted.clone().map(First::No).ok_or_else(gone);
            }
        }
    }

    /// The one that is being carried out or was, and whether it may wait; or this is the first.
    #[expect(clippy::type_complexity, reason = "two outcomes of a look, and a problem")]
    fn look(
        self: &Arc<Keys>,
        key: &Key,
        asked: &Asked<'_>,
    ) -> Result<Result<Doing, (watch::Receiver<Option<Granted>>, bool)>, Problem> {
        let mut entries = self.entries();
        if let Some(entry) = entries.get(key) {
            if entry.name != asked.name || !entry.is_only_withdrawn() && entry.options != asked.options {
                return Err(reused());
            }
            if entry.is_withdrawn() {
                return Err(withdrawn());
            }
            return Ok(Err((entry.done.clone(), entry.waits)));
        }
        make_room(&mut entries)?;
        let (sender, done) = watch::channel(None);
        let (withdraw, withdrawn) = watch::channel(false);
        let entry = Entry {
            name: asked.name.to_string(),
            options: asked.options.clone(),
            waits: asked.wait.is_some_and(|wait| !wait.is_zero()),
            done,
            withdrawn: withdraw,
            until: None,
        };
        entries.insert(key.clone(), entry);
        Ok(Ok(Doing { keys: self.clone(), key: key.clone(), done: sender, withdrawn }))
    }

    /// From now on the request of a key takes nothing. If it waited, it does so no more. If it was granted something, returns
    /// that: it is to be released.
    pub(crate) async fn withdraw(&self, key: Key, name: &str) -> Result<Option<Granted>, Problem> {
        let mut done = {
            let mut entries = self.entries();
            match entries.get(&key) {
                Some(entry) if entry.name != name => return Err(reused()),
                Some(entry) if !entry.is_only_withdrawn() => {
                    entry.withdrawn.send_replace(true);
                    entry.done.clone()
                }
                _ => {
                    if !entries.contains_key(&key) {
                        make_room(&mut entries)?;
                        entries.insert(key, Entry::only_withdrawn(name));
                    }
                    return Err(Problem::new(
                        &NOT_FOUND,
                        "no request came here with this Idempotency-Key lately; one that comes late takes nothing",
                    ));
                }
            }
        };
        // What is being carried out ends at once, or has just brought a grant.
        Ok(done.wait_for(Option::is_some).await.ok().and_then(|granted| granted.clone()))
    }
}

fn reused() -> Problem {
    Problem::new(&KEY_REUSED, "another request came with this Idempotency-Key")
}

/// Forgets what is old, and then what was remembered to be on the safe side.
fn make_room(entries: &mut BTreeMap<Key, Entry>) -> Result<(), Problem> {
    if entries.len() >= MOST_KEYS {
        let now = Instant::now();
        entries.retain(|_, entry| entry.until.is_none_or(|until| until > now));
    }
    if entries.len() >= MOST_KEYS {
        entries.retain(|_, entry| !entry.is_only_withdrawn());
    }
    if entries.len() >= MOST_KEYS {
        return Err(Problem::unavailable("the node remembers as many Idempotency-Keys as it can"));
    }
    Ok(())
}

impl Asked<'_> {
    /// Another with the same key still waits, and this one does no more.
    fn not_in_time(&self) -> Problem {
        Problem::from(match self.wait {
            None | Some(Duration::ZERO) => Refusal::NotFree,
            Some(_) => Refusal::TimedOut,
        })
    }
}

impl Doing {
    /// It has brought a grant.
    pub(crate) fn granted(self, granted: &Granted) {
        let until = Instant::now() + Duration::from_millis(granted.ttl_ms) + REMEMBERED;
        if let Some(entry) = self.keys.entries().get_mut(&self.key) {
            entry.until = Some(until);
        }
        self.done.send_replace(Some(granted.clone()));
    }

    /// Waits until it is withdrawn.
    pub(crate) async fn withdrawn(&mut self) {
        if self.withdrawn.wait_for(|withdrawn| *withdrawn).await.is_err() {
            // Nothing can withdraw it any more.
            pending::<()>().await;
        }
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        if self.done.borrow().is_some() {
            return;
        }
        let mut entries = self.keys.entries();
        match entries.get_mut(&self.key) {
            Some(entry) if entry.is_withdrawn() => entry.until = Some(Instant::now() + REMEMBERED),
            _ => _ = entries.remove(&self.key),
        }
    }
}
