//! Text 004, section VI: how long messages are, on average.

use simulator::workload::GroupChoice;
use simulator::{Point, Summary};

use super::{plan, point};
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series, Verdict};
use crate::{Effort, Exhibit, Results};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    id: "rooms-words",
    source: "004 sec. VI",
    title: "Words per message against the number of nodes",
    points: |effort| {
        let of = |nodes| LOADS.map(|load| load.point(effort, nodes));
        effort.thin(&SIZES).into_iter().flat_map(of).collect()
    },
    draw,
};

/// There are at most 63 groups.
const SIZES: [u32; 7] = [5, 10, 15, 20, 30, 40, 60];
/// All clients ask all the time.
const RATE: f64 = 10.0;

/// Who wants what, and who is asked.
#[derive(Clone, Copy)]
struct Load {
    label: &'static str,
    own_groups: bool,
    options: &'static [(&'static str, &'static str)],
}

const ONE_GROUP: Load = Load { label: "1 group", own_groups: false, options: &[] };
const OWN_GROUPS: Load = Load { label: "n groups", own_groups: true, options: &[] };
const ALL_ASKED: Load = Load { label: "n groups, ask=all", own_groups: true, options: &[("ask", "all")] };
const LOADS: [Load; 3] = [ONE_GROUP, OWN_GROUPS, ALL_ASKED];

impl Load {
    fn point(&self, effort: &Effort, nodes: u32) -> Point {
        let mut plan = plan(effort, nodes, if self.own_groups { nodes } else { 1 }, RATE);
        plan.setting = plan.setting.with(self.options);
        plan.group_choice = GroupChoice::Own;
        point(effort, plan)
    }
}

fn draw(effort: &Effort, results: &Results) -> Page {
    let sizes = effort.thin(&SIZES);
    let dots = |load: Load, value: fn(&Summary) -> simulator::Estimate| -> Vec<Dot> {
        let of =
            |&nodes: &u32| Dot::measured(f64::from(nodes), value(results.of(&load.point(effort, nodes))));
        sizes.iter().map(of).collect()
    };
    let chart = |suffix, title: &str, y: &str, value: fn(&Summary) -> simulator::Estimate| {
        let curve = |load: Load| Series::new(load.label, Origin::Simulated, dots(load, value));
        Part::Chart(Chart {
            suffix,
            title: format!("{title} (λ = {RATE})"),
            x: Axis::linear("nodes (n)"),
            y: Axis::linear(y),
            series: LOADS.map(curve).to_vec(),
        })
    };
    let words = |load| dots(load, |it| it.words_per_message);
    Page {
        parts: vec![
            chart("", "Words per message", "words per message", |it| it.words_per_message),
            chart("-entry", "Words per entry", "words per entry", |it| it.words_per_entry),
            Part::Text(
                "A message has three words for its kind and its two nodes, and one for each further number. A reader can \
                 count the same:\n\n\
                 tokenwood simulate drs-gme --nodes 40 --groups 40 --group-choice own --rate 10 --cs 5 \\\n    \
                 --send 0 --receive 0 --transit 1"
                    .to_string(),
            ),
        ],
        claims: claims(&words(ONE_GROUP), &words(OWN_GROUPS), &words(ALL_ASKED)),
    }
}

/// How many times as large the last value is as the first.
fn growth(dots: &[Dot]) -> f64 {
    match (dots.first(), dots.last()) {
        (Some(first), Some(last)) if first.y > 0.0 => last.y / first.y,
        _ => 1.0,
    }
}

fn claims(one: &[Dot], own: &[Dot], all: &[Dot]) -> Vec<Claim> {
    let ends = |dots: &[Dot]| match (dots.first(), dots.last()) {
        (Some(first), Some(last)) => {
            format!("{:.2} words at n = {}, {:.2} at n = {}", first.y, first.x, last.y, last.x)
        }
        _ => "nothing".to_string(),
    };
    let nodes = own.last().map_or(1.0, |dot| dot.x) / own.first().map_or(1.0, |dot| dot.x);
    let verdict = match growth(own) {
        grown if grown > 0.5 * nodes => Verdict::Reproduces,
        grown if grown < 2.0 => Verdict::DoesNot,
        grown => Verdict::Differs(format!("{grown:.1} times as long with {nodes} times as many nodes")),
    };
    vec![
        Claim::holds(
            "004 sec. VI",
            "If all ask for the same group, the mean length of a message does not grow with n.",
            growth(one) < 1.5,
            ends(one),
        ),
        Claim {
            source: "004 sec. VI",
            says: "If each asks for another group, the mean length of a message is O(n).".to_string(),
            found: ends(own),
            verdict,
            reason: format!(
                "The token grows with n, but so does the number of short requests beside it, because nodes ask the whole \
                 queue: every entry moves one token and sends up to n - 1 requests of 5 words. With all nodes asked: {}.",
                ends(all)
            ),
        },
    ]
}
