//! `tokenwood merge`: puts the parts of a sweep together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;

use crate::Ended;
use crate::terminal::failure;
use crate::terminal::format::Format;
use crate::workbench::sweep_file::{Contents, Row};
use crate::workbench::sweep_report;
use crate::workbench::sweep_results::{Files, Results};

/// Put the parts of a sweep together: the same CSV and JSON, to the byte, as the sweep in one piece would give.
///
/// Takes the journals of all shards, for example: tokenwood merge sizes.*-of-20.journal --out sizes.csv
///
/// Exit code: 0 merged; 1 merged, and a property was violated in a point; 2 wrong usage or journals of different sweeps; 3 points are missing (nothing is written; it says what to run).
#[derive(Args)]
pub(crate) struct Arguments {
    /// The journals that 'tokenwood sweep --shard' has written
    #[arg(required = true, value_name = "JOURNAL")]
    journals: Vec<PathBuf>,
    /// The CSV file to write; the JSON goes beside it
    #[arg(long, value_name = "FILE.csv")]
    out: PathBuf,
    /// What to print: a table for people, or the JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let files = Files::new(&arguments.out)?;
    let [first, others @ ..] = &arguments.journals[..] else { bail!("there is no journal to merge") };
    let Contents { header, mut rows, .. } = Contents::of_file(first)?;
    for other in others {
        let contents = Contents::of_file(other)?;
        let (one, two) = (first.display(), other.display());
        if contents.header.sweep != header.sweep {
            let difference = header.sweep.difference(&contents.header.sweep);
            bail!(
                "{two} is of another sweep than {one} ({difference}): merge the journals of one sweep only"
            );
        }
        if contents.header.program != header.program {
            let (here, there) = (&header.program, &contents.header.program);
            bail!("{one} is by tokenwood {here}, {two} by {there}: run all shards with one version");
        }
        add(&mut rows, contents.rows, other)?;
    }
    let missing: Vec<u64> = (1..=header.sweep.points).filter(|point| !rows.contains_key(point)).collect();
    if !missing.is_empty() {
        let (many, of) = (missing.len(), header.sweep.points);
        let are = if many == 1 { "is" } else { "are" };
        let message = format!("{many} of {of} points {are} missing: {}", sweep_report::numbers(&missing));
        let run = format!("run: {}", sweep_report::what_to_run(&header, first, &missing));
        failure::fail_on_two_lines(Ended::Unknown as u8, &message, &run);
        return Ok(Ended::Unknown);
    }
    let results = Results::new(&header, &rows, true);
    files.refuse_others(&results)?;
    files.write(&results)?;
    if arguments.format == Format::Json {
        results.say();
    } else {
        sweep_report::print_merged(&header, &rows, arguments.journals.len(), &files);
    }
    Ok(sweep_report::ended(&rows))
}

/// The same point may be in several journals, if they say the same.
fn add(rows: &mut BTreeMap<u64, Row>, more: BTreeMap<u64, Row>, file: &Path) -> Result<()> {
    for (point, row) in more {
        if rows.get(&point).is_some_and(|known| *known != row) {
            let advice = "one of them is damaged or of another build; run that part again";
            bail!("{} contradicts another journal on point {point}: {advice}", file.display());
        }
        rows.insert(point, row);
    }
    Ok(())
}
