//! `tokenwood recommend` as a user meets it.

use std::process::{Command, Output};

use serde_json::Value;

fn recommend(arguments: &str, threads: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tokenwood"))
        .arg("recommend")
        .args(arguments.split_whitespace())
        .env("RAYON_NUM_THREADS", threads)
        .current_dir(std::env::temp_dir())
        .output()
        .unwrap()
}

fn json(arguments: &str) -> Value {
    let output = recommend(&format!("{arguments} --format json"), "1");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn ranking(found: &Value) -> &Vec<Value> {
    found["ranking"].as_array().unwrap()
}

fn label(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn of<'a>(found: &'a Value, wanted: &str) -> &'a Value {
    ranking(found).iter().find(|one| label(&one["label"]) == wanted).unwrap()
}

const QUICK: &str = "--entries 500 --warmup 50 --seeds 2";

#[test]
fn light_load_one_token() {
    let found = json(&format!(
        "--nodes 16 --tokens 1 --rate 0.001 --cs 0.01 --transit 1 --send 0 --receive 0 {QUICK}"
    ));
    // A star takes three messages at most; permissions take two hops and very many.
    assert_eq!(found["fewest_messages"], "neilsen-mizuno shape=star");
    assert_eq!(found["recommended"], ranking(&found)[0]["label"]);
    assert_eq!(ranking(&found)[0]["on_front"], true);
    assert!(of(&found, "lamport")["on_front"] == false);
    assert!((of(&found, "ricart-agrawala")["time_to_enter"]["mean"].as_f64().unwrap() - 2.0).abs() < 0.1);
    let scores: Vec<f64> = ranking(&found).iter().map(|one| one["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted() && scores.len() > 15);
}

#[test]
fn heavy_load_several_tokens() {
    let found = json(&format!("--nodes 24 --tokens 4 --rate 10 --cs 0.01 --transit 0.8 {QUICK}"));
    let last_seen = of(&found, "bulgannawar-vaidya choose=last-seen");
    assert!((last_seen["messages_per_entry"].as_f64().unwrap() - 2.0).abs() < 0.05);
    let best = of(&found, label(&found["recommended"]));
    let dearest = of(&found, "raymond-k");
    for measure in ["messages_per_entry", "words_per_entry"] {
        assert!(best[measure].as_f64() < dearest[measure].as_f64());
    }
    assert!(best["time_to_enter"]["mean"].as_f64() < of(&found, "makki")["time_to_enter"]["mean"].as_f64());
    assert!(ranking(&found).iter().any(|one| label(&one["algorithm"]) == "partitioned(naimi-trehel)"));
}

#[test]
fn json_has_what_scripts_need() {
    let found = json(&format!("--nodes 6 --tokens 2 --rate 1 {QUICK}"));
    for key in ["nodes", "tokens", "groups", "rate", "cs", "transit", "delay", "seeds", "reason", "seconds"] {
        assert!(!found[key].is_null(), "{key}");
    }
    for one in ranking(&found) {
        for key in ["algorithm", "options", "label", "score", "on_front", "longest_wait", "entries"] {
            assert!(!one[key].is_null(), "{key}");
        }
        for key in ["messages_per_entry", "words_per_entry", "fairness"] {
            assert!(one[key].is_f64(), "{key}");
        }
        for key in ["mean", "stderr", "p50", "p99", "max"] {
            assert!(one["time_to_enter"][key].is_f64(), "{key}");
        }
        assert!(one["needs"]["fifo"].is_string() && one["needs"]["tolerates_loss"].is_boolean());
    }
}

#[test]
fn the_same_on_every_run_and_any_number_of_threads() {
    let run = |threads: &str, seed: u32| {
        let arguments = format!("--nodes 9 --tokens 3 --rate 1 --seed {seed} --format json {QUICK}");
        let mut found: Value = serde_json::from_slice(&recommend(&arguments, threads).stdout).unwrap();
        found["seconds"] = Value::Null;
        found
    };
    assert_eq!(run("1", 1), run("3", 1));
    assert_ne!(run("1", 1), run("1", 2));
}

#[test]
fn what_cannot_be_used_is_listed_with_its_reason() {
    let found = json(&format!("--nodes 8 --tokens 2 --rate 1 --delay exponential --order any {QUICK}"));
    let reason = |algorithm: &str| {
        let refused = found["refused"].as_array().unwrap();
        label(&refused.iter().find(|one| one["algorithm"] == algorithm).unwrap()["reason"]).to_string()
    };
    assert!(reason("makki").contains("constant times"));
    assert!(reason("bulgannawar-vaidya").contains("in order"));
    assert!(ranking(&found).iter().all(|one| label(&one["algorithm"]) != "bulgannawar-vaidya"));
    // Nothing but the group mutex survives losses.
    let found = json(&format!("--nodes 6 --groups 2 --loss 0.01 {QUICK}"));
    assert_eq!(found["recommended"], "drs-gme");
    let output = recommend(&format!("--nodes 6 --tokens 2 --loss 0.01 {QUICK}"), "1");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("does not survive the loss of messages"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no algorithm fits"));
}

#[test]
fn a_table_for_people() {
    let output = recommend(&format!("--nodes 6 --tokens 2 --rate 1 {QUICK}"), "1");
    let text = String::from_utf8_lossy(&output.stdout);
    for wanted in
        ["algorithm", "needs", "no loss", "Shortest wait: ", "Fewest messages: ", "Recommended: ", "1*"]
    {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(output.stderr.is_empty());
}

#[test]
fn it_says_where_on_the_map_the_load_is() {
    let found = json(&format!("--nodes 6 --tokens 2 --rate 0.05 --cs 2 --transit 1.8 {QUICK}"));
    // A hop is 2, so it asks once in ten hops and stays for one.
    assert_eq!((found["map"]["rate"].as_f64(), found["map"]["section"].as_f64()), (Some(0.1), Some(1.0)));
    for measure in ["wait", "messages", "fairness"] {
        let best = &found["map"]["best"][measure];
        assert!(best["best"].is_string() && best["margin"].is_string(), "{best}");
    }
    let command = found["map"]["command"].as_str().unwrap();
    assert!(command.starts_with("tokenwood map --nodes 6 --tokens 2 --delays constant"), "{command}");
    let text = |arguments: &str| {
        let output = recommend(&format!("--nodes 6 --rate 0.1 {arguments} {QUICK}"), "1");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let shown = text("--tokens 2 --delay uniform");
    for wanted in ["nearest cell is λ = 0.1, sections of 0 (in hops)", "  messages  ", "--delays uniform"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    assert!(text("--groups 2").contains("On no map: it has groups"));
    assert!(text("--tokens 2 --workload burst").contains("On no map: its workload"));
}

#[test]
fn bad_input_gets_one_clear_line_and_2() {
    let cases = [
        ("--rate 0", "rate must be between"),
        ("--rate -1", "rate must be between"),
        ("--nodes 3 --tokens 4", "between 1 and the number of nodes (3)"),
        ("--nodes 0", "at least one node"),
        ("--transit -1", "transit must be a time of at least 0"),
        ("--cs -0.5", "cs must be a time of at least 0"),
        ("--send -0.5", "send must be a time of at least 0"),
        ("--groups 0", "groups must be between 1"),
        ("--groups 3 --tokens 2", "tokens must be 1"),
        ("--seeds 0", "at least one seed"),
        ("--entries 0", "entries and warmup must be between 1"),
        ("--delay slow", "is none of constant"),
        ("--choose last-seen", "leave out choose"),
        ("--defect inform-always", "leave out defect"),
        ("--set shape=star", "leave out shape"),
        ("--rate fast", "takes a number"),
    ];
    for (arguments, wanted) in cases {
        let output = recommend(arguments, "1");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(error.contains(wanted), "{arguments}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{arguments}: {error}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}
