//! Any algorithm over real sockets: any number of nodes, each with the state machine that the checker
//! explores and the simulator runs, in real time, with messages that travel through [`Peers`].
//!
//! Every step of a node is recorded with its picks. Afterwards the records are replayed through the pure
//! code, step by step ([`replay`]), and the visits to the critical section are judged by the clock
//! ([`Tally`]). A node ([`take_part`]) does not depend on which process the others are in; a [`Collector`]
//! gathers them, gives them orders and collects their reports. [`run`] does all of this in one process. The
//! algorithms run unchanged, and links provide the channels they need. An algorithm that relies on time
//! bounds is refused, because sockets do not keep them.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use algorithms::registry::{self, Visitor};
use algorithms::{Algorithm, Groups, NodeId, Setting, SettingError};
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

mod collector;
mod host;
mod line;
mod part;
mod pause;
pub mod replay;
mod tally;
#[cfg(test)]
mod tests;

pub use collector::Collector;
use host::{Host, STAMP_BYTES, Station};
pub use part::take_part;
use pause::pause_until;
pub use replay::{Recorded, Watch};
pub use tally::{Tally, Visit};

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
    pub patience: Duration,
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
            patience: Duration::from_secs(30),
            seed,
        }
    }
}

/// Refuses, in one line, an algorithm or setting that cannot be run over sockets.
pub fn validate(name: &str, setting: &Setting) -> Result<(), String> {
    let admitted = registry::visit(name, Admit(setting)).and_then(|admitted| admitted);
    admitted.map_err(|refusal| refusal.to_string())
}

/// Runs an algorithm by its name: all nodes in this process, a socket between each two. The error is one
/// line.
pub async fn run(name: &str, plan: Plan) -> Result<Tally, String> {
    validate(name, &plan.setting)?;
    let listener =
        TcpListener::bind("127.0.0.1:0").await.map_err(|error| format!("cannot listen: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?.to_string();
    for me in 0..plan.setting.nodes {
        let address = address.clone();
        // It ends with the collector, which is told of failures.
        tokio::spawn(async move { take_part(&address, me).await });
    }
    let reports = Collector::gather(&listener, plan.setting.nodes).await?.run(name, &plan, |_| ()).await?;
    judge(name, &plan.setting, reports, None)
}

fn identity(id: NodeId) -> Identity {
    Identity { id, incarnation: 1 }
}

/// A node with its client in this process; other nodes may be in other processes.
pub struct Seated {
    me: NodeId,
    plan: Plan,
    station: Arc<dyn Station>,
    peers: Peers,
}

impl Seated {
    /// Starts a node of an algorithm among these members, which all have incarnation 1. Needs a tokio
    /// runtime.
    pub fn start(
        name: &str,
        plan: &Plan,
        me: NodeId,
        members: Vec<ViewMember>,
        listener: TcpListener,
    ) -> Result<Seated, String> {
        let door = Door::default();
        let hired = registry::visit(name, Hire { plan, me, door: door.clone() }).and_then(|hired| hired);
        let station = hired.map_err(|refusal| refusal.to_string())?;
        let inbox = Arc::new(Mailbox::open(&station, &door, plan));
        let view = View { epoch: 1, members };
        let peers = Peers::start(Config::new("workbench", identity(me)), view, listener, inbox);
        let peers = peers.map_err(|error| error.to_string())?;
        // The door is opened only here.
        let _ = door.set(peers.clone());
        Ok(Seated { me, plan: plan.clone(), station, peers })
    }

    /// Runs the client: it thinks, requests, waits, stays inside and leaves, as often as planned.
    pub async fn live(&self) -> Result<(), String> {
        let Seated { me, plan, station, .. } = self;
        let mut dice = Random::stream(plan.seed, u64::from(*me));
        for _ in 0..plan.entries {
            pause_until(clock::now() + plan.think.mul_f64(dice.exponential())).await;
            station.request(Groups::one(dice.below(u64::from(plan.setting.groups)) as u32));
            let entered = timeout(plan.patience, station.entered().notified()).await;
            entered.map_err(|_| format!("the client of node {me} waits in vain"))?;
            pause_until(clock::now() + plan.section).await;
            station.exit();
        }
        Ok(())
    }

    /// The progress of the node.
    pub fn counts(&self) -> Counts {
        self.station.counts()
    }

    /// Stops the node and returns its report. No message may be under way any more: see [`Seated::counts`].
    pub async fn finish(&self) -> Report {
        self.peers.stop().await;
        self.station.report()
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
/// pure code agree with the record. `watch` is shown each step. The error is one line.
pub fn judge(
    name: &str,
    setting: &Setting,
    reports: Vec<Report>,
    watch: Option<Watch>,
) -> Result<Tally, String> {
    if reports.len() != setting.nodes as usize {
        return Err(format!("{} nodes, but {} reports", setting.nodes, reports.len()));
    }
    let mut whole = Tally::default();
    let mut records = Vec::new();
    for Report { tally, record } in reports {
        whole.add(tally);
        records.push(record);
    }
    if let Some(trouble) = &whole.trouble {
        return Err(trouble.clone());
    }
    let info = registry::info(name).map_err(|refusal| refusal.to_string())?;
    whole.judge(info.kind, setting.tokens)?;
    let replayed = registry::visit(name, Again { setting, records, watch });
    let replayed = replayed.map_err(|refusal| refusal.to_string())??;
    let counted = Counts { entries: whole.visits.len() as u64, sent: whole.sent(), delivered: whole.sent() };
    if replayed.counts != counted {
        return Err(format!("the nodes counted {counted:?}, replayed it is {:?}", replayed.counts));
    }
    whole.replayed = replayed.steps;
    Ok(whole)
}

struct Again<'a, 'b> {
    setting: &'a Setting,
    records: Vec<Vec<Recorded>>,
    watch: Option<Watch<'b>>,
}

impl Visitor for Again<'_, '_> {
    type Output = Result<replay::Replayed, String>;

    fn visit<A: Algorithm>(self) -> Self::Output {
        replay::replay::<A>(self.setting, self.records, self.watch)
    }
}

struct Admit<'a>(&'a Setting);

impl Visitor for Admit<'_> {
    type Output = Result<(), SettingError>;

    fn visit<A: Algorithm>(self) -> Self::Output {
        self.0.validate(&A::INFO)?;
        A::rules(self.0)?;
        let name = A::INFO.name;
        match A::INFO.relies_on_pace() {
            true => Err(SettingError(format!(
                "{name} is nothing without bounds on time, which sockets do not keep"
            ))),
            false => Ok(()),
        }
    }
}

/// Where a node finds its peers once they are connected.
type Door = Arc<SetOnce<Peers>>;

struct Hire<'a> {
    plan: &'a Plan,
    me: NodeId,
    door: Door,
}

impl Visitor for Hire<'_> {
    type Output = Result<Arc<dyn Station>, SettingError>;

    fn visit<A: Algorithm>(self) -> Self::Output {
        Admit(&self.plan.setting).visit::<A>()?;
        let rules = A::rules(&self.plan.setting)?;
        Ok(Host::<A>::new(self.me, self.plan, rules, self.door))
    }
}

/// Receives the messages for a station. Messages of each peer wait in a queue of their own, so that a delay
/// of one does not hold up the others.
struct Mailbox {
    queues: Vec<mpsc::UnboundedSender<(Time, Vec<u8>)>>,
}

impl Mailbox {
    /// Needs a tokio runtime. The tasks end with the mailbox.
    fn open(station: &Arc<dyn Station>, door: &Door, plan: &Plan) -> Mailbox {
        let queues = (0..plan.setting.nodes).map(|from| {
            let (queue, arrived) = mpsc::unbounded_channel();
            tokio::spawn(deliver(station.clone(), door.clone(), from, plan.shortest_delay, arrived));
            queue
        });
        Mailbox { queues: queues.collect() }
    }
}

/// Delivers the messages of one peer, each after the shortest delay.
async fn deliver(
    station: Arc<dyn Station>,
    door: Door,
    from: NodeId,
    shortest_delay: Duration,
    mut arrived: mpsc::UnboundedReceiver<(Time, Vec<u8>)>,
) {
    door.wait().await;
    while let Some((sent, message)) = arrived.recv().await {
        if !shortest_delay.is_zero() {
            pause_until(sent + shortest_delay).await;
        }
        station.deliver(from, sent, &message);
    }
}

impl Inbox for Mailbox {
    fn received(&self, from: NodeId, _: u64, payloads: &[&[u8]], _: &mut Outbox<'_>) {
        let Some(queue) = self.queues.get(from as usize) else { return };
        for payload in payloads {
            // Too short to be a message: the station fails to decode it and reports that.
            let (stamp, message) =
                payload.split_first_chunk::<STAMP_BYTES>().unwrap_or((&[0; STAMP_BYTES], &[]));
            // Fails only when the run is over.
            _ = queue.send((Time(u64::from_le_bytes(*stamp)), message.to_vec()));
        }
    }
}
