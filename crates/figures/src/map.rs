//! Ours: which algorithm is best where. The plane is the load and the length of the section, or the number of groups and
//! their skew; every cell is simulated with every algorithm that fits.

mod contenders;
mod distance;
mod exhibit;
mod limits;

use simulator::plan::Plan;
use simulator::time::{Shape, Span};
use simulator::workload::GroupChoice;
use simulator::{Estimate, Point, Summary};

use crate::chart::short;
use crate::compare::student;
use crate::page::{CellMap, Distance, MapCell};
use crate::{Exhibit, Results};
pub use contenders::{Contender, contenders};

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    [exhibit::EXHIBITS.as_slice(), limits::EXHIBITS.as_slice()].concat()
}

/// How often a client that has left asks again, per hop: from nearly idle to saturation.
pub const RATES: [f64; 7] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];
/// How long a client stays inside, in hops.
pub const SECTIONS: [f64; 5] = [0.0, 0.3, 1.0, 3.0, 10.0];
/// How many groups there are.
pub const GROUPS: [u32; 5] = [2, 3, 5, 8, 12];
/// The exponents of Zipf's law by which clients choose groups; 0: each is as likely.
pub const SKEWS: [f64; 4] = [0.0, 0.5, 1.0, 2.0];
/// With so many others as good, a cell names none.
const MANY: usize = 3;
/// The name of such cells in the legend.
const TIE: &str = "four or more are equally good";
/// How many entries are measured in each run, if nothing else is wanted: ten of each node, and not too few.
pub fn usual_entries(nodes: u32) -> u64 {
    (10 * u64::from(nodes)).max(300)
}

/// The least seeds from which a tie can be told.
pub const LEAST_SEEDS: u64 = 2;

/// What is best: the least wait, the fewest messages or the highest fairness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The mean time from request to entry.
    Wait,
    /// Messages for each entry.
    Messages,
    /// Jain's index over the entries of the nodes.
    Fairness,
}

impl Measure {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Measure); 3] =
        [("wait", Measure::Wait), ("messages", Measure::Messages), ("fairness", Measure::Fairness)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Measure::ALL.iter().find(|(_, measure)| *measure == self).map_or("", |(name, _)| name)
    }

    /// What it is called in a title.
    pub fn title(self) -> &'static str {
        match self {
            Measure::Wait => "Shortest mean wait",
            Measure::Messages => "Fewest messages per entry",
            Measure::Fairness => "Most even numbers of entries (Jain's index)",
        }
    }

    /// How much better the first is than the second, in words.
    fn margin(self, best: f64, second: f64) -> String {
        match self {
            Measure::Fairness => format!("+{:.3}", best - second),
            _ if second == 0.0 => "0 % less".to_string(),
            _ => {
                let percent = 100.0 * (second - best) / second;
                if percent < 9.95 { format!("{percent:.1} % less") } else { format!("{percent:.0} % less") }
            }
        }
    }
}

/// The two axes.
#[derive(Clone, Debug, PartialEq)]
pub enum Plane {
    /// The rate of requests and the length of the section, in hops.
    Load {
        /// The columns.
        rates: Vec<f64>,
        /// The rows.
        sections: Vec<f64>,
    },
    /// The number of groups and the exponent of Zipf's law by which clients choose one.
    Groups {
        /// The columns.
        groups: Vec<u32>,
        /// The rows.
        skews: Vec<f64>,
        /// The rate of requests.
        rate: f64,
        /// The length of the section, in hops.
        section: f64,
    },
}

/// A map: what is simulated in each cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// How many nodes (n).
    pub nodes: u32,
    /// How many may be inside at once (k).
    pub tokens: u32,
    /// How delays vary around their mean.
    pub delay: Shape,
    /// The two axes.
    pub plane: Plane,
    /// How many entries are measured in each run.
    pub entries: u64,
    /// The first seed.
    pub seed: u64,
    /// How many runs of each algorithm in each cell.
    pub seeds: u64,
}

/// Who is best in a cell.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The best.
    pub best: Contender,
    /// What was measured of it.
    pub value: Estimate,
    /// The second best, if there is one, and what was measured of it.
    pub second: Option<(Contender, Estimate)>,
    /// How much better the best is, in words.
    pub margin: String,
    /// Those that are as good, as far as the runs can tell.
    pub tied: Vec<Contender>,
    /// How far the best is from what no algorithm can be below, where that is known.
    pub distance: Option<Distance>,
    /// The best of ours, what was measured of it, and how far it is.
    pub ours: Option<(Contender, Estimate, Option<Distance>)>,
}

impl Map {
    /// The size of the plane: columns and rows.
    pub fn size(&self) -> (usize, usize) {
        match &self.plane {
            Plane::Load { rates, sections } => (rates.len(), sections.len()),
            Plane::Groups { groups, skews, .. } => (groups.len(), skews.len()),
        }
    }

    /// The algorithms on it.
    pub fn contenders(&self) -> Vec<Contender> {
        let groups = if matches!(self.plane, Plane::Groups { .. }) { 2 } else { 1 };
        contenders(self.tokens, groups, self.delay)
    }

    /// What is simulated in a cell; the algorithm's options are not in it.
    pub fn plan(&self, (column, row): (usize, usize)) -> Plan {
        // A hop is 1: 0.1 at each end and 0.8 between them, as in the thesis.
        let mut plan = Plan { entries: self.entries, warmup: self.entries / 5, ..Plan::default() };
        (plan.setting.nodes, plan.setting.tokens) = (self.nodes, self.tokens);
        plan.transit.shape = self.delay;
        match &self.plane {
            Plane::Load { rates, sections } => {
                (plan.rate, plan.section) = (rates[column], Span::constant(sections[row]));
            }
            Plane::Groups { groups, skews, rate, section } => {
                (plan.rate, plan.section) = (*rate, Span::constant(*section));
                plan.setting.groups = groups[column];
                plan.group_choice =
                    if skews[row] > 0.0 { GroupChoice::Zipf(skews[row]) } else { GroupChoice::Uniform };
            }
        }
        plan
    }

    /// A cell of an algorithm.
    pub fn point(&self, contender: &Contender, cell: (usize, usize)) -> Point {
        let mut plan = self.plan(cell);
        plan.setting = plan.setting.with(contender.options);
        let algorithm = contender.algorithm.to_string();
        Point { algorithm, plan, seed: self.seed, seeds: self.seeds.max(LEAST_SEEDS) }
    }

    /// All cells, row by row.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (columns, rows) = self.size();
        (0..rows).flat_map(move |row| (0..columns).map(move |column| (column, row)))
    }

    /// Everything that has to be simulated. Algorithms that cannot run with so many nodes are left out.
    pub fn points(&self) -> Vec<Point> {
        let of = |cell| self.contenders().into_iter().map(move |contender| self.point(&contender, cell));
        self.cells().flat_map(of).filter(|point| point.validate().is_ok()).collect()
    }

    /// Whether every algorithm of a cell has been simulated.
    pub fn is_simulated(&self, results: &Results, cell: (usize, usize)) -> bool {
        let points = self.contenders().into_iter().map(|contender| self.point(&contender, cell));
        points.filter(|point| point.validate().is_ok()).all(|point| results.has(&point))
    }

    /// What was measured of every algorithm in a cell; those that violated a property are left out.
    pub fn measured<'r>(&self, results: &'r Results, cell: (usize, usize)) -> Vec<(Contender, &'r Summary)> {
        let with = |contender: Contender| {
            let point = self.point(&contender, cell);
            point.validate().ok()?;
            Some((contender, results.of(&point))).filter(|(_, summary)| summary.violation.is_none())
        };
        self.contenders().into_iter().filter_map(with).collect()
    }

    /// Who is best in a cell; `None` if nothing fits, or not everything has been simulated.
    pub fn judge(&self, results: &Results, measure: Measure, cell: (usize, usize)) -> Option<Judged> {
        if !self.is_simulated(results, cell) {
            return None;
        }
        let mut measured = self.measured(results, cell);
        let value = |summary: &Summary| self.value(measure, cell, summary);
        measured.sort_by(|(_, one), (_, other)| match measure {
            Measure::Fairness => value(other).mean.total_cmp(&value(one).mean),
            _ => value(one).mean.total_cmp(&value(other).mean),
        });
        let least = if measure == Measure::Wait { self.least_wait(cell) } else { None };
        let distance = |(contender, summary): &(Contender, &Summary)| {
            self.distance(measure, cell, least, (contender, summary))
        };
        let ours = measured.iter().find(|(contender, _)| contender.is_ours());
        let ours = ours.map(|found| (found.0, value(found.1), distance(found)));
        let nearest = measured.first().and_then(distance);
        let ranked: Vec<(Contender, Estimate)> =
            measured.iter().map(|(contender, summary)| (*contender, value(summary))).collect();
        let (best, value) = *ranked.first()?;
        let t = student(0.95, 2 * (self.seeds.max(LEAST_SEEDS) as usize - 1));
        let as_good =
            |other: &Estimate| (other.mean - value.mean).abs() <= t * other.stderr.hypot(value.stderr);
        let tied: Vec<Contender> =
            ranked[1..].iter().filter(|(_, other)| as_good(other)).map(|(other, _)| *other).collect();
        let second = ranked.get(1).copied();
        let margin = match second {
            None => "alone".to_string(),
            Some(_) if tied.len() == 1 => format!("tie: {}", tied[0].short),
            Some(_) if !tied.is_empty() => format!("tie of {}", tied.len() + 1),
            Some((_, second)) => measure.margin(value.mean, second.mean),
        };
        Some(Judged { best, value, second, margin, tied, distance: nearest, ours })
    }

    /// The map of a measure, to be drawn.
    pub fn drawn(&self, results: &Results, measure: Measure, suffix: &str) -> CellMap {
        let (columns, rows) = self.size();
        let cell = |column, row| {
            let judged = self.judge(results, measure, (column, row));
            judged.map_or_else(nothing, |judged| judged.as_cell())
        };
        let (x, y, columns_shown, rows_shown) = match &self.plane {
            Plane::Load { rates, sections } => (
                "requests of a client that has left, per hop (λ)",
                "section (hops)",
                rates.iter().map(|rate| short(*rate)).collect(),
                sections.iter().map(|section| short(*section)).collect(),
            ),
            Plane::Groups { groups, skews, .. } => (
                "groups",
                "skew (Zipf's exponent)",
                groups.iter().map(ToString::to_string).collect(),
                skews.iter().map(|skew| short(*skew)).collect(),
            ),
        };
        CellMap {
            suffix: suffix.to_string(),
            title: format!("{}: {}", measure.title(), self.setting_in_words()),
            x: x.to_string(),
            y: y.to_string(),
            columns: columns_shown,
            rows: rows_shown,
            cells: (0..rows).map(|row| (0..columns).map(|column| cell(column, row)).collect()).collect(),
            note: format!(
                "{} runs of {} entries for each algorithm and cell · below the name: how much better it is than the second \
                 best · hatched, \"tie\": the 95 % interval of the difference includes 0",
                self.seeds.max(LEAST_SEEDS),
                self.entries
            ),
        }
    }

    /// Nodes, tokens and delays.
    pub fn setting_in_words(&self) -> String {
        let Map { nodes, tokens, delay, .. } = self;
        match self.plane {
            Plane::Load { .. } => format!("n = {nodes}, k = {tokens}, {delay} delays"),
            Plane::Groups { rate, section, .. } => {
                format!("n = {nodes}, λ = {rate}, sections of {section}, {delay} delays")
            }
        }
    }

    /// The values of a cell.
    pub fn place_in_words(&self, (column, row): (usize, usize)) -> String {
        match &self.plane {
            Plane::Load { rates, sections } => {
                format!("λ = {}, sections of {}", rates[column], sections[row])
            }
            Plane::Groups { groups, skews, .. } => format!("{} groups, skew {}", groups[column], skews[row]),
        }
    }

    /// The cell nearest to this load, on scales on which every step counts the same.
    pub fn nearest(&self, rate: f64, section: f64) -> Option<(usize, usize)> {
        let Plane::Load { rates, sections } = &self.plane else { return None };
        Some((near(rates, rate)?, near(sections, section)?))
    }

    /// The cell nearest to so many groups, chosen with this exponent.
    pub fn nearest_groups(&self, count: u32, skew: f64) -> Option<(usize, usize)> {
        let Plane::Groups { groups, skews, .. } = &self.plane else { return None };
        let counts: Vec<f64> = groups.iter().map(|groups| f64::from(*groups)).collect();
        Some((near(&counts, f64::from(count))?, near(skews, skew)?))
    }
}

/// Which of these values is nearest, on a scale on which every step counts the same.
fn near(values: &[f64], wanted: f64) -> Option<usize> {
    // 0 is as far below the least as that is below the next.
    let place = |value: f64| (value.max(0.1 * least_above_zero(values))).ln();
    let far = |value: &f64| (place(*value) - place(wanted)).abs();
    (0..values.len()).min_by(|one, other| far(&values[*one]).total_cmp(&far(&values[*other])))
}

fn least_above_zero(values: &[f64]) -> f64 {
    values.iter().copied().filter(|value| *value > 0.0).fold(1.0, f64::min)
}

/// A cell in which nothing could run.
fn nothing() -> MapCell {
    MapCell {
        best: "–".to_string(),
        label: "nothing fits".to_string(),
        colour: usize::MAX,
        value: 0.0,
        first: String::new(),
        second: String::new(),
        second_value: 0.0,
        margin: String::new(),
        tied: Vec::new(),
        distance: None,
        ours: None,
        names: Vec::new(),
    }
}

impl Judged {
    fn as_cell(&self) -> MapCell {
        // Which of many is the first is chance.
        let many = self.tied.len() >= MANY;
        // The margin names the other one of a tie of two.
        let named = [self.best].into_iter().chain(self.tied.iter().copied().filter(|_| self.tied.len() == 1));
        MapCell {
            best: if many { self.margin.clone() } else { self.best.short.to_string() },
            label: if many { TIE.to_string() } else { self.best.label() },
            colour: if many { usize::MAX } else { self.best.colour },
            value: self.value.mean,
            first: self.best.label(),
            second: self.second.map_or(String::new(), |(second, _)| second.label()),
            second_value: self.second.map_or(0.0, |(_, value)| value.mean),
            margin: if many { format!("{} first", self.best.short) } else { self.margin.clone() },
            tied: self.tied.iter().map(Contender::label).collect(),
            distance: self.distance,
            ours: self.ours.map(|(ours, value, distance)| (ours.label(), value.mean, distance)),
            names: named.map(|one| (one.short.to_string(), one.label())).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
