//! `docs/errata.md` says what the defects really do.

use std::path::Path;
use std::process::Command;

use algorithms::registry;
use simulator::random::standard;

/// The numbers in words that no other test knows of.
#[test]
fn checked_says_how_many_runs_and_defects_there_are() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/checked.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let jobs = registry::ALL.iter().map(|info| standard(info).len() as u64);
    let runs: u64 = jobs.map(|jobs| 10_000_u64.div_ceil(jobs) * jobs).sum();
    let wanted = format!(": {},{:03} runs, no violation", runs / 1000, runs % 1000);
    assert!(page.contains(&wanted), "docs/checked.md lacks '{wanted}'");
    let defects: usize = registry::ALL.iter().map(|info| info.defects.len()).sum();
    assert!(page.contains(&format!("finds all {defects},")), "docs/checked.md: there are {defects} defects");
}

#[test]
fn errata_are_what_the_checker_finds() {
    let output = Command::new(env!("CARGO_BIN_EXE_tokenwood")).arg("errata").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = String::from_utf8(output.stdout).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errata.md");
    if std::env::var_os("TOKENWOOD_REWRITE").is_some() {
        std::fs::write(&file, found).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&file).unwrap();
    for (number, (found, written)) in (1..).zip(found.lines().zip(written.lines())) {
        assert_eq!(found, written, "docs/errata.md line {number}: 'cargo xtask rewrite' writes it anew");
    }
    assert_eq!(found.lines().count(), written.lines().count(), "'cargo xtask rewrite' writes it anew");
}
