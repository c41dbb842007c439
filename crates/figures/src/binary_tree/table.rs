//! Table 2 of 002: the printed values of nineteen algorithms, and the measured ones of those that we have.

use simulator::Point;

use super::formulas::{Formula, Row, TABLE};
use super::loads::{heavy, light, once};
use super::{OTHERS, all};
use crate::compare::short;
use crate::page::{Claim, Page, Part, Table, Verdict};
use crate::{Effort, Exhibit, Results};

/// The size of the table, and a larger one to show growth.
const SIZE: u32 = 31;
const LARGER: u32 = 127;

const SOURCE: &str = "002 table 2";

/// Lodha and Kshemkalyani's, whose cost depends on what heavy load is.
const BY_PRIORITY: &str = "lodha-kshemkalyani";

pub(super) fn exhibit() -> Exhibit {
    let title = "Delay and messages of the algorithms that the text compares, printed and simulated";
    Exhibit { id: "tree-table-2", source: SOURCE, title, points, draw }
}

fn simulated() -> impl Iterator<Item = &'static str> {
    OTHERS.into_iter().chain(["lacbt"])
}

fn points(effort: &Effort) -> Vec<Point> {
    let points = |name| [SIZE, LARGER].map(|nodes| [heavy(name, nodes, effort), light(name, nodes, effort)]);
    simulated().flat_map(points).flatten().chain(planes(effort)).chain([once(BY_PRIORITY, SIZE)]).collect()
}

/// Maekawa's algorithm at heavy and at light load with the quorums of its own text: 31 nodes are a projective
/// plane whose lines have six nodes. There is none for the larger size.
fn planes(effort: &Effort) -> [Point; 2] {
    [heavy("maekawa", SIZE, effort), light("maekawa", SIZE, effort)].map(|mut point| {
        point.plan.setting = point.plan.setting.with(&[("quorum", "plane")]);
        point
    })
}

fn measured_planes(effort: &Effort, results: &Results) -> Measured {
    let [heavy, light] = planes(effort);
    let (heavy, light) = (results.of(&heavy), results.of(&light));
    Measured { delay: heavy.sync_delay.mean, heavy: all(heavy).mean, light: all(light).mean }
}

/// The measures of an algorithm at one size.
struct Measured {
    delay: f64,
    heavy: f64,
    light: f64,
}

fn measured(name: &str, nodes: u32, effort: &Effort, results: &Results) -> Measured {
    let (heavy, light) = (results.of(&heavy(name, nodes, effort)), results.of(&light(name, nodes, effort)));
    Measured { delay: heavy.sync_delay.mean, heavy: all(heavy).mean, light: all(light).mean }
}

fn draw(effort: &Effort, results: &Results) -> Page {
    let columns = [
        "algorithm",
        "delay, printed",
        "delay, simulated (hops)",
        "heavy load, printed",
        "at N = 31",
        "simulated",
        "light load, printed",
        "at N = 31",
        "simulated",
        "ours",
    ];
    let at = |formula: Option<Formula>| formula.map_or("–".to_string(), |formula| short(formula(SIZE)));
    let mut rows = Vec::new();
    for Row { name, ours, delay, heavy, light } in &TABLE {
        let found = ours.map(|ours| measured(ours, SIZE, effort, results));
        let cell = |value: fn(&Measured) -> f64| {
            found.as_ref().map_or("–".to_string(), |found| short(value(found)))
        };
        rows.push(vec![
            name.to_string(),
            delay.to_string(),
            cell(|found| found.delay),
            heavy.0.to_string(),
            at(heavy.1),
            cell(|found| found.heavy),
            light.0.to_string(),
            at(light.1),
            cell(|found| found.light),
            ours.unwrap_or("formula only: the texts do not give its rules").to_string(),
        ]);
    }
    let missing = OTHERS.into_iter().filter(|name| TABLE.iter().all(|row| row.ours != Some(name)));
    let missing = missing.map(|name| (name, measured(name, SIZE, effort, results)));
    let planes = ("maekawa, quorum=plane", measured_planes(effort, results));
    for (name, found) in missing.chain([planes]) {
        let [none, delay, heavy, light] =
            ["–".to_string(), short(found.delay), short(found.heavy), short(found.light)];
        let blank = || none.clone();
        rows.push(vec![
            "(not in the table)".to_string(),
            blank(),
            delay,
            blank(),
            blank(),
            heavy,
            blank(),
            blank(),
            light,
            name.to_string(),
        ]);
    }
    let title = format!("Table 2 at N = {SIZE}: what is printed, and what was simulated");
    let table = Table { suffix: "", title, columns: columns.map(str::to_string).to_vec(), rows };
    let note = "Heavy load is saturation: everybody asks again as soon as they have left. Light load is one request at a time, \
                from a node drawn at random. A hop and a critical section take one unit each; the delay runs from an exit with \
                waiters to the entry that it makes possible. Messages of swaps are counted in lacbt's.";
    let mut claims: Vec<Claim> = TABLE.iter().flat_map(|row| claims(row, effort, results)).collect();
    claims.extend(plane_claims(&measured_planes(effort, results)));
    claims.push(once_claim(all(results.of(&once(BY_PRIORITY, SIZE))).mean));
    Page { parts: vec![Part::Table(table), Part::Text(note.to_string())], claims }
}

fn claims(row: &Row, effort: &Effort, results: &Results) -> Vec<Claim> {
    let Some(ours) = row.ours else { return Vec::new() };
    let small = measured(ours, SIZE, effort, results);
    let large = measured(ours, LARGER, effort, results);
    let delay = order(&format!("{}: delay {}", row.name, row.delay), row.delay, small.delay, large.delay);
    let load = |load: &str, (printed, formula): (&str, Option<Formula>), small: f64, large: f64| {
        let says = format!("{}: {printed} messages at {load} load", row.name);
        match formula {
            Some(formula) => {
                let mut claim = Claim::number(SOURCE, &says, formula(SIZE), small, 0.05);
                claim.found = format!(
                    "{} at N = {SIZE}, where the formula gives {}",
                    short(small),
                    short(formula(SIZE))
                );
                claim
            }
            None => order(&says, printed, small, large),
        }
    };
    let heavy = load("heavy", row.heavy, small.heavy, large.heavy);
    let light = load("light", row.light, small.light, large.light);
    let (why_delay, why_heavy, why_light) = reasons(ours);
    // The text prints no delay for some.
    let delay = (row.delay != "–").then(|| delay.because(why_delay));
    delay.into_iter().chain([heavy.because(why_heavy), light.because(why_light)]).collect()
}

/// What the text prints for Maekawa's algorithm, judged with projective planes.
fn plane_claims(found: &Measured) -> [Claim; 2] {
    const LINE: f64 = 6.0;
    let root = f64::from(SIZE).sqrt();
    let heavy = "Maekawa with quorum=plane: 5(√N − 1) messages at heavy load";
    let light = "Maekawa with quorum=plane: 3(√N − 1) messages at light load";
    let four = "REQUEST, FAILED, LOCKED and RELEASE to or from the others of a line of q: 4(q − 1). At saturation hardly any lock \
                has to be asked back, which would take INQUIRE and RELINQUISH.";
    let three = "A line of the plane has q nodes with N = q(q − 1) + 1, which is more than √N.";
    let loads = [(heavy, 5.0, found.heavy, four), (light, 3.0, found.light, three)];
    loads.map(|(says, factor, measured, reason)| {
        let claim = Claim::number(SOURCE, says, factor * (root - 1.0), measured, 0.05);
        let found = format!(
            "{} at N = {SIZE}, where the formula gives {}; {factor}(q − 1) with the q = {LINE} nodes of a line is {}",
            short(measured),
            short(factor * (root - 1.0)),
            short(factor * (LINE - 1.0))
        );
        Claim { found, ..claim }.because(reason)
    })
}

/// What the text prints for Lodha and Kshemkalyani's algorithm, judged with the high load of its section 4.2.3.
fn once_claim(found: f64) -> Claim {
    let printed = f64::from(SIZE) - 1.0;
    let says = "Lodha and Kshemkalyani: N − 1 messages at heavy load, if all attempt at once and once (section 4.2.3)";
    let text = format!("{} at N = {SIZE}, where the formula gives {}", short(found), short(printed));
    Claim { found: text, ..Claim::number(SOURCE, says, printed, found, 0.05) }
        .because("N(N − 1) REQUESTs, which answer each other, and N − 1 FLUSHes, for N entries.")
}

/// The reasons, for delay, heavy and light load.
fn reasons(ours: &str) -> (&'static str, &'static str, &'static str) {
    match ours {
        "maekawa" => (
            "",
            "Our quorums are a row and a column of a grid, about 2√N nodes each and not √N: projective planes do not exist \
             for every N.",
            "Three messages to each of the quorum, which is a row and a column here.",
        ),
        "suzuki-kasami" => ("", "", "The holder of the token asks no other node: once in N times."),
        "raymond-tree" => (
            "At saturation the token tours the tree and takes about two edges from one entry to the next, whatever N is; \
             O(N) can only be meant for the worst case on a line.",
            "REQUEST and PRIVILEGE over each edge twice in a tour of all: 4(N − 1)/N at most, and less if an edge is asked \
             for once for several.",
            "",
        ),
        "helary" => (
            "At saturation the next request has reached the holder before it leaves, and the token goes there in one message; \
             O(log N) can only be meant for a request on its way.",
            "With behaviour=transit the token goes straight to the next node that waits, and a request over a path of \
             pointers; O(N) can only be meant for the worst case.",
            "A path of pointers has H(N − 1) of them on average, as in naimi-trehel.",
        ),
        BY_PRIORITY => (
            "",
            "Only requests that are made at the same time answer each other. A node that asks again after it has left is \
             answered by all, so at saturation it is 2(N − 1), as at light load. If all attempt once, it is as printed: the \
             last claim of this exhibit.",
            "",
        ),
        "lacbt" => (
            "Back to the root, and down to the next.",
            "The closed form is twice the series behind it (see figure 20); what was simulated includes the swaps' messages.",
            "The formula is for a leaf, the simulation for a random node; and swaps' messages are counted.",
        ),
        _ => ("", "", ""),
    }
}

/// The growth from one size to the other, as the nearest order.
fn nearest_order(small: f64, large: f64) -> &'static str {
    let (from, to) = (f64::from(SIZE), f64::from(LARGER));
    let known = [("O(1)", 1.0), ("O(log N)", (to + 1.0).log2() / (from + 1.0).log2()), ("O(N)", to / from)];
    let off = |(_, factor): &(&str, f64)| (large / small / factor).ln().abs();
    known.into_iter().min_by(|a, b| off(a).total_cmp(&off(b))).map_or("", |(name, _)| name)
}

fn order(says: &str, printed: &str, small: f64, large: f64) -> Claim {
    let nearest = nearest_order(small, large);
    let found = format!("{} at N = {SIZE}, {} at {LARGER}: nearest to {nearest}", short(small), short(large));
    let verdict = if nearest == printed {
        Verdict::Reproduces
    } else {
        Verdict::Differs(format!("nearer to {nearest}"))
    };
    Claim { source: SOURCE, says: says.to_string(), found, verdict, reason: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_told_apart() {
        assert_eq!(nearest_order(2.0, 2.1), "O(1)");
        assert_eq!(nearest_order(5.0, 7.0), "O(log N)");
        assert_eq!(nearest_order(31.0, 127.0), "O(N)");
    }
}
