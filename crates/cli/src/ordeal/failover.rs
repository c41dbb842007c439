//! What a killed node costs: how long until another client holds what was held there, whether the holder's command had ended
//! before, and how other clients fare meanwhile.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bench::storm::{self, Arrival};
use rustix::process::{Pid, Signal, kill_process};
use service::Time;
use tokenwood::Observer;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use super::field::{Field, Load, Mercy, Setup};
use super::report::Report;
use crate::Ended;

/// Names from here on are mutexes that one client has for itself.
const OWN: usize = 100;
/// The lock whose holder's node is killed.
const HELD: &str = "ordeal/held";
/// A command that holds a lock says so often that it is alive.
const BEAT: Duration = Duration::from_millis(1);
/// Nothing takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Writes the time again and again, until it is killed.
pub(crate) fn beat() -> Result<Ended> {
    let mut stdout = std::io::stdout();
    while writeln!(stdout, "{}", storm::now().0).and_then(|()| stdout.flush()).is_ok() {
        std::thread::sleep(BEAT);
    }
    Ok(Ended::Well)
}

/// `tokenwood run` with a command that beats.
struct Holder {
    child: Child,
    beats: Lines<BufReader<ChildStdout>>,
}

impl Holder {
    fn start(field: &Field, node: u32) -> Result<Holder> {
        let mut command = field.places[node as usize].command()?;
        command.env_remove(transport::clock::FAKE);
        command.args(["run", HELD, "--endpoint", &field.endpoints(node)[0], "--"]);
        command.arg(std::env::current_exe()?).arg("ordeal-beat");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Command::from(command).kill_on_drop(true).spawn().context("cannot start a holder")?;
        let beats = BufReader::new(child.stdout.take().context("the holder has no standard output")?).lines();
        Ok(Holder { child, beats })
    }

    /// The next time that it was alive; `None` when it has ended.
    async fn beat(&mut self) -> Result<Option<Time>> {
        let line =
            timeout(PATIENCE, self.beats.next_line()).await.context("a holder neither lives nor ends")??;
        Ok(line.and_then(|line| line.parse().ok()).map(Time))
    }

    /// Waits until it has ended: when its command last lived, and its exit code.
    async fn end(mut self) -> Result<(Time, Option<i32>)> {
        let mut last = Time(0);
        while let Some(beat) = self.beat().await? {
            last = last.max(beat);
        }
        let status = timeout(PATIENCE, self.child.wait()).await.context("a holder does not end")??;
        Ok((last, status.code()))
    }

    fn stop(&self) -> Result<()> {
        let process = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        kill_process(process.context("the holder has ended")?, Signal::TERM)
            .context("cannot send the holder a signal")
    }
}

/// The node of a holder is killed, again and again.
pub(crate) async fn holder(setup: Setup) -> Result<Report> {
    holders_of("holder", setup).await
}

/// The same with leases of three seconds, which is the default.
pub(crate) async fn holder_3s(setup: Setup) -> Result<Report> {
    holders_of("holder-3s", Setup { lease: Duration::from_secs(3), ..setup }).await
}

async fn holders_of(scenario: &'static str, setup: Setup) -> Result<Report> {
    let mut field = Field::start(scenario, &setup, setup.networks).await?;
    let rounds = if setup.is_short() { 3 } else { 11 };
    for node in field.ids() {
        let load = Load::of(&[OWN + node as usize], 2 * setup.lease);
        field.editor(node, &Load { faithful: true, ..load })?;
    }
    let bound = setup.lease * 5 / 4 + Duration::from_millis(500);
    let (mut usual, mut leading, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let leader = field.leader().await?;
        // Every third time it is the leader.
        let victim = if round % 3 == 2 {
            leader
        } else {
            (leader + 1 + round as u32 % (setup.nodes - 1)) % setup.nodes
        };
        let killed = one(&mut field, victim, setup.nodes).await?;
        let Killed { took, told_before, code, ratio } = killed;
        field.note(&format!("the next holder {took:?} after node {victim} was killed (leader: {leader})"));
        field
            .report
            .demand(told_before, || format!("round {round}: the command of the old holder still ran"));
        field
            .report
            .demand(code == Some(76), || format!("round {round}: the old holder ended with {code:?}"));
        field.report.demand(took <= bound, || {
            format!("round {round}: the next grant came after {took:?} > {bound:?}")
        });
        ratios.push(ratio);
        if victim == leader { leading.push(took) } else { usual.push(took) }
    }
    let seconds = |times: &[Duration]| times.iter().max().map_or(0.0, Duration::as_secs_f64);
    field.report.count("kills", rounds);
    field.report.seconds("next_grant_at_most_seconds", seconds(&usual));
    field.report.seconds("if_it_led_seconds", seconds(&leading));
    let ratio = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
    field.report.seconds("own_locks_of_others_during_to_before", ratio);
    field.judge(Mercy::default()).await
}

/// What came of one kill.
struct Killed {
    took: Duration,
    told_before: bool,
    code: Option<i32>,
    /// Grants of locks that have nothing to do with it, during to before.
    ratio: f64,
}

async fn one(field: &mut Field, victim: u32, nodes: u32) -> Result<Killed> {
    let mut old = Holder::start(field, victim)?;
    if old.beat().await?.is_none() {
        bail!("no client holds '{HELD}'");
    }
    let mut next = Holder::start(field, (victim + 1) % nodes)?;
    sleep(Duration::from_millis(600)).await;
    // What the old one says is read all the time, or it would wait for its reader.
    let old = tokio::spawn(old.end());
    let killed = storm::now();
    field.end(victim, Signal::KILL).await?;
    let first = next.beat().await?.context("the next holder ended")?;
    let (last, code) = old.await??;
    let took = first - killed;
    let bystanders: Vec<Arrival> =
        field.arrivals().into_iter().filter(|arrival| arrival.wanted != OWN + victim as usize).collect();
    let within = |from: Time, until: Time| {
        let count = bystanders.iter().filter(|arrival| arrival.at >= from && arrival.at < until).count();
        count as f64 / (until - from).as_secs_f64()
    };
    let before = Time(killed.0.saturating_sub(500_000_000));
    let ratio = within(killed, first) / within(before, killed).max(1.0);
    next.stop()?;
    _ = next.end().await?;
    field.launch(victim)?;
    field.until_whole(PATIENCE).await?;
    Ok(Killed { took, told_before: last < first, code, ratio })
}

/// The node that leads is killed while others contend for a lock that is not at home there: they hardly notice.
pub(crate) async fn leader(setup: Setup) -> Result<Report> {
    let mut field = Field::start("leader", &setup, setup.networks).await?;
    let rounds = if setup.is_short() { 1 } else { 5 };
    let (mut longest, mut usual) = (Duration::ZERO, Duration::ZERO);
    for round in 0..rounds {
        let leader = field.leader().await?;
        let wanted = at_home_elsewhere(&field, leader, OWN + round * 100).await?;
        let others: Vec<u32> = field.ids().into_iter().filter(|node| *node != leader).collect();
        let ttl = 2 * setup.lease;
        for node in &others {
            field.editor(*node, &Load::of(&[wanted], ttl))?;
        }
        _ = field.until_served(storm::now(), PATIENCE).await;
        sleep(setup.lease).await;
        let killed = storm::now();
        field.end(leader, Signal::KILL).await?;
        // Another node leads, and the view without it is in use.
        field.until_whole(PATIENCE).await?;
        sleep(setup.lease).await;
        let all: Vec<Time> = field
            .arrivals()
            .iter()
            .filter(|arrival| arrival.wanted == wanted)
            .map(|arrival| arrival.at)
            .collect();
        let gap = |during: bool| {
            let pairs = all.windows(2).filter(|pair| (pair[1] > killed) == during);
            pairs.map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
        };
        longest = longest.max(gap(true));
        usual = usual.max(gap(false));
        field.launch(leader)?;
        field.until_whole(PATIENCE).await?;
        field.clients.iter_mut().for_each(crate::client_processes::Process::that_is_all);
        for process in std::mem::take(&mut field.clients) {
            let wrong = process.end(&field.ledger).await?;
            field.report.wrong.extend(wrong);
        }
    }
    let lost = crate::client_processes::lock(&field.ledger).tally().lost;
    field.report.count("kills_of_the_leader", rounds);
    field.report.count("lost_by_others", lost);
    field.report.seconds("longest_gap_seconds", longest.as_secs_f64());
    field.report.seconds("longest_gap_before_seconds", usual.as_secs_f64());
    field
        .report
        .demand(lost == 0, || format!("{lost} sessions or grants at other nodes were lost with the leader"));
    let at_once = Duration::from_millis(500);
    field.report.demand(longest < at_once, || format!("hand-offs stood still for {longest:?}"));
    field.judge(Mercy::default()).await
}

/// The number of a mutex that is not at home at this node.
async fn at_home_elsewhere(field: &Field, node: u32, from: usize) -> Result<usize> {
    let begun = Instant::now();
    for wanted in from.. {
        let mut observer = Observer::connect(&field.places[node as usize].clients).await?;
        match observer.inspect(&storm::wanted(wanted).0).await? {
            (home, _) if home != node => return Ok(wanted),
            _ if begun.elapsed() > PATIENCE => break,
            _ => {}
        }
    }
    bail!("everything is at home at node {node}")
}
