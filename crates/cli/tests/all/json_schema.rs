//! What the program prints, against the schemas in `docs/schemas`.

mod validator;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

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
    validator::problems(schema, schema, value)
}

#[test]
fn the_validator_finds_what_is_wrong() {
    let schema: Value = serde_json::json!({
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": { "type": ["integer", "null"], "minimum": 0, "maximum": 9 },
            "b": { "anyOf": [{ "$ref": "#/$defs/b" }, { "type": "null" }] },
            "c": { "type": "array", "items": { "enum": ["x"] } },
            "d": { "type": "object", "additionalProperties": { "type": "boolean" } },
            "f": { "type": "object", "additionalProperties": true },
        },
        "$defs": { "b": { "type": "object", "required": ["e"], "properties": { "e": { "const": 1 } } } },
    });
    let judge = |text: &str| against(&schema, &serde_json::from_str(text).unwrap()).join("; ");
    for well in [
        r#"{"a":1}"#,
        r#"{"a":null,"b":null,"c":["x"],"d":{"y":true}}"#,
        r#"{"a":1,"b":{"e":1},"f":{"g":0}}"#,
    ] {
        assert_eq!(judge(well), "", "{well}");
    }
    for (wrong, why) in [
        (r"{}", "$: 'a' is missing"),
        (r#"{"a":1.5}"#, "is not of type"),
        (r#"{"a":-1}"#, "$.a: -1 is less than 0"),
        (r#"{"a":10}"#, "$.a: 10 is more than 9"),
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
    assert!(
        !against(&serde_json::json!({ "multipleOf": 1 }), &Value::from(2)).is_empty(),
        "an unknown keyword"
    );
}
