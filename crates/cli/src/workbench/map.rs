//! `tokenwood map`: which algorithm is best where.

use std::path::{Path, PathBuf};
use std::time::Instant;

use algorithms::registry;
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use figures::map::{GROUPS, Judged, LEAST_SEEDS, Map, Measure, Plane, RATES, SECTIONS, SKEWS, usual_entries};
use figures::page::{CellMap, Distance, MapCell};
use figures::{Results, cell_map};
use serde_json::{Value, json};
use simulator::time::Shape;
use simulator::{Point, batch};

use crate::Ended;
use crate::terminal::format::Format;
use crate::terminal::interrupt;
use crate::terminal::json;
use crate::terminal::output::{note, say};
use crate::terminal::schema::Schema;
use crate::terminal::table::{self, count, grouped};
use crate::workbench::candidates::MOST_FOR_ALL_KNOWING;
use crate::workbench::{simulated, threads, whole_file};

/// Show which algorithm is best where: over the load and the length of the section, or over groups.
///
/// Every algorithm that fits is simulated in every cell. A cell names the best, and how much better it is than the second best; a tie means that the 95 % interval of the difference includes 0. Below each map of waits and messages is how many times the limit the best and the best of ours are: no algorithm can be below it. A hop is 1 (0.1 at each end, 0.8 in between), so rates are per hop and sections are in hops.
///
/// With --groups the map is that of group mutual exclusion: over the number of groups and how unevenly clients choose them, at one rate and one section.
///
/// Ctrl-C stops it and prints the cells that are complete; a second one ends it at once.
///
/// Exit code: 0 drawn; 1 a property was violated in a run; 2 wrong usage; 130 or 143 stopped by Ctrl-C or SIGTERM without a violation.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How many nodes (n)
    #[arg(long, default_value_t = 30, value_name = "N")]
    nodes: u32,
    /// How many may be inside at once (k)
    #[arg(long, default_value_t = 1, value_name = "K")]
    tokens: u32,
    /// How delays vary: constant, uniform, exponential or heavy-tailed; several with commas
    #[arg(long, value_delimiter = ',', default_value = "constant", value_name = "SHAPE")]
    delays: Vec<String>,
    /// What to be best at; several with commas [default: all three]
    #[arg(long, value_enum, value_delimiter = ',')]
    measure: Vec<MeasureName>,
    /// How often a client that has left asks again, per hop, with commas [default: seven rates from 0.001 to 1; with --groups 0.1]
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true, value_name = "RATE")]
    rates: Vec<f64>,
    /// How long clients stay inside, in hops, with commas [default: 0,0.3,1,3,10; with --groups 1]
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true, value_name = "HOPS")]
    sections: Vec<f64>,
    /// The map of groups, for these numbers of groups; without numbers 2,3,5,8,12
    #[arg(long, value_delimiter = ',', num_args = 0.., require_equals = true, value_name = "COUNT", conflicts_with = "tokens")]
    groups: Option<Vec<u32>>,
    /// With --groups: exponents of Zipf's law by which clients choose one, 0 for each as likely [default: 0,0.5,1,2]
    #[arg(long, value_delimiter = ',', requires = "groups", allow_negative_numbers = true, value_name = "S")]
    skews: Vec<f64>,
    /// How many entries are measured in each run [default: ten for each node, at least 300]
    #[arg(long, value_name = "N")]
    entries: Option<u64>,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many runs of each algorithm in each cell; at least 2, so that ties can be told
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// How many threads simulate (default: all cores); the results do not depend on it
    #[arg(long, value_parser = threads::range())]
    threads: Option<usize>,
    /// Draw to this file, .svg or .png; several maps get their measure and delays added to the name
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MeasureName {
    /// The shortest mean wait
    Wait,
    /// The fewest messages per entry
    Messages,
    /// The most even numbers of entries (Jain's index)
    Fairness,
}

impl Arguments {
    fn measures(&self) -> Vec<Measure> {
        let of = |name: &MeasureName| match name {
            MeasureName::Wait => Measure::Wait,
            MeasureName::Messages => Measure::Messages,
            MeasureName::Fairness => Measure::Fairness,
        };
        if self.measure.is_empty() {
            return Measure::ALL.map(|(_, measure)| measure).to_vec();
        }
        self.measure.iter().map(of).collect()
    }

    fn plane(&self) -> Result<Plane> {
        let or =
            |given: &[f64], usual: &[f64]| if given.is_empty() { usual.to_vec() } else { given.to_vec() };
        let Some(groups) = &self.groups else {
            return Ok(Plane::Load {
                rates: or(&self.rates, &RATES),
                sections: or(&self.sections, &SECTIONS),
            });
        };
        let (rates, sections) = (or(&self.rates, &[0.1]), or(&self.sections, &[1.0]));
        let ([rate], [section]) = (&rates[..], &sections[..]) else {
            bail!("the map of groups is drawn at one rate and one section: give one of each");
        };
        let groups = if groups.is_empty() { GROUPS.to_vec() } else { groups.clone() };
        if let Some(few) = groups.iter().find(|groups| **groups < 2) {
            bail!("{few} groups are no groups: give numbers of at least 2");
        }
        let skews = or(&self.skews, &SKEWS);
        if let Some(wrong) = skews.iter().find(|skew| !(0.0..=10.0).contains(*skew)) {
            bail!("a skew must be between 0 and 10, not {wrong}");
        }
        Ok(Plane::Groups { groups, skews, rate: *rate, section: *section })
    }

    /// The files to draw to, each with what it shows.
    fn pictures<'a>(&self, maps: &'a [Map], measures: &[Measure]) -> Vec<(PathBuf, &'a Map, Measure)> {
        let Some(output) = &self.output else { return Vec::new() };
        let several = maps.len() * measures.len() > 1;
        let all = maps.iter().flat_map(|map| measures.iter().map(move |measure| (map, *measure)));
        let named = all.map(|(map, measure)| {
            let path = if several { with_suffix(output, map, measure) } else { output.clone() };
            (path, map, measure)
        });
        named.collect()
    }

    fn maps(&self) -> Result<Vec<Map>> {
        if self.seeds < LEAST_SEEDS {
            bail!("--seeds must be at least {LEAST_SEEDS}: from one run it is not known what is a tie");
        }
        if self.seed.checked_add(self.seeds - 1).is_none() {
            bail!("there are no {} seeds from {} on: take a smaller --seed", self.seeds, self.seed);
        }
        if self.nodes > MOST_FOR_ALL_KNOWING {
            bail!(
                "--nodes must be at most {MOST_FOR_ALL_KNOWING}: every algorithm is simulated, and what the nodes \
                 of some know grows with the square of their number; 'tokenwood recommend' leaves those out"
            );
        }
        let plane = self.plane()?;
        // The two that take every load of their kind.
        let takes_all = registry::info(if self.groups.is_some() { "drs-gme" } else { "bulgannawar-vaidya" })?;
        let map = |name: &String| {
            let map = Map {
                nodes: self.nodes,
                tokens: self.tokens,
                delay: Shape::named(name)?,
                plane: plane.clone(),
                entries: self.entries.unwrap_or(usual_entries(self.nodes)),
                seed: self.seed,
                seeds: self.seeds,
            };
            map.cells().try_for_each(|cell| map.plan(cell).validate(takes_all))?;
            Ok(map)
        };
        self.delays.iter().map(map).collect()
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Ended> {
    let maps = arguments.maps()?;
    let measures = arguments.measures();
    if let Some(output) = &arguments.output {
        refuse_output(output)?;
        arguments
            .pictures(&maps, &measures)
            .iter()
            .try_for_each(|(path, ..)| whole_file::refuse_unwritable(path))?;
    }
    let began = Instant::now();
    let points = figures::results::distinct(maps.iter().flat_map(Map::points));
    interrupt::listen()?;
    let simulated = batch::on_threads(threads::at_most(arguments.threads, &points), || {
        simulated::simulate_visibly("map", &points)
    })??;
    let (all, points) = (points.len(), simulated.points);
    let results = Results::new(points.clone(), simulated.summaries);
    let seconds = began.elapsed().as_secs_f64();
    let partial = points.len() < all;
    let pictures = if partial { Vec::new() } else { arguments.pictures(&maps, &measures) };
    if arguments.format == Format::Json {
        let drawn: Vec<Value> = maps.iter().map(|map| as_json(map, &results, &measures)).collect();
        let files: Vec<_> = pictures.iter().map(|(path, ..)| path.to_string_lossy()).collect();
        let facts = json!({
            "maps": drawn, "partial": partial, "simulations": points.len(), "simulations_wanted": all,
            "violations": results.violations(&points), "files": files, "seconds": seconds,
        });
        json::say(Schema::Map, &facts);
    } else {
        print(&maps, &results, &measures);
        let (simulated, runs) = (count(points.len() as u64, "simulation"), count(arguments.seeds, "run"));
        say!("{simulated} of {runs} each in {seconds:.1} s");
    }
    if partial {
        return Ok(interrupted(arguments, all, &results, &points));
    }
    for (path, map, measure) in pictures {
        draw(&path, map, &results, measure)?;
        if arguments.format == Format::Table {
            say!("drawn to {}", path.display());
        }
    }
    Ok(note_violations(&results, &points))
}

fn note_violations(results: &Results, points: &[Point]) -> Ended {
    let violations = results.violations(points);
    for violation in &violations {
        note!("tokenwood: VIOLATED: {violation}");
    }
    if violations.is_empty() { Ended::Well } else { Ended::Violated }
}

/// Says what is not there.
fn interrupted(arguments: &Arguments, all: usize, results: &Results, points: &[Point]) -> Ended {
    if arguments.format == Format::Table {
        let done = grouped(points.len() as u64);
        let text = format!(
            "Interrupted: {done} of {} are done; a cell shows '…' unless all its algorithms are. Nothing is drawn to a \
             file. A map keeps nothing: the same command begins again; fewer --rates, --sections, --seeds or --entries \
             end sooner.",
            count(all as u64, "simulation")
        );
        say!("{}", table::flowed(&text, 0));
    }
    note_violations(results, points).worse(Ended::Interrupted)
}

/// Refuses a file that cannot be drawn to, before anything is simulated.
fn refuse_output(path: &Path) -> Result<()> {
    if !matches!(extension(path), "svg" | "png") {
        bail!("--output takes a file that ends in .svg or .png, not '{}'", path.display());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => {
            bail!("the folder '{}' does not exist: create it first", folder.display())
        }
        _ => Ok(()),
    }
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// The name with the measure and the delays added.
fn with_suffix(path: &Path, map: &Map, measure: Measure) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{}-{}.{}", measure.name(), map.delay, extension(path)));
    path.with_file_name(name)
}

fn draw(path: &Path, map: &Map, results: &Results, measure: Measure) -> Result<()> {
    let drawn = map.drawn(results, measure, "");
    let content =
        if extension(path) == "svg" { cell_map::svg(&drawn).into_bytes() } else { cell_map::png(&drawn) };
    whole_file::write(path, &content).with_context(|| format!("cannot write '{}'", path.display()))
}

fn print(maps: &[Map], results: &Results, measures: &[Measure]) {
    for map in maps {
        for measure in measures {
            let drawn = map.drawn(results, *measure, "");
            say!("{}", drawn.title);
            let corner =
                if matches!(map.plane, Plane::Groups { .. }) { "skew \\ groups" } else { "section \\ λ" };
            let heading = std::iter::once(corner.to_string()).chain(drawn.columns.clone());
            let mut rows = vec![heading.collect::<Vec<String>>()];
            // The largest on top, as in the picture.
            for (row, (label, cells)) in drawn.rows.iter().zip(&drawn.cells).enumerate().rev() {
                let shown = cells.iter().enumerate().map(|(column, cell)| {
                    let is_simulated = map.is_simulated(results, (column, row));
                    if is_simulated { format!("{} ({})", cell.best, cell.margin) } else { "…".to_string() }
                });
                rows.push(std::iter::once(label.clone()).chain(shown).collect());
            }
            table::print(&rows);
            let key: Vec<String> =
                drawn.key().iter().map(|(short, full)| format!("{short} = {full}")).collect();
            if !key.is_empty() {
                say!("{}", table::flowed(&format!("{}.", key.join("; ")), 2));
            }
            print_distances(map, *measure, &drawn, corner);
            say!();
        }
    }
}

/// How many times the limit the best of each cell and the best of ours are.
fn print_distances(map: &Map, measure: Measure, drawn: &CellMap, corner: &str) {
    let limit = match measure {
        Measure::Wait if matches!(map.plane, Plane::Groups { .. }) => {
            say!("No limit is known for groups.");
            return;
        }
        Measure::Wait => "no algorithm can wait less than the limit",
        Measure::Messages => {
            "no algorithm that waits no longer than this one can send fewer; –: none is known"
        }
        Measure::Fairness => return,
    };
    let cells = || drawn.cells.iter().flatten();
    if !cells().any(|cell| cell.distance.is_some()) {
        return;
    }
    let mut ours: Vec<&str> = cells().filter_map(|cell| Some(cell.ours.as_ref()?.0.as_str())).collect();
    ours.sort_unstable();
    ours.dedup();
    let below = |cell: &MapCell| cell.distance.is_some_and(|distance| distance.times < 1.0);
    let chance =
        if cells().any(below) { ". Less than 1.00 is chance: --entries 3000 tells more" } else { "" };
    let title = format!("Times the limit, the best / ours ({}): {limit}{chance}", ours.join(" or "));
    say!("\n{}", table::flowed(&title, 2));
    let times = |distance: Option<Distance>| {
        distance.map_or("–".to_string(), |distance| format!("{:.2}", distance.times))
    };
    let mut rows =
        vec![std::iter::once(corner.to_string()).chain(drawn.columns.clone()).collect::<Vec<String>>()];
    for (label, cells) in drawn.rows.iter().zip(&drawn.cells).rev() {
        let shown = cells.iter().map(|cell| {
            let ours = cell.ours.as_ref().and_then(|(.., distance)| *distance);
            format!("{} / {}", times(cell.distance), times(ours))
        });
        rows.push(std::iter::once(label.clone()).chain(shown).collect());
    }
    table::print(&rows);
}

fn as_json(map: &Map, results: &Results, measures: &[Measure]) -> Value {
    let cell = |cell: (usize, usize)| {
        let plan = map.plan(cell);
        let mut shown = json!({
            "rate": plan.rate,
            "section": plan.section.mean,
            "groups": plan.setting.groups,
            "group_choice": plan.group_choice.to_string(),
        });
        let fewest = map.judge(results, Measure::Messages, cell).and_then(|judged| judged.distance);
        let limit = map
            .least_wait(cell)
            .map(|least| json!({ "wait": least.mean, "messages": fewest.map(|distance| distance.limit) }));
        // Not known for groups.
        shown["limit"] = json!(limit);
        for measure in measures {
            shown[measure.name()] =
                map.judge(results, *measure, cell).map_or(Value::Null, |judged| judged_as_json(&judged));
        }
        shown
    };
    json!({
        "nodes": map.nodes,
        "tokens": map.tokens,
        "delays": map.delay.to_string(),
        "entries": map.entries,
        "seed": map.seed,
        "seeds": map.seeds,
        "algorithms": map.contenders().iter().map(|contender| contender.label()).collect::<Vec<_>>(),
        "cells": map.cells().map(cell).collect::<Vec<_>>(),
    })
}

/// Who is best, for scripts.
pub(crate) fn judged_as_json(judged: &Judged) -> Value {
    let far = |distance: Option<Distance>| {
        distance.map_or((None, None), |distance| (Some(distance.limit), Some(distance.times)))
    };
    let (limit, times_limit) = far(judged.distance);
    let (ours_limit, ours_times_limit) = far(judged.ours.and_then(|(.., distance)| distance));
    json!({
        "limit": limit,
        "times_limit": times_limit,
        "ours": judged.ours.map(|(ours, ..)| ours.label()),
        "ours_value": judged.ours.map(|(_, value, _)| value.mean),
        "ours_limit": ours_limit,
        "ours_times_limit": ours_times_limit,
        "best": judged.best.label(),
        "value": judged.value.mean,
        "stderr": judged.value.stderr,
        "second": judged.second.map(|(second, _)| second.label()),
        "second_value": judged.second.map(|(_, value)| value.mean),
        "margin": judged.margin,
        "tied": judged.tied.iter().map(|other| other.label()).collect::<Vec<_>>(),
    })
}
