//! Text 002: messages of the binary tree at light, medium and high load, formulas and simulation, swaps
//! apart.
//!
//! The text has no times, only counts; here a message takes one unit and so does a critical section, and
//! processors take none. Light load is one request at a time, from a node drawn at random; high load is a
//! request of every node at once, again and again (bursts), or a new request of every client as soon as it
//! has left (saturation); medium load is one node of each level at once. The swaps (SNPM) cost messages of
//! their own, ROOT and PARENT, which the text does not count.

mod formulas;
mod loads;
mod table;

use simulator::{Estimate, Point, Summary};

use crate::compare::{formula, short};
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series, Verdict};
use crate::{Effort, Exhibit, Results};
use formulas::{Formula, TABLE};
use loads::{Tree, burst, heavy, last_leaf, light, medium};

/// Complete trees, and trees of a power of two, where the last level has only one node.
const LIGHT_SIZES: [u32; 12] = [3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128];
/// Complete trees.
const SIZES: [u32; 7] = [3, 7, 15, 31, 63, 127, 255];
/// Complete trees for all algorithms.
const OTHER_SIZES: [u32; 5] = [7, 15, 31, 63, 127];
/// The algorithms simulated beside the text's own: those of table 2 that we have, and three more.
const OTHERS: [&str; 10] = [
    "lamport",
    "ricart-agrawala",
    "maekawa",
    "suzuki-kasami",
    "raymond-tree",
    "naimi-trehel",
    "neilsen-mizuno",
    "carvalho-roucairol",
    "helary",
    "lodha-kshemkalyani",
];

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    vec![
        Exhibit {
            id: "tree-19",
            source: "002 fig. 19",
            title: "Messages at light load against the number of nodes",
            points: light_points,
            draw: draw_light,
        },
        Exhibit {
            id: "tree-20",
            source: "002 fig. 20",
            title: "Messages at high load against the number of nodes",
            points: high_points,
            draw: draw_high,
        },
        Exhibit {
            id: "tree-medium",
            source: "002 sec. 4.2.2",
            title: "Messages at medium load: one node of each level asks",
            points: medium_points,
            draw: draw_medium,
        },
        table::exhibit(),
    ]
}

fn light_points(effort: &Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for nodes in effort.thin(&LIGHT_SIZES) {
        points.extend([light("lacbt", nodes, effort), last_leaf(nodes)]);
    }
    for nodes in effort.thin(&OTHER_SIZES) {
        points.push(light("lacbt", nodes, effort));
        points.extend(OTHERS.map(|name| light(name, nodes, effort)));
    }
    points
}

fn high_points(effort: &Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for nodes in effort.thin(&SIZES) {
        points.extend([burst(Tree::Swaps, nodes, effort), burst(Tree::Static, nodes, effort)]);
        points.push(heavy("lacbt", nodes, effort));
    }
    for nodes in effort.thin(&OTHER_SIZES) {
        points.push(heavy("lacbt", nodes, effort));
        points.extend(OTHERS.map(|name| heavy(name, nodes, effort)));
    }
    points.extend(loads::shares_of_work(effort).into_iter().flatten());
    points
}

fn medium_points(effort: &Effort) -> Vec<Point> {
    let sizes = effort.thin(&SIZES).into_iter();
    sizes.flat_map(|nodes| [medium(Tree::Swaps, nodes), medium(Tree::Static, nodes)]).collect()
}

/// Messages for each entry without those of swaps. The error is at most the sum of those of the kinds.
fn without_swaps(summary: &Summary) -> Estimate {
    let counted = summary.messages_by_kind.iter().filter(|(kind, _)| !loads::SWAP_KINDS.contains(kind));
    counted.fold(Estimate::default(), |sum, (_, kind)| Estimate {
        mean: sum.mean + kind.mean,
        stderr: sum.stderr + kind.stderr,
        values: kind.values,
    })
}

fn all(summary: &Summary) -> Estimate {
    summary.messages_per_entry
}

fn by_formula(label: &str, sizes: &[u32], formula: Formula) -> Series {
    let dots = sizes.iter().map(|&nodes| Dot::exact(f64::from(nodes), formula(nodes)));
    Series::new(label, Origin::Formula, dots.collect())
}

fn simulated(label: &str, sizes: &[u32], estimate: impl Fn(u32) -> Estimate) -> Series {
    let dots = sizes.iter().map(|&nodes| Dot::measured(f64::from(nodes), estimate(nodes)));
    Series::new(label, Origin::Simulated, dots.collect())
}

fn chart(suffix: &'static str, title: &str, series: Vec<Series>) -> Part {
    let upwards = "messages for each entry";
    // One algorithm takes a few messages, all of them span several orders of magnitude.
    let y = if suffix.is_empty() { Axis::linear(upwards) } else { Axis::logarithmic(upwards) };
    Part::Chart(Chart { suffix, title: title.to_string(), x: Axis::logarithmic("nodes (N)"), y, series })
}

/// The curves of table 2 that have numbers, as the text plots them.
fn table_curves(sizes: &[u32], column: fn(&formulas::Row) -> formulas::Messages) -> Vec<Series> {
    let curve = |row: &formulas::Row| {
        let (printed, formula) = column(row);
        formula.map(|formula| by_formula(&format!("{}: {printed}", row.name), sizes, formula))
    };
    TABLE.iter().filter_map(curve).collect()
}

fn draw_light(effort: &Effort, results: &Results) -> Page {
    const SOURCE: &str = "002 sec. 4.2.1";
    let (sizes, others) = (effort.thin(&LIGHT_SIZES), effort.thin(&OTHER_SIZES));
    let of = |nodes| results.of(&light("lacbt", nodes, effort));
    let printed = by_formula("3(⌈log N⌉ − 1), the text", &sizes, formulas::light);
    let leaf = simulated("lacbt, the last leaf, without swaps' messages", &sizes, |nodes| {
        without_swaps(results.of(&last_leaf(nodes)))
    });
    let counted =
        simulated("lacbt, a random node, without swaps' messages", &sizes, |nodes| without_swaps(of(nodes)));
    let mean = by_formula("3 × mean depth, ours", &sizes, formulas::light_mean);
    let whole = simulated("lacbt, a random node, all messages", &sizes, |nodes| all(of(nodes)));
    let claims = vec![
        formula(SOURCE, "a leaf that asks alone: 3(⌈log N⌉ − 1) messages", &printed.dots, &leaf.dots).because(
            "The last level is ⌊log N⌋ hops away: the same, except that it is a hop more, and three messages, where N is a \
             power of two. (The text adds N ≤ 3; it must mean N ≥ 3.)",
        ),
        formula("ours", "a lone request: three messages for each hop of the depth", &mean.dots, &counted.dots)
            .because("The text gives only the worst case."),
        swap_cost(SOURCE, &counted.dots, &whole.dots),
    ];
    let mut compared = vec![simulated("lacbt", &others, |nodes| all(of(nodes)))];
    compared.extend(
        OTHERS.map(|name| simulated(name, &others, |nodes| all(results.of(&light(name, nodes, effort))))),
    );
    let parts = vec![
        chart(
            "",
            "Light load: one request at a time",
            vec![
                printed,
                by_formula("3 ⌊log N⌋ for the last leaf, ours", &sizes, formulas::light_leaf),
                mean,
                leaf,
                counted,
                whole,
            ],
        ),
        chart("formulas", "Light load: the formulas of table 2", table_curves(&sizes, |row| row.light)),
        chart("simulated", "Light load: simulated, all messages", compared),
    ];
    Page { parts, claims }
}

fn draw_high(effort: &Effort, results: &Results) -> Page {
    const SOURCE: &str = "002 sec. 4.2.3";
    let (sizes, others) = (effort.thin(&SIZES), effort.thin(&OTHER_SIZES));
    let burst_of = |tree, nodes| results.of(&burst(tree, nodes, effort));
    let saturated = |nodes| results.of(&heavy("lacbt", nodes, effort));
    let printed = by_formula("6[⌈log(N+1)⌉ + 2(2^−⌈log(N+1)⌉ − 1)], the text", &sizes, formulas::high);
    let right = by_formula("3(N+1)/N [the same], ours", &sizes, formulas::high_series);
    let fixed = simulated("lacbt without swaps, bursts", &sizes, |nodes| all(burst_of(Tree::Static, nodes)));
    let counted = simulated("lacbt, bursts, without swaps' messages", &sizes, |nodes| {
        without_swaps(burst_of(Tree::Swaps, nodes))
    });
    let whole = simulated("lacbt, bursts, all messages", &sizes, |nodes| all(burst_of(Tree::Swaps, nodes)));
    let saturation = simulated("lacbt, saturation, all messages (hardly any swaps)", &sizes, |nodes| {
        all(saturated(nodes))
    });
    let claims = vec![
        formula(SOURCE, "everybody asks: 6[⌈log(N + 1)⌉ + 2(2^−⌈log(N + 1)⌉ − 1)]", &printed.dots, &fixed.dots)
            .because(
                "The series (6) is right and its sum is the bracket, but it is multiplied by 3(N + 1)/N and not by 6: about \
                 twice too much. The abstract prints 2 to the power of +⌈log(N + 1)⌉, which would be 12N and more for \
                 each entry.",
            ),
        formula(SOURCE, "the series (6): 3(N + 1)/N times the same bracket", &right.dots, &fixed.dots)
            .because("Without swaps everybody stays at their depth."),
        formula(SOURCE, "the same with swaps, their own messages not counted", &right.dots, &counted.dots).because(
            "Swaps come while requests are still under way: most of these then have further to go, and some of those who \
             asked are moved up to the root themselves. In a large tree few are under way at a time, and it matters less.",
        ),
        swap_cost(SOURCE, &counted.dots, &whole.dots),
        better(effort, &others, results),
        loads::spread(effort, results),
        logarithmic(&saturation.dots),
    ];
    let mut compared = vec![simulated("lacbt", &others, |nodes| all(saturated(nodes)))];
    compared.extend(
        OTHERS.map(|name| simulated(name, &others, |nodes| all(results.of(&heavy(name, nodes, effort))))),
    );
    let parts = vec![
        chart("", "High load: everybody asks", vec![printed, right, fixed, counted, whole, saturation]),
        chart("formulas", "High load: the formulas of table 2", table_curves(&sizes, |row| row.heavy)),
        chart("simulated", "Saturation: simulated, all messages", compared),
        Part::Text(format!(
            "At N = 31 the text's closed form gives {}, the series behind it {}, and the abstract's form {}.",
            short(formulas::high(31)),
            short(formulas::high_series(31)),
            short(formulas::high_abstract(31))
        )),
    ];
    Page { parts, claims }
}

fn draw_medium(effort: &Effort, results: &Results) -> Page {
    const SOURCE: &str = "002 sec. 4.2.2";
    let sizes = effort.thin(&SIZES);
    let of = |tree, nodes| results.of(&medium(tree, nodes));
    let printed = by_formula("3(⌈log(N+1)⌉ − 1)/2, the text", &sizes, formulas::medium);
    let fixed = simulated("lacbt without swaps", &sizes, |nodes| all(of(Tree::Static, nodes)));
    let counted =
        simulated("lacbt, without swaps' messages", &sizes, |nodes| without_swaps(of(Tree::Swaps, nodes)));
    let whole = simulated("lacbt, all messages", &sizes, |nodes| all(of(Tree::Swaps, nodes)));
    let claims = vec![
        formula(SOURCE, "one node of each level: 3(⌈log(N + 1)⌉ − 1)/2", &printed.dots, &fixed.dots)
            .because("Without swaps."),
        formula(SOURCE, "the same with swaps, their own messages not counted", &printed.dots, &counted.dots).because(
            "The first swap comes while requests from below are still under way, and moves the root away from them.",
        ),
        swap_cost(SOURCE, &counted.dots, &whole.dots),
    ];
    let note = "The nodes on the leftmost branch ask at the same moment, once, and all messages until silence are counted. \
                Nothing is left to chance, so there are no error bars.";
    let title = "Medium load: one node of each level asks";
    Page {
        parts: vec![chart("", title, vec![printed, fixed, counted, whole]), Part::Text(note.to_string())],
        claims,
    }
}

fn swap_cost(source: &'static str, counted: &[Dot], whole: &[Dot]) -> Claim {
    let costs = || counted.iter().zip(whole).map(|(counted, whole)| whole.y - counted.y);
    let (least, most) = (costs().fold(f64::INFINITY, f64::min), costs().fold(0.0, f64::max));
    let share = |(counted, whole): (&Dot, &Dot)| format!("{:.0} %", (whole.y - counted.y) / whole.y * 100.0);
    let shares = (counted.first().zip(whole.first()).map(share), counted.last().zip(whole.last()).map(share));
    let found = format!(
        "{} to {} messages for each entry; of all, {} at the smallest and {} at the largest",
        short(least),
        short(most),
        shares.0.unwrap_or_default(),
        shares.1.unwrap_or_default()
    );
    Claim {
        source,
        says: "the swaps cost no messages (none are counted)".to_string(),
        found,
        verdict: if most > 0.0 { Verdict::DoesNot } else { Verdict::Reproduces },
        reason: "A swap hands the queue and positions to the new root (ROOT) and tells the children of both positions \
                 (PARENT)."
            .to_string(),
    }
}

fn better(effort: &Effort, sizes: &[u32], results: &Results) -> Claim {
    let largest = sizes.last().copied().unwrap_or(31);
    let of = |name| all(results.of(&heavy(name, largest, effort))).mean;
    let ours = of("lacbt");
    let name = |fewer: bool| {
        let those = OTHERS.into_iter().filter(|name| (of(name) < ours) == fewer);
        those.map(|name| format!("{name} {}", short(of(name)))).collect::<Vec<_>>().join(", ")
    };
    let worse = OTHERS.into_iter().filter(|name| of(name) > ours).count();
    let found = format!(
        "at saturation, N = {largest}: lacbt {}; fewer: {}; more: {}",
        short(ours),
        name(true),
        name(false)
    );
    let verdict = match worse {
        0 => Verdict::DoesNot,
        _ if worse == OTHERS.len() => Verdict::Reproduces,
        _ => Verdict::Differs(format!("fewer than {worse} of {}", OTHERS.len())),
    };
    Claim {
        source: "002 sec. 6",
        says: "fewer messages than the existing algorithms at high load".to_string(),
        found,
        verdict,
        reason: "In lacbt every entry is paid from the root and back. Raymond's tree hands the token to the nearest who waits, \
                 and in the others it goes straight to the next; table 2 itself prints 4 and 3 for two of them."
            .to_string(),
    }
}

/// Whether doubling the number of nodes adds a constant.
fn logarithmic(dots: &[Dot]) -> Claim {
    let steps: Vec<f64> = dots
        .windows(2)
        .map(|pair| (pair[1].y - pair[0].y) / ((pair[1].x + 1.0).log2() - (pair[0].x + 1.0).log2()))
        .collect();
    let most = steps.iter().copied().fold(0.0, f64::max);
    let list: Vec<String> = steps.iter().map(|step| short(*step)).collect();
    let found = format!("each doubling of N adds {} messages", list.join(", "));
    // The depth grows by one with each doubling, and each hop takes three messages; a little more for the
    // swaps.
    Claim::holds("002 sec. 7", "messages grow with the logarithm of N", most <= 4.0, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without swaps the correct formulas are exact to the message.
    #[test]
    fn without_swaps_the_series_and_the_medium_load_are_exact() {
        let effort = Effort { seeds: 1, quick: true };
        for nodes in [3, 7, 15] {
            let summary = burst(Tree::Static, nodes, &effort).run().unwrap();
            assert!((all(&summary).mean - formulas::high_series(nodes)).abs() < 1e-9, "{nodes} nodes");
            let summary = medium(Tree::Static, nodes).run().unwrap();
            assert_eq!(all(&summary).mean, formulas::medium(nodes));
            let summary = last_leaf(nodes + 1).run().unwrap();
            assert_eq!(without_swaps(&summary).mean, formulas::light_leaf(nodes + 1));
            assert!(all(&summary).mean > without_swaps(&summary).mean);
        }
    }
}
