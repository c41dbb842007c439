//! Where an ordeal takes setup: nodes, clients and the store they write to, and how it all is judged in the end.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::storm::{self, Arrival, Finding, Ledger, Tally};
use anyhow::{Context, Result};
use random::Random;
use rustix::process::Signal;
use security::Files;
use service::protocol::Cluster;
use service::{InWords, Time};
use tokenwood::{Access, Admin};
use tokio::time::{sleep, timeout};
use transport::loopback;

use super::network::{Network, address};
use super::report::Report;
use super::store::OpenStore;
use crate::client_processes::{ClientLauncher, ClientProcess, lock};
use crate::node_processes::{NodeProcesses, NodeSetup, as_flags, is_connected};
use crate::storm::StormClients;

/// What the user asked for.
#[derive(Clone, Copy)]
pub struct Plan {
    /// How many nodes.
    pub nodes: u32,
    /// The length of node leases.
    pub lease: Duration,
    /// How long things go wrong in each scenario.
    pub time: Duration,
    /// The seed of everything random.
    pub seed: u64,
    /// Whether there can be networks of its own.
    pub networks: bool,
}

impl Plan {
    /// Whether only a short look is wanted.
    pub fn is_short(&self) -> bool {
        self.time < Duration::from_secs(10)
    }
}

/// After the last fault every client is served within this long.
const HEALED_WITHIN: Duration = Duration::from_secs(30);
/// A process that is asked to end does so within this long.
pub(crate) const ENDS_WITHIN: Duration = Duration::from_secs(15);
/// Of what is wrong, so much is told of each kind.
const TOLD: usize = 5;

/// The name of the cluster.
pub(crate) const CLUSTER: &str = "ordeal";

/// How clients are.
#[derive(Clone)]
pub(crate) struct Load {
    /// What they want, by number: mutexes and semaphores.
    pub(crate) wanted: Vec<usize>,
    pub(crate) ttl: Duration,
    /// How long they stay inside, at most.
    pub(crate) section: Duration,
    /// They do not look whether they have lost the lock.
    pub(crate) careless: bool,
    /// Their clock runs wrong.
    pub(crate) clock: Option<String>,
    /// They want no other node than theirs.
    pub(crate) faithful: bool,
    /// They encrypt, and show this certificate.
    pub(crate) files: Option<Files>,
}

impl Load {
    /// Clients that want this, and stay inside for up to 10 ms.
    pub(crate) fn of(wanted: &[usize], ttl: Duration) -> Load {
        let section = Duration::from_millis(10);
        let wanted = wanted.to_vec();
        Load { wanted, ttl, section, careless: false, clock: None, faithful: false, files: None }
    }
}

/// What is judged more mildly than usual.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tolerance {
    /// Clocks are worse than promised: two clients may hold the same slot, the wrong one with a lower fence.
    /// No fence may be given twice, and no update be lost where fences are checked.
    pub(crate) together: bool,
    /// Clients are paused or careless: without fences updates may be lost.
    pub(crate) without_fences: bool,
}

/// NodeProcesses, clients and a store.
pub(crate) struct Trial {
    pub(crate) nodes: NodeProcesses,
    pub(crate) setups: Vec<NodeSetup>,
    pub(crate) network: Option<Network>,
    pub(crate) random: Random,
    pub(crate) clients: Vec<ClientProcess>,
    pub(crate) store: OpenStore,
    pub(crate) ledger: Arc<Mutex<Ledger>>,
    pub(crate) report: Report,
    /// How this program gets in.
    pub(crate) access: Access,
    /// What clients counted that have ended and were judged.
    pub(crate) tally: Tally,
    launcher: ClientLauncher,
    seed: u64,
    history: Arc<File>,
    folder: PathBuf,
    begun: Instant,
}

impl Trial {
    /// Plans a cluster; no node runs yet. With `network` every node has one of its own; `tune` may change where a node is.
    pub(crate) fn plan(
        scenario: &'static str,
        plan: &Plan,
        network: bool,
        tune: impl Fn(u32, &mut NodeSetup),
    ) -> Result<Trial> {
        let network = if network { Some(Network::build(plan.nodes)?) } else { None };
        let mut setups = setups(plan.nodes, network.as_ref())?;
        (0..).zip(&mut setups).for_each(|(id, setup)| tune(id, setup));
        Trial::of(scenario, plan, network, setups)
    }

    /// The same, with nodes that are set up.
    pub(crate) fn of(
        scenario: &'static str,
        plan: &Plan,
        network: Option<Network>,
        setups: Vec<NodeSetup>,
    ) -> Result<Trial> {
        let folder = folder(scenario);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let history = Arc::new(File::create(folder.join("history"))?);
        let lease = format!("{}ms", plan.lease.as_millis());
        let nodes = NodeProcesses::planned(CLUSTER, &setups, &["--lease", &lease], Some(folder.clone()));
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        Ok(Trial {
            nodes,
            setups,
            network,
            random: Random::new(plan.seed),
            clients: Vec::new(),
            store: OpenStore::open(folder.join("store"))?,
            launcher: ClientLauncher::new(ledger.clone(), Some(history.clone())),
            ledger,
            report: Report::of(scenario),
            access: Access::default(),
            tally: Tally::default(),
            seed: plan.seed,
            history,
            folder,
            begun: Instant::now(),
        })
    }

    /// The same, with all nodes running and connected.
    pub(crate) async fn start(scenario: &'static str, plan: &Plan, network: bool) -> Result<Trial> {
        let mut trial = Trial::plan(scenario, plan, network, |_, _| {})?;
        trial.launch_all().await?;
        Ok(trial)
    }

    /// Starts all nodes and waits until they are connected.
    pub(crate) async fn launch_all(&mut self) -> Result<()> {
        for id in self.ids() {
            self.nodes.launch(id)?;
        }
        self.until_whole(HEALED_WITHIN).await.map(|_| ())
    }

    pub(crate) fn ids(&self) -> Vec<u32> {
        (0..).take(self.setups.len()).collect()
    }

    /// One of these, at random.
    pub(crate) fn any_of(&mut self, ids: &[u32]) -> u32 {
        ids[self.random.below(ids.len() as u64) as usize]
    }

    /// Writes into the history what is done.
    pub(crate) fn note(&self, what: &str) {
        _ = writeln!(&*self.history, "{} {what}", storm::now().0);
    }

    /// Everything that a node has said.
    pub(crate) fn said_by(&self, node: u32) -> Result<String> {
        Ok(fs::read_to_string(self.folder.join(format!("node-{node}.log")))?)
    }

    /// A client at this node that edits the store. It knows the others too, and is in the network of its node.
    pub(crate) fn editor(&mut self, node: u32, load: &Load) -> Result<u32> {
        let mut setup = self.setups[node as usize].clone();
        setup.environment = load.clock.iter().map(|clock| (transport::clock::FAKE, clock.clone())).collect();
        let mut command = setup.command()?;
        let mut endpoints = self.endpoints(node);
        endpoints.truncate(if load.faithful { 1 } else { endpoints.len() });
        command.arg("ordeal-client").args(["--endpoint", &endpoints.join(",")]);
        command.arg("--store").arg(&self.store.path);
        let wanted: Vec<String> = load.wanted.iter().map(usize::to_string).collect();
        command.args(["--want", &wanted.join(",")]);
        command.args(["--ttl-ms", &load.ttl.as_millis().to_string()]);
        command.args(["--section-ms", &load.section.as_millis().to_string()]);
        command.args(["--seed", &(self.seed * 1_000_003 + u64::from(self.launcher.next())).to_string()]);
        if load.careless {
            command.arg("--careless");
        }
        command.args(load.files.iter().flat_map(as_flags));
        let process = self.launcher.start(command)?;
        let number = process.number;
        self.note(&format!("process {number} is a client of node {node}"));
        self.clients.push(process);
        Ok(number)
    }

    /// A client at each node, and some of a storm at the first, which acquire rooms and read-write locks as well.
    pub(crate) fn editors_everywhere(&mut self, load: &Load) -> Result<()> {
        for node in self.ids() {
            self.editor(node, load)?;
        }
        let crowd = StormClients { endpoints: self.endpoints(0), ttl: load.ttl, seed: self.seed };
        let setup = self.setups[0].clone();
        self.clients.push(crowd.start(
            &mut self.launcher,
            3,
            &NodeSetup { environment: Vec::new(), ..setup },
        )?);
        Ok(())
    }

    /// Where all nodes are, this one first.
    pub(crate) fn endpoints(&self, first: u32) -> Vec<String> {
        let mut endpoints: Vec<String> = self.setups.iter().map(|setup| setup.clients.clone()).collect();
        endpoints.rotate_left(first as usize);
        endpoints
    }

    /// Ends a node by this signal.
    pub(crate) async fn end(&mut self, node: u32, signal: Signal) -> Result<()> {
        self.note(&format!("{signal:?} to node {node}"));
        self.nodes.end(node, signal, ENDS_WITHIN).await.map(drop)
    }

    /// Starts a node again.
    pub(crate) fn launch(&mut self, node: u32) -> Result<()> {
        self.note(&format!("start of node {node}"));
        self.nodes.launch(node)
    }

    /// Sends a signal to a node.
    pub(crate) fn signal(&self, node: u32, signal: Signal) -> Result<()> {
        self.note(&format!("{signal:?} to node {node}"));
        self.nodes.signal(node, signal)
    }

    /// What a node says of the cluster, if it answers soon. It is asked from where this program is.
    pub(crate) async fn ask(&self, node: u32) -> Option<Cluster> {
        let asking = async {
            let endpoint = &self.setups[node as usize].clients;
            let mut admin = Admin::connect_with(endpoint, &self.access).await.ok()?;
            admin.cluster().await.ok()
        };
        timeout(Duration::from_millis(300), asking).await.ok()?
    }

    /// The leader, as a running node names it.
    pub(crate) async fn leader(&self) -> Result<u32> {
        for _ in 0..100 {
            let running = self.nodes.running();
            for node in &running {
                let leader = self.ask(*node).await.and_then(|cluster| cluster.leader);
                if let Some(leader) = leader.filter(|leader| running.contains(leader)) {
                    return Ok(leader);
                }
            }
            sleep(Duration::from_millis(50)).await;
        }
        anyhow::bail!("no node leads")
    }

    /// Waits until all nodes that run are connected to each other and no other node is a member. Returns how long it took.
    pub(crate) async fn until_whole(&mut self, limit: Duration) -> Result<Duration> {
        let begun = Instant::now();
        let running = self.nodes.running();
        for node in &running {
            let endpoint = self.setups[*node as usize].clients.clone();
            loop {
                let connected = is_connected(&endpoint, running.len(), &self.access);
                if timeout(Duration::from_secs(1), connected).await.is_ok_and(|connected| connected) {
                    break;
                }
                if let Some(failure) = self.nodes.failure()? {
                    anyhow::bail!(failure);
                }
                if begun.elapsed() > limit {
                    anyhow::bail!("node {node} is not connected to all others after {}", InWords(limit));
                }
                sleep(Duration::from_millis(10)).await;
            }
        }
        Ok(begun.elapsed())
    }

    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        lock(&self.ledger).arrivals()
    }

    /// Waits until every client has been granted a lock after this moment; returns those that were not.
    pub(crate) async fn until_served(&self, since: Time, limit: Duration) -> Vec<u32> {
        let until = Instant::now() + limit;
        loop {
            let arrivals = self.arrivals();
            let served = |process: &ClientProcess| {
                arrivals
                    .iter()
                    .rev()
                    .take_while(|arrival| arrival.at > since)
                    .any(|arrival| arrival.process == process.number)
            };
            let waiting: Vec<u32> = self
                .clients
                .iter()
                .filter(|process| !served(process))
                .map(|process| process.number)
                .collect();
            if waiting.is_empty() || Instant::now() > until {
                return waiting;
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// All faults are over: every client must be served, and then everything is judged.
    pub(crate) async fn judge(mut self, tolerance: Tolerance) -> Result<Report> {
        self.judge_clients(tolerance).await?;
        Ok(self.close())
    }

    /// The same, with nodes that go on running without clients.
    pub(crate) async fn judge_clients(&mut self, tolerance: Tolerance) -> Result<()> {
        self.note("the faults are over");
        let over = storm::now();
        let whole = self.until_whole(HEALED_WITHIN).await;
        self.report.demand(whole.is_ok(), || format!("after the faults: {:#}", whole.unwrap_err()));
        let waiting = self.until_served(over, HEALED_WITHIN).await;
        self.report
            .demand(waiting.is_empty(), || format!("after the faults processes {waiting:?} are not served"));
        self.clients.iter_mut().for_each(ClientProcess::ask_to_finish);
        for process in std::mem::take(&mut self.clients) {
            let wrong = process.end(&self.ledger).await?;
            self.report.wrong.extend(wrong);
        }
        if let Some(failure) = self.nodes.failure()? {
            self.report.wrong.push(failure);
        }
        self.judge_history(tolerance);
        Ok(())
    }

    fn judge_history(&mut self, tolerance: Tolerance) {
        let ledger = std::mem::take(&mut *lock(&self.ledger));
        let (findings, arrivals) = (ledger.judge(), ledger.arrivals());
        self.tally = ledger.tally();
        let of = |kind: fn(&Finding) -> bool| findings.iter().filter(move |finding| kind(finding));
        let together = of(|finding| matches!(finding, Finding::Together(_)));
        let fences = of(|finding| matches!(finding, Finding::Fence(_)));
        let others = of(|finding| matches!(finding, Finding::Other(_)));
        let report = &mut self.report;
        report.count("grants", arrivals.len());
        let longest =
            arrivals.iter().map(|arrival| (arrival.at - arrival.asked).as_secs_f64()).fold(0.0, f64::max);
        report.seconds("longest_wait_seconds", longest);
        if tolerance.together {
            report.count("two_inside", together.count());
            report.count("lower_fence_later", fences.count());
        } else {
            report.wrong.extend(together.take(TOLD).chain(fences.take(TOLD)).map(ToString::to_string));
        }
        report.wrong.extend(others.take(TOLD).map(ToString::to_string));
        report.demand(!arrivals.is_empty(), || "no client was ever granted a lock".to_string());
        let count = self.store.count();
        report.count("updates", count.updates);
        report.count("too_late_for_the_store", count.too_late);
        report.count("lost_updates_without_fences", count.lost_without_fences);
        report.count("lost_updates", count.lost);
        report.demand(count.lost == 0, || {
            format!("{} updates were lost although fences are checked", count.lost)
        });
        let mild = tolerance.without_fences || tolerance.together;
        report.demand(mild || count.lost_without_fences == 0, || {
            format!(
                "{} updates were lost without fences, though no client was paused",
                count.lost_without_fences
            )
        });
    }

    /// Ends everything without judging clients. What happened is kept if anything is wrong.
    pub(crate) fn close(self) -> Report {
        let Trial { mut report, folder, begun, .. } = self;
        report.seconds("seconds", begun.elapsed().as_secs_f64());
        if report.wrong.is_empty() {
            _ = fs::remove_dir_all(&folder);
        } else {
            report.evidence = Some(folder.display().to_string());
        }
        report
    }
}

/// Where a scenario keeps what happens.
pub fn folder(scenario: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tokenwood-ordeal-{scenario}-{}", std::process::id()))
}

/// Where nodes are: each in its network, or all on this machine's own at ports that are free.
pub(crate) fn setups(nodes: u32, network: Option<&Network>) -> Result<Vec<NodeSetup>> {
    let Some(network) = network else {
        let ports = loopback::addresses(2 * nodes as usize);
        let ports = ports.context("cannot listen at any port of this machine")?;
        let setup = |ports: &[String]| {
            let (peers, clients) = (ports[0].clone(), ports[1].clone());
            NodeSetup { reached_at: peers.clone(), peers, clients, ..NodeSetup::default() }
        };
        return Ok(ports.chunks(2).map(setup).collect());
    };
    let setup = |node| {
        let peers = format!("{}:7700", address(node));
        let clients = format!("{}:7710", address(node));
        let network_of = Some(network.process(node));
        NodeSetup { reached_at: peers.clone(), peers, clients, network_of, ..NodeSetup::default() }
    };
    Ok((0..nodes).map(setup).collect())
}
