//! Short ordeals of real nodes. The long form is `tokenwood ordeal`.

use std::process::Command;
use std::sync::Mutex;

use crate::folder::not_run;
use crate::json_schema::document;
use serde_json::Value;
use sync::IgnorePoison;

/// One after the other, so that they do not slow each other down.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn ordeal(scenarios: &[&str], settings: &[&str]) -> (Option<i32>, Value) {
    let _alone = ONE_AT_A_TIME.lock().ignore_poison();
    let output = Command::new(env!("CARGO_BIN_EXE_tokenwood"))
        .arg("ordeal")
        .args(scenarios)
        .args(["--seconds", "3", "--format", "json"])
        .args(settings)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with('{'), "not JSON: {text}\n{said}");
    let told = document(&text);
    assert_eq!(told["schema"], "tokenwood.ordeal/1");
    (output.status.code(), told)
}

/// What a scenario counted. If it could not be run here, that is said plainly.
fn clean<'a>(told: &'a Value, scenario: &str) -> Option<&'a Value> {
    let all = told["scenarios"].as_array().unwrap();
    let found = all.iter().find(|each| each["scenario"] == scenario).unwrap();
    assert_eq!(found["wrong"], Value::Array(Vec::new()), "{found:#}");
    if let Some(why) = found["not_run"].as_str() {
        not_run(&format!("'{scenario}' cannot be run here: {why}"));
        return None;
    }
    assert!(found["counted"]["grants"].as_u64().unwrap() > 0, "{found:#}");
    Some(&found["counted"])
}

#[test]
fn locks_hold_when_nodes_and_clients_are_killed_stopped_and_cut_off() {
    let scenarios = ["holder", "commands", "kills", "pauses", "attack", "partitions", "majority"];
    let (code, told) = ordeal(&scenarios, &["--nodes", "3"]);
    let run = scenarios.map(|scenario| clean(&told, scenario).is_some());
    assert_eq!(code, Some(if run.contains(&false) { 3 } else { 0 }), "{told:#}");
    let attack = clean(&told, "attack").unwrap();
    assert!(attack["too_late_for_the_store"].as_u64().unwrap() > 0, "no write came too late: {attack}");
    assert!(attack["lost_updates_without_fences"].as_u64().unwrap() > 0, "the attack does nothing: {attack}");
}

/// With leases that outlast what other tests do to this machine; if they do not, the scenario says so itself.
#[test]
fn the_ca_is_replaced_under_load_and_a_node_without_the_new_files_is_excluded() {
    let (code, told) = ordeal(&["rotation"], &["--nodes", "3", "--lease", "3s"]);
    let rotation = &told["scenarios"][0];
    assert_eq!(rotation["wrong"], Value::Array(Vec::new()), "{rotation:#}");
    match rotation["not_run"].as_str() {
        Some(why) => eprintln!("rotation: {why}"),
        None => assert_eq!(code, Some(0)),
    }
    let counted = &rotation["counted"];
    assert_eq!(counted["excluded_without_new_files"], 1);
    for what in ["grants", "rotations", "cut_between_nodes", "cut_from_clients"] {
        assert!(counted[what].as_u64().unwrap() > 0, "no {what}: {counted:#}");
    }
}

/// With leases that outlast what other tests do to this machine.
#[test]
fn a_crowd_at_a_door_is_served_and_clients_that_hang_up_leave_nothing_behind() {
    let (code, told) = ordeal(&["doors"], &["--nodes", "3", "--lease", "3s"]);
    let doors = &told["scenarios"][0];
    assert_eq!((code, &doors["wrong"]), (Some(0), &Value::Array(Vec::new())), "{doors:#}");
    assert_eq!((&doors["counted"]["served"], &doors["counted"]["hung_up"]), (&300.into(), &300.into()));
}

/// With fewer of them than `tokenwood ordeal strangers` has. How long friends wait, and whether a watcher missed anything, is told
/// and not demanded: other tests run beside it.
#[test]
fn strangers_break_no_lock_and_leave_nothing_behind() {
    let (_, told) = ordeal(&["strangers"], &[]);
    let strangers = &told["scenarios"][0];
    let is_about_times = |wrong: &&Value| {
        let wrong = wrong.as_str().unwrap();
        wrong.starts_with("a friend waited")
            || wrong.starts_with("a suspended watcher missed 0 events, ended well: true")
    };
    let (times, wrong): (Vec<_>, Vec<_>) =
        strangers["wrong"].as_array().unwrap().iter().partition(is_about_times);
    assert!(wrong.is_empty(), "{strangers:#}");
    times.iter().for_each(|time| eprintln!("strangers: {time}"));
    let counted = &strangers["counted"];
    for what in ["grants", "absurd_visits", "idle_connections", "pages", "slow_hellos", "most_waiters"] {
        assert!(counted[what].as_u64().unwrap() > 100, "too few {what}: {counted:#}");
    }
}

#[test]
fn what_cannot_be_run_is_said() {
    let (code, told) = ordeal(&["partitions"], &["--outside"]);
    assert_eq!(code, Some(3));
    assert!(told["scenarios"][0]["not_run"].is_string(), "{told}");
}
