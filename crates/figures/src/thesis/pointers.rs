//! What two rules about pointers save: where an exit points, and the tags of nodes that waited behind a request for
//! another token.

use simulator::{Estimate, Summary};

use super::model::{
    COSTLY, Contender, HEAVY, LIGHT, PROPOSED, RANDOM, TO_HEAD, TO_OWN, TO_OWN_RANDOM, View, messages, wait,
};
use super::variants::{chart, curves};
use super::verdicts::{at_most, everywhere, excess, percent, unless_so};
use crate::{Claim, Effort, Exhibit, Page, Results};

/// Each rule as printed, and without it.
const RULES: [Contender; 5] = [PROPOSED, TO_HEAD, TO_OWN, RANDOM, TO_OWN_RANDOM];

pub(super) fn exhibits() -> Vec<Exhibit> {
    vec![Exhibit {
        id: "thesis-pointers",
        source: "001 ch. IV sec. B.2, C",
        title: "What two rules about pointers save",
        points: |effort| curves(effort, COSTLY, &RULES),
        draw,
    }]
}

fn draw(effort: &Effort, results: &Results) -> Page {
    let view = View { effort, results };
    let parts = vec![
        chart(&view, COSTLY, &RULES, ("messages", "messages for each entry"), messages),
        chart(&view, COSTLY, &RULES, ("wait", "mean time to enter, units"), wait),
    ];
    let exit = "Exit points to the last node of the queue without a tag, which saves messages and delay (here: beside \
                pointing to the head, at every λ).";
    let tags = "That nodes of a node queue point to the node that turned the request aside, and not to the node where \
                they waited, only improves the performance (here: it costs neither messages nor delay at any λ";
    Page {
        parts,
        claims: vec![
            unless_so(
                saves("001 ch. IV sec. C", exit, &view, (PROPOSED, TO_HEAD)),
                "At the lightest loads a queue that is passed on nearly always has one node, which is both its head and \
                 its last.",
            ),
            costs_nothing("001 ch. IV sec. B.2", &format!("{tags})."), &view, (PROPOSED, TO_OWN)),
            costs_nothing(
                "001 ch. IV sec. B.2",
                &format!("{tags}, with the random choice)."),
                &view,
                (RANDOM, TO_OWN_RANDOM),
            ),
        ],
    }
}

/// Whether a rule has fewer messages and shorter waits than the run without it, beyond the noise, at every λ.
fn saves(source: &'static str, says: &str, view: &View, (with, without): (Contender, Contender)) -> Claim {
    let less = |rate, of: fn(&Summary) -> Estimate| {
        !at_most(of(view.summary(COSTLY, without, rate)), of(view.summary(COSTLY, with, rate)))
    };
    let holds: Vec<(f64, bool)> =
        view.rates().into_iter().map(|rate| (rate, less(rate, messages) && less(rate, wait))).collect();
    everywhere(source, says, &holds, &found(view, (with, without)))
}

/// Whether a rule costs no messages and no delay beyond the noise, at every λ.
fn costs_nothing(
    source: &'static str,
    says: &str,
    view: &View,
    (with, without): (Contender, Contender),
) -> Claim {
    let no_more = |rate, of: fn(&Summary) -> Estimate| {
        at_most(of(view.summary(COSTLY, with, rate)), of(view.summary(COSTLY, without, rate)))
    };
    let holds: Vec<(f64, bool)> =
        view.rates().into_iter().map(|rate| (rate, no_more(rate, messages) && no_more(rate, wait))).collect();
    everywhere(source, says, &holds, &found(view, (with, without)))
}

/// What leaving a rule out changes, at the least and at the greatest load.
fn found(view: &View, (with, without): (Contender, Contender)) -> String {
    let change = |rate| {
        let more = |of: fn(&View, Contender, f64) -> f64| {
            percent(excess(of(view, without, rate), of(view, with, rate)))
        };
        let messages = more(|view, contender, rate| view.messages(COSTLY, contender, rate));
        let wait = more(|view, contender, rate| view.wait(COSTLY, contender, rate));
        format!("{messages} messages and {wait} wait at λ = {rate}")
    };
    format!("without the rule {}, {}", change(LIGHT), change(HEAVY))
}
