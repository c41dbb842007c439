//! Finds the examples: in the blocks of all pages, in the guide and in the help of every command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cluster::TOKENWOOD;
use crate::folder::text;

/// One command that a reader can paste.
pub(crate) struct Example {
    pub(crate) line: usize,
    /// Without the prompt; continued lines are still several.
    pub(crate) command: String,
    /// What the page shows below the prompt; empty where it shows nothing.
    pub(crate) shown: String,
    /// Which block of its page it is in.
    pub(crate) block: usize,
}

/// A page, or what the program itself prints, with its examples in the order of the text.
pub(crate) struct Page {
    pub(crate) name: String,
    pub(crate) examples: Vec<Example>,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Everything that shows examples.
pub(crate) fn all() -> Vec<Page> {
    let mut pages: Vec<Page> =
        files().into_iter().map(|name| Page { examples: of_page(&name), name }).collect();
    pages.push(Page { name: "tokenwood".to_string(), examples: in_guide(&said(&[])) });
    for command in commands(&[]) {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let name = format!("tokenwood {}", words.join(" "));
        pages.push(Page { examples: in_help(&said(&words)), name });
    }
    pages.retain(|page| !page.examples.is_empty());
    pages
}

/// The examples of one page of the repository.
pub(crate) fn of_page(name: &str) -> Vec<Example> {
    in_markdown(&fs::read_to_string(root().join(name)).unwrap())
}

/// All pages, from the repository's root.
pub(crate) fn files() -> Vec<String> {
    let (root, mut folders, mut files) = (root(), vec![PathBuf::from("docs")], Vec::new());
    let markdown = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
    let entries = |folder: &Path| fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    files.extend(entries(Path::new("")).filter(|path| markdown(path)));
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else if markdown(&path) {
                files.push(path);
            }
        }
    }
    let inside = |path: PathBuf| path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
    let mut names: Vec<String> = files.into_iter().map(inside).collect();
    names.sort();
    names
}

fn said(arguments: &[&str]) -> String {
    text(&Command::new(TOKENWOOD).args(arguments).output().unwrap().stdout)
}

/// All commands and their subcommands, as their help lists them.
fn commands(above: &[String]) -> Vec<Vec<String>> {
    let words: Vec<&str> = above.iter().map(String::as_str).chain(["--help"]).collect();
    let help = said(&words);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| !line.is_empty()).filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name != "help").then(|| name.to_string())
    });
    names
        .flat_map(|name| {
            let command = [above, &[name]].concat();
            [vec![command.clone()], commands(&command)].concat()
        })
        .collect()
}

/// The commands of `sh` blocks, and those with a prompt in blocks that show what is printed.
pub(crate) fn in_markdown(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    // The language of the block, and whether the line before goes on in this one.
    let (mut language, mut block, mut continued) = (None, 0, false);
    for (line, raw) in (1..).zip(text.lines()) {
        let trimmed = raw.trim_start();
        if let Some(opened) = trimmed.strip_prefix("```") {
            block += 1;
            language = if language.is_some() { None } else { Some(opened.to_string()) };
            continued = false;
            continue;
        }
        let Some(language) = &language else { continue };
        let is_script = ["sh", "bash", "shell"].contains(&language.as_str());
        let prompted = trimmed.strip_prefix("$ ");
        match examples.last_mut() {
            Some(example) if continued => {
                example.command = format!("{}\n{trimmed}", example.command);
                continued = trimmed.ends_with('\\');
            }
            _ if prompted.is_some() || is_script && !trimmed.is_empty() && !trimmed.starts_with('#') => {
                let command = prompted.unwrap_or(trimmed).to_string();
                continued = command.ends_with('\\');
                examples.push(Example { line, command, shown: String::new(), block });
            }
            Some(example) if !is_script && example.block == block => {
                example.shown.push_str(raw);
                example.shown.push('\n');
            }
            _ => {}
        }
    }
    examples
}

/// Checks and simulations within the text of a page that a reader can paste: with a name and a flag, on one line, and
/// without a word that stands for another.
pub(crate) fn inline(text: &str) -> Vec<Example> {
    let stands_for = |word: &str| word.chars().all(|letter| letter.is_ascii_uppercase());
    let is_whole = |span: &str| {
        let words: Vec<&str> = span.split_whitespace().collect();
        let [program, command, name, _, ..] = words[..] else { return false };
        program == "tokenwood"
            && ["check", "simulate"].contains(&command)
            && !name.starts_with("--")
            && !span.contains(['…', '[', '<'])
            && !words.into_iter().any(stands_for)
    };
    let mut found = Vec::new();
    let mut is_code = false;
    for (line, text) in (1..).zip(text.lines()) {
        is_code ^= text.trim_start().starts_with("```");
        let goes_on = text.matches('`').count() % 2 == 1;
        let spans = text.split('`').skip(1).step_by(2).filter(|span| !is_code && !goes_on && is_whole(span));
        let example =
            |span: &str| Example { line, command: span.to_string(), shown: String::new(), block: 0 };
        found.extend(spans.map(example));
    }
    found
}

/// The commands of the guide: the explanation follows after two spaces, or on the next line.
fn in_guide(text: &str) -> Vec<Example> {
    let lines = (1..).zip(text.lines());
    let commands = lines.filter_map(|(line, text)| {
        let command = text.strip_prefix("  ")?.split("  ").next()?.to_string();
        (!command.is_empty()).then_some(Example { line, command, shown: String::new(), block: 0 })
    });
    commands.collect()
}

/// The commands in a help text: indented lines that begin with one.
fn in_help(text: &str) -> Vec<Example> {
    let is_command = |line: &str| {
        line.starts_with("    ")
            && ["tokenwood ", "sbatch ", "parallel ", "grant="]
                .iter()
                .any(|first| line.trim_start().starts_with(first))
    };
    let mut examples: Vec<Example> = Vec::new();
    let mut continued = false;
    for (line, text) in (1..).zip(text.lines()) {
        match examples.last_mut() {
            Some(example) if continued => {
                example.command = format!("{}\n{}", example.command, text.trim_start());
            }
            _ if is_command(text) => {
                let command = text.trim_start().to_string();
                examples.push(Example { line, command, shown: String::new(), block: 0 });
            }
            _ => continue,
        }
        continued = text.ends_with('\\');
    }
    examples
}
