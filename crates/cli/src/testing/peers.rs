//! `tokenwood bench --peers`: the same workloads for Tokenwood and for other services that are installed, in one run.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use bench::Figure;
use bench::cpu;
use bench::peers::{self, HAND_OFF, HAND_OFF_RATIO, Kind, Peer, Sample, Versus, WORKLOADS, Workload};
use clap::ValueEnum;
use serde_json::json;

use crate::Ended;
use crate::daemon::dev::until_stopped;
use crate::locks::endpoints::runtime;
use crate::terminal::format::Format;
use crate::terminal::output::{note, say};
use crate::terminal::schema::Schema;
use crate::terminal::{json, table};
use crate::testing::bench::short;
use crate::testing::peer_processes::{self, Servers};

/// What is measured.
pub(crate) struct Plan<'a> {
    pub(crate) workloads: &'a [String],
    pub(crate) list: bool,
    pub(crate) placement: Placement,
    pub(crate) rounds: u32,
    pub(crate) time: Duration,
    pub(crate) format: Format,
}

/// Which cores servers and clients run on. A wake-up across cores costs more than a lock does, so this decides most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Placement {
    /// Wherever the system puts them
    Any,
    /// All on one core
    OneCore,
    /// Servers on one core, clients on another
    TwoCores,
}

/// The cores of servers and of clients.
struct Cores {
    servers: Vec<usize>,
    clients: Vec<usize>,
}

/// What was started, and what was not.
#[derive(Default)]
struct Field {
    servers: Vec<Servers>,
    peers: Vec<Peer>,
    /// Each with the reason.
    not_run: Vec<(&'static str, String)>,
}

/// What came of it.
struct Report {
    bare: Vec<f64>,
    results: Vec<Versus>,
}

/// A server that takes longer to answer than this is not measured.
const START_LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn run(plan: &Plan<'_>) -> Result<Ended> {
    let workloads = chosen(plan.workloads)?;
    if plan.list {
        list(plan.format);
        return Ok(Ended::Well);
    }
    let cores = plan.placement.cores()?;
    // Threads and processes run where the thread runs that starts them.
    cpu::run_on(&cores.servers).context("cannot choose cores")?;
    let mut field = Field::start();
    cpu::run_on(&cores.clients).context("cannot choose cores")?;
    let runtime = runtime()?;
    let report = runtime.block_on(async {
        tokio::select! {
            report = measure_all(&mut field, &workloads, plan, &cores) => report,
            // The servers end with the field, which a signal alone would leave behind.
            stopped = until_stopped() => stopped.and_then(|()| bail!("stopped before the end: nothing is reported")),
        }
    })?;
    match plan.format {
        Format::Json => json::say(Schema::BenchPeers, &as_json(plan, &field, &report)),
        Format::Table => print(&field, &report),
    }
    Ok(Ended::Well)
}

fn list(format: Format) {
    if format == Format::Json {
        let all = WORKLOADS.iter().map(|workload| json!({ "name": workload.name, "about": workload.about }));
        return json::say(Schema::BenchWorkloads, &json!({ "workloads": all.collect::<Vec<_>>() }));
    }
    let rows = WORKLOADS.iter().map(|workload| vec![workload.name.to_string(), workload.about.to_string()]);
    let heading = vec!["workload".to_string(), "what clients do".to_string()];
    table::print(&[heading].into_iter().chain(rows).collect::<Vec<_>>());
}

/// Measures one workload after the other, with the peers that could be started.
async fn measure_all(
    field: &mut Field,
    workloads: &[&Workload],
    plan: &Plan<'_>,
    cores: &Cores,
) -> Result<Report> {
    field.until_ready().await;
    if field.peers.is_empty() {
        bail!("nothing could be started: {}", field.not_run[0].1);
    }
    let mut report = Report { bare: Vec::new(), results: Vec::new() };
    for workload in workloads {
        note!("{}: {}", workload.name, workload.about);
        let (results, bare) = measure(&field.peers, workload, plan, cores).await?;
        report.results.extend(results);
        report.bare.extend(bare);
    }
    Ok(report)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Workload>> {
    if names.is_empty() {
        return Ok(WORKLOADS.iter().collect());
    }
    let find = |name: &String| {
        let found = WORKLOADS.iter().find(|workload| workload.name == name);
        found.with_context(|| {
            format!("there is no workload '{name}'; 'tokenwood bench --peers --list' lists them")
        })
    };
    names.iter().map(find).collect()
}

impl Placement {
    fn cores(self) -> Result<Cores> {
        let all = cpu::cores().context("cannot find out which cores there are")?;
        match (self, &all[..]) {
            (Placement::Any, _) => Ok(Cores { servers: all.clone(), clients: all }),
            (Placement::OneCore, [first, ..]) => Ok(Cores { servers: vec![*first], clients: vec![*first] }),
            (Placement::TwoCores, [first, second, ..]) => {
                Ok(Cores { servers: vec![*first], clients: vec![*second] })
            }
            _ => bail!("there are not enough cores for this placement"),
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
    }
}

impl Field {
    /// Starts everything that is installed.
    fn start() -> Field {
        let mut field = Field::default();
        for (name, start) in peer_processes::ALL {
            match start() {
                Ok(Some((servers, peers))) => {
                    field.servers.push(servers);
                    field.peers.extend(peers);
                }
                Ok(None) => field.not_run.push((name, "not installed".to_string())),
                Err(error) => field.not_run.push((name, format!("{error:#}"))),
            }
        }
        field
    }

    /// Waits until all of them serve, and goes on without those that do not.
    async fn until_ready(&mut self) {
        let begun = Instant::now();
        let mut ready = Vec::new();
        for peer in std::mem::take(&mut self.peers) {
            loop {
                let answer = tokio::time::timeout(START_LIMIT, peers::answers(&peer)).await;
                let answer = answer.map_or_else(
                    |_| Err("no answer".to_string()),
                    |answer| answer.map_err(|error| error.to_string()),
                );
                match answer {
                    Ok(()) => break ready.push(peer),
                    Err(why) if begun.elapsed() > START_LIMIT => {
                        break self.not_run.push((peer.kind.name(), format!("does not serve: {why}")));
                    }
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        }
        self.peers = ready;
    }
}

/// All rounds of a workload, the peers in another order each time. Returns the bare round trip of each round too.
async fn measure(
    peers: &[Peer],
    workload: &Workload,
    plan: &Plan<'_>,
    cores: &Cores,
) -> Result<(Vec<Versus>, Vec<f64>)> {
    let peers: Vec<&Peer> = peers.iter().filter(|peer| peer.kind.can_do(workload)).collect();
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); peers.len()];
    let mut bare = Vec::new();
    for round in 0..plan.rounds as usize {
        let trip = peers::bare_round_trip(&cores.clients, &cores.servers, plan.time / 5);
        bare.push(trip.await.map_err(|error| anyhow!(error))?);
        for place in 0..peers.len() {
            let which = (place + round) % peers.len();
            // In a task, as programs use it.
            let (peer, workload, time) = (peers[which].clone(), *workload, plan.time);
            let run = tokio::spawn(async move { peers::measure(&peer, &workload, time).await });
            samples[which].push(run.await?.map_err(|error| anyhow!(error))?);
        }
    }
    let redis = peers.iter().position(|peer| peer.kind == Kind::Redis);
    let redis = redis.map(|place| samples[place].clone()).unwrap_or_default();
    let compare = |(peer, samples): (&&Peer, &Vec<Sample>)| {
        peers::compare(workload.name, peer.kind, samples, &redis, &bare)
    };
    Ok((peers.iter().zip(&samples).filter_map(compare).collect(), bare))
}

fn as_json(plan: &Plan<'_>, field: &Field, report: &Report) -> serde_json::Value {
    let not_run = |(name, why): &(&str, String)| json!({ "peer": name, "why": why });
    json!({
        "rounds": plan.rounds,
        "seconds": plan.time.as_secs_f64(),
        "placement": plan.placement.name(),
        "bare_round_trips_micros": report.bare,
        "results": report.results,
        "not_run": field.not_run.iter().map(not_run).collect::<Vec<_>>(),
    })
}

/// The columns of the table: heading, figure, and whether its lowest and highest rounds are shown.
const COLUMNS: [(&str, &str, bool); 11] = [
    ("grants/s", "grants", true),
    ("server µs", "server CPU per grant", false),
    ("client µs", "client CPU per grant", false),
    ("wait p50 µs", "wait p50", false),
    ("p99 µs", "wait p99", false),
    ("fairness", "fairness (Jain)", false),
    ("grants / redis", "grants / redis", true),
    ("server CPU / redis", "server CPU / redis", true),
    ("total CPU / redis", "total CPU / redis", true),
    ("hand-off p50 µs", HAND_OFF, false),
    ("in round trips", HAND_OFF_RATIO, true),
];

fn print(field: &Field, report: &Report) {
    for workload in &WORKLOADS {
        let results: Vec<&Versus> =
            report.results.iter().filter(|versus| versus.workload == workload.name).collect();
        let figure =
            |versus: &Versus, what: &str| versus.figures.iter().find(|figure| figure.what == what).cloned();
        let shown: Vec<_> = COLUMNS
            .iter()
            .filter(|(_, what, _)| results.iter().any(|versus| figure(versus, what).is_some()))
            .collect();
        if results.is_empty() {
            continue;
        }
        say!("{}: {}", workload.name, workload.about);
        let heading = std::iter::once("peer").chain(shown.iter().map(|(heading, ..)| *heading));
        let mut rows = vec![heading.map(str::to_string).collect::<Vec<_>>()];
        for versus in results {
            let cells = shown.iter().map(|(_, what, range)| {
                figure(versus, what).map(|figure| cell(&figure, *range)).unwrap_or_default()
            });
            rows.push(std::iter::once(versus.peer.clone()).chain(cells).collect());
        }
        table::print(&rows);
        say!();
    }
    let mut bare = report.bare.clone();
    bare.sort_by(f64::total_cmp);
    if let (Some(low), Some(high)) = (bare.first(), bare.last()) {
        let middle = bare[bare.len() / 2];
        say!("bare round trip: {} µs ({} to {})", short(middle), short(*low), short(*high));
    }
    for (name, why) in &field.not_run {
        match why.as_str() {
            "not installed" => say!("not installed: {name}"),
            why => say!("not measured: {name}: {why}"),
        }
    }
}

fn cell(figure: &Figure, range: bool) -> String {
    if !range || figure.low == figure.high {
        return short(figure.value);
    }
    format!("{} ({} to {})", short(figure.value), short(figure.low), short(figure.high))
}
