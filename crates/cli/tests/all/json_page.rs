//! `docs/json.md`: its tables are those of the schemas, and its examples are documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::json_schema::{folder, problems};

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md")
}

/// All schemas by name.
fn schemas() -> BTreeMap<String, Value> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let schema = |file: PathBuf| {
        let name = file.file_stem().unwrap().to_str().unwrap().to_string();
        (name, serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap())
    };
    files.map(schema).collect()
}

/// What several documents share: objects by their name in `$defs`.
fn shared(schemas: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut shared = BTreeMap::new();
    for (name, schema) in schemas {
        for (object, rules) in schema["$defs"].as_object().into_iter().flatten() {
            let known = shared.entry(object.clone()).or_insert_with(|| rules.clone());
            assert_eq!(known, rules, "{object} of {name} is another one than that of other schemas");
        }
    }
    shared
}

/// The table of the fields of an object; a table for each shape if there are several.
fn table(schema: &Value) -> String {
    if let Some(shapes) = schema["oneOf"].as_array() {
        return shapes
            .iter()
            .map(|shape| format!("{}\n", table(shape)))
            .collect::<String>()
            .trim_end()
            .to_string();
    }
    let mut rows = vec!["| field | type | meaning |".to_string(), "|---|---|---|".to_string()];
    add_rows(schema, "", &mut rows);
    rows.join("\n") + "\n"
}

fn add_rows(schema: &Value, prefix: &str, rows: &mut Vec<String>) {
    let fields = schema["properties"].as_object().into_iter().flatten();
    // Every document has this one.
    for (name, rules) in fields.filter(|(name, _)| !prefix.is_empty() || *name != "schema") {
        let path = format!("{prefix}{name}");
        let required = schema["required"].as_array().unwrap();
        let may_be_absent = if required.iter().any(|it| it == name) { "" } else { ", may be absent" };
        let meaning = rules["description"].as_str().unwrap_or_else(|| panic!("{path} has no description"));
        rows.push(format!(
            "| `{path}` | {}{may_be_absent} | {meaning} |",
            type_of(rules).replace('|', "\\|")
        ));
        add_inner_rows(rules, &path, rows);
    }
}

/// The fields of the objects in a field.
fn add_inner_rows(rules: &Value, path: &str, rows: &mut Vec<String>) {
    add_rows(rules, &format!("{path}."), rows);
    for branch in rules["anyOf"].as_array().into_iter().flatten() {
        add_rows(branch, &format!("{path}."), rows);
    }
    if rules.get("items").is_some() {
        add_inner_rows(&rules["items"], &format!("{path}[]"), rows);
    }
}

fn type_of(rules: &Value) -> String {
    let quoted = |value: &Value| match value {
        Value::Null => "null".to_string(),
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    };
    if let Some(place) = rules["$ref"].as_str() {
        let name = place.rsplit('/').next().unwrap();
        return format!("[{name}](#{name})");
    }
    if let Some(value) = rules.get("const") {
        return quoted(value);
    }
    if let Some(values) = rules["enum"].as_array() {
        return values.iter().map(quoted).collect::<Vec<_>>().join(", ");
    }
    if let Some(branches) = rules["anyOf"].as_array() {
        return branches.iter().map(type_of).collect::<Vec<_>>().join(" or ");
    }
    let types = match &rules["type"] {
        Value::Array(several) => several.clone(),
        Value::Null => return "any".to_string(),
        one => vec![one.clone()],
    };
    let named = |name: &Value| match name.as_str().unwrap() {
        "array" => format!("array of {}", type_of(&rules["items"])),
        "object" if rules.get("additionalProperties").is_some() => {
            format!("object: {} by name", type_of(&rules["additionalProperties"]))
        }
        name => name.to_string(),
    };
    types.iter().map(named).collect::<Vec<_>>().join(" or ")
}

const BEGIN: &str = "<!-- fields of ";
const END: &str = "<!-- end of fields -->";

#[test]
fn json_page_has_the_fields_of_every_schema() {
    let text = fs::read_to_string(page()).unwrap();
    let mut wanted = schemas();
    for (name, schema) in &wanted {
        let version = &format!("[`tokenwood.{name}/1`](schemas/{name}.json)");
        assert!(text.contains(version), "docs/json.md does not name {version}");
        assert!(schema["title"].is_string(), "{name} has no title");
    }
    wanted.extend(shared(&wanted.clone()).into_iter().map(|(name, rules)| (format!("object {name}"), rules)));
    let mut parts = text.split(BEGIN);
    let mut written = parts.next().unwrap().to_string();
    for part in parts {
        let (name, rest) = part.split_once(" -->").unwrap();
        let schema =
            wanted.remove(name).unwrap_or_else(|| panic!("'{name}' is there twice, or is no schema"));
        let after = rest.split_once(END).unwrap_or_else(|| panic!("the fields of {name} do not end")).1;
        written += &format!("{BEGIN}{name} -->\n\n{}\n{END}{after}", table(&schema));
    }
    assert!(wanted.is_empty(), "docs/json.md lacks the fields of {:?}", wanted.keys());
    if std::env::var_os("TOKENWOOD_REWRITE").is_some() {
        fs::write(page(), written).unwrap();
        return;
    }
    for (number, (found, written)) in (1..).zip(text.lines().zip(written.lines())) {
        assert_eq!(found, written, "docs/json.md line {number}: 'cargo xtask rewrite' writes it anew");
    }
    assert_eq!(text.len(), written.len(), "'cargo xtask rewrite' writes it anew");
}

#[test]
fn json_page_shows_documents() {
    let text = fs::read_to_string(page()).unwrap();
    let mut shown = Vec::new();
    for block in text.split("```json\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for document in serde_json::Deserializer::from_str(block).into_iter::<Value>() {
            let document = document.unwrap_or_else(|error| panic!("{error}: {block}"));
            let problems = problems(&document);
            assert!(problems.is_empty(), "{}\n{block}", problems.join("\n"));
            shown.push(document["schema"].as_str().unwrap().to_string());
        }
    }
    for name in schemas().keys() {
        assert!(shown.iter().any(|id| id.starts_with(&format!("tokenwood.{name}/"))), "no example of {name}");
    }
}
