//! `tokenwood sweep`: simulates every combination of names and values, and can be interrupted.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use algorithms::registry;
use anyhow::{Result, bail};
use clap::Args;
use simulator::{Point, Summary, batch};

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::interrupt;
use crate::workbench::plan_arguments::PlanArguments;
use crate::workbench::simulated;
use crate::workbench::sweep_file::{Contents, Header, Journal, Record, Row, Rows, Shard};
use crate::workbench::sweep_grid::{Varied, Wanted};
use crate::workbench::sweep_report::{self, Finished};
use crate::workbench::sweep_results::{Files, Results};

const EXAMPLES: &str = "\
Examples:
  How waiting grows with the load, for two algorithms, ten runs to a point:
    tokenwood sweep bulgannawar-vaidya,raymond-k --vary rate=0.01..10x10 --seeds 10 --out load.csv

  Over sizes and an option of the algorithm, everything else fixed:
    tokenwood sweep bulgannawar-vaidya --vary nodes=10..100:10 --vary choose=random,last-seen \\
        --tokens 5 --cs 1 --out options.csv

  Interrupted? The same command resumes. load.journal has a line for each finished point. More values or names with
  the same --out? Only the new points are simulated.

  In parts, as a job array; the merged files are the same bytes as those of one run:
    sbatch --array=1-20 --cpus-per-task=4 --wrap 'tokenwood sweep raymond-k --vary nodes=10..1000:10 \\
        --shard $SLURM_ARRAY_TASK_ID/20 --out sizes.csv'
    parallel RAYON_NUM_THREADS=1 tokenwood sweep raymond-k --vary nodes=10..1000:10 \\
        --shard {}/20 --out sizes.csv ::: $(seq 20)
    tokenwood merge sizes.*-of-20.journal --out sizes.csv

Values of --vary: a list (0.1,1,10), a range with a step (10..100:10; the step is 1 if left out) or with a
factor (0.01..10*10, or 0.01..10x10, which no shell touches), or all of that with commas in between. The names are
those of the flags under 'What to simulate', and the options of the algorithms ('tokenwood algorithms' lists them).

docs/sweeps.md describes the files.";

/// Simulate every combination of algorithms and varied parameters, on all cores, resumable.
///
/// The points are the product of the names and of all --vary, the last changing fastest. Each is run from the same seeds. Results go to --out as CSV and, beside it, as JSON; the same command gives the same bytes on any number of cores, after any interruption, and in parts. Finished points are kept in a journal beside them, so that the same command resumes after an interruption. With more algorithms or values and the same --out, only the new points are simulated.
///
/// Ctrl-C stops it, prints the finished points and the command that resumes; a second one ends it at once.
///
/// Exit code: 0 measured; 1 a property was violated in a point (the others are measured all the same); 2 wrong usage, nothing was simulated; 130 or 143 stopped by Ctrl-C or SIGTERM without a violation.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The algorithms ('tokenwood algorithms' lists them), or partitioned(NAME)
    #[arg(value_name = "NAME", required = true, value_delimiter = ',')]
    names: Vec<String>,
    /// A parameter and its values, such as rate=0.1,1 or nodes=10..100:10; may be given several times
    #[arg(long, value_name = "NAME=VALUES")]
    vary: Vec<String>,
    #[command(flatten)]
    plan: PlanArguments,
    /// The first seed, the same for all points
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many runs of each point, each from its own seed; errors are those of the mean over them
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Leave out combinations that an algorithm refuses, such as more tokens than nodes
    #[arg(long)]
    skip_refused: bool,
    /// Run every N-th point only, beginning with the I-th; 'tokenwood merge' puts the parts together
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,
    /// The CSV file; JSON and journal go beside it under the same name
    #[arg(long, value_name = "FILE.csv")]
    out: PathBuf,
    /// What to print: a table for people, or the JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let shard = arguments.shard.as_deref().map(Shard::parse).transpose()?;
    let vary: Result<Vec<Varied>> = arguments.vary.iter().map(|text| Varied::parse(text)).collect();
    let fixed = arguments.plan.pairs()?;
    let wanted = Wanted {
        algorithms: &arguments.names,
        vary: vary?,
        fixed: &fixed,
        seed: arguments.seed,
        seeds: arguments.seeds,
        skip_refused: arguments.skip_refused,
    };
    let (sweep, points) = wanted.sweep()?;
    let files = Files::new(&arguments.out)?;
    let header = Header::new(sweep, shard.unwrap_or(Shard::WHOLE));
    let path = files.journal(shard);
    // A shard writes no results, so existing ones do not matter.
    let fresh = || if shard.is_some() { Ok(()) } else { files.refuse_existing() };
    let parts = Parts { header: &header, points: &points };
    let (journal, contents) = Journal::open(&path, &header, &fresh, &|found| parts.adopt(found))?;
    parts.refuse_strangers(&contents)?;
    sweep_report::note_refused(&header.sweep);
    journal.mend(&contents)?;
    interrupt::listen()?;
    let began = Instant::now();
    parts.simulate_missing(&contents, &journal)?;
    let seconds = began.elapsed().as_secs_f64();
    let before = contents.rows.len();
    let rows = journal.contents()?.rows;
    let missing = parts.missing(&rows);
    let results = Results::new(&header, &rows, missing.is_empty());
    if shard.is_none() && missing.is_empty() {
        files.write(&results)?;
    }
    if arguments.format == Format::Json {
        results.say();
    } else {
        let finished = Finished {
            header: &header,
            rows: &rows,
            before,
            seconds,
            missing: &missing,
            is_part: shard.is_some(),
        };
        sweep_report::print(&finished, &files, &path);
    }
    let ended = sweep_report::ended(&rows);
    Ok(if missing.is_empty() { ended } else { ended.worse(Ended::Interrupted) })
}

/// The points of a sweep, of which a journal holds some.
struct Parts<'a> {
    header: &'a Header,
    points: &'a [Point],
}

impl Parts<'_> {
    /// Refuses a journal whose points are not those of this sweep: it was edited.
    fn refuse_strangers(&self, contents: &Contents) -> Result<()> {
        for row in contents.rows.values() {
            let point = &self.points[(row.point - 1) as usize];
            if row.algorithm != point.algorithm || row.parameters != parameters(point)? {
                let advice = "delete its line to have it simulated again, or move the file away";
                bail!("the journal has other parameters for point {} than the sweep: {advice}", row.point);
            }
        }
        Ok(())
    }

    /// The finished points of a smaller grid, under their numbers in this one; `None` if some of them are not in it.
    fn adopt(&self, contents: &Contents) -> Result<Option<Rows>> {
        let key = |algorithm: &str, with: &Record| serde_json::to_string(&(algorithm, with));
        let mut places: BTreeMap<String, u64> = BTreeMap::new();
        for (number, point) in (1..).zip(self.points) {
            places.insert(key(&point.algorithm, &parameters(point)?)?, number);
        }
        let mut rows = BTreeMap::new();
        for row in contents.rows.values() {
            let Some(number) = places.get(&key(&row.algorithm, &row.parameters)?) else { return Ok(None) };
            rows.insert(*number, Row { point: *number, ..row.clone() });
        }
        Ok(Some(rows))
    }

    /// The points of this shard that are not finished.
    fn missing(&self, rows: &Rows) -> Vec<u64> {
        let missing = |number: &u64| self.header.shard.holds(*number) && !rows.contains_key(number);
        (1..=self.header.sweep.points).filter(missing).collect()
    }

    /// Simulates what the journal lacks and adds it, until a signal asks to stop.
    fn simulate_missing(&self, contents: &Contents, journal: &Journal) -> Result<()> {
        let numbers = self.missing(&contents.rows);
        let points: Vec<Point> =
            numbers.iter().map(|number| self.points[(number - 1) as usize].clone()).collect();
        let progress = simulated::progress("sweep", &points);
        let watch = |_, entries| {
            progress.add(entries);
            interrupt::answer()
        };
        let done = |index: usize, summary: Summary| {
            let point = &points[index];
            journal.append(&Row {
                point: numbers[index],
                algorithm: point.algorithm.clone(),
                parameters: parameters(point)?,
                measures: Record::of(summary.columns()),
            })
        };
        let ran = batch::run_each(&points, &watch, &done);
        progress.finish();
        ran.map(drop)
    }
}

/// Every parameter of a point with its value.
pub(crate) fn parameters(point: &Point) -> Result<Record> {
    Ok(Record::of(point.plan.parameters(registry::info_with(&point.algorithm, &point.plan.setting)?)))
}
