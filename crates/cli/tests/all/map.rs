//! `tokenwood map` as a user meets it.

use std::process::{Command, Output};

use serde_json::Value;

use crate::folder::Folder;
use crate::json_schema::document;

fn map(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tokenwood"))
        .arg("map")
        .args(arguments.split_whitespace())
        .current_dir(std::env::temp_dir())
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(arguments: &str) -> Value {
    document(text(&map(&format!("{arguments} --format json"))))
}

const SMALL: &str = "--nodes 5 --rates 0.001,1 --sections 0,2 --entries 100 --seeds 2";

#[test]
fn a_table_for_people() {
    let output = map(&format!("{SMALL} --measure messages"));
    let shown = text(&output);
    for wanted in [
        "Fewest messages per entry: n = 5, k = 1, constant delays",
        "section \\ λ",
        "0.001",
        "of 2 runs each",
        "star = neilsen-mizuno shape=star",
        "Times the limit, the best / ours (forest)",
        " / –",
    ] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    assert!(!shown.contains("Shortest mean wait"), "{shown}");
    assert!(output.stderr.is_empty());
}

#[test]
fn json_has_what_scripts_need_on_any_number_of_threads() {
    let run = |threads| {
        let mut found = json(&format!("{SMALL} --tokens 2 --delays constant,uniform --threads {threads}"));
        found["seconds"] = Value::Null;
        found
    };
    let found = run(1);
    assert_eq!(found, run(3));
    assert_eq!(found["maps"].as_array().unwrap().len(), 2);
    assert_eq!(found["maps"][1]["delays"], "uniform");
    let cells = found["maps"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        assert!(cell["rate"].is_f64() && cell["section"].is_f64());
        // Clients that ask again within a hop need no message.
        let crowded = cell["rate"].as_f64().unwrap() >= 1.0;
        assert!(cell["limit"]["wait"].is_f64() && cell["limit"]["messages"].is_f64() != crowded, "{cell}");
        for name in ["limit", "times_limit", "ours_value", "ours_limit", "ours_times_limit"] {
            assert!(cell["wait"][name].is_f64() && cell["fairness"]["limit"].is_null(), "{name}: {cell}");
        }
        for measure in ["wait", "messages", "fairness"] {
            let judged = &cell[measure];
            assert!(judged["best"].is_string() && judged["second"].is_string(), "{cell}");
            assert!(judged["value"].is_f64() && judged["margin"].is_string() && judged["tied"].is_array());
        }
    }
    assert!(found["maps"][0]["algorithms"].as_array().unwrap().iter().any(|name| name == "forest"));
}

#[test]
fn pictures() {
    let folder = Folder::new("map-pictures");
    let file = |name: &str| folder.0.join(name);
    text(&map(&format!("{SMALL} --measure wait --output {}", file("one.svg").display())));
    let svg = std::fs::read_to_string(file("one.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("Shortest mean wait"));
    let shown =
        text(&map(&format!("{SMALL} --measure wait,messages --output {}", file("two.png").display())));
    for name in ["two-wait-constant.png", "two-messages-constant.png"] {
        assert!(std::fs::read(file(name)).unwrap().starts_with(b"\x89PNG"), "{name}");
        assert!(shown.contains(name), "{shown}");
    }
}

#[test]
fn groups() {
    let found = json("--nodes 4 --groups=2,3 --skews 0,1 --entries 60 --seeds 2 --measure wait");
    let cells = found["maps"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    assert_eq!(cells[3]["group_choice"], "zipf:1");
    assert!(cells[0]["limit"].is_null(), "it is not known for groups");
    let usual = json("--nodes 4 --groups --skews 0 --entries 30 --seeds 2 --measure wait");
    assert_eq!(usual["maps"][0]["cells"].as_array().unwrap().len(), 5);
}

#[test]
fn bad_input_gets_one_clear_line_and_2() {
    let cases = [
        ("--seeds 1", "--seeds must be at least 2"),
        ("--nodes 20000", "--nodes must be at most 3000"),
        ("--output map.gif", "ends in .svg or .png"),
        ("--output no-such-folder/map.svg", "create it first"),
        ("--delays slow", "is none of constant"),
        ("--rates 0", "rate must be between"),
        ("--sections -1", "cs must be a time of at least 0"),
        ("--nodes 3 --tokens 4", "between 1 and the number of nodes (3)"),
        ("--entries 0", "entries must be at least 1, not 0"),
        ("--groups=1", "at least 2"),
        ("--groups --rates 0.1,1", "one rate and one section"),
        ("--groups --skews 11", "between 0 and 10"),
    ];
    for (arguments, wanted) in cases {
        let output = map(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(error.contains(wanted), "{arguments}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{arguments}: {error}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
    // What does not go together is refused by the parser, which also says how to use it.
    let refused = [
        ("--tokens 2 --groups", "cannot be used with"),
        ("--skews 1", "--groups"),
        ("--measure speed", "wait, messages, fairness"),
        ("--threads 0 --nodes 3 --entries 10", "expected a whole number from 1 to 256"),
        ("--threads 100000 --nodes 9 --seeds 2 --rates 1 --sections 1", "from 1 to 256"),
        ("--groups 0", "'0' does not belong to --groups: write --groups=0"),
        ("--groups 2,3 --skews 1", "write --groups=2,3"),
    ];
    for (arguments, wanted) in refused {
        let output = map(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(error.contains(wanted), "{arguments}: {error}");
    }
}
