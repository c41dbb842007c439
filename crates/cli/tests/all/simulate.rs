//! `tokenwood simulate` and `check` as a user meets them: what they say of the options, the faults and the errors.

use crate::folder::{Folder, code, text};
use crate::json_schema::document;

#[test]
fn every_option_is_told_with_its_value() {
    let folder = Folder::new("options");
    let few = "simulate bulgannawar-vaidya --nodes 5 --tokens 2 --entries 100";
    let shown = text(&folder.run(few).stdout);
    assert!(shown.contains("\noptions: choose=random inform=0 whom=random"), "{shown}");
    let options =
        |more: &str| document(folder.run(&format!("{few} {more} --format json")).stdout)["options"].clone();
    let proposed = options("--choose last-seen --inform 2");
    assert_eq!((&proposed["choose"], &proposed["inform"]), (&"last-seen".into(), &"2".into()));
    let balanced = options("--set tuning=balanced --inform 3");
    let told = ["choose", "inform", "repeats"].map(|name| balanced[name].as_str().unwrap());
    assert_eq!(told, ["fair-share", "3", "1"]);
    let none = text(&folder.run("simulate naimi-trehel --nodes 3 --entries 10").stdout);
    assert!(!none.contains("options:"), "{none}");
    let help = text(&folder.run("simulate --help").stdout);
    assert!(help.contains("bulgannawar-vaidya with --choose last-seen --inform 2"), "{help}");
}

#[test]
fn faults_that_an_algorithm_does_not_claim_to_bear_are_called_so() {
    let folder = Folder::new("beyond");
    let beyond = "is beyond what naimi-trehel claims to bear; it needs: any order, no loss, no crash.";
    for command in ["check naimi-trehel --loss 1", "check naimi-trehel --random 50 --loss 1"] {
        let output = folder.run(command);
        let shown = text(&output.stdout);
        assert_eq!(code(&output), 1, "{shown}");
        assert!(shown.contains("But step ") && shown.contains(beyond), "{command}: {shown}");
        assert!(shown.contains(", lose"), "{command}: {shown}");
    }
    let shown = text(&folder.run("check naimi-trehel --loss 1").stdout);
    assert!(shown.contains("nothing more can happen and nodes 0, 1, 2 wait\n"), "{shown}");
    let shown =
        text(&folder.run("simulate naimi-trehel --nodes 5 --loss 0.2 --duplicate 0.1 --entries 500").stdout);
    assert!(shown.starts_with("naimi-trehel, 5 nodes, rate 0.1, loss 0.2, duplicate 0.1\n"), "{shown}");
    assert!(shown.contains(&format!("But a loss {beyond}")), "{shown}");
    // Nothing of the kind where the algorithm alone is to blame.
    let shown = text(&folder.run("check bulgannawar-vaidya --nodes 2 --defect holding-not-set").stdout);
    assert!(shown.contains("Violated") && !shown.contains("beyond"), "{shown}");
}

#[test]
fn one_run_tells_no_errors_of_means() {
    let folder = Folder::new("one-run");
    let run = |seeds: u32| {
        let command = format!("simulate naimi-trehel --nodes 5 --entries 200 --seeds {seeds} --format json");
        document(folder.run(&command).stdout)
    };
    let (one, two) = (run(1), run(2));
    assert!(one["stderr"]["messages_per_entry"].is_null(), "{one}");
    assert!(one["time_to_enter"]["stderr"].as_f64().unwrap() > 0.0, "from batches: {one}");
    assert!(two["stderr"]["messages_per_entry"].as_f64().unwrap() > 0.0, "{two}");
    let sweep = "sweep naimi-trehel --vary rate=1,2 --nodes 4 --entries 50 --out a.csv";
    assert_eq!(code(&folder.run(sweep)), 0);
    let csv = std::fs::read_to_string(folder.0.join("a.csv")).unwrap();
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let place = lines.next().unwrap().iter().position(|name| *name == "throughput_stderr").unwrap();
    assert!(lines.all(|line| line[place].is_empty()), "{csv}");
}

#[test]
fn the_longest_wait_that_ended_is_no_longer_than_the_longest() {
    let folder = Folder::new("longest");
    for seed in 1..=5 {
        let command = format!("simulate bulgannawar-vaidya --nodes 9 --tokens 2 --entries 300 --seed {seed}");
        let found = document(folder.run(&format!("{command} --format json")).stdout);
        let [p99, max] = ["p99", "max"].map(|name| found["time_to_enter"][name].as_f64().unwrap());
        assert!(p99 <= max && max <= found["longest_wait"].as_f64().unwrap(), "{found}");
    }
}
