//! Whether a command ends with its lock: `tokenwood run` is killed, stopped, starved or loses its guardian, while its command
//! tries to get away. The old command has to be gone before the next holder's begins, every time.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use random::Random;
use rustix::process::{Pid, Signal, kill_process, setsid};
use service::InWords;
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::holder::{BEATS, Holder, exit};
use super::report::Report;
use super::trial::{Load, Plan, Tolerance, Trial};
use crate::node_processes::NodeSetup;
use crate::storm;

/// A command that holds a lock says so often that it is alive.
const BEAT: Duration = Duration::from_millis(1);
/// So many locks at a time.
const LANES: u64 = 6;
/// How long a lock survives its client.
const TTL: [&str; 2] = ["--ttl", "2s"];
/// Leases that a busy machine does not lose: many commands run beside each other.
const LEASE: Duration = Duration::from_secs(3);
/// The exit code of `run` if the lock is lost.
const LOST: i32 = 76;
/// Memory of a holder that is starved, and processes of one whose table is full.
const MEMORY: u64 = 48 << 20;
const PROCESSES: u64 = 24;
/// A command that takes all memory takes no more, in MiB.
const MOST_TAKEN: usize = 256;

/// A command that says again and again that it is alive.
#[derive(Args)]
pub struct BeatArguments {
    /// Leave the session first
    #[arg(long)]
    session: bool,
    /// Start the same again and end, for ever
    #[arg(long)]
    flee: bool,
    /// Take all memory
    #[arg(long)]
    hog: bool,
    /// Start as many processes as there can be
    #[arg(long)]
    crowd: bool,
}

/// Writes the time again and again, until it is killed.
pub fn beat(arguments: &BeatArguments) -> Result<()> {
    if arguments.session || arguments.flee {
        // A process that is the first of its group cannot.
        _ = setsid();
    }
    let again = |flag: &str| {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.args(["ordeal-beat", flag]).spawn()
    };
    let mut taken: Vec<Vec<u8>> = Vec::new();
    loop {
        let mut stdout = std::io::stdout();
        writeln!(stdout, "{}", storm::now().0).and_then(|()| stdout.flush())?;
        if arguments.flee {
            again("--flee")?;
            return Ok(());
        }
        if arguments.hog && taken.len() < MOST_TAKEN {
            taken.push(vec![1; 1 << 20]);
        }
        if arguments.crowd {
            _ = again("--session");
        }
        std::thread::sleep(BEAT);
    }
}

/// How a command tries to get away: a script for the shell, with this program as `$0`.
const ESCAPES: [&str; 5] = [
    BEATS,
    "\"$0\" ordeal-beat --session & wait",
    "(\"$0\" ordeal-beat --session &); exec \"$0\" ordeal-beat",
    "trap '' TERM INT HUP; (\"$0\" ordeal-beat --session &); exec \"$0\" ordeal-beat",
    "\"$0\" ordeal-beat --flee & exec \"$0\" ordeal-beat",
];
const HOG: &str = "(\"$0\" ordeal-beat --session &); sleep 0.6; exec \"$0\" ordeal-beat --hog";
const CROWD: &str = "exec \"$0\" ordeal-beat --crowd";

/// What is done to `run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attack {
    Kill,
    KillGuardian,
    Stop,
    Revoke,
    /// It has little memory, and is what the kernel kills when there is no more.
    Starve,
    /// It is killed when no process can be started any more.
    Crowd,
}

const ATTACKS: [Attack; 6] =
    [Attack::Kill, Attack::Stop, Attack::KillGuardian, Attack::Revoke, Attack::Starve, Attack::Crowd];

/// A group of processes that may use only so much of something. It is removed with this.
struct Limited(PathBuf);

impl Limited {
    /// Where one may make such groups.
    fn new(of: &str, files: [&str; 2], most: u64, name: &str) -> Option<Limited> {
        let roots = [format!("/sys/fs/cgroup/{of}"), "/sys/fs/cgroup".to_string()];
        roots.iter().zip(files).find_map(|(root, file)| {
            let group = Limited(PathBuf::from(root).join(name));
            fs::create_dir(&group.0).ok()?;
            // The kernel has put it there, or this is a plain folder.
            fs::metadata(group.0.join("cgroup.procs")).ok()?;
            fs::write(group.0.join(file), most.to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        // Its last processes may still be ending.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(BEAT);
        }
    }
}

/// The first process that this one has started: of `run`, the guardian.
fn child_of(process: Pid) -> Option<Pid> {
    let id = process.as_raw_pid();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
}

/// One lock, whose holder is attacked.
struct Round {
    number: u64,
    attack: Attack,
    script: &'static str,
    setups: Vec<NodeSetup>,
    delay: Duration,
}

/// What came of it.
struct Outcome {
    number: u64,
    attack: Attack,
    script: &'static str,
    gone_before: bool,
    code: Option<i32>,
    took: Duration,
}

impl Round {
    fn of(number: u64, seed: u64, setups: &[NodeSetup]) -> Round {
        let mut random = Random::stream(seed, number);
        let attack = ATTACKS[(number % ATTACKS.len() as u64) as usize];
        let script = match attack {
            Attack::Starve => HOG,
            Attack::Crowd => CROWD,
            _ => *random.choose(&ESCAPES),
        };
        let delay = Duration::from_millis(100 + random.below(600));
        Round { number, attack, script, setups: setups.to_vec(), delay }
    }

    /// `None` if either lost its lock before anything was done to it: the machine is busy.
    async fn run(self) -> Result<Option<Outcome>> {
        let name = format!("ordeal/command-{}", self.number);
        let group = format!("tokenwood-ordeal-{}-{}", storm::now().0, self.number);
        let limited = match self.attack {
            Attack::Starve => Limited::new("memory", ["memory.limit_in_bytes", "memory.max"], MEMORY, &group),
            Attack::Crowd => Limited::new("pids", ["pids.max", "pids.max"], PROCESSES, &group),
            _ => None,
        };
        // Where there can be no such group, it is killed like others: without one, the command would take all there is.
        let (attack, script) = match self.attack {
            Attack::Starve | Attack::Crowd if limited.is_none() => (Attack::Kill, ESCAPES[2]),
            attack => (attack, self.script),
        };
        let nodes = self.setups.len() as u64;
        let at = |number: u64| &self.setups[(number % nodes) as usize];
        let mut old =
            Holder::start(at(self.number), &name, &TTL, script, limited.as_ref().map(|limited| &*limited.0))?;
        if old.beat().await?.is_none() {
            let (code, said) = old.said().await?;
            if code == Some(LOST) {
                return Ok(None);
            }
            bail!("round {} ({attack:?}): no client holds the lock: {}, '{said}'", self.number, exit(code));
        }
        let run = old.process()?;
        let mut next = Holder::start(at(self.number + 1), &name, &TTL, BEATS, None)?;
        if attack == Attack::Starve {
            fs::write(format!("/proc/{}/oom_score_adj", run.as_raw_pid()), "1000")?;
        }
        sleep(self.delay).await;
        // What the old one says is read all the time, or it would wait for its reader.
        let old = tokio::spawn(old.end());
        let begun = storm::now();
        let struck = strike(attack, run, &name, at(self.number)).await;
        let first = next.beat().await?;
        if attack == Attack::Stop {
            _ = kill_process(run, Signal::CONT);
        }
        let (last, code) = old.await??;
        let Some(first) = first else {
            return match next.said().await? {
                (Some(LOST), _) => Ok(None),
                (code, said) => bail!("the next holder ended with {}, '{said}'", exit(code)),
            };
        };
        next.stop()?;
        next.end().await?;
        if code != Some(LOST) {
            struck?;
        }
        let Round { number, .. } = self;
        Ok(Some(Outcome { number, attack, script, gone_before: last < first, code, took: first - begun }))
    }
}

async fn strike(attack: Attack, run: Pid, name: &str, setup: &NodeSetup) -> Result<()> {
    match attack {
        Attack::Kill | Attack::Crowd => kill_process(run, Signal::KILL)?,
        Attack::Stop => kill_process(run, Signal::STOP)?,
        // The kernel kills it.
        Attack::Starve => {}
        Attack::KillGuardian => {
            let guardian = child_of(run).context("there is no guardian")?;
            kill_process(guardian, Signal::KILL)?;
        }
        Attack::Revoke => {
            let mut command = setup.command()?;
            command.args(["release", "--force", name, "--endpoint", &setup.clients]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            Command::from(command).status().await?;
        }
    }
    Ok(())
}

impl Outcome {
    /// The exit code that `run` has to have, unless it had lost its lock before the attack.
    fn expected(&self) -> Option<i32> {
        match self.attack {
            Attack::Kill | Attack::Starve | Attack::Crowd => None,
            Attack::KillGuardian => Some(70),
            Attack::Stop | Attack::Revoke => Some(LOST),
        }
    }
}

/// Commands of `tokenwood run` that do not want to end.
pub(crate) async fn commands(plan: Plan) -> Result<Report> {
    let plan = Plan { lease: LEASE, ..plan };
    let mut trial = Trial::start("commands", &plan, plan.networks).await?;
    let rounds: u64 = if plan.is_short() { 12 } else { 204 };
    for node in trial.ids() {
        trial.editor(node, &Load::of(&[node as usize], 2 * plan.lease))?;
    }
    let mut running = JoinSet::new();
    let mut outcomes = Vec::new();
    for number in 0..rounds {
        if number >= LANES
            && let Some(outcome) = running.join_next().await
        {
            outcomes.extend(outcome??);
        }
        let round = Round::of(number, plan.seed, &trial.setups);
        let what = format!("round {number}: {:?}, '{}'", round.attack, round.script);
        running.spawn(async move { round.run().await.context(what) });
    }
    while let Some(outcome) = running.join_next().await {
        outcomes.extend(outcome??);
    }
    for outcome in &outcomes {
        let Outcome { number, attack, script, gone_before, code, took } = outcome;
        trial.note(&format!(
            "round {number}: {attack:?}, '{script}': the next holder after {}",
            InWords(*took)
        ));
        trial.report.demand(*gone_before, || {
            format!("round {number}: the old command still ran when the next began ({attack:?}, '{script}')")
        });
        let expected = outcome.expected();
        trial.report.demand(*code == expected || *code == Some(LOST), || {
            format!("round {number}: 'run' ended with {code:?}, not {expected:?} ({attack:?}, '{script}')")
        });
    }
    let of = |attack: Attack| outcomes.iter().filter(|outcome| outcome.attack == attack).count();
    trial.report.count("commands", outcomes.len());
    trial.report.count("lost_before", rounds - outcomes.len() as u64);
    trial.report.count("starved", of(Attack::Starve));
    trial.report.count("full_tables", of(Attack::Crowd));
    let longest = outcomes.iter().map(|outcome| outcome.took).max().unwrap_or_default();
    trial.report.seconds("next_grant_at_most_seconds", longest.as_secs_f64());
    trial.judge(Tolerance::default()).await
}
