//! `tokenwood recommend` as a user meets it.

use std::process::{Command, Output};

use serde_json::Value;

use crate::json_schema::document;

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
    document(&output.stdout)
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

/// The algorithm whose tree has the links of the network sends over one link each time.
#[test]
fn the_best_depends_on_the_network() {
    let light =
        format!("--nodes 16 --tokens 1 --rate 0.0005 --cs 0.01 --transit 1 --send 0 --receive 0 {QUICK}");
    let (full, line) = (json(&light), json(&format!("{light} --topology line")));
    let wait = |found: &Value, label: &str| of(found, label)["time_to_enter"]["mean"].as_f64().unwrap();
    assert_eq!(
        wait(&full, "raymond-tree shape=star"),
        wait(&json(&format!("{light} --topology star")), "raymond-tree shape=star")
    );
    assert!(wait(&line, "raymond-tree shape=line") < wait(&line, "naimi-trehel"));
    assert!(wait(&full, "naimi-trehel") < wait(&line, "naimi-trehel"));
    assert_eq!((&line["topology"], &line["hop"]), (&Value::from("line"), &Value::from(1.0)));
}

/// Latencies from a file, slow nodes and multicast are for `recommend`, too, and it says so.
#[test]
fn everything_about_the_network_is_taken() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/latencies/three-regions.csv");
    let load = format!("--nodes 9 --tokens 3 --rate 0.001 --cs 5 {QUICK}");
    let found = json(&format!("{load} --latencies {file} --slow 0:3 --multicast on"));
    assert_eq!(
        found["latencies"],
        "one-way,east,west,overseas;east,0.5,30,45;west,30,0.5,75;overseas,45,75,0.5"
    );
    // Each node has two neighbours at 0.5, and the means of the other pairs are 30, 45 and 75.
    let hop = 0.2 + (2.0 * 0.5 + 6.0 * (30.0 + 45.0 + 75.0) / 3.0) / 8.0;
    assert!((found["hop"].as_f64().unwrap() - hop).abs() < 1e-9, "{}", found["hop"]);
    assert_eq!((&found["slow"], &found["multicast"]), (&Value::from("0-0:3"), &Value::from(true)));
    // What needs no message to another site is quicker than what does.
    let within = of(&found, "partitioned(naimi-trehel)")["time_to_enter"]["mean"].as_f64();
    assert!(within < of(&found, "forest")["time_to_enter"]["mean"].as_f64());
    let table = recommend(&format!("{load} --latencies {file} --slow 0:3 --multicast on"), "1");
    let table = String::from_utf8_lossy(&table.stdout);
    assert!(table.contains("a hop of 37.825, 3 sites (blocks), multicast, slow 0-0:3"), "{table}");
}

#[test]
fn the_same_on_every_run_and_any_number_of_threads() {
    let run = |threads: &str, seed: u32| {
        let arguments = format!("--nodes 9 --tokens 3 --rate 1 --seed {seed} --format json {QUICK}");
        let mut found = document(&recommend(&arguments, threads).stdout);
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
fn what_it_needs_depends_on_its_options() {
    let found = json(&format!("--nodes 6 --tokens 2 --rate 1 {QUICK}"));
    let timing = |label| of(&found, label)["needs"]["timing"].clone();
    assert_eq!(timing("makki"), "bounded delay, constant sections");
    assert_eq!(timing("makki release=queue"), "nothing");
    assert_eq!(timing("makki release=queue token=straight"), "nothing");
}

/// A chain is tried on a line. It is good at light load, so the text says what another load does to it.
#[test]
fn what_is_not_fair_under_load_is_listed_with_a_warning() {
    let load = format!("--nodes 4 --tokens 1 --rate 0.001 --cs 0.01 {QUICK}");
    let table = |network: &str| {
        let output = recommend(&format!("{load} {network}"), "1");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let line = table("--topology line");
    let warning =
        "\nhelary behaviour=proxy tree=chain: behaviour=proxy on tree=chain is not fair under load: ";
    assert!(line.contains(warning), "{line}");
    assert!(!table("").contains("is not fair under load"));
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
    assert!(!shown.contains("the network is not the map's"), "{shown}");
    let own = "--groups 2 --group-choice own";
    assert!(text(own).contains("On no map: its clients do not choose groups"), "{}", text(own));
    assert!(text("--tokens 2 --workload burst").contains("On no map: its workload"));
}

/// A hop of the map is what a message takes on average, whichever way it goes.
#[test]
fn the_cell_is_that_of_the_mean_way() {
    let far = "--latencies one-way,a,b,c;a,1,400,400;b,400,1,400;c,400,400,1";
    let load = format!("--nodes 9 --tokens 3 --rate 0.001 --cs 5 {QUICK}");
    let of_sites = json(&format!("{load} {far}"));
    // Of eight other nodes two are near.
    let hop = 0.2 + (2.0 * 1.0 + 6.0 * 400.0) / 8.0;
    assert!((of_sites["map"]["hop"].as_f64().unwrap() - hop).abs() < 1e-9, "{}", of_sites["map"]);
    let cell = |found: &Value| ["rate", "section"].map(|name| found["map"][name].as_f64().unwrap());
    assert_eq!(cell(&of_sites), [0.3, 0.0]);
    assert_eq!(of_sites["map"]["other_network"], "3 sites (blocks)");
    // On a line of nine nodes, two are (9 + 1) / 3 links apart on average.
    let of_links = json(&format!(
        "--nodes 9 --tokens 1 --rate 0.03 --cs 10 --send 0 --receive 0 --transit 3 --topology line {QUICK}"
    ));
    assert!((of_links["map"]["hop"].as_f64().unwrap() - 10.0).abs() < 1e-9, "{}", of_links["map"]);
    assert_eq!(cell(&of_links), [0.3, 1.0]);
    let table = recommend(&format!("{load} {far}"), "1");
    let table = String::from_utf8_lossy(&table.stdout);
    let wanted = "nearest cell is λ = 0.3, sections of 0 (in hops of 300.45, the mean over all pairs of nodes; the \
                  network is not the map's: 3 sites (blocks)). Best there:";
    assert!(table.contains(wanted), "{table}");
}

#[test]
fn bad_input_gets_one_clear_line_and_2() {
    let cases = [
        ("--rate 0", "rate must be between"),
        ("--rate -1", "rate must be between"),
        ("--nodes 3 --tokens 4", "between 1 and the number of nodes (3)"),
        ("--nodes 1", "try --tokens 1"),
        ("--nodes 0", "at least one node"),
        ("--transit -1", "transit must be a time of at least 0"),
        ("--cs -0.5", "cs must be a time of at least 0"),
        ("--send -0.5", "send must be a time of at least 0"),
        ("--groups 0", "groups must be between 1"),
        ("--groups 3 --tokens 2", "leave --tokens out"),
        ("--seeds 0", "at least one seed"),
        ("--entries 0", "entries must be at least 1, not 0"),
        ("--delay slow", "is none of constant"),
        ("--choose last-seen", "leave out choose"),
        ("--defect inform-always", "leave out defect"),
        ("--set shape=star", "leave out shape"),
        ("--slow 0-2:1e300", "a factor of 1e300 is not between 1 and a million"),
        ("--rate 1e300", "not 1e300: "),
        ("--cs 1e300", "not 1e300: "),
        ("--loss 1e300", "not 1e300"),
        ("--lose TOKEN", "give a share with --loss"),
        ("--rate fast", "takes a number"),
        ("--topology hypercube", "30 nodes are not a power of two: take 16 or 32 nodes"),
        ("--latencies /dev/zero", "that is more than 64 MiB"),
        ("--latencies missing.csv", "--latencies missing.csv: name a CSV file"),
        ("--latencies one-way,a;a,x", "latencies: line 2, column 2: 'x' is not a number"),
        ("--latencies one-way,a;a,1 --transit 2", "leave one of the two out"),
        ("--sites 10,20", "sites needs latencies"),
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

/// Also of the map of groups, at the nearest rate and section.
#[test]
fn it_says_where_on_the_map_of_groups_the_load_is() {
    let found = json(&format!("--nodes 5 --groups 3 --group-choice zipf:0.9 --rate 0.09 --cs 1 {QUICK}"));
    let map = &found["map"];
    assert_eq!((&map["groups"], map["skew"].as_f64()), (&Value::from(3), Some(1.0)), "{map}");
    assert_eq!((map["rate"].as_f64(), map["section"].as_f64()), (Some(0.1), Some(1.0)));
    let wait = &map["best"]["wait"];
    assert!(label(&wait["ours"]).starts_with("rooms") && wait["limit"].is_null(), "{wait}");
    assert!(label(&map["command"]).contains("--groups --rates 0.1 --sections 1"), "{map}");
}

/// What `recommend` finds with all options waits hardly less than the best of the map.
#[test]
fn the_map_has_the_best() {
    for load in ["--nodes 10 --tokens 1 --rate 0.01 --cs 1", "--nodes 12 --tokens 3 --rate 0.1 --cs 0"] {
        let found = json(&format!("{load} --entries 1500 --warmup 100 --seeds 3"));
        let least = of(&found, label(&found["shortest_wait"]))["time_to_enter"]["mean"].as_f64().unwrap();
        let best = &found["map"]["best"]["wait"];
        assert!(best["value"].as_f64().unwrap() < 1.1 * least, "{load}: {least} beside {best}");
        assert!(best["times_limit"].as_f64().unwrap() > 1.0, "{best}");
    }
}
