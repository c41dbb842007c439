//! How long a refusal takes for a name that is there, and for one that is not: `cargo run --release -p tokenwood-service
//! --example refusals`. A caller without rights must not learn from the time whether a name exists.

use std::sync::Arc;
use std::time::{Duration, Instant};

use service::auth::{Caller, Change, Evidence, Secret};
use service::core::Timeout;
use service::event::Filter;
use service::member::{ConnectionId, Effect, LeaderReply, NoEnvironment, Setup};
use service::protocol::{Question, ToClient, ToNode};
use service::registry::{Entry, Leadership, MemberEntry, Registry};
use service::view::View;
use service::{Acquire, Config, Definition, Member, SessionHandle, Time, Want};

const NOW: Time = Time(1_000_000_000);
const LEADER: Leadership = Leadership { term: 1, node: 0 };
/// Names that are there.
const NAMES: u32 = 10_000;
/// Refusals that are timed together.
const TOGETHER: u32 = 200;
const ROUNDS: usize = 2_000;

/// A node with rights, on which the administrator holds many names.
fn secured() -> Member {
    let setup = Setup {
        cluster: String::new(),
        address: String::new(),
        clients: String::new(),
        core: Config::new(0, View::alone(0)),
    };
    let mut registry = Registry::default();
    let mut member = Member::new(setup, Arc::new(registry.clone()), 5, NOW);
    let members = [(0, MemberEntry::new(5, "", ""))].into();
    registry.apply(&Entry::View { base_epoch: 0, decided_by: LEADER, members }, LEADER);
    registry.apply(&Entry::Rights(Change::Secure { admin: Secret::new([1; 32]).hash() }), LEADER);
    let mut effects = Vec::new();
    member.agreed(&Arc::new(registry), 5, NOW, &mut effects);
    member.wake(&NoEnvironment, NOW, &mut effects);
    let reply = LeaderReply::Confirmed { incarnation: 5, sequence: 1, lasts: Duration::from_secs(3) };
    member.leader_replied(reply, NOW, &mut effects);
    let admin = connect(&mut member, Some(Secret::new([1; 32])));
    let open = ToNode::Open { ttl: Duration::from_secs(10), label: None };
    let opened = tell(&mut member, admin, open).into_iter().find_map(|effect| match effect {
        Effect::Tell { frame: ToClient::Opened { session: id, key, .. }, .. } => {
            Some(SessionHandle { id, key })
        }
        _ => None,
    });
    let session = opened.expect("the administrator opens a session");
    for number in 0..NAMES {
        let (name, definition) = (format!("there/{number}").into(), Definition::MUTEX);
        let ask = Acquire {
            request: u64::from(number) + 1,
            name,
            definition,
            want: Want::Slot,
            timeout: Timeout::Try,
        };
        tell(&mut member, admin, ToNode::Acquire { session, ask });
    }
    assert_eq!(member.core().status().requests, NAMES as usize, "the names are there");
    member
}

fn connect(member: &mut Member, token: Option<Secret>) -> ConnectionId {
    member.connected(Caller::new("10.0.0.9:1", &Evidence { token, ..Evidence::default() }))
}

fn tell(member: &mut Member, connection: ConnectionId, frame: ToNode) -> Vec<Effect> {
    let mut effects = Vec::new();
    member.hear(connection, frame, &NoEnvironment, NOW, &mut effects);
    effects
}

/// Nanoseconds for each refusal of these names.
fn refusals(member: &mut Member, stranger: ConnectionId, prefix: &str, round: usize) -> f64 {
    let names: Vec<String> = (0..TOGETHER)
        .map(|number| format!("{prefix}/{}", (number as usize * 37 + round) % NAMES as usize))
        .collect();
    let frames: Vec<ToNode> = names
        .into_iter()
        .map(|name| ToNode::Ask { number: 1, question: Question::Inspect { name, after: None } })
        .collect();
    let began = Instant::now();
    for frame in frames {
        assert!(!tell(member, stranger, frame).is_empty(), "it is refused");
    }
    began.elapsed().as_nanos() as f64 / f64::from(TOGETHER)
}

fn main() {
    let mut member = secured();
    let stranger = connect(&mut member, None);
    let list = ToNode::Ask { number: 1, question: Question::List { filter: Filter::default(), after: None } };
    assert!(!tell(&mut member, stranger, list).is_empty());
    let (mut there, mut absent) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        there.push(refusals(&mut member, stranger, "there", round));
        // As long as the others.
        absent.push(refusals(&mut member, stranger, "absnt", round));
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let (there, absent) = (median(&mut there), median(&mut absent));
    println!(
        "a name that is there: {there:.0} ns; one that is not: {absent:.0} ns; ratio {:.3}",
        there / absent
    );
}
