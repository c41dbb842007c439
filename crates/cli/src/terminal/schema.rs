//! `tokenwood schema`: the schemas of all JSON documents, as they are in `docs/schemas`.

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::Ended;
use crate::terminal::output::{self, say};
use crate::terminal::table;

/// Print the JSON Schema of what '--format json' prints; without a name, list the schemas
///
/// Each JSON document has a field "schema", such as "tokenwood.locks/1": the name, and the version. Within a version fields are
/// only added.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The name of a schema, such as locks or tokenwood.locks/1
    name: Option<String>,
}

/// Every document with its version: raised when a field is removed, renamed, or means something else.
macro_rules! schemas {
    ($($variant:ident: $name:literal, $version:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Schema {
            $($variant,)*
        }

        impl Schema {
            pub(crate) const ALL: &'static [Schema] = &[$(Schema::$variant,)*];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Schema::$variant => $name,)*
                }
            }

            fn version(self) -> u32 {
                match self {
                    $(Schema::$variant => $version,)*
                }
            }

            /// The JSON Schema.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Schema::$variant => include_str!(concat!("../../../../docs/schemas/", $name, ".json")),)*
                }
            }
        }
    };
}

schemas! {
    Error: "error", 1;
    Note: "note", 1;
    Locks: "locks", 1;
    Inspect: "inspect", 1;
    Watch: "watch", 1;
    Top: "top", 1;
    Grant: "grant", 1;
    Release: "release", 1;
    ForceRelease: "force-release", 1;
    Definition: "definition", 1;
    Definitions: "definitions", 1;
    Status: "status", 1;
    Health: "health", 1;
    Members: "members", 1;
    MembersChange: "members-change", 1;
    Invitation: "invitation", 1;
    Invitations: "invitations", 1;
    Ready: "ready", 1;
    Certs: "certs", 1;
    CertsFiles: "certs-files", 1;
    AuthToken: "auth-token", 1;
    AuthRights: "auth-rights", 1;
    AuthTokens: "auth-tokens", 1;
    AuthRules: "auth-rules", 1;
    AuthDecision: "auth-decision", 1;
    AuthChange: "auth-change", 1;
    Audit: "audit", 1;
    Bench: "bench", 1;
    BenchScenarios: "bench-scenarios", 1;
    BenchPeers: "bench-peers", 1;
    BenchWorkloads: "bench-workloads", 1;
    Storm: "storm", 1;
    Ordeal: "ordeal", 1;
    OrdealScenarios: "ordeal-scenarios", 1;
    Conformance: "conformance", 1;
    ConformanceCase: "conformance-case", 1;
    Swarm: "swarm", 1;
    SwarmExhaustive: "swarm-exhaustive", 1;
    SwarmDefects: "swarm-defects", 1;
    Algorithms: "algorithms", 1;
    Check: "check", 1;
    CheckSuite: "check-suite", 1;
    CheckRandom: "check-random", 1;
    Defects: "defects", 1;
    Simulate: "simulate", 1;
    Sweep: "sweep", 1;
    Recommend: "recommend", 1;
    Map: "map", 1;
    Reproduce: "reproduce", 1;
    Exhibits: "exhibits", 1;
    Trace: "trace", 1;
    Replay: "replay", 1;
    Recording: "recording", 1;
    RecordingSummary: "recording-summary", 1;
}

impl Schema {
    /// What the field "schema" of a document says.
    pub(crate) fn id(self) -> String {
        format!("tokenwood.{}/{}", self.name(), self.version())
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let Some(name) = &arguments.name else {
        let mut rows = vec![["schema", "what it is of"].map(str::to_string).to_vec()];
        for schema in Schema::ALL {
            let value: Value = serde_json::from_str(schema.text())?;
            rows.push(vec![schema.id(), value["title"].as_str().unwrap_or_default().to_string()]);
        }
        table::print(&rows);
        say!("\n'tokenwood schema locks' prints one of them; docs/json.md describes all.");
        return Ok(Ended::Well);
    };
    let found = Schema::ALL.iter().find(|schema| schema.name() == name || schema.id() == *name);
    let found =
        found.with_context(|| format!("there is no schema '{name}'; 'tokenwood schema' lists them"))?;
    output::print(format_args!("{}", found.text()));
    Ok(Ended::Well)
}
