//! The document has what the router has, and `docs/openapi.json` is the document.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;
use crate::target::VERBS;

/// The paths of the router, as the document writes them.
fn routes() -> BTreeSet<String> {
    let paths = crate::routes().map(|(path, _)| path.replace("{*rest}", "{name}").replace("{*", "{"));
    let verbs = VERBS.map(|(verb, _)| format!("/v1/locks/{{name}}/{verb}"));
    paths.into_iter().chain(verbs).collect()
}

#[test]
fn every_route_is_in_the_document_and_nothing_else() {
    let document = document();
    let paths: BTreeSet<String> = document["paths"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(paths, routes());
    for (verb, method) in VERBS {
        let operations = document["paths"][format!("/v1/locks/{{name}}/{verb}")].as_object().unwrap();
        assert_eq!(operations.keys().collect::<Vec<_>>(), [&method.to_lowercase()]);
    }
}

#[test]
fn every_reference_leads_somewhere_and_everything_is_used_and_explained() {
    let document = document();
    let text = document.to_string();
    let mut named = BTreeSet::new();
    for part in text.split("\"$ref\":\"#").skip(1) {
        let place = part.split('"').next().unwrap();
        assert!(document.pointer(place).is_some(), "there is no {place}");
        named.insert(place.to_string());
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        assert!(named.contains(&format!("{SCHEMAS}/{name}")), "{name} is not used");
        assert!(schema["description"].is_string(), "{name} is not explained");
    }
    let operations = operations::all();
    let ids: BTreeSet<&str> = operations.iter().map(|operation| operation.id).collect();
    assert_eq!(ids.len(), operations.len(), "two operations have the same id");
    // Those of operations, and those that links name.
    for part in text.split("\"operationId\":\"").skip(1) {
        let id = part.split('"').next().unwrap();
        assert!(ids.contains(id), "there is no operation {id}");
    }
}

#[test]
fn every_type_of_problem_is_somewhere() {
    let text = document()["paths"].to_string();
    for Kind(name, ..) in KINDS {
        // This one is for paths and methods that are not in the document.
        assert!(
            text.contains(&format!("`{name}`: ")) || *name == "no-such-method",
            "no operation has {name}"
        );
    }
}

/// Clients in other languages are made from the file.
#[test]
fn the_file_has_the_document() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let text = format!("{:#}\n", document());
    if std::env::var_os("TOKENWOOD_REWRITE").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == text, "docs/openapi.json is old: cargo xtask rewrite, and look at the difference");
}
