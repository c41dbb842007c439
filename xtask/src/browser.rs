//! The page in a real browser: its tests, and the pictures of the documentation. What drives the browser is installed below
//! `target`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{run, under_ci};

/// Where the tests are, and where what they need is installed.
const TESTS: &str = "crates/page/tests/browser";
const MODULES: &str = "target/browser";
const CHROMIUM: &str = "/usr/bin/chromium";
/// The oldest Node.js that the tests run with.
const OLDEST: &str = "process.exit(Number(process.versions.node.split('.')[0]) < 18 ? 1 : 0)";

/// Tests the page, if there is a browser. Otherwise says what is not run; in CI that is a failure.
pub(crate) fn test() -> Result<()> {
    match prepare()? {
        Ok(modules) => run(node(&modules)?.args([
            "--test",
            "--test-concurrency=1",
            "live.mjs",
            "watching.mjs",
            "player.mjs",
            "sharing.mjs",
            "gallery.mjs",
            "recording.mjs",
        ])),
        Err(why) if under_ci() => bail!("the page is not tested: {why}"),
        Err(why) => {
            println!("NOT RUN: the page is not tested: {why}");
            Ok(())
        }
    }
}

/// Makes the pictures of the documentation anew.
pub(crate) fn screenshots() -> Result<()> {
    match prepare()? {
        Ok(modules) => {
            let folder = Path::new("docs/images").canonicalize()?;
            run(node(&modules)?.arg("screenshots.mjs").arg(folder))
        }
        Err(why) => bail!("no pictures: {why}"),
    }
}

/// Installs what drives the browser. Returns where, or what is missing.
fn prepare() -> Result<Result<PathBuf, String>> {
    let node = Command::new("node").args(["-e", OLDEST]).output();
    if !node.is_ok_and(|output| output.status.success()) {
        return Ok(Err("there is no Node.js 18 or newer".into()));
    }
    if !Path::new(CHROMIUM).exists() {
        return Ok(Err(format!("there is no {CHROMIUM}")));
    }
    let (wanted, installed) =
        (Path::new(TESTS).join("package.json"), Path::new(MODULES).join("package.json"));
    let text = fs::read_to_string(&wanted)?;
    // The list is copied last, so that what is half installed is installed again.
    if fs::read_to_string(&installed).is_ok_and(|had| had == text) {
        return Ok(Ok(Path::new(MODULES).canonicalize()?));
    }
    fs::create_dir_all(MODULES)?;
    let packages: Vec<String> = packages(&text);
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--prefix",
        MODULES,
        "--no-save",
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
        "--silent",
    ]);
    if let Err(error) = run(npm.args(&packages)) {
        return Ok(Err(format!("what drives the browser cannot be installed: {error:#}")));
    }
    fs::write(&installed, text)?;
    Ok(Ok(Path::new(MODULES).canonicalize()?))
}

/// The packages of the list with their versions, as npm takes them.
fn packages(list: &str) -> Vec<String> {
    let inside =
        list.split("\"dependencies\": {").nth(1).and_then(|rest| rest.split('}').next()).unwrap_or_default();
    let quoted: Vec<&str> = inside.split('"').skip(1).step_by(2).collect();
    quoted.chunks_exact(2).map(|pair| format!("{}@{}", pair[0], pair[1])).collect()
}

fn node(modules: &Path) -> Result<Command> {
    let program = Path::new("target/debug/tokenwood").canonicalize().context("the program is not built")?;
    let mut command = Command::new("node");
    command
        .current_dir(TESTS)
        .env("TOKENWOOD_PROGRAM", program)
        .env("TOKENWOOD_MODULES", modules)
        .env("CHROMIUM", CHROMIUM);
    Ok(command)
}
