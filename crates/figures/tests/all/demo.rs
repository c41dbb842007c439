//! Exhibits without meaning that contain everything that is hard to draw.

use figures::page::{Axis, Dot, Origin};
use figures::{Chart, Claim, Effort, Exhibit, Page, Part, Results, Series, Table, Verdict};
use simulator::{Plan, Point};

/// All of them.
pub(crate) fn exhibits() -> Vec<Exhibit> {
    vec![
        Exhibit {
            id: "demo-load",
            source: "001 fig. 0",
            title: "Waiting time and messages against the request rate, simulated",
            points: load_points,
            draw: load,
        },
        Exhibit {
            id: "demo-hard",
            source: "ours",
            title: "Charts that are hard to draw",
            points: none,
            draw: hard,
        },
        Exhibit {
            id: "demo-broken",
            source: "ours",
            title: "An exhibit with <b>odd</b> \"signs\" & no claims",
            points: none,
            draw: odd,
        },
    ]
}

fn none(_: &Effort) -> Vec<Point> {
    Vec::new()
}

const RATES: [f64; 7] = [0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0];
const NAMES: [&str; 4] = ["bulgannawar-vaidya", "raymond-k", "srimani-reddy", "naimi-trehel"];

fn point(effort: &Effort, name: &str, rate: f64) -> Point {
    let mut plan = Plan { rate, entries: effort.entries(2000), warmup: 50, ..Plan::default() };
    if name == "naimi-trehel" {
        plan.setting.tokens = 1;
    }
    Point { algorithm: name.to_string(), plan, seed: 1, seeds: effort.seeds }
}

fn load_points(effort: &Effort) -> Vec<Point> {
    let rates = effort.thin(&RATES);
    NAMES
        .iter()
        .flat_map(|name| rates.iter().map(|rate| point(effort, name, *rate)).collect::<Vec<_>>())
        .collect()
}

fn load(effort: &Effort, results: &Results) -> Page {
    let curves = |value: fn(&simulator::Summary) -> simulator::Estimate| -> Vec<Series> {
        let curve = |name: &&str| {
            let dot = |rate: &f64| Dot::measured(*rate, value(results.of(&point(effort, name, *rate))));
            let dots = effort.thin(&RATES).iter().map(dot).collect();
            Series { label: name.to_string(), origin: Origin::Simulated, dots }
        };
        NAMES.iter().map(curve).collect()
    };
    let axis = || Axis::logarithmic("requests per unit of time and node (λ)");
    let wait = Chart {
        suffix: "wait",
        title: "Time to enter, n = 30, k = 3, E = 0.0002".to_string(),
        x: axis(),
        y: Axis::linear("time to enter (units)"),
        series: curves(|summary| summary.time_to_enter),
    };
    let messages = Chart {
        suffix: "messages",
        title: "Messages for each entry".to_string(),
        x: axis(),
        y: Axis::linear("messages per entry"),
        series: curves(|summary| summary.messages_per_entry),
    };
    let rows = messages.series.iter().map(|curve| {
        let last = curve.dots[curve.dots.len() - 1];
        vec![
            curve.label.clone(),
            format!("{:.2}", last.y),
            format!("± {:.3}", last.error),
            String::from("≤ n"),
        ]
    });
    let table = Table {
        suffix: "",
        title: "Messages at the highest load".to_string(),
        columns: ["algorithm", "messages", "standard error", "bound"].map(String::from).to_vec(),
        rows: rows.collect(),
    };
    let claims = vec![
        Claim::number("001 ch. V", "Two messages for each entry at saturation", 2.0, messages.series[0].dots[2].y, 0.05)
            .because("The claim is about λ → ∞, and this is λ = 10: the wait is not quite long enough for every request to queue."),
        Claim::holds("001 ch. V", "The wait grows with the load", true, "so at every rate".to_string()),
        Claim::holds("001 ch. V sec. B.1", "raymond-k needs fewer messages than everybody else under all loads, settings of delays and lengths of the critical section that are considered", false, "2(n − 1) = 58 messages at any load, more than all others taken together; the claim can hold only where k is close to n and requests are rare".to_string()),
    ];
    let text = "A paragraph of what one sees.\n\nreq2\n1>0   a listing keeps its lines\n0>1".to_string();
    Page {
        parts: vec![Part::Text(text), Part::Chart(wait), Part::Chart(messages), Part::Table(table)],
        claims,
    }
}

fn chart(suffix: &'static str, title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Part {
    Part::Chart(Chart { suffix, title: title.to_string(), x, y, series })
}

fn series(label: &str, origin: Origin, dots: impl IntoIterator<Item = (f64, f64, f64)>) -> Series {
    let dots = dots.into_iter().map(|(x, y, error)| Dot { x, y, error, values: 20 }).collect();
    Series { label: label.to_string(), origin, dots }
}

fn along(count: u32, value: impl Fn(f64) -> (f64, f64, f64)) -> Vec<(f64, f64, f64)> {
    (1..=count).map(|step| value(f64::from(step))).collect()
}

fn hard(_: &Effort, _: &Results) -> Page {
    let mut parts = vec![ten(), growth(), pairs()];
    parts.extend(corners());
    let claims = vec![Claim {
        source: "ours",
        says: "Labels <can> hold \"anything\" & more".to_string(),
        found: "12.345".to_string(),
        verdict: Verdict::Differs("+12 %".to_string()),
        reason: String::new(),
    }];
    Page { parts, claims }
}

fn ten() -> Part {
    let ten = (0..10).map(|number| {
        let slope = f64::from(number);
        let label = format!("inform = {number}, choose = last-seen");
        series(
            &label,
            Origin::Simulated,
            along(12, |x| (x * 4.0, 3.0 + slope * x.sqrt(), 0.2 + 0.05 * slope)),
        )
    });
    chart("ten", "Ten curves", Axis::linear("nodes"), Axis::linear("messages per entry"), ten.collect())
}

fn growth() -> Part {
    let growth = [
        series("n − 1", Origin::Formula, along(17, |x| (x.exp2(), x.exp2() - 1.0, 0.0))),
        series("√n", Origin::Formula, along(17, |x| (x.exp2(), x.exp2().sqrt(), 0.0))),
        series("log n", Origin::Formula, along(17, |x| (x.exp2(), x, 0.0))),
        series("raymond-tree, simulated", Origin::Simulated, along(17, |x| (x.exp2(), 1.0 + 0.6 * x, 0.1))),
        series(
            "maekawa, simulated",
            Origin::Simulated,
            along(12, |x| (x.exp2(), 4.4 * x.exp2().sqrt(), 2.0)),
        ),
    ];
    chart(
        "growth",
        "Growth with n beside the theory",
        Axis::logarithmic("nodes (n)"),
        Axis::logarithmic("messages per entry"),
        growth.to_vec(),
    )
}

fn pairs() -> Part {
    let pairs = [1.0, 2.0, 3.0].into_iter().flat_map(|k| {
        [
            series(
                &format!("k = {k}, formula"),
                Origin::Formula,
                along(40, move |x| (x, 2.0 + k * x / 8.0, 0.0)),
            ),
            series(
                &format!("k = {k}, simulated"),
                Origin::Simulated,
                along(10, move |x| (x * 4.0, 2.0 + k * x / 2.0, 0.15)),
            ),
            series(
                &format!("k = {k}, printed"),
                Origin::Printed,
                along(5, move |x| (x * 8.0, 2.3 + k * x, 0.0)),
            ),
        ]
    });
    chart(
        "pairs",
        "Formula, simulation and what is printed: one colour for what belongs together, and a title that is much too long for one line of the picture",
        Axis::linear("groups"),
        Axis::linear("messages"),
        pairs.collect(),
    )
}

/// Values at the edge of what can be drawn.
fn corners() -> Vec<Part> {
    let long = "a label that goes on and on, as labels do where several parameters have to be told apart, such as delays, \
                lengths of critical sections and the number of nodes that an idle holder informs";
    vec![
        chart(
            "tiny",
            "A tiny range",
            Axis::linear("rate"),
            Axis::linear("Jain's index"),
            vec![series("fairness", Origin::Simulated, along(9, |x| (x * 1e-4, 0.99991 + x * 1e-6, 1e-6)))],
        ),
        chart(
            "one",
            "One point",
            Axis::linear("nodes"),
            Axis::linear("messages"),
            vec![series("the only one", Origin::Simulated, [(30.0, 2.5, 0.3)])],
        ),
        chart(
            "huge",
            "Huge values",
            Axis::linear("nodes"),
            Axis::linear("bytes of memory, all nodes and all messages under way taken together, at the end"),
            vec![
                series(long, Origin::Simulated, along(10, |x| (x * 10_000.0, x * x * 3.1e8, 1e9))),
                series("short", Origin::Printed, [(50_000.0, 1e10, 0.0)]),
            ],
        ),
        chart(
            "gaps",
            "Values that have no place",
            Axis::logarithmic("rate"),
            Axis::logarithmic("wait"),
            vec![series(
                "with zeros",
                Origin::Simulated,
                [
                    (0.0, 1.0, 0.0),
                    (0.1, 0.002, 0.004),
                    (1.0, 0.0, 0.0),
                    (10.0, 2.0, 0.1),
                    (20.0, 4.0, f64::NAN),
                    (40.0, f64::NAN, 0.0),
                    (100.0, 30.0, 9.0),
                ],
            )],
        ),
        chart(
            "flat",
            "All zero, and below",
            Axis::linear("x"),
            Axis::linear("difference"),
            vec![
                series("zero", Origin::Simulated, along(6, |x| (x, 0.0, 0.0))),
                series("signed", Origin::Simulated, along(6, |x| (x, x - 4.5, 0.4))),
            ],
        ),
        chart("empty", "Nothing", Axis::linear("x"), Axis::logarithmic("y"), Vec::new()),
    ]
}

fn odd(_: &Effort, _: &Results) -> Page {
    let label = "a < b & \"c\"";
    let parts = vec![
        chart(
            "",
            "<script>alert('title')</script>",
            Axis::linear("x < y"),
            Axis::linear("y & z"),
            vec![series(label, Origin::Simulated, along(3, |x| (x, x, 0.5)))],
        ),
        Part::Table(Table {
            suffix: "",
            title: "With <tags>".to_string(),
            columns: vec!["a,b".to_string(), "n".to_string()],
            rows: vec![
                vec!["say \"hi\"".to_string(), "1".to_string()],
                vec!["two\nlines".to_string(), "22".to_string()],
            ],
        }),
    ];
    Page { parts, claims: Vec::new() }
}
