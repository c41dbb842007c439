//! A strict validator for what `docs/schemas` uses of JSON Schema. A field that a schema does not name is an error here, so that
//! no field is printed without a description; so is a keyword that this file does not know.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas")
}

/// The schema of this name.
pub(crate) fn schema(name: &str) -> Value {
    let file = folder().join(format!("{name}.json"));
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap()
}

/// Reads a document that the program has printed, and validates it against the schema that it names.
pub(crate) fn document(text: impl AsRef<[u8]>) -> Value {
    let text = String::from_utf8_lossy(text.as_ref()).into_owned();
    assert_eq!(text.trim_end().lines().count(), 1, "a document takes one line: {text}");
    assert!(text.starts_with("{\"schema\":\"tokenwood."), "a document names its schema: {text}");
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let problems = problems(&value);
    assert!(problems.is_empty(), "{}\n{text}", problems.join("\n"));
    value
}

/// What a document has that its schema does not allow.
pub(crate) fn problems(document: &Value) -> Vec<String> {
    let id = document["schema"].as_str().unwrap_or_default();
    let name = id.strip_prefix("tokenwood.").and_then(|rest| rest.split_once('/')).map(|(name, _)| name);
    let Some(name) = name else { return vec![format!("it names no schema: {document}")] };
    against(&schema(name), document)
}

pub(crate) fn against(schema: &Value, value: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    Validator { root: schema }.check(schema, value, "$", &mut problems);
    problems
}

struct Validator<'a> {
    root: &'a Value,
}

const KEYWORDS: [&str; 14] = [
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "const",
    "enum",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "anyOf",
];

impl Validator<'_> {
    fn check(&self, schema: &Value, value: &Value, path: &str, problems: &mut Vec<String>) {
        let rules = schema.as_object().unwrap_or_else(|| panic!("{path}: no schema: {schema}"));
        for keyword in rules.keys().filter(|word| *word != "oneOf" && !KEYWORDS.contains(&word.as_str())) {
            problems.push(format!("{path}: the validator does not know '{keyword}'"));
        }
        if let Some(place) = schema["$ref"].as_str() {
            let found = self.root.pointer(place.trim_start_matches('#'));
            self.check(found.unwrap_or_else(|| panic!("{path}: no {place}")), value, path, problems);
        }
        if !schema["type"].is_null() && !has_type(&schema["type"], value) {
            problems.push(format!("{path}: {value} is not of type {}", schema["type"]));
            return;
        }
        if rules.get("const").is_some_and(|wanted| wanted != value) {
            problems.push(format!("{path}: {value} is not {}", schema["const"]));
        }
        if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
            problems.push(format!("{path}: {value} is none of {}", schema["enum"]));
        }
        for (keyword, most) in [("anyOf", usize::MAX), ("oneOf", 1)] {
            if let Some(branches) = schema[keyword].as_array() {
                self.check_branches(branches, most, value, path, problems);
            }
        }
        match value {
            Value::Object(fields) => self.check_fields(schema, fields, path, problems),
            Value::Array(items) if schema.get("items").is_some() => {
                for (index, item) in items.iter().enumerate() {
                    self.check(&schema["items"], item, &format!("{path}[{index}]"), problems);
                }
            }
            _ => {}
        }
    }

    /// At least one branch must match, and at most so many. If none does, the nearest one says why.
    fn check_branches(
        &self,
        branches: &[Value],
        most: usize,
        value: &Value,
        path: &str,
        problems: &mut Vec<String>,
    ) {
        let judged = branches.iter().map(|branch| {
            let mut found = Vec::new();
            self.check(branch, value, path, &mut found);
            found
        });
        let judged: Vec<Vec<String>> = judged.collect();
        let matching = judged.iter().filter(|found| found.is_empty()).count();
        if matching == 0 {
            problems.extend(judged.into_iter().min_by_key(Vec::len).unwrap_or_default());
        } else if matching > most {
            problems.push(format!("{path}: {matching} shapes match, and only one may"));
        }
    }

    fn check_fields(
        &self,
        schema: &Value,
        fields: &Map<String, Value>,
        path: &str,
        problems: &mut Vec<String>,
    ) {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                problems.push(format!("{path}: '{name}' is missing"));
            }
        }
        // An object of branches is described by them.
        let is_described =
            ["type", "properties", "additionalProperties"].iter().any(|it| schema.get(it).is_some());
        for (name, field) in fields.iter().filter(|_| is_described) {
            let path = format!("{path}.{name}");
            match (schema["properties"].get(name), schema.get("additionalProperties")) {
                (Some(rule), _) | (None, Some(rule)) => self.check(rule, field, &path, problems),
                (None, None) => problems.push(format!("{path}: the schema does not name it")),
            }
        }
    }
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    let one = |wanted: &Value| match wanted.as_str().unwrap_or_default() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("there is no type '{other}'"),
    };
    wanted.as_array().map_or_else(|| one(wanted), |several| several.iter().any(one))
}

#[test]
fn the_validator_finds_what_is_wrong() {
    let schema: Value = serde_json::json!({
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": { "type": ["integer", "null"] },
            "b": { "anyOf": [{ "$ref": "#/$defs/b" }, { "type": "null" }] },
            "c": { "type": "array", "items": { "enum": ["x"] } },
            "d": { "type": "object", "additionalProperties": { "type": "boolean" } },
        },
        "$defs": { "b": { "type": "object", "required": ["e"], "properties": { "e": { "const": 1 } } } },
    });
    let judge = |text: &str| against(&schema, &serde_json::from_str(text).unwrap()).join("; ");
    for well in [r#"{"a":1}"#, r#"{"a":null,"b":null,"c":["x"],"d":{"y":true}}"#, r#"{"a":1,"b":{"e":1}}"#] {
        assert_eq!(judge(well), "", "{well}");
    }
    for (wrong, why) in [
        (r"{}", "$: 'a' is missing"),
        (r#"{"a":1.5}"#, "is not of type"),
        (r#"{"a":1,"z":2}"#, "$.z: the schema does not name it"),
        (r#"{"a":1,"b":{}}"#, "$.b: 'e' is missing"),
        (r#"{"a":1,"b":{"e":2}}"#, "$.b.e: 2 is not 1"),
        (r#"{"a":1,"b":{"e":1,"z":0}}"#, "$.b.z: the schema does not name it"),
        (r#"{"a":1,"c":["y"]}"#, "$.c[0]: \"y\" is none of"),
        (r#"{"a":1,"d":{"y":1}}"#, "$.d.y: 1 is not of type"),
        ("[]", "$: [] is not of type"),
    ] {
        assert!(judge(wrong).contains(why), "{wrong}: {}", judge(wrong));
    }
    assert!(!against(&serde_json::json!({ "minimum": 1 }), &Value::from(2)).is_empty(), "an unknown keyword");
}
