//! The work of the player: on threads of its own, bounded, and ended when the page hangs up.

use std::convert::Infallible;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use ::player::limits::Limits;
use ::player::{CompareRequest, CurveRequest, FindProgress, FindRequest};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::no::No;

/// So many searches, comparisons and curves run at once: each takes all cores, and a search the memory of the limits.
pub(crate) const MOST_LONG: usize = 2;
/// Progress is told this often at most.
const PROGRESS: Duration = Duration::from_millis(100);
/// A refusal that comes this early is the status of the answer; a later one is an event.
const EARLY: Duration = Duration::from_secs(1);
/// A page that does not read for this long is gone.
const LONGEST_READ: Duration = Duration::from_secs(20);
/// A comment is sent this often, so that both ends notice when the other is gone.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// So many events wait for the page to read them.
const EVENTS: usize = 16;

const BUSY: &str =
    "two searches or comparisons run here already: stop one of them, or try again when one is done";

/// What bounds the work of a server.
pub(crate) struct Works {
    quick: Arc<Semaphore>,
    long: Arc<Semaphore>,
    limits: Limits,
}

fn cores() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// Tells a piece of work that the page has hung up.
struct Hangup(Arc<AtomicBool>);

impl Drop for Hangup {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a piece of work tells the page.
enum Part {
    Event(&'static str, String),
    No(No),
}

/// The end of a piece of work at which the page listens.
struct Telling {
    to: Sender<Part>,
    hung_up: Arc<AtomicBool>,
    runtime: Handle,
}

impl Telling {
    /// Whether to go on.
    fn goes_on(&self) -> ControlFlow<()> {
        if self.hung_up.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn event(name: &'static str, facts: &impl Serialize) -> Part {
        match serde_json::to_string(facts) {
            Ok(json) => Part::Event(name, json),
            Err(error) => Part::No(No::failed(error)),
        }
    }

    /// Tells something that the page must hear.
    fn tell(&self, told: Part) -> ControlFlow<()> {
        let sent = self.runtime.block_on(async { timeout(LONGEST_READ, self.to.send(told)).await });
        if matches!(sent, Ok(Ok(()))) { self.goes_on() } else { ControlFlow::Break(()) }
    }

    /// Tells something that the page can do without.
    fn mention(&self, told: Part) {
        _ = self.to.try_send(told);
    }
}

/// How a piece of work ended.
fn end<T: Serialize>(ended: Result<T, ::player::Refusal>) -> Part {
    match ended {
        Ok(answer) => Telling::event("done", &answer),
        Err(refusal) => Part::No(refusal.into()),
    }
}

/// How far a search has come, with the time that it took.
#[derive(Serialize)]
struct Progress {
    #[serde(flatten)]
    found: FindProgress,
    seconds: f64,
}

impl Works {
    pub(crate) fn new(limits: Limits) -> Works {
        let [quick, long] = [cores(), MOST_LONG].map(|places| Arc::new(Semaphore::new(places)));
        Works { quick, long, limits }
    }

    /// Does work that takes some milliseconds; waits until a core is free for it.
    pub(crate) async fn quick<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, No> + Send + 'static,
    ) -> Result<T, No> {
        let place = self.quick.clone().acquire_owned().await.map_err(No::failed)?;
        let done = spawn_blocking(move || {
            let done = work();
            drop(place);
            done
        });
        done.await.map_err(No::failed)?
    }

    /// Begins work that takes long.
    fn long(
        &self,
        work: impl FnOnce(&Telling) -> Part + Send + 'static,
    ) -> Result<(Receiver<Part>, Hangup), No> {
        let place = self.long.clone().try_acquire_owned().map_err(|_| No::busy(BUSY))?;
        let (to, told) = channel(EVENTS);
        let hung_up = Arc::new(AtomicBool::new(false));
        let telling = Telling { to, hung_up: hung_up.clone(), runtime: Handle::current() };
        spawn_blocking(move || {
            let last = work(&telling);
            // The place is kept until the work is over, whether the page still listens or not, and is free when the page hears
            // of that: it may have more to ask.
            drop(place);
            _ = telling.tell(last);
        });
        Ok((told, Hangup(hung_up)))
    }

    /// Looks for a way.
    pub(crate) async fn find(&self, request: FindRequest) -> Result<Response, No> {
        let limits = self.limits;
        let begun = self.long(move |telling| {
            let (since, last) = (Instant::now(), AtomicU64::new(0));
            let watch = |found: FindProgress| {
                let elapsed = since.elapsed();
                let (now, before) = (elapsed.as_millis() as u64, last.load(Ordering::Relaxed));
                let due = now >= before + PROGRESS.as_millis() as u64;
                if due && last.compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                    let progress = Progress { found, seconds: elapsed.as_secs_f64() };
                    telling.mention(Telling::event("progress", &progress));
                }
                telling.goes_on()
            };
            end(::player::find(&request, cores(), limits, &watch))
        })?;
        stream(begun).await
    }

    /// Compares two algorithms.
    pub(crate) async fn compare(&self, request: CompareRequest) -> Result<Response, No> {
        let begun = self.long(move |telling| {
            let mut each = |entry| telling.tell(Telling::event("entry", &entry));
            end(::player::compare(&request, &mut each, &|| telling.goes_on()))
        })?;
        stream(begun).await
    }

    /// Simulates a curve.
    pub(crate) async fn curve(&self, request: CurveRequest) -> Result<Response, No> {
        let (mut told, _hangup) =
            self.long(move |telling| end(::player::curve(&request, &|| telling.goes_on())))?;
        match told.recv().await {
            Some(Part::Event(_, json)) => Ok(super::json(json)),
            Some(Part::No(no)) => Err(no),
            None => Err(No::failed("a curve ended without an answer")),
        }
    }
}

/// Answers with events. A request that is refused soon has no events: the status says it.
async fn stream((mut told, hangup): (Receiver<Part>, Hangup)) -> Result<Response, No> {
    let first = match timeout(EARLY, told.recv()).await {
        Ok(Some(Part::No(no))) => return Err(no),
        Ok(Some(event)) => Some(event),
        Ok(None) => return Err(No::failed("a search ended without an answer")),
        Err(_) => None,
    };
    let events =
        futures_util::stream::unfold((first, told, hangup), |(first, mut told, hangup)| async move {
            let event = match first {
                Some(first) => first,
                None => told.recv().await?,
            };
            let event = match event {
                Part::Event(name, json) => sse::Event::default().event(name).data(json),
                Part::No(no) => sse::Event::default().event("refusal").data(no.body().to_string()),
            };
            Some((Ok::<_, Infallible>(event), (None, told, hangup)))
        });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(SIGN_OF_LIFE)).into_response())
}
