//! What the thesis proposes or leaves open, tried: the queue in Makki's RELEASE, and which nodes an idle holder
//! informs.

use simulator::{Estimate, Point, Summary};

use super::model::{
    ASKERS, COSTLY, Contender, FREE, HEAVY, LIGHT, MAKKI, MAKKI_QUEUE, MAKKI_STRAIGHT, Measure, NODES,
    PROPOSED, RING, Regime, SECTION_B1, TOKENS, View, messages, rates, wait,
};
use super::verdicts::{Pair, alike, at_most, unless_so};
use crate::page::{Axis, Chart, Dot, Origin, Series};
use crate::{Claim, Effort, Exhibit, Page, Part, Results};

/// The forms of Makki's algorithm, and the algorithm of the thesis beside them.
const FORMS: [Contender; 4] = [MAKKI, MAKKI_QUEUE, MAKKI_STRAIGHT, PROPOSED];
/// Other numbers of rights, for the closed form.
const RIGHTS: [u32; 4] = [1, 5, 10, 15];
/// Which nodes are informed; the first is the default.
const INFORMED: [Contender; 3] = [PROPOSED, RING, ASKERS];
/// The loads of the page of the algorithm.
const LOADS: [f64; 3] = [LIGHT, 0.1, HEAVY];

pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![
        Exhibit {
            id: "thesis-makki-queue",
            source: "001 ch. V sec. B.1",
            title: "Makki's algorithm with the queue in RELEASE",
            points: |effort| {
                let mut points = curves(effort, FREE, &FORMS);
                points.extend([MAKKI, MAKKI_STRAIGHT].map(|form| COSTLY.point(effort, form, HEAVY)));
                points.extend(RIGHTS.map(|rights| straight_with(effort, rights)));
                points
            },
            draw: draw_queue,
        },
        Exhibit {
            id: "thesis-whom",
            source: "001 ch. IV sec. C",
            title: "Which nodes an idle holder informs",
            points: |effort| {
                let mut points = curves(effort, COSTLY, &INFORMED);
                for rate in LOADS {
                    points.extend(INFORMED.map(|whom| COSTLY.point(effort, whom, rate)));
                }
                unique(points)
            },
            draw: draw_whom,
        },
    ]
}

fn curves(effort: &Effort, regime: Regime, contenders: &[Contender]) -> Vec<Point> {
    let of = |&contender: &Contender| {
        rates(effort).into_iter().map(move |rate| regime.point(effort, contender, rate)).collect::<Vec<_>>()
    };
    contenders.iter().flat_map(of).collect()
}

fn unique(points: Vec<Point>) -> Vec<Point> {
    let mut once: Vec<Point> = Vec::new();
    for point in points {
        if !once.contains(&point) {
            once.push(point);
        }
    }
    once
}

fn straight_with(effort: &Effort, rights: u32) -> Point {
    let mut point = FREE.point(effort, MAKKI_STRAIGHT, HEAVY);
    point.plan.setting.tokens = rights;
    point
}

fn chart(
    view: &View,
    regime: Regime,
    contenders: &[Contender],
    (suffix, what): (&'static str, &str),
    of: Measure,
) -> Part {
    let curve = |contender: &Contender| {
        let dot = |rate| Dot::measured(rate, of(view.summary(regime, *contender, rate)));
        Series::new(contender.label, Origin::Simulated, view.rates().into_iter().map(dot).collect())
    };
    Part::Chart(Chart {
        suffix,
        title: regime.describe(),
        x: Axis::linear("request rate (λ)"),
        y: Axis::linear(what),
        series: contenders.iter().map(curve).collect(),
    })
}

fn draw_queue(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let parts = vec![
        chart(&view, FREE, &FORMS, ("wait", "mean time to enter, units"), wait),
        chart(&view, FREE, &FORMS, ("messages", "messages for each entry"), messages),
    ];
    Page { parts, claims: queue_claims(&view) }
}

fn queue_claims(view: &View) -> Vec<Claim> {
    let waits = |form| view.wait(FREE, form, HEAVY);
    let [bare, walks, straight] = [MAKKI, MAKKI_QUEUE, MAKKI_STRAIGHT].map(waits);
    let share = |wait: f64| format!("{wait:.2} units beside {bare:.2} at λ = 1 ({:.2} times)", wait / bare);
    let significant = "(here: it waits less than three quarters as long at λ = 1)";
    let text =
        format!("With the token's queue in RELEASE, too, Makki's algorithm is much faster {significant}.");
    let ours = format!(
        "It is if the token also goes straight to the good site once its rights are used up {significant}."
    );
    let entries = |form| view.summary(FREE, form, HEAVY).throughput.mean;
    let law = [("as described", MAKKI), ("queue", MAKKI_QUEUE), ("queue and straight", MAKKI_STRAIGHT)].map(
        |(place, form)| Pair {
            place: place.to_string(),
            first: NODES / entries(form) - FREE.section - 1.0 / HEAVY,
            second: waits(form),
        },
    );
    let mut rounds = vec![round(TOKENS, straight)];
    let many = |rights: u32| view.results.of(&straight_with(view.effort, rights)).time_to_enter.mean;
    rounds.extend(RIGHTS.map(|rights| round(f64::from(rights), many(rights))));
    let proposed = view.summary(FREE, PROPOSED, HEAVY).time_to_enter;
    let best = at_most(proposed, view.summary(FREE, MAKKI_STRAIGHT, HEAVY).time_to_enter);
    vec![
        Claim::holds(SECTION_B1, &text, walks < 0.75 * bare, share(walks)).because(
            "A node enters sooner, but the token still visits all n nodes of its queue, a hop each, and the next round \
             begins when it has come to the end. So entries are no more frequent, and by Little's law waits no shorter.",
        ),
        Claim::holds("ours", &ours, straight < 0.75 * bare, share(straight)),
        alike("ours", "At λ = 1 the wait is n/X − E − 1/λ with X entries per unit (Little's law).", &law, 0.03),
        alike(
            "ours",
            "With both, a round lasts k + n/k + 1 hops at saturation: k to the first nodes, n/k − 1 from RELEASE to \
             RELEASE, and 2 for late requests. The wait is that less E and 1/λ, so the best k is √n.",
            &rounds,
            0.05,
        ),
        Claim::holds(
            "ours",
            "Even so the algorithm of the thesis waits less at λ = 1.",
            best,
            format!("{:.2} units beside {straight:.2}", proposed.mean),
        ),
        costly(view),
    ]
}

/// The closed form of a round and the measured wait.
fn round(rights: f64, measured: f64) -> Pair {
    let hops = rights + (NODES / rights).ceil() + 1.0;
    Pair { place: format!("k = {rights}"), first: hops - FREE.section - 1.0 / HEAVY, second: measured }
}

/// Where handling messages takes time, the wait for late requests has to cover it.
fn costly(view: &View) -> Claim {
    let [bare, straight] =
        [MAKKI, MAKKI_STRAIGHT].map(|form| view.summary(COSTLY, form, HEAVY).time_to_enter);
    let says =
        "With Tr = Ts = 0.1 it waits less, too, than the form as described, whose messages are hurried.";
    let found = format!("{:.2} units beside {:.2} at λ = 1", straight.mean, bare.mean);
    Claim::holds("ours", says, straight.mean < bare.mean, found).because(
        "The gain is smaller: two hops for late requests are 13.6 units here, because a message may stand behind one to or \
         from every other node.",
    )
}

fn draw_whom(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let parts = vec![
        chart(&view, COSTLY, &INFORMED, ("messages", "messages for each entry"), messages),
        chart(&view, COSTLY, &INFORMED, ("wait", "mean time to enter, units"), wait),
    ];
    Page { parts, claims: whom_claims(&view) }
}

const FEW: &str = "With few entries the start shows.";

fn whom_claims(view: &View) -> Vec<Claim> {
    let pairs = |loads: &[f64], measure: fn(&View, Contender, f64) -> f64| {
        let pair = |rate: f64, other: Contender| Pair {
            place: format!("{}, λ = {rate}", other.label),
            first: measure(view, PROPOSED, rate),
            second: measure(view, other, rate),
        };
        loads.iter().flat_map(|&rate| [pair(rate, RING), pair(rate, ASKERS)]).collect::<Vec<_>>()
    };
    let sent = |view: &View, whom, rate| view.messages(COSTLY, whom, rate);
    let waited = |view: &View, whom, rate| view.wait(COSTLY, whom, rate);
    let [at_random, ring, askers] = INFORMED.map(|whom| view.summary(COSTLY, whom, LIGHT));
    let (wait, messages) = (|of: &Summary| of.time_to_enter, |of: &Summary| of.messages_per_entry);
    let less = |of: fn(&Summary) -> Estimate| !at_most(of(at_random), of(askers));
    let better = "At light load a good choice of the nodes that get INFORM makes the algorithm better (here: those that \
                  asked last; fewer messages and shorter waits at λ = 0.01).";
    let found = format!(
        "{:.3} messages and a wait of {:.3}, beside {:.3} and {:.3} at random",
        messages(askers).mean,
        wait(askers).mean,
        messages(at_random).mean,
        wait(at_random).mean
    );
    let ring = messages(ring).mean;
    let number = "With INFORM to the next nodes by number an entry takes 4.70 messages at λ = 0.01.";
    let says = "The number of messages hardly depends on which nodes are informed: any, the next by number, or those that \
                asked last.";
    vec![
        unless_so(
            Claim::holds("001 ch. VII", better, less(messages) && less(wait), found),
            "The difference is no larger than chance makes it at this effort.",
        ),
        unless_so(alike("ours", says, &pairs(&LOADS, sent), 0.05), FEW),
        unless_so(
            alike(
                "ours",
                "From λ = 0.1 on, waits do not depend on it either.",
                &pairs(&LOADS[1..], waited),
                0.02,
            ),
            FEW,
        ),
        unless_so(Claim::number("ours", number, 4.70, ring, 0.02), FEW),
    ]
}
