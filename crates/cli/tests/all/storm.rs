//! A short storm over real processes, and the commands that measure.

use std::process::Command;

use serde_json::Value;

use crate::json_schema::document;

fn tokenwood(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_tokenwood")).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.starts_with('{'), "not JSON: {text}\n{said}");
    (output.status.code(), document(text))
}

/// The long form is `tokenwood storm`: 100 clients over 5 nodes for a minute.
#[test]
fn locks_hold_in_a_storm() {
    let (code, told) = tokenwood(&[
        "storm",
        "--nodes",
        "3",
        "--clients",
        "40",
        "--time",
        "6s",
        "--ttl",
        "2s",
        "--format",
        "json",
    ]);
    assert_eq!(told["schema"], "tokenwood.storm/1");
    assert_eq!(told["wrong"], Value::Array(Vec::new()), "{told}");
    assert_eq!(code, Some(0));
    for happened in ["stays", "granted", "refused", "given_up", "killed", "cut"] {
        assert!(told[happened].as_u64().unwrap() > 0, "there was no '{happened}': {told}");
    }
}

#[test]
fn what_was_measured_can_be_saved_and_compared() {
    let folder = std::env::temp_dir().join(format!("tokenwood-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("before.json");
    let file = file.to_str().unwrap();
    let quick = ["bench", "own-lock", "--rounds", "2", "--time", "50ms"];
    let (code, told) = tokenwood(&[&quick[..], &["--save", file, "--format", "json", "--strict"]].concat());
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(told["scenarios"][0]["scenario"], "own-lock");
    let compared = Command::new(env!("CARGO_BIN_EXE_tokenwood"))
        .args([&quick[..], &["--compare", file]].concat())
        .output()
        .unwrap();
    let text = String::from_utf8(compared.stdout).unwrap();
    assert!(text.contains("before") && text.contains("messages per entry"), "{text}");
    std::fs::remove_dir_all(&folder).unwrap();
}
