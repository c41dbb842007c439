//! Pages that stay true: lines that can be read, links that lead somewhere, and a map with every crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The widest line of prose. Tables, code and diagrams may be wider.
const MOST_COLUMNS: usize = 100;
/// A program writes these pages.
const GENERATED: [&str; 2] = ["docs/errata.md", "docs/checked.md"];
const MAP: &str = "ARCHITECTURE.md";

/// What is wrong with a page.
pub(crate) fn check(file: &Path) -> Vec<String> {
    if file.extension().is_none_or(|extension| extension != "md") {
        return Vec::new();
    }
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut problems = dead_links(file, &text);
    if !GENERATED.iter().any(|page| file.ends_with(page)) {
        problems.extend(wide_lines(file, &text));
    }
    problems.extend(stale_names(file, &text));
    if file == Path::new("README.md") {
        problems.extend(wrong_compiler(&text));
    }
    if file == Path::new(MAP) {
        problems.extend(gaps_in_map(&text));
    }
    problems
}

/// The lines of a page outside of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

fn wide_lines(file: &Path, text: &str) -> Vec<String> {
    let wide = |(_, line): &(usize, &str)| line.chars().count() > MOST_COLUMNS && !line.starts_with('|');
    let problem = |(number, line): (usize, &str)| {
        let columns = line.chars().count();
        format!("{}:{number}: {columns} columns, at most {MOST_COLUMNS}", file.display())
    };
    prose(text).filter(wide).map(problem).collect()
}

/// Links to files that do not exist, or to headings that their pages do not have.
fn dead_links(file: &Path, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, line) in prose(text) {
        for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || leads_somewhere(file, text, target) {
                continue;
            }
            problems.push(format!("{}:{number}: dead link: {target}", file.display()));
        }
    }
    problems
}

fn leads_somewhere(file: &Path, text: &str, target: &str) -> bool {
    let (path, heading) = target.split_once('#').map_or((target, None), |(path, to)| (path, Some(to)));
    let page = file.parent().unwrap_or(Path::new("")).join(path);
    match heading {
        None => page.exists(),
        Some(heading) if path.is_empty() => has_heading(text, heading),
        Some(heading) => fs::read_to_string(page).is_ok_and(|text| has_heading(&text, heading)),
    }
}

fn has_heading(text: &str, wanted: &str) -> bool {
    let anchor = |line: &str| -> String {
        let kept = line.trim_start_matches('#').trim().chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            letter => letter.is_alphanumeric().then(|| letter.to_ascii_lowercase()),
        });
        kept.collect()
    };
    prose(text).any(|(_, line)| line.starts_with('#') && anchor(line) == wanted)
}

/// The README names the oldest compiler that the workspace is built with.
fn wrong_compiler(text: &str) -> Option<String> {
    let manifest = fs::read_to_string("Cargo.toml").unwrap_or_default();
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "))?;
    let named = format!("Rust {} or newer", version.trim_matches('"'));
    (!text.contains(&named)).then(|| format!("README.md: does not say '{named}'"))
}

/// Source files that do not exist, and packages that `cargo` is told of but are not here.
fn stale_names(file: &Path, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let packages = packages();
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split([' ', '`', ',', '(', ')', '|']).collect();
        let is_source = |word: &&&str| word.starts_with("crates/") && word.ends_with(".rs");
        for word in words.iter().filter(is_source).filter(|word| !word.contains(['*', '<'])) {
            if !Path::new(word).exists() {
                problems.push(format!("{}:{number}: no such file: {word}", file.display()));
            }
        }
        for pair in words.windows(2).filter(|pair| ["-p", "--package"].contains(&pair[0])) {
            if pair[1].starts_with("tokenwood") && !packages.contains(pair[1]) {
                problems.push(format!("{}:{number}: no such package: {}", file.display(), pair[1]));
            }
        }
    }
    problems
}

/// The names of the packages in this workspace.
fn packages() -> BTreeSet<String> {
    let name = |folder: &String| {
        let manifest = fs::read_to_string(Path::new("crates").join(folder).join("Cargo.toml")).ok()?;
        let line = manifest.lines().find_map(|line| line.strip_prefix("name = "))?;
        Some(line.trim_matches('"').to_string())
    };
    names_in(Path::new("crates")).iter().filter_map(name).collect()
}

/// Crates that the map lacks or draws with other dependencies than they have, and files that it names and that do not exist.
fn gaps_in_map(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let crates = names_in(Path::new("crates"));
    for name in &crates {
        let row = text.lines().find(|line| line.starts_with(&format!("| [`{name}`](crates/{name}) |")));
        let Some(row) = row else {
            problems.push(format!("{MAP}: no row for crates/{name}"));
            continue;
        };
        let cell = row.split('|').nth(3).unwrap_or_default();
        let cell = cell.split('(').next().unwrap_or_default();
        let drawn: BTreeSet<String> = cell
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| crates.contains(*name))
            .map(str::to_string)
            .collect();
        let real = dependencies(name, &crates);
        if drawn != real && !cell.trim().starts_with("all") {
            problems.push(format!("{MAP}: crates/{name} depends on {real:?}, the map says {drawn:?}"));
        }
    }
    let named = prose(text).flat_map(|(number, line)| {
        line.split('`').skip(1).step_by(2).map(move |word| (number, word)).collect::<Vec<_>>()
    });
    let words = words_of_sources(Path::new("crates"));
    for (number, word) in named {
        let is_name = word.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':');
        let last = word.rsplit("::").next().unwrap_or_default();
        if is_name && !crates.contains(word) && !words.contains(last) {
            problems.push(format!("{MAP}:{number}: no such name in the code: {word}"));
        }
        let in_crate = word.split('/').next().is_some_and(|first| crates.contains(first));
        if in_crate
            && word.ends_with(".rs")
            && !word.contains(['*', '<'])
            && !Path::new("crates").join(word).exists()
        {
            problems.push(format!("{MAP}:{number}: no such file: crates/{word}"));
        }
    }
    problems
}

/// Every word in Rust files and manifests below a folder.
fn words_of_sources(folder: &Path) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            words.extend(words_of_sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "toml") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let found = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            words.extend(found.map(str::to_string));
        }
    }
    words
}

/// The crates of this workspace that a crate needs to be built.
fn dependencies(name: &str, crates: &BTreeSet<String>) -> BTreeSet<String> {
    let manifest =
        fs::read_to_string(PathBuf::from("crates").join(name).join("Cargo.toml")).unwrap_or_default();
    let section =
        manifest.split("\n[").find(|section| section.starts_with("dependencies]")).unwrap_or_default();
    let keys = section.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
    // A library named http would be taken for another one.
    let keys = keys.map(|key| if key == "http_door" { "http" } else { key });
    keys.filter(|key| crates.contains(*key)).map(str::to_string).collect()
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().join("Cargo.toml").exists());
    folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_heading_needs_the_heading() {
        let text =
            "# One page\n\n## The `run` command, and more\n[a](#the-run-command-and-more) [b](#other)\n";
        let dead = dead_links(Path::new("docs/x.md"), text);
        assert_eq!(dead, ["docs/x.md:4: dead link: #other"]);
    }

    #[test]
    fn files_and_packages_have_to_exist() {
        let text = "`crates/none/src/x.rs`\n`cargo test -p tokenwood-none`\n`crates/<name>.rs`\n";
        let stale = stale_names(Path::new("x.md"), text);
        let expected =
            ["x.md:1: no such file: crates/none/src/x.rs", "x.md:2: no such package: tokenwood-none"];
        assert_eq!(stale, expected);
    }

    #[test]
    fn code_and_tables_may_be_wide() {
        let wide = "x".repeat(MOST_COLUMNS + 1);
        let text = format!("```\n{wide}\n```\n|{wide}|\n{wide}\n");
        assert_eq!(wide_lines(Path::new("x.md"), &text), ["x.md:5: 101 columns, at most 100"]);
    }
}
