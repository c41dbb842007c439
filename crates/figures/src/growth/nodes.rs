//! Growth with the number of nodes.

use simulator::{Estimate, Point, Summary};

use super::{Load, capitalised, exponent, formula, harmonic, point};
use crate::compare::share;
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series};
use crate::{Effort, Exhibit, Results};

pub(super) const EXHIBITS: [Exhibit; 3] = [
    Exhibit {
        id: "scale-messages",
        source: "ours",
        title: "Messages per entry against the number of nodes, one at a time",
        points: |effort| all(effort, Load::Light),
        draw: messages,
    },
    Exhibit {
        id: "scale-wait",
        source: "ours",
        title: "Time to enter against the number of nodes, one at a time",
        points: |effort| all(effort, Load::Light),
        draw: wait,
    },
    Exhibit {
        id: "scale-saturation",
        source: "ours",
        title: "Messages and time to enter against the number of nodes, everybody at once",
        points: |effort| all(effort, Load::Full),
        draw: saturation,
    },
];

const SIZES: [u32; 9] = [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000];
/// The largest system of a quick run.
const QUICK: u32 = 10_000;

/// An algorithm, its tokens, and its largest system: by its state at light load, by its work at full load.
struct Contender {
    name: &'static str,
    tokens: u32,
    light: u32,
    full: u32,
}

const fn contender(name: &'static str, tokens: u32, light: u32, full: u32) -> Contender {
    Contender { name, tokens, light, full }
}

const NAIMI: Contender = contender("naimi-trehel", 1, 100_000, 100_000);
const FOREST: Contender = contender("bulgannawar-vaidya", 3, 100_000, 10_000);
const NEILSEN: Contender = contender("neilsen-mizuno", 1, 100_000, 100_000);
const RAYMOND: Contender = contender("raymond-tree", 1, 100_000, 100_000);
const COLLECTORS: Contender = contender("collectors", 3, 100_000, 10_000);
const MAEKAWA: Contender = contender("maekawa", 1, 3_000, 300);
const SUZUKI: Contender = contender("suzuki-kasami", 1, 300, 300);
const RICART: Contender = contender("ricart-agrawala", 1, 300, 100);

const CONTENDERS: [Contender; 9] = [
    NAIMI,
    FOREST,
    NEILSEN,
    RAYMOND,
    // The root keeps the whole tree and moves it with the token, which is work in proportion to n.
    contender("lacbt", 1, 100_000, 1_000),
    COLLECTORS,
    MAEKAWA,
    SUZUKI,
    RICART,
];

impl Contender {
    fn sizes(&self, effort: &Effort, load: Load) -> Vec<u32> {
        let most = if load == Load::Light { self.light } else { self.full };
        let most = if effort.quick { most.min(QUICK) } else { most };
        let sizes: Vec<u32> = SIZES.into_iter().filter(|&nodes| nodes <= most).collect();
        effort.thin(&sizes)
    }

    fn points(&self, effort: &Effort, load: Load) -> Vec<(u32, Point)> {
        let at = |nodes: u32| {
            let mut point = point(effort, self.name, (nodes, self.tokens), load);
            if self.name == FOREST.name {
                // The fair choice: at full load a random choice leaves some clients waiting for very long.
                point.plan.setting.options.push(("choose".to_string(), "last-seen".to_string()));
            }
            if load == Load::Light && !matches!(self.name, "naimi-trehel" | "bulgannawar-vaidya") {
                // Only the position of the token changes; and where all nodes are asked, an entry is much
                // work.
                point.plan.warmup = 200;
                point.plan.entries = point.plan.entries.min(1000);
            }
            (nodes, point)
        };
        self.sizes(effort, load).into_iter().map(at).collect()
    }

    fn dots(
        &self,
        effort: &Effort,
        results: &Results,
        load: Load,
        value: fn(&Summary) -> Estimate,
    ) -> Vec<Dot> {
        let points = self.points(effort, load);
        points
            .iter()
            .map(|(nodes, point)| Dot::measured(f64::from(*nodes), value(results.of(point))))
            .collect()
    }

    fn label(&self) -> String {
        if self.tokens == 1 { self.name.to_string() } else { format!("{}, k = {}", self.name, self.tokens) }
    }
}

fn all(effort: &Effort, load: Load) -> Vec<Point> {
    CONTENDERS.iter().flat_map(|it| it.points(effort, load)).map(|(_, point)| point).collect()
}

fn chart(effort: &Effort, results: &Results, load: Load, y: &str, value: fn(&Summary) -> Estimate) -> Chart {
    let when = if load == Load::Light { "one at a time" } else { "everybody at once" };
    Chart {
        suffix: "",
        title: format!("{}, {when}", capitalised(y)),
        x: Axis::logarithmic("nodes (n)"),
        y: Axis::logarithmic(y),
        series: CONTENDERS
            .iter()
            .map(|it| Series::new(it.label(), Origin::Simulated, it.dots(effort, results, load, value)))
            .collect(),
    }
}

/// The largest deviation of measured values from a formula, as a share of it.
fn deviation(dots: &[Dot], formula: impl Fn(f64) -> f64) -> f64 {
    dots.iter().map(|dot| (dot.y / formula(dot.x) - 1.0).abs()).fold(0.0, f64::max)
}

fn messages(effort: &Effort, results: &Results) -> Page {
    let value: fn(&Summary) -> Estimate = |it| it.messages_per_entry;
    let mut chart = chart(effort, results, Load::Light, "messages per entry", value);
    let sizes = NAIMI.sizes(effort, Load::Light);
    let few: Vec<u32> = sizes.iter().copied().filter(|&nodes| nodes <= SUZUKI.light).collect();
    chart.series.push(formula("H(n - 1), about ln n", &sizes, |n| harmonic(n - 1.0)));
    chart.series.push(formula("6 √n", &sizes, |n| 6.0 * n.sqrt()));
    chart.series.push(formula("n", &few, |n| n));
    let dots = |it: &Contender| it.dots(effort, results, Load::Light, value);
    let naimi = deviation(&dots(&NAIMI), |n| harmonic(n - 1.0));
    let ricart = deviation(&dots(&RICART), |n| 2.0 * (n - 1.0));
    let suzuki = deviation(&dots(&SUZUKI), |n| n - 1.0);
    let root = exponent(&dots(&MAEKAWA)[1..]);
    let collectors = dots(&COLLECTORS);
    let doubling = |it: &Contender| {
        let dots = dots(it);
        let (first, last) = (dots[0], dots[dots.len() - 1]);
        (last.y - first.y) / (last.x / first.x).log2()
    };
    let claims = vec![
        Claim::holds(
            "theory",
            "naimi-trehel: H(n - 1) messages.",
            naimi < 0.03,
            format!("within {} at every n", share(naimi)),
        )
        .because("A mean over requests of nodes drawn at random, once the tree has become what such requests make of it."),
        Claim::holds(
            "theory",
            "ricart-agrawala: 2(n - 1) messages; suzuki-kasami: n, or none if the token is here.",
            ricart < 0.001 && suzuki < 0.03,
            format!("within {} of 2(n - 1), within {} of n - 1 on average", share(ricart), share(suzuki)),
        ),
        Claim::holds(
            "theory",
            "maekawa: in proportion to √n.",
            (root - 0.5).abs() < 0.06,
            format!("grows with n to the power of {root:.2}"),
        ),
        Claim::holds(
            "theory",
            "Fixed trees: in proportion to log n.",
            [NEILSEN, RAYMOND].iter().all(|it| (exponent(&dots(it)[1..])) < 0.35),
            format!(
                "each doubling of n adds {:.2} messages (neilsen-mizuno) and {:.2} (raymond-tree)",
                doubling(&NEILSEN),
                doubling(&RAYMOND)
            ),
        ),
        Claim::holds(
            "000",
            "collectors: a fixed number of messages, whatever n is.",
            exponent(&collectors[1..]).abs() < 0.05,
            format!("{:.2} at the smallest n, {:.2} at the largest", collectors[0].y, collectors[collectors.len() - 1].y),
        ),
    ];
    Page { parts: vec![Part::Chart(chart)], claims }
}

fn wait(effort: &Effort, results: &Results) -> Page {
    let value: fn(&Summary) -> Estimate = |it| it.time_to_enter;
    let mut chart = chart(effort, results, Load::Light, "time to enter in hops", value);
    let sizes = NAIMI.sizes(effort, Load::Light);
    chart.series.push(formula("H(n - 1), about ln n", &sizes, |n| harmonic(n - 1.0)));
    let dots = |it: &Contender| it.dots(effort, results, Load::Light, value);
    let asked = [MAEKAWA, RICART, SUZUKI].map(|it| deviation(&dots(&it), |_| 2.0));
    let most = asked.iter().copied().fold(0.0, f64::max);
    let last = |it: &Contender| dots(it).last().map_or(0.0, |dot| dot.y);
    let claims = vec![
        Claim::holds(
            "theory",
            "A node that asks all others or a quorum enters after two hops, whatever n is.",
            most < 0.15,
            format!("within {} of 2 hops", share(most)),
        ),
        Claim::holds(
            "theory",
            "Path reversal waits for as many hops as it sends messages.",
            deviation(&dots(&NAIMI), |n| harmonic(n - 1.0)) < 0.03,
            format!("{:.2} hops at the largest n; {:.2} with three tokens", last(&NAIMI), last(&FOREST)),
        ),
    ];
    Page { parts: vec![Part::Chart(chart)], claims }
}

fn saturation(effort: &Effort, results: &Results) -> Page {
    let messages: fn(&Summary) -> Estimate = |it| it.messages_per_entry;
    let wait: fn(&Summary) -> Estimate = |it| it.time_to_enter;
    let mut first = chart(effort, results, Load::Full, "messages per entry", messages);
    first.suffix = "-messages";
    let mut second = chart(effort, results, Load::Full, "time to enter in hops", wait);
    second.suffix = "-wait";
    let sizes = NAIMI.sizes(effort, Load::Full);
    second.series.push(formula("n: a hop for each entry", &sizes, |n| n));
    second.series.push(formula("n / 3: three at a time", &sizes, |n| n / 3.0));
    let dots = |it: &Contender, value| it.dots(effort, results, Load::Full, value);
    let one_hop = [NAIMI, NEILSEN].map(|it| deviation(&dots(&it, wait)[1..], |n| n));
    let one_hop = one_hop.iter().copied().fold(0.0, f64::max);
    let three = dots(&FOREST, wait);
    let shares: Vec<f64> = three.iter().map(|dot| dot.y / (dot.x / 3.0) - 1.0).collect();
    let largest = shares.last().copied().unwrap_or(0.0);
    let listed: Vec<String> = three
        .iter()
        .zip(&shares)
        .map(|(dot, share)| format!("{:+.1} % at {}", share * 100.0, dot.x))
        .collect();
    let growth = [NEILSEN, RAYMOND, COLLECTORS].map(|it| exponent(&dots(&it, messages)[1..]));
    let most = growth.iter().map(|growth| growth.abs()).fold(0.0, f64::max);
    let claims = vec![
        Claim::holds(
            "theory",
            "Where the token goes straight to the next, everybody waits one hop for each of n entries.",
            one_hop < 0.03,
            format!("naimi-trehel and neilsen-mizuno within {} of n hops from n = 30 on", share(one_hop)),
        ),
        Claim::holds(
            "theory",
            "With k tokens n/k hops, once n is large.",
            largest.abs() < 0.03,
            format!("bulgannawar-vaidya with three tokens, asking for the one last seen: {}", listed.join(", ")),
        )
        .because(
            "In a small system a client often asks again before the token has left its node, and enters at once: that \
             pulls the mean down.",
        ),
        Claim::holds(
            "theory",
            "On fixed trees and with collectors the messages per entry do not grow with n.",
            most < 0.05,
            format!("they grow with n to the power of {most:.3} at most"),
        )
        .because("Requests that meet on their way go on as one, and the more so the more there are."),
    ];
    Page { parts: vec![Part::Chart(first), Part::Chart(second)], claims }
}
