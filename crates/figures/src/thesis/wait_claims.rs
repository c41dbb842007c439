//! The thesis' claims about waits, sentence by sentence.

use super::model::{
    CHEAPER, CONTENDERS, COSTLY, Contender, FREE, HEAVY, HOP, LIGHT, MAKKI, MARKED, NODES, OTHERS, PROPOSED,
    RANDOM, RAYMOND, REPLIES, Regime, SECTION_B1, SRIMANI, TOKENS, View, kind,
};
use super::verdicts::{Pair, alike, at_most, between, each, everywhere, excess, finding, unless_so};
use super::waits::{BEYOND, COSTLIER, Charge, far_beyond, half_charged, makki_alone};
use crate::Claim;
use crate::compare::share;

const CHEAP_BROADCAST: &str =
    "At light load sending n−1 requests at this price takes less time than the way along the pointers.";

/// At each λ, whether one contender waits at most as long as all of the others.
pub(super) fn quickest(
    view: &View,
    regime: Regime,
    one: Contender,
    others: &[Contender],
) -> Vec<(f64, bool)> {
    let wait = |contender, rate| view.summary(regime, contender, rate).time_to_enter;
    let holds = |rate| others.iter().all(|&other| at_most(wait(one, rate), wait(other, rate)));
    view.rates().into_iter().map(|rate| (rate, holds(rate))).collect()
}

/// The waits of all contenders at a rate, as text.
pub(super) fn waits_at(view: &View, regime: Regime, rate: f64) -> String {
    let one = |contender: Contender| format!("{} {:.2}", contender.label, view.wait(regime, contender, rate));
    format!("at λ = {rate}: {}", CONTENDERS.map(one).join(", "))
}

/// All claims about figure 10 except those about saturation and sanity.
pub(super) fn figure_10(view: &View) -> Vec<Claim> {
    let mut claims = shape(view);
    claims.push(heuristic(view, SECTION_B1));
    claims.extend(broadcasters(view));
    claims.extend(slowest(view));
    claims
}

/// Which contender is best, and how the curves run.
fn shape(view: &View) -> Vec<Claim> {
    let ends = format!("{}; {}", waits_at(view, COSTLY, LIGHT), waits_at(view, COSTLY, HEAVY));
    let best = quickest(view, COSTLY, PROPOSED, &OTHERS);
    let nine = view.wait(COSTLY, PROPOSED, HEAVY);
    vec![
        everywhere(SECTION_B1, "The proposed algorithm waits less than the other three.", &best, &ends),
        rises(view, SECTION_B1),
        Claim::number(SECTION_B1, "At λ = 1 the proposed algorithm waits about nine units.", 9.0, nine, 0.05),
        queue_length(view),
    ]
}

/// Curves rise and flatten out.
pub(super) fn rises(view: &View, source: &'static str) -> Claim {
    let rates = view.rates();
    let mut not = Vec::new();
    let mut slopes = Vec::new();
    for contender in CONTENDERS {
        let wait = |rate| view.summary(COSTLY, contender, rate).time_to_enter;
        let slope = |from: f64, to: f64| (wait(to).mean - wait(from).mean) / (to - from);
        let (first, last) = (slope(LIGHT, 0.1), slope(rates[rates.len() - 2], HEAVY));
        let falls = rates.windows(2).any(|pair| !at_most(wait(pair[0]), wait(pair[1])));
        if falls || last >= first {
            not.push(contender.label);
        }
        slopes.push(format!("{} {first:.0} and {last:.1}", contender.label));
    }
    let found = format!("rise per unit of λ up to 0.1 and at the end: {}", slopes.join(", "));
    let says = "All curves rise with λ at first and flatten out, and none falls.";
    let reason = "Srimani's algorithm is slowest at a medium load: beyond it fewer privileges travel in vain, since each has more \
                  requests to serve on its way.";
    unless_so(each(source, says, CONTENDERS.len(), &not, found), reason)
}

/// Nine to ten in each queue.
fn queue_length(view: &View) -> Claim {
    let summary = view.summary(COSTLY, PROPOSED, HEAVY);
    // A REQUEST has 5 words, an INFORM 4, a TOKEN 4 and 2 for each entry of its queue.
    let others = 5.0 * kind(summary, "REQUEST") + 4.0 * kind(summary, "INFORM");
    let token = (summary.words_per_entry.mean - others) / kind(summary, "TOKEN");
    let queued = (token - 4.0) / 2.0;
    let waiting = summary.throughput.mean * summary.time_to_enter.mean / TOKENS;
    let says = "At high rates nine to ten nodes are in the queue of each token.";
    let found = format!(
        "a token that is sent carries {queued:.2} on average (at most {}); {waiting:.2} nodes wait for each token",
        summary.longest_queue
    );
    let claim = finding(between(SECTION_B1, says, (9.0, 10.0), queued, 0.05), found);
    let reason = "As many wait as the text says, and the hops follow from that; but half of them are in the queues of \
                  nodes that wait themselves, and join the token's queue only when it comes by.";
    unless_so(claim, reason)
}

/// Asking for the token last seen makes waits a little shorter.
pub(super) fn heuristic(view: &View, source: &'static str) -> Claim {
    let gain = |rate: f64| -excess(view.wait(COSTLY, PROPOSED, rate), view.wait(COSTLY, RANDOM, rate));
    let (most, least) = (extreme(view, gain, f64::max), extreme(view, gain, f64::min));
    let holds = quickest(view, COSTLY, PROPOSED, &[RANDOM]);
    let found = format!("waits shorter by {} at least and {} at most", share(least), share(most));
    everywhere(source, "Asking for the token last seen shortens waits by a small amount.", &holds, &found)
}

fn extreme(view: &View, value: impl Fn(f64) -> f64, pick: fn(f64, f64) -> f64) -> f64 {
    view.rates().into_iter().map(value).reduce(pick).unwrap_or(0.0)
}

/// Raymond and Srimani: sixteen to eighteen units.
fn broadcasters(view: &View) -> Vec<Claim> {
    let range = (16.0, 18.0);
    let wait = |contender| view.wait(COSTLY, contender, HEAVY);
    let half =
        |contender, charge| view.results.of(&half_charged(view.effort, contender, charge)).time_to_enter.mean;
    let both = |contender| {
        let (sending, receiving) = (half(contender, Charge::Sending), half(contender, Charge::Receiving));
        format!("if only sending or only receiving occupies processors it is {sending:.1} or {receiving:.1}")
    };
    let raymond =
        between(SECTION_B1, "At λ = 1 Raymond's algorithm waits 16 to 18 units.", range, wait(RAYMOND), 0.02);
    let orders = REPLIES.map(|order| format!("{:.1} with {}", wait(order), order.label)).join(", ");
    let raymond_reason = format!(
        "Set by how processors share out their work, which the text leaves open ({}). On leaving, up to n−1 replies \
         go out one after the other, here by number of node, and the one that the next node waits for may be among the \
         last. The order decides, and the text gives none: the wait is {orders}.",
        both(RAYMOND)
    );
    let srimani =
        between(SECTION_B1, "At λ = 1 Srimani's algorithm waits 16 to 18 units.", range, wait(SRIMANI), 0.02);
    let srimani_reason = format!(
        "Set by how processors share out their work, which the text leaves open ({}): a privilege waits at a node that is \
         still sending its n−1 requests. As printed, a node that leaves does not mark the receiver of its privilege as \
         served; with receiver=marked the wait is {:.1}. {}",
        both(SRIMANI),
        wait(MARKED),
        where_free(view, range)
    );
    vec![unless_so(raymond, &raymond_reason), unless_so(srimani, &srimani_reason), visits(view)]
}

/// Where the printed rule of Srimani's algorithm waits as long as the text says if sending and receiving cost nothing.
fn where_free(view: &View, (low, high): (f64, f64)) -> String {
    let wait = |rate| view.wait(FREE, SRIMANI, rate);
    let within: Vec<String> = view
        .rates()
        .into_iter()
        .filter(|&rate| (low..=high).contains(&wait(rate)))
        .map(|rate| format!("{:.1} at λ = {rate}", wait(rate)))
        .collect();
    let heavy = wait(HEAVY);
    match within.is_empty() {
        true => format!("With Tr = Ts = 0 it is {heavy:.1} at λ = 1 and nowhere {low} to {high}."),
        false => format!(
            "With Tr = Ts = 0 the printed rule does wait {low} to {high} units at some rates ({}), and {heavy:.1} at λ = 1.",
            within.join(", ")
        ),
    }
}

/// Every free privilege goes to each requester, and has to go on from there.
fn visits(view: &View) -> Claim {
    let asked = |rate| kind(view.summary(COSTLY, SRIMANI, rate), "REQUEST") / (NODES - 1.0);
    let visits = |rate| kind(view.summary(COSTLY, SRIMANI, rate), "PRIVILEGE") / asked(rate);
    let found = format!(
        "PRIVILEGE messages for each request: {:.2} at λ = {LIGHT}, {:.2} at λ = 0.1, {:.2} at λ = {HEAVY}",
        visits(LIGHT),
        visits(0.1),
        visits(HEAVY)
    );
    let says = "In Srimani's algorithm privileges visit a requester in vain before they go on, at low loads.";
    let claim = Claim::holds(SECTION_B1, says, visits(LIGHT) > 1.5 && visits(LIGHT) > visits(HEAVY), found);
    claim.because(
        "Not all three come each time, as the text has it: the one that served a node stays there until another asks, so \
         that several are often at one node, which sends only one of them.",
    )
}

/// Makki is the slowest, as if there were one token.
fn slowest(view: &View) -> Vec<Claim> {
    let slow: Vec<(f64, bool)> =
        view.rates().into_iter().map(|rate| (rate, makki_is_slowest(view, rate))).collect();
    let found = format!("{}; {}", waits_at(view, COSTLY, LIGHT), waits_at(view, COSTLY, HEAVY));
    let claim = everywhere(SECTION_B1, "Makki's algorithm waits longest.", &slow, &found);
    let reason = "At the lightest loads Raymond's 2(n−1) messages, sent one after the other, take longer than the four hops \
                  of a request to an idle good site.";
    let single = view.results.of(&makki_alone(view.effort)).time_to_enter.mean;
    let three = view.wait(COSTLY, MAKKI, HEAVY);
    let pair = Pair { place: "k = 1 and k = 3, λ = 1".to_string(), first: single, second: three };
    let says = "Under heavy load Makki's algorithm behaves as if k were 1.";
    vec![
        unless_so(claim, reason),
        alike(SECTION_B1, says, &[pair], 0.02)
            .because("The one token visits everybody in turn, a hop each: about n hops, whatever k is."),
    ]
}

fn makki_is_slowest(view: &View, rate: f64) -> bool {
    let wait = |contender| view.summary(COSTLY, contender, rate).time_to_enter;
    CONTENDERS.iter().all(|&other| at_most(wait(other), wait(MAKKI)))
}

/// The closed form, and the highest rate of entries.
pub(super) fn saturated(view: &View) -> Vec<Claim> {
    let beyond = |rate| view.results.of(&far_beyond(view.effort, FREE, rate)).time_to_enter.mean;
    let pair =
        |rate, second| Pair { place: format!("λ = {rate}"), first: COSTLY.saturated_wait(rate), second };
    let mut pairs = vec![pair(HEAVY, view.wait(COSTLY, PROPOSED, HEAVY))];
    pairs.extend(BEYOND.map(|rate| pair(rate, beyond(rate))));
    let throughput = view.summary(COSTLY, PROPOSED, HEAVY).throughput.mean;
    let limit = NODES / TOKENS * HOP;
    let far = beyond(BEYOND[1]);
    let near = view.wait(COSTLY, PROPOSED, HEAVY);
    let most = "There is a greatest rate of entries, and more requests do not raise it (k/(hop + E) for the proposed algorithm).";
    let delay = "At high load the wait is about n/k hops.";
    vec![
        alike(
            "ours",
            "At saturation the wait of the proposed algorithm is (n/k)(hop + E) − E − 1/λ.",
            &pairs,
            0.02,
        ),
        finding(
            Claim::number(SECTION_B1, most, COSTLY.most_entries(), throughput, 0.02),
            format!("{throughput:.3} entries per unit at λ = 1; k/(hop + E) is {:.3}", COSTLY.most_entries()),
        ),
        finding(
            Claim::number("001 ch. VII", delay, limit, near, 0.12),
            format!("{near:.2} at λ = 1, {far:.2} at λ = 100 (there with Tr = Ts = 0); n/k is {limit}"),
        )
        .because("At λ = 1 the pause of one unit is what is missing: the closed form."),
        overrun(view),
    ]
}

/// Holders that are too busy sending messages to receive any.
fn overrun(view: &View) -> Claim {
    let rate = BEYOND[0];
    let summary = view.results.of(&far_beyond(view.effort, COSTLY, rate));
    let says = "Beyond the figures, where a holder comes back sooner than its INFORMs leave its processor (λ over 1/(ν·Ts) = 5), it never \
                gets to read a request: the three first holders enter all the time and everybody else waits as long as the run lasts.";
    let found = format!(
        "λ = {rate}, Tr = Ts = 0.1: Jain's index {:.3} (3 of 30 is 0.1), {:.2} INFORMs for each entry, longest wait {:.0} units and not over",
        summary.fairness.mean,
        kind(summary, "INFORM"),
        summary.longest_wait
    );
    Claim::holds("ours", says, summary.fairness.mean < 0.11, found).because(
        "In this model a local client enters at once while the messages of its last exit still queue at the processor. With ν = 0, or \
         Ts = 0, it does not happen.",
    )
}

/// The thesis' checks of its own simulation.
pub(super) fn sanity(view: &View) -> Vec<Claim> {
    let heavy = CONTENDERS.map(|contender| (contender.label, view.summary(COSTLY, contender, HEAVY)));
    let fairness: Vec<String> = heavy
        .iter()
        .map(|(label, summary)| {
            format!(
                "{label} {:.3} ({} to {})",
                summary.fairness.mean, summary.fewest_entries, summary.most_entries
            )
        })
        .collect();
    let even = heavy.iter().all(|(_, summary)| summary.fairness.mean > 0.95);
    let ratio = |summary: &simulator::Summary| summary.longest_wait / summary.time_to_enter.mean;
    let longest: Vec<String> = heavy
        .iter()
        .map(|(label, summary)| {
            format!("{label} {:.0} ({:.1} times the mean)", summary.longest_wait, ratio(summary))
        })
        .collect();
    let bounded = heavy.iter().all(|(_, summary)| ratio(summary) < 10.0);
    let equal = "All nodes enter about equally often (here: Jain's index over 0.95 at λ = 1).";
    let limits = "No wait is beyond reasonable limits (here: under ten times the mean at λ = 1).";
    let mut claims = vec![
        Claim::holds(SECTION_B1, equal, even, format!("index, fewest and most entries: {}", fairness.join(", ")))
        .because("With last-seen a node keeps to one token once all are busy, so that clusters of unequal size can freeze."),
        unless_so(
            Claim::holds(SECTION_B1, limits, bounded, format!("longest: {}", longest.join(", "))),
            "With a random choice of tokens a request can be overtaken many times; the queues are not served in the order of asking.",
        ),
    ];
    if !view.effort.quick && view.effort.seeds > 2 {
        claims.push(converged(view));
    }
    claims
}

/// 5000 entries are enough.
fn converged(view: &View) -> Claim {
    let mut worst = (0.0, String::new());
    for contender in CONTENDERS {
        for rate in view.rates() {
            let wait = view.summary(COSTLY, contender, rate).time_to_enter;
            let spread = wait.stderr * (view.effort.seeds as f64).sqrt() / wait.mean;
            if spread > worst.0 {
                worst = (spread, format!("{} at λ = {rate}", contender.label));
            }
        }
    }
    let found = format!("one run strays from the mean by {:.1} % at most, for {}", worst.0 * 100.0, worst.1);
    let says = "Results have converged after 5000 entries (here: a run's mean wait strays by less than 5 %).";
    Claim::holds("001 ch. V sec. B, 003 sec. 4", says, worst.0 < 0.05, found)
}

/// Figure 12: sending and receiving cost nothing.
pub(super) fn figure_12(view: &View) -> Vec<Claim> {
    let drop =
        |contender, rate| -excess(view.wait(FREE, contender, rate), view.wait(COSTLY, contender, rate));
    let drops = |contender: Contender| {
        let (light, heavy) = (drop(contender, LIGHT), drop(contender, HEAVY));
        format!("down by {:.1} % at λ = {LIGHT}, by {:.1} % at λ = {HEAVY}", light * 100.0, heavy * 100.0)
    };
    let falls = |contender: Contender, least: f64| {
        view.rates().into_iter().map(|rate| (rate, drop(contender, rate) > least)).collect::<Vec<_>>()
    };
    let same = |contender: Contender| {
        let pair = |rate| Pair {
            place: format!("λ = {rate}"),
            first: view.wait(COSTLY, contender, rate),
            second: view.wait(FREE, contender, rate),
        };
        view.rates().into_iter().map(pair).collect::<Vec<_>>()
    };
    let raymond =
        "Raymond's algorithm waits considerably less than with Tr = Ts = 0.1 (here: by a quarter or more).";
    let srimani = "Srimani's algorithm waits somewhat less than with Tr = Ts = 0.1.";
    let makki = "Makki's algorithm waits about as long as with Tr = Ts = 0.1.";
    let proposed = "The proposed algorithm waits about as long as with Tr = Ts = 0.1.";
    let privileges = |regime| kind(view.summary(regime, SRIMANI, HEAVY), "PRIVILEGE");
    let visits = format!(
        "PRIVILEGEs for each entry at λ = 1: {:.2} instead of {:.2}",
        privileges(FREE),
        privileges(COSTLY)
    );
    let sooner = "Requests that reach everybody at once set several privileges off to the same node, and those in vain cost at high \
                  load what quicker messages save.";
    let mut claims = vec![
        everywhere(SECTION_B1, raymond, &falls(RAYMOND, 0.25), &drops(RAYMOND)),
        unless_so(
            everywhere(SECTION_B1, srimani, &falls(SRIMANI, 0.0), &format!("{}; {visits}", drops(SRIMANI))),
            sooner,
        ),
        alike(SECTION_B1, makki, &same(MAKKI), 0.02)
            .because("By construction: its messages are never later than one hop."),
        alike(SECTION_B1, proposed, &same(PROPOSED), 0.05),
    ];
    claims.extend(free_handling(view, "003 sec. 4"));
    claims
}

/// Raymond against the proposed algorithm where sending is free; also what 003 says of figure 3(b).
pub(super) fn free_handling(view: &View, source: &'static str) -> Vec<Claim> {
    let (ours, theirs) = (view.wait(FREE, PROPOSED, LIGHT), view.wait(FREE, RAYMOND, LIGHT));
    let small = "Raymond's algorithm waits less than the proposed one at small λ.";
    let found = format!("{theirs:.2} and {ours:.2} at λ = {LIGHT}");
    let pair = Pair {
        place: "λ = 1".to_string(),
        first: view.wait(FREE, PROPOSED, HEAVY),
        second: view.wait(FREE, RAYMOND, HEAVY),
    };
    vec![
        Claim::holds(source, small, theirs < ours, found),
        alike(source, "At large λ it waits as long as the proposed one.", &[pair], 0.02),
        Claim::number("ours", "At light load Raymond's algorithm waits two hops.", 2.0 * HOP, theirs, 0.02),
    ]
}

/// Figure 13: between figures 10 and 12, and the effect of more time for messages.
pub(super) fn figure_13(view: &View) -> Vec<Claim> {
    let mut outside = Vec::new();
    for contender in CONTENDERS {
        for rate in view.rates() {
            let wait = |regime| view.summary(regime, contender, rate).time_to_enter;
            let (free, middle, costly) = (wait(FREE), wait(CHEAPER), wait(COSTLY));
            let (low, high) = if free.mean < costly.mean { (free, costly) } else { (costly, free) };
            if !(at_most(low, middle) && at_most(middle, high)) {
                outside.push(format!("{} at λ = {rate}", contender.label));
            }
        }
    }
    let found = match outside.is_empty() {
        true => "all of them, within three standard errors".to_string(),
        false => format!("all but {}", outside.join(", ")),
    };
    let all = CONTENDERS.len() * view.rates().len();
    let says =
        "With Tr = Ts = 0.05 the curves lie between those of figures 10 and 12 (here: 19 in 20 points do).";
    let best = quickest(view, CHEAPER, PROPOSED, &OTHERS);
    let least = "Where Tr and Ts are not 0, the proposed algorithm waits least.";
    let waits = format!("{}; {}", waits_at(view, CHEAPER, LIGHT), waits_at(view, CHEAPER, HEAVY));
    vec![
        Claim::holds(SECTION_B1, says, outside.len() * 20 <= all, found),
        unless_so(everywhere(SECTION_B1, least, &best, &waits), CHEAP_BROADCAST),
        lead_grows(view),
    ]
}

fn lead_grows(view: &View) -> Claim {
    let lead = |regime, other| view.wait(regime, other, HEAVY) / view.wait(regime, PROPOSED, HEAVY);
    let leads = OTHERS.map(|other| (other.label, lead(COSTLY, other), lead(COSTLIER, other)));
    // Less than one percent is no growth.
    let not: Vec<&str> = leads.iter().filter(|lead| lead.2 < 1.01 * lead.1).map(|lead| lead.0).collect();
    let list = leads.map(|(label, before, after)| format!("{label} {before:.2} and {after:.2}")).join(", ");
    let found = format!("times the wait of proposed, for 0.1 and 0.2, at λ = 1: {list}");
    let says = "With Tr and Ts over 0.1 the lead of the proposed algorithm over the others would grow.";
    let reason = "It grows over those that send to everybody. makki's messages are hurried, so that it does not feel Ts and Tr.";
    unless_so(each(SECTION_B1, says, leads.len(), &not, found), reason)
}

/// Figures 20 to 22: as with short sections.
pub(super) fn long_sections(view: &View, short: Regime) -> Vec<Claim> {
    let long = short.with_long_sections();
    let found = format!("{}; with E = 0.0002 {}", waits_at(view, long, HEAVY), waits_at(view, short, HEAVY));
    let similar = "With E = 1 results are similar (here: no two algorithms change places at λ = 1, ties within 5 % apart).";
    let same = !change_places(view, short, long);
    let mut claims = vec![Claim::holds(SECTION_B1, similar, same, found)];
    if short.handling > 0.0 {
        let best = quickest(view, long, PROPOSED, &OTHERS);
        let lead = format!("{}; {}", waits_at(view, long, LIGHT), waits_at(view, long, HEAVY));
        let says = "With E = 1 too, the proposed algorithm waits least.";
        claims.push(unless_so(everywhere(SECTION_B1, says, &best, &lead), CHEAP_BROADCAST));
    }
    let formula = long.saturated_wait(HEAVY);
    let wait = view.wait(long, PROPOSED, HEAVY);
    claims.push(Claim::number("ours", "At λ = 1 the wait is (n/k)(hop + E) − E − 1/λ.", formula, wait, 0.02));
    claims
}

/// Whether one of two algorithms waits longer in one regime and the other in the other regime.
fn change_places(view: &View, one: Regime, other: Regime) -> bool {
    let longer =
        |regime, first, second| view.wait(regime, first, HEAVY) > 1.05 * view.wait(regime, second, HEAVY);
    let four = [PROPOSED, MAKKI, SRIMANI, RAYMOND];
    four.iter()
        .any(|&first| four.iter().any(|&second| longer(one, first, second) && longer(other, second, first)))
}
