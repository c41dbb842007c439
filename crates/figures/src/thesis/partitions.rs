//! Figures 26 to 29 of the thesis: three clusters of ten nodes with one token each, instead of thirty nodes
//! with three.

use super::drawing::text;
use super::messages;
use super::model::{
    CHEAPER, CONTENDERS, COSTLY, Contender, FREE, HEAVY, LIGHT, NODES, OTHERS, PROPOSED, RANDOM, RAYMOND,
    Regime, SECTION_B1, SRIMANI, TOKENS, View, curves,
};
use super::verdicts::{Pair, alike, at_most, everywhere, excess, finding, percent, unless_so};
use super::wait_claims::{quickest, waits_at};
use super::waits;
use crate::{Claim, Effort, Exhibit, Page, Part, Results};

const BOTH: &str = "001 ch. V sec. B.1, 003 sec. 5";

/// Figures 26 to 29.
pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![
        Exhibit {
            id: "thesis-26",
            source: "001 fig. 26",
            title: "Partitioned: time to enter, Tr = Ts = 0.1",
            points: |effort| curves(effort, &[COSTLY.in_clusters(), COSTLY]),
            draw: |effort, results| draw_waits(effort, results, COSTLY),
        },
        Exhibit {
            id: "thesis-27",
            source: "001 fig. 27",
            title: "Partitioned: time to enter, Tr = Ts = 0.05",
            points: |effort| curves(effort, &[CHEAPER.in_clusters(), CHEAPER, COSTLY.in_clusters(), COSTLY]),
            draw: |effort, results| draw_waits(effort, results, CHEAPER),
        },
        Exhibit {
            id: "thesis-28",
            source: "001 fig. 28",
            title: "Partitioned: time to enter, Tr = Ts = 0",
            points: |effort| curves(effort, &[FREE.in_clusters(), FREE, COSTLY.in_clusters(), COSTLY]),
            draw: |effort, results| draw_waits(effort, results, FREE),
        },
        Exhibit {
            id: "thesis-29",
            source: "001 fig. 29",
            title: "Partitioned: messages for each entry, Tr = Ts = 0.1",
            points: |effort| {
                let clusters = [COSTLY, CHEAPER, FREE].map(Regime::in_clusters);
                [curves(effort, &clusters), curves(effort, &[COSTLY])].concat()
            },
            draw: draw_messages,
        },
    ]
}

fn note() -> Part {
    text(
        "The thesis simulates one cluster of ten nodes and takes it for all; here all three run at once. With one token \
         there is nothing to choose, so that the two proposed curves are one.",
    )
}

fn draw_waits(effort: &Effort, results: &Results, whole: Regime) -> Page {
    let view = View { effort, results };
    let mut claims: Vec<Claim> = OTHERS.map(|other| shorter(&view, whole, other)).into();
    claims.extend([unchanged(&view, whole), no_heuristic(&view, whole), comparable(&view, whole)]);
    if whole != COSTLY {
        claims.push(same_effect(&view, whole));
    }
    Page { parts: vec![waits::chart(&view, whole.in_clusters(), None), note()], claims }
}

/// The other algorithms wait less in clusters.
fn shorter(view: &View, whole: Regime, other: Contender) -> Claim {
    let parted = whole.in_clusters();
    let wait = |regime, rate| view.summary(regime, other, rate).time_to_enter;
    let holds: Vec<(f64, bool)> =
        view.rates().into_iter().map(|rate| (rate, at_most(wait(parted, rate), wait(whole, rate)))).collect();
    let found = [LIGHT, 0.1, HEAVY]
        .map(|rate| {
            format!("λ = {rate}: {:.2} instead of {:.2}", wait(parted, rate).mean, wait(whole, rate).mean)
        })
        .join(", ");
    let says = format!("{} waits less in three clusters than as a whole.", other.label);
    let reason = "Where messages cost nothing to send and the load is light, a broadcast to 30 nodes is as quick as one to 10, and \
                  three rights for everybody are better than one for each cluster.";
    unless_so(everywhere(BOTH, &says, &holds, &found), reason)
}

/// The proposed algorithm waits as long in clusters.
fn unchanged(view: &View, whole: Regime) -> Claim {
    let pair = |rate| Pair {
        place: format!("λ = {rate}"),
        first: view.wait(whole, PROPOSED, rate),
        second: view.wait(whole.in_clusters(), PROPOSED, rate),
    };
    let pairs: Vec<Pair> = view.rates().into_iter().map(pair).collect();
    let says =
        "The proposed algorithm waits as long in clusters as in the whole system, and gains nothing by them.";
    let reason = "At saturation it is so. At light load clusters are quicker: in a tree of ten nodes the way to the token \
                  is shorter than in one of thirty, and the other two tokens do not make up for that.";
    unless_so(alike(BOTH, says, &pairs, 0.05), reason)
}

/// With one token there is nothing to choose.
fn no_heuristic(view: &View, whole: Regime) -> Claim {
    let parted = whole.in_clusters();
    let pair = |rate| Pair {
        place: format!("λ = {rate}"),
        first: view.wait(parted, PROPOSED, rate),
        second: view.wait(parted, RANDOM, rate),
    };
    let pairs: Vec<Pair> = view.rates().into_iter().map(pair).collect();
    alike(
        SECTION_B1,
        "In clusters the choice of the token makes no difference: there is only one.",
        &pairs,
        0.0,
    )
}

/// The proposed algorithm is at least as good as the others.
fn comparable(view: &View, whole: Regime) -> Claim {
    let parted = whole.in_clusters();
    let wait = |contender, rate| view.wait(parted, contender, rate);
    let best = |rate| OTHERS.iter().map(|&other| wait(other, rate)).fold(f64::MAX, f64::min);
    let holds: Vec<(f64, bool)> =
        view.rates().into_iter().map(|rate| (rate, wait(PROPOSED, rate) <= 1.1 * best(rate))).collect();
    let strictly = quickest(view, parted, PROPOSED, &OTHERS).iter().filter(|(_, holds)| *holds).count();
    let found = format!(
        "least of all at {strictly} of {}; {}; {}",
        holds.len(),
        waits_at(view, parted, 0.1),
        waits_at(view, parted, HEAVY)
    );
    let says = "In clusters too the proposed algorithm waits about as long as the best of the others, or less (here: \
                at most a tenth longer).";
    let reason = "With ten nodes a broadcast is cheap: a request reaches the one privilege of srimani-reddy in a single hop, \
                  where the proposed algorithm follows pointers.";
    unless_so(everywhere(SECTION_B1, says, &holds, &found), reason)
}

/// Less time for messages has the same effect as in the whole system.
fn same_effect(view: &View, whole: Regime) -> Claim {
    let change = |to: Regime, from: Regime, contender| {
        excess(view.wait(to, contender, HEAVY), view.wait(from, contender, HEAVY))
    };
    let whole_change = CONTENDERS.map(|contender| change(whole, COSTLY, contender));
    let parted_change =
        CONTENDERS.map(|contender| change(whole.in_clusters(), COSTLY.in_clusters(), contender));
    let is_alike = |(one, other): (&f64, &f64)| one * other >= 0.0 || one.abs().max(other.abs()) < 0.05;
    let same = whole_change.iter().zip(&parted_change).all(is_alike);
    let found: Vec<String> = CONTENDERS
        .iter()
        .zip(whole_change.iter().zip(&parted_change))
        .map(|(contender, (one, other))| {
            format!("{} {} and {}", contender.label, percent(*one), percent(*other))
        })
        .collect();
    let says = "Less time for sending and receiving has the same effect in clusters as in the whole system (here: waits at λ = 1 \
                change in the same direction, or by less than 5 %).";
    let found = format!("against Tr = Ts = 0.1, whole and in clusters: {}", found.join(", "));
    unless_so(
        Claim::holds(SECTION_B1, says, same, found),
        "With ten nodes to write to instead of thirty it is felt less, and may be less than what chance or other waits change.",
    )
}

fn draw_messages(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let parted = COSTLY.in_clusters();
    let mut parts = messages::charts(&view, parted, None);
    parts.push(note());
    let mut claims = fewer(&view, parted);
    claims.extend([handling(&view, CHEAPER), handling(&view, FREE)]);
    Page { parts, claims }
}

/// Messages in clusters against those in the whole system.
fn fewer(view: &View, parted: Regime) -> Vec<Claim> {
    let pair = |rate| Pair {
        place: format!("λ = {rate}"),
        first: view.messages(COSTLY, PROPOSED, rate),
        second: view.messages(parted, PROPOSED, rate),
    };
    let pairs: Vec<Pair> = view.rates().into_iter().map(pair).collect();
    let same = "The proposed algorithm sends as many messages in clusters as in the whole system.";
    let shorter = "Ways are shorter in a tree of ten nodes; at high load there is no difference.";
    let mean = |regime, contender: Contender| {
        let rates = view.rates();
        rates.iter().map(|&rate| view.messages(regime, contender, rate)).sum::<f64>() / rates.len() as f64
    };
    let cluster = NODES / TOKENS;
    let gain = |other: Contender| {
        let times = mean(COSTLY, other) / mean(parted, other);
        let says =
            format!("{} sends fewer messages in clusters, in proportion to the nodes: a third.", other.label);
        let reason = "What it sends at high load does not depend on the number of nodes, in clusters or not; only UPDATEs at light load do.";
        let found = format!(
            "{:.2} instead of {:.2}, averaged over λ: {times:.2} times fewer",
            mean(parted, other),
            mean(COSTLY, other)
        );
        unless_so(finding(Claim::number(SECTION_B1, &says, TOKENS, times, 0.15), found), reason)
    };
    let mut claims = vec![unless_so(alike(SECTION_B1, same, &pairs, 0.05), shorter)];
    claims.extend(OTHERS.map(gain));
    claims.push(Claim::number(
        "003 sec. 5",
        "In clusters Srimani's algorithm sends about n/k − 1 messages.",
        cluster - 1.0,
        mean(parted, SRIMANI),
        0.12,
    ));
    claims.push(Claim::number(
        "003 sec. 5",
        "In clusters Raymond's algorithm sends about 2(n/k − 1) messages.",
        2.0 * (cluster - 1.0),
        mean(parted, RAYMOND),
        0.02,
    ));
    claims
}

/// Messages do not depend on the time for sending and receiving.
fn handling(view: &View, whole: Regime) -> Claim {
    let (regime, like) = (whole.in_clusters(), COSTLY.in_clusters());
    let mut pairs = Vec::new();
    for contender in CONTENDERS {
        pairs.extend(view.rates().into_iter().map(|rate| Pair {
            place: format!("λ = {rate}, {}", contender.label),
            first: view.messages(like, contender, rate),
            second: view.messages(regime, contender, rate),
        }));
    }
    let says = format!(
        "In clusters Tr = Ts = {} instead of 0.1 does not change the number of messages.",
        whole.handling
    );
    alike(SECTION_B1, &says, &pairs, 0.05)
}
