//! `cargo xtask bench-simulator`: the speed of the simulator, how its cost grows with the number of nodes,
//! and how the same model written in SimPy compares, in the same run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// The target for delivered messages per second on one core, without checks and with them.
const AIMS: [(&str, f64); 2] = [("checks off", 5e6), ("checks on", 4e6)];
/// The target for the speed relative to SimPy.
const AIM_RATIO: f64 = 100.0;
const REPETITIONS: usize = 5;
/// The model of the thesis: 30 nodes, 3 tokens.
const MODEL: &str =
    "bulgannawar-vaidya --choose last-seen --send 0.1 --receive 0.1 --transit 0.8 --cs 0.0002";
/// At the greatest load of the thesis.
const SATURATED: &str = "--rate 1 --nodes 30 --tokens 3 --entries 1000000";
const SIMPY: &str = "simpy==4.1.1";
const SEEDS: u64 = 9;
const ENTRIES: u64 = 20_000;
const WARMUP: u64 = 2_000;

pub(crate) fn run() -> Result<()> {
    crate::cargo("build --profile dist --package tokenwood-cli")?;
    speed()?;
    growth()?;
    against_simpy()
}

/// Prints messages per second without and with checks.
fn speed() -> Result<()> {
    println!("\n{MODEL} --rate 1, 30 nodes, 3 tokens, one core, {REPETITIONS} runs each:");
    for ((checks, aim), flags) in AIMS.into_iter().zip(["--no-check", ""]) {
        let mut rates = Vec::new();
        for _ in 0..REPETITIONS {
            rates.push(rate(&simulate(&format!("{SATURATED} {flags}"))?)?);
        }
        let (best, median) = best_and_median(&mut rates);
        let verdict = if best >= aim { "reached" } else { "missed" };
        println!(
            "  {checks}: {} million messages a second at best, {} in the median (aim {}: {verdict})",
            millions(best),
            millions(median),
            millions(aim)
        );
    }
    Ok(())
}

/// Prints the cost of a message with more and more nodes, ten for each token.
fn growth() -> Result<()> {
    println!("\nCost of a message with ten nodes for each token, checks off, best of 3:");
    let mut first = None;
    for nodes in [30u32, 100, 300, 1_000, 10_000] {
        let flags = format!(
            "--rate 1 --nodes {nodes} --tokens {} --entries 500000 --warmup {nodes} --no-check",
            nodes / 10
        );
        let mut rates = Vec::new();
        for _ in 0..3 {
            rates.push(rate(&simulate(&flags)?)?);
        }
        let nanoseconds = 1e9 / best_and_median(&mut rates).0;
        let log = f64::from(nodes).log2();
        let (cost_before, log_before) = *first.get_or_insert((nanoseconds, log));
        let (grown, allowed) = (nanoseconds / cost_before, log / log_before);
        let verdict = if grown <= allowed { "no faster" } else { "faster" };
        println!(
            "  {nodes:>6} nodes: {nanoseconds:>5.0} ns, {grown:.2} times the first; log n {allowed:.2} times: {verdict}"
        );
    }
    Ok(())
}

/// Runs both in turn, so that both meet the same machine, and compares each pair.
fn against_simpy() -> Result<()> {
    println!(
        "\nThe same model in SimPy, {SEEDS} runs of {ENTRIES} entries, each beside one here, checks off:"
    );
    let python = simpy()?;
    let (mut saturated, mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for seed in 1..=SEEDS {
        let run = in_simpy(&python, 1.0, seed)?;
        let here = rate(&simulate(&format!("{SATURATED} --no-check"))?)?;
        let there = run.delivered / run.seconds;
        ours.push(here);
        theirs.push(there);
        ratios.push(here / there);
        saturated.push(run);
    }
    let (_, ratio) = best_and_median(&mut ratios);
    let verdict = if ratio >= AIM_RATIO { "reached" } else { "missed" };
    println!(
        "  SimPy:     {} million messages a second in the median",
        millions(best_and_median(&mut theirs).1)
    );
    println!(
        "  tokenwood: {} million, {ratio:.0} times as many, from {:.0} to {:.0} (aim {AIM_RATIO:.0}: {verdict})",
        millions(best_and_median(&mut ours).1),
        ratios[0],
        ratios[ratios.len() - 1],
    );
    println!("Whether it is the same model:");
    compare(1.0, &saturated)?;
    let light: Result<Vec<Theirs>> = (1..=SEEDS).map(|seed| in_simpy(&python, 0.1, seed)).collect();
    compare(0.1, &light?)
}

/// A run in SimPy.
struct Theirs {
    wait: f64,
    messages: f64,
    delivered: f64,
    seconds: f64,
}

fn in_simpy(python: &Path, rate: f64, seed: u64) -> Result<Theirs> {
    let settings = json!({
        "nodes": 30, "tokens": 3, "rate": rate, "send": 0.1, "receive": 0.1, "transit": 0.8, "cs": 0.0002,
        "entries": ENTRIES, "warmup": WARMUP, "seed": seed,
    });
    let output = Command::new(python).arg("xtask/simpy/model.py").arg(settings.to_string()).output()?;
    if !output.status.success() {
        bail!("xtask/simpy/model.py: {}", String::from_utf8_lossy(&output.stderr));
    }
    let run: Value = serde_json::from_slice(&output.stdout)?;
    let number = |field: &str| run[field].as_f64().with_context(|| format!("model.py does not say {field}"));
    Ok(Theirs {
        wait: number("wait")?,
        messages: number("messages_per_entry")?,
        delivered: number("delivered")?,
        seconds: number("seconds")?,
    })
}

fn compare(rate: f64, theirs: &[Theirs]) -> Result<()> {
    let flags =
        format!("--nodes 30 --tokens 3 --entries {ENTRIES} --warmup {WARMUP} --seeds {SEEDS} --rate {rate}");
    let ours = simulate(&flags)?;
    let wait = (&ours["time_to_enter"]["mean"], &ours["time_to_enter"]["stderr"]);
    let messages = (&ours["messages_per_entry"], &ours["stderr"]["messages_per_entry"]);
    let of = |value: fn(&Theirs) -> f64| theirs.iter().map(value).collect::<Vec<_>>();
    agree(&format!("rate {rate}, wait"), wait, &of(|run| run.wait))?;
    agree(&format!("rate {rate}, messages per entry"), messages, &of(|run| run.messages))
}

/// Two means agree if they are at most four standard errors of their difference apart.
fn agree(what: &str, (mean, stderr): (&Value, &Value), theirs: &[f64]) -> Result<()> {
    let (mean, stderr) =
        mean.as_f64().zip(stderr.as_f64()).context("simulate does not say how good its means are")?;
    let count = theirs.len() as f64;
    let their_mean = theirs.iter().sum::<f64>() / count;
    let variance = theirs.iter().map(|value| (value - their_mean).powi(2)).sum::<f64>() / (count - 1.0);
    let their_stderr = (variance / count).sqrt();
    println!("  {what}: {mean:.4} ± {stderr:.4} here, {their_mean:.4} ± {their_stderr:.4} in SimPy");
    if (mean - their_mean).abs() > 4.0 * stderr.hypot(their_stderr) {
        bail!("{what} differs by more than chance: the two models are not the same");
    }
    Ok(())
}

/// Python with SimPy, in an environment of its own below the target folder.
fn simpy() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let environment = target.join("simpy");
    let python = environment.join("bin/python");
    if succeeds(&python, &["-c", "import simpy"]) {
        return Ok(python);
    }
    if !succeeds(Path::new("python3"), &["--version"]) {
        bail!("python3 is not there: install Python 3.8 or newer to compare with SimPy");
    }
    println!("  creating {} with {SIMPY} from PyPI", environment.display());
    let folder = environment.to_string_lossy();
    if !succeeds(Path::new("python3"), &["-m", "venv", &folder]) {
        bail!("python3 cannot create a virtual environment: install its venv module (python3-venv)");
    }
    if !succeeds(&python, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check", SIMPY]) {
        bail!("{SIMPY} cannot be installed: check that PyPI can be reached, then run this again");
    }
    Ok(python)
}

fn succeeds(program: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// One `tokenwood simulate` on one core.
fn simulate(flags: &str) -> Result<Value> {
    let all = format!(
        "run --profile dist --quiet --package tokenwood-cli -- simulate {MODEL} {flags} --format json"
    );
    let mut command = Command::new("cargo");
    let output = command.args(all.split_whitespace()).env("RAYON_NUM_THREADS", "1").output()?;
    if !output.status.success() {
        bail!("cargo {all}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn rate(found: &Value) -> Result<f64> {
    let (messages, seconds) = (found["messages"].as_f64(), found["seconds"].as_f64());
    messages
        .zip(seconds)
        .map(|(messages, seconds)| messages / seconds)
        .context("simulate does not say how long it took")
}

fn best_and_median(values: &mut [f64]) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() - 1], values[values.len() / 2])
}

fn millions(number: f64) -> String {
    format!("{:.3}", number / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_and_median_of_runs() {
        assert_eq!(best_and_median(&mut [3.0, 1.0, 5.0, 2.0, 4.0]), (5.0, 3.0));
        assert_eq!(best_and_median(&mut [7.0]), (7.0, 7.0));
    }

    #[test]
    fn means_that_differ_are_noticed() {
        let (mean, stderr) = (json!(9.0), json!(0.01));
        assert!(agree("wait", (&mean, &stderr), &[8.98, 9.0, 9.03]).is_ok());
        assert!(agree("wait", (&mean, &stderr), &[9.98, 10.0, 10.03]).is_err());
    }
}
