//! Tasks for the repository itself: `cargo xtask test` checks everything and changes nothing, `cargo xtask
//! fix` applies automatic fixes.

#![forbid(unsafe_code)]

mod badges;
mod bench_simulator;
mod bounded;
mod browser;
mod dependencies;
mod needs;
mod pages;
mod python;
mod tidy;

use std::num::NonZero;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

const HELP: &str = "\
cargo xtask test       format, lints, tidiness, tests, documentation, dependencies and licences: everything, read-only
cargo xtask fix        format and mend lints
cargo xtask rewrite    write transcripts, badges, docs/errata.md, docs/openapi.json, the gallery, the answers in
                       docs/player.md, the list in docs/checked.md and the tables in docs/json.md anew;
                       commit a difference only if you can explain it
cargo xtask tidy       only the house rules
cargo xtask python     only the Python client
cargo xtask browser    only the page, in a real browser
cargo xtask screenshots
                       make the pictures of the page in docs/images anew
cargo xtask schemathesis
                       only generated requests to the HTTP door of a cluster
cargo xtask licences   only dependencies and licences
cargo xtask needs      what tests need beyond Rust: install it if that may be done, and say what is missing
cargo xtask bench-simulator
                       messages per second, growth with the number of nodes, and the same model in SimPy
";

fn main() -> ExitCode {
    match run_task() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run_task() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("test") => test(),
        Some("fix") => {
            cargo("clippy --workspace --all-targets --fix --allow-dirty --allow-staged")?;
            cargo("fmt --all")
        }
        Some("rewrite") => rewrite(),
        Some("tidy") => tidy::check(),
        Some("python") => python::test(),
        Some("browser") => browser::test(),
        Some("screenshots") => browser::screenshots(),
        Some("schemathesis") => python::try_the_door(),
        Some("licences") => dependencies::check(),
        Some("needs") => needs::provide(),
        Some("bench-simulator") => bench_simulator::run(),
        _ => {
            print!("{HELP}");
            Ok(())
        }
    }
}

fn test() -> Result<()> {
    let started = Instant::now();
    step("format", || cargo("fmt --all --check"))?;
    step("house rules", tidy::check)?;
    step("dependencies and licences", dependencies::check)?;
    step("advisories", dependencies::advisories)?;
    step("lints", || cargo("clippy --workspace --all-targets --quiet -- --deny warnings"))?;
    step("what tests need beyond Rust", needs::provide)?;
    step("compiling the tests", || run(&mut cargo_test("--no-run")))?;
    step("tests and documentation", tests_and_documentation)?;
    step("Python, a browser and generated requests", other_programs)?;
    step("purity", pure_targets)?;
    println!("\nAll passed in {} s.", started.elapsed().as_secs());
    Ok(())
}

/// Runs the tests, and writes the documentation meanwhile: most tests wait for sockets and processes.
fn tests_and_documentation() -> Result<()> {
    let mut document = Command::new("cargo");
    document
        .args(["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"])
        .env("RUSTDOCFLAGS", "--deny warnings");
    thread::scope(|threads| {
        let documented = threads.spawn(|| run(&mut document).context("documentation failed"));
        let tested = bounded::run(&mut cargo_test("--no-fail-fast"));
        tested.and(documented.join().expect("it does not panic"))
    })
}

/// Programs that are not Rust, side by side: each has nodes of its own, and mostly waits for them.
fn other_programs() -> Result<()> {
    type Task = (&'static str, fn() -> Result<()>);
    let all: [Task; 3] = [
        ("the Python client", python::test),
        ("the page in a browser", browser::test),
        ("generated requests to the HTTP door", python::try_the_door),
    ];
    thread::scope(|threads| {
        let begun =
            all.map(|(name, work)| threads.spawn(move || work().with_context(|| format!("{name} failed"))));
        let ended = begun.map(|thread| thread.join().expect("it does not panic"));
        ended.into_iter().collect()
    })
}

/// `cargo test` for everything, with more tests at once than there are processors, because most of them wait. What
/// speeds up the next compilation is not kept where there is none.
fn cargo_test(flag: &str) -> Command {
    let processors = thread::available_parallelism().map_or(2, NonZero::get);
    let mut command = bounded::with_usual_signals("cargo");
    command.args(["test", "--workspace", "--quiet", flag]);
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        command.env("RUST_TEST_THREADS", (2 * processors).to_string());
    }
    if under_ci() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Whether this runs unattended, on a clone that is thrown away.
fn under_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("\n== {name}");
    let started = Instant::now();
    work().with_context(|| format!("{name} failed"))?;
    println!("== {name}: ok, {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Builds the algorithms for targets without an operating system, where the compiler supports that.
fn pure_targets() -> Result<()> {
    let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
    let installed =
        installed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    for target in ["thumbv7em-none-eabi", "wasm32-unknown-unknown"] {
        if installed.lines().any(|line| line == target) {
            cargo(&format!("build --quiet --package tokenwood-algorithms --target {target}"))?;
        } else {
            println!("target {target} is not installed: not built for it (the crate is no_std in any case)");
        }
    }
    Ok(())
}

fn rewrite() -> Result<()> {
    badges::write()?;
    for test in [
        "test --quiet --package tokenwood-algorithms transcripts",
        "test --quiet --package tokenwood-cli errata",
        // The gallery has the runs of the errata, so it comes after them.
        "test --quiet --package tokenwood-player --test all the_gallery",
        "test --quiet --package tokenwood-player --test all the_page",
        "test --quiet --package tokenwood-cli --test all json_page_has",
        "test --quiet --package tokenwood-checker --test all standard_suite",
        "test --quiet --package tokenwood-service --test all wire_page",
        "test --quiet --package tokenwood-http --lib the_file_has",
    ] {
        run(Command::new("cargo").args(test.split(' ')).env("TOKENWOOD_REWRITE", "1"))?;
    }
    Ok(())
}

fn cargo(arguments: &str) -> Result<()> {
    run(Command::new("cargo").args(arguments.split(' ')))
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}
