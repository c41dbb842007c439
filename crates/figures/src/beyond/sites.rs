//! Three sites with fast links inside and slow links between them: the "non-homogeneous" environments of 003 sec. 6.

use simulator::latencies::{Latencies, Sites};
use simulator::time::Span;
use simulator::workload::Workload;
use simulator::{Plan, Point};

use super::{Contender, PROPOSED, RAYMOND, SILENT, SRIMANI, plain};
use crate::compare::short;
use crate::page::{Claim, Page, Part, Table};
use crate::{Effort, Exhibit, Results};

const SOURCE: &str = "003 sec. 6";

pub(super) const EXHIBIT: Exhibit = Exhibit {
    id: "sites",
    source: SOURCE,
    title: "Nine nodes at three sites: 1 ms within a site, 40 ms between sites",
    points: |effort| {
        let loads = |contender| {
            LOADS.into_iter().flat_map(move |load| PLACES.map(|place| point(effort, contender, load, place)))
        };
        CONTENDERS.into_iter().flat_map(loads).collect()
    },
    draw,
};

/// An algorithm, and its number of tokens.
type With = (Contender, u32);

const PARTITIONED: With = (plain("partitioned(naimi-trehel)"), 3);
const OURS: With = (PROPOSED, 3);
const COLLECTORS: With = (plain("collectors"), 3);

const CONTENDERS: [With; 13] = [
    OURS,
    (SILENT, 3),
    (plain("forest"), 3),
    (RAYMOND, 3),
    (SRIMANI, 3),
    (plain("k-majority"), 3),
    COLLECTORS,
    (plain("chaudhuri-edward"), 3),
    PARTITIONED,
    (plain("naimi-trehel"), 1),
    (plain("raymond-tree"), 1),
    (plain("suzuki-kasami"), 1),
    (plain("maekawa"), 1),
];

#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    rate: f64,
    /// Whether only nodes 0 to 2 ask.
    one_site: bool,
}

const LIGHT: Load = Load { name: "light, λ = 0.0002", rate: 0.0002, one_site: false };
const HEAVY: Load = Load { name: "heavy, λ = 0.1", rate: 0.1, one_site: false };
const ONE_SITE: Load = Load { name: "heavy, nodes 0 to 2 only", rate: 0.1, one_site: true };
const LOADS: [Load; 3] = [LIGHT, HEAVY, ONE_SITE];

/// Where the nodes are.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Nodes 0 to 2 at the first site, 3 to 5 at the second, 6 to 8 at the third.
    Blocks,
    /// Nodes 0, 3 and 6 at the first site, and so on.
    Spread,
    /// No sites: every message takes the mean over all pairs.
    Nowhere,
}

const PLACES: [Place; 3] = [Place::Nowhere, Place::Blocks, Place::Spread];
/// Of the eight other nodes two are 1 ms away and six 40 ms.
const MEAN: f64 = (2.0 * 1.0 + 6.0 * 40.0) / 8.0;
const MATRIX: &str = "one-way,a,b,c;a,1,40,40;b,40,1,40;c,40,40,1";

fn point(effort: &Effort, (contender, tokens): With, load: Load, place: Place) -> Point {
    let entries = effort.entries(1000);
    let mut plan = Plan { rate: load.rate, entries, warmup: entries, ..Plan::default() };
    (plan.setting.nodes, plan.setting.tokens) = (9, tokens);
    plan.setting = plan.setting.with(contender.options);
    (plan.send, plan.receive, plan.section) = (0.1, 0.1, Span::constant(5.0));
    plan.transit = Span::constant(MEAN);
    if load.one_site {
        plan.workload = Workload::Only(vec![(0, 2)]);
    }
    if place != Place::Nowhere {
        plan.latencies = Some(Latencies::parse(MATRIX).expect("it is well-formed"));
    }
    if place == Place::Spread {
        plan.sites = Sites::Spread;
    }
    Point { algorithm: contender.name.to_string(), plan, seed: 1, seeds: effort.seeds }
}

fn draw(effort: &Effort, results: &Results) -> Page {
    let wait = |contender, load, place| results.of(&point(effort, contender, load, place)).time_to_enter.mean;
    let rows = CONTENDERS.into_iter().flat_map(|contender| {
        LOADS.map(|load| {
            let start = [contender.0.label.to_string(), contender.1.to_string(), load.name.to_string()];
            let waits = PLACES.map(|place| short(wait(contender, load, place)));
            start.into_iter().chain(waits).collect()
        })
    });
    let columns = ["algorithm", "k", "load", "all links alike", "sites of consecutive nodes", "nodes spread"];
    let table = Table {
        suffix: "",
        title: "Time to enter in ms; sections of 5 ms, Ts = Tr = 0.1 ms. All links alike: each takes the mean, 30.25 ms"
            .to_string(),
        columns: columns.map(str::to_string).to_vec(),
        rows: rows.collect(),
    };
    Page { parts: vec![Part::Table(table)], claims: claims(&wait) }
}

fn claims(wait: &dyn Fn(With, Load, Place) -> f64) -> Vec<Claim> {
    // The wait with a token for each site, and the least of all others with three tokens.
    let beside_others = |load| {
        let others = CONTENDERS.into_iter().filter(|other| other.1 == 3 && *other != PARTITIONED);
        let waits = others.map(|other| (wait(other, load, Place::Blocks), other.0.label));
        let least = waits.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((0.0, "none"));
        (wait(PARTITIONED, load, Place::Blocks), least)
    };
    let local = |says: &str, loads: &[Load], wins: bool| {
        let compared: Vec<_> = loads.iter().map(|load| (load.name, beside_others(*load))).collect();
        let holds = compared.iter().all(|(_, (ours, (theirs, _)))| (ours < theirs) == wins);
        let listed = compared.iter().map(|(load, (ours, (theirs, name)))| {
            format!("{load}: {}, least of the others {name} with {}", short(*ours), short(*theirs))
        });
        Claim::holds("ours", says, holds, listed.collect::<Vec<_>>().join("; "))
    };
    let pairs = LOADS
        .map(|load| [Place::Blocks, Place::Spread].map(|place| wait(COLLECTORS, load, place)))
        .map(|[blocks, spread]| (blocks, spread));
    let listed = pairs.map(|(blocks, spread)| format!("{} beside {}", short(blocks), short(spread)));
    let heavy = pairs[1..].iter().all(|(blocks, spread)| blocks < spread);
    vec![
        local(
            "if all sites ask, a token for each site that never leaves it (partitioned) waits least with three tokens",
            &[LIGHT, HEAVY],
            true,
        ),
        local("if one site asks, it does not: the tokens of the other sites do not help", &[ONE_SITE], false),
        Claim::holds(
            "ours",
            "collectors waits less at heavy load if its groups are the sites than if they are spread over them",
            heavy,
            format!("light, heavy, one site: {}", listed.join(", ")),
        ),
        ranking(wait),
    ]
}

/// The ranking of the texts where links are not alike.
fn ranking(wait: &dyn Fn(With, Load, Place) -> f64) -> Claim {
    let rivals = [(RAYMOND, 3), (SRIMANI, 3)];
    let mut lost = Vec::new();
    for load in LOADS {
        let ours = wait(OURS, load, Place::Blocks);
        for rival in rivals {
            let theirs = wait(rival, load, Place::Blocks);
            if theirs < ours {
                lost.push(format!(
                    "{} ({}; {} beside {})",
                    rival.0.label,
                    load.name,
                    short(theirs),
                    short(ours)
                ));
            }
        }
    }
    let found = match &lost[..] {
        [] => "it does at all three loads".to_string(),
        lost => format!("less waits {}", lost.join(", ")),
    };
    let says = "the algorithm waits less than raymond-k and srimani-reddy where links are not alike, too";
    // 003 leaves such networks to the future; it claims nothing of them.
    Claim::holds("ours", says, lost.is_empty(), found).because(
        "At light load srimani-reddy asks all nodes at once, so the token comes after one message there and one back. The \
         request of the proposed algorithm is passed on along its path, and may cross from site to site more than once.",
    )
}
