//! Short ordeals of real nodes. The long form is `tokenwood ordeal`.

use std::process::Command;

use serde_json::Value;

fn ordeal(scenarios: &[&str], settings: &[&str]) -> (Option<i32>, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_tokenwood"))
        .arg("ordeal")
        .args(scenarios)
        .args(["--seconds", "3", "--format", "json"])
        .args(settings)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8(output.stdout).unwrap();
    let told = serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}\n{said}"));
    (output.status.code(), told)
}

/// What a scenario counted. If it could not be run here, that is said plainly.
fn clean<'a>(told: &'a Value, scenario: &str) -> Option<&'a Value> {
    let all = told["scenarios"].as_array().unwrap();
    let found = all.iter().find(|each| each["scenario"] == scenario).unwrap();
    assert_eq!(found["wrong"], Value::Array(Vec::new()), "{found:#}");
    if let Some(why) = found["not_run"].as_str() {
        eprintln!("'{scenario}' could not be run here: {why}");
        return None;
    }
    assert!(found["counted"]["grants"].as_u64().unwrap() > 0, "{found:#}");
    Some(&found["counted"])
}

#[test]
fn locks_hold_when_nodes_are_killed_stopped_and_cut_off() {
    let scenarios = ["holder", "kills", "pauses", "partitions", "majority"];
    let (code, told) = ordeal(&scenarios, &["--nodes", "3"]);
    let run = scenarios.map(|scenario| clean(&told, scenario).is_some());
    assert_eq!(code, Some(if run.contains(&false) { 3 } else { 0 }), "{told:#}");
}

#[test]
fn whoever_was_stopped_overwrites_nothing_where_fences_are_checked() {
    let (code, told) = ordeal(&["attack"], &["--nodes", "3"]);
    let counted = clean(&told, "attack").unwrap();
    assert_eq!(counted["lost_updates"], 0);
    assert!(counted["too_late_for_the_store"].as_u64().unwrap() > 0, "nobody came too late: {told:#}");
    assert_eq!(code, Some(0));
}

#[test]
fn what_cannot_be_run_is_said() {
    let (code, told) = ordeal(&["partitions"], &["--outside"]);
    assert_eq!(code, Some(3));
    assert!(told["scenarios"][0]["not_run"].is_string(), "{told}");
}
