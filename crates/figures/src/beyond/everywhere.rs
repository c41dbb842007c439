//! Our instantiation against the published ones over load, length of the section, size and delays: where it loses.

use simulator::Point;
use simulator::time::Shape;

use super::paired::{Difference, Gap};
use super::{BALANCED, FROZEN, Instance, LAST_SEEN, RANDOM, point};
use crate::compare::short;
use crate::map::{RATES, SECTIONS};
use crate::page::{Claim, Page, Part, Table, Verdict};
use crate::{Effort, Exhibit, Results};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    id: "beyond-map",
    source: "ours",
    title: "Balanced over load, section, size and delays: where it is worse than the other choices",
    points,
    draw,
};

/// Nodes and tokens.
const SIZES: [(u32, u32); 5] = [(30, 3), (10, 3), (30, 10), (30, 1), (10, 1)];
const SHAPES: [Shape; 2] = [Shape::Constant, Shape::Exponential];
/// More entries and seeds than this tell little more about where it loses.
const ENTRIES: u64 = 3000;
const SEEDS: u64 = 10;

/// What balanced is compared with. With one token there is nothing to choose, and the published ways are one.
fn rivals((_, tokens): (u32, u32)) -> &'static [Instance] {
    if tokens > 1 { &[RANDOM, LAST_SEEN, FROZEN] } else { &[LAST_SEEN, FROZEN] }
}

/// A place on a map.
#[derive(Clone, Copy)]
struct Place {
    size: (u32, u32),
    delay: Shape,
    section: f64,
    rate: f64,
}

impl Place {
    fn point(self, effort: &Effort, instance: Instance) -> Point {
        let mut point = point(&Effort { seeds: effort.seeds.min(SEEDS), ..*effort }, instance, self.rate);
        let plan = &mut point.plan;
        plan.entries = effort.entries(ENTRIES).max(300);
        (plan.setting.nodes, plan.setting.tokens) = self.size;
        (plan.section.mean, plan.transit.shape) = (self.section, self.delay);
        point
    }

    fn in_words(self) -> String {
        let Place { size: (nodes, tokens), delay, section, rate } = self;
        format!("n = {nodes}, k = {tokens}, {delay} delays, λ = {rate}, E = {section}")
    }
}

/// The maps: sizes and delays. A coarse report has one of several tokens and one of one token.
fn maps(effort: &Effort) -> Vec<((u32, u32), Shape)> {
    if effort.quick {
        return vec![(SIZES[1], SHAPES[0]), (SIZES[4], SHAPES[0])];
    }
    SIZES.into_iter().flat_map(|size| SHAPES.map(|delay| (size, delay))).collect()
}

fn places(effort: &Effort, (size, delay): ((u32, u32), Shape)) -> Vec<Place> {
    let at = |section| move |rate| Place { size, delay, section, rate };
    effort
        .thin(&SECTIONS)
        .into_iter()
        .flat_map(|section| effort.thin(&RATES).into_iter().map(at(section)))
        .collect()
}

fn points(effort: &Effort) -> Vec<Point> {
    let places = maps(effort).into_iter().flat_map(|map| places(effort, map));
    let of = |place: Place| {
        let all = std::iter::once(&BALANCED).chain(rivals(place.size));
        all.map(|instance| place.point(effort, *instance)).collect::<Vec<_>>()
    };
    places.flat_map(of).collect()
}

/// How balanced compares with a rival at a place.
struct Compared {
    place: Place,
    rival: Instance,
    gaps: [Gap; 2],
    /// Wait and messages of balanced, less those of the rival, in parts of the rival's.
    by: [f64; 2],
}

fn compare(effort: &Effort, results: &Results) -> Vec<Compared> {
    let mut all = Vec::new();
    for place in maps(effort).into_iter().flat_map(|map| places(effort, map)) {
        let ours = results.of(&place.point(effort, BALANCED));
        for &rival in rivals(place.size) {
            let theirs = results.of(&place.point(effort, rival));
            let by = [
                (ours.time_to_enter.mean, theirs.time_to_enter.mean),
                (ours.messages_per_entry.mean, theirs.messages_per_entry.mean),
            ];
            // A node alone at its token neither waits nor sends.
            let by = by.map(|(ours, theirs)| if theirs > 0.0 { ours / theirs - 1.0 } else { 0.0 });
            let gaps = Difference::between(ours, theirs).gaps();
            all.push(Compared { place, rival, gaps, by });
        }
    }
    all
}

fn draw(effort: &Effort, results: &Results) -> Page {
    let all = compare(effort, results);
    let several = judged(&all, "several tokens", |it| it.place.size.1 > 1 && it.rival.name != FROZEN.name);
    let one = judged(&all, "one token", |it| it.place.size.1 == 1 && it.rival.name != FROZEN.name);
    Page {
        parts: vec![Part::Text(WHAT.to_string()), table(effort, &all)],
        claims: vec![several, one.because(ONE_TOKEN), against_silence(&all)],
    }
}

const WHAT: &str = "Every cell of the plane of loads and lengths of the section, Ts = Tr = 0.1 and Tt = 0.8, paired by seed. \
    'Worse' and 'better' are beyond an interval that holds for all comparisons of this exhibit at once with 95 % confidence.";

const ONE_TOKEN: &str = "With one token every INFORM tells of the token that its receiver will ask for. Two of them at every exit \
    keep the ways short, at the price of two messages; balanced informs one node, and only after an undisturbed entry.";

const SILENCE: &str = "The start is even here, and the load is the same at every node: informing nobody then keeps k clusters of \
    n/k nodes for nothing. From an uneven start it waits several times as long (exhibit beyond-start).";

fn worse<'a>(all: &'a [Compared], of: &[&'a Compared], which: usize) -> Vec<&'a Compared> {
    let count = 2 * all.len();
    of.iter().filter(|it| it.gaps[which].worse_among(count)).copied().collect()
}

/// The comparison in which balanced is furthest behind.
fn furthest<'a>(of: &[&'a Compared], which: usize) -> Option<&'a Compared> {
    of.iter().max_by(|a, b| a.by[which].total_cmp(&b.by[which])).copied()
}

fn said(it: &Compared, which: usize) -> String {
    format!("{:+.1} % ({}, against {})", 100.0 * it.by[which], it.place.in_words(), it.rival.name)
}

/// Whether balanced is nowhere worse than the published ways in these comparisons.
fn judged(all: &[Compared], what: &str, wanted: impl Fn(&Compared) -> bool) -> Claim {
    let of: Vec<&Compared> = all.iter().filter(|it| wanted(it)).collect();
    let found = [("wait", 0), ("messages", 1)].map(|(name, which)| {
        let worse = worse(all, &of, which);
        let most =
            furthest(&worse, which).map_or(String::new(), |it| format!(", at most {}", said(it, which)));
        (worse.len(), format!("{name}: worse in {} of {}{most}", worse.len(), of.len()))
    });
    let [(waits, wait), (sends, messages)] = found;
    let says =
        format!("with {what} balanced is nowhere worse than the published ways, in wait and in messages");
    let mut claim = Claim::holds("ours", &says, waits + sends == 0, format!("{wait}; {messages}"));
    if 0 < waits + sends && waits + sends < of.len() {
        claim.verdict = Verdict::Differs(format!("worse in {} of {}", waits + sends, 2 * of.len()));
    }
    claim
}

/// What it costs to inform at all, where that is not needed.
fn against_silence(all: &[Compared]) -> Claim {
    const MOST: f64 = 0.05;
    let of: Vec<&Compared> = all.iter().filter(|it| it.rival.name == FROZEN.name).collect();
    let [wait, messages] = [0, 1].map(|which| furthest(&of, which));
    let found = match (wait, messages) {
        (Some(wait), Some(messages)) => format!("wait {}, messages {}", said(wait, 0), said(messages, 1)),
        _ => String::new(),
    };
    let says = "where clusters begin even, informing costs at most 5 % of the wait of informing nobody";
    let most = wait.map_or(0.0, |it| it.by[0]);
    let mut claim = Claim::holds("ours", says, most <= MOST, found).because(SILENCE);
    if most > MOST {
        claim.verdict = Verdict::Differs(format!("up to {:+.0} %", 100.0 * most));
    }
    claim
}

fn table(effort: &Effort, all: &[Compared]) -> Part {
    let mut rows = Vec::new();
    let count = 2 * all.len();
    for ((nodes, tokens), delay) in maps(effort) {
        for rival in rivals((nodes, tokens)) {
            let here = |it: &&Compared| {
                it.place.size == (nodes, tokens) && it.place.delay == delay && it.rival.name == rival.name
            };
            let of: Vec<&Compared> = all.iter().filter(here).collect();
            let mut row =
                vec![nodes.to_string(), tokens.to_string(), delay.to_string(), rival.name.to_string()];
            for which in [0, 1] {
                let better = of.iter().filter(|it| it.gaps[which].better_among(count)).count();
                row.push(format!("{better} / {} of {}", worse(all, &of, which).len(), of.len()));
                row.push(furthest(&of, which).map_or(String::new(), |it| {
                    let Place { section, rate, .. } = it.place;
                    format!("{} % at λ = {rate}, E = {section}", short(100.0 * it.by[which]))
                }));
            }
            rows.push(row);
        }
    }
    let columns = ["n", "k", "delays", "against", "wait: better / worse", "wait: furthest behind"];
    let columns = columns.into_iter().chain(["messages: better / worse", "messages: furthest behind"]);
    Part::Table(Table {
        suffix: "cells",
        title: "In how many cells balanced is better and worse, and where it is furthest behind".to_string(),
        columns: columns.map(str::to_string).collect(),
        rows,
    })
}
