//! The simulations of the thesis: 30 nodes, 3 tokens, five contenders, three divisions of a hop, two lengths
//! of sections.

use algorithms::Setting;
use simulator::time::Span;
use simulator::{Estimate, Plan, Point, Summary};

use crate::{Effort, Results};

/// Where the thesis discusses its simulations.
pub(super) const SECTION_B1: &str = "001 ch. V sec. B.1";

/// The nodes of chapter V.
pub(super) const NODES: f64 = 30.0;
/// The tokens of chapter V.
pub(super) const TOKENS: f64 = 3.0;
/// A hop takes one unit in all three settings.
pub(super) const HOP: f64 = 1.0;
/// Singhal's length of a critical section, which both texts use.
pub(super) const SHORT: f64 = 0.0002;
/// The other length of the thesis.
pub(super) const LONG: f64 = 1.0;
/// The request rates, denser where the curves bend. The first and the last are in every run, however quick.
pub(super) const RATES: &[f64] = &[0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0];
/// The least load of the figures.
pub(super) const LIGHT: f64 = 0.01;
/// The greatest load of the figures.
pub(super) const HEAVY: f64 = 1.0;

/// An algorithm with its options, as a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contender {
    pub(super) label: &'static str,
    pub(super) algorithm: &'static str,
    in_clusters: &'static str,
    options: &'static [(&'static str, &'static str)],
}

impl Contender {
    /// The setting with these sizes and its options.
    pub(super) fn setting(&self, nodes: u32, tokens: u32) -> Setting {
        Setting::new(nodes, tokens).with(self.options)
    }
}

const PUBLISHED: &str = "bulgannawar-vaidya";
const PUBLISHED_IN_CLUSTERS: &str = "partitioned(bulgannawar-vaidya)";

/// The algorithm of the texts, asking for the token last seen.
pub(super) const PROPOSED: Contender = Contender {
    label: "proposed",
    algorithm: PUBLISHED,
    in_clusters: PUBLISHED_IN_CLUSTERS,
    options: &[("choose", "last-seen"), ("inform", "2")],
};
/// The same, asking for any token.
pub(super) const RANDOM: Contender = Contender {
    label: "proposed, random token",
    algorithm: PUBLISHED,
    in_clusters: PUBLISHED_IN_CLUSTERS,
    options: &[("choose", "random"), ("inform", "2")],
};
/// The first without INFORM messages: not in the figures, but in the texts' claims about them.
pub(super) const SILENT: Contender = Contender {
    label: "proposed, ν = 0",
    algorithm: PUBLISHED,
    in_clusters: PUBLISHED_IN_CLUSTERS,
    options: &[("choose", "last-seen"), ("inform", "0")],
};
/// The second without INFORM messages.
pub(super) const RANDOM_SILENT: Contender = Contender {
    label: "proposed, random token, ν = 0",
    algorithm: PUBLISHED,
    in_clusters: PUBLISHED_IN_CLUSTERS,
    options: &[("choose", "random"), ("inform", "0")],
};
/// Makki et al.
pub(super) const MAKKI: Contender =
    Contender { label: "makki", algorithm: "makki", in_clusters: "partitioned(makki)", options: &[] };
/// The same with the queue in RELEASE, as the thesis proposes.
pub(super) const MAKKI_QUEUE: Contender =
    Contender { label: "makki, queue in RELEASE", options: &[("release", "queue")], ..MAKKI };
/// The same, and the token goes straight to the good site when its rights are used up.
pub(super) const MAKKI_STRAIGHT: Contender = Contender {
    label: "makki, queue in RELEASE, token straight",
    options: &[("release", "queue"), ("token", "straight")],
    ..MAKKI
};
/// The proposed algorithm, informing the next nodes by number.
pub(super) const RING: Contender = Contender {
    label: "whom=ring",
    options: &[("choose", "last-seen"), ("inform", "2"), ("whom", "ring")],
    ..PROPOSED
};
/// The proposed algorithm, informing the nodes that asked last.
pub(super) const ASKERS: Contender = Contender {
    label: "whom=askers",
    options: &[("choose", "last-seen"), ("inform", "2"), ("whom", "askers")],
    ..PROPOSED
};
/// Srimani and Reddy.
pub(super) const SRIMANI: Contender = Contender {
    label: "srimani-reddy",
    algorithm: "srimani-reddy",
    in_clusters: "partitioned(srimani-reddy)",
    options: &[],
};
/// Raymond.
pub(super) const RAYMOND: Contender = Contender {
    label: "raymond-k",
    algorithm: "raymond-k",
    in_clusters: "partitioned(raymond-k)",
    options: &[],
};
/// Srimani and Reddy, if a node marks the receiver of its privilege on exit, too.
pub(super) const MARKED: Contender =
    Contender { label: "receiver=marked", options: &[("receiver", "marked")], ..SRIMANI };
/// Raymond, with other orders of the replies that a node sends on exit; by number is the default.
pub(super) const REPLIES: [Contender; 3] = [
    Contender { label: "reply=ring", options: &[("reply", "ring")], ..RAYMOND },
    Contender { label: "reply=arrival", options: &[("reply", "arrival")], ..RAYMOND },
    Contender { label: "reply=oldest", options: &[("reply", "oldest")], ..RAYMOND },
];

/// The curves of every figure, in the order of the legend.
pub(super) const CONTENDERS: [Contender; 5] = [PROPOSED, RANDOM, MAKKI, SRIMANI, RAYMOND];
/// The contenders that the texts did not invent.
pub(super) const OTHERS: [Contender; 3] = [MAKKI, SRIMANI, RAYMOND];

/// How a hop is divided, the length of critical sections, and whether the system is partitioned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Regime {
    /// Ts and Tr, which are equal in all settings; the rest of the hop is Tt.
    pub(super) handling: f64,
    pub(super) section: f64,
    pub(super) partitioned: bool,
}

/// Tr = Ts = 0.1, Tt = 0.8, E = 0.0002.
pub(super) const COSTLY: Regime = Regime { handling: 0.1, section: SHORT, partitioned: false };
/// Tr = Ts = 0.05, Tt = 0.9, E = 0.0002.
pub(super) const CHEAPER: Regime = Regime { handling: 0.05, section: SHORT, partitioned: false };
/// Tr = Ts = 0, Tt = 1, E = 0.0002.
pub(super) const FREE: Regime = Regime { handling: 0.0, section: SHORT, partitioned: false };

impl Regime {
    /// The same with E = 1.
    pub(super) const fn with_long_sections(self) -> Regime {
        Regime { section: LONG, ..self }
    }

    /// The same in three clusters of ten nodes with one token each.
    pub(super) const fn in_clusters(self) -> Regime {
        Regime { partitioned: true, ..self }
    }

    /// With other times for sending and receiving.
    pub(super) const fn with_handling(self, handling: f64) -> Regime {
        Regime { handling, ..self }
    }

    /// Its parameters, for titles.
    pub(super) fn describe(&self) -> String {
        let transit = HOP - 2.0 * self.handling;
        let shape = if self.partitioned { "3 clusters of n = 10, k = 1" } else { "n = 30, k = 3" };
        format!("Tr = Ts = {}, Tt = {transit}, E = {}, {shape}", self.handling, self.section)
    }

    /// The wait if all tokens are always on their way between waiting clients: (n/k)(hop + E) − E − 1/λ.
    pub(super) fn saturated_wait(&self, rate: f64) -> f64 {
        NODES / TOKENS * (HOP + self.section) - self.section - 1.0 / rate
    }

    /// The entries per unit of time that k tokens allow.
    pub(super) fn most_entries(&self) -> f64 {
        TOKENS / (HOP + self.section)
    }

    /// The point of a curve.
    pub(super) fn point(&self, effort: &Effort, contender: Contender, rate: f64) -> Point {
        let algorithm = if self.partitioned { contender.in_clusters } else { contender.algorithm };
        let plan = Plan {
            setting: contender.setting(NODES as u32, TOKENS as u32),
            rate,
            section: Span::constant(self.section),
            send: self.handling,
            receive: self.handling,
            transit: Span::constant(HOP - 2.0 * self.handling),
            entries: effort.entries(5000),
            warmup: effort.entries(500),
            ..Plan::default()
        };
        Point { algorithm: algorithm.to_string(), plan, seed: 1, seeds: effort.seeds }
    }
}

/// The rates of an effort.
pub(super) fn rates(effort: &Effort) -> Vec<f64> {
    effort.thin(RATES)
}

/// All points of the curves of some regimes.
pub(super) fn curves(effort: &Effort, regimes: &[Regime]) -> Vec<Point> {
    let mut points = Vec::new();
    for regime in regimes {
        for contender in CONTENDERS {
            points.extend(rates(effort).into_iter().map(|rate| regime.point(effort, contender, rate)));
        }
    }
    points
}

/// A measure of a point.
pub(super) type Measure = fn(&Summary) -> Estimate;

/// The mean wait.
pub(super) fn wait(summary: &Summary) -> Estimate {
    summary.time_to_enter
}

/// The messages for each entry.
pub(super) fn messages(summary: &Summary) -> Estimate {
    summary.messages_per_entry
}

/// The words in each message.
pub(super) fn words(summary: &Summary) -> Estimate {
    summary.words_per_message
}

/// The words for each entry.
pub(super) fn words_per_entry(summary: &Summary) -> Estimate {
    summary.words_per_entry
}

/// The messages of one kind for each entry.
pub(super) fn kind(summary: &Summary, kind: &str) -> f64 {
    summary.messages_by_kind.get(kind).map_or(0.0, |estimate| estimate.mean)
}

/// The results, by the names of the thesis.
pub(super) struct View<'a> {
    pub(super) effort: &'a Effort,
    pub(super) results: &'a Results,
}

impl View<'_> {
    pub(super) fn rates(&self) -> Vec<f64> {
        rates(self.effort)
    }

    pub(super) fn summary(&self, regime: Regime, contender: Contender, rate: f64) -> &Summary {
        self.results.of(&regime.point(self.effort, contender, rate))
    }

    pub(super) fn wait(&self, regime: Regime, contender: Contender, rate: f64) -> f64 {
        self.summary(regime, contender, rate).time_to_enter.mean
    }

    pub(super) fn messages(&self, regime: Regime, contender: Contender, rate: f64) -> f64 {
        self.summary(regime, contender, rate).messages_per_entry.mean
    }

    pub(super) fn words(&self, regime: Regime, contender: Contender, rate: f64) -> f64 {
        self.summary(regime, contender, rate).words_per_message.mean
    }
}
