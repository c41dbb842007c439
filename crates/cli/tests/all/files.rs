//! Files that the workbench writes: names that are no text, and places where nothing can be written.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Output;

use crate::folder::{Folder, code, text};
use crate::json_schema::document;

/// Runs a command whose last word is a name that is no text.
fn oddly_named(folder: &Folder, command: &str, name: &[u8]) -> Output {
    folder.command(command).arg(OsStr::from_bytes(name)).output().unwrap()
}

#[test]
fn names_that_are_no_text_are_told_as_far_as_they_are() {
    let folder = Folder::new("odd-names");
    let cases: [(&str, &[u8], i32, &str); 5] = [
        ("check naimi-trehel --loss 1 --format json --trace", b"a\xff", 1, "/trace_file"),
        ("check naimi-trehel --loss 1 --random 50 --format json --trace", b"b\xff", 1, "/trace_file"),
        ("simulate naimi-trehel --nodes 3 --entries 9 --format json --trace", b"c\xff", 0, "/trace_file"),
        (
            "map --nodes 3 --entries 20 --seeds 2 --rates 1 --sections 1 --format json --measure wait,messages --output",
            b"d\xff.svg",
            0,
            "/files/0",
        ),
        ("reproduce thesis-one-token --quick --seeds 1 --format json --out", b"e\xff", 0, "/report"),
    ];
    for (command, name, ends, place) in cases {
        let output = oddly_named(&folder, command, name);
        assert_eq!(code(&output), ends, "{command}: {}", text(&output.stderr));
        let told = document(&output.stdout);
        let told = told.pointer(place).and_then(|file| file.as_str()).unwrap_or_default();
        assert!(told.contains('\u{fffd}'), "{command}: {told}");
    }
    assert!(folder.0.join(OsStr::from_bytes(b"a\xff")).exists());
    assert!(folder.0.join(OsStr::from_bytes(b"d\xff-wait-constant.svg")).exists());
}

#[test]
fn a_trace_that_is_not_saved_is_not_named() {
    let folder = Folder::new("unsaved");
    for command in ["check naimi-trehel --loss 1", "check naimi-trehel --loss 1 --random 50"] {
        let output = folder.run(&format!("{command} --format json --trace missing/a.json"));
        assert_eq!(code(&output), 1, "{command}");
        assert!(document(&output.stdout)["trace_file"].is_null(), "{command}: {}", text(&output.stdout));
        assert!(text(&output.stderr).contains("cannot save the trace"), "{command}");
    }
    let simulate = "simulate naimi-trehel --nodes 3 --entries 9 --trace missing/a.json";
    let output = folder.run(&format!("{simulate} --format json"));
    assert_eq!(code(&output), 2);
    assert!(document(&output.stdout)["trace_file"].is_null());
    let output = folder.run(simulate);
    assert_eq!(code(&output), 2);
    assert!(text(&output.stdout).contains("time to enter"), "the results stay");
}

#[test]
fn a_picture_that_cannot_be_written_is_refused_before_anything_is_simulated() {
    let folder = Folder::new("no-picture");
    // In the way of the file that is written first, also for those who may write everywhere.
    fs::create_dir(folder.0.join("m.svg.part")).unwrap();
    let output = folder.run("map --measure wait --output m.svg");
    assert_eq!(code(&output), 2, "{}", text(&output.stderr));
    assert!(output.stdout.is_empty() && text(&output.stderr).contains("cannot write 'm.svg'"));
}

#[test]
fn verdicts_stay_if_their_report_cannot_be_written() {
    let folder = Folder::new("no-report");
    let report = folder.0.join("report");
    fs::create_dir(&report).unwrap();
    fs::write(report.join("tokenwood-report.json"), r#"{"tokenwood_report": 1, "files": []}"#).unwrap();
    fs::create_dir(report.join("index.html.part")).unwrap();
    let wanted = "reproduce thesis-one-token --quick --seeds 1 --out report";
    let output = folder.run(wanted);
    let (shown, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(code(&output), 2, "{error}");
    assert!(error.contains("cannot write") && error.contains("index.html"), "{error}");
    assert!(shown.contains("thesis-one-token") && !shown.contains("the report is"), "{shown}");
    let output = folder.run(&format!("{wanted} --format json"));
    assert_eq!(code(&output), 2);
    let told = document(&output.stdout);
    assert!(told["report"].is_null() && !told["exhibits"][0]["claims"].as_array().unwrap().is_empty());
}

#[test]
fn a_report_stays_if_a_new_one_cannot_be_written() {
    let folder = Folder::new("old-report");
    let report = folder.0.join("report");
    let wanted = "reproduce thesis-one-token --quick --out report --seeds";
    assert_eq!(code(&folder.run(&format!("{wanted} 1"))), 0);
    let files = || {
        let entries = fs::read_dir(&report).unwrap().map(|entry| entry.unwrap().path());
        let read =
            |path: std::path::PathBuf| path.is_file().then(|| (path.clone(), fs::read(&path).unwrap()));
        entries.filter_map(read).collect::<std::collections::BTreeMap<_, _>>()
    };
    let before = files();
    // In the way of the last of the files: most of the others could be written.
    let last = before.keys().rfind(|path| path.extension().is_some_and(|it| it == "svg")).unwrap();
    let mut in_the_way = last.clone().into_os_string();
    in_the_way.push(".part");
    fs::create_dir(&in_the_way).unwrap();
    assert_eq!(code(&folder.run(&format!("{wanted} 2"))), 2);
    let pictures = |files: &std::collections::BTreeMap<_, Vec<u8>>| {
        let mut files = files.clone();
        files.remove(&report.join("tokenwood-report.json"));
        files
    };
    assert!(
        pictures(&files()) == pictures(&before),
        "the report of before is whole, and nothing is left over"
    );
    fs::remove_dir(&in_the_way).unwrap();
    assert_eq!(code(&folder.run(&format!("{wanted} 2"))), 0);
    let after = files();
    assert!(after.keys().eq(before.keys()) && after != before);
}

#[test]
fn a_file_of_another_kind_is_called_so() {
    let folder = Folder::new("no-trace");
    fs::write(folder.0.join("a.txt"), "hello\n").unwrap();
    fs::write(folder.0.join("b.bin"), [0xff, 0xfe, 0]).unwrap();
    for file in ["a.txt", "b.bin"] {
        let output = folder.run(&format!("trace {file}"));
        let error = text(&output.stderr);
        assert_eq!(code(&output), 2, "{error}");
        assert!(error.contains("none of the files that this command reads"), "{error}");
        assert!(error.contains("--trace FILE") && !error.contains("line 1"), "{error}");
    }
}
