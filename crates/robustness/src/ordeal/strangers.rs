//! Strangers do what they can on every port while nodes are killed and come back: friends must hardly notice.
//!
//! Friends are clients like those of the other scenarios, and one at each node with a lock that no other client wants: how long it
//! waits is what strangers cost. Strangers are processes of their own, one for each kind of mischief.

mod crowds;
mod frames;
pub(crate) mod measures;
pub mod process;
mod slow;
mod watcher;

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::storm;
use anyhow::{Context, Result};
use bench::cpu;
use clap::ValueEnum;
use rustix::process::Signal;
use serde_json::Value;
use service::{InWords, Time};
use sync::IgnorePoison;
use tokenwood::Admin;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{sleep, timeout};

use super::crashes::usual;
use super::report::Report;
use super::trial::{Load, Plan, Tolerance, Trial};
use crate::node_processes::Log;
use measures::{Memory, Waits, memory, sockets};
use process::Kind;
use watcher::Watcher;

/// So many nodes.
const NODES: u32 = 3;
/// Names from here on are mutexes that one friend has for itself.
const OWN: usize = 100;
/// The cluster is whole again within so long.
const WHOLE_WITHIN: Duration = Duration::from_secs(30);
/// A friend waits no longer than this for a lock that no other client wants, while no node is away.
const FRIENDS_WAIT: Duration = Duration::from_millis(500);
/// A node has no more memory than this, whatever strangers do.
const MOST_MEMORY: u64 = 1 << 30;
/// After the strangers are gone, nodes are idle within so long. Unused names go home, and are forgotten, later.
const IDLE_WITHIN: Duration = Duration::from_secs(20);
/// Idle is who uses no more than this share of a core,
const IDLE_SHARE: f64 = 0.05;
/// for so long,
const IDLE_TIME: Duration = Duration::from_secs(1);
/// and no more sockets than these beside those there were at first: the connection of a question, of a peer.
const SPARE_SOCKETS: usize = 3;

/// How many strangers of each kind.
struct Numbers {
    visitors: usize,
    idle: usize,
    writers: usize,
    readers: usize,
    hellos_a_second: usize,
    waiters: usize,
    names: usize,
    /// The crowd waits within so long.
    crowd_within: Duration,
}

const FULL: Numbers = Numbers {
    visitors: 30,
    idle: 10_000,
    writers: 300,
    readers: 300,
    hellos_a_second: 2_000,
    waiters: 1_000_000,
    names: 100_000,
    crowd_within: Duration::from_secs(120),
};

/// For a short look.
const FEW: Numbers = Numbers {
    visitors: 5,
    idle: 300,
    writers: 20,
    readers: 20,
    hellos_a_second: 500,
    waiters: 24_000,
    names: 2_000,
    crowd_within: Duration::from_secs(30),
};

pub(crate) async fn strangers(plan: Plan) -> Result<Report> {
    let plan = Plan { nodes: NODES, ..plan };
    let mut run = StrangersTrial::begin(plan).await?;
    run.strangers_and_kills().await?;
    run.restart_under_hellos().await?;
    run.crowd_lapses().await?;
    run.judge_friends().await?;
    run.judge_idle().await?;
    run.judge_ends().await?;
    Ok(run.trial.close())
}

/// The scenario while it runs.
struct StrangersTrial {
    trial: Trial,
    plan: Plan,
    numbers: Numbers,
    strangers: Vec<Strangers>,
    /// A node was away then, or had just come back.
    troubled: Vec<(Time, Time)>,
    /// The most memory that a node has had.
    peak: u64,
    /// How many sockets a node has without friends and strangers, at most.
    sockets: usize,
}

impl StrangersTrial {
    async fn begin(plan: Plan) -> Result<StrangersTrial> {
        let mut trial = Trial::start("strangers", &plan, false).await?;
        let mut most = 0;
        for (_, process) in trial.nodes.ids_and_pids() {
            most = most.max(sockets(process)?);
        }
        for node in trial.ids() {
            trial.editor(node, &usual(&plan))?;
            trial.editor(node, &Load::of(&[OWN + node as usize], 2 * plan.lease))?;
        }
        _ = trial.until_served(storm::now(), WHOLE_WITHIN).await;
        let numbers = if plan.is_short() { FEW } else { FULL };
        let (strangers, troubled) = (Vec::new(), Vec::new());
        Ok(StrangersTrial { trial, plan, numbers, strangers, troubled, peak: 0, sockets: most })
    }

    /// Strangers of all kinds, while nodes are killed and come back, with logs that are not read.
    async fn strangers_and_kills(&mut self) -> Result<()> {
        let Numbers { visitors, idle, writers, readers, names, .. } = self.numbers;
        let watcher = Watcher::suspended(&self.trial).await?;
        let kinds = [
            (Kind::Frames, visitors),
            (Kind::Idle, idle),
            (Kind::Writers, writers),
            (Kind::Readers, readers),
            (Kind::Listings, names),
        ];
        for (kind, count) in kinds {
            self.start(kind, count)?;
        }
        sleep(self.plan.lease * 2).await;
        let (begun, mut kills, mut slowest) = (Instant::now(), 0, Duration::ZERO);
        let logs = [Log::Closed, Log::Full, Log::Read];
        while kills < 2 || begun.elapsed() < self.plan.time / 2 {
            let victim =
                if kills % 2 == 0 { self.trial.any_of(&[0, 1, 2]) } else { self.trial.leader().await? };
            self.trial.nodes.set_log(victim, logs[kills % logs.len()]);
            let away = self.plan.lease / 4 * self.trial.random.below(8) as u32;
            slowest = slowest.max(self.restart(victim, away).await?);
            kills += 1;
            sleep(self.plan.lease).await;
        }
        self.trial.report.count("kills", kills);
        self.trial.report.seconds("whole_again_after_seconds", slowest.as_secs_f64());
        let (_, well) = watcher.resume(Duration::from_secs(1)).await?;
        self.trial.report.demand(well, || "a watcher that was suspended does not end well".to_string());
        self.stop_all().await
    }

    /// A member restarts while greetings that never end come to all ports for peers.
    async fn restart_under_hellos(&mut self) -> Result<()> {
        self.start(Kind::Hellos, self.numbers.hellos_a_second)?;
        sleep(self.plan.lease).await;
        let back = self.restart(1, Duration::ZERO).await?;
        self.trial.report.seconds("back_under_slow_hellos_seconds", back.as_secs_f64());
        let bound = 2 * self.plan.lease;
        self.trial.report.demand(back <= bound, || {
            format!(
                "a member was back {} after its start under slow hellos, where {} are allowed",
                InWords(back),
                InWords(bound)
            )
        });
        self.stop_all().await
    }

    /// Many wait for one name, a node is killed meanwhile, and then all their sessions lapse at once.
    async fn crowd_lapses(&mut self) -> Result<()> {
        let watcher = Watcher::suspended(&self.trial).await?;
        self.start(Kind::Waiters, self.numbers.waiters)?;
        let (begun, mut most) = (Instant::now(), 0);
        loop {
            let waiting = self.requests().await;
            most = most.max(waiting);
            let asked = self.strangers.iter().map(|each| each.counted("asked")).sum::<i64>();
            let all_asked = asked >= self.numbers.waiters as i64 * 99 / 100;
            if all_asked || begun.elapsed() > self.numbers.crowd_within {
                self.trial.report.demand(all_asked, || format!("{asked} waiters were taken in, and no more"));
                break;
            }
            sleep(Duration::from_millis(200)).await;
        }
        self.trial.report.seconds("crowd_gathers_seconds", begun.elapsed().as_secs_f64());
        most = most.max(self.requests().await);
        self.trial.report.count("most_waiters", most);
        sleep(self.plan.lease).await;
        _ = self.restart(2, self.plan.lease).await?;
        // Without a word to the nodes.
        for crowd in std::mem::take(&mut self.strangers) {
            self.count(&crowd);
            crowd.kill().await?;
        }
        let lapse = crowds::TTL * 11 / 9 + self.plan.lease;
        sleep(lapse).await;
        let (missed, well) = watcher.resume(Duration::from_secs(20)).await?;
        self.trial.report.count("missed_by_a_suspended_watcher", missed);
        self.trial.report.demand(missed > 0 && well, || {
            format!("a suspended watcher missed {missed} events, ended well: {well}")
        });
        Ok(())
    }

    /// How many clients hold or wait at all nodes that answer.
    async fn requests(&self) -> usize {
        let mut requests = 0;
        for node in self.trial.ids() {
            requests += self.status(node).await.map_or(0, |(_, requests)| requests);
        }
        requests
    }

    /// Sessions and requests at a node, if it answers.
    async fn status(&self, node: u32) -> Option<(usize, usize)> {
        let endpoint = &self.trial.setups[node as usize].clients;
        let asking = async {
            let status = Admin::connect(endpoint).await.ok()?.status().await.ok()?;
            Some((status.node.sessions, status.node.requests))
        };
        timeout(Duration::from_secs(2), asking).await.ok()?
    }

    /// Kills a node and starts it again after a while. Returns how long it took from its start until the cluster was whole.
    async fn restart(&mut self, node: u32, away: Duration) -> Result<Duration> {
        self.note_memory()?;
        let killed = storm::now();
        self.trial.end(node, Signal::KILL).await?;
        sleep(away).await;
        self.trial.launch(node)?;
        let whole = self.trial.until_whole(WHOLE_WITHIN).await?;
        // Clients come back, and leases that are not renewed lapse, a little later.
        self.troubled.push((killed, storm::now() + self.plan.lease));
        Ok(whole)
    }

    fn note_memory(&mut self) -> Result<()> {
        for (id, process) in self.trial.nodes.ids_and_pids() {
            let peak = memory(process, Memory::Peak)?;
            self.trial.note(&format!("node {id} has had {} MiB at most", peak >> 20));
            self.peak = self.peak.max(peak);
        }
        Ok(())
    }

    /// Friends fared as the other scenarios demand, and did not wait long.
    async fn judge_friends(&mut self) -> Result<()> {
        // A wait that still goes on has not been written down.
        _ = self.trial.until_served(storm::now(), WHOLE_WITHIN).await;
        self.note_memory()?;
        let own: Vec<_> = self.trial.arrivals().into_iter().filter(|arrival| arrival.wanted >= OWN).collect();
        let (around, otherwise) = Waits::around(&own, &self.troubled);
        let report = &mut self.trial.report;
        report.seconds("own_lock_p50_seconds", otherwise.percentile(50).as_secs_f64());
        report.seconds("own_lock_p99_seconds", otherwise.percentile(99).as_secs_f64());
        report.seconds("own_lock_longest_seconds", otherwise.longest().as_secs_f64());
        report.seconds("own_lock_around_kills_seconds", around.longest().as_secs_f64());
        let bounds = [
            (otherwise.longest(), FRIENDS_WAIT, "while all nodes were there"),
            (around.longest(), 2 * self.plan.lease + Duration::from_secs(1), "around a kill"),
        ];
        for (longest, bound, when) in bounds {
            report.demand(longest <= bound, || {
                format!(
                    "a friend waited for its own lock for {} {when}, where {} are allowed",
                    InWords(longest),
                    InWords(bound)
                )
            });
        }
        let (peak, most) = (self.peak >> 20, MOST_MEMORY >> 20);
        report.count("memory_peak_mib", peak);
        report.demand(peak <= most, || format!("a node had {peak} MiB, where {most} are allowed"));
        self.trial.judge_clients(Tolerance::default()).await
    }

    /// When strangers and friends are gone, nodes have nothing to do, and nothing is left of them.
    async fn judge_idle(&mut self) -> Result<()> {
        let begun = Instant::now();
        let left = loop {
            let left = self.left().await?;
            if left.is_empty() || begun.elapsed() > IDLE_WITHIN {
                break left;
            }
            sleep(Duration::from_millis(100)).await;
        };
        self.trial
            .report
            .demand(left.is_empty(), || format!("after {IDLE_WITHIN:?} there are {}", left.join(", ")));
        let share = loop {
            let share = self.busiest().await?;
            self.trial.note(&format!("the busiest node uses {share:.3} of a core"));
            if share <= IDLE_SHARE || begun.elapsed() > IDLE_WITHIN {
                break share;
            }
        };
        self.trial.report.seconds("idle_after_seconds", begun.elapsed().as_secs_f64());
        self.trial.report.count("idle_cpu_percent", (share * 1000.0).round() / 10.0);
        self.trial
            .report
            .demand(share <= IDLE_SHARE, || format!("a node uses {share:.2} of a core for nothing"));
        let mut resident = 0;
        for (_, process) in self.trial.nodes.ids_and_pids() {
            resident = resident.max(memory(process, Memory::Now)?);
        }
        self.trial.report.count("memory_idle_mib", resident >> 20);
        Ok(())
    }

    /// The share of a core that the busiest node uses.
    async fn busiest(&self) -> Result<f64> {
        let used = || -> Result<Vec<f64>> {
            let each = self.trial.nodes.ids_and_pids().map(|(_, process)| cpu::used_by(process));
            each.collect::<Result<_, _>>().map_err(anyhow::Error::msg)
        };
        let before = used()?;
        sleep(IDLE_TIME).await;
        let spent = before.iter().zip(used()?).map(|(before, after)| after - before);
        Ok(spent.fold(0.0, f64::max) / IDLE_TIME.as_micros() as f64)
    }

    /// What is left of strangers and friends.
    async fn left(&self) -> Result<Vec<String>> {
        let mut left = Vec::new();
        for (id, process) in self.trial.nodes.ids_and_pids() {
            let (open, (sessions, requests)) = (sockets(process)?, self.status(id).await.unwrap_or_default());
            if open > self.sockets + SPARE_SOCKETS || sessions + requests > 0 {
                left.push(format!("{open} sockets, {sessions} sessions, {requests} requests at node {id}"));
            }
        }
        Ok(left)
    }

    /// All nodes end when they are asked to, and none has panicked.
    async fn judge_ends(&mut self) -> Result<()> {
        let mut slowest = Duration::ZERO;
        for node in self.trial.ids() {
            let begun = Instant::now();
            let status = self.trial.nodes.end(node, Signal::TERM, super::trial::ENDS_WITHIN).await?;
            slowest = slowest.max(begun.elapsed());
            let took = InWords(begun.elapsed());
            self.trial.note(&format!("node {node} ended {took} after it was asked to"));
            self.trial.report.demand(status.success(), || format!("node {node} ended with {status}"));
            let panicked = self.trial.said_by(node)?.contains("panicked");
            self.trial.report.demand(!panicked, || format!("node {node} panicked"));
        }
        self.trial.report.seconds("slowest_end_seconds", slowest.as_secs_f64());
        // Without a majority the last ones wait for as long as their lease lasts, by any clock.
        let bound = self.plan.lease * 11 / 9 + Duration::from_millis(500);
        self.trial.report.demand(slowest <= bound, || {
            let (slowest, bound) = (InWords(slowest), InWords(bound));
            format!("a node ended {slowest} after SIGTERM, where {bound} are allowed")
        });
        Ok(())
    }

    fn start(&mut self, kind: Kind, count: usize) -> Result<()> {
        self.trial.note(&format!("strangers: {kind:?}, {count}"));
        let seed = self.plan.seed.wrapping_mul(1_000_003).wrapping_add(kind as u64);
        self.strangers.push(Strangers::start(&self.trial, kind, count, seed)?);
        Ok(())
    }

    /// All strangers go, and what they counted is told.
    async fn stop_all(&mut self) -> Result<()> {
        self.trial.note("the strangers go");
        for strangers in std::mem::take(&mut self.strangers) {
            self.count(&strangers);
            strangers.stop().await?;
        }
        Ok(())
    }

    fn count(&mut self, strangers: &Strangers) {
        let counts = strangers.counts.lock().ignore_poison().clone();
        self.trial.note(&format!("strangers {:?} counted {counts}", strangers.kind));
        let told = match strangers.kind {
            Kind::Frames => &["absurd_visits"][..],
            Kind::Idle => &["idle_connections"],
            Kind::Hellos => &["slow_hellos"],
            Kind::Waiters => &["sessions", "sessions_refused", "requests_refused"],
            Kind::Listings => &["pages"],
            Kind::Writers | Kind::Readers => &[],
        };
        for what in told {
            self.trial.report.count(what, counts[*what].as_i64().unwrap_or(0));
        }
    }
}

/// A process with strangers of one kind.
struct Strangers {
    kind: Kind,
    child: Child,
    /// They end when this does.
    stdin: Option<ChildStdin>,
    /// What they said last.
    counts: Arc<Mutex<Value>>,
}

impl Strangers {
    fn start(trial: &Trial, kind: Kind, count: usize, seed: u64) -> Result<Strangers> {
        let mut command = Command::new(std::env::current_exe()?);
        let name = kind.to_possible_value().context("a kind has a name")?;
        command.args(["ordeal-strangers", name.get_name()]);
        let clients: Vec<&str> = trial.setups.iter().map(|setup| &setup.clients[..]).collect();
        let peers: Vec<&str> = trial.setups.iter().map(|setup| &setup.peers[..]).collect();
        command.args(["--clients", &clients.join(","), "--peers", &peers.join(",")]);
        command.args(["--count", &count.to_string(), "--seed", &seed.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("cannot start strangers")?;
        let stdin = child.stdin.take();
        let mut lines =
            BufReader::new(child.stdout.take().context("strangers have no standard output")?).lines();
        let counts: Arc<Mutex<Value>> = Arc::default();
        let kept = counts.clone();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Ok(said) = serde_json::from_str(&line) {
                    *kept.lock().ignore_poison() = said;
                }
            }
        });
        Ok(Strangers { kind, child, stdin, counts })
    }

    fn counted(&self, what: &str) -> i64 {
        self.counts.lock().ignore_poison()[what].as_i64().unwrap_or(0)
    }

    /// They go when they are asked to.
    async fn stop(mut self) -> Result<()> {
        drop(self.stdin.take());
        timeout(super::trial::ENDS_WITHIN, self.child.wait()).await.context("strangers do not end")??;
        Ok(())
    }

    /// They are gone at once.
    async fn kill(mut self) -> Result<()> {
        self.child.kill().await.context("cannot kill strangers")
    }
}
