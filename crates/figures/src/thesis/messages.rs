//! Figures 14 to 16 and 23 to 25 of the thesis: messages for each entry against the request rate.

use simulator::Point;

use super::drawing::{Figure, kinds_table, printed};
use super::model::{
    CHEAPER, CONTENDERS, COSTLY, Contender, FREE, HEAVY, LIGHT, MAKKI, MARKED, NODES, OTHERS, PROPOSED,
    RANDOM, RANDOM_SILENT, RAYMOND, Regime, SECTION_B1, SILENT, SRIMANI, TOKENS, View, curves, kind,
    messages,
};
use super::verdicts::{Pair, alike, at_most, everywhere, excess, finding, unless_so};
use crate::compare::share;
use crate::page::Axis;
use crate::{Claim, Effort, Exhibit, Page, Part, Results, Series};

/// A rate so low that every request finds the system idle.
const LIGHTEST: f64 = 0.001;
/// A load between light and heavy.
pub(super) const MEDIUM: f64 = 0.1;
/// A run begins and ends amid requests, so that counts per entry vary by this much.
pub(super) const EDGE: f64 = 0.005;

/// Figures 14 to 16.
pub(super) fn short_sections() -> Vec<Exhibit> {
    vec![
        Exhibit {
            id: "thesis-14",
            source: "001 fig. 14",
            title: "Messages for each entry, Tr = Ts = 0.1",
            points: points_of_figure_14,
            draw: draw_figure_14,
        },
        Exhibit {
            id: "thesis-15",
            source: "001 fig. 15",
            title: "Messages for each entry, Tr = Ts = 0.05",
            points: |effort| curves(effort, &[CHEAPER, COSTLY]),
            draw: |effort, results| draw_like(effort, results, CHEAPER, COSTLY),
        },
        Exhibit {
            id: "thesis-16",
            source: "001 fig. 16",
            title: "Messages for each entry, Tr = Ts = 0",
            points: |effort| curves(effort, &[FREE, COSTLY]),
            draw: |effort, results| draw_like(effort, results, FREE, COSTLY),
        },
    ]
}

/// Figures 23 to 25.
pub(super) fn long_sections() -> Vec<Exhibit> {
    vec![
        Exhibit {
            id: "thesis-23",
            source: "001 fig. 23",
            title: "Messages for each entry, Tr = Ts = 0.1, E = 1",
            points: |effort| curves(effort, &[COSTLY.with_long_sections(), COSTLY]),
            draw: |effort, results| draw_like(effort, results, COSTLY.with_long_sections(), COSTLY),
        },
        Exhibit {
            id: "thesis-24",
            source: "001 fig. 24",
            title: "Messages for each entry, Tr = Ts = 0.05, E = 1",
            points: |effort| curves(effort, &[CHEAPER.with_long_sections(), CHEAPER]),
            draw: |effort, results| draw_like(effort, results, CHEAPER.with_long_sections(), CHEAPER),
        },
        Exhibit {
            id: "thesis-25",
            source: "001 fig. 25",
            title: "Messages for each entry, Tr = Ts = 0, E = 1",
            points: |effort| curves(effort, &[FREE.with_long_sections(), FREE]),
            draw: |effort, results| draw_like(effort, results, FREE.with_long_sections(), FREE),
        },
    ]
}

/// As printed, and on a logarithmic axis: Raymond's 58 messages press all other curves to the bottom.
pub(super) fn charts(view: &View, regime: Regime, marks: Option<&Series>) -> Vec<Part> {
    let label = "messages for each entry";
    let axes = [("linear", Axis::linear(label)), ("log", Axis::logarithmic(label))];
    let chart = |(suffix, y)| {
        let figure = Figure { suffix, title: "Messages", y, regime, measure: messages };
        let mut chart = figure.chart(view);
        chart.series.extend(marks.cloned());
        Part::Chart(chart)
    };
    axes.map(chart).into()
}

/// The numbers that the texts print of figures 14 and 4.
pub(super) fn printed_messages() -> Series {
    printed("printed", &[(LIGHT, 5.0), (HEAVY, 2.0), (HEAVY, 3.0), (HEAVY, 31.0), (HEAVY, 57.0)])
}

/// The points of figure 14.
pub(super) fn points_of_figure_14(effort: &Effort) -> Vec<Point> {
    let mut points = curves(effort, &[COSTLY]);
    points.push(COSTLY.point(effort, MAKKI, LIGHTEST));
    for rate in [LIGHT, MEDIUM] {
        points.extend([SILENT, RANDOM_SILENT].map(|silent| COSTLY.point(effort, silent, rate)));
    }
    points.push(COSTLY.point(effort, MARKED, HEAVY));
    points
}

fn draw_figure_14(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let mut parts = charts(&view, COSTLY, Some(&printed_messages()));
    parts.push(kinds_table(&view, COSTLY, &[LIGHT, MEDIUM, HEAVY]));
    let mut claims = proposed(&view);
    claims.push(inform(&view));
    claims.extend(inform_and_wait(&view));
    claims.extend(broadcasters(&view, SECTION_B1));
    claims.extend(makki(&view));
    Page { parts, claims }
}

fn draw_like(effort: &Effort, results: &Results, regime: Regime, like: Regime) -> Page {
    let view = View { effort, results };
    Page { parts: charts(&view, regime, None), claims: same(&view, SECTION_B1, regime, like) }
}

/// At each λ, whether one contender sends at most as many messages as all of the others.
pub(super) fn fewest(view: &View, one: Contender, others: &[Contender]) -> Vec<(f64, bool)> {
    let count = |contender, rate| view.summary(COSTLY, contender, rate).messages_per_entry;
    let holds = |rate| others.iter().all(|&other| at_most(count(one, rate), count(other, rate)));
    view.rates().into_iter().map(|rate| (rate, holds(rate))).collect()
}

/// The messages of all contenders at a rate, as text.
pub(super) fn messages_at(view: &View, rate: f64) -> String {
    let one =
        |contender: Contender| format!("{} {:.2}", contender.label, view.messages(COSTLY, contender, rate));
    format!("at λ = {rate}: {}", CONTENDERS.map(one).join(", "))
}

/// Why makki sends fewer messages at medium loads.
pub(super) const TOGETHER: &str = "At medium loads Makki's one token, which collects requests for a whole round, needs hardly more \
    than three messages, while requests for the proposed one's tokens still travel and its INFORMs still go out.";

fn proposed(view: &View) -> Vec<Claim> {
    let count = |contender, rate| view.messages(COSTLY, contender, rate);
    let requests = |rate| kind(view.summary(COSTLY, PROPOSED, rate), "REQUEST");
    let found = format!("{}; {}", messages_at(view, MEDIUM), messages_at(view, HEAVY));
    let lowest = "The proposed algorithm sends the fewest messages.";
    let forwarded = "At light load a request is forwarded more often.";
    let travels = format!(
        "{:.2} REQUESTs for each entry at λ = {LIGHT}, {:.2} at λ = {HEAVY}",
        requests(LIGHT),
        requests(HEAVY)
    );
    vec![
        unless_so(
            everywhere("001 ch. V sec. B.1, ch. VII", lowest, &fewest(view, PROPOSED, &OTHERS), &found),
            TOGETHER,
        ),
        Claim::number(
            SECTION_B1,
            "It sends around five messages at light load.",
            5.0,
            count(PROPOSED, LIGHT),
            0.1,
        ),
        Claim::number(
            SECTION_B1,
            "It sends about two messages at very high load.",
            2.0,
            count(PROPOSED, HEAVY),
            0.02,
        ),
        Claim::holds(SECTION_B1, forwarded, requests(LIGHT) > 1.1 * requests(HEAVY), travels),
        heuristic(view, SECTION_B1),
    ]
}

/// Asking for the token last seen saves messages.
pub(super) fn heuristic(view: &View, source: &'static str) -> Claim {
    let saved = |rate| -excess(view.messages(COSTLY, PROPOSED, rate), view.messages(COSTLY, RANDOM, rate));
    let found =
        format!("fewer by {} at λ = {LIGHT}, by {} at λ = {HEAVY}", share(saved(LIGHT)), share(saved(HEAVY)));
    let says = "Asking for the token last seen takes fewer messages than asking for a random one.";
    everywhere(source, says, &fewest(view, PROPOSED, &[RANDOM]), &found)
}

/// Whether INFORM messages pay.
fn inform(view: &View) -> Claim {
    let count = |contender, rate| view.messages(COSTLY, contender, rate);
    let requests = |contender, rate| kind(view.summary(COSTLY, contender, rate), "REQUEST");
    let sent = |rate| kind(view.summary(COSTLY, PROPOSED, rate), "INFORM");
    let found = format!(
        "λ = {LIGHT}: {:.2} messages with ν = 2 and {:.2} without, of which {:.2} and {:.2} REQUESTs; λ = {MEDIUM}: {:.2} and {:.2}; \
         INFORMs at λ = 1: {:.3} for each entry",
        count(PROPOSED, LIGHT),
        count(SILENT, LIGHT),
        requests(PROPOSED, LIGHT),
        requests(SILENT, LIGHT),
        count(PROPOSED, MEDIUM),
        count(SILENT, MEDIUM),
        sent(HEAVY),
    );
    let pays = count(PROPOSED, LIGHT) < count(SILENT, LIGHT);
    let says = "INFORM messages, sent at light load and not at high load, reduce the number of messages for each entry.";
    unless_so(
        Claim::holds("001 ch. VII", says, pays && sent(HEAVY) < 0.05, found),
        &format!(
            "They are left out at high load, as said. At light load each entry sends {:.2} INFORMs, and they do not save as many \
             REQUESTs; with a random choice neither: {:.2} REQUESTs with ν = 2, {:.2} without. 003 sec. 3 allows that ν = 0 may \
             be best.",
            sent(LIGHT),
            requests(RANDOM, LIGHT),
            requests(RANDOM_SILENT, LIGHT),
        ),
    )
}

/// Whether INFORM messages make waits shorter, with either choice of the token.
fn inform_and_wait(view: &View) -> Vec<Claim> {
    let wait = |contender, rate| view.summary(COSTLY, contender, rate).time_to_enter;
    let choices = [("the token last seen", PROPOSED, SILENT), ("a random token", RANDOM, RANDOM_SILENT)];
    let claim = |(which, informing, silent)| {
        // Shorter by more than chance makes it.
        let shorter = |rate| !at_most(wait(silent, rate), wait(informing, rate));
        let at = |rate| {
            format!(
                "{:.3} with ν = 2 and {:.3} without at λ = {rate}",
                wait(informing, rate).mean,
                wait(silent, rate).mean
            )
        };
        let says = format!(
            "INFORM messages reduce the average delay at light load, at the cost of ν messages (asking for {which}; here: at λ = {LIGHT})."
        );
        unless_so(
            Claim::holds(
                "001 ch. IV sec. C",
                &says,
                shorter(LIGHT),
                format!("{}, {}", at(LIGHT), at(MEDIUM)),
            ),
            "Nodes that keep to the token last seen form clusters around the tokens, with short ways. An INFORM makes its receiver \
             ask for another token, over a longer way.",
        )
    };
    choices.map(claim).into()
}

/// Raymond and Srimani.
pub(super) fn broadcasters(view: &View, source: &'static str) -> Vec<Claim> {
    let count = |contender: Contender| -> Vec<f64> {
        view.rates().into_iter().map(|rate| view.messages(COSTLY, contender, rate)).collect()
    };
    let range = |values: &[f64]| {
        let (least, most) =
            (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(0.0, f64::max));
        (least, most, values.iter().sum::<f64>() / values.len() as f64)
    };
    let (low, high) = (2.0 * NODES - TOKENS - 1.0, 2.0 * (NODES - 1.0));
    let (least, most, mean) = range(&count(RAYMOND));
    let bounds = "Raymond's algorithm sends between 2n−k−1 = 56 and 2(n−1) = 58 messages.";
    let inside = least >= low * (1.0 - EDGE) && most <= high * (1.0 + EDGE);
    let reason = "Fewer than 2(n−1) come about only if a node asks twice while another holds its reply back, so that two \
                  replies go as one. Sections of equal length leave no time for that. The number of the text would follow if the \
                  k−1 replies that come too late to matter were counted in part.";
    let (fewest, upmost, average) = range(&count(SRIMANI));
    let privileges = |contender| kind(view.summary(COSTLY, contender, HEAVY), "PRIVILEGE");
    let srimani_reason = format!(
        "n−1 requests, and two privileges at medium loads, where the text's number is met; {:.2} at λ = 1, and with the other reading \
         of the printed rules (receiver=marked) {:.2}; and at light load some entries need no message at all.",
        privileges(SRIMANI),
        privileges(MARKED)
    );
    let upper = NODES + TOKENS - 1.0;
    let within = "Srimani's algorithm sends at most n+k−1 = 32 messages.";
    vec![
        Claim::holds(source, bounds, inside, format!("{least:.2} to {most:.2}"))
            .because("Counts for each entry stray a little at both ends of a run: requests under way belong to neither."),
        unless_so(Claim::number(SECTION_B1, "Raymond's algorithm sends around 57 messages on average.", 57.0, mean, 0.01), reason),
        Claim::holds(source, within, upmost <= upper * (1.0 + EDGE), format!("{fewest:.2} to {upmost:.2}")),
        unless_so(
            finding(
                Claim::number(SECTION_B1, "Srimani's algorithm sends around 31 messages.", 31.0, average, 0.01),
                format!("{average:.2} on average over λ, {fewest:.2} to {upmost:.2}"),
            ),
            &srimani_reason,
        ),
        Claim::number(source, "Analysis gives Srimani's algorithm about n−1 messages.", NODES - 1.0, average, 0.1)
            .because("n−1 requests and the privileges that come for them, less the entries that find one at hand."),
        Claim::number("001 ch. III sec. B.1", "Srimani's algorithm halves Raymond's messages.", 0.5, average / mean, 0.1),
    ]
}

fn makki(view: &View) -> Vec<Claim> {
    let heavy = view.summary(COSTLY, MAKKI, HEAVY);
    let kinds = ["UPDATE", "REQUEST", "TOKEN", "RELEASE"];
    let parts = kinds.map(|name| format!("{name} {:.2}", kind(heavy, name))).join(", ");
    let lightest = view.messages(COSTLY, MAKKI, LIGHTEST);
    let composed = "The three are news of the good site, a request and the token.";
    let as_said = ["UPDATE", "REQUEST", "TOKEN"].iter().all(|name| kind(heavy, name) > 0.5);
    let large = finding(
        Claim::number(
            "001 ch. III sec. B.2",
            "At light load it sends of the order of n messages.",
            NODES,
            lightest,
            0.2,
        ),
        format!("{lightest:.2} at λ = {LIGHTEST}, {:.2} at λ = {LIGHT}", view.messages(COSTLY, MAKKI, LIGHT)),
    );
    vec![
        Claim::number(
            SECTION_B1,
            "Makki's algorithm sends three messages under heavy load.",
            3.0,
            heavy.messages_per_entry.mean,
            0.02,
        ),
        unless_so(
            Claim::holds("001 ch. III sec. B.2", composed, as_said, parts),
            "News becomes rare because nearly everybody is on the queue; the third message is the RELEASE, which the text leaves out.",
        ),
        large,
    ]
}

/// Whether the messages in a regime equal those in another.
pub(super) fn same(view: &View, source: &'static str, regime: Regime, like: Regime) -> Vec<Claim> {
    let other_sections = regime.section != like.section;
    let of_what =
        if other_sections { "the length of sections" } else { "the time for sending and receiving" };
    let claim = |contender: Contender| {
        let pair = |rate| Pair {
            place: format!("λ = {rate}"),
            first: view.messages(like, contender, rate),
            second: view.messages(regime, contender, rate),
        };
        let pairs: Vec<Pair> = view.rates().into_iter().map(pair).collect();
        let says = format!("The number of messages does not depend on {of_what} ({}).", contender.label);
        let claim = alike(source, &says, &pairs, 0.05);
        if !other_sections {
            return claim;
        }
        unless_so(
            claim,
            "At the same λ longer sections mean a higher load, and this algorithm sends other numbers of messages at other loads. \
             At both ends of the scale the numbers meet.",
        )
    };
    CONTENDERS.map(claim).into()
}
