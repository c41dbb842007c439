//! The answers in `docs/player.md` are those that the player gives.

use std::ops::ControlFlow;
use std::path::Path;

use player::limits::Limits;
use player::{catalogue, compare, curve, find, gallery, open, play, share, stories};
use serde_json::{Value, json};

/// A line of JSON is no longer than this, if it can be broken.
const WIDTH: usize = 96;

/// JSON with as much on a line as fits.
fn pretty(value: &Value, indent: usize) -> String {
    let flat = value.to_string();
    let flat = if flat.len() + indent <= WIDTH { spaced(value) } else { flat };
    let pad = " ".repeat(indent + 2);
    let end = " ".repeat(indent);
    match value {
        _ if flat.chars().count() + indent <= WIDTH => flat,
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| format!("{pad}{}", pretty(item, indent + 2))).collect();
            format!("[\n{}\n{end}]", items.join(",\n"))
        }
        Value::Object(fields) => {
            let field =
                |(name, value): (&String, &Value)| format!("{pad}{name:?}: {}", pretty(value, indent + 2));
            format!("{{\n{}\n{end}}}", fields.iter().map(field).collect::<Vec<_>>().join(",\n"))
        }
        _ => flat,
    }
}

/// JSON on one line, with a space after each comma and colon.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name:?}: {}", spaced(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// The answer to the request of a section. Lists are cut, because one of their items tells all.
fn answer(section: &str, request: Value) -> Value {
    fn read<T: serde::de::DeserializeOwned>(request: Value) -> T {
        serde_json::from_value(request).expect("a request")
    }
    fn say<T: serde::Serialize>(answer: Result<T, player::Refusal>) -> Value {
        answer.map_or_else(|refusal| json!({ "refusal": refusal }), |answer| json!(answer))
    }
    let mut answer = match section {
        "play" => say(play(&read(request))),
        "autorun" | "refusals" => say(player::autorun(&read(request))),
        "find" => say(find(&read(request), 1, Limits::ALONE, &|_| ControlFlow::Continue(()))),
        "compare" => {
            let mut first = None;
            let done = compare(
                &read(request),
                &mut |entry| {
                    first.get_or_insert(entry);
                    ControlFlow::Continue(())
                },
                &|| ControlFlow::Continue(()),
            );
            json!({ "entry": first, "done": say(done) })
        }
        "curve" => say(curve(&read(request), &|| ControlFlow::Continue(()))),
        "share" => say(share(&read(request))),
        "open" => say(open(request.as_str().expect("a text"))),
        "gallery" => json!([gallery().unwrap().into_iter().find(|it| it.defect == "holding-not-set")]),
        "stories" => json!([stories().unwrap().remove(0)]),
        "catalogue" => json!([catalogue().into_iter().find(|it| it.name == "naimi-trehel")]),
        other => panic!("the page has a section '{other}' that no function answers"),
    };
    cut(&mut answer, section);
    answer
}

/// Shortens what would fill pages: lists of rules and of steps that can be taken, nodes and outlines.
fn cut(value: &mut Value, section: &str) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                let most = match (section, name.as_str()) {
                    (_, "rules" | "can" | "captions") => 2,
                    ("play", _) => usize::MAX,
                    (_, "steps") => 8,
                    (_, "times" | "bars" | "waits" | "messages" | "nodes" | "flight" | "states") => 1,
                    _ => usize::MAX,
                };
                if let Value::Array(items) = value {
                    items.truncate(most);
                }
                cut(value, section);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, section)),
        _ => {}
    }
}

#[test]
fn the_page_has_the_answers_of_the_player() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/player.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let mut now = String::new();
    let mut sections = page.split("\n## ");
    now += sections.next().unwrap_or("");
    for section in sections {
        let name = section.lines().next().unwrap_or("").trim().to_lowercase();
        // Each example is two blocks: the request (none for what takes none), and the answer.
        let mut blocks: Vec<&str> = section.split("```json\n").collect();
        now += "\n## ";
        let last = blocks.pop().unwrap_or("");
        if blocks.is_empty() {
            now += last;
            continue;
        }
        let request = match blocks.get(1) {
            Some(block) => serde_json::from_str(block.split("```").next().unwrap_or("")).expect("JSON"),
            None => Value::Null,
        };
        let after = last.split_once("\n```").map_or("", |(_, after)| after);
        let written = pretty(&answer(&name, request), 0);
        now += &format!("{}```json\n{written}\n```{after}", blocks.join("```json\n"));
    }
    if std::env::var_os("TOKENWOOD_REWRITE").is_some() {
        std::fs::write(&file, now).unwrap();
        return;
    }
    for (number, (now, page)) in (1..).zip(now.lines().zip(page.lines())) {
        assert_eq!(now, page, "docs/player.md line {number}: 'cargo xtask rewrite' writes it anew");
    }
    assert_eq!(now.lines().count(), page.lines().count(), "'cargo xtask rewrite' writes docs/player.md anew");
}
