//! What runs in Python, each in an environment of its own below `target`: the tests of the Python client, and schemathesis, which tries
//! the HTTP door.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{run, under_ci};

/// Where the client is.
const CLIENT: &str = "clients/python";
/// The oldest Python that the client works with.
const OLDEST: &str = "import sys; sys.exit(sys.version_info < (3, 10))";

/// What tries the HTTP door, and where what it is told is. Another version would generate other requests from the same seed.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";
const CONFIGURATION: &str = "crates/http/tests/schemathesis";
/// A run takes about 20 s; one that takes longer than this hangs.
const LONGEST_RUN: Duration = Duration::from_secs(120);
/// A cluster is ready within this time.
const LONGEST_START: Duration = Duration::from_secs(60);

/// Checks and tests the client, if there is a Python that can. Otherwise says what is not run; in CI that is a failure.
pub(crate) fn test() -> Result<()> {
    let Some(bin) = environment(
        "target/python",
        "pytest",
        &["--editable", &format!("{CLIENT}[test]")],
        "the Python client is not tested",
    )?
    else {
        return Ok(());
    };
    let python = bin.join("python");
    run(Command::new(&python).args(["-m", "mypy", "--strict", "src"]).current_dir(CLIENT))?;
    run(Command::new(&python)
        .args(["-m", "pytest", "--quiet"])
        .env("TOKENWOOD_PROGRAM", program()?)
        .current_dir(CLIENT))
}

/// Has schemathesis try the HTTP door of a real cluster, with requests that it makes from `/openapi.json`.
pub(crate) fn try_the_door() -> Result<()> {
    let Some(bin) =
        environment("target/schemathesis", "st", &[SCHEMATHESIS], "no generated requests try the HTTP door")?
    else {
        return Ok(());
    };
    let cluster = Cluster::start()?;
    let configuration = Path::new(CONFIGURATION).canonicalize().context("there is no configuration")?;
    let mut tried = Command::new(bin.join("st"));
    tried.arg("--config-file").arg(configuration.join("schemathesis.toml"));
    tried.args(["run", &format!("http://{}/openapi.json", cluster.http)]);
    // Its hooks are a module in the folder of the configuration; what it writes is not wanted there.
    tried.env("PYTHONPATH", configuration).env("PYTHONDONTWRITEBYTECODE", "1").current_dir("target");
    let mut tried = tried.spawn().context("cannot start schemathesis")?;
    match wait(&mut tried, LONGEST_RUN)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("schemathesis found something at the HTTP door ({status})"),
        None => {
            tried.kill()?;
            tried.wait()?;
            bail!("schemathesis did not end within {} s", LONGEST_RUN.as_secs())
        }
    }
}

/// A cluster of `tokenwood dev` that ends with this value.
struct Cluster {
    dev: Child,
    /// Where its first node speaks HTTP.
    http: String,
}

impl Cluster {
    fn start() -> Result<Cluster> {
        let ready = Path::new("target").join(format!("schemathesis-{}.json", std::process::id()));
        let mut dev = Command::new(program()?);
        dev.args(["dev", "--nodes", "2", "--ready-file"]).arg(&ready).stdout(Stdio::null());
        let mut cluster =
            Cluster { dev: dev.spawn().context("cannot start a cluster")?, http: String::new() };
        let begun = Instant::now();
        while !ready.exists() {
            if begun.elapsed() > LONGEST_START || cluster.dev.try_wait()?.is_some() {
                bail!("the cluster is not ready");
            }
            sleep(Duration::from_millis(50));
        }
        let facts: Value = serde_json::from_slice(&fs::read(&ready)?)?;
        fs::remove_file(&ready)?;
        cluster.http = facts["nodes"][0]["http"].as_str().context("the node has no HTTP door")?.to_string();
        Ok(cluster)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Its nodes are in its own process.
        _ = self.dev.kill();
        _ = self.dev.wait();
    }
}

/// How a process ended, if it did in time.
fn wait(process: &mut Child, longest: Duration) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    while begun.elapsed() < longest {
        if let Some(status) = process.try_wait()? {
            return Ok(Some(status));
        }
        sleep(Duration::from_millis(50));
    }
    Ok(None)
}

fn program() -> Result<PathBuf> {
    Path::new("target/debug/tokenwood").canonicalize().context("the program is not built")
}

/// The programs of an environment with what is to be installed, made if this program is not there. `None` if it cannot be. Each
/// has its own: what one brings would change what the other does.
fn environment(folder: &str, program: &str, install: &[&str], without: &str) -> Result<Option<PathBuf>> {
    let python = Command::new("python3").args(["-c", OLDEST]).output();
    if !python.is_ok_and(|output| output.status.success()) {
        return not_run(without, "there is no Python 3.10 or newer");
    }
    let bin = Path::new(folder).join("bin");
    if !bin.join(program).exists() {
        let made = run(Command::new("python3").args(["-m", "venv", folder])).and_then(|()| {
            run(Command::new(bin.join("python")).args(["-m", "pip", "install", "--quiet"]).args(install))
        });
        if let Err(error) = made {
            return not_run(without, &format!("what this needs cannot be installed: {error:#}"));
        }
    }
    bin.canonicalize().context("the environment of Python is not there").map(Some)
}

fn not_run(without: &str, why: &str) -> Result<Option<PathBuf>> {
    if under_ci() {
        bail!("{without}: {why}");
    }
    println!("NOT RUN: {without}: {why}");
    Ok(None)
}
