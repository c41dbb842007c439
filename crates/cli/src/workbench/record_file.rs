//! A run over sockets as a file: what was run, and what each node did and measured. Written by `reproduce --record`, replayed by
//! `trace`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use sockets::{Plan, Report, Tally, Watch, judge};

const FORMAT: &str = "tokenwood-record";
const VERSION: u32 = 1;

/// A run as it is written to a file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Record {
    format: String,
    version: u32,
    /// The algorithm's name.
    pub(crate) algorithm: String,
    /// What was run.
    pub(crate) plan: Plan,
    /// What came of it, by node.
    reports: Vec<Report>,
}

impl Record {
    pub(crate) fn new(algorithm: &str, plan: &Plan, reports: Vec<Report>) -> Record {
        let (format, algorithm) = (FORMAT.to_string(), algorithm.to_string());
        Record { format, version: VERSION, algorithm, plan: plan.clone(), reports }
    }

    /// Whether a text means to be one.
    pub(crate) fn is_meant(text: &str) -> bool {
        #[derive(Deserialize)]
        struct Heading {
            format: String,
        }
        serde_json::from_str(text).is_ok_and(|heading: Heading| heading.format == FORMAT)
    }

    pub(crate) fn parse(text: &str) -> Result<Record> {
        let record: Record = serde_json::from_str(text).context("this is not a readable record of a run")?;
        if record.version != VERSION {
            bail!("this record has version {}, this program reads {VERSION}", record.version);
        }
        Ok(record)
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string(self)? + "\n";
        fs::write(path, text).with_context(|| format!("cannot write '{}'", path.display()))
    }

    /// Replays what the nodes did through the pure code, and judges it.
    pub(crate) fn judge(self, watch: Option<Watch>) -> Result<Tally> {
        let Record { algorithm, plan, reports, .. } = self;
        judge(&algorithm, &plan.setting, reports, watch).map_err(|error| anyhow!(error))
    }
}
