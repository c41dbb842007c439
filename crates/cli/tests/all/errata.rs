//! `docs/errata.md` says what the defects really do.

use std::path::Path;
use std::process::Command;

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
