//! Where the contribution of 000 shows: the load is in few groups, so the tokens of the others can help. And where the
//! global collector should move.

use algorithms::Setting;
use simulator::plan::Plan;
use simulator::time::Span;
use simulator::workload::Workload;
use simulator::{Point, Summary};

use crate::compare::short;
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series};
use crate::{Effort, Exhibit, Results};

const SOURCE: &str = "000 sec. III B";
/// Eight groups of eight, with two tokens for each.
const NODES: u32 = 64;
const TOKENS: u32 = 16;
/// The nodes of the second group; the first is that of the global collector.
const ONE_GROUP: (u32, u32) = (8, 15);
/// In message delays.
const SECTION: f64 = 5.0;
const RATES: [f64; 8] = [0.003, 0.01, 0.03, 0.1, 0.2, 0.5, 1.0, 3.0];

/// Its name, the algorithm and its options.
type Contender = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const EQUAL: Contender = ("collectors, share=equal", "collectors", &[]);
const CAP: Contender = ("collectors, share=cap", "collectors", &[("share", "cap")]);
const EDWARD: Contender = ("chaudhuri-edward", "chaudhuri-edward", &[]);
const MOVES: Contender = ("collectors, grc=moves", "collectors", &[("grc", "moves")]);
const CONTENDERS: [Contender; 4] = [EQUAL, CAP, EDWARD, MOVES];

pub(super) fn exhibit() -> Exhibit {
    Exhibit {
        id: "collectors-few-groups",
        source: SOURCE,
        title: "The load in one group of eight, and in all of them",
        points,
        draw,
    }
}

/// Which nodes ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Askers {
    OneGroup,
    All,
}

fn points(effort: &Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for askers in [Askers::OneGroup, Askers::All] {
        for rate in effort.thin(&RATES) {
            points.extend(CONTENDERS.map(|contender| point(effort, contender, askers, rate)));
        }
    }
    points
}

fn point(effort: &Effort, (_, algorithm, options): Contender, askers: Askers, rate: f64) -> Point {
    let entries = effort.entries(3000);
    let plan = Plan {
        setting: Setting::new(NODES, TOKENS).with(options),
        section: Span::constant(SECTION),
        send: 0.0,
        receive: 0.0,
        transit: Span::constant(1.0),
        workload: if askers == Askers::All { Workload::Think } else { Workload::Only(vec![ONE_GROUP]) },
        rate,
        entries,
        warmup: entries / 5,
        ..Plan::default()
    };
    Point { algorithm: algorithm.to_string(), plan, seed: 1, seeds: effort.seeds }
}

fn draw(effort: &Effort, results: &Results) -> Page {
    let rates = effort.thin(&RATES);
    let wait = |summary: &Summary| summary.time_to_enter;
    let messages = |summary: &Summary| summary.messages_per_entry;
    let dots = |contender, askers, measure: fn(&Summary) -> simulator::Estimate| -> Vec<Dot> {
        let of = |&rate| Dot::measured(rate, measure(results.of(&point(effort, contender, askers, rate))));
        rates.iter().map(of).collect()
    };
    let chart = |suffix, askers, what, measure: fn(&Summary) -> simulator::Estimate| {
        let title = match askers {
            Askers::OneGroup => "one group asks",
            Askers::All => "all groups ask",
        };
        let curve = |contender: Contender| {
            Series::new(contender.0, Origin::Simulated, dots(contender, askers, measure))
        };
        Part::Chart(Chart {
            suffix,
            title: format!("n = {NODES} in 8 groups, k = {TOKENS}, E = 5 hops: {title}"),
            x: Axis::logarithmic("requests of a client that thinks, per hop (λ)"),
            y: Axis::linear(what),
            series: CONTENDERS.map(curve).to_vec(),
        })
    };
    let (waits, sends) = ("wait to enter, in hops", "messages for each entry");
    let parts = vec![
        chart("one-wait", Askers::OneGroup, waits, wait),
        chart("one-messages", Askers::OneGroup, sends, messages),
        chart("all-wait", Askers::All, waits, wait),
        chart("all-messages", Askers::All, sends, messages),
    ];
    let at = |askers, measure, contender| dots(contender, askers, measure);
    let mut claims =
        claims(&|askers, contender| (at(askers, wait, contender), at(askers, messages, contender)));
    claims.extend(fairness(&rates, &|contender, askers, rate| {
        results.of(&point(effort, contender, askers, rate))
    }));
    Page { parts, claims }
}

/// Whether the text's rule is fairer than Chaudhuri and Edward's: by the longest wait, and by how evenly nodes enter.
fn fairness<'a>(rates: &[f64], of: &dyn Fn(Contender, Askers, f64) -> &'a Summary) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (askers, who) in [(Askers::OneGroup, "one group asks"), (Askers::All, "all groups ask")] {
        let longest = |contender| -> Vec<f64> {
            rates.iter().map(|&rate| of(contender, askers, rate).longest_wait).collect()
        };
        let [equal, cap, edward] = [EQUAL, CAP, EDWARD].map(longest);
        let shorter = equal.iter().zip(&edward).all(|(ours, other)| *ours < 0.98 * other);
        let most = |waits: &[f64]| short(waits.iter().copied().fold(0.0, f64::max));
        let found = format!(
            "the longest wait at any λ is {} hops with share=equal, {} with share=cap, {} with chaudhuri-edward",
            most(&equal),
            most(&cap),
            most(&edward)
        );
        let says = format!("fairer than Chaudhuri and Edward where {who}: the longest wait is shorter");
        claims.push(Claim::holds(SOURCE, &says, shorter, found).because(match askers {
            Askers::OneGroup => "With all tokens in the group that asks, no node waits for another.",
            Askers::All => "All groups wait for the same tokens, whichever way these are shared out.",
        }));
        let even = |contender| -> Vec<simulator::Estimate> {
            rates.iter().map(|&rate| of(contender, askers, rate).fairness).collect()
        };
        let (ours, other) = (even(EQUAL), even(EDWARD));
        let beyond_chance = |ours: &simulator::Estimate, other: &simulator::Estimate| {
            ours.mean - other.mean > 3.0 * (ours.stderr.powi(2) + other.stderr.powi(2)).sqrt()
        };
        let fairer = ours.iter().zip(&other).all(|(ours, other)| beyond_chance(ours, other));
        let range = |estimates: &[simulator::Estimate]| {
            let means = || estimates.iter().map(|estimate| estimate.mean);
            let (least, most) = (means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max));
            format!("{least:.4} to {most:.4}")
        };
        let found = format!(
            "Jain's index over all {NODES} nodes: {} with share=equal, {} with chaudhuri-edward",
            range(&ours),
            range(&other)
        );
        let says = format!("fairer than Chaudhuri and Edward where {who}: nodes enter more evenly");
        claims.push(Claim::holds(SOURCE, &says, fairer, found).because(
            "Every node that asks is served before it asks again, so that entries are about even with either rule. If one \
             group of eight asks, the index is at most 0.125.",
        ));
    }
    claims
}

/// The waits and messages of a contender.
type Measured<'a> = &'a dyn Fn(Askers, Contender) -> (Vec<Dot>, Vec<Dot>);

fn claims(measured: Measured<'_>) -> Vec<Claim> {
    let ratio = |ours: &[Dot], other: &[Dot]| -> (f64, f64) {
        let ratios = ours.iter().zip(other).map(|(ours, other)| ours.y / other.y);
        ratios.fold((f64::INFINITY, 0.0), |(least, most), ratio| (ratio.min(least), ratio.max(most)))
    };
    let text = |(least, most): (f64, f64)| format!("{} to {} times", short(least), short(most));
    let beside = |askers, ours, other| {
        let ((waits, sends), (other_waits, other_sends)) = (measured(askers, ours), measured(askers, other));
        (ratio(&waits, &other_waits), ratio(&sends, &other_sends))
    };
    let (wait, sent) = beside(Askers::OneGroup, EQUAL, EDWARD);
    let (even_wait, even_sent) = beside(Askers::All, EQUAL, EDWARD);
    let (moved_wait, moved_sent) = beside(Askers::OneGroup, MOVES, EQUAL);
    let (even_moved_wait, even_moved_sent) = beside(Askers::All, MOVES, EQUAL);
    vec![
        Claim::holds(
            SOURCE,
            "where few groups ask, several tokens for a group shorten the wait",
            wait.0 < 0.67 && wait.1 <= 1.02,
            format!("the wait is {} that of chaudhuri-edward, the messages {}", text(wait), text(sent)),
        )
        .because("A grant of one token serves the nodes of a group one after the other; a grant of all that are free serves them together, and each token goes home alone."),
        Claim::holds(
            SOURCE,
            "where all groups ask, too",
            even_wait.1 < 0.98,
            format!("the wait is {} that of chaudhuri-edward, the messages {}", text(even_wait), text(even_sent)),
        )
        .because("All groups wait for the same tokens, so a larger grant to one is a smaller one to another."),
        Claim::holds(
            "000 app. A",
            "a global collector that moves (Broadcast_New_GRC, mended) helps where one group asks",
            moved_wait.1 < 1.0 && moved_sent.1 < 1.0,
            format!("the wait is {} that with a fixed one, the messages {}", text(moved_wait), text(moved_sent)),
        )
        .because("The collector of that group becomes the global one, and stays."),
        Claim::holds(
            "000 app. A",
            "it helps where all groups ask, too",
            even_moved_wait.1 < 1.0,
            format!(
                "the wait is {} that with a fixed one, the messages {}",
                text(even_moved_wait),
                text(even_moved_sent)
            ),
        )
        .because("Every move costs a message to each collector, and late requests are forwarded."),
    ]
}
