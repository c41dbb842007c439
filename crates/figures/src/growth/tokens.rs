//! Growth with the number of tokens.

use simulator::{Estimate, Point, Summary};

use super::{Load, capitalised, formula, point};
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series, Verdict};
use crate::{Effort, Exhibit, Results};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    id: "scale-tokens",
    source: "ours",
    title: "Messages and time to enter against the number of tokens",
    points: |effort| {
        let loads = [Load::Light, Load::Full];
        let names = loads.into_iter().flat_map(|load| NAMES.map(|(name, choose)| (load, name, choose)));
        names
            .flat_map(|(load, name, choose)| points(effort, load, name, choose))
            .map(|(_, point)| point)
            .collect()
    },
    draw,
};

const NODES: u32 = 1_000;
/// How long a client thinks at full load, in hops.
const THINKS: f64 = 0.1;
const TOKENS: [u32; 7] = [1, 2, 5, 10, 20, 50, 100];
const NAMES: [(&str, &str); 3] =
    [("bulgannawar-vaidya", "random"), ("bulgannawar-vaidya", "last-seen"), ("collectors", "")];

fn points(effort: &Effort, load: Load, name: &str, choose: &str) -> Vec<(u32, Point)> {
    let at = |tokens: u32| {
        let mut point = point(effort, name, (NODES, tokens), load);
        if !choose.is_empty() {
            point.plan.setting.options.push(("choose".to_string(), choose.to_string()));
        }
        // A system of this size settles soon, and there are many numbers of tokens to try.
        point.seeds = point.seeds.min(5);
        (tokens, point)
    };
    effort.thin(&TOKENS).into_iter().map(at).collect()
}

fn draw(effort: &Effort, results: &Results) -> Page {
    let curve = |load: Load, (name, choose): (&str, &str), value: fn(&Summary) -> Estimate| -> Vec<Dot> {
        let points = points(effort, load, name, choose);
        points
            .iter()
            .map(|(tokens, point)| Dot::measured(f64::from(*tokens), value(results.of(point))))
            .collect()
    };
    let chart = |suffix: &'static str, load: Load, y: &str, value: fn(&Summary) -> Estimate| {
        let when = if load == Load::Light { "one at a time" } else { "everybody at once" };
        let label = |(name, choose): (&str, &str)| match choose {
            "" => name.to_string(),
            choose => format!("{name}, {choose}"),
        };
        Chart {
            suffix,
            title: format!("{}, {when} (n = {NODES})", capitalised(y)),
            x: Axis::logarithmic("tokens (k)"),
            y: Axis::logarithmic(y),
            series: NAMES
                .into_iter()
                .map(|it| Series::new(label(it), Origin::Simulated, curve(load, it, value)))
                .collect(),
        }
    };
    let messages: fn(&Summary) -> Estimate = |it| it.messages_per_entry;
    let wait: fn(&Summary) -> Estimate = |it| it.time_to_enter;
    let mut full_wait = chart("-full-wait", Load::Full, "time to enter in hops", wait);
    full_wait.series.push(formula("n / k", &effort.thin(&TOKENS), |k| f64::from(NODES) / k));
    let claims = vec![
        compare(
            "At saturation, asking for the token last seen, an entry takes 2 messages, whatever k is.",
            &curve(Load::Full, NAMES[1], messages),
            |_| 2.0,
        ),
        compare(
            "At saturation the wait is n/k hops, less the time to think.",
            &curve(Load::Full, NAMES[1], wait),
            |k| f64::from(NODES) / k - THINKS,
        ),
    ];
    let parts = vec![
        Part::Chart(chart("-light-messages", Load::Light, "messages per entry", messages)),
        Part::Chart(chart("-light-wait", Load::Light, "time to enter in hops", wait)),
        Part::Chart(chart("-full-messages", Load::Full, "messages per entry", messages)),
        Part::Chart(full_wait),
        Part::Text(fairness(effort, results)),
    ];
    Page { parts, claims }
}

/// How evenly the two choices serve the nodes.
fn fairness(effort: &Effort, results: &Results) -> String {
    let worst = |(name, choose): (&str, &str)| {
        let points = points(effort, Load::Full, name, choose);
        // With one token there is nothing to choose.
        let summaries = points.iter().filter(|(tokens, _)| *tokens > 1).map(|(_, point)| results.of(point));
        summaries.fold((1.0f64, 0.0f64), |(index, wait), summary| {
            (index.min(summary.fairness.mean), wait.max(summary.longest_wait))
        })
    };
    let ((random, random_wait), (last, last_wait)) = (worst(NAMES[0]), worst(NAMES[1]));
    format!(
        "At full load a random choice serves some far more often than others: Jain's index falls to {random:.2}, and the \
         longest wait is {random_wait:.0} hops. For the token last seen these are {last:.2} and {last_wait:.0} hops. The \
         random choice's mean wait is mostly below n / k, because those who enter most count most.",
    )
}

/// Reproduces if every value is within 2 % of the formula; says where it is not.
fn compare(says: &str, dots: &[Dot], formula: impl Fn(f64) -> f64) -> Claim {
    let off = |dot: &Dot| (dot.y / formula(dot.x) - 1.0) * 100.0;
    let wide: Vec<String> = dots
        .iter()
        .filter(|dot| off(dot).abs() > 2.0)
        .map(|dot| format!("{:+.1} % at k = {}", off(dot), dot.x))
        .collect();
    let claim = Claim::holds("001 ch. V", says, wide.is_empty(), "within 2 % at every k".to_string());
    if wide.is_empty() {
        return claim;
    }
    let verdict = Verdict::Differs(wide.join(", "));
    Claim { verdict, found: format!("within 2 % but for {}", wide.join(", ")), ..claim }.because(
        "The fewer clients there are to a token, the more often its queue runs empty: not quite saturated.",
    )
}
