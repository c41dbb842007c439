//! The claims of 000 in its figures 4 to 15, and the findings.

use super::drawn::Drawn;
use super::{Against, Case, Curves, Figure, Measure};
use crate::compare::{course, formula, never_rises, short};
use crate::page::{Claim, Dot, Verdict};

const CASE_1: &str = "000 sec. IV case 1";
const CASE_2: &str = "000 sec. IV case 2";

/// The claims of a figure.
pub(super) fn of(figure: Figure, curves: &Curves) -> Vec<Claim> {
    let mut claims = vec![proposed(figure, curves), edward(figure, curves)];
    match figure.measure {
        Measure::Time => {
            if figure.against == Against::Tokens {
                claims.push(falls("tokens", figure, "the time", curves));
            }
            claims.push(wins(figure, "time", curves));
        }
        Measure::Messages => {
            if figure.against == Against::Tokens {
                claims.push(falls("tokens", figure, "the number of messages", curves));
            }
            claims.push(wins(figure, "messages", curves));
            if figure.case == Case::Two {
                claims.push(mended(curves));
            }
        }
    }
    claims.extend(wins_at_once(figure, curves));
    if !curves.largest_first.is_empty() {
        claims.push(order_of_arrival(curves));
    }
    if figure.case == Case::Two {
        claims.push(helped(figure, curves));
    }
    claims.push(drawn(figure, curves));
    claims.extend(groups_drawn(figure, curves));
    if !curves.chance.is_empty() {
        claims.push(averages(curves));
    }
    claims
}

/// The text's proposed algorithm: in case 2 its steps 5 to 7 deal tokens again.
fn simulated(figure: Figure, curves: &Curves) -> &[Dot] {
    if figure.case == Case::One { &curves.queue } else { &curves.collector }
}

/// Whether the authors' program draws what the text prints.
fn drawn(figure: Figure, curves: &Curves) -> Claim {
    let found = format!("{}; {}", course("printed", &curves.printed), course("drawn", &curves.drawn));
    let same = |one: &[Dot], other: &[Dot]| one.iter().zip(other).all(|(a, b)| (a.y - b.y).abs() < 1e-9);
    let says = "the curve of the proposed algorithm is the formula of this case";
    let reason = match (figure.measure, figure.case) {
        (Measure::Time, Case::One) => "The program has the printed formula.",
        (Measure::Time, Case::Two) => {
            "The program begins with G = 0 before the first group; step 4 has (N/S)(M + E)."
        }
        (Measure::Messages, Case::One) => {
            "The two formulas are exchanged: the program draws 4Q + ΣN + N₀(Q + 1)/K + 3(Q + 1)/4·Σ(N without the first) \
             here, which is the text's case 2 with 4Q for 3Q."
        }
        (Measure::Messages, Case::Two) => {
            "The two formulas are exchanged: the program draws Q(4 + N(2 + (Q + 1)/K)) here, which is the text's case 1 \
             with 2NQ for NQ."
        }
    };
    Claim::holds(source(figure), says, same(&curves.printed, &curves.drawn), found).because(reason)
}

/// Whether the drawn curves that go by the program's list of requests have q groups in it.
fn groups_drawn(figure: Figure, curves: &Curves) -> Option<Claim> {
    // The two message formulas of the proposed algorithm are exchanged, so its curve goes by the list in case 1.
    let says = match (figure.measure, figure.case) {
        (Measure::Messages, Case::One) => "in the curve drawn for the proposed algorithm, q groups ask",
        (Measure::Messages, Case::Two) => "in the curve drawn for Chaudhuri–Edward, q groups ask",
        (Measure::Time, Case::Two) => "in the curves drawn for both algorithms, q groups ask",
        (Measure::Time, Case::One) => return None,
    };
    let reason = match figure.against {
        Against::Tokens => return None,
        Against::Groups => "The program's list of requests stays that of all eight groups, whatever q is.",
        Against::Nodes => "The program has as many groups as there are powers of two below n, not q.",
    };
    let counted = |x: f64| {
        let drawn = Drawn::of(figure.against, x as u32);
        (x, drawn.requests.len(), drawn.groups)
    };
    let groups: Vec<(f64, usize, f64)> = curves.rounds.iter().map(|round| counted(round.x)).collect();
    let holds = groups.iter().all(|&(_, asking, groups)| asking as f64 == groups);
    let ends = [groups.first(), groups.last()].into_iter().flatten();
    let found: Vec<String> =
        ends.map(|(x, asking, groups)| format!("at {x}: {asking} in the list, and q is {groups}")).collect();
    Some(Claim::holds(source(figure), says, holds, found.join("; ")).because(reason))
}

fn averages(curves: &Curves) -> Claim {
    let says = "M and E are averages: the formula is for times that vary, too";
    let reason = "The round ends with the slowest of all token queues, not with an average one; and a request that comes \
                  after its group's share has to wait for another.";
    formula(CASE_1, says, &curves.printed, &curves.chance).because(reason)
}

fn source(figure: Figure) -> &'static str {
    if figure.case == Case::One { CASE_1 } else { CASE_2 }
}

fn proposed(figure: Figure, curves: &Curves) -> Claim {
    let (says, reason) = match (figure.measure, figure.case) {
        (Measure::Time, Case::One) => (
            "proposed: Time = 3M + (N/S)(M + E) + M with S = K/(Q + 1)",
            "Tokens and requests are whole, so a queue has ⌈N/⌊S⌋⌉ requests; nobody in the global collector's group asks, \
             so by the text's own rule (case 2B of section III) S is K/Q. The last token goes home before it goes back \
             (M), and collecting requests takes two hops (2M). 7M + ⌈N/⌊K/Q⌋⌉(M + E) is exact.",
        ),
        (Measure::Messages, Case::One) => (
            "proposed: messages = NQ + 2Q + (N/S)Q + 2Q",
            "(N/S)Q counts the hops of one token in each group, but there are S of them: every request is served by a \
             message of its own, NQ in all whatever S is. And each token goes home and back by itself. With K ≤ NQ, \
             2NQ + 2Q + 2K is exact.",
        ),
        (Measure::Time, Case::Two) => (
            "proposed: Time = 4M + G with G = N(Q + 1)/(2K)·(M + E) − G of the group before + 2M",
            "It guesses the help of other groups, and is not far off where tokens are dealt again after each section \
             (return=collector). If all requests of a group are dealt at once, as step 3 says, tokens of others cannot \
             help, and the largest group takes as long as in case 1. Read with step 4's (N/S)(M + E) as the G of the \
             group before, the first two terms cancel, and the time would be 6M whatever is asked; for two groups that is the same, and so it is printed.",
        ),
        (Measure::Messages, Case::Two) => (
            "proposed, as printed: messages = 3Q + ΣN + N₀(Q + 1)/K + 3(Q + 1)/4·Σ(N without the first)",
            "The last term lacks a K: as printed it grows with Q and not with the hops that it is to count.",
        ),
    };
    formula(source(figure), says, &curves.printed, simulated(figure, curves)).because(reason)
}

fn edward(figure: Figure, curves: &Curves) -> Claim {
    let (says, reason) = match figure.measure {
        Measure::Time => (
            "Chaudhuri–Edward: Time = 3M + N(M + E) + M, with the largest N",
            "The message from the last node to its collector is missing: M more.",
        ),
        Measure::Messages => (
            "Chaudhuri–Edward: messages = 4Q + 2ΣN",
            "Exact. In case 2 the printed sum runs from 0 to Q, one group too many.",
        ),
    };
    formula(source(figure), says, &curves.edward, &curves.simulated_edward).because(reason)
}

fn falls(with: &str, figure: Figure, what: &str, curves: &Curves) -> Claim {
    let says = format!("proposed: {what} falls with the number of {with}");
    let printed = course("formula", &curves.printed);
    let found = format!("{printed}; {}", course("simulated", simulated(figure, curves)));
    let claim = Claim::holds(source(figure), &says, never_rises(simulated(figure, curves)), found);
    match figure.measure {
        Measure::Time => claim.because("More tokens, shorter queues; in steps, because tokens are whole."),
        Measure::Messages => claim.because(
            "Each token of a group costs two messages to get back, and saves none: each requester gets a message of \
             its own whichever token it is.",
        ),
    }
}

/// Whether an algorithm is better than Chaudhuri and Edward's at every x value of the figure.
fn beats(figure: Figure, says: &str, ours: &[Dot], curves: &Curves) -> Claim {
    let pairs = || ours.iter().zip(&curves.simulated_edward);
    let (better, all) = (pairs().filter(|(ours, other)| ours.y < other.y).count(), pairs().count());
    let worse: Vec<String> =
        pairs().filter(|(ours, other)| ours.y >= other.y).map(|(ours, _)| ours.x.to_string()).collect();
    let extremes = |choose: fn(f64, f64) -> f64, start: f64| {
        pairs().map(|(ours, other)| ours.y / other.y).fold(start, choose)
    };
    let (least, most) = (extremes(f64::min, f64::INFINITY), extremes(f64::max, 0.0));
    let as_much = if figure.measure == Measure::Time { "as long" } else { "as many" };
    let found = format!("at {better} of {all} places; {} to {} times {as_much}", short(least), short(most));
    let verdict = match better {
        0 => Verdict::DoesNot,
        _ if better == all => Verdict::Reproduces,
        _ => Verdict::Differs(format!("not at {}", worse.join(", "))),
    };
    Claim { source: source(figure), says: says.to_string(), found, verdict, reason: String::new() }
}

/// The same with the rule that the text describes for sharing out: with the default options, and in case 2 also if
/// tokens return to their collector after each section.
fn wins_at_once(figure: Figure, curves: &Curves) -> Vec<Claim> {
    let less = if figure.measure == Measure::Time { "less time" } else { "fewer messages" };
    let says = "the same if free tokens are shared out at once (share=equal)";
    let queued = match (figure.measure, figure.case) {
        (Measure::Time, Case::One) => {
            "The group that is heard first takes all tokens. They come back one by one, and each goes at once to the next \
             group, which deals all its requests to it. If the first group has requests for all tokens, every other \
             group has one, as in the other algorithm, and waits longer for it."
        }
        (Measure::Time, Case::Two) => {
            "The group that is heard first takes all tokens. Here it is the smallest: it returns those for which it has no \
             request, and so does each that follows. The more tokens there are, the more have come back when the largest \
             group is heard; none, if the first group has requests for all."
        }
        (Measure::Messages, _) => {
            "Tokens for which a group has no request go back at once, and each grant and return is a message."
        }
    };
    let with_queues = match figure.case {
        Case::One => format!("{says}: {less}"),
        Case::Two => format!("{says} and follow their queues (return=queue, the default): {less}"),
    };
    let mut claims = vec![beats(figure, &with_queues, &curves.at_once, curves).because(queued)];
    if figure.case == Case::Two {
        let says = format!("{says} and return after each section (return=collector): {less}");
        let returned = match figure.measure {
            Measure::Time => {
                "The first request takes all tokens; but here they come back after each section, and are shared out anew."
            }
            Measure::Messages => queued,
        };
        claims.push(beats(figure, &says, &curves.collector_at_once, curves).because(returned));
    }
    claims
}

/// Whether the time of a round depends on which group is heard first.
fn order_of_arrival(curves: &Curves) -> Claim {
    let says = "if free tokens are shared out at once (share=equal), the time does not depend on which group is heard first";
    let found = format!(
        "{}; {}",
        course("smallest group first", &curves.at_once),
        course("largest first", &curves.largest_first)
    );
    let same =
        curves.at_once.iter().zip(&curves.largest_first).all(|(one, other)| (one.y - other.y).abs() < 1e-9);
    Claim::holds("ours", says, same, found).because(
        "A group keeps as many tokens as it has requests. If the largest is heard first, it keeps all of them, and the others \
         get them one by one, each with a whole group to serve.",
    )
}

fn wins(figure: Figure, what: &str, curves: &Curves) -> Claim {
    let less = if figure.measure == Measure::Time { "less" } else { "fewer" };
    let says = format!("proposed takes {less} {what} than Chaudhuri–Edward");
    let reason = match (figure.measure, figure.case, figure.against) {
        (Measure::Time, Case::One, Against::Tokens) => {
            "With fewer than 2q tokens some group has only one, as in the other algorithm, and collecting requests first \
             costs 2M."
        }
        (Measure::Time, Case::One, _) => "Several tokens share the queue of a group.",
        (Measure::Time, Case::Two, _) => {
            "Several tokens share the queue of a group, and those of groups that have finished help."
        }
        (Measure::Messages, Case::Two, _) => {
            "Dealing again takes three messages to a request in place of two."
        }
        (Measure::Messages, Case::One, _) => {
            "Each token beyond the first of a group has to go home and back too."
        }
    };
    beats(figure, &says, simulated(figure, curves), curves).because(reason)
}

fn mended(curves: &Curves) -> Claim {
    let by_formula: Vec<Dot> =
        curves.rounds.iter().map(|round| Dot::exact(round.x, round.messages_2_mended())).collect();
    let says = "the same with 3(Q + 1)/(4K), which is what step 7 describes";
    let reason = "As in case 1, N/S hops are counted where there are N; and dealing again takes three messages to a request.";
    formula(CASE_2, says, &by_formula, &curves.collector).because(reason)
}

/// Whether tokens of finished groups help the others, if each token is dealt again after every critical
/// section.
fn helped(figure: Figure, curves: &Curves) -> Claim {
    let pairs = || curves.collector.iter().zip(&curves.queue);
    let better = pairs().filter(|(again, queue)| again.y < queue.y).count();
    let all = pairs().count();
    let ratios: Vec<f64> = pairs().map(|(again, queue)| again.y / queue.y).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let (what, as_much) = if figure.measure == Measure::Time {
        ("less time", "as long")
    } else {
        ("fewer messages", "as many")
    };
    let says = match figure.measure {
        Measure::Time => "tokens of groups that have finished help the next group: less time (steps 5 to 7)",
        Measure::Messages => "dealing again saves a quarter of the messages (step 7)",
    };
    let found = format!(
        "with return=collector {} to {} times {as_much} as along queues; {what} at {better} of {all} places",
        short(least),
        short(most)
    );
    let verdict = match better {
        0 => Verdict::DoesNot,
        _ if better == all => Verdict::Reproduces,
        _ => Verdict::Differs(format!("at {better} of {all} places")),
    };
    let reason = match figure.measure {
        Measure::Time => {
            "Dealing again is possible only if tokens come home after each section, which costs a hop more for each; \
             what it gains is the help of idle tokens."
        }
        Measure::Messages => {
            "Three messages for each request in place of two, and group requests that are repeated."
        }
    };
    Claim { source: CASE_2, says: says.to_string(), found, verdict, reason: reason.to_string() }
}
