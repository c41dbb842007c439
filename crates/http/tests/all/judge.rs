//! Every answer of a node, against the document that the node serves.

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde_json::Value;

use crate::client::Answer;
use crate::validator;

/// What judges answers, and remembers which there were.
#[derive(Default)]
pub(crate) struct Judge {
    pub(crate) document: Value,
    /// Operation and status; and for refusals also the type.
    seen: Mutex<BTreeSet<(String, u16, String)>>,
}

impl Judge {
    pub(crate) fn new(document: Value) -> Judge {
        assert_eq!(document["openapi"], "3.1.0");
        Judge { document, seen: Mutex::default() }
    }

    /// The operation that a request means, if there is one.
    pub(crate) fn operation(&self, request: &str) -> Option<&Value> {
        let (method, rest) = request.split_once(' ').unwrap();
        let path = rest.split('?').next().unwrap();
        let paths = self.document["paths"].as_object()?;
        let fits = |template: &str| match template.split_once('{') {
            None => template == path,
            Some((before, after)) => {
                let end = after.split_once('}').map_or("", |(_, end)| end);
                path.len() > before.len() + end.len() && path.starts_with(before) && path.ends_with(end)
            }
        };
        // Of several, the one with a verb.
        let path = paths.keys().filter(|template| fits(template)).max_by_key(|template| template.len())?;
        paths[path].get(method.to_lowercase())
    }

    /// Panics if the document does not allow an answer.
    pub(crate) fn judge(&self, request: &str, answer: &Answer) {
        if request.contains(" /v1/terraform/") {
            return; // Its methods cannot be in the document, and its answers are Terraform's.
        }
        let Some(operation) = self.operation(request) else {
            assert!(matches!(answer.problem(), "not-found" | "no-such-method"), "{request}: {answer:?}");
            assert_eq!(answer.header("allow").is_some(), answer.status == 405, "{request}: {answer:?}");
            let schema = &self.document["components"]["schemas"]["Problem"];
            let wrong = validator::problems(&self.document, schema, &answer.body);
            assert_eq!(wrong, [""; 0], "{request}: {answer:?}");
            return;
        };
        let response = &operation["responses"][answer.status.to_string()];
        assert!(response.is_object(), "{request}: {} is not documented: {answer:?}", answer.status);
        let kind = answer.header("content-type");
        match (response["content"].as_object(), kind) {
            (None, None) => assert_eq!(answer.body, "", "{request}"),
            (Some(contents), Some(kind)) => {
                let content = contents.iter().find(|(documented, _)| kind.starts_with(documented.as_str()));
                let (_, content) = content.unwrap_or_else(|| panic!("{request}: {kind} is not documented"));
                let wrong = validator::problems(&self.document, &content["schema"], &answer.body);
                assert_eq!(wrong, [""; 0], "{request}: {answer:?}");
            }
            (_, kind) => panic!("{request}: {kind:?} is not documented"),
        }
        let problem = answer.problem();
        let means = response["description"].as_str().unwrap_or_default();
        assert!(
            problem.is_empty() || means.contains(&format!("`{problem}`: ")),
            "{request}: {problem}: {means}"
        );
        let has_header = response["headers"].get("Retry-After").is_some();
        assert_eq!(answer.header("retry-after").is_some(), has_header, "{request}: {answer:?}");
        let id = operation["operationId"].as_str().unwrap().to_string();
        self.seen.lock().unwrap().insert((id, answer.status, problem.to_string()));
    }

    /// Operations that have not succeeded yet, and types of problems that there were not yet.
    pub(crate) fn missing(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let items = self.document["paths"].as_object().unwrap().values();
        let operations = items.flat_map(|item| item.as_object().unwrap().values());
        let ids = operations.filter_map(|operation| operation["operationId"].as_str());
        let is_well = |id: &&str| seen.iter().any(|(seen, status, _)| seen == id && *status < 300);
        let types = &self.document["components"]["schemas"]["Problem"]["properties"]["type"]["enum"];
        let types = types.as_array().unwrap().iter().filter_map(|urn| urn.as_str()?.rsplit(':').next());
        let was_there = |name: &&str| seen.iter().any(|(_, _, seen)| seen == name);
        let operations = ids.filter(|id| !is_well(id));
        operations.chain(types.filter(|name| !was_there(name))).map(str::to_string).collect()
    }
}
