//! Algorithms over loopback, replayed by the pure code; and replays and judgements that must fail.

use std::time::Duration;

use algorithms::naimi_trehel::NaimiTrehel;
use algorithms::{Kind, Setting, World};

use super::replay::{Recorded, replay};
use super::*;

async fn over_sockets(name: &str, setting: Setting, entries: u32) -> Tally {
    let clients = u64::from(setting.nodes) * u64::from(entries);
    let plan = Plan { think: Duration::from_millis(1), ..Plan::new(setting, entries, 7) };
    let tally = run(name, plan).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(tally.visits.len() as u64, clients, "{name}: everyone enters as often as it asks");
    assert!(tally.visits.iter().all(|visit| visit.left.is_some()), "{name}: and leaves");
    let steps = 2 * clients + tally.messages.values().sum::<u64>();
    assert!(tally.replayed >= steps, "{name}: requests, exits and deliveries are all replayed");
    tally
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_algorithms_do_over_sockets_what_the_pure_code_does() {
    let forest = over_sockets("bulgannawar-vaidya", Setting::new(3, 2), 60).await;
    assert!(forest.messages.contains_key("TOKEN"), "{:?}", forest.messages);
    let raymond = over_sockets("raymond-k", Setting::new(3, 2), 60).await;
    // Every entry asks the other two, who both answer in the end.
    assert_eq!(raymond.messages["REQUEST"], 2 * 180);
    let rooms = over_sockets("drs-gme", Setting { groups: 2, ..Setting::new(3, 1) }, 60).await;
    assert!(rooms.messages_per_entry() > 0.5 && rooms.mean_wait() > Duration::ZERO);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_other_algorithm_runs_too() {
    for info in registry::ALL.iter().filter(|info| !info.relies_on_pace()) {
        over_sockets(info.name, Setting::new(4, 1), 3).await;
    }
    over_sockets("partitioned(naimi-trehel)", Setting::new(4, 2), 3).await;
}

/// Nodes that could be in processes of their own: what they report travels as bytes to whoever judges.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_travel() {
    let plan = Plan::new(Setting::new(2, 1), 5, 3);
    let (first, second) = (listen().await.unwrap(), listen().await.unwrap());
    let address = [&first.1, &second.1];
    let member = |id: NodeId| Member { identity: identity(id), address: address[id as usize].clone() };
    let members = vec![member(0), member(1)];
    let name = "suzuki-kasami";
    let nodes = [
        Arc::new(Seated::start(name, &plan, 0, members.clone(), first.0).unwrap()),
        Arc::new(Seated::start(name, &plan, 1, members, second.0).unwrap()),
    ];
    let (one, other) = tokio::join!(nodes[0].live(), nodes[1].live());
    one.and(other).unwrap();
    timeout(plan.patience, silence(&nodes)).await.unwrap();
    let mut reports = Vec::new();
    for node in &nodes {
        let bytes = postcard::to_extend(&node.finish().await, Vec::new()).unwrap();
        reports.push(postcard::from_bytes::<Report>(&bytes).unwrap());
    }
    let tally = judge(name, &plan.setting, reports.clone()).unwrap();
    assert_eq!(tally.visits.len(), 10);
    reports[0].record.remove(0);
    assert!(judge(name, &plan.setting, reports).is_err(), "a step is missing");
}

#[tokio::test]
async fn what_sockets_cannot_serve_is_refused() {
    let refused = run("makki", Plan::new(Setting::new(3, 1), 1, 1)).await.unwrap_err();
    assert!(refused.contains("bounds on time"), "{refused}");
    assert!(run("no-such", Plan::new(Setting::new(3, 1), 1, 1)).await.is_err());
    assert!(run("naimi-trehel", Plan::new(Setting::new(3, 2), 1, 1)).await.is_err());
}

/// The records of a run in memory, by node.
fn records(schedule: &str) -> Vec<Vec<Recorded>> {
    let mut world = World::<NaimiTrehel>::new(&Setting::new(2, 1), false).unwrap();
    let mut records = vec![Vec::new(), Vec::new()];
    for step in algorithms::schedule::parse_schedule(schedule).unwrap() {
        let message = match step.action {
            algorithms::Action::Deliver(envelope) => {
                Some(world.channels[&(envelope.from, envelope.to)][0].clone())
            }
            _ => None,
        };
        let happened = world.take(&step).unwrap();
        let node = happened.node.unwrap() as usize;
        records[node].push(Recorded::new::<NaimiTrehel>(&step, message.as_ref(), &happened.effects));
    }
    records
}

#[test]
fn a_replay_notices_what_is_not_as_it_was() {
    let setting = Setting::new(2, 1);
    let good = || records("req1 1>0 0>1 exit1 req0 0>1 1>0 exit0");
    assert_eq!(replay::<NaimiTrehel>(&setting, good()), Ok(8));
    let fails = |records, why: &str| {
        let error = replay::<NaimiTrehel>(&setting, records).unwrap_err();
        assert!(error.contains(why), "{error}");
    };
    let mut other_effects = good();
    other_effects[0][0].effects.push("made up".to_string());
    fails(other_effects, "replayed it does");
    let mut doubled = good();
    let twice = doubled[0][0].clone();
    doubled[0].insert(1, twice);
    fails(doubled, "1>0");
    let mut lost = good();
    lost[0].pop();
    lost[0].pop();
    fails(lost, "never arrived");
    let mut changed = good();
    let token = changed[1][1].message.clone();
    changed[0][0].message = token;
    fails(changed, "was sent and");
    let mut impossible = good();
    impossible[1][0].step = "exit1".to_string();
    fails(impossible, "not inside");
    fails(records("req0 req1 1>0"), "at the end");
    let mut garbled = good();
    garbled[1][0].step = "what?".to_string();
    fails(garbled, "is not a step");
}

#[test]
fn the_clock_judges_visits() {
    let at = Duration::from_millis;
    let visit = |node, group, entered, left| Visit {
        node,
        group,
        asked: at(0),
        entered: at(entered),
        left: Some(at(left)),
    };
    let tally = |visits: &[Visit]| Tally { visits: visits.to_vec(), ..Tally::default() };
    let overlapping = tally(&[visit(0, 0, 1, 5), visit(1, 0, 4, 6)]);
    assert!(overlapping.judge(Kind::Mutex, 1).is_err());
    assert!(overlapping.judge(Kind::KMutex, 2).is_ok());
    assert!(tally(&[visit(0, 0, 1, 4), visit(1, 0, 4, 6)]).judge(Kind::Mutex, 1).is_ok());
    assert!(overlapping.judge(Kind::GroupMutex, 1).is_ok());
    assert!(tally(&[visit(0, 0, 1, 5), visit(1, 1, 4, 6)]).judge(Kind::GroupMutex, 1).is_err());
}
