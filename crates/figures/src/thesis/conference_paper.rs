//! Figures 3 to 5 of the conference paper: the thesis' points with one setting of times each, and the claims
//! of 003.

use super::drawing::{kinds_table, makki_note, model_note};
use super::messages::{self, MEDIUM, TOGETHER, fewest, messages_at};
use super::model::{
    CHEAPER, COSTLY, Contender, FREE, HEAVY, LIGHT, MAKKI, MARKED, OTHERS, PROPOSED, RANDOM, RAYMOND, View,
    curves, kind,
};
use super::verdicts::{excess, mostly, percent, unless_so};
use super::wait_claims::{free_handling, heuristic, quickest, rises, waits_at};
use super::{message_length, waits};
use crate::{Claim, Effort, Exhibit, Page, Results};

const SECTION_4: &str = "003 sec. 4";

/// Figures 3(a), 3(b), 4 and 5.
pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![
        Exhibit {
            id: "paper-3a",
            source: "003 fig. 3(a)",
            title: "Time to enter, Tr = Ts = 0.1",
            points: |effort| curves(effort, &[COSTLY, CHEAPER, COSTLY.with_long_sections()]),
            draw: draw_figure_3a,
        },
        Exhibit {
            id: "paper-3b",
            source: "003 fig. 3(b)",
            title: "Time to enter, Tr = Ts = 0",
            points: |effort| curves(effort, &[FREE, COSTLY]),
            draw: draw_figure_3b,
        },
        Exhibit {
            id: "paper-4",
            source: "003 fig. 4",
            title: "Messages for each entry, Tr = Ts = 0.1",
            points: |effort| {
                let mut points = curves(effort, &[COSTLY, CHEAPER, FREE, COSTLY.with_long_sections()]);
                points.push(COSTLY.point(effort, MARKED, HEAVY));
                points
            },
            draw: draw_figure_4,
        },
        Exhibit {
            id: "paper-5",
            source: "003 fig. 5",
            title: "Words in each message, Tr = Ts = 0.1",
            points: message_length::points,
            draw: draw_figure_5,
        },
    ]
}

fn draw_figure_3a(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let ends = format!("{}; {}", waits_at(&view, COSTLY, LIGHT), waits_at(&view, COSTLY, HEAVY));
    let best = quickest(&view, COSTLY, PROPOSED, &OTHERS);
    let better = "The proposed algorithm waits less than the others at most λ.";
    let claims = vec![
        mostly(SECTION_4, better, &best, &ends),
        heuristic(&view, SECTION_4),
        rises(&view, SECTION_4),
        trends(&view),
    ];
    let parts = vec![waits::chart(&view, COSTLY, Some(waits::printed_waits())), model_note(), makki_note()];
    Page { parts, claims }
}

/// Other times for messages or critical sections show the same trends.
fn trends(view: &View) -> Claim {
    let regimes = [("Tr = Ts = 0.05", CHEAPER), ("E = 1", COSTLY.with_long_sections())];
    let leads = |regime| {
        let holds = quickest(view, regime, PROPOSED, &OTHERS);
        (holds.iter().filter(|(_, holds)| *holds).count(), holds.len())
    };
    let counts = regimes.map(|(name, regime)| (name, leads(regime)));
    let found =
        counts.map(|(name, (so, all))| format!("{name}: least wait at {so} of {all} values of λ")).join(", ");
    let same = counts.iter().all(|(_, (so, all))| 2 * so > *all);
    let says = "For other times that are not 0, and for E = 1, the trends are the same (here: proposed waits least at most λ).";
    Claim::holds(SECTION_4, says, same, found)
}

fn draw_figure_3b(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let mut claims = free_handling(&view, SECTION_4);
    let loss = excess(view.wait(COSTLY, RAYMOND, HEAVY), view.wait(FREE, RAYMOND, HEAVY));
    let says = "Raymond's algorithm does well if sending costs nothing and poorly if it does not (here: waits half again as long).";
    claims.push(Claim::holds(
        SECTION_4,
        says,
        loss > 0.5,
        format!("{} at λ = 1 with Tr = Ts = 0.1", percent(loss)),
    ));
    let slowest = |rate| {
        let wait = |contender| view.wait(FREE, contender, rate);
        [PROPOSED, RANDOM, super::model::SRIMANI, RAYMOND].iter().all(|&other| wait(other) <= wait(MAKKI))
    };
    let holds: Vec<(f64, bool)> = view.rates().into_iter().map(|rate| (rate, slowest(rate))).collect();
    let found = waits_at(&view, FREE, HEAVY);
    claims.push(super::verdicts::everywhere(SECTION_4, "Makki's algorithm waits longest.", &holds, &found));
    Page { parts: vec![waits::chart(&view, FREE, None), makki_note()], claims }
}

fn draw_figure_4(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let found = format!(
        "{}; {}; {}",
        messages_at(&view, LIGHT),
        messages_at(&view, MEDIUM),
        messages_at(&view, HEAVY)
    );
    let fewer = "The proposed algorithm sends fewer messages than the others at most λ.";
    let mut claims = vec![
        mostly(SECTION_4, fewer, &fewest(&view, PROPOSED, &OTHERS), &found).because(TOGETHER),
        heuristic_at_high_load(&view),
    ];
    claims.extend(
        messages::broadcasters(&view, SECTION_4).into_iter().filter(|claim| claim.source == SECTION_4),
    );
    claims.extend(makki(&view));
    claims.push(unaffected(&view, "time for sending and receiving", &[CHEAPER, FREE]));
    claims.push(unaffected(&view, "E", &[COSTLY.with_long_sections()]));
    let mut parts = messages::charts(&view, COSTLY, Some(&messages::printed_messages()));
    parts.push(kinds_table(&view, COSTLY, &[LIGHT, HEAVY]));
    Page { parts, claims }
}

fn heuristic_at_high_load(view: &View) -> Claim {
    let (seen, random) = (view.messages(COSTLY, PROPOSED, HEAVY), view.messages(COSTLY, RANDOM, HEAVY));
    let says = "Asking for the token last seen saves messages at high load.";
    Claim::holds(SECTION_4, says, seen < 0.95 * random, format!("{seen:.2} instead of {random:.2} at λ = 1"))
}

fn makki(view: &View) -> Vec<Claim> {
    let count = |contender: Contender, rate| view.messages(COSTLY, contender, rate);
    let large = format!("{:.1} at λ = {LIGHT}", count(MAKKI, LIGHT));
    let waits = (view.wait(COSTLY, MAKKI, HEAVY), view.wait(COSTLY, RAYMOND, HEAVY));
    let longer = format!(
        "{:.2} messages and {:.1} units; raymond-k {:.1} units",
        count(MAKKI, HEAVY),
        waits.0,
        waits.1
    );
    let few = "With its few messages Makki's algorithm still waits longest at large λ: messages alone do not measure an algorithm.";
    vec![
        Claim::holds(
            SECTION_4,
            "At low load Makki's algorithm sends many messages (here: over ten).",
            count(MAKKI, LIGHT) > 10.0,
            large,
        ),
        Claim::number(SECTION_4, "At heavy load it sends three.", 3.0, count(MAKKI, HEAVY), 0.02),
        Claim::holds(SECTION_4, few, waits.0 > waits.1, longer),
    ]
}

/// Messages under other times, against figure 4.
fn unaffected(view: &View, what: &str, regimes: &[super::model::Regime]) -> Claim {
    let mut pairs = Vec::new();
    for contender in super::model::CONTENDERS {
        for &regime in regimes {
            pairs.extend(view.rates().into_iter().map(|rate| super::verdicts::Pair {
                place: format!("λ = {rate}, {}", contender.label),
                first: view.messages(COSTLY, contender, rate),
                second: view.messages(regime, contender, rate),
            }));
        }
    }
    let says = format!("Messages for each entry do not depend on {what}.");
    unless_so(
        super::verdicts::alike(SECTION_4, &says, &pairs, 0.05),
        "At the same λ longer sections mean a higher load, which changes what the token algorithms send; only at both ends of the \
         scale, and for those that send to everybody, do the numbers agree.",
    )
}

fn draw_figure_5(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let mut claims = message_length::at_saturation(&view, SECTION_4);
    claims.push(message_length::same_words(&view, SECTION_4));
    claims.extend(message_length::larger(&view, SECTION_4));
    let summary = view.summary(COSTLY, PROPOSED, HEAVY);
    let longest = summary.longest_queue;
    let says = "A TOKEN grows at most in proportion to the nodes (here: no queue is longer than n).";
    let found =
        format!("the longest queue had {longest} nodes; {:.2} TOKENs for each entry", kind(summary, "TOKEN"));
    claims.push(Claim::holds(SECTION_4, says, f64::from(longest) <= super::model::NODES, found));
    let mut parts = message_length::charts(&view, COSTLY, Some(message_length::printed_words()));
    parts.push(message_length::note());
    Page { parts, claims }
}
