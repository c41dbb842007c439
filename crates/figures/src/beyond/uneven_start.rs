//! Unequal initial clusters, and other sizes: conditions that a tuning must also cope with.

use simulator::{Estimate, Point, Summary};

use super::paired::{Difference, Gap};
use super::{BALANCED, FROZEN, Instance, LAST_SEEN, RANDOM, RATES, point};
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series, Table};
use crate::{Effort, Exhibit, Results};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    id: "beyond-start",
    source: "ours",
    title: "The same if all nodes ask for the same token first, and at other sizes",
    points,
    draw,
};

const INSTANCES: [Instance; 4] = [RANDOM, LAST_SEEN, FROZEN, BALANCED];
/// Nodes and tokens.
const SIZES: [(u32, u32); 5] = [(10, 3), (60, 20), (60, 6), (100, 10), (60, 2)];
const SIZE_RATES: [f64; 3] = [0.005, 0.05, 0.5];

fn same_start(effort: &Effort, instance: Instance, rate: f64) -> Point {
    let mut point = point(effort, instance, rate);
    point.plan.setting.options.push(("first".to_string(), "same".to_string()));
    point
}

fn of_size(effort: &Effort, instance: Instance, size: (u32, u32), rate: f64) -> Point {
    let mut point = point(effort, instance, rate);
    (point.plan.setting.nodes, point.plan.setting.tokens) = size;
    point
}

fn points(effort: &Effort) -> Vec<Point> {
    let rates = effort.thin(&RATES);
    let starts =
        rates.iter().flat_map(|&rate| INSTANCES.map(|instance| same_start(effort, instance, rate))).collect();
    let mut points: Vec<Point> = starts;
    for size in SIZES {
        for rate in SIZE_RATES {
            points.extend(INSTANCES.map(|instance| of_size(effort, instance, size, rate)));
        }
    }
    points
}

fn draw(effort: &Effort, results: &Results) -> Page {
    let parts = vec![
        Part::Text(WHY.to_string()),
        chart(effort, results, "wait", "Time to enter (units)", |summary| summary.time_to_enter),
        chart(effort, results, "messages", "Messages per entry", |summary| summary.messages_per_entry),
        chart(effort, results, "fairness", "Fairness over nodes (Jain)", |summary| summary.fairness),
        sizes(effort, results),
    ];
    Page { parts, claims: vec![from_any_start(effort, results), frozen(effort, results)] }
}

const WHY: &str = "The texts do not say which token a node takes for the last seen before it has seen any. If each begins with its \
    number modulo k, clusters begin even, and asking for the token last seen without any INFORM keeps them so: that is the \
    best of all, by a little. But it is luck. Here all nodes ask for token 0 first. Without INFORM two of three tokens \
    then serve one node each, for ever (and those two nodes, which need no messages, make up most of the entries at high \
    load). Two INFORMs at every idle exit mend that at their price; balanced mends it, too, and then stops paying. At high \
    load hardly any node is idle, so INFORMs mend little; that a node turns away from a long queue does. Fairness shows it.";

fn chart(
    effort: &Effort,
    results: &Results,
    suffix: &'static str,
    label: &str,
    value: fn(&Summary) -> Estimate,
) -> Part {
    let series = INSTANCES.map(|instance| Series {
        label: instance.name.to_string(),
        origin: Origin::Simulated,
        dots: effort
            .thin(&RATES)
            .into_iter()
            .map(|rate| Dot::measured(rate, value(results.of(&same_start(effort, instance, rate)))))
            .collect(),
    });
    Part::Chart(Chart {
        suffix,
        title: format!("{label} if all ask for the same token first, 30 nodes, 3 tokens"),
        x: Axis::logarithmic("Request rate λ (per unit of time)"),
        y: Axis::linear(label),
        series: series.to_vec(),
    })
}

fn sizes(effort: &Effort, results: &Results) -> Part {
    let mut rows = Vec::new();
    for size in SIZES {
        for rate in SIZE_RATES {
            let of = |instance| results.of(&of_size(effort, instance, size, rate));
            let mut row = vec![size.0.to_string(), size.1.to_string(), rate.to_string()];
            for published in [RANDOM, LAST_SEEN] {
                let difference = Difference::between(of(BALANCED), of(published));
                row.extend(difference.gaps().map(|gap| gap.shown()));
            }
            rows.push(row);
        }
    }
    let headings = [
        "nodes",
        "tokens",
        "λ",
        "wait, against random",
        "messages, against random",
        "wait, against last seen",
        "messages, against last seen",
    ];
    Part::Table(Table {
        suffix: "sizes",
        title: "Balanced less each of the published ones at other sizes, clusters even at the start: paired by seed, with \
                95 % intervals"
            .to_string(),
        columns: headings.map(str::to_string).to_vec(),
        rows,
    })
}

fn from_any_start(effort: &Effort, results: &Results) -> Claim {
    let gaps: Vec<Gap> = effort
        .thin(&RATES)
        .into_iter()
        .flat_map(|rate| [RANDOM, LAST_SEEN].map(|published| (rate, published)))
        .flat_map(|(rate, published)| {
            let of = |instance| results.of(&same_start(effort, instance, rate));
            Difference::between(of(BALANCED), of(published)).gaps()
        })
        .collect();
    let worse = gaps.iter().filter(|gap| gap.worse_among(gaps.len())).count();
    let better = gaps.iter().filter(|gap| gap.better_among(gaps.len())).count();
    let found = format!("worse in {worse} and better in {better} of {} comparisons", gaps.len());
    let says = "balanced is at least as good as both published ways from an uneven start, too, at every rate";
    Claim::holds("ours", says, worse == 0, found)
}

fn frozen(effort: &Effort, results: &Results) -> Claim {
    // The first rate in the chart at which a third of the tokens is too few.
    let rate = effort.thin(&RATES).into_iter().find(|&drawn| drawn >= 0.1).unwrap_or(1.0);
    let wait = |instance| results.of(&same_start(effort, instance, rate)).time_to_enter.mean;
    let (stuck, mended) = (wait(FROZEN), wait(BALANCED));
    let fairness = |instance| results.of(&same_start(effort, instance, 1.0)).fairness.mean;
    let found = format!(
        "λ = {rate}: it waits {stuck:.2} units where balanced waits {mended:.2}; fairness at λ = 1: {:.2} against {:.2}",
        fairness(FROZEN),
        fairness(BALANCED),
    );
    let says =
        "without any INFORM, asking for the token last seen keeps clusters as they began, however uneven";
    Claim::holds("ours", says, stuck > 1.2 * mended, found)
}
