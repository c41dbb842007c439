//! House rules that no lint checks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::{badges, pages};

const MOST_LINES: usize = 500;
/// Words that hide which thing acts: docs/glossary.md has better ones. Written in two parts so that this file
/// does not find itself.
const OLD_WORDS: [&str; 5] = [
    concat!("who", "ever"),
    concat!("some", "body"),
    concat!("be let", " in"),
    concat!("is let", " in"),
    concat!("not", " had"),
];

/// Names that code had before the house vocabulary (docs/glossary.md). Written in two parts, as above.
const OLD_NAMES: [&str; 22] = [
    concat!("Car", "etaker"),
    concat!("Comp", "laint"),
    concat!("De", "ed"),
    concat!("De", "sk"),
    concat!("Di", "ce"),
    concat!("Hab", "its"),
    concat!("Happ", "ening"),
    concat!("Mer", "cy"),
    concat!("Obs", "erver"),
    concat!("Omis", "sion"),
    concat!("Pati", "ence"),
    concat!("pati", "ence"),
    concat!("PATI", "ENCE"),
    concat!("Rei", "gn"),
    concat!("Short", "cut"),
    concat!("Sl", "ip"),
    concat!("Sp", "ot"),
    concat!("To", "ld"),
    concat!("is_of", "_node"),
    concat!("mind_the", "_load"),
    concat!("settle", "_on"),
    concat!("that_is", "_all"),
];
/// Files that hid what is in them.
const OLD_FILES: [&str; 10] = [
    "beside.rs",
    "complaint.rs",
    "council.rs",
    "desk.rs",
    "errands.rs",
    "field.rs",
    "life.rs",
    "line.rs",
    "part.rs",
    "sound.rs",
];

pub(crate) fn check() -> Result<()> {
    let output =
        Command::new("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]).output()?;
    let files: Vec<PathBuf> = String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect();
    let mut problems = badges::problems()?;
    for file in files.iter().filter(|file| file.exists()) {
        problems.extend(rust_file(file));
        problems.extend(pages::check(file));
        problems.extend(old_words(file));
    }
    if !problems.is_empty() {
        bail!("{}", problems.join("\n"));
    }
    println!("{} files are tidy", files.len());
    Ok(())
}

fn rust_file(file: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    if file.extension().is_none_or(|extension| extension != "rs") {
        return problems;
    }
    let text = fs::read_to_string(file).unwrap_or_default();
    let name = file.display();
    let lines = text.lines().count();
    if lines > MOST_LINES {
        problems.push(format!("{name}: {lines} lines, at most {MOST_LINES}"));
    }
    if !text.starts_with("//!") {
        problems.push(format!("{name}: does not begin by saying what it is for (//!)"));
    }
    if file.file_name().is_some_and(|name| OLD_FILES.iter().any(|old| name == *old)) {
        problems.push(format!("{name}: the file name does not say what is in it"));
    }
    for (number, line) in (1..).zip(text.lines()) {
        let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        // Files that users have keep their keys.
        let is_key = line.contains("serde(rename");
        for word in words.filter(|word| !is_key && OLD_NAMES.contains(word)) {
            problems.push(format!("{name}:{number}: '{word}': docs/glossary.md has the term"));
        }
        // Written in two parts so that this file does not complain about itself.
        let leftovers =
            [concat!("#[", "ignore"), concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
        if leftovers.iter().any(|leftover| line.contains(leftover)) {
            problems.push(format!("{name}:{number}: left over: {}", line.trim()));
        }
    }
    problems
}

/// Text that people find hard to read.
fn old_words(file: &Path) -> Vec<String> {
    let read = file
        .extension()
        .is_some_and(|extension| ["rs", "md", "toml", "txt"].iter().any(|it| extension == *it));
    if !read {
        return Vec::new();
    }
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.to_lowercase();
        for word in OLD_WORDS.iter().filter(|word| line.contains(*word)) {
            problems.push(format!("{}:{number}: '{word}': name the thing", file.display()));
        }
    }
    problems
}
