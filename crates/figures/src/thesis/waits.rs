//! Figures 10, 12, 13 and 20 to 22 of the thesis: the time to enter against the request rate.

use simulator::Point;

use super::drawing::{Figure, makki_note, model_note, printed, saturation, text};
use super::model::{
    CHEAPER, CONTENDERS, COSTLY, Contender, FREE, HEAVY, LIGHT, MAKKI, MARKED, OTHERS, PROPOSED, RAYMOND,
    REPLIES, Regime, SRIMANI, View, curves, rates, wait,
};
use super::wait_claims as claims;
use crate::page::Axis;
use crate::{Effort, Exhibit, Page, Part, Results, Series, Table};

/// Rates far above those of the figures, where the closed form holds visibly.
pub(super) const BEYOND: [f64; 2] = [10.0, 100.0];
/// More time for sending and receiving than in any figure.
pub(super) const COSTLIER: Regime = COSTLY.with_handling(0.2);

/// Figures 10, 12 and 13.
pub(super) fn short_sections() -> Vec<Exhibit> {
    vec![
        Exhibit {
            id: "thesis-10",
            source: "001 fig. 10",
            title: "Time to enter, Tr = Ts = 0.1",
            points: points_of_figure_10,
            draw: draw_figure_10,
        },
        Exhibit {
            id: "thesis-12",
            source: "001 fig. 12",
            title: "Time to enter, Tr = Ts = 0",
            points: |effort| curves(effort, &[FREE, COSTLY]),
            draw: draw_figure_12,
        },
        Exhibit {
            id: "thesis-13",
            source: "001 fig. 13",
            title: "Time to enter, Tr = Ts = 0.05",
            points: points_of_figure_13,
            draw: draw_figure_13,
        },
    ]
}

/// Figures 20 to 22.
pub(super) fn long_sections() -> Vec<Exhibit> {
    vec![
        Exhibit {
            id: "thesis-20",
            source: "001 fig. 20",
            title: "Time to enter, Tr = Ts = 0.1, E = 1",
            points: |effort| curves(effort, &[COSTLY.with_long_sections(), COSTLY]),
            draw: |effort, results| draw_long(effort, results, COSTLY),
        },
        Exhibit {
            id: "thesis-21",
            source: "001 fig. 21",
            title: "Time to enter, Tr = Ts = 0.05, E = 1",
            points: |effort| curves(effort, &[CHEAPER.with_long_sections(), CHEAPER]),
            draw: |effort, results| draw_long(effort, results, CHEAPER),
        },
        Exhibit {
            id: "thesis-22",
            source: "001 fig. 22",
            title: "Time to enter, Tr = Ts = 0, E = 1",
            points: |effort| curves(effort, &[FREE.with_long_sections(), FREE]),
            draw: |effort, results| draw_long(effort, results, FREE),
        },
    ]
}

/// The chart of waits of a regime, with the closed form and the printed numbers.
pub(super) fn chart(view: &View, regime: Regime, marks: Option<Series>) -> Part {
    let figure = Figure {
        suffix: "",
        title: "Time to enter",
        y: Axis::linear("mean time to enter, units"),
        regime,
        measure: wait,
    };
    let mut chart = figure.chart(view);
    chart.series.push(saturation(view, regime));
    chart.series.extend(marks);
    Part::Chart(chart)
}

/// The numbers that the texts print of figures 10 and 3(a).
pub(super) fn printed_waits() -> Series {
    printed("printed", &[(HEAVY, 9.0), (HEAVY, 16.0), (HEAVY, 18.0)])
}

/// makki with a single permit.
pub(super) fn makki_alone(effort: &Effort) -> Point {
    let mut point = COSTLY.point(effort, MAKKI, HEAVY);
    point.plan.setting.tokens = 1;
    point
}

/// The proposed algorithm at a rate far above those of the figures. Until the first requests arrive, nodes
/// that begin with a token enter again and again; the warm-up has to outlast that.
pub(super) fn far_beyond(effort: &Effort, regime: Regime, rate: f64) -> Point {
    let mut point = regime.point(effort, PROPOSED, rate);
    point.plan.warmup = 2000;
    point
}

/// What occupies a processor.
#[derive(Clone, Copy)]
pub(super) enum Charge {
    Sending,
    Receiving,
}

/// A point at which only sending, or only receiving, occupies a processor.
pub(super) fn half_charged(effort: &Effort, contender: Contender, charge: Charge) -> Point {
    let mut point = COSTLY.point(effort, contender, HEAVY);
    match charge {
        Charge::Sending => point.plan.receive = 0.0,
        Charge::Receiving => point.plan.send = 0.0,
    }
    point.plan.transit.mean = 0.9;
    point
}

fn points_of_figure_10(effort: &Effort) -> Vec<Point> {
    let mut points = curves(effort, &[COSTLY]);
    points.push(makki_alone(effort));
    points.extend(BEYOND.map(|rate| far_beyond(effort, FREE, rate)));
    points.push(far_beyond(effort, COSTLY, BEYOND[0]));
    for contender in [SRIMANI, RAYMOND] {
        points.extend(
            [Charge::Sending, Charge::Receiving].map(|charge| half_charged(effort, contender, charge)),
        );
    }
    points.extend(REPLIES.into_iter().chain([MARKED]).map(|trial| COSTLY.point(effort, trial, HEAVY)));
    points.extend(rates(effort).into_iter().map(|rate| FREE.point(effort, SRIMANI, rate)));
    points
}

fn draw_figure_10(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let parts = vec![
        chart(&view, COSTLY, Some(printed_waits())),
        model_note(),
        makki_note(),
        charges_table(&view),
        readings_table(&view),
        fairness_table(&view),
    ];
    let mut all = claims::figure_10(&view);
    all.extend(claims::saturated(&view));
    all.extend(claims::sanity(&view));
    Page { parts, claims: all }
}

/// The effect on the two broadcasting algorithms if only sending or only receiving occupies a processor.
fn charges_table(view: &View) -> Part {
    let row = |contender| {
        let number =
            |charge| view.results.of(&half_charged(view.effort, contender, charge)).time_to_enter.mean;
        let both = view.wait(COSTLY, contender, HEAVY);
        let none = [number(Charge::Sending), number(Charge::Receiving), both];
        let cells = none.iter().map(|wait| format!("{wait:.2}"));
        std::iter::once(contender.label.to_string()).chain(cells).collect()
    };
    let names = ["algorithm", "only sending", "only receiving", "both"];
    Part::Table(Table {
        suffix: "charges",
        title: "Time to enter at λ = 1 by what occupies a processor for 0.1 (the hop stays 1)".to_string(),
        columns: super::drawing::columns(&names),
        rows: vec![row(SRIMANI), row(RAYMOND)],
    })
}

/// The waits of the two broadcasting algorithms under each reading of what the text leaves open.
fn readings_table(view: &View) -> Part {
    let row = |reading: Contender, option: &str| {
        let wait = view.wait(COSTLY, reading, HEAVY);
        vec![reading.algorithm.to_string(), option.to_string(), format!("{wait:.2}")]
    };
    let mut rows = vec![row(SRIMANI, "receiver=unmarked, as printed"), row(MARKED, MARKED.label)];
    rows.push(row(RAYMOND, "reply=number, the default"));
    rows.extend(REPLIES.map(|reading| row(reading, reading.label)));
    Part::Table(Table {
        suffix: "readings",
        title: "Time to enter at λ = 1 by what the text leaves open".to_string(),
        columns: super::drawing::columns(&["algorithm", "option", "time to enter"]),
        rows,
    })
}

/// How evenly the nodes are served, and the longest wait.
fn fairness_table(view: &View) -> Part {
    let mut rows = Vec::new();
    for contender in CONTENDERS {
        for rate in [LIGHT, HEAVY] {
            let summary = view.summary(COSTLY, contender, rate);
            rows.push(vec![
                contender.label.to_string(),
                rate.to_string(),
                format!("{:.4}", summary.fairness.mean),
                summary.fewest_entries.to_string(),
                summary.most_entries.to_string(),
                format!("{:.2}", summary.wait_at(99.0)),
                format!("{:.2}", summary.longest_wait),
            ]);
        }
    }
    let names = [
        "algorithm",
        "λ",
        "Jain's index",
        "fewest entries",
        "most entries",
        "99th percentile",
        "longest wait",
    ];
    Part::Table(Table {
        suffix: "fairness",
        title: "How evenly nodes enter in a run, and how long they wait at worst".to_string(),
        columns: super::drawing::columns(&names),
        rows,
    })
}

fn draw_figure_12(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let parts = vec![chart(&view, FREE, None), makki_note()];
    Page { parts, claims: claims::figure_12(&view) }
}

fn points_of_figure_13(effort: &Effort) -> Vec<Point> {
    let mut points = curves(effort, &[CHEAPER, COSTLY, FREE]);
    points.extend(CONTENDERS.map(|contender| COSTLIER.point(effort, contender, HEAVY)));
    points
}

fn draw_figure_13(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let row = |regime: Regime| {
        let ours = view.wait(regime, PROPOSED, HEAVY);
        let times = OTHERS.map(|other| format!("{:.2}", view.wait(regime, other, HEAVY) / ours));
        [format!("{}", regime.handling), format!("{ours:.2}")].into_iter().chain(times).collect()
    };
    let table = Table {
        suffix: "handling",
        title: "At λ = 1, E = 0.0002: the wait of proposed, and how many times that the others wait"
            .to_string(),
        columns: super::drawing::columns(&["Tr = Ts", "proposed", "makki", "srimani-reddy", "raymond-k"]),
        rows: [FREE, CHEAPER, COSTLY, COSTLIER].map(row).to_vec(),
    };
    let parts = vec![chart(&view, CHEAPER, None), Part::Table(table), makki_note()];
    Page { parts, claims: claims::figure_13(&view) }
}

fn draw_long(effort: &Effort, results: &Results, short: Regime) -> Page {
    let view = View { effort, results };
    let note = text(
        "The same as with E = 0.0002, but each entry keeps a token for a whole unit more. For the proposed algorithm \
         the system is busy from about half the λ on.",
    );
    Page {
        parts: vec![chart(&view, short.with_long_sections(), None), note],
        claims: claims::long_sections(&view, short),
    }
}
