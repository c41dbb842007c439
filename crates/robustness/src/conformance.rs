//! The conformance suite for clients: cases as data, real nodes, and a client of any language behind an agent.
//!
//! `conformance/*.json` has the cases; `case.rs` reads them. An agent (`agent.rs`) is a process that drives a client: it reads
//! one command on each line and writes one event on each line. `stage.rs` plays a case with one agent for each actor, and
//! `judge.rs` judges what all of them held. `agents.rs` has the agents of the clients that are written in Rust.

mod agent;
pub mod agents;
mod case;
mod cluster;
mod judge;
mod relation;
mod stage;
mod suite;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use agent::Pool;
pub use case::{CAPABILITIES, Case};
use cluster::Cluster;
use stage::Stage;
pub use suite::{FILES, suite};

/// How many cases are played at the same time, on the cluster that they share.
const AT_ONCE: usize = 4;
/// A case that failed while the machine was too slow is played again, so many times in all.
const MOST_ATTEMPTS: u32 = 3;
/// How often to look whether the machine is too slow.
const LOOK: Duration = Duration::from_millis(20);

/// What to do.
pub struct Plan {
    /// The commands of the agents: the actors of a case use them in turn.
    pub agents: Vec<String>,
    /// What the clients may be unable to do: nothing else may be left out.
    pub without: Vec<String>,
    /// The length of node leases.
    pub lease: Duration,
}

/// What came of it.
pub struct Outcome {
    /// The clients that were tried.
    pub clients: Vec<String>,
    /// Each case.
    pub verdicts: Vec<Verdict>,
    /// What was said beforehand about what clients cannot do, and is not so.
    pub wrong: Vec<String>,
}

/// What came of a case.
pub struct Verdict {
    /// The case.
    pub case: Case,
    /// What is wrong; nothing, if it passed or was not run.
    pub wrong: Vec<String>,
    /// Why it was not run.
    pub not_run: Option<String>,
    /// How often it was played: more than once only if the machine was too slow.
    pub attempts: u32,
    /// How long it took.
    pub time: Duration,
}

/// Plays these cases.
pub async fn run(plan: &Plan, cases: Vec<Case>) -> Result<Outcome> {
    ensure!(!plan.agents.is_empty(), "no agent is named");
    let (pool, pulse) = (Pool::new(&plan.agents), Pulse::default());
    let (clients, cannot) = introduce(&pool, plan.agents.len()).await?;
    let mut wrong = unexpected(plan, &cannot);
    let (skipped, played): (Vec<Case>, Vec<Case>) =
        cases.into_iter().partition(|case| case.needs.iter().any(|need| cannot.contains_key(need)));
    let stages = Stages { lease: plan.lease, pool: &pool, pulse: &pulse };
    let mut verdicts = tokio::select! {
        verdicts = stages.play_all(played) => verdicts?,
        never = pulse.beat(plan.lease) => match never {},
    };
    verdicts.extend(skipped.into_iter().map(|case| {
        let need = case.needs.iter().find_map(|need| Some(format!("{need}: {}", cannot.get(need)?)));
        Verdict { case, wrong: Vec::new(), not_run: need, attempts: 0, time: Duration::ZERO }
    }));
    verdicts.sort_by(|one, another| one.case.name.cmp(&another.case.name));
    wrong.extend(pool.end().await);
    Ok(Outcome { clients, verdicts, wrong })
}

/// Asks the agents what they are, and what their clients cannot do.
async fn introduce(pool: &Pool, agents: usize) -> Result<(Vec<String>, BTreeMap<String, String>)> {
    let (mut clients, mut cannot) = (Vec::new(), BTreeMap::new());
    for index in 0..agents {
        let agent = pool.take(index).await?;
        clients.push(agent.hello.client.clone());
        cannot.extend(agent.hello.cannot.clone());
        pool.give_back(agent);
    }
    Ok((clients, cannot))
}

/// Differences between what clients cannot do and what was said beforehand.
fn unexpected(plan: &Plan, cannot: &BTreeMap<String, String>) -> Vec<String> {
    let new = cannot.iter().filter(|(name, _)| !plan.without.contains(name));
    let new =
        new.map(|(name, why)| format!("the client cannot '{name}' ({why}), and --without does not say so"));
    let gone = plan.without.iter().filter(|name| !cannot.contains_key(*name));
    let gone =
        gone.map(|name| format!("--without says '{name}', and the client does not say that it cannot"));
    new.chain(gone).collect()
}

/// What all cases share.
struct Stages<'a> {
    lease: Duration,
    pool: &'a Pool,
    pulse: &'a Pulse,
}

impl Stages<'_> {
    /// Plays all cases: those that end nodes each on a cluster of its own, the others on one that they share.
    async fn play_all(&self, cases: Vec<Case>) -> Result<Vec<Verdict>> {
        let (alone, together): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(Case::ends_nodes);
        let shared = async {
            if together.is_empty() {
                return Ok(Vec::new());
            }
            let (cluster, turns) = (Cluster::start(self.lease).await?, Semaphore::new(AT_ONCE));
            let (cluster, turns) = (&cluster, &turns);
            let one = |case| async move {
                let _turn = turns.acquire().await;
                self.play(case, Some(cluster)).await
            };
            all_of(together.into_iter().map(one)).await.into_iter().collect::<Result<Vec<_>>>()
        };
        let single = all_of(alone.into_iter().map(|case| self.play(case, None)));
        let (shared, single) = tokio::join!(shared, single);
        let mut verdicts = shared?;
        for verdict in single {
            verdicts.push(verdict?);
        }
        Ok(verdicts)
    }

    /// Plays a case, and again if the machine was too slow for it.
    async fn play(&self, case: Case, shared: Option<&Cluster>) -> Result<Verdict> {
        let begun = Instant::now();
        let mut attempts = 1;
        let wrong = loop {
            let started = Instant::now();
            let own;
            let cluster = match shared {
                Some(shared) => shared,
                None => {
                    own = Cluster::start(self.lease).await.with_context(|| case.name.clone())?;
                    &own
                }
            };
            let before = cluster.epochs().await;
            let prefix = format!("{}-{attempts}", case.name);
            let wrong = match Stage::prepare(&case, cluster, self.pool, prefix).await {
                Ok(stage) => stage.play().await,
                Err(error) => vec![format!("{error:#}")],
            };
            // A node that lost its lease although no step asked for it took grants with it.
            let nodes_lost = !case.ends_nodes() && cluster.epochs().await != before;
            let disturbed = nodes_lost || self.pulse.was_late_since(started) || is_crowded();
            if wrong.is_empty() || !disturbed || attempts == MOST_ATTEMPTS {
                break wrong;
            }
            attempts += 1;
        };
        Ok(Verdict { case, wrong, not_run: None, attempts, time: begun.elapsed() })
    }
}

/// Whether more processes want to run than there are processors, in the last minute: nodes and agents are late, too.
fn is_crowded() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|load| load.parse::<f64>().ok()).unwrap_or(0.0);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    load > processors as f64
}

/// Notices when this machine is too slow for the leases of the cluster.
#[derive(Default)]
struct Pulse(RefCell<Vec<Instant>>);

impl Pulse {
    async fn beat(&self, lease: Duration) -> std::convert::Infallible {
        loop {
            let before = Instant::now();
            sleep(LOOK).await;
            if before.elapsed() > LOOK + lease / 8 {
                self.0.borrow_mut().push(Instant::now());
            }
        }
    }

    fn was_late_since(&self, begun: Instant) -> bool {
        self.0.borrow().iter().any(|late| *late > begun)
    }
}

/// Waits for all of these at once, in this task: nodes end with the thread that started them.
async fn all_of<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut futures: Vec<Pin<Box<_>>> = futures.map(Box::pin).collect();
    let mut done: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, done) in futures.iter_mut().zip(&mut done).filter(|(_, done)| done.is_none()) {
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                *done = Some(value);
            }
        }
        if done.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

/// Now, in nanoseconds of the clock that all processes of this machine share.
fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let (seconds, nanos) =
        (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    seconds * 1_000_000_000 + nanos
}
