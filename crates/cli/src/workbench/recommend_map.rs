//! Where on the map of `tokenwood map` a load lies, and who is best there.

use anyhow::Result;
use figures::Results;
use figures::map::{GROUPS, Judged, Map, Measure, Plane, RATES, SECTIONS, SKEWS, usual_entries};
use serde_json::{Value, json};
use simulator::Plan;
use simulator::workload::{GroupChoice, Workload};

use crate::terminal::interrupt;
use crate::terminal::output::say;
use crate::terminal::table;
use crate::workbench::map::judged_as_json;
use crate::workbench::recommend_report::short;
use crate::workbench::{plan_arguments, simulated};

/// Larger systems take too long for an aside.
const MOST_NODES: u32 = 100;
/// How many runs of each algorithm in the cell.
const SEEDS: u64 = 5;

/// The nearest cell, simulated.
struct Nearest {
    map: Map,
    cell: (usize, usize),
    /// What is one hop of the map here: how long a message takes from one node to another, on average.
    hop: f64,
    best: Vec<(Measure, Judged)>,
}

/// Why a load is on no map.
fn off_the_map(plan: &Plan) -> Option<&'static str> {
    let reasons = [
        (plan.setting.groups > 1 && skew(plan).is_none(), "its clients do not choose groups by Zipf's law"),
        (plan.workload != Workload::Think, "its workload is not 'think'"),
        (!plan.clients.is_one_each(), "its nodes have several clients"),
        (!plan.faults.is_empty(), "it has faults"),
        (!plan.fifo || plan.multicast || plan.slow.is_some(), "its network is not that of the map"),
        (plan.mean_hop() <= 0.0, "its messages take no time"),
        (plan.setting.nodes > MOST_NODES, "it has more than 100 nodes"),
    ];
    reasons.iter().find(|(holds, _)| *holds).map(|(_, reason)| *reason)
}

/// The exponent of Zipf's law by which clients choose a group; 0: each is as likely.
fn skew(plan: &Plan) -> Option<f64> {
    match plan.group_choice {
        GroupChoice::Uniform => Some(0.0),
        GroupChoice::Zipf(skew) => Some(skew),
        GroupChoice::AnyOf | GroupChoice::Own => None,
    }
}

/// The map that has this load, and the nearest cell.
fn nearest_cell(plan: &Plan, map: impl Fn(Plane) -> Map) -> Option<(Map, (usize, usize))> {
    let whole = map(Plane::Load { rates: RATES.to_vec(), sections: SECTIONS.to_vec() });
    let hop = plan.mean_way();
    let (column, row) = whole.nearest(plan.rate * hop, plan.section.mean / hop)?;
    if plan.setting.groups < 2 {
        return Some((whole, (column, row)));
    }
    let (rate, section) = (RATES[column], SECTIONS[row]);
    let whole = map(Plane::Groups { groups: GROUPS.to_vec(), skews: SKEWS.to_vec(), rate, section });
    let cell = whole.nearest_groups(plan.setting.groups, skew(plan)?)?;
    Some((whole, cell))
}

/// A map of one cell of another one.
fn alone(map: &Map, (column, row): (usize, usize)) -> Map {
    let plane = match &map.plane {
        Plane::Load { rates, sections } => {
            Plane::Load { rates: vec![rates[column]], sections: vec![sections[row]] }
        }
        Plane::Groups { groups, skews, rate, section } => Plane::Groups {
            groups: vec![groups[column]],
            skews: vec![skews[row]],
            rate: *rate,
            section: *section,
        },
    };
    Map { plane, ..map.clone() }
}

/// In what the network differs from the map's, where every message takes one hop; nothing if it does not.
fn other_network(plan: &Plan) -> Option<String> {
    let differs = plan_arguments::network(plan);
    differs.strip_prefix(", ").map(str::to_string)
}

impl Nearest {
    /// The cell nearest to a load; nothing if it is on no map.
    fn to(plan: &Plan) -> Result<Option<Nearest>> {
        if off_the_map(plan).is_some() {
            return Ok(None);
        }
        let map = |plane| Map {
            nodes: plan.setting.nodes,
            tokens: plan.setting.tokens,
            delay: plan.transit.shape,
            plane,
            entries: usual_entries(plan.setting.nodes),
            seed: 1,
            seeds: SEEDS,
        };
        let Some((whole, cell)) = nearest_cell(plan, map) else { return Ok(None) };
        let one = alone(&whole, cell);
        let points = one.points();
        let simulated = simulated::simulate(&points, &|_| ())?;
        let results = Results::new(simulated.points, simulated.summaries);
        let judge = |(_, measure)| Some((measure, one.judge(&results, measure, (0, 0))?));
        let best = Measure::ALL.into_iter().filter_map(judge).collect();
        Ok(Some(Nearest { map: whole, cell, hop: plan.mean_way(), best }))
    }

    fn command(&self) -> String {
        let Map { nodes, tokens, delay, .. } = &self.map;
        let size = match &self.map.plane {
            Plane::Load { .. } => format!("--tokens {tokens}"),
            Plane::Groups { rate, section, .. } => format!("--groups --rates {rate} --sections {section}"),
        };
        format!("tokenwood map --nodes {nodes} {size} --delays {delay} --output map.svg")
    }
}

/// Prints where a load is on the map.
pub(crate) fn print(plan: &Plan) -> Result<()> {
    let Some(nearest) = Nearest::to(plan)? else {
        say!("\nOn no map: {}.", off_the_map(plan).unwrap_or("nothing fits"));
        return Ok(());
    };
    if interrupt::is_asked() {
        say!("\nInterrupted: who is best in the nearest cell of the map was not simulated.");
        return Ok(());
    }
    let mut place = nearest.map.place_in_words(nearest.cell);
    if let Plane::Groups { rate, section, .. } = &nearest.map.plane {
        place += &format!(", λ = {rate}, sections of {section}");
    }
    let other = other_network(plan).map_or(String::new(), |other| {
        let hop = short(nearest.hop);
        format!(" of {hop}, the mean over all pairs of nodes; the network is not the map's: {other}")
    });
    let text =
        format!("On the map of sizes like this, the nearest cell is {place} (in hops{other}). Best there:");
    say!("\n{}", table::flowed(&text, 0));
    for (measure, judged) in &nearest.best {
        let Judged { best, value, tied, margin, .. } = judged;
        let margin = if tied.is_empty() {
            format!(
                "{margin}{}",
                judged.second.map_or(String::new(), |(second, _)| format!(" than {}", second.label()))
            )
        } else {
            let others: Vec<String> = tied.iter().map(|other| other.label()).collect();
            format!("as good, as far as {SEEDS} runs can tell: {}", others.join(", "))
        };
        let far = judged.distance.map_or(String::new(), |far| format!(" ({:.2} times the limit)", far.times));
        let line = format!("  {:9} {} {:.3}{far}: {margin}", measure.name(), best.label(), value.mean);
        say!("{}", table::flowed(&line, 12));
    }
    say!("{}", table::flowed(&format!("'{}' draws the map.", nearest.command()), 2));
    Ok(())
}

/// The same for scripts.
pub(crate) fn as_json(plan: &Plan) -> Result<Value> {
    let Some(nearest) = Nearest::to(plan)? else {
        let why = off_the_map(plan).unwrap_or("nothing fits");
        return Ok(json!({
            "off_the_map": why, "rate": null, "section": null, "groups": null, "skew": null, "hop": null, "other_network": null,
            "partial": false, "best": null, "command": null,
        }));
    };
    let best = nearest.best.iter().map(|(measure, judged)| (measure.name(), judged_as_json(judged)));
    let cell = nearest.map.plan(nearest.cell);
    let groups = (cell.setting.groups > 1).then_some(cell.setting.groups);
    Ok(json!({
        "off_the_map": null,
        "rate": cell.rate,
        "section": cell.section.mean,
        "groups": groups,
        "skew": groups.and_then(|_| skew(&cell)),
        "hop": nearest.hop,
        "other_network": other_network(plan),
        "partial": interrupt::is_asked(),
        "best": best.collect::<std::collections::BTreeMap<_, _>>(),
        "command": nearest.command(),
    }))
}
