//! Text 000: time and messages of the group collectors against tokens, groups and nodes, formulas and
//! simulation.
//!
//! **The system.** The captions say "q = 8 and largest n = 128". In case 2 each of the q groups has twice the
//! requests of the previous one, and eight such groups with the largest at 128 are 1, 2, 4 … 128: so n there
//! is the N of a group and not the size of the system. The authors' public program has the same numbers, and for
//! figures 12 to 15 k = 50, q = 5 and n from 1 to 50. Requesters send a message to their collector, so no collector makes a request;
//! and each requesting group costs a message to the global collector, so its own group is not among them. 128
//! requests then need groups of 129 nodes, and with as many groups as the text wants the system has 129² =
//! 16,641 nodes.
//!
//! **The round.** All requests are made at the same moment, once, and the run ends when the last message has
//! been handled: that is when the last token is back at the global collector, which is what the text's Time
//! means. Messages are all of the round. With constant times nothing is random, so one seed is enough.

mod claims;
mod cost;
mod drawn;
mod few_groups;
mod formulas;

use algorithms::Setting;
use simulator::plan::Plan;
use simulator::time::{Shape, Span};
use simulator::workload::Workload;
use simulator::{Point, Summary};

use crate::page::{Axis, Chart, Dot, Origin, Page, Part, Series};
use crate::{Effort, Exhibit, Results};
use drawn::{Drawn, GROUPS_OF_12, powers_below};
use formulas::{MESSAGE, Round, SECTION, equal, halved};

/// The nodes of a group: a collector and the largest number of requesters.
const GROUP: u32 = LARGEST + 1;
const LARGEST: u32 = 128;
const GROUPS: u32 = 8;
const TOKENS: u32 = 50;
/// n in figures 12 to 15, from 1 to 50.
const NODES: [u32; 19] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 17, 20, 25, 30, 33, 35, 40, 45, 50];

/// The exhibits of this module, in the order of the report.
pub fn exhibits() -> Vec<Exhibit> {
    let figures = [
        figure::<4>("collectors-4", "000 fig. 4", "Case 1: time against tokens"),
        figure::<5>("collectors-5", "000 fig. 5", "Case 1: messages against tokens"),
        figure::<6>("collectors-6", "000 fig. 6", "Case 2: time against tokens"),
        figure::<7>("collectors-7", "000 fig. 7", "Case 2: messages against tokens"),
        figure::<8>("collectors-8", "000 fig. 8", "Case 1: time against groups that ask"),
        figure::<9>("collectors-9", "000 fig. 9", "Case 1: messages against groups that ask"),
        figure::<10>("collectors-10", "000 fig. 10", "Case 2: time against groups that ask"),
        figure::<11>("collectors-11", "000 fig. 11", "Case 2: messages against groups that ask"),
        figure::<12>("collectors-12", "000 fig. 12", "Case 1: time against nodes that ask"),
        figure::<13>("collectors-13", "000 fig. 13", "Case 1: messages against nodes that ask"),
        figure::<14>("collectors-14", "000 fig. 14", "Case 2: time against nodes that ask"),
        figure::<15>("collectors-15", "000 fig. 15", "Case 2: messages against nodes that ask"),
    ];
    figures.into_iter().chain([cost::exhibit(), few_groups::exhibit()]).collect()
}

fn figure<const NUMBER: u32>(id: &'static str, source: &'static str, title: &'static str) -> Exhibit {
    Exhibit {
        id,
        source,
        title,
        points: |effort| Figure::of(NUMBER).points(effort),
        draw: |effort, results| Figure::of(NUMBER).draw(effort, results),
    }
}

/// What a figure of the text shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Figure {
    number: u32,
    case: Case,
    against: Against,
    measure: Measure,
}

/// Whether all groups have the same number of requests, or each half of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    One,
    Two,
}

/// The quantity on the x axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Against {
    Tokens,
    Groups,
    Nodes,
}

/// The quantity on the y axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Time,
    Messages,
}

/// The simulated algorithms. Those of `collectors` collect requests for two hops before they share out idle tokens,
/// as the text's formulas suppose; one does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contender {
    /// Tokens follow their queues: step 3 of the scenario.
    Queue,
    /// Tokens return to the collector after each critical section, so that it can deal again: step 7.
    Collector,
    /// The same two, and what is free is shared out at once: the rule that the text describes.
    QueueAtOnce,
    CollectorAtOnce,
    /// `chaudhuri-edward`.
    Edward,
}

type Formula = fn(&Round) -> f64;

/// The curves of a figure, all at the same x values.
struct Curves {
    rounds: Vec<Round>,
    printed: Vec<Dot>,
    ours: Vec<Dot>,
    edward: Vec<Dot>,
    /// As the authors' program draws them.
    drawn: Vec<Dot>,
    drawn_edward: Vec<Dot>,
    queue: Vec<Dot>,
    /// Only in case 2.
    collector: Vec<Dot>,
    simulated_edward: Vec<Dot>,
    /// The proposed algorithm with its default options: shared out at once, and tokens follow their queues.
    at_once: Vec<Dot>,
    /// Only in case 2.
    collector_at_once: Vec<Dot>,
    /// Only where the order of arrival is shown.
    largest_first: Vec<Dot>,
    /// Only where random times are shown.
    chance: Vec<Dot>,
}

impl Figure {
    fn of(number: u32) -> Figure {
        let against = match number {
            4..=7 => Against::Tokens,
            8..=11 => Against::Groups,
            _ => Against::Nodes,
        };
        let case = if (number / 2).is_multiple_of(2) { Case::One } else { Case::Two };
        let measure = if number.is_multiple_of(2) { Measure::Time } else { Measure::Messages };
        Figure { number, case, against, measure }
    }

    fn rounds(self, effort: &Effort) -> Vec<Round> {
        let values: Vec<u32> = match self.against {
            Against::Tokens => (8..=98).step_by(5).collect(),
            Against::Groups => (1..=GROUPS).collect(),
            Against::Nodes => NODES.to_vec(),
        };
        let round = |value: u32| {
            let (tokens, groups, largest) = match self.against {
                Against::Tokens => (value, GROUPS, LARGEST),
                Against::Groups => (TOKENS, value, LARGEST),
                Against::Nodes => (TOKENS, GROUPS_OF_12, value),
            };
            let sizes = match (self.case, self.against) {
                (Case::One, _) => equal(groups, largest),
                (Case::Two, Against::Nodes) => powers_below(largest),
                (Case::Two, _) => halved(groups, largest),
            };
            Round { x: f64::from(value), tokens, sizes }
        };
        effort.thin(&values).into_iter().map(round).collect()
    }

    fn contenders(self) -> &'static [Contender] {
        match self.case {
            Case::One => &[Contender::Queue, Contender::QueueAtOnce, Contender::Edward],
            Case::Two => &[
                Contender::Queue,
                Contender::Collector,
                Contender::QueueAtOnce,
                Contender::CollectorAtOnce,
                Contender::Edward,
            ],
        }
    }

    /// Whether the figure also shows the time if the group with the most requests is heard first.
    fn shows_order(self) -> bool {
        self.number == 6
    }

    /// Whether the figure also shows the time if M and E are averages of random times.
    fn shows_chance(self) -> bool {
        self.number == 4
    }

    fn points(self, effort: &Effort) -> Vec<Point> {
        let mut points = Vec::new();
        for round in self.rounds(effort) {
            points.extend(self.contenders().iter().map(|contender| contender.point(&round)));
            if self.shows_chance() {
                points.push(by_chance(&round, effort));
            }
            if self.shows_order() {
                points.push(Contender::QueueAtOnce.point(&largest_first(&round)));
            }
        }
        points
    }

    fn value(self, summary: &Summary) -> f64 {
        match self.measure {
            Measure::Time => summary.settled.mean,
            Measure::Messages => summary.messages as f64 / summary.seeds as f64,
        }
    }

    fn curves(self, effort: &Effort, results: &Results) -> Curves {
        let rounds = self.rounds(effort);
        let by_formula = |formula: Formula| -> Vec<Dot> {
            rounds.iter().map(|round| Dot::exact(round.x, formula(round))).collect()
        };
        let simulated = |contender: Contender| -> Vec<Dot> {
            let value = |round| self.value(results.of(&contender.point(round)));
            rounds.iter().map(|round| Dot::exact(round.x, value(round))).collect()
        };
        let drawn = |curve: fn(&Drawn, Measure, Case) -> f64| -> Vec<Dot> {
            let value =
                |round: &Round| curve(&Drawn::of(self.against, round.x as u32), self.measure, self.case);
            rounds.iter().map(|round| Dot::exact(round.x, value(round))).collect()
        };
        let (printed, ours, edward): (Formula, Formula, Formula) = match (self.measure, self.case) {
            (Measure::Time, Case::One) => (Round::time_1, Round::time, Round::edward_time),
            (Measure::Time, Case::Two) => (Round::time_2, Round::time, Round::edward_time),
            (Measure::Messages, Case::One) => (Round::messages_1, Round::messages, Round::edward_messages),
            (Measure::Messages, Case::Two) => {
                (Round::messages_2_printed, Round::messages, Round::edward_messages)
            }
        };
        let in_case_2 = |contender| if self.case == Case::Two { simulated(contender) } else { Vec::new() };
        let reversed = |round: &Round| {
            let point = Contender::QueueAtOnce.point(&largest_first(round));
            Dot::exact(round.x, self.value(results.of(&point)))
        };
        let largest_first =
            if self.shows_order() { rounds.iter().map(reversed).collect() } else { Vec::new() };
        let measured = |round: &Round| Dot::measured(round.x, results.of(&by_chance(round, effort)).settled);
        let chance = if self.shows_chance() { rounds.iter().map(measured).collect() } else { Vec::new() };
        Curves {
            printed: by_formula(printed),
            ours: by_formula(ours),
            edward: by_formula(edward),
            drawn: drawn(Drawn::proposed),
            drawn_edward: drawn(Drawn::edward),
            queue: simulated(Contender::Queue),
            collector: in_case_2(Contender::Collector),
            simulated_edward: simulated(Contender::Edward),
            at_once: simulated(Contender::QueueAtOnce),
            collector_at_once: in_case_2(Contender::CollectorAtOnce),
            largest_first,
            chance,
            rounds,
        }
    }

    fn draw(self, effort: &Effort, results: &Results) -> Page {
        let curves = self.curves(effort, results);
        let chart = Chart {
            suffix: "",
            title: self.title(),
            x: Axis::linear(self.right()),
            y: Axis::linear(match self.measure {
                Measure::Time => "time until all tokens are back",
                Measure::Messages => "messages of the round",
            }),
            series: self.series(&curves),
        };
        Page { parts: vec![Part::Chart(chart), Part::Text(self.note())], claims: claims::of(self, &curves) }
    }

    fn series(self, curves: &Curves) -> Vec<Series> {
        let (queue, at_once) = match self.case {
            Case::One => ("share=collect", "share=equal"),
            Case::Two => ("share=collect return=queue", "share=equal return=queue"),
        };
        let mut drawn = vec![
            Series::new("proposed, formula", Origin::Formula, curves.printed.clone()),
            Series::new("proposed, as drawn", Origin::Formula, curves.drawn.clone()),
            Series::new("Chaudhuri–Edward, formula", Origin::Formula, curves.edward.clone()),
            Series::new("Chaudhuri–Edward, as drawn", Origin::Formula, curves.drawn_edward.clone()),
            Series::new(format!("{queue}, formula of ours"), Origin::Formula, curves.ours.clone()),
            Series::new(queue, Origin::Simulated, curves.queue.clone()),
        ];
        if (self.case, self.measure) == (Case::Two, Measure::Messages) {
            let mended = curves.rounds.iter().map(|round| Dot::exact(round.x, round.messages_2_mended()));
            drawn.insert(
                2,
                Series::new("proposed, formula with the K put in", Origin::Formula, mended.collect()),
            );
        }
        let simulated = [
            ("share=collect return=collector", &curves.collector),
            (at_once, &curves.at_once),
            ("share=equal return=queue, largest group first", &curves.largest_first),
            ("share=equal return=collector", &curves.collector_at_once),
            ("chaudhuri-edward", &curves.simulated_edward),
            ("share=collect, exponential M and E", &curves.chance),
        ];
        let shown = simulated.into_iter().filter(|(_, dots)| !dots.is_empty());
        drawn.extend(shown.map(|(label, dots)| Series::new(label, Origin::Simulated, dots.clone())));
        // Where the program draws what the text prints, one curve is enough.
        if curves.drawn == curves.printed {
            drawn.retain(|series| series.label != "proposed, as drawn");
        }
        if curves.drawn_edward == curves.edward {
            drawn.retain(|series| series.label != "Chaudhuri–Edward, as drawn");
        }
        drawn
    }

    fn title(self) -> String {
        let case = if self.case == Case::One { "Case 1" } else { "Case 2" };
        match self.against {
            Against::Tokens => format!("{case}, q = {GROUPS}, largest N = {LARGEST}"),
            Against::Groups => format!("{case}, k = {TOKENS}, largest N = {LARGEST}"),
            Against::Nodes if self.case == Case::One => format!("{case}, k = {TOKENS}, q = {GROUPS_OF_12}"),
            Against::Nodes => format!("{case}, k = {TOKENS}, groups of 1, 2, 4 … below n"),
        }
    }

    fn right(self) -> &'static str {
        match (self.against, self.case) {
            (Against::Tokens, _) => "tokens (k)",
            (Against::Groups, _) => "groups that ask (q)",
            (Against::Nodes, Case::One) => "nodes that ask in each group (N)",
            (Against::Nodes, Case::Two) => "n: the largest group has the largest power of two below it",
        }
    }

    fn note(self) -> String {
        let groups = "Groups of 129 nodes in a system of 129² = 16,641, since N is at most 128 and neither collectors nor \
                      the global collector's group ask; M = 10, E = 50, no time for sending and receiving. All nodes that \
                      ask do so at the same moment, once, and the run goes on until the last token is back at the \
                      global collector. With constant times chance has no part in it: one seed, no error bars.";
        let options = "The simulated curves share=… are those of collectors. With share=collect it waits for two hops before \
                       it shares out idle tokens, as the formulas suppose. With share=equal, the text's rule and the \
                       default, it shares out at once what is free among the groups that wait: although all ask at the \
                       same moment, the first request to arrive takes every token. share=cap grants at most ⌈k/groups⌉, \
                       which with 129 groups is one token, and would be Chaudhuri and Edward's algorithm.";
        let chance = "The curve with exponential M and E is a mean over seeds: the round ends when the slowest of all the \
                      token queues does, so averages in place of the times are too short a forecast.";
        let mut note = format!("{groups} {options}");
        note = format!(
            "{note} Curves as drawn are those of the authors' public program; where it draws what the text \
                        prints, they are left out."
        );
        if self.case == Case::Two {
            note = format!(
                "{note} The requests of the smallest group arrive first, those of the largest last, unless the curve says \
                 otherwise."
            );
        }
        if self.against == Against::Nodes {
            note = format!(
                "{note} The captions of figures 12 to 15 do not give k and q: the program has 50 and 5."
            );
        }
        if self.shows_chance() {
            note = format!("{note} {chance}");
        }
        note
    }
}

impl Contender {
    /// A single round.
    fn point(self, round: &Round) -> Point {
        let (algorithm, options): (&str, &[(&str, &str)]) = match self {
            Contender::Queue => ("collectors", &[("share", "collect")]),
            Contender::Collector => ("collectors", &[("share", "collect"), ("return", "collector")]),
            Contender::QueueAtOnce => ("collectors", &[("share", "equal")]),
            Contender::CollectorAtOnce => ("collectors", &[("share", "equal"), ("return", "collector")]),
            Contender::Edward => ("chaudhuri-edward", &[]),
        };
        // The first group is that of the global collector; the first node of each is its collector.
        let first = |group: u32| (group + 1) * GROUP + 1;
        let askers = (0..).zip(&round.sizes).map(|(group, &size)| (first(group), first(group) + size - 1));
        let plan = round_of(GROUP * GROUP, round.tokens, options, Workload::Once(askers.collect()));
        Point { algorithm: algorithm.to_string(), plan, seed: 1, seeds: 1 }
    }
}

/// A round in a system of this size, with M and E as in the text.
fn round_of(nodes: u32, tokens: u32, options: &[(&str, &str)], workload: Workload) -> Plan {
    Plan {
        setting: Setting::new(nodes, tokens).with(options),
        section: Span::constant(SECTION),
        send: 0.0,
        receive: 0.0,
        transit: Span::constant(MESSAGE),
        workload,
        timers: Some(true),
        ..Plan::default()
    }
}

/// The same round if the group with the most requests is heard first.
fn largest_first(round: &Round) -> Round {
    let mut sizes = round.sizes.clone();
    sizes.reverse();
    Round { sizes, ..*round }
}

/// The same round of `collectors` with exponential times, from several seeds.
fn by_chance(round: &Round, effort: &Effort) -> Point {
    let mut point = Contender::Queue.point(round);
    point.plan.section.shape = Shape::Exponential;
    point.plan.transit.shape = Shape::Exponential;
    Point { seeds: effort.seeds, ..point }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_what_their_captions_say() {
        let figure = |number| {
            let Figure { case, against, measure, .. } = Figure::of(number);
            (case, against, measure)
        };
        assert_eq!(figure(4), (Case::One, Against::Tokens, Measure::Time));
        assert_eq!(figure(7), (Case::Two, Against::Tokens, Measure::Messages));
        assert_eq!(figure(10), (Case::Two, Against::Groups, Measure::Time));
        assert_eq!(figure(13), (Case::One, Against::Nodes, Measure::Messages));
        assert_eq!(figure(14), (Case::Two, Against::Nodes, Measure::Time));
    }

    /// The simulation agrees with our formulas, to the message and the tick, for both kinds of requests.
    #[test]
    fn our_formulas_are_exact_where_tokens_go_along_their_queues() {
        for sizes in [equal(3, 7), equal(1, 5), halved(4, 9), halved(3, 2)] {
            for tokens in [4, 7, 11, 30] {
                let round = Round { x: 0.0, tokens, sizes: sizes.clone() };
                let summary = Contender::Queue.point(&round).run().unwrap();
                assert_eq!((summary.settled.mean, summary.messages as f64), (round.time(), round.messages()));
                assert!(summary.violation.is_none());
                let summary = Contender::Edward.point(&round).run().unwrap();
                // The text leaves out the message from the last node to its collector.
                let edward = (round.edward_time() + MESSAGE, round.edward_messages());
                assert_eq!((summary.settled.mean, summary.messages as f64), edward);
                // With a cap of one token to a group, which 129 groups give, there is no difference.
                let mut capped = Contender::Queue.point(&round);
                capped.plan.setting.options = vec![("share".to_string(), "cap".to_string())];
                let summary = capped.run().unwrap();
                assert_eq!((summary.settled.mean, summary.messages as f64), edward);
            }
        }
    }
}
