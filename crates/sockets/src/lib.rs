//! Any algorithm over real sockets: any number of nodes, each with the state machine that the checker
//! explores and the simulator runs, in real time, with messages that travel through [`Peers`].
//!
//! Every step of a node is recorded with its picks. Afterwards the records are replayed through the pure
//! code, step by step ([`replay`]), and the visits to the critical section are judged by the clock
//! ([`Tally`]). A node ([`run_worker`]) does not depend on which process the others are in; a [`Collector`]
//! gathers them, gives them orders and collects their reports. Nodes on other machines are seats
//! ([`serve_seat`]), which the collector calls. [`run`] does all of this in one process. The
//! algorithms run unchanged, and links provide the channels they need. An algorithm that relies on time
//! bounds is refused, because sockets do not keep them.

#![forbid(unsafe_code)]

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use algorithms::{Erased, Groups, NodeId, Setting, SettingError, System, registry};
use random::Random;
use serde::{Deserialize, Serialize};
use service::Identity;
use service::Time;
use service::view::{View, ViewMember};
use tokio::net::TcpListener;
use tokio::sync::{SetOnce, mpsc};
use tokio::time::timeout;
use transport::clock;
use transport::{Config, Inbox, Outbox, Peers};

mod clocks;
mod codec;
mod collector;
mod error;
mod host;
mod orders;
pub mod replay;
mod seat;
#[cfg(test)]
mod seat_tests;
mod sleep;
mod tally;
#[cfg(test)]
mod tests;
mod worker;

pub use collector::Collector;
pub use error::Error;
use host::{Host, STAMP_BYTES};
pub use replay::{Recorded, Watch};
pub use seat::{SeatEvent, serve_seat};
use sleep::sleep_until;
pub use tally::{Tally, Visit};
pub use worker::run_worker;

/// What to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Sizes and options.
    pub setting: Setting,
    /// How often each client enters.
    pub entries: u32,
    /// How long it stays inside.
    pub section: Duration,
    /// How long it thinks before each request, on average; times are exponentially distributed.
    pub think: Duration,
    /// No message is handled sooner than this after it was sent: to emulate a slower network.
    pub shortest_delay: Duration,
    /// A bound on the delay of a message, for timers. Generous, because a message beyond it looks like a
    /// failure.
    pub longest_delay: Duration,
    /// A bound on the length of a critical section, for timers.
    pub longest_section: Duration,
    /// The run fails if a client waits longer than this.
    #[serde(rename = "patience")]
    pub timeout: Duration,
    /// The seed of thinking times, groups and picks.
    pub seed: u64,
}

impl Plan {
    /// The thesis' critical section of 2 ms, thinking as long on average, and bounds that a busy machine
    /// keeps.
    pub fn new(setting: Setting, entries: u32, seed: u64) -> Plan {
        Plan {
            setting,
            entries,
            section: Duration::from_millis(2),
            think: Duration::from_millis(2),
            shortest_delay: Duration::ZERO,
            longest_delay: Duration::from_secs(5),
            longest_section: Duration::from_secs(5),
            timeout: Duration::from_secs(30),
            seed,
        }
    }
}

/// Refuses an algorithm or setting that cannot be run over sockets.
pub fn validate(name: &str, setting: &Setting) -> Result<(), Error> {
    system(name, setting).map(|_| ())
}

/// The system of an algorithm and a setting that can be run over sockets.
fn system(name: &str, setting: &Setting) -> Result<System<Erased>, Error> {
    let system = registry::system(name, setting).map_err(Error::Refused)?;
    if system.info().relies_on_pace() {
        let why = "is nothing without bounds on time, which sockets do not keep";
        return Err(Error::Refused(SettingError(format!("{name} {why}"))));
    }
    Ok(system)
}

/// Runs an algorithm by its name: all nodes in this process, a socket between each two.
pub async fn run(name: &str, plan: Plan) -> Result<Tally, Error> {
    validate(name, &plan.setting)?;
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Error::Listen)?;
    let address = listener.local_addr().map_err(Error::Listen)?.to_string();
    for me in 0..plan.setting.nodes {
        let address = address.clone();
        // It ends with the collector, which is told of failures.
        tokio::spawn(async move { run_worker(&address, me).await });
    }
    let reports = Collector::gather(&listener, plan.setting.nodes).await?.run(name, &plan, |_| ()).await?;
    judge(name, &plan.setting, reports, None)
}

fn identity(id: NodeId) -> Identity {
    Identity { id, incarnation: 1 }
}

/// A node with its client in this process; other nodes may be in other processes.
pub struct Participant {
    me: NodeId,
    plan: Plan,
    host: Arc<Host>,
    peers: Peers,
}

impl Participant {
    /// Starts a node of an algorithm among these members, which all have incarnation 1. Their clocks are ahead
    /// of one clock by so many nanoseconds each; of none if all have the same. Needs a tokio runtime.
    pub fn start(
        name: &str,
        plan: &Plan,
        me: NodeId,
        (members, ahead): (Vec<ViewMember>, &[i64]),
        listener: TcpListener,
    ) -> Result<Participant, Error> {
        let late_peers = LatePeers::default();
        let host = Host::new(me, name, plan, late_peers.clone())?;
        let inbox = Arc::new(Mailbox::open(&host, &late_peers, plan, ahead_of_mine(ahead, me)));
        let view = View { epoch: 1, members };
        let peers = Peers::start(Config::new("workbench", identity(me)), view, listener, inbox);
        let peers = peers.map_err(Error::Peers)?;
        // They are set only here.
        let _ = late_peers.set(peers.clone());
        Ok(Participant { me, plan: plan.clone(), host, peers })
    }

    /// Runs the client: it thinks, requests, waits, stays inside and leaves, as often as planned.
    pub async fn run_client(&self) -> Result<(), Error> {
        let Participant { me, plan, host, .. } = self;
        let mut random = Random::stream(plan.seed, u64::from(*me));
        for _ in 0..plan.entries {
            sleep_until(clock::now() + plan.think.mul_f64(random.exponential())).await;
            host.request(Groups::one(random.below(u64::from(plan.setting.groups)) as u32));
            let entered = timeout(plan.timeout, host.entered().notified()).await;
            entered.map_err(|_| Error::TimedOut(*me))?;
            sleep_until(clock::now() + plan.section).await;
            host.exit();
        }
        Ok(())
    }

    /// The progress of the node.
    pub fn counts(&self) -> Counts {
        self.host.counts()
    }

    /// Stops the node and returns its report. No message may be under way any more: see [`Participant::counts`].
    pub async fn finish(&self) -> Report {
        self.peers.stop().await;
        self.host.report()
    }
}

/// The progress of a node, or of all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// How often clients have entered.
    pub entries: u64,
    /// How many messages were sent.
    pub sent: u64,
    /// How many messages have arrived and been handled.
    pub delivered: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { entries, sent, delivered } = self;
        write!(f, "{entries} entries, {sent} messages sent and {delivered} delivered")
    }
}

impl Counts {
    /// Adds the counts of another node.
    pub fn add(&mut self, other: Counts) {
        self.entries += other.entries;
        self.sent += other.sent;
        self.delivered += other.delivered;
    }
}

/// The record and the measures of a node, in a form that can be sent to the collector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Its measures.
    pub tally: Tally,
    /// Its record.
    pub record: Vec<Recorded>,
}

/// Combines the reports of all nodes, by their ids, and judges them: no failure, and both the clock and the
/// pure code agree with the record. `watch` is shown each step.
pub fn judge(
    name: &str,
    setting: &Setting,
    reports: Vec<Report>,
    watch: Option<Watch>,
) -> Result<Tally, Error> {
    if reports.len() != setting.nodes as usize {
        return Err(Error::ReportCount { nodes: setting.nodes, reports: reports.len() });
    }
    let mut whole = Tally::default();
    let mut records = Vec::new();
    for Report { tally, record } in reports {
        whole.add(tally);
        records.push(record);
    }
    if let Some(failure) = whole.failure {
        return Err(Error::Reported(failure));
    }
    let system = registry::system(name, setting).map_err(Error::Refused)?;
    whole.judge(system.info().kind, setting.tokens)?;
    let replayed = replay::replay(system, records, watch).map_err(Error::Replay)?;
    let counted = Counts { entries: whole.visits.len() as u64, sent: whole.sent(), delivered: whole.sent() };
    if replayed.counts != counted {
        return Err(Error::Counts { counted, replayed: replayed.counts });
    }
    whole.replayed = replayed.steps;
    Ok(whole)
}

/// Where a node finds its peers once they are connected.
type LatePeers = Arc<SetOnce<Peers>>;

/// Receives the messages for a host. Messages of each peer wait in a queue of their own, so that a delay
/// of one does not hold up the others.
struct Mailbox {
    queues: Vec<mpsc::UnboundedSender<(Time, Vec<u8>)>>,
    /// By how many nanoseconds the clock of each peer is ahead of this node's.
    ahead: Vec<i64>,
}

/// From clocks that are ahead of a common one to clocks that are ahead of this node's.
fn ahead_of_mine(ahead: &[i64], me: NodeId) -> Vec<i64> {
    let mine = ahead.get(me as usize).copied().unwrap_or(0);
    ahead.iter().map(|theirs| theirs - mine).collect()
}

impl Mailbox {
    /// Needs a tokio runtime. The tasks end with the mailbox.
    fn open(host: &Arc<Host>, peers: &LatePeers, plan: &Plan, ahead: Vec<i64>) -> Mailbox {
        let queues = (0..plan.setting.nodes).map(|from| {
            let (queue, arrived) = mpsc::unbounded_channel();
            tokio::spawn(deliver(host.clone(), peers.clone(), from, plan.shortest_delay, arrived));
            queue
        });
        Mailbox { queues: queues.collect(), ahead }
    }
}

/// Delivers the messages of one peer, each after the shortest delay.
async fn deliver(
    host: Arc<Host>,
    peers: LatePeers,
    from: NodeId,
    shortest_delay: Duration,
    mut arrived: mpsc::UnboundedReceiver<(Time, Vec<u8>)>,
) {
    peers.wait().await;
    while let Some((sent, message)) = arrived.recv().await {
        if !shortest_delay.is_zero() {
            sleep_until(sent + shortest_delay).await;
        }
        host.deliver(from, sent, &message);
    }
}

impl Inbox for Mailbox {
    fn received(&self, from: NodeId, _: u64, payloads: &[&[u8]], _: &mut Outbox<'_>) {
        let Some(queue) = self.queues.get(from as usize) else { return };
        for payload in payloads {
            // Too short to be a message: the host fails to decode it and reports that.
            let (stamp, message) =
                payload.split_first_chunk::<STAMP_BYTES>().unwrap_or((&[0; STAMP_BYTES], &[]));
            let ahead = self.ahead.get(from as usize).copied().unwrap_or(0);
            let sent = u64::from_le_bytes(*stamp).saturating_add_signed(-ahead);
            // Fails only when the run is over.
            _ = queue.send((Time(sent), message.to_vec()));
        }
    }
}
