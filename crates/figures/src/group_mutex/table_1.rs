//! Table I of text 004: the example of section IV, replayed step by step.

use algorithms::drs_gme::DrsGme;
use algorithms::{NodeId, Setting, World};

use crate::page::{Claim, Page, Part, Table, Verdict};
use crate::{Effort, Exhibit, Results};

pub(super) const EXHIBIT: Exhibit = Exhibit {
    id: "rooms-table-1",
    source: "004 table I",
    title: "The token's queue and the request sets in the text's example",
    points: |_| Vec::new(),
    draw,
};

/// An event of the example, the steps that make it up (P1 is node 0, g1 is group 0), and the row that the
/// text prints.
struct Event {
    name: &'static str,
    steps: &'static str,
    queue: &'static str,
    sets: [&'static str; 4],
}

const EVENTS: [Event; 5] = [
    Event {
        name: "(a) P2 asks for g2 and enters as captain",
        steps: "req1:1 1>0 1>2 1>3 0>1",
        queue: "empty",
        sets: ["2", "", "1 2 4", "1 2 3"],
    },
    Event {
        name: "(b) P1's request for g3 reaches P2",
        steps: "req0:2 0>1",
        queue: "g3: 1",
        sets: ["2", "", "1 2 4", "1 2 3"],
    },
    Event {
        name: "(c) P3's request for g1 reaches all",
        steps: "req2:0 2>0 2>1 2>3 0>2",
        queue: "g3: 1, g1: 3",
        sets: ["2 3", "", "1 2 4", "1 2 3"],
    },
    Event {
        name: "(d) P4's request for g3 reaches all",
        steps: "req3:2 3>0 3>1 3>2 0>3",
        queue: "g3: 1 4, g1: 3",
        sets: ["2 3 4", "", "1 2 4", "1 2 3"],
    },
    Event {
        name: "(e) P2 leaves, P1 is captain and starts P4",
        steps: "exit1 1>0 0>3",
        queue: "g1: 3",
        sets: ["", "1 3", "1 2 4", "1 2 3"],
    },
];

fn draw(_: &Effort, _: &Results) -> Page {
    let setting = Setting { groups: 3, ..Setting::new(4, 1) };
    let mut world = World::<DrsGme>::new(&setting).expect("four nodes and three groups are served");
    let (mut rows, mut differences) = (Vec::new(), Vec::new());
    for event in &EVENTS {
        let taken = world.run(event.steps);
        let (queue, sets) = (queue(&world), request_sets(&world));
        if taken.is_err() || queue != event.queue || sets != event.sets {
            differences.push(event.name);
        }
        let printed: Vec<String> = std::iter::once(event.queue).chain(event.sets).map(set).collect();
        let ours: Vec<String> =
            std::iter::once(queue.as_str()).chain(sets.iter().map(String::as_str)).map(set).collect();
        rows.push([vec![event.name.to_string(), "printed".to_string()], printed].concat());
        rows.push(
            [
                vec![taken.err().map_or(String::new(), |error| error.to_string()), "replayed".to_string()],
                ours,
            ]
            .concat(),
        );
    }
    let columns = ["after", "", "token.queue", "RS1", "RS2", "RS3", "RS4"].map(String::from).to_vec();
    let title = "After each event of the example, as printed and as the algorithm does it".to_string();
    let found = match differences.as_slice() {
        [] => format!("all {} rows agree", EVENTS.len()),
        rows => format!("{} of {} rows differ: {}", rows.len(), EVENTS.len(), rows.join("; ")),
    };
    let verdict = match differences.len() {
        0 => Verdict::Reproduces,
        rows if rows == EVENTS.len() => Verdict::DoesNot,
        rows => Verdict::Differs(format!("{rows} rows")),
    };
    let says =
        "The queue of the token and the request sets of four processes after each of five events.".into();
    let reason = "P1 waits when it first hears of P3 and of P4, so it sends them its own request as well; the example \
                  leaves those two messages out, and they change neither the queue nor a set."
        .to_string();
    Page {
        parts: vec![Part::Table(Table { suffix: "", title, columns, rows })],
        claims: vec![Claim { source: "004 sec. IV, table I", says, found, verdict, reason }],
    }
}

fn set(text: &str) -> String {
    if text.is_empty() { "∅".to_string() } else { text.to_string() }
}

fn numbered(nodes: impl Iterator<Item = NodeId>) -> String {
    nodes.map(|node| (node + 1).to_string()).collect::<Vec<_>>().join(" ")
}

fn request_sets(world: &World<DrsGme>) -> Vec<String> {
    let nodes = world.nodes.iter().filter_map(|node| node.state.as_ref());
    nodes.map(|node| numbered(node.request_set())).collect()
}

/// The queue as the text draws it: an entry for each group, in the order of first requests.
fn queue(world: &World<DrsGme>) -> String {
    let holder = world.nodes.iter().find_map(|node| node.state.as_ref()?.queue());
    let mut entries: Vec<(u32, Vec<NodeId>)> = Vec::new();
    for ask in holder.unwrap_or(&[]) {
        let group = ask.groups.first().unwrap_or(0);
        match entries.iter_mut().find(|(known, _)| *known == group) {
            Some((_, nodes)) => nodes.push(ask.node),
            None => entries.push((group, vec![ask.node])),
        }
    }
    let entry =
        |(group, nodes): &(u32, Vec<NodeId>)| format!("g{}: {}", group + 1, numbered(nodes.iter().copied()));
    match entries.iter().map(entry).collect::<Vec<_>>() {
        entries if entries.is_empty() => "empty".to_string(),
        entries => entries.join(", "),
    }
}
