//! Charts and tables over the request rate, and the notes that go with them.

use super::model::{CONTENDERS, Contender, LIGHT, Measure, PROPOSED, Regime, View, kind};
use crate::page::{Axis, Dot, Origin};
use crate::{Chart, Part, Series, Table};

/// The axis of every figure of chapter V.
pub(super) const RATE: &str = "λ, requests per unit of time and node";

/// A figure over λ.
pub(super) struct Figure {
    pub(super) suffix: &'static str,
    pub(super) title: &'static str,
    pub(super) y: Axis,
    pub(super) regime: Regime,
    pub(super) measure: Measure,
}

impl Figure {
    /// The curves of all contenders.
    pub(super) fn chart(self, view: &View) -> Chart {
        let curve = |contender: Contender| {
            Series::new(contender.label, Origin::Simulated, self.dots(view, contender))
        };
        Chart {
            suffix: self.suffix,
            title: format!("{}: {}", self.title, self.regime.describe()),
            x: Axis::linear(RATE),
            series: CONTENDERS.into_iter().map(curve).collect(),
            y: self.y,
        }
    }

    fn dots(&self, view: &View, contender: Contender) -> Vec<Dot> {
        let dot = |rate| Dot::measured(rate, (self.measure)(view.summary(self.regime, contender, rate)));
        view.rates().into_iter().map(dot).collect()
    }
}

/// The numbers that a text prints, as marks.
pub(super) fn printed(label: &str, dots: &[(f64, f64)]) -> Series {
    let dots = dots.iter().map(|&(x, y)| Dot::exact(x, y)).collect();
    Series::new(label, Origin::Printed, dots)
}

/// The closed form of the wait, where it exceeds the wait at the lightest load: below that it has no meaning.
pub(super) fn saturation(view: &View, regime: Regime) -> Series {
    let least = view.wait(regime, PROPOSED, LIGHT);
    // Finer than the simulated curves, since it bends.
    let rates = (1..=100).map(|step| f64::from(step) / 100.0);
    let dots = rates.map(|rate| Dot::exact(rate, regime.saturated_wait(rate))).filter(|dot| dot.y > least);
    Series::new("(n/k)(hop + E) − E − 1/λ", Origin::Formula, dots.collect())
}

/// Messages by kind at some rates.
pub(super) fn kinds_table(view: &View, regime: Regime, rates: &[f64]) -> Part {
    let mut rows = Vec::new();
    for contender in CONTENDERS {
        for &rate in rates {
            let summary = view.summary(regime, contender, rate);
            let kinds = summary.messages_by_kind.keys();
            let parts: Vec<String> = kinds.map(|name| format!("{name} {:.3}", kind(summary, name))).collect();
            let total = format!("{:.3}", summary.messages_per_entry.mean);
            rows.push(vec![contender.label.to_string(), rate.to_string(), total, parts.join(", ")]);
        }
    }
    Part::Table(Table {
        suffix: "kinds",
        title: format!("Messages for each entry, by kind: {}", regime.describe()),
        columns: columns(&["algorithm", "λ", "messages", "of which"]),
        rows,
    })
}

/// Headings.
pub(super) fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// A paragraph.
pub(super) fn text(paragraph: &str) -> Part {
    Part::Text(paragraph.to_string())
}

/// The gaps of the texts' model, and our choices.
pub(super) fn model_note() -> Part {
    text(
        "The model: after leaving, a node pauses for an exponential time with mean 1/λ, asks, waits, stays inside for E. \
         Ts and Tr are spent on the processors, Tt between them. The texts leave open in which order a processor works; \
         here it does one thing after the other: receiving a message takes Tr, then the handler runs, then each message \
         that it sends takes Ts, before the next is received. What the local client does acts at once, and what that \
         sends queues behind the processor; being inside does not occupy it. Algorithms that send to everybody feel \
         this choice, the others hardly. A wait runs from asking to entering and is 0 with a token at hand. A \
         message counts when it is sent, within the 5000 measured entries that follow 500 others; it may belong to a \
         request just before or after them.",
    )
}

/// How makki is treated.
pub(super) fn makki_note() -> Part {
    text(
        "makki is only right if every message is handled within a known time. Where Ts and Tr are not 0, processors \
         that are busy would make messages later than that. The thesis speeds late messages up so that they keep to 2·Tt; \
         here a message that a queue at a processor would delay beyond one hop (Ts + Tt + Tr) is handled at the end \
         of that hop, and the algorithm's timer runs for two hops. As a hop is one unit in all three settings, \
         makki's curves do not depend on how it is divided, by construction: a bound for what the algorithm could do, not \
         what it would do on such processors.",
    )
}
