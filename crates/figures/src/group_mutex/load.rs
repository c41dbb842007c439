//! Messages, concurrency, switches and delay of text 004 against load, nodes and groups.

use simulator::workload::{GroupChoice, Workload};
use simulator::{Estimate, Point, Summary};

use super::{GROUPS, NODES, RATES, T_C, T_M, level, plan, point, rates};
use crate::page::{Axis, Chart, Claim, Dot, Origin, Page, Part, Series, Table};
use crate::{Effort, Exhibit, Results};

pub(super) const EXHIBITS: [Exhibit; 6] = [
    Exhibit {
        id: "rooms-messages-load",
        source: "004 sec. VI",
        title: "Messages per entry against the request rate",
        points: swept,
        draw: messages_load,
    },
    Exhibit {
        id: "rooms-messages-nodes",
        source: "004 sec. VI",
        title: "Messages per entry against the number of nodes",
        points: |effort| sizes(effort).into_iter().flat_map(|(_, points)| points).collect(),
        draw: messages_nodes,
    },
    Exhibit {
        id: "rooms-concurrency",
        source: "004 sec. VI",
        title: "How many are inside together",
        points: |effort| [swept(effort), vec![burst(effort)]].concat(),
        draw: concurrency,
    },
    Exhibit {
        id: "rooms-switches",
        source: "004 sec. VI",
        title: "Changes of the group",
        points: swept,
        draw: switches,
    },
    Exhibit {
        id: "rooms-delay",
        source: "004 sec. VI",
        title: "From the last exit of a session to the first entry of the next",
        points: swept,
        draw: delay,
    },
    Exhibit {
        id: "rooms-choices",
        source: "004 sec. VII",
        title: "One group, popular groups, or any of several",
        points: |effort| choices(effort).into_iter().flat_map(|(_, points)| points).map(|it| it.1).collect(),
        draw: any_of,
    },
];

const SOURCE: &str = "004 sec. VI";
const SIZES: [u32; 7] = [3, 5, 10, 20, 30, 50, 100];
const CHOICES: [(&str, GroupChoice); 3] = [
    ("one group, each as likely", GroupChoice::Uniform),
    ("one group, by Zipf's law", GroupChoice::Zipf(1.0)),
    ("any of several", GroupChoice::AnyOf),
];
const CHOICE_GROUPS: u32 = 5;

fn swept(effort: &Effort) -> Vec<Point> {
    GROUPS.iter().flat_map(|&groups| rates(effort, groups)).map(|(_, point)| point).collect()
}

/// A chart over the request rate, a curve for each number of groups.
fn by_rate(
    effort: &Effort,
    results: &Results,
    title: &str,
    y: &str,
    value: fn(&Summary) -> Estimate,
) -> Chart {
    let curve = |groups: u32| {
        let dots = rates(effort, groups)
            .into_iter()
            .map(|(rate, point)| Dot::measured(rate, value(results.of(&point))));
        Series::new(counted(groups), Origin::Simulated, dots.collect())
    };
    Chart {
        suffix: "",
        title: format!("{title} (n = {NODES}, t_c = {T_C} t_m)"),
        x: Axis::logarithmic("requests per node and t_m (λ)"),
        y: Axis::linear(y),
        series: GROUPS.iter().map(|&groups| curve(groups)).collect(),
    }
}

fn counted(groups: u32) -> String {
    if groups == 1 { "1 group".to_string() } else { format!("{groups} groups") }
}

fn ends() -> (f64, f64) {
    (RATES[0], RATES[RATES.len() - 1])
}

/// The largest value over the sweep.
fn largest(effort: &Effort, results: &Results, value: impl Fn(&Summary) -> f64) -> f64 {
    swept(effort).iter().map(|point| value(results.of(point))).fold(0.0, f64::max)
}

fn messages_load(effort: &Effort, results: &Results) -> Page {
    let worst = f64::from(NODES + 1);
    let mut chart =
        by_rate(effort, results, "Messages per entry", "messages per entry", |it| it.messages_per_entry);
    let (from, to) = ends();
    chart.series.push(level("n + 1: worst", worst, from, to));
    chart.series.push(level("0: best", 0.0, from, to));
    let most = largest(effort, results, |it| it.messages_per_entry.mean);
    let kinds = swept(effort).into_iter().map(|point| results.of(&point).messages_by_kind.clone());
    let hints = kinds.map(|kinds| kinds.get("HINT").map_or(0.0, |hints| hints.mean)).fold(0.0, f64::max);
    let claims = vec![
        Claim::holds(
            SOURCE,
            "An entry takes at most n + 1 messages.",
            most <= worst,
            format!("means up to {most:.2}, n + 1 = {worst}"),
        )
        .because(&format!(
            "A single entry may take more, because a request that was granted elsewhere is answered by a HINT, which the \
             text does not have and cannot do without: at most {hints:.3} per entry here."
        )),
    ];
    Page { parts: vec![Part::Chart(chart)], claims }
}

/// For each number of nodes: one request at a time, and all at once.
fn sizes(effort: &Effort) -> Vec<(u32, [Point; 2])> {
    let points = |nodes: u32| {
        let mut light = plan(effort, nodes, 5, 1.0);
        light.workload = Workload::Single;
        // Request sets are small once all nodes have had the token a few times.
        light.warmup = light.warmup.max(u64::from(nodes) * 5);
        let heavy = plan(effort, nodes, 5, 10.0);
        (nodes, [point(effort, light), point(effort, heavy)])
    };
    effort.thin(&SIZES).into_iter().map(points).collect()
}

fn messages_nodes(effort: &Effort, results: &Results) -> Page {
    let sizes = sizes(effort);
    let measured = |index: usize| -> Vec<Dot> {
        let value = |points: &[Point; 2]| results.of(&points[index]).messages_per_entry;
        sizes.iter().map(|(nodes, points)| Dot::measured(f64::from(*nodes), value(points))).collect()
    };
    let formula = |value: fn(f64) -> f64| -> Vec<Dot> {
        sizes.iter().map(|(nodes, _)| Dot::exact(f64::from(*nodes), value(f64::from(*nodes)))).collect()
    };
    let (light, heavy) = (measured(0), measured(1));
    let half = |n: f64| (n - 1.0) / n * (n / 2.0 + 1.0);
    let off = light.iter().map(|dot| (dot.y / half(dot.x) - 1.0).abs()).fold(0.0, f64::max);
    let over = heavy.iter().chain(&light).map(|dot| dot.y - dot.x - 1.0).fold(f64::MIN, f64::max);
    let chart = Chart {
        suffix: "",
        title: "Messages per entry against the number of nodes (5 groups)".to_string(),
        x: Axis::logarithmic("nodes (n)"),
        y: Axis::logarithmic("messages per entry"),
        series: vec![
            Series::new("light: one at a time", Origin::Simulated, light),
            Series::new("heavy: λ = 10", Origin::Simulated, heavy),
            Series::new("n + 1: worst", Origin::Formula, formula(|n| n + 1.0)),
            Series::new("(n - 1)/n · (n/2 + 1): ours, for light load", Origin::Formula, formula(half)),
        ],
    };
    let claims = vec![
        Claim::holds(
            SOURCE,
            "Between 0 messages and n + 1, whatever n is.",
            over <= 0.0,
            format!("the mean that comes nearest is {:.2} below n + 1", -over),
        ),
        Claim::holds(
            "ours",
            "One at a time it takes n/2 requests and the token, unless the token is here already.",
            off < 0.1,
            format!("within {:.0} % of (n - 1)/n · (n/2 + 1) at every n", off * 100.0),
        ),
    ];
    Page { parts: vec![Part::Chart(chart)], claims }
}

/// All nodes request the only group at once.
fn burst(effort: &Effort) -> Point {
    let mut plan = plan(effort, NODES, 1, 0.01);
    plan.workload = Workload::Burst;
    plan.entries = u64::from(NODES) * 20;
    point(effort, plan)
}

fn concurrency(effort: &Effort, results: &Results) -> Page {
    let title = "How many are inside, on average";
    let mut chart = by_rate(effort, results, title, "inside on average", |it| it.concurrency);
    let (from, to) = ends();
    chart.series.push(level("n: all", f64::from(NODES), from, to));
    let mut columns = vec!["λ".to_string()];
    columns.extend(GROUPS.iter().map(|&groups| counted(groups)));
    let mut rows: Vec<Vec<String>> = effort.thin(&RATES).iter().map(|rate| vec![rate.to_string()]).collect();
    for groups in GROUPS {
        for (row, (_, point)) in rows.iter_mut().zip(rates(effort, groups)) {
            row.push(results.of(&point).most_inside.to_string());
        }
    }
    let table = Table { suffix: "-most", title: "The most inside at once".to_string(), columns, rows };
    let most = results.of(&burst(effort)).most_inside;
    let claim = Claim::holds(
        SOURCE,
        "All n may be inside at once if no other group is asked for.",
        most == NODES,
        format!("{most} of {NODES} when all ask for the same group at the same moment"),
    )
    .because("With several groups a session ends for those who wait for another, so fewer meet inside.");
    Page { parts: vec![Part::Chart(chart), Part::Table(table)], claims: vec![claim] }
}

fn switches(effort: &Effort, results: &Results) -> Page {
    let title = "Changes of the group per entry";
    let chart = by_rate(effort, results, title, "changes per entry", |it| it.switches_per_entry);
    let most = |groups: u32| {
        let of = |(_, point): &(f64, Point)| results.of(point).most_switches_waited;
        rates(effort, groups).iter().map(of).max().unwrap_or(0)
    };
    let bound = |groups: u32| u64::from(groups.min(NODES));
    let waited: Vec<(u32, u64)> = GROUPS.iter().map(|&groups| (groups, most(groups))).collect();
    let rows = waited
        .iter()
        .map(|&(groups, most)| vec![groups.to_string(), bound(groups).to_string(), most.to_string()])
        .collect();
    let columns =
        ["groups (m)", "min(n, m)", "most changes that a client waited for"].map(String::from).to_vec();
    let table =
        Table { suffix: "-most", title: "Changes that a client waits for".to_string(), columns, rows };
    let over: Vec<String> = waited
        .iter()
        .filter(|&&(groups, most)| groups > 1 && most > bound(groups))
        .map(|(groups, most)| format!("{most} with {groups} groups"))
        .collect();
    let found = if over.is_empty() {
        "never more, from asking to entering".to_string()
    } else {
        format!("up to {}", over.join(", "))
    };
    let says = "A request waits for at most min(n, m) changes of the group.";
    let claim = Claim::holds(SOURCE, says, over.is_empty(), found).because(
        "The bound holds from the moment the request is in the token's queue. We count from asking, so a request that is \
         still under way when the group changes may see one change more.",
    );
    Page { parts: vec![Part::Chart(chart), Part::Table(table)], claims: vec![claim] }
}

fn delay(effort: &Effort, results: &Results) -> Page {
    let title = "From the last exit to the next entry, with waiters";
    let mut chart = by_rate(effort, results, title, "delay in t_m", |it| it.changeover);
    // With one group there is no conflict, and hardly ever a last exit.
    chart.series.remove(0);
    let (from, to) = ends();
    chart.series.push(level("t_m: the captain leaves last", T_M, from, to));
    chart.series.push(level("2 t_m: a follower leaves last", 2.0 * T_M, from, to));
    let heavy = |groups: u32| {
        let rates = rates(effort, groups);
        results.of(&rates[rates.len() - 1].1).changeover.mean
    };
    let (few, many) = (heavy(2), heavy(20));
    let within = |delay: f64| (T_M - 0.005..=2.0 * T_M + 0.005).contains(&delay);
    let claim = Claim::holds(
        SOURCE,
        "At heavy load the next session begins t_m after the last exit if that is the captain's, 2 t_m if it is a \
         follower's.",
        within(few) && within(many) && few > many,
        format!("{few:.3} t_m with 2 groups, {many:.3} t_m with 20, at the highest rate"),
    )
    .because(
        "All sections are equally long here and followers begin t_m after their captain, so a session with a follower \
         ends with one; the more groups, the more captains are alone.",
    );
    Page { parts: vec![Part::Chart(chart)], claims: vec![claim] }
}

/// For each way of choosing groups: every request rate.
fn choices(effort: &Effort) -> Vec<(&'static str, Vec<(f64, Point)>)> {
    let swept = |choice: GroupChoice| {
        let with = |rate: f64| {
            let mut plan = plan(effort, NODES, CHOICE_GROUPS, rate);
            plan.group_choice = choice;
            (rate, point(effort, plan))
        };
        effort.thin(&RATES).into_iter().map(with).collect()
    };
    CHOICES.iter().map(|&(label, choice)| (label, swept(choice))).collect()
}

fn any_of(effort: &Effort, results: &Results) -> Page {
    let choices = choices(effort);
    let chart = |suffix: &'static str, title: &str, y: &str, value: fn(&Summary) -> Estimate| Chart {
        suffix,
        title: format!("{title} (n = {NODES}, {CHOICE_GROUPS} groups)"),
        x: Axis::logarithmic("requests per node and t_m (λ)"),
        y: Axis::linear(y),
        series: choices
            .iter()
            .map(|(label, points)| {
                let dots = points.iter().map(|(rate, point)| Dot::measured(*rate, value(results.of(point))));
                Series::new(*label, Origin::Simulated, dots.collect())
            })
            .collect(),
    };
    let charts = [
        chart("-wait", "Time to enter", "time to enter in t_m", |it| it.time_to_enter),
        chart("-inside", "How many are inside, on average", "inside on average", |it| it.concurrency),
        chart("-messages", "Messages per entry", "messages per entry", |it| it.messages_per_entry),
    ];
    let wait = |index: usize| {
        let (_, points) = &choices[index];
        results.of(&points[points.len() - 1].1).time_to_enter.mean
    };
    let (single, several) = (wait(0), wait(2));
    let claim = Claim::holds(
        "004 sec. VII",
        "Naming several groups removes unnecessary blocking.",
        several < single,
        format!("{several:.2} t_m instead of {single:.2} t_m to enter at the highest rate"),
    )
    .because("A client that accepts the open group need not wait for another.");
    Page { parts: charts.into_iter().map(Part::Chart).collect(), claims: vec![claim] }
}
