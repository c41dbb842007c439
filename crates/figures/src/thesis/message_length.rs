//! Figures 17 to 19 of the thesis: words in each message against the request rate; and words for each entry,
//! a measure that 003 names and leaves out.

use simulator::Point;

use super::drawing::{Figure, printed, text};
use super::model::{
    CHEAPER, CONTENDERS, COSTLY, Contender, FREE, HEAVY, MAKKI, MARKED, OTHERS, PROPOSED, RANDOM, RAYMOND,
    Regime, SECTION_B1, SRIMANI, View, curves, kind, words, words_per_entry,
};
use super::verdicts::{Pair, alike, between, finding, unless_so};
use crate::page::Axis;
use crate::{Claim, Effort, Exhibit, Page, Part, Results, Series};

/// Figures 17 to 19.
pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![
        Exhibit {
            id: "thesis-17",
            source: "001 fig. 17",
            title: "Words in each message, Tr = Ts = 0.1",
            points,
            draw: draw_figure_17,
        },
        Exhibit {
            id: "thesis-18",
            source: "001 fig. 18",
            title: "Words in each message, Tr = Ts = 0.05",
            points: |effort| curves(effort, &[CHEAPER, COSTLY]),
            draw: |effort, results| draw_like(effort, results, CHEAPER),
        },
        Exhibit {
            id: "thesis-19",
            source: "001 fig. 19",
            title: "Words in each message, Tr = Ts = 0",
            points: |effort| curves(effort, &[FREE, COSTLY]),
            draw: |effort, results| draw_like(effort, results, FREE),
        },
    ]
}

/// The points of figures 17 of the thesis and 5 of the paper.
pub(super) fn points(effort: &Effort) -> Vec<Point> {
    let mut points = curves(effort, &[COSTLY]);
    points.push(COSTLY.point(effort, MARKED, HEAVY));
    points
}

/// Words in each message, and for each entry.
pub(super) fn charts(view: &View, regime: Regime, marks: Option<Series>) -> Vec<Part> {
    let message = Figure {
        suffix: "message",
        title: "Words in each message",
        y: Axis::linear("words in each message"),
        regime,
        measure: words,
    };
    let entry = Figure {
        suffix: "entry",
        title: "Words for each entry",
        y: Axis::logarithmic("words for each entry"),
        regime,
        measure: words_per_entry,
    };
    let mut message = message.chart(view);
    message.series.extend(marks);
    vec![Part::Chart(message), Part::Chart(entry.chart(view))]
}

/// The numbers that the texts print at λ = 1.
pub(super) fn printed_words() -> Series {
    printed("printed", &[(HEAVY, 9.0), (HEAVY, 8.0), (HEAVY, 6.5), (HEAVY, 4.0)])
}

/// How words are counted.
pub(super) fn note() -> Part {
    text(
        "Words, as 003 counts them: every message has its type, sender and receiver (3). Proposed: REQUEST 5 (the requester and the \
         token), INFORM 4 (the token), TOKEN 4 and two for each node of its queue, the receiver included (the node and \
         its tag). makki: REQUEST and UPDATE 4, RELEASE 3, TOKEN 5 and one for each node of its queue. \
         srimani-reddy: REQUEST 4, PRIVILEGE 3, n for its record and one for each node of its queue. raymond-k: 4 each. \
         The Lamport clock that the corrected proposed algorithm carries is not counted.",
    )
}

fn draw_figure_17(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let mut parts = charts(&view, COSTLY, Some(printed_words()));
    parts.push(note());
    let mut claims = at_saturation(&view, SECTION_B1);
    claims.push(almost_the_same(&view));
    Page { parts, claims }
}

fn draw_like(effort: &Effort, results: &Results, regime: Regime) -> Page {
    let view = View { effort, results };
    let claim = |contender: Contender| {
        let pair = |rate| Pair {
            place: format!("λ = {rate}"),
            first: view.words(COSTLY, contender, rate),
            second: view.words(regime, contender, rate),
        };
        let pairs: Vec<Pair> = view.rates().into_iter().map(pair).collect();
        let says =
            format!("Words do not depend on the time for sending and receiving ({}).", contender.label);
        unless_so(alike(SECTION_B1, &says, &pairs, 0.05), VISITS)
    };
    Page { parts: charts(&view, regime, None), claims: CONTENDERS.map(claim).into() }
}

const VISITS: &str = "How often privileges travel in vain depends on how soon requests are known, and a privilege \
    carries more than n words.";

/// The words of each algorithm at λ = 1.
pub(super) fn at_saturation(view: &View, source: &'static str) -> Vec<Claim> {
    let ours = |contender| view.words(COSTLY, contender, HEAVY);
    let srimani = view.summary(COSTLY, SRIMANI, HEAVY);
    let marked = view.summary(COSTLY, MARKED, HEAVY);
    let (least, most) = range(view.rates().into_iter().map(|rate| view.words(COSTLY, SRIMANI, rate)));
    let privileges = format!(
        "A PRIVILEGE has over n words, a REQUEST 4, so the mean goes by the PRIVILEGEs for each entry: {:.2} at λ = 1, and {:.2} with the \
         other reading of the printed rules (receiver=marked, {:.2} words). Over all λ the mean is {least:.2} to {most:.2}.",
        kind(srimani, "PRIVILEGE"),
        kind(marked, "PRIVILEGE"),
        marked.words_per_message.mean
    );
    let makki = view.summary(COSTLY, MAKKI, HEAVY);
    // Its other messages have 4 words (REQUEST, UPDATE) and 3 (RELEASE).
    let others = 4.0 * (kind(makki, "REQUEST") + kind(makki, "UPDATE")) + 3.0 * kind(makki, "RELEASE");
    let token = (makki.words_per_entry.mean - others) / kind(makki, "TOKEN");
    let full_tokens = format!(
        "A TOKEN has {token:.1} words, {:.1} of them for the nodes that still wait in its round. What exactly the text counts is not printed.",
        token - 5.0
    );
    let four: Vec<Pair> = view
        .rates()
        .into_iter()
        .map(|rate| Pair {
            place: format!("λ = {rate}"),
            first: 4.0,
            second: view.words(COSTLY, RAYMOND, rate),
        })
        .collect();
    vec![
        Claim::number(
            source,
            "The proposed algorithm sends about 9 words in a message at λ = 1.",
            9.0,
            ours(PROPOSED),
            0.05,
        ),
        alike(source, "Raymond's algorithm sends 4 words at every λ.", &four, 0.0),
        unless_so(
            Claim::number(source, "Srimani's algorithm sends about 6.5 words.", 6.5, ours(SRIMANI), 0.05),
            &privileges,
        ),
        unless_so(
            Claim::number(source, "Makki's algorithm sends about 8 words.", 8.0, ours(MAKKI), 0.05),
            &full_tokens,
        ),
    ]
}

/// The least and the largest.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(least, most), value| (value.min(least), value.max(most)))
}

fn almost_the_same(view: &View) -> Claim {
    let entry = |contender| view.summary(COSTLY, contender, HEAVY).words_per_entry.mean;
    let ours = entry(PROPOSED);
    let least = OTHERS.iter().all(|&other| ours <= entry(other));
    let list = CONTENDERS.map(|contender| format!("{} {:.1}", contender.label, entry(contender))).join(", ");
    let says = "For almost the same amount of information the proposed algorithm waits less and sends fewer messages \
                (here: its words for each entry at λ = 1 are the fewest).";
    Claim::holds(SECTION_B1, says, least, format!("words for each entry: {list}"))
}

/// With and without asking for the token last seen (003).
pub(super) fn same_words(view: &View, source: &'static str) -> Claim {
    let pair = |rate| Pair {
        place: format!("λ = {rate}"),
        first: view.words(COSTLY, PROPOSED, rate),
        second: view.words(COSTLY, RANDOM, rate),
    };
    let pairs: Vec<Pair> = view.rates().into_iter().map(pair).collect();
    let says = "Words in a message are the same whichever way the token is chosen.";
    unless_so(
        alike(source, says, &pairs, 0.05),
        "With a random token requests travel further at high load, and more short REQUESTs to each TOKEN make the mean smaller.",
    )
}

/// One and a half times to twice the words of the others (003).
pub(super) fn larger(view: &View, source: &'static str) -> Vec<Claim> {
    let times = |other: Contender| {
        let ratio = view.words(COSTLY, PROPOSED, HEAVY) / view.words(COSTLY, other, HEAVY);
        let says = format!(
            "Messages of the proposed algorithm are 1.5 to 2 times as long as those of {}.",
            other.label
        );
        let claim =
            finding(between(source, &says, (1.5, 2.0), ratio, 0.05), format!("{ratio:.2} times at λ = 1"));
        unless_so(
            claim,
            "The words that the same text gives for λ = 1 have other ratios too: 9 to 8, 6.5 and 4.",
        )
    };
    OTHERS.map(times).into()
}
