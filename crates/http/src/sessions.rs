//! Sessions that hold several grants, and that their clients keep alive themselves.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use node::{Heard, Host, Line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use service::protocol::{ToClient, ToNode};
use service::session::Promise;
use service::{Acquire, Grant, Refusal, Reply, RequestOutcome, SessionHandle, SessionId};
use sync::IgnorePoison;
use tokenwood::Detached;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::caller::Caller;
use crate::grants::{Granted, Left, gone, granted, is_here};
use crate::options::{AcquireOptions, Length};
use crate::problem::Problem;
use crate::shape::milliseconds;
use crate::talk::{Talk, beats};

/// How long a session lives without a keep-alive, if the request does not say.
const USUAL_TTL: Duration = Duration::from_secs(10);
/// An answer of the member that takes longer than this does not come.
const LONGEST_ANSWER: Duration = Duration::from_secs(10);

/// How to open a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenOptions {
    /// How long it lives without a keep-alive: 500 ms to 24 h; 10 s if it is not said.
    ttl: Option<Length>,
    /// Anything that helps people to know the client again.
    #[schemars(length(max = 128))]
    label: Option<String>,
}

/// A session, as its client is told of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Opened {
    /// What names the session. A secret.
    session: String,
    /// The node that keeps it.
    node: u32,
    /// How long it lives without a keep-alive.
    ttl_ms: u64,
    #[serde(flatten)]
    left: Left,
}

/// What a keep-alive answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeptAlive {
    #[serde(flatten)]
    left: Left,
    /// Grants that were revoked and not released yet.
    revoked: Vec<Revoked>,
}

/// A grant that was revoked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Revoked {
    name: String,
    grant: String,
    fence: u64,
}

/// All sessions that were opened here, by their numbers.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<BTreeMap<SessionId, Arc<Session>>>);

/// A session of a client, and what it waits for.
pub(crate) struct Session {
    handle: SessionHandle,
    ttl: Duration,
    line: Line,
    state: Mutex<State>,
}

/// A request that waits for its answer.
struct Waiter {
    name: Arc<str>,
    answer: oneshot::Sender<RequestOutcome>,
}

#[derive(Default)]
struct State {
    last_request: u64,
    last_sequence: u64,
    requests: BTreeMap<u64, Waiter>,
    keep_alives: BTreeMap<u64, oneshot::Sender<Result<Promise, Refusal>>>,
    /// What is held, by request.
    held: BTreeMap<u64, Held>,
}

/// A grant in a session. Fences of different names can be equal, so only its request tells it from others.
struct Held {
    name: Arc<str>,
    fence: u64,
    revoked: bool,
}

impl Sessions {
    fn open(&self) -> MutexGuard<'_, BTreeMap<SessionId, Arc<Session>>> {
        self.0.lock().ignore_poison()
    }

    /// The session that a client names.
    pub(crate) fn find(&self, host: &Host, text: &str) -> Result<Arc<Session>, Problem> {
        let handle = parse(text).ok_or_else(|| {
            Problem::bad_request("this is no session: send what POST /v1/sessions answered")
        })?;
        is_here(host, handle.id.node)?;
        self.of(handle).ok_or_else(gone)
    }

    /// The session of a grant, if it was opened here.
    pub(crate) fn of(&self, handle: SessionHandle) -> Option<Arc<Session>> {
        self.open().get(&handle.id).filter(|session| session.handle == handle).cloned()
    }
}

/// Opens a session.
pub(crate) async fn open(
    host: &Host,
    sessions: &Arc<Sessions>,
    caller: &Caller,
    options: &OpenOptions,
) -> Result<Opened, Problem> {
    let came = Instant::now();
    let ttl = options.ttl.map_or(USUAL_TTL, |Length(ttl)| ttl);
    let mut talk = Talk::begin(host, caller.caller.clone());
    talk.say(ToNode::Open { ttl, label: Some(caller.label(options.label.as_deref())) });
    let opened = talk.hear(|frame| match frame {
        ToClient::Opened { session, key, promise } => Some(Ok((SessionHandle { id: session, key }, promise))),
        ToClient::NotOpened(refusal) => Some(Err(refusal)),
        _ => None,
    });
    let (handle, promise) = opened.await??;
    let Talk { line, heard } = talk;
    let session = Arc::new(Session { handle, ttl, line, state: Mutex::default() });
    sessions.open().insert(handle.id, session.clone());
    tokio::spawn(hear(sessions.clone(), session, heard));
    let left = Left::new(&promise, came);
    Ok(Opened { session: text(&handle), node: handle.id.node, ttl_ms: milliseconds(ttl), left })
}

/// Hears for a session until it is over.
async fn hear(sessions: Arc<Sessions>, session: Arc<Session>, mut heard: Heard) {
    while let Some(frame) = heard.next().await {
        if let ToClient::SessionGone { session: id } = &frame
            && *id == session.handle.id
        {
            break;
        }
        session.state().heard(frame);
    }
    sessions.open().remove(&session.handle.id);
    // All that wait are told that their session is over, because what would answer them is gone.
    *session.state() = State::default();
}

impl State {
    /// Takes note of a request, and gives it a number.
    fn begin_request(&mut self, name: Arc<str>, answer: oneshot::Sender<RequestOutcome>) -> u64 {
        self.last_request += 1;
        self.requests.insert(self.last_request, Waiter { name, answer });
        self.last_request
    }

    /// Takes note of a keep-alive. Returns its number, and up to which request all were answered: this line does not break, so
    /// what was answered was heard.
    fn begin_keep_alive(&mut self, waiter: oneshot::Sender<Result<Promise, Refusal>>) -> (u64, u64) {
        self.last_sequence += 1;
        self.keep_alives.insert(self.last_sequence, waiter);
        let waiting = self.requests.keys().next();
        (self.last_sequence, waiting.map_or(self.last_request, |first| first.saturating_sub(1)))
    }

    fn heard(&mut self, frame: ToClient) {
        match frame {
            ToClient::Reply(Reply { request, outcome: RequestOutcome::Revoked, .. }) => {
                if let Some(held) = self.held.get_mut(&request) {
                    held.revoked = true;
                }
            }
            ToClient::Reply(Reply { request, outcome, .. }) => {
                // A client that is not there any more has cancelled.
                let Some(Waiter { name, answer }) = self.requests.remove(&request) else { return };
                if let RequestOutcome::Granted(grant) = &outcome {
                    self.held.insert(request, Held { name, fence: grant.fence, revoked: false });
                }
                _ = answer.send(outcome);
            }
            ToClient::Promise { promise, .. } => {
                _ = self.keep_alives.remove(&promise.sequence).map(|waiter| waiter.send(Ok(promise)));
            }
            ToClient::NotKept { refusal, .. } => {
                let waiters = std::mem::take(&mut self.keep_alives);
                waiters.into_values().for_each(|waiter| _ = waiter.send(Err(refusal.clone())));
            }
            _ => {}
        }
    }
}

/// A request that waits. If its client is not there any more, it is cancelled.
struct Waits<'a> {
    session: &'a Session,
    request: u64,
    over: bool,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.session.state().requests.remove(&self.request);
            self.session.line.say(ToNode::Cancel { session: self.session.handle, request: self.request });
        }
    }
}

impl Session {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }

    /// Takes a lock in this session.
    pub(crate) async fn take(
        &self,
        host: &Host,
        (name, options): (&str, &AcquireOptions),
        came: Instant,
    ) -> Result<Granted, Problem> {
        if options.ttl.is_some() || options.label.is_some() {
            return Err(Problem::bad_request("'ttl' and 'label' are those of the session"));
        }
        let (definition, want) = options.wanted()?;
        let (sender, mut answer) = oneshot::channel();
        let name: Arc<str> = name.into();
        let request = {
            // Numbers have to arrive in their order, so no other request may come between.
            let mut state = self.state();
            let request = state.begin_request(name.clone(), sender);
            let timeout = options.timeout();
            let ask = Acquire { request, name: name.clone(), definition, want: want.clone(), timeout };
            self.line.say(ToNode::Acquire { session: self.handle, ask });
            request
        };
        let mut waits = Waits { session: self, request, over: false };
        let mut beat = beats(self.ttl);
        let outcome = loop {
            tokio::select! {
                // An answer that is there needs no timer.
                biased;
                outcome = &mut answer => break outcome.map_err(|_| gone())?,
                // The connection shows that the client is there.
                _ = beat.tick() => {
                    self.keep_alive().await?;
                }
            }
        };
        let grant: Grant = match outcome {
            RequestOutcome::Granted(grant) => grant,
            RequestOutcome::Refused(refusal) => {
                waits.over = true;
                return Err(refusal.into());
            }
            RequestOutcome::Revoked => return Err(Refusal::ForceReleased.into()),
        };
        let promise = self.keep_alive().await?;
        waits.over = true;
        let detached = Detached::new(host.clients(), self.handle, request, grant.fence);
        Ok(granted(&name, &detached, (&grant, &want), self.ttl, Left::new(&promise, came)))
    }

    /// Keeps it alive.
    async fn keep_alive(&self) -> Result<Promise, Problem> {
        let (sender, answer) = oneshot::channel();
        let (sequence, settled) = self.state().begin_keep_alive(sender);
        self.line.say(ToNode::KeepAlive { session: self.handle, sequence, settled });
        match timeout(LONGEST_ANSWER, answer).await {
            Ok(Ok(kept)) => Ok(kept?),
            Ok(Err(_)) => Err(gone()),
            // A node that can promise nothing does not answer.
            Err(_) => Err(Problem::unavailable("the node has no lease, and can promise nothing now")),
        }
    }

    /// The client keeps it alive.
    pub(crate) async fn renew(&self, host: &Host, came: Instant) -> Result<KeptAlive, Problem> {
        let promise = self.keep_alive().await?;
        let state = self.state();
        let revoked = state.held.iter().filter(|(_, held)| held.revoked).map(|(request, held)| Revoked {
            name: held.name.to_string(),
            grant: Detached::new(host.clients(), self.handle, *request, held.fence).to_string(),
            fence: held.fence,
        });
        Ok(KeptAlive { left: Left::new(&promise, came), revoked: revoked.collect() })
    }

    /// How long a grant of it is held from now on; or that it was revoked.
    pub(crate) async fn renew_grant(&self, grant: &Detached, came: Instant) -> Result<Left, Problem> {
        let promise = self.keep_alive().await?;
        let state = self.state();
        match state.held.get(&grant.request()).filter(|held| held.fence == grant.fence()) {
            Some(Held { revoked: false, .. }) => Ok(Left::new(&promise, came)),
            Some(Held { revoked: true, .. }) => Err(Refusal::ForceReleased.into()),
            None => Err(gone()),
        }
    }

    /// Releases a grant.
    pub(crate) fn release(&self, grant: &Detached) -> Result<(), Problem> {
        let request = grant.request();
        self.line.release(self.handle, request, grant.fence())?;
        self.state().held.remove(&request).map(|_| ()).ok_or_else(gone)
    }

    /// Ends it, with everything in it.
    pub(crate) fn close(&self) {
        self.line.say(ToNode::Close { session: self.handle });
    }
}

/// What names a session.
fn text(handle: &SessionHandle) -> String {
    let SessionId { node, incarnation, number } = handle.id;
    format!("{node}.{incarnation}.{number}.{}", handle.key.to_text())
}

fn parse(text: &str) -> Option<SessionHandle> {
    let (numbers, key) = text.rsplit_once('.')?;
    let numbers: Vec<u64> = numbers.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [node, incarnation, number] = numbers[..] else { return None };
    let id = SessionId { node: u32::try_from(node).ok()?, incarnation, number };
    Some(SessionHandle { id, key: key.parse().ok()? })
}
