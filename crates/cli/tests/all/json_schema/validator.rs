//! A strict validator for what our documents use of JSON Schema, shared by the tests of the program and of the HTTP door. A field
//! that a schema does not name is an error here, so that no field is printed without a description; so is a keyword that this
//! file does not know.

use serde_json::{Map, Value};

/// What a value has that a schema, which is a part of this document, does not allow.
pub(crate) fn problems(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    Validator { root: document }.check(schema, value, "$", &mut problems);
    problems
}

struct Validator<'a> {
    root: &'a Value,
}

const KEYWORDS: [&str; 17] = [
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
    "minimum",
    "maximum",
    "format",
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
        for (keyword, words, is_wrong) in
            [("minimum", "less", f64::lt as fn(&f64, &f64) -> bool), ("maximum", "more", f64::gt)]
        {
            let limit = schema[keyword].as_f64().zip(value.as_f64());
            if limit.is_some_and(|(limit, number)| is_wrong(&number, &limit)) {
                problems.push(format!("{path}: {value} is {words} than {}", schema[keyword]));
            }
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
                (None, Some(Value::Bool(true))) => {}
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
