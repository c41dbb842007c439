//! DRS_GME beside other group mutexes: the comparison that text 004 announces and does not make.

use simulator::{Estimate, Point, Summary};

use super::{NODES, RATES, T_C, plan};
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series};
use crate::{Effort, Exhibit, Results};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    id: "rooms-beside",
    source: "004 sec. VIII",
    title: "Beside group mutexes with permissions and with path reversal",
    points: |effort| {
        let places: Vec<Place> = by_rate(effort).into_iter().chain(by_groups()).collect();
        CONTENDERS.iter().flat_map(|contender| places.iter().map(|&at| contender.point(effort, at))).collect()
    },
    draw,
};

const GROUPS: [u32; 6] = [1, 2, 3, 5, 10, 20];
/// The number of groups where the rate varies.
const SOME_GROUPS: u32 = 5;
/// The rate where the number of groups varies: nearly all clients wait.
const HIGH_RATE: f64 = 1.0;

struct Contender {
    label: &'static str,
    algorithm: &'static str,
    options: &'static [(&'static str, &'static str)],
}

const DYNAMIC: Contender = Contender { label: "drs-gme", algorithm: "drs-gme", options: &[] };
const STATIC: Contender =
    Contender { label: "drs-gme, ask=all", algorithm: "drs-gme", options: &[("ask", "all")] };
const ROOMS: Contender = Contender { label: "rooms", algorithm: "rooms", options: &[] };
const RA1: Contender = Contender { label: "ra1", algorithm: "ra1", options: &[] };
const CONTENDERS: [Contender; 4] = [DYNAMIC, STATIC, ROOMS, RA1];
/// Whom drs-gme asks changes its messages alone: otherwise its two curves would coincide.
const APART: [Contender; 3] = [DYNAMIC, ROOMS, RA1];

/// A number of groups and a rate.
type Place = (u32, f64);

fn by_rate(effort: &Effort) -> Vec<Place> {
    effort.thin(&RATES).into_iter().map(|rate| (SOME_GROUPS, rate)).collect()
}

fn by_groups() -> Vec<Place> {
    GROUPS.map(|groups| (groups, HIGH_RATE)).to_vec()
}

impl Contender {
    fn point(&self, effort: &Effort, (groups, rate): Place) -> Point {
        let mut plan = plan(effort, NODES, groups, rate);
        plan.setting = plan.setting.with(self.options);
        Point { algorithm: self.algorithm.to_string(), plan, seed: 1, seeds: effort.seeds }
    }
}

type Measure = fn(&Summary) -> Estimate;

/// Suffixes of the two charts of a measure, its axis, the measure, and what is drawn.
const MEASURES: [([&str; 2], &str, Measure, &[Contender]); 3] = [
    (["-messages", "-messages-groups"], "messages per entry", |it| it.messages_per_entry, &CONTENDERS),
    (["-wait", "-wait-groups"], "time to enter in t_m", |it| it.time_to_enter, &APART),
    (["-inside", "-inside-groups"], "inside on average", |it| it.concurrency, &APART),
];

fn draw(effort: &Effort, results: &Results) -> Page {
    let mut parts = Vec::new();
    for (suffixes, y, measure, drawn) in MEASURES {
        let chart = |suffix, places: &[Place], title: String, x: Axis, at: fn(&Place) -> f64| {
            let curve = |contender: &Contender| {
                let of = |place: &Place| {
                    Dot::measured(at(place), measure(results.of(&contender.point(effort, *place))))
                };
                Series::new(contender.label, Origin::Simulated, places.iter().map(of).collect())
            };
            let series = drawn.iter().map(curve).collect();
            Part::Chart(Chart { suffix, title, x, y: Axis::linear(y), series })
        };
        parts.push(chart(
            suffixes[0],
            &by_rate(effort),
            format!("n = {NODES}, {SOME_GROUPS} groups, t_c = {T_C} t_m: {y}"),
            Axis::logarithmic("requests per node and t_m (λ)"),
            |place| place.1,
        ));
        parts.push(chart(
            suffixes[1],
            &by_groups(),
            format!("n = {NODES}, λ = {HIGH_RATE}, t_c = {T_C} t_m: {y}"),
            Axis::logarithmic("groups (m)"),
            |place| f64::from(place.0),
        ));
    }
    let text = "A reader can measure the same, with another algorithm, number of groups or rate:\n\n\
                tokenwood simulate ra1 --nodes 20 --groups 5 --rate 1 --cs 5 --send 0 --receive 0 \\\n    \
                --transit 1 --seeds 20";
    parts.push(Part::Text(text.to_string()));
    Page { parts, claims: claims(&|contender, place| results.of(&contender.point(effort, place)), effort) }
}

type Of<'a> = &'a dyn Fn(&Contender, Place) -> &'a Summary;

fn claims<'a>(of: Of<'a>, effort: &Effort) -> Vec<Claim> {
    let places: Vec<Place> = by_rate(effort).into_iter().chain(by_groups()).collect();
    let ratios = |one: &Contender, other: &Contender, measure: Measure| {
        let ratio = |&place: &Place| measure(of(one, place)).mean / measure(of(other, place)).mean.max(1e-9);
        let all: Vec<f64> = places.iter().map(ratio).collect();
        (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(0.0, f64::max))
    };
    let times = |(least, most): (f64, f64)| format!("{least:.2} to {most:.2} times");
    let messages: Measure = |it| it.messages_per_entry;
    let light = by_rate(effort)[0];
    let [dynamic, all] = [&DYNAMIC, &STATIC].map(|contender| messages(of(contender, light)).mean);
    let crowded = (SOME_GROUPS, HIGH_RATE);
    let [ours, theirs] = [&DYNAMIC, &RA1].map(|contender| of(contender, crowded));
    let beside_ra1 = ratios(&DYNAMIC, &RA1, messages);
    let rooms = ratios(&ROOMS, &DYNAMIC, messages);
    vec![
        Claim::holds(
            "004 sec. I and VIII",
            "Dynamic request sets take fewer messages than static ones where the load is light.",
            dynamic < 0.8 * all,
            format!("{dynamic:.2} messages per entry instead of {all:.2} with ask=all, at λ = {}", light.1),
        )
        .because(
            "With ask=all an entry takes n - 1 requests and the token, unless the token is here. With dynamic sets a node asks \
             those that have had the token since it had it itself: half of all on average.",
        ),
        Claim::holds(
            "ours",
            "drs-gme sends fewer messages than permissions of all nodes, whatever the load and the groups.",
            beside_ra1.1 < 1.0,
            format!("{} those of ra1, which always sends 2(n - 1) = {}", times(beside_ra1), 2 * (NODES - 1)),
        ),
        Claim::holds(
            "ours",
            "A captain that admits followers has more clients inside than permissions by age, and shorter waits.",
            ours.concurrency.mean > theirs.concurrency.mean && ours.time_to_enter.mean < theirs.time_to_enter.mean,
            format!(
                "{:.2} inside and {:.1} t_m to enter with drs-gme, {:.2} and {:.1} with ra1 ({SOME_GROUPS} groups, λ = \
                 {HIGH_RATE})",
                ours.concurrency.mean, ours.time_to_enter.mean, theirs.concurrency.mean, theirs.time_to_enter.mean
            ),
        )
        .because("ra1 makes a request wait for every older one of another group, so a session hardly ever has several clients."),
        Claim::holds(
            "ours",
            "Requests that follow the token's path take fewer messages than requests to all nodes that may have it.",
            rooms.1 < 1.0,
            format!("rooms sends {} the messages of drs-gme", times(rooms)),
        )
        .because("A request of rooms goes to one node, which forwards it; the price is that it tolerates no loss by itself."),
    ]
}
