//! `tokenwood reproduce` as a user meets it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::folder::{Folder, code, text};
use crate::json_schema::document;

impl Folder {
    fn reproduce(&self, arguments: &str) -> Output {
        self.reproduce_on(2, arguments)
    }

    fn reproduce_on(&self, threads: u32, arguments: &str) -> Output {
        let mut command = self.command(&format!("reproduce {arguments}"));
        command.env("RAYON_NUM_THREADS", threads.to_string()).output().unwrap()
    }
}

/// The exhibits there are, by name.
fn exhibits(folder: &Folder) -> Vec<String> {
    let listed = document(&folder.reproduce("--list --format json").stdout);
    listed["exhibits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|exhibit| exhibit["id"].as_str().unwrap().to_string())
        .collect()
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

#[test]
fn exhibits_are_listed_for_people_and_scripts() {
    let folder = Folder::new("list");
    let output = folder.reproduce("--list");
    assert_eq!(code(&output), 0);
    let table = text(&output.stdout);
    assert!(table.contains("exhibit") && table.contains("source"));
    let names = exhibits(&folder);
    for (index, name) in names.iter().enumerate() {
        assert!(table.contains(name), "{name}");
        assert!(!names[..index].contains(name), "{name} is there twice");
    }
    assert!(files(&folder.0).is_empty(), "listing writes nothing");
}

#[test]
fn wrong_usage_is_told_before_anything_is_done() {
    let folder = Folder::new("usage");
    for (arguments, said) in [
        ("--out report", "name exhibits, or use --all"),
        ("no-such-figure --out report", "there is no exhibit 'no-such-figure'"),
        ("--quick", "name exhibits, or use --all"),
        ("--all --seeds 0 --out report", "--seeds must be between 1"),
    ] {
        let output = folder.reproduce(arguments);
        assert_eq!(code(&output), 2, "{arguments}");
        assert!(text(&output.stderr).contains(said), "{arguments}: {}", text(&output.stderr));
    }
    assert!(files(&folder.0).is_empty(), "nothing is written");
}

#[test]
fn a_folder_that_cannot_be_made_is_told_at_once() {
    let folder = Folder::new("unwritable");
    fs::write(folder.0.join("file"), "mine").unwrap();
    for out in ["file", "file/below"] {
        let output = folder.reproduce(&format!("--all --out {out}"));
        assert_eq!(code(&output), 2);
        let said = text(&output.stderr);
        assert!(said.contains("cannot create the folder") && said.contains("choose another"), "{said}");
    }
    assert_eq!(fs::read_to_string(folder.0.join("file")).unwrap(), "mine");
}

#[test]
fn a_folder_with_other_files_is_left_alone() {
    let folder = Folder::new("foreign");
    let foreign = folder.0.join("thesis");
    fs::create_dir_all(&foreign).unwrap();
    fs::write(foreign.join("index.html"), "mine").unwrap();
    let output = folder.reproduce("--all --out thesis");
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("holds files that are not a report"), "{}", text(&output.stderr));
    assert_eq!(files(&foreign), BTreeMap::from([("index.html".to_string(), b"mine".to_vec())]));
}

#[test]
fn without_a_folder_the_verdicts_are_printed_and_nothing_is_written() {
    let folder = Folder::new("verdicts");
    let wanted = "thesis-table-1 --quick --seeds 1";
    let output = folder.reproduce(wanted);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.contains("claim: 1 reproduce") || table.contains("claim: 0 reproduce"), "{table}");
    assert!(!table.contains('…') && !table.contains("the report is"), "{table}");
    let told = document(&folder.reproduce(&format!("{wanted} --format json")).stdout);
    let claim = &told["exhibits"][0]["claims"][0];
    for wanted in ["says", "found"] {
        assert!(table.contains(claim[wanted].as_str().unwrap()), "{wanted} in full: {table}");
    }
    assert!(told["report"].is_null());
    assert_eq!(told["exhibits"][0]["files"].as_array().unwrap().len(), 0);
    assert!(files(&folder.0).is_empty(), "nothing is written");
    let report = document(&folder.reproduce(&format!("{wanted} --out report --format json")).stdout);
    assert_eq!(report["exhibits"][0]["claims"], told["exhibits"][0]["claims"]);
}

#[test]
fn without_a_folder_the_reasons_are_printed_below_the_verdicts() {
    let folder = Folder::new("reasons");
    let wanted = "collectors-4 --quick --seeds 1";
    let table = text(&folder.reproduce(wanted).stdout);
    let told = document(&folder.reproduce(&format!("{wanted} --format json")).stdout);
    let claims = told["exhibits"][0]["claims"].as_array().unwrap();
    let failed: Vec<_> = claims.iter().filter(|claim| claim["verdict"] != "reproduces").collect();
    assert!(failed.len() > 1, "{told:#}");
    for claim in failed {
        let [says, reason] = ["says", "reason"].map(|field| claim[field].as_str().unwrap());
        assert_eq!(table.matches(reason).count(), 1, "{reason}: {table}");
        assert!(table.contains(&format!("'{says}'")), "{says}: {table}");
    }
}

/// The first exhibit of each family, so that the test stays quick. No thread count and no repetition changes a byte.
#[test]
fn the_same_files_on_every_run_and_any_number_of_threads() {
    let folder = Folder::new("same");
    let mut families = BTreeMap::new();
    for name in exhibits(&folder) {
        let family = name.split('-').next().unwrap_or(&name).to_string();
        families.entry(family).or_insert(name);
    }
    let names: Vec<&str> = families.values().map(String::as_str).collect();
    let wanted = if names.is_empty() { "--all".to_string() } else { names.join(" ") };
    for (threads, out) in [(1, "one"), (2, "two"), (2, "two")] {
        let output =
            folder.reproduce_on(threads, &format!("{wanted} --quick --seeds 1 --out {out} --format json"));
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        assert!(output.stderr.is_empty(), "quiet without a terminal: {}", text(&output.stderr));
        let told = document(&output.stdout);
        let told = told["exhibits"].as_array().unwrap();
        assert_eq!(told.len(), names.len());
        let written = files(&folder.0.join(out));
        for exhibit in told {
            let list = |field: &str| exhibit[field].as_array().unwrap().clone();
            assert!(list("files").iter().all(|file| written.contains_key(file.as_str().unwrap())));
            assert!(list("violations").is_empty());
        }
    }
    let (one, two) = (files(&folder.0.join("one")), files(&folder.0.join("two")));
    assert_eq!(one.keys().collect::<Vec<_>>(), two.keys().collect::<Vec<_>>());
    for (name, content) in &one {
        assert!(two[name] == *content, "{name}");
    }
    assert!(one.contains_key("index.html") && one.contains_key("tokenwood-report.json"));
}

#[test]
fn an_earlier_report_is_replaced_and_other_files_stay() {
    let folder = Folder::new("replaced");
    let report = folder.0.join("report");
    fs::create_dir_all(&report).unwrap();
    let marker = r#"{"tokenwood_report": 1, "files": ["old.svg", "../outside"]}"#;
    fs::write(report.join("tokenwood-report.json"), marker).unwrap();
    fs::write(report.join("old.svg"), "old").unwrap();
    fs::write(report.join("notes.txt"), "mine").unwrap();
    fs::write(folder.0.join("outside"), "mine").unwrap();
    let names = exhibits(&folder);
    let wanted = names.first().map_or("--all", String::as_str);
    let output = folder.reproduce(&format!("{wanted} --quick --seeds 1 --out report"));
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("the report is report"));
    let found = files(&report);
    assert!(found.contains_key("index.html") && found.contains_key("notes.txt"));
    assert!(!found.contains_key("old.svg"));
    assert!(folder.0.join("outside").exists(), "nothing outside of the folder is touched");
}
