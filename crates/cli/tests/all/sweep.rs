//! Sweeps as a user meets them: interrupted, in parts, on any number of cores, with wrong flags.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::folder::{Folder, code, text};
use crate::json_schema::document;
use serde_json::Value;

impl Folder {
    /// Runs what has to go well.
    fn well(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(code(&output), 0, "{arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs what has to be refused: one line, exit code 2. Returns the line.
    fn refused(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let line = text(&output.stderr);
        assert_eq!(code(&output), 2, "{arguments}: {line}");
        assert!(output.stdout.is_empty(), "{arguments}");
        assert_eq!(line.lines().count(), 1, "{arguments}: {line}");
        line
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    fn is_empty(&self) -> bool {
        fs::read_dir(&self.0).unwrap().next().is_none()
    }

    fn read_json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }
}

/// Twelve points that take a moment.
const SMALL: &str = "sweep raymond-k,bulgannawar-vaidya --vary rate=0.1,1 --vary nodes=4..8:2 --entries 50 --warmup 5 --seeds 2";

/// The CSV as rows of cells; none of these have quotes.
fn rows(csv: &str) -> Vec<Vec<&str>> {
    csv.lines().map(|line| line.split(',').collect()).collect()
}

fn column(csv: &str, name: &str) -> Vec<String> {
    let rows = rows(csv);
    let place = rows[0].iter().position(|known| *known == name).unwrap_or_else(|| panic!("no column {name}"));
    rows[1..].iter().map(|row| row[place].to_string()).collect()
}

#[test]
fn points_come_in_a_fixed_order_with_parameters_and_measures() {
    let folder = Folder::new("order");
    let told = folder.well(&format!("{SMALL} --out a.csv"));
    assert!(told.contains("12 points") && told.contains("a.csv, a.json"), "{told}");
    let csv = folder.read("a.csv");
    assert_eq!(column(&csv, "point").join(" "), "1 2 3 4 5 6 7 8 9 10 11 12");
    assert_eq!(column(&csv, "nodes").join(" "), "4 6 8 4 6 8 4 6 8 4 6 8");
    assert_eq!(column(&csv, "rate").join(" "), "0.1 0.1 0.1 1 1 1 0.1 0.1 0.1 1 1 1");
    let algorithms = column(&csv, "algorithm");
    assert!(algorithms[..6].iter().all(|name| name == "raymond-k"));
    assert!(algorithms[6..].iter().all(|name| name == "bulgannawar-vaidya"));
    assert_eq!(column(&csv, "choose")[5..7], ["", ""], "what is not set has no value");
    assert_eq!(column(&csv, "seeds")[0], "2");
    let json = folder.read_json("a.json");
    assert_eq!(json["points"].as_array().unwrap().len(), 12);
    assert_eq!(json["points"][4]["parameters"]["nodes"], 6);
    assert_eq!(json["sweep"]["vary"][1]["values"][2], "8");
    // Every parameter and every measure is in both, as the same numbers.
    for (index, point) in json["points"].as_array().unwrap().iter().enumerate() {
        for part in ["parameters", "measures"] {
            for (name, value) in point[part].as_object().unwrap() {
                let cell = &column(&csv, name)[index];
                match value {
                    Value::Number(number) => {
                        assert_eq!(cell.parse::<f64>().unwrap(), number.as_f64().unwrap(), "{name}");
                    }
                    Value::String(word) => assert_eq!(cell, word),
                    _ => assert_eq!(cell, ""),
                }
            }
        }
    }
}

#[test]
fn a_point_measures_what_simulate_does() {
    let folder = Folder::new("simulate");
    folder.well(&format!("{SMALL} --seed 7 --out a.csv"));
    let flags = "--rate 1 --nodes 6 --entries 50 --warmup 5 --seeds 2 --seed 7 --format json";
    let alone: Value = document(folder.well(&format!("simulate bulgannawar-vaidya {flags}")));
    let measures = &folder.read_json("a.json")["points"][10]["measures"];
    for name in ["messages_per_entry", "throughput", "fairness", "longest_wait", "messages", "response_time"]
    {
        assert_eq!(measures[name], alone[name], "{name}");
    }
    assert_eq!(measures["fairness_stderr"], alone["stderr"]["fairness"]);
    assert_eq!(measures["time_to_enter"], alone["time_to_enter"]["mean"]);
    assert_eq!(measures["time_to_enter_p99"], alone["time_to_enter"]["p99"]);
    assert_eq!(measures["messages_by_kind_TOKEN"], alone["messages_by_kind"]["TOKEN"]);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let folder = Folder::new("threads");
    for threads in ["1", "2", "5"] {
        let mut command = folder.command(&format!("{SMALL} --out t{threads}.csv"));
        let output = command.env("RAYON_NUM_THREADS", threads).output().unwrap();
        assert_eq!(code(&output), 0);
        assert!(output.stderr.is_empty(), "no progress without a terminal");
    }
    for other in ["t2", "t5"] {
        assert_eq!(folder.read("t1.csv"), folder.read(&format!("{other}.csv")));
        assert_eq!(folder.read("t1.json"), folder.read(&format!("{other}.json")));
    }
}

#[test]
fn shards_merge_to_the_same_bytes() {
    let folder = Folder::new("shards");
    folder.well(&format!("{SMALL} --out whole.csv"));
    for shard in 1..=3 {
        let told = folder.well(&format!("{SMALL} --shard {shard}/3 --out part.csv"));
        assert!(told.contains("tokenwood merge part.*-of-3.journal --out part.csv"), "{told}");
        assert!(told.contains("4 points"), "{told}");
    }
    assert!(!folder.has("part.csv"), "a part is no result");
    let two = "merge part.1-of-3.journal part.3-of-3.journal --out part.csv";
    let output = folder.run(two);
    let error = text(&output.stderr);
    assert_eq!(code(&output), 3, "{error}");
    assert!(error.contains("4 of 12 points are missing: 2, 5, 8, 11"), "{error}");
    assert!(!folder.has("part.csv") && !folder.has("part.json"));
    // What it says to run is what is missing.
    fs::remove_file(folder.0.join("part.2-of-3.journal")).unwrap();
    let advice = error.lines().find_map(|line| line.strip_prefix("run: tokenwood ")).unwrap().to_string();
    assert!(advice.contains("--shard 2/3 --out part.csv"), "{advice}");
    folder.well(&advice);
    let all = "merge part.3-of-3.journal part.1-of-3.journal part.2-of-3.journal --out part.csv";
    folder.well(all);
    assert_eq!(folder.read("part.csv"), folder.read("whole.csv"));
    assert_eq!(folder.read("part.json"), folder.read("whole.json"));
    // Again, with a part given twice, and with a journal in one piece.
    folder.well(&format!("{all} --format json"));
    folder.well("merge part.1-of-3.journal whole.journal --out other.csv");
    assert_eq!(folder.read("other.csv"), folder.read("whole.csv"));
}

#[test]
fn journals_that_do_not_belong_together_are_not_merged() {
    let folder = Folder::new("mix");
    folder.well(&format!("{SMALL} --shard 1/2 --out a.csv"));
    folder.well(&format!("{SMALL} --seed 2 --shard 2/2 --out a.csv"));
    let error = folder.refused("merge a.1-of-2.journal a.2-of-2.journal --out a.csv");
    assert!(error.contains("another sweep") && error.contains("--seed: 2 there, 1 here"), "{error}");
    // The same point with another number.
    folder.well(&format!("{SMALL} --out b.csv"));
    let journal = folder.read("b.journal");
    folder.write("b.journal", &journal.replace("\"time_to_enter\":", "\"time_to_enter\":9"));
    let error = folder.refused("merge a.1-of-2.journal b.journal --out c.csv");
    assert!(error.contains("contradicts another journal on point"), "{error}");
    // Another program; another kind of file; results that say something else; no file at all.
    let other = folder.read("a.1-of-2.journal").replacen("\"program\":\"", "\"program\":\"9.", 1);
    folder.write("d.journal", &other);
    assert!(folder.refused("merge a.1-of-2.journal d.journal --out c.csv").contains("one version"));
    assert!(folder.refused("merge b.csv --out c.csv").contains("not a journal of 'tokenwood sweep'"));
    folder.write("b.journal", &journal);
    folder.write("c.json", "mine");
    assert!(folder.refused("merge b.journal --out c.csv").contains("c.json exists already"));
    assert_eq!((folder.read("c.json").as_str(), folder.has("c.csv")), ("mine", false));
    assert!(folder.refused("merge nothing.journal --out e.csv").contains("cannot read nothing.journal"));
}

/// Ends the child, however the test goes.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits, within bounds, until the journal has at least so many lines.
fn wait_for_lines(journal: &Path, lines: usize, child: &mut Child) {
    let began = Instant::now();
    while fs::read_to_string(journal).map_or(0, |text| text.lines().count()) < lines {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
        assert!(began.elapsed() < Duration::from_secs(120), "nothing is finished after two minutes");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn killed_in_the_middle_it_goes_on_where_it_was() {
    let folder = Folder::new("kill");
    // The last points are far longer than the first, so that there is a middle.
    let sweep = "sweep naimi-trehel --vary entries=10..60:10,200000 --vary rate=0.5,1 --nodes 5";
    folder.well(&format!("{sweep} --out whole.csv"));
    let command = format!("{sweep} --out killed.csv");
    let journal = folder.0.join("killed.journal");
    let spawned = folder.command(&command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut child = Guard(spawned);
    wait_for_lines(&journal, 4, &mut child.0);
    // While it runs, no other process can write there.
    let error = text(&folder.run(&command).stderr);
    let ended = child.0.try_wait().unwrap().is_some();
    assert!(error.contains("in use by another process") || ended, "{error}");
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    let before = folder.read("killed.journal");
    let told = folder.well(&command);
    assert!(told.contains("were there already"), "{told}");
    let after = folder.read("killed.journal");
    let complete = before.rfind('\n').map_or(0, |end| end + 1);
    assert!(after.starts_with(&before[..complete]), "what was finished is not simulated again");
    assert_eq!(after.lines().count(), 15, "a header and 14 points");
    assert_eq!(folder.read("killed.csv"), folder.read("whole.csv"));
    assert_eq!(folder.read("killed.json"), folder.read("whole.json"));
}

#[test]
fn a_journal_has_one_writer_at_a_time() {
    let folder = Folder::new("lock");
    let command = "sweep naimi-trehel --vary rate=0.1,1 --nodes 4 --entries 20 --out a.csv";
    folder.well(command);
    let held = fs::File::open(folder.0.join("a.journal")).unwrap();
    held.lock().unwrap();
    assert!(folder.refused(command).contains("a.journal is in use by another process"));
    // As when its process ends.
    drop(held);
    folder.well(command);
}

#[test]
fn wherever_the_journal_breaks_off_it_is_continued() {
    let folder = Folder::new("truncated");
    let sweep = "sweep naimi-trehel --vary rate=0.1,1,10 --nodes 4 --entries 20 --warmup 0";
    folder.well(&format!("{sweep} --out whole.csv"));
    let journal = folder.read("whole.journal");
    let ends: Vec<usize> = journal.match_indices('\n').map(|(at, _)| at + 1).collect();
    // In the header, after it, in a line, just before its end, after it.
    for (at, noted) in [
        (0, false),
        (40, false),
        (ends[0], false),
        (ends[1] + 30, true),
        (ends[2] - 1, true),
        (ends[2], false),
    ] {
        folder.write("cut.journal", &journal[..at]);
        let output = folder.run(&format!("{sweep} --out cut.csv"));
        let error = text(&output.stderr);
        assert_eq!(code(&output), 0, "cut at {at}: {error}");
        assert_eq!(error.contains("incomplete"), noted, "cut at {at}: {error}");
        for ending in ["csv", "json", "journal"] {
            let (cut, whole) =
                (folder.read(&format!("cut.{ending}")), folder.read(&format!("whole.{ending}")));
            if ending == "journal" {
                // On several threads, the order of its lines is that in which points were finished.
                assert_eq!(cut.len(), whole.len());
            } else {
                assert_eq!(cut, whole, "cut at {at}");
            }
            if ending != "journal" {
                fs::remove_file(folder.0.join(format!("cut.{ending}"))).unwrap();
            }
        }
    }
}

#[test]
fn a_journal_that_is_not_of_this_sweep_is_left_alone() {
    let folder = Folder::new("foreign");
    let sweep = "sweep naimi-trehel --vary rate=0.1,1 --nodes 4 --entries 20 --warmup 0";
    let command = format!("{sweep} --out a.csv");
    folder.well(&command);
    let journal = folder.read("a.journal");
    let csv = folder.read("a.csv");
    let others = [
        (
            "sweep naimi-trehel --vary rate=0.1,2 --nodes 4 --entries 20 --warmup 0",
            "rate=0.1,1 there, rate=0.1,2 here",
        ),
        ("sweep raymond-tree --vary rate=0.1,1 --nodes 4 --entries 20 --warmup 0", "another sweep"),
        (&format!("{sweep} --seeds 2"), "--seeds: 1 there, 2 here"),
        (&format!("{sweep} --cs 1"), "what is not varied"),
    ];
    for (other, why) in others {
        let error = folder.refused(&format!("{other} --out a.csv"));
        assert!(error.contains(why) && error.contains("choose another --out"), "{error}");
    }
    let lines: Vec<&str> = journal.lines().collect();
    let damaged = [
        (journal.replacen("\"version\":1", "\"version\":2", 1), "journal version 2, this one knows 1"),
        (journal.replacen("\"program\":\"", "\"program\":\"9.", 1), "finish it with that"),
        (journal.replacen("\"seeds\":1", "\"sides\":1", 1), "the first line of a.journal is damaged"),
        (
            journal.replacen("tokenwood sweep journal", "something else", 1),
            "not a journal of 'tokenwood sweep'",
        ),
        ("my notes\n".to_string(), "not a journal of 'tokenwood sweep'"),
        ("my notes".to_string(), "not a journal of 'tokenwood sweep'"),
        (format!("{}\n{}\n{}\n", lines[0], &lines[1][..50], lines[2]), "line 2 of a.journal is damaged"),
        (journal.replace("\"point\":2", "\"point\":3"), "point 3 does not belong here"),
        (journal.replace("\"point\":2", "\"point\":1"), "contradicts"),
        (journal.replace("\"cs\":0.0002", "\"cs\":0.2"), "other parameters"),
    ];
    for (text, why) in damaged {
        assert_ne!(text, journal, "{why}");
        folder.write("a.journal", &text);
        let error = folder.refused(&command);
        assert!(error.contains(why), "{why}: {error}");
        assert_eq!(folder.read("a.journal"), text, "{why}");
        assert_eq!(folder.read("a.csv"), csv, "{why}");
    }
    folder.write("a.journal", &journal);
    assert!(folder.well(&command).contains("2 were there already"));
    // Results without a journal may be anything.
    folder.write("b.json", "mine");
    assert!(folder.refused(&format!("{sweep} --out b.csv")).contains("b.json exists already"));
    assert_eq!((folder.read("b.json").as_str(), folder.has("b.journal")), ("mine", false));
}

/// The journal has the latencies themselves, not the name of their file.
#[test]
fn a_sweep_does_not_resume_with_other_latencies() {
    let folder = Folder::new("latencies");
    let sweep = "sweep naimi-trehel --vary rate=0.1,1 --nodes 4 --latencies l.csv --entries 50 --out a.csv";
    folder.write("l.csv", "# by ping\nround-trip,a,b\na,1,80\nb,80,1\n");
    folder.well(sweep);
    let matrix = "one-way,a,b;a,0.5,40;b,40,0.5";
    assert!(folder.read("a.csv").contains(matrix));
    assert_eq!(folder.read_json("a.json")["points"][0]["parameters"]["latencies"], matrix);
    folder.write("l.csv", "one-way,a,b\na,0.5,40\nb,40,0.5\n");
    folder.well(sweep);
    folder.write("l.csv", "one-way,a,b\na,0.5,41\nb,40,0.5\n");
    let error = folder.refused(sweep);
    assert!(error.contains("another sweep") && error.contains("what is not varied"), "{error}");
    folder.write("l.csv", "one-way,a,b\na,0.5,4l\nb,40,0.5\n");
    let error = folder.refused(sweep);
    assert!(error.contains("--latencies l.csv: line 2, column 3: '4l' is not a number"), "{error}");
}

#[test]
fn wrong_usage_is_refused_before_anything_is_done() {
    let folder = Folder::new("usage");
    let refusals = [
        ("sweep naimi-trehel --vary rate=1 --out", "nowhere/a.csv", "there is no folder nowhere"),
        ("sweep naimi-trehel --vary rate=1 --out", "a.txt", "name the CSV file"),
        ("sweep naimi-trehel --vary rate=1 --shard 0/3", "", "the parts are 1/3 to 3/3"),
        ("sweep naimi-trehel --vary rate=1 --shard 4/3", "", "the parts are 1/3 to 3/3"),
        ("sweep naimi-trehel --vary rate=1 --shard 1", "", "write I/N"),
        ("sweep naimi-trehel --vary rate=1 --shard 0/0", "", "write I/N"),
        ("sweep naimi-trehel --vary rate=", "", "a value is missing"),
        ("sweep naimi-trehel --vary rate", "", "no '='"),
        ("sweep naimi-trehel --vary rate=0", "", "rate must be between"),
        ("sweep naimi-trehel --vary rate=0,1", "", "1 of 2 combinations is refused, --skip-refused"),
        ("sweep naimi-trehel --vary rate=fast,1 --skip-refused", "", "rate takes a number"),
        ("sweep naimi-trehel --vary cs=-1,1", "", "cs must be a time of at least 0"),
        ("sweep naimi-trehel --send -1", "", "send must be a time of at least 0"),
        ("sweep naimi-trehel --vary pace=1", "", "no parameter 'pace'; there are nodes"),
        ("sweep naimi-trehel --vary pace=1 --skip-refused", "", "no parameter 'pace'"),
        (
            "sweep raymond-k --vary nodes=2..9 --tokens 3",
            "",
            "raymond-k with nodes=2: tokens must be between",
        ),
        ("sweep raymond-k --vary tokens=5,6 --nodes 3 --skip-refused", "", "every combination is refused"),
        ("sweep naimi-trehel,raymond-k --choose random", "", "no parameter 'choose'"),
        ("sweep naimi-trehel --vary rate=1 --rate 2", "", "both given and varied"),
        ("sweep naimi-trehel --vary rate=1 --vary rate=2", "", "varied twice"),
        ("sweep naimi-trehel,naimi-trehel", "", "named twice"),
        ("sweep naimi", "", "did you mean naimi-trehel"),
        ("sweep naimi-trehel --seeds 0", "", "at least one seed"),
        ("sweep raymond-k --vary nodes=1..1000 --vary rate=1..1000", "", "more than 100000 points"),
    ];
    for (command, out, why) in refusals {
        let out = if out.is_empty() { "--out a.csv" } else { out };
        let error = folder.refused(&format!("{command} {out}"));
        assert!(error.contains(why), "{command}: {error}");
    }
    assert!(folder.is_empty(), "nothing is written");
    fs::create_dir(folder.0.join("a.json")).unwrap();
    fs::create_dir(folder.0.join("b.journal")).unwrap();
    assert!(folder.refused("sweep naimi-trehel --out b.csv").contains("b.journal is not an ordinary file"));
    assert!(folder.refused("merge b.journal --out c.csv").contains("b.journal is not an ordinary file"));
    assert!(folder.refused("sweep naimi-trehel --out a.csv").contains("a.json is a folder"));
    assert!(folder.refused("merge a.journal --out nowhere/a.csv").contains("there is no folder nowhere"));
}

#[test]
fn refused_combinations_can_be_left_out() {
    let folder = Folder::new("skip");
    let sweep = "sweep raymond-k --vary nodes=2..4 --vary tokens=1,3 --entries 20 --warmup 0";
    let output = folder.run(&format!("{sweep} --skip-refused --out a.csv"));
    let note = text(&output.stderr);
    assert_eq!(code(&output), 0, "{note}");
    assert!(note.contains("left out raymond-k with nodes=2 tokens=3"), "{note}");
    assert_eq!(column(&folder.read("a.csv"), "nodes").join(" "), "2 3 3 4 4");
    let json = folder.read_json("a.json");
    assert_eq!(json["sweep"]["refused"][0]["with"][1][1], "3");
    assert_eq!(json["sweep"]["points"], 5);
}

#[test]
fn a_violation_is_told_and_the_other_points_are_measured() {
    let folder = Folder::new("violation");
    let sweep = "sweep naimi-trehel --vary loss=0,0.5 --workload burst --nodes 5 --entries 200 --out a.csv";
    let output = folder.run(sweep);
    let told = text(&output.stdout);
    assert_eq!(code(&output), 1, "{told}");
    let json = folder.read_json("a.json");
    assert!(json["points"][0]["measures"]["violation"].is_null());
    assert!(json["points"][1]["measures"]["violation"].is_string());
    let simulate =
        told.split("'tokenwood simulate ").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    let output = folder.run(&format!("simulate {simulate}"));
    assert_eq!(code(&output), 1, "{simulate}: {}", text(&output.stdout));
    assert_eq!(code(&folder.run(sweep)), 1, "also if nothing is left to simulate");
}

#[test]
fn json_is_printed_for_scripts() {
    let folder = Folder::new("json");
    let printed = folder.well(&format!("{SMALL} --format json --out a.csv"));
    assert_eq!(document(printed), folder.read_json("a.json"), "what is printed is in the file");
    let part = folder.well(&format!("{SMALL} --shard 2/5 --format json --out a.csv"));
    let part = document(part);
    let points: Vec<&Value> =
        part["points"].as_array().unwrap().iter().map(|point| &point["point"]).collect();
    assert_eq!(points, [2, 7, 12]);
}

#[test]
fn a_larger_grid_keeps_the_points_that_are_finished() {
    let folder = Folder::new("larger");
    let sweep = |grid: &str| format!("sweep {grid} --nodes 4 --entries 40 --warmup 0 --out a.csv");
    folder.well(&sweep("naimi-trehel --vary rate=0.1,1"));
    let before = folder.read("a.journal");
    // Another algorithm before the one that was there, and a value between those that were.
    let larger = sweep("raymond-tree,naimi-trehel --vary rate=0.1,0.5,1");
    let output = folder.run(&larger);
    let (told, note) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(code(&output), 0, "{note}");
    assert!(note.contains("2 finished points of 6 stay as they are"), "{note}");
    assert!(told.contains("6 points (2 were there already)"), "{told}");
    let alone = Folder::new("larger-alone");
    alone.well(&larger);
    assert_eq!(folder.read("a.csv"), alone.read("a.csv"), "the same bytes as in one go");
    assert_eq!(folder.read("a.json"), alone.read("a.json"));
    let measures = |line: &str| line.split_once("\"parameters\"").unwrap().1.to_string();
    let journal = folder.read("a.journal");
    for line in before.lines().skip(1) {
        assert!(journal.lines().skip(1).any(|kept| measures(kept) == measures(line)), "{line}");
    }
    // A parameter that was not varied before: its usual value is one of the points.
    folder.well(&sweep("raymond-tree,naimi-trehel --vary rate=0.1,0.5,1 --vary cs=0.0002,1"));
    // Points that are not in the new grid would be lost.
    let error = folder.refused(&sweep("naimi-trehel --vary rate=0.1,0.5"));
    assert!(error.contains("another sweep") && error.contains("choose another --out"), "{error}");
    // In shards, points have other numbers.
    folder.well("sweep naimi-trehel --vary rate=0.1,1 --nodes 4 --entries 40 --shard 1/2 --out s.csv");
    let error = folder
        .refused("sweep naimi-trehel --vary rate=0.1,1,2 --nodes 4 --entries 40 --shard 1/2 --out s.csv");
    assert!(error.contains("sweep the new values alone with another --out"), "{error}");
    assert!(!folder.has("a.journal.part"));
}
