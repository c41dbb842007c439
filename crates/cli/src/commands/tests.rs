//! The guide and every page name commands and options that exist.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::*;
use crate::terminal::schema::Schema;

#[test]
fn the_guide_names_commands_that_exist() {
    let examples = GUIDE.iter().flat_map(|(_, examples)| *examples);
    let wrong: Vec<String> = examples.filter_map(|example| refusal(example.line)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_guide_fits_a_terminal() {
    let wide: Vec<String> =
        guide().lines().filter(|line| line.chars().count() > 110).map(str::to_string).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn pages_name_commands_that_exist() {
    let (mut checked, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (number, line) in commands_in(&text) {
            checked += 1;
            let refused = refusal(&line).map(|why| format!("{}:{number}: {why}", page.display()));
            wrong.extend(refused);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 100, "{checked} commands were found in all pages");
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let page = "```sh\n$ tokenwood run x --no-such -- true\ntokenwood lcoks   # typed wrong\n```\n";
    let refused = commands_in(page).filter(|(_, line)| refusal(line).is_some());
    assert_eq!(refused.map(|(number, _)| number).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(words("run x -- sh -c 'echo $A, b' # says"), ["run", "x", "--", "sh", "-c", "echo $A, b"]);
}

#[test]
fn every_command_with_json_is_on_the_page_about_json() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = fs::read_to_string(page).unwrap();
    let headings: Vec<&str> = page.lines().filter(|line| line.starts_with("### ")).collect();
    let mut found = Vec::new();
    with_json(&Cli::command(), "", &mut found);
    assert!(found.len() > 25, "{found:?}");
    for command in found {
        let named = [format!("`{command}`"), format!("`{command} ")];
        let has = headings.iter().any(|heading| named.iter().any(|named| heading.contains(named.as_str())));
        assert!(has, "docs/json.md has no heading with `{command}`, and needs its schema and an example");
    }
}

/// The commands that can print JSON.
fn with_json(command: &clap::Command, before: &str, found: &mut Vec<String>) {
    let name = format!("{before} {}", command.get_name()).trim().to_string();
    let prints = |argument: &clap::Arg| {
        let values = argument.get_possible_values();
        argument.get_long() == Some("format") && values.iter().any(|value| value.get_name() == "json")
    };
    if command.get_arguments().any(prints) {
        found.push(name.clone());
    }
    command.get_subcommands().for_each(|command| with_json(command, &name, found));
}

#[test]
fn every_schema_names_itself() {
    for schema in Schema::ALL {
        let value: serde_json::Value = serde_json::from_str(schema.text()).unwrap();
        let mut shapes = value["oneOf"].as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        if *schema == Schema::Recording {
            // The first line of a file names it for all others.
            shapes.truncate(1);
        }
        for shape in shapes {
            assert_eq!(shape["properties"]["schema"]["const"], schema.id());
            assert!(shape["required"].as_array().unwrap().iter().any(|name| name == "schema"), "{schema:?}");
        }
        assert_eq!(value["$id"], format!("urn:{}", schema.id().replace(['.', '/'], ":")));
    }
}

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(page) = pages.pop() {
        let entries = fs::read_dir(&page).unwrap().map(|entry| entry.unwrap().path());
        for path in entries {
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("md") => files.push(path),
                None if ["docs", "algorithms", "papers"].iter().any(|name| path.ends_with(name)) => {
                    pages.push(path);
                }
                _ => {}
            }
        }
    }
    files
}

/// The commands in code, with the numbers of their lines. Continued lines are joined.
fn commands_in(text: &str) -> impl Iterator<Item = (usize, String)> {
    let (mut code, mut found, mut begun) = (false, Vec::new(), None::<(usize, String)>);
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            code = !code;
            continue;
        }
        let line = line.trim_start().trim_start_matches("$ ");
        if !code {
            let spans = line.split('`').skip(1).step_by(2).filter(|span| span.starts_with("tokenwood "));
            found.extend(spans.map(|span| (number, span.to_string())));
            continue;
        }
        let line = match begun.take() {
            Some((first, start)) => (first, format!("{start} {line}")),
            None if line.starts_with("tokenwood ") => (number, line.to_string()),
            None => continue,
        };
        match line.1.strip_suffix('\\') {
            Some(start) => begun = Some((line.0, start.to_string())),
            None => found.push(line),
        }
    }
    // What stands for something else cannot be parsed.
    let stands_for = |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_uppercase());
    found
        .into_iter()
        .filter(move |(_, line)| !line.contains(['…', '[', '<']) && !line.split(' ').any(stands_for))
}

/// Why the program refuses this line; `None` if it takes it.
fn refusal(line: &str) -> Option<String> {
    let command = line.split_once("tokenwood ").map_or(line, |(_, rest)| rest);
    // What a script has taken before.
    let command = command.replace("$grant", "0.1.1.1.1.000102030405060708090a0b0c0d0e0f@127.0.0.1:7710");
    let words = words(command.trim_end_matches(['&', ')', ' ']));
    let program = std::iter::once("tokenwood".to_string());
    let error = Cli::command().try_get_matches_from(program.chain(words)).err()?;
    let is_cut_off = line.rsplit(' ').next().is_some_and(|last| last.starts_with("--"));
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        // Text names commands and options without what has to follow.
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => None,
        ErrorKind::InvalidValue if is_cut_off => None,
        _ => Some(format!("{line}: {}", error.to_string().lines().next().unwrap_or_default())),
    }
}

/// The words of a line as a shell sees them, without comments and redirections.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some(_)) => word.get_or_insert_default().push(letter),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            // A comment, a redirection, or the next command.
            ('#' | '>' | '|' | '&' | ';', None) if word.is_none() => break,
            (' ', None) => words.extend(word.take()),
            (letter, None) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}
