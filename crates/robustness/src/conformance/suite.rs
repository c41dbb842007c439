//! The cases, as they are in the folder `conformance`.

use anyhow::{Context, Result};

use super::case::Case;

macro_rules! files {
    ($($name:literal,)*) => {
        /// The files of the folder `conformance`, each with its text.
        pub const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../../conformance/", $name, ".json"))),)*];
    };
}

files! {
    "any-of",
    "cancel",
    "client-killed",
    "contention",
    "fence-order",
    "force",
    "leaving-release",
    "mismatch",
    "node-killed",
    "node-leaves",
    "pause",
    "read-write",
    "release-twice",
    "renewal",
    "resize",
    "room",
    "session-close",
    "slots",
    "stale-release",
    "timeout",
    "try-taken",
}

/// All cases.
pub fn suite() -> Result<Vec<Case>> {
    FILES.iter().map(|(name, text)| Case::read(text).with_context(|| format!("{name}.json"))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::CAPABILITIES;
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_a_case_of_its_name() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| Some(name.strip_suffix(".json")?.to_string()))
            .collect();
        files.sort();
        assert_eq!(files, suite().unwrap().into_iter().map(|case| case.name).collect::<Vec<_>>());
    }

    #[test]
    fn every_capability_is_needed_by_a_case() {
        let suite = suite().unwrap();
        for (name, _) in CAPABILITIES {
            assert!(suite.iter().any(|case| case.needs.iter().any(|need| need == name)), "{name}");
        }
    }

    #[test]
    fn a_case_that_makes_no_sense_is_refused() {
        let case = |actor: &str, steps: &str| {
            let head = r#""schema":"tokenwood.conformance-case/1","name":"n","about":"a","ttl":"1 lease""#;
            Case::read(&format!(r#"{{{head},"actors":{{"ann":{actor}}},"steps":[{steps}]}}"#))
        };
        let a = r#"{"do":"acquire","by":"ann","lock":"x","as":"a","expect":"granted"}"#;
        case("0", a).unwrap();
        for (actor, steps, why) in [
            ("3", a, "there are 3 nodes"),
            ("0", r#"{"do":"release","of":"b","expect":"released"}"#, "no step before it is called 'b'"),
            ("0", r#"{"do":"close","who":"ann"}"#, "its steps need 'session'"),
            ("0", r#"{"do":"dance","who":"ann"}"#, "unknown variant `dance`"),
            ("0", r#"{"do":"kill","who":"bob"}"#, "there is no actor 'bob'"),
            ("0", r#"{"do":"acquire","by":"ann","lock":"x","as":"a"}"#, "either 'background' or 'expect'"),
            ("0", r#"{"do":"acquire","by":"ann","lock":"x","as":"a","expect":"won"}"#, "no outcome"),
            ("0", r#"{"do":"acquire","by":"ann","lock":"x","as":"a","expect":"lost","soon":1}"#, "soon"),
        ] {
            let said = format!("{:#}", case(actor, steps).unwrap_err());
            assert!(said.contains(why), "{steps}: {said}");
        }
    }
}
