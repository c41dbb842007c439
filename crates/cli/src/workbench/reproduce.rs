//! `tokenwood reproduce`: the figures, tables and claims of the papers, computed again and written as a report.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use figures::page::Verdict;
use figures::report::{self, Counts, Run, Shown};
use figures::thesis::sockets;
use figures::{Effort, Exhibit, Part, Results, results};
use serde_json::{Value, json};
use simulator::Point;

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::interrupt;
use crate::terminal::json;
use crate::terminal::output::{note, say};
use crate::terminal::schema::Schema;
use crate::terminal::table::{self, count};
use crate::workbench::claims;
use crate::workbench::report_folder::ReportFolder;
use crate::workbench::simulated::{self, Simulated};
use crate::workbench::sockets_experiment;

/// Compute the figures, tables and claims of the papers again, and print the verdicts or write a report.
///
/// Each claim of the papers gets a verdict. With --out there is a report, too: the folder gets index.html, which needs no other file, and each chart as SVG, PNG and CSV. A report that is already there is replaced. The same command gives the same files on every run and any number of cores, except with --sockets, which measures.
///
/// Ctrl-C stops it with the exhibits that are complete, and writes them unless another report is in the folder; a second one ends it at once.
///
/// Exit code: 0 computed, whatever the verdicts are; 1 a property was violated in a run; 2 wrong usage, or a run over sockets failed; 130 or 143 stopped by Ctrl-C or SIGTERM without a violation.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Exhibits ('tokenwood reproduce --list' lists them), or the beginning of their names: 'thesis' for all of the thesis
    #[arg(value_name = "EXHIBIT")]
    names: Vec<String>,
    /// All exhibits
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// List the exhibits and exit
    #[arg(long, conflicts_with_all = ["quick", "seeds", "out"])]
    list: bool,
    /// The thesis' experiment (figures 30 and 31, tables I and II) with processes over TCP, beside its simulation
    #[arg(long, conflicts_with_all = ["names", "all", "list"])]
    sockets: bool,
    /// A coarse version: fewer points, fewer entries, fewer seeds
    #[arg(long)]
    quick: bool,
    /// How many runs of each point, each from its own seed [default: 20; 3 with --quick]
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// The folder to write the report to [default: none, the verdicts are printed only]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    // Last, because its heading holds for all that follows.
    #[command(flatten)]
    experiment: sockets_experiment::Experiment,
}

impl Arguments {
    fn effort(&self) -> Result<Effort> {
        let seeds = self.seeds.unwrap_or(if self.quick { 3 } else { 20 });
        if !(1..=1_000_000).contains(&seeds) {
            bail!("--seeds must be between 1 and 1000000, not {seeds}");
        }
        Ok(Effort { seeds, quick: self.quick })
    }

    /// The command that does the same again, but for the folder.
    fn command(&self, effort: &Effort) -> String {
        let names = match (self.sockets, self.all) {
            (true, _) => format!("--sockets{}", self.experiment.command(effort)),
            (_, true) => "--all".to_string(),
            _ => self.names.join(" "),
        };
        self.command_for(&names, effort)
    }

    fn command_for(&self, names: &str, effort: &Effort) -> String {
        let quick = if self.quick { " --quick" } else { "" };
        let out = if self.out.is_some() { " --out DIR" } else { "" };
        format!("tokenwood reproduce {names}{quick} --seeds {}{out}", effort.seeds)
    }

    /// The folder of the report, if one is wanted.
    fn folder(&self) -> Result<Option<ReportFolder>> {
        self.out.as_deref().map(ReportFolder::prepare).transpose()
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    // The parser accepts it: a conflict overrides a requirement.
    if let (false, Some(flag)) = (arguments.sockets, arguments.experiment.given()) {
        bail!("{flag} is for --sockets: add --sockets instead of exhibits, or leave {flag} out");
    }
    let all = figures::exhibits();
    if arguments.list {
        list(&wanted_or_all(&all, &arguments.names)?, arguments.format);
        return Ok(Ended::Well);
    }
    if arguments.names.is_empty() && !arguments.all && !arguments.sockets {
        bail!("name exhibits, or use --all or --sockets; 'tokenwood reproduce --list' lists them");
    }
    let effort = arguments.effort()?;
    if arguments.sockets {
        return over_sockets(arguments, &effort);
    }
    let exhibits = wanted_or_all(&all, &arguments.names)?;
    let points = results::distinct(exhibits.iter().flat_map(|exhibit| (exhibit.points)(&effort)));
    for point in &points {
        point.validate().with_context(|| format!("{}: a point cannot be simulated", point.algorithm))?;
    }
    let folder = arguments.folder()?;
    interrupt::listen()?;
    let began = Instant::now();
    let (results, run) = simulate(arguments, &effort, &points)?;
    let simulated = began.elapsed().as_secs_f64();
    let is_complete = |exhibit: &Exhibit| (exhibit.points)(&effort).iter().all(|point| results.has(point));
    let (exhibits, left): (Vec<Exhibit>, Vec<Exhibit>) = exhibits.into_iter().partition(is_complete);
    if !left.is_empty() {
        let part = Stopped { exhibits: &exhibits, left: &left, simulated };
        return interrupted(arguments, folder.as_ref(), &effort, &part, &results, run);
    }
    let shown: Vec<Shown> = exhibits.iter().map(|exhibit| Shown::of(exhibit, &effort, &results)).collect();
    finish(arguments, folder.as_ref(), &run, &shown, simulated, &[])
}

/// What there is when a signal has stopped it.
struct Stopped<'a> {
    exhibits: &'a [Exhibit],
    left: &'a [Exhibit],
    simulated: f64,
}

/// Prints the exhibits that are complete, and writes them. A report that is there already may have more, so it stays.
fn interrupted(
    arguments: &Arguments,
    folder: Option<&ReportFolder>,
    effort: &Effort,
    part: &Stopped<'_>,
    results: &Results,
    run: Run,
) -> Result<Ended> {
    let names = |exhibits: &[Exhibit]| exhibits.iter().map(|exhibit| exhibit.id).collect::<Vec<_>>();
    let (done, left) = (names(part.exhibits), names(part.left));
    let shown: Vec<Shown> = part.exhibits.iter().map(|exhibit| Shown::of(exhibit, effort, results)).collect();
    let writable = folder.filter(|folder| !done.is_empty() && !folder.has_report);
    let run = Run { command: arguments.command_for(&done.join(" "), effort), ..run };
    finish(arguments, writable, &run, &shown, part.simulated, &left)?;
    if arguments.format == Format::Table {
        let (done, of) = (done.len(), count((done.len() + left.len()) as u64, "exhibit"));
        let why = match folder {
            Some(folder) if folder.has_report => {
                " Nothing is written: the earlier report stays in its folder."
            }
            Some(_) if writable.is_none() => " Nothing is written.",
            _ => "",
        };
        say!(
            "{}",
            table::flowed(
                &format!("Interrupted: {done} of {of} are complete.{why} This computes the others:"),
                0
            )
        );
        say!("{}", table::flowed(&arguments.command_for(&left.join(" "), effort), 2));
    }
    Ok(ended(&shown).worse(Ended::Interrupted))
}

/// The experiment of the thesis: first the processes, then the simulation with what they measured.
fn over_sockets(arguments: &Arguments, effort: &Effort) -> Result<Ended> {
    let runs = arguments.experiment.runs(effort)?;
    let folder = arguments.folder()?;
    let outcome = arguments.experiment.measure(&runs)?;
    let points: Vec<Point> =
        outcome.measured.iter().map(|measured| sockets::point(measured, effort.seeds)).collect();
    let began = Instant::now();
    let (results, run) = simulate(arguments, effort, &points)?;
    let run = Run { measured: Some(outcome.summary), ..run };
    let shown = sockets::show(&outcome.measured, effort.seeds, &results);
    if arguments.format == Format::Table {
        print_tables(&shown);
    }
    finish(arguments, folder.as_ref(), &run, &shown, began.elapsed().as_secs_f64(), &[])
}

/// Writes the report, if there is a folder for it, and says what was found. What is left was not computed, because a
/// signal has stopped it.
fn finish(
    arguments: &Arguments,
    folder: Option<&ReportFolder>,
    run: &Run,
    shown: &[Shown],
    simulated: f64,
    left: &[&str],
) -> Result<Ended> {
    let began = Instant::now();
    let content = || shown.iter().map(as_json).collect::<Value>();
    let write = |folder: &ReportFolder| folder.write(&report::files(run, shown), &content());
    let written = folder.map(write).transpose();
    // Where nothing can be written, the verdicts stay.
    let index = written.as_ref().ok().and_then(Option::as_ref);
    if arguments.format == Format::Json {
        say_json(run, shown, simulated, left, index.map(PathBuf::as_path));
    } else {
        print_claims(shown, index.is_some());
        if let Some(measured) = &run.measured {
            say!("{measured}");
        }
        let work = format!("{}, {}", count(run.points, "point"), count(run.entries, "entry"));
        match index {
            Some(index) => {
                let drawn = began.elapsed().as_secs_f64();
                say!("{work} in {simulated:.1} s, drawn in {drawn:.1} s\nthe report is {}", index.display());
            }
            None => say!("{work} in {simulated:.1} s"),
        }
    }
    for shown in shown {
        for violation in &shown.violations {
            note!("tokenwood: VIOLATED in {}: {violation}", shown.id);
        }
    }
    written?;
    Ok(ended(shown))
}

fn ended(shown: &[Shown]) -> Ended {
    let violated = shown.iter().any(|shown| !shown.violations.is_empty());
    if violated { Ended::Violated } else { Ended::Well }
}

/// The exhibits that are named, in the order of the report; all of them if none is.
fn wanted_or_all(all: &[Exhibit], names: &[String]) -> Result<Vec<Exhibit>> {
    let matches = |exhibit: &Exhibit, name: &str| {
        let rest = exhibit.id.strip_prefix(name.trim_end_matches('-'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    for name in names {
        if !all.iter().any(|exhibit| matches(exhibit, name)) {
            return Err(unknown(all, name));
        }
    }
    let wanted = |exhibit: &&Exhibit| names.is_empty() || names.iter().any(|name| matches(exhibit, name));
    Ok(all.iter().filter(wanted).copied().collect())
}

fn unknown(all: &[Exhibit], name: &str) -> anyhow::Error {
    const MOST: usize = 8;
    let mut near: Vec<(usize, &str)> =
        all.iter().map(|exhibit| (distance(exhibit.id, name), exhibit.id)).collect();
    near.retain(|(distance, id)| *distance <= 3 || shares_a_part(id, name));
    // The order of the report among those that are equally near.
    near.sort_by_key(|(distance, _)| *distance);
    let names: Vec<&str> = near.iter().take(MOST).map(|(_, id)| *id).collect();
    let hint = match names.as_slice() {
        [] => "'tokenwood reproduce --list' lists them".to_string(),
        names => format!("did you mean {}?", names.join(" or ")),
    };
    anyhow!("there is no exhibit '{name}'; {hint}")
}

/// Whether both have a part between hyphens in common.
fn shares_a_part(id: &str, name: &str) -> bool {
    id.split('-').any(|part| name.split('-').any(|typed| part == typed))
}

/// How many letters have to be changed, added or left out to come from one to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (above, letter) in a.chars().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for column in 0..b.len() {
            let replaced = diagonal + usize::from(b[column] != letter);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Simulates every point once, until a signal asks to stop.
fn simulate(arguments: &Arguments, effort: &Effort, points: &[Point]) -> Result<(Results, Run)> {
    let Simulated { points, summaries, .. } = simulated::simulate_visibly("reproduce", points)?;
    let run = Run {
        command: arguments.command(effort),
        version: env!("CARGO_PKG_VERSION").to_string(),
        effort: *effort,
        points: points.len() as u64,
        entries: summaries.iter().map(|summary| summary.entries).sum(),
        messages: summaries.iter().map(|summary| summary.messages).sum(),
        measured: None,
    };
    Ok((Results::new(points, summaries), run))
}

/// Prints what was computed, for scripts. The tables of a measurement are nowhere else but in its report.
fn say_json(run: &Run, shown: &[Shown], simulated: f64, left: &[&str], report: Option<&Path>) {
    let exhibit = |shown: &Shown| {
        let mut exhibit = as_json(shown);
        if report.is_none() {
            exhibit["files"] = json!([]);
        }
        exhibit["tables"] =
            json!(run.measured.is_some().then(|| tables(shown).map(table_json).collect::<Vec<_>>()));
        exhibit
    };
    let facts = json!({
        "exhibits": shown.iter().map(exhibit).collect::<Vec<_>>(),
        "partial": !left.is_empty(),
        "left": left,
        "report": report.map(Path::to_string_lossy),
        "points": run.points,
        "entries": run.entries,
        "measured": run.measured,
        "seconds": simulated,
    });
    json::say(Schema::Reproduce, &facts);
}

fn table_json(table: &figures::Table) -> Value {
    json!({ "title": table.title, "columns": table.columns, "rows": table.rows })
}

fn tables(shown: &Shown) -> impl Iterator<Item = &figures::Table> {
    shown.page.parts.iter().filter_map(|part| match part {
        Part::Table(table) => Some(table),
        _ => None,
    })
}

fn as_json(shown: &Shown) -> Value {
    let claim = |claim: &figures::Claim| {
        json!({
            "source": claim.source,
            "says": claim.says,
            "found": claim.found,
            "verdict": match claim.verdict {
                Verdict::Reproduces => "reproduces",
                Verdict::Differs(_) => "differs",
                Verdict::DoesNot => "does not reproduce",
            },
            "differs_by": if let Verdict::Differs(by) = &claim.verdict { Some(by) } else { None },
            "reason": claim.reason,
        })
    };
    json!({
        "id": shown.id,
        "source": shown.source,
        "title": shown.title,
        "files": shown.files(),
        "claims": shown.page.claims.iter().map(claim).collect::<Value>(),
        "violations": shown.violations,
    })
}

fn list(exhibits: &[Exhibit], format: Format) {
    if format == Format::Json {
        let entry =
            |exhibit: &Exhibit| json!({"id": exhibit.id, "source": exhibit.source, "title": exhibit.title});
        return json::say(
            Schema::Exhibits,
            &json!({ "exhibits": exhibits.iter().map(entry).collect::<Value>() }),
        );
    }
    let mut rows = vec![["exhibit", "source", "what it shows"].map(String::from).to_vec()];
    rows.extend(
        exhibits.iter().map(|exhibit| [exhibit.id, exhibit.source, exhibit.title].map(String::from).to_vec()),
    );
    table::print(&rows);
}

/// The tables of all exhibits, as they are in the report.
fn print_tables(shown: &[Shown]) {
    for table in shown.iter().flat_map(tables) {
        say!("{}", table.title);
        let rows: Vec<Vec<String>> = std::iter::once(&table.columns).chain(&table.rows).cloned().collect();
        table::print(&rows);
        say!("");
    }
}

/// Prints the verdicts; the texts are short if a report has all of them.
fn print_claims(shown: &[Shown], reported: bool) {
    let shortened = |text: &str, most| if reported { shortened(text, most) } else { text.to_string() };
    let mut rows = vec![["exhibit", "source", "verdict", "found", "claim"].map(String::from).to_vec()];
    for shown in shown {
        for claim in &shown.page.claims {
            rows.push(vec![
                shown.id.to_string(),
                claim.source.to_string(),
                claim.verdict.to_string(),
                shortened(&claim.found, 40),
                shortened(&claim.says, 80),
            ]);
        }
    }
    if rows.len() > 1 {
        if table::is_whole(&rows) {
            table::print(&rows);
            if !reported {
                claims::print_reasons(shown);
            }
        } else {
            // The rows would come apart.
            claims::print(shown);
        }
        let counts = Counts::of(shown);
        let Counts { reproduce, differ, do_not } = counts;
        say!(
            "\n{}: {reproduce} reproduce, {differ} differ, {do_not} do not",
            count(counts.all() as u64, "claim")
        );
    }
}

/// At most so many letters.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_string();
    }
    let kept: String = text.chars().take(most - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exhibit(id: &'static str) -> Exhibit {
        Exhibit {
            id,
            source: "ours",
            title: "",
            points: |_| Vec::new(),
            draw: |_, _| figures::Page::default(),
        }
    }

    fn chosen(names: &[&str]) -> Result<Vec<&'static str>> {
        let all = ["thesis-1", "thesis-10", "thesis-table-1", "thesis-table-2", "tree-19"].map(exhibit);
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        Ok(wanted_or_all(&all, &names)?.iter().map(|exhibit| exhibit.id).collect())
    }

    #[test]
    fn names_are_whole_or_families() {
        assert_eq!(chosen(&["thesis-1"]).unwrap(), ["thesis-1"]);
        assert_eq!(
            chosen(&["tree-19", "thesis-table"]).unwrap(),
            ["thesis-table-1", "thesis-table-2", "tree-19"]
        );
        assert_eq!(chosen(&["thesis"]).unwrap().len(), 4);
        assert_eq!(chosen(&[]).unwrap().len(), 5);
        assert_eq!(chosen(&["thesis", "thesis-10"]).unwrap().len(), 4);
    }

    #[test]
    fn unknown_names_get_near_ones() {
        let error = chosen(&["tres-19"]).unwrap_err().to_string();
        assert_eq!(error, "there is no exhibit 'tres-19'; did you mean tree-19?");
        let error = chosen(&["thesis-100"]).unwrap_err().to_string();
        assert!(error.starts_with("there is no exhibit 'thesis-100'; did you mean thesis-10 or "), "{error}");
        let error = chosen(&["nonsense"]).unwrap_err().to_string();
        assert_eq!(error, "there is no exhibit 'nonsense'; 'tokenwood reproduce --list' lists them");
        assert!(chosen(&[""]).is_err());
    }

    #[test]
    fn distances() {
        assert_eq!((distance("", "abc"), distance("abc", "abc"), distance("kitten", "sitting")), (3, 0, 3));
    }
}
