//! Grants with a session of their own, for scripts: take, renew, release.

use std::time::{Duration, Instant};

use node::{Begun, Host};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use service::client::promised_until;
use service::protocol::{ToClient, ToNode};
use service::session::Promise;
use service::{Acquire, Grant, Refusal, Reply, RequestOutcome, SessionHandle, Time, Want};
use tokenwood::Detached;

use crate::caller::Caller;
use crate::options::{AcquireOptions, Length};
use crate::problem::{LOST, Problem, WRONG_NODE};
use crate::shape::milliseconds;
use crate::talk::{Talk, beats, stopped};

/// How long a grant is held without a renewal, if the request does not say.
pub(crate) const USUAL_TTL: Duration = Duration::from_secs(60);
/// A request that took no longer is taken for one that did not wait.
const NOT_WAITED: Duration = Duration::from_millis(5);

/// A grant, as a client is told of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Granted {
    pub(crate) name: String,
    /// What renews and releases it. A secret: a program that has it can do both.
    pub(crate) grant: String,
    /// It rises with every grant of the name: have the protected resource check it.
    pub(crate) fence: u64,
    /// Which of the slots of a semaphore it is, from 0 on.
    pub(crate) slot: u32,
    /// The group, in a room.
    pub(crate) group: Option<String>,
    /// The node that keeps it.
    pub(crate) node: u32,
    /// How long it is held without a renewal.
    pub(crate) ttl_ms: u64,
    #[serde(flatten)]
    pub(crate) left: Left,
}

/// How long a client holds what it holds, counted from when it sent the request, plus the `waited_ms` that the node took for it.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct Left {
    /// It is held this long, unless its node is lost.
    pub(crate) left_ms: u64,
    /// It is held this long, whatever happens.
    pub(crate) certain_ms: u64,
    /// How long the node took for the request.
    pub(crate) waited_ms: u64,
}

impl Left {
    /// After a promise, for a request that came at this moment.
    pub(crate) fn new(promise: &Promise, came: Instant) -> Left {
        let of = |nanos| milliseconds(promised_until(Time(0), nanos) - Time(0));
        Left {
            left_ms: of(promise.kept),
            certain_ms: of(promise.lasts),
            waited_ms: milliseconds(came.elapsed()),
        }
    }
}

/// Names a grant.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantOptions {
    /// The `grant` that the acquire answered.
    pub(crate) grant: Option<String>,
}

impl GrantOptions {
    /// The grant, which has to be kept by this node.
    pub(crate) fn at(&self, host: &Host) -> Result<Detached, Problem> {
        let text = self.grant.as_deref();
        let text =
            text.ok_or_else(|| Problem::bad_request("'grant' is missing: send what the acquire answered"))?;
        let grant: Detached = text
            .parse()
            .map_err(|_| Problem::bad_request("'grant' is no grant: send what the acquire answered"))?;
        is_here(host, grant.session().id.node)?;
        Ok(grant)
    }
}

/// Refuses what another node keeps.
pub(crate) fn is_here(host: &Host, node: u32) -> Result<(), Problem> {
    if node == host.id() {
        return Ok(());
    }
    let detail = format!("node {node} keeps it, and this is node {}", host.id());
    Err(Problem::new(&WRONG_NODE, detail).with_node(node))
}

/// A grant that is being asked for. If the client is not there any more, its session ends, and with it the place in the queue.
struct Attempt {
    talk: Talk,
    session: Option<SessionHandle>,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(session) = self.session {
            self.talk.say(ToNode::Close { session });
        }
    }
}

/// Takes a lock in a session of its own.
pub(crate) async fn take(
    host: &Host,
    caller: &Caller,
    (name, options): (&str, &AcquireOptions),
    came: Instant,
) -> Result<Granted, Problem> {
    let ttl = options.ttl.map_or(USUAL_TTL, |Length(ttl)| ttl);
    let (definition, want) = options.wanted()?;
    let ask =
        Acquire { request: 1, name: name.into(), definition, want: want.clone(), timeout: options.timeout() };
    let label = Some(caller.label(options.label.as_deref()));
    let Begun { session, promise, outcome } = host.begin_request(caller.caller.clone(), (ttl, label), ask)?;
    let mut left = Left::new(&promise, came);
    let grant = match outcome {
        Ok(outcome) => granted_or_refused(outcome)?,
        Err((line, heard)) => {
            let mut attempt = Attempt { talk: Talk { line, heard }, session: Some(session) };
            let began = Instant::now();
            let grant = attempt.wait(session, ttl).await?;
            // A request that did not wait has nearly all of what its session was promised. One that did may have waited for longer.
            if began.elapsed() > NOT_WAITED {
                attempt.talk.say(ToNode::KeepAlive { session, sequence: 0, settled: 1 });
                left = Left::new(&attempt.talk.hear(kept).await??, came);
            }
            attempt.session = None;
            grant
        }
    };
    let detached = Detached::new(host.clients(), session, 1, grant.fence);
    Ok(granted(name, &detached, (&grant, &want), ttl, left))
}

fn granted_or_refused(outcome: RequestOutcome) -> Result<Grant, Problem> {
    match outcome {
        RequestOutcome::Granted(grant) => Ok(grant),
        RequestOutcome::Refused(refusal) => Err(refusal.into()),
        RequestOutcome::Revoked => Err(Refusal::ForceReleased.into()),
    }
}

/// What a client is told of its grant.
pub(crate) fn granted(
    name: &str,
    detached: &Detached,
    (grant, want): (&Grant, &Want),
    ttl: Duration,
    left: Left,
) -> Granted {
    Granted {
        name: name.to_string(),
        grant: detached.to_string(),
        fence: grant.fence,
        slot: grant.slot,
        group: want.group(Some(grant)).map(str::to_string),
        node: detached.session().id.node,
        ttl_ms: milliseconds(ttl),
        left,
    }
}

/// The answer to a keep-alive.
pub(crate) fn kept(frame: ToClient) -> Option<Result<Promise, Problem>> {
    match frame {
        ToClient::Promise { promise, .. } => Some(Ok(promise)),
        ToClient::NotKept { refusal, .. } => Some(Err(refusal.into())),
        ToClient::SessionGone { .. } => Some(Err(gone())),
        ToClient::Reply(Reply { outcome: RequestOutcome::Revoked, .. }) => {
            Some(Err(Refusal::ForceReleased.into()))
        }
        _ => None,
    }
}

pub(crate) fn gone() -> Problem {
    Problem::new(&LOST, "it was released, or it ran out, or the node gave it up")
}

impl Attempt {
    /// Waits for the answer, and keeps the session alive meanwhile: the connection shows that the client is there.
    async fn wait(&mut self, session: SessionHandle, ttl: Duration) -> Result<Grant, Problem> {
        let mut beat = beats(ttl);
        let mut sequence = 0;
        loop {
            let frame = tokio::select! {
                // An answer that is there needs no timer.
                biased;
                frame = self.talk.heard.next() => frame.ok_or_else(stopped)?,
                _ = beat.tick() => {
                    sequence += 1;
                    self.talk.say(ToNode::KeepAlive { session, sequence, settled: 0 });
                    continue;
                }
            };
            match frame {
                ToClient::Reply(Reply { outcome, .. }) => return granted_or_refused(outcome),
                ToClient::NotKept { refusal, .. } => return Err(refusal.into()),
                ToClient::SessionGone { .. } => return Err(gone()),
                _ => {}
            }
        }
    }
}

/// Prolongs a grant by the ttl of its session.
pub(crate) async fn renew(
    host: &Host,
    caller: &Caller,
    grant: &Detached,
    came: Instant,
) -> Result<Left, Problem> {
    let mut talk = Talk::begin(host, caller.caller.clone());
    talk.say(ToNode::KeepAlive { session: grant.session(), sequence: 0, settled: 1 });
    let promise = talk.hear(kept).await??;
    Ok(Left::new(&promise, came))
}

/// Releases a grant, and ends its session.
pub(crate) fn release(host: &Host, caller: &Caller, grant: &Detached) -> Result<(), Problem> {
    let named = (grant.session(), grant.request(), grant.fence());
    Ok(host.release(caller.caller.clone(), named)?)
}
