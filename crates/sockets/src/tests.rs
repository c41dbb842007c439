//! Algorithms over loopback, replayed by the pure code; and replays and judgements that must fail.

use std::time::Duration;

use algorithms::{Conditions, Kind, Setting, World};

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
    // Every entry asks the two other nodes, which both answer in the end.
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

/// Reports of nodes that could be in processes of their own.
async fn reports(name: &str, plan: &Plan) -> Result<Vec<Report>, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    for me in 0..plan.setting.nodes {
        let address = address.clone();
        tokio::spawn(async move { run_worker(&address, me).await });
    }
    let mut collector = Collector::gather(&listener, plan.setting.nodes).await?;
    collector.run(name, plan, |_| ()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nodes_report_is_judged() {
    let name = "suzuki-kasami";
    let plan = Plan::new(Setting::new(2, 1), 5, 3);
    let good = reports(name, &plan).await.unwrap();
    let judged = |reports: &[Report]| judge(name, &plan.setting, reports.to_vec(), None);
    let tally = judged(&good).unwrap();
    assert_eq!(tally.visits.len(), 10);
    let fails = |why: &str, damage: &dyn Fn(&mut Vec<Report>)| {
        let mut damaged = good.clone();
        damage(&mut damaged);
        let error = judged(&damaged).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    fails("", &|reports| _ = reports[0].record.remove(0));
    fails("2 nodes, but 1 reports", &|reports| _ = reports.pop());
    fails("no step of node", &|reports| reports.swap(0, 1));
    fails("the nodes counted", &|reports| reports[0].tally.messages.clear());
    fails("the nodes counted", &|reports| _ = reports[1].tally.visits.pop());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_are_measured_and_messages_can_be_held_up() {
    let ms = Duration::from_millis;
    let plan = Plan { shortest_delay: ms(6), ..Plan::new(Setting::new(2, 1), 10, 3) };
    let tally =
        judge("naimi-trehel", &plan.setting, reports("naimi-trehel", &plan).await.unwrap(), None).unwrap();
    assert!(tally.mean_travel() >= ms(6), "{:?}", tally.mean_travel());
    assert!(tally.mean_section() >= ms(2), "{:?}", tally.mean_section());
    assert!(tally.mean_think() > Duration::ZERO && tally.mean_wait() > Duration::ZERO);
    let waits = tally.visits.iter().map(|visit| visit.entered - visit.asked);
    assert!(waits.max().unwrap() >= ms(12), "a request and a token");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_and_nodes_that_leave() {
    let plan = Plan::new(Setting::new(2, 1), 1000, 3);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut stranger = tokio::net::TcpStream::connect(&address).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stranger, b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let nodes: Vec<_> = [7, 0, 1]
        .into_iter()
        .map(|me| {
            let address = address.clone();
            tokio::spawn(async move { run_worker(&address, me).await })
        })
        .collect();
    let mut collector = Collector::gather(&listener, 2).await.unwrap();
    let mut seen = 0;
    let leaves = |entries| {
        seen = entries;
        if entries > 0 {
            nodes[2].abort();
        }
    };
    let error = collector.run("naimi-trehel", &plan, leaves).await.unwrap_err().to_string();
    assert!(error.contains("node 1 is gone"), "{error}");
    assert!(seen > 0 && seen < 2000);
}

#[tokio::test]
async fn what_sockets_cannot_serve_is_refused() {
    let refused = run("makki", Plan::new(Setting::new(3, 1), 1, 1)).await.unwrap_err().to_string();
    assert!(refused.contains("bounds on time"), "{refused}");
    assert!(run("no-such", Plan::new(Setting::new(3, 1), 1, 1)).await.is_err());
    assert!(run("naimi-trehel", Plan::new(Setting::new(3, 2), 1, 1)).await.is_err());
}

fn naimi_trehel() -> System<Erased> {
    registry::system("naimi-trehel", &Setting::new(2, 1)).unwrap()
}

/// The records of a run in memory, by node.
fn records(schedule: &str) -> Vec<Vec<Recorded>> {
    let mut world = World::start(naimi_trehel(), Conditions::Reliable);
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
        records[node].push(Recorded::new(&step, message.as_ref(), &happened.effects));
    }
    records
}

#[test]
fn a_replay_notices_what_is_not_as_it_was() {
    let good = || records("req1 1>0 0>1 exit1 req0 0>1 1>0 exit0");
    assert_eq!(replay(naimi_trehel(), good(), None).map(|replayed| replayed.steps), Ok(8));
    let fails = |records, why: &str| {
        let error = replay(naimi_trehel(), records, None).unwrap_err().to_string();
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
