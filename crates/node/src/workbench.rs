//! Any algorithm over real sockets: as many nodes as wanted, each with the state machine that the checker explores and the
//! simulator runs, in real time, with messages that travel through [`Peers`].
//!
//! Everything that happens to a node is recorded with the picks it made. Afterwards the records are replayed through the
//! pure code, step by step ([`replay`]), and the visits to the critical section are judged by the clock ([`Tally`]).
//! A node ([`Seated`]) neither knows nor cares in which process the others are; [`run`] has them all in one.
//! The algorithms run unchanged; what they need of channels is what links give. One that is nothing without bounds on time
//! is refused, because no socket keeps them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use algorithms::registry::{self, Visitor};
use algorithms::{Algorithm, Groups, NodeId, Refusal, Setting};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::SetOnce;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::identity::{Identity, Member, View};
use crate::transport::{Config, Inbox, Peers};

mod dice;
mod host;
pub mod replay;
mod tally;
#[cfg(test)]
mod tests;

use dice::Dice;
use host::{Host, Station};
pub use replay::Recorded;
pub use tally::{Tally, Visit};

/// What is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sizes and options.
    pub setting: Setting,
    /// How often each client enters.
    pub entries: u32,
    /// How long it stays inside.
    pub section: Duration,
    /// How long it thinks before it asks, on average; times are exponentially distributed.
    pub think: Duration,
    /// A bound on the time a message takes, for timers. Generous, because one that is broken looks like a failure.
    pub longest_delay: Duration,
    /// A bound on the time a client stays inside, for timers.
    pub longest_section: Duration,
    /// No client waits longer than this, or the run has failed.
    pub patience: Duration,
    /// What thinking times, groups and picks are drawn from.
    pub seed: u64,
}

impl Plan {
    /// The thesis' section of 2 ms, thinking as long on average, and bounds that a busy machine keeps.
    pub fn new(setting: Setting, entries: u32, seed: u64) -> Plan {
        Plan {
            setting,
            entries,
            section: Duration::from_millis(2),
            think: Duration::from_millis(2),
            longest_delay: Duration::from_secs(5),
            longest_section: Duration::from_secs(5),
            patience: Duration::from_secs(30),
            seed,
        }
    }
}

/// Runs an algorithm by its name: all nodes in this process, a socket between each two. The error is one line.
pub async fn run(name: &str, plan: Plan) -> Result<Tally, String> {
    let started = Instant::now();
    let (mut listeners, mut members) = (Vec::new(), Vec::new());
    for id in 0..plan.setting.nodes {
        let (listener, address) = listen().await.map_err(|error| format!("cannot listen: {error}"))?;
        members.push(Member { identity: identity(id), address });
        listeners.push(listener);
    }
    let mut seated = Vec::new();
    for (me, listener) in (0..).zip(listeners) {
        seated.push(Arc::new(Seated::start(name, &plan, me, members.clone(), listener)?));
    }
    let mut clients = JoinSet::new();
    for node in &seated {
        let node = node.clone();
        clients.spawn(async move { node.live().await });
    }
    let mut result = Ok(());
    while let Some(client) = clients.join_next().await {
        result = result.and(client.map_err(|error| error.to_string()).and_then(|lived| lived));
    }
    let silent = timeout(plan.patience, silence(&seated)).await;
    let mut reports = Vec::new();
    for node in seated {
        reports.push(node.finish().await);
    }
    result?;
    silent.map_err(|_| "messages are under way that do not arrive".to_string())?;
    let tally = judge(name, &plan.setting, reports)?;
    Ok(Tally { span: started.elapsed(), ..tally })
}

async fn listen() -> std::io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    Ok((listener, address))
}

fn identity(id: NodeId) -> Identity {
    Identity { id, incarnation: 1 }
}

/// A node with its client, in this process; the others may be in others.
pub struct Seated {
    me: NodeId,
    plan: Plan,
    station: Arc<dyn Station>,
    peers: Peers,
}

impl Seated {
    /// Starts a node of an algorithm among these members, who all have incarnation 1. Belongs into a tokio runtime.
    pub fn start(
        name: &str,
        plan: &Plan,
        me: NodeId,
        members: Vec<Member>,
        listener: TcpListener,
    ) -> Result<Seated, String> {
        let door = Door::default();
        let hired = registry::visit(name, Hire { plan, me, door: door.clone() }).and_then(|hired| hired);
        let station = hired.map_err(|refusal| refusal.to_string())?;
        let inbox = Arc::new(Mailbox { station: station.clone(), door: door.clone() });
        let view = View { epoch: 1, members };
        let peers = Peers::start(Config::new("workbench", identity(me)), view, listener, inbox);
        let peers = peers.map_err(|error| error.to_string())?;
        // Nobody else opens the door.
        let _ = door.set(peers.clone());
        Ok(Seated { me, plan: plan.clone(), station, peers })
    }

    /// The life of the client: thinks, asks, waits, stays inside, leaves, as often as planned.
    pub async fn live(&self) -> Result<(), String> {
        let Seated { me, plan, station, .. } = self;
        let mut dice = Dice::new(plan.seed, u64::from(*me));
        for _ in 0..plan.entries {
            sleep(plan.think.mul_f64(dice.exponential())).await;
            station.request(Groups::one(dice.below(plan.setting.groups)));
            let entered = timeout(plan.patience, station.entered().notified()).await;
            entered.map_err(|_| format!("the client of node {me} waits in vain"))?;
            sleep(plan.section).await;
            station.exit();
        }
        Ok(())
    }

    /// How many messages were sent.
    pub fn sent(&self) -> u64 {
        self.station.sent()
    }

    /// How many messages have arrived and been handled.
    pub fn delivered(&self) -> u64 {
        self.station.delivered()
    }

    /// Ends the node; what it did and measured. Nothing may be under way any more: see [`Seated::sent`].
    pub async fn finish(&self) -> Report {
        self.peers.stop().await;
        self.station.report()
    }
}

/// What a node did and measured, in a form that can travel to whoever collects.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// What it measured.
    pub tally: Tally,
    /// What it did.
    pub record: Vec<Recorded>,
}

/// Puts the reports of all nodes together, by their ids, and judges them: nothing went wrong, the clock and the pure
/// code agree with what was done. The error is one line.
pub fn judge(name: &str, setting: &Setting, reports: Vec<Report>) -> Result<Tally, String> {
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
    let replayed = registry::visit(name, Again { setting, records });
    whole.replayed = replayed.map_err(|refusal| refusal.to_string())??;
    Ok(whole)
}

struct Again<'a> {
    setting: &'a Setting,
    records: Vec<Vec<Recorded>>,
}

impl Visitor for Again<'_> {
    type Output = Result<u64, String>;

    fn visit<A: Algorithm>(self) -> Self::Output {
        replay::replay::<A>(self.setting, self.records)
    }
}

/// Where a node finds its peers once they are there.
type Door = Arc<SetOnce<Peers>>;

struct Hire<'a> {
    plan: &'a Plan,
    me: NodeId,
    door: Door,
}

impl Visitor for Hire<'_> {
    type Output = Result<Arc<dyn Station>, Refusal>;

    fn visit<A: Algorithm>(self) -> Self::Output {
        self.plan.setting.validate(&A::INFO)?;
        if A::INFO.relies_on_pace() {
            let name = A::INFO.name;
            return Err(Refusal(format!(
                "{name} is nothing without bounds on time, which sockets do not keep"
            )));
        }
        let rules = A::rules(&self.plan.setting)?;
        Ok(Host::<A>::new(self.me, self.plan, rules, self.door))
    }
}

/// Takes what arrives to a station.
struct Mailbox {
    station: Arc<dyn Station>,
    door: Door,
}

impl Inbox for Mailbox {
    async fn received(&self, from: NodeId, _: u64, payload: &[u8]) {
        self.door.wait().await;
        self.station.deliver(from, payload);
    }
}

/// Waits until nothing is under way. Clients have finished, so messages can only follow from messages.
async fn silence(nodes: &[Arc<Seated>]) {
    // First what was delivered, then what was sent: equal sums can then not be a coincidence.
    let quiet = || {
        let delivered: u64 = nodes.iter().map(|node| node.delivered()).sum();
        let sent: u64 = nodes.iter().map(|node| node.sent()).sum();
        sent == delivered
    };
    while !quiet() {
        sleep(Duration::from_millis(1)).await;
    }
}
