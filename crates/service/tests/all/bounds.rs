//! What clients can make a node keep has bounds, and no call is linear in what one client has.

use std::sync::Arc;
use std::time::Duration;

use service::core::{PeerContent, Timeout};
use service::event::Filter;
use service::limits::{Bound, LONG_TTL};
use service::member::{ConnectionId, Effect, LeaderReply, NoEnvironment, Note, Setup};
use service::protocol::{Order, Question, QuestionAnswer, ToClient, ToNode};
use service::registry::{Applied, Entry, Leadership, MemberEntry, Registry};
use service::resource::ResourceMessage;
use service::session::LONGEST_TTL;
use service::view::View;
use service::{
    Acquire, Config, Definition, Limits, Member, Refusal, RequestOutcome, SessionHandle, Time, Want,
};

const TTL: Duration = Duration::from_secs(10);
const LEADER: Leadership = Leadership { term: 1, node: 0 };
const NOW: Time = Time(1_000_000_000);

/// A node that is alone in its view and has a lease.
struct Node {
    member: Member,
    effects: Vec<Effect>,
}

impl Node {
    fn new(limits: Limits) -> Node {
        let core = Config { limits, ..Config::new(0, View::alone(0)) };
        let setup = Setup { cluster: String::new(), address: String::new(), clients: String::new(), core };
        let mut registry = Registry { lease: Duration::from_secs(60), ..Registry::default() };
        let mut member = Member::new(setup, Arc::new(registry.clone()), 5, NOW);
        agree_on_view(&mut registry, &[0]);
        let mut effects = Vec::new();
        member.agreed(&Arc::new(registry), 5, NOW, &mut effects);
        member.wake(&NoEnvironment, NOW, &mut effects);
        let lasts = Duration::from_secs(60);
        let reply = LeaderReply::Confirmed { incarnation: 5, sequence: 1, lasts };
        member.leader_replied(reply, NOW, &mut effects);
        assert!(member.is_leased(NOW));
        effects.clear();
        Node { member, effects }
    }

    fn hear(&mut self, connection: ConnectionId, frame: ToNode) -> Vec<Effect> {
        self.member.hear(connection, frame, &NoEnvironment, NOW, &mut self.effects);
        // The audit has its own tests.
        self.effects.retain(|effect| !matches!(effect, Effect::Note(Note::Audit(_))));
        std::mem::take(&mut self.effects)
    }

    /// What the client of this connection is answered, if anything.
    fn tell(&mut self, connection: ConnectionId, frame: ToNode) -> Option<ToClient> {
        let told = self.hear(connection, frame).into_iter();
        told.filter_map(|effect| if let Effect::Tell { frame, .. } = effect { Some(frame) } else { None })
            .next_back()
    }

    fn open(&mut self, connection: ConnectionId, ttl: Duration) -> Result<SessionHandle, Refusal> {
        match self.tell(connection, ToNode::Open { ttl, label: None }) {
            Some(ToClient::Opened { session: id, key, .. }) => Ok(SessionHandle { id, key }),
            Some(ToClient::NotOpened(refusal)) => Err(refusal),
            other => panic!("{other:?}"),
        }
    }

    fn ask(
        &mut self,
        (connection, session): (ConnectionId, SessionHandle),
        request: u64,
        (name, definition, want): (&str, Definition, Want),
    ) -> Option<RequestOutcome> {
        let ask = Acquire { request, name: name.into(), definition, want, timeout: Timeout::Never };
        match self.tell(connection, ToNode::Acquire { session, ask }) {
            Some(ToClient::Reply(reply)) => Some(reply.outcome),
            None => None,
            other => panic!("{other:?}"),
        }
    }

    fn mutex(
        &mut self,
        at: (ConnectionId, SessionHandle),
        request: u64,
        name: &str,
    ) -> Option<RequestOutcome> {
        self.ask(at, request, (name, Definition::MUTEX, Want::Slot))
    }
}

/// The next view has these members.
fn agree_on_view(registry: &mut Registry, members: &[u32]) {
    let members = members.iter().map(|id| (*id, MemberEntry::new(5, "", ""))).collect();
    registry.apply(&Entry::View { base_epoch: registry.epoch, decided_by: LEADER, members }, LEADER);
}

fn bound(bound: Bound, most: u64) -> Refusal {
    Refusal::Bound { bound, most }
}

fn refused(bound: Bound, most: u64) -> Option<RequestOutcome> {
    Some(RequestOutcome::Refused(Refusal::Bound { bound, most }))
}

#[test]
fn leases_and_invitations_out_of_bounds_reach_nobody() {
    let mut node = Node::new(Limits::default());
    let operator = node.member.connected("10.0.0.1:1");
    let week = Duration::from_secs(7 * 86_400);
    let wrong = [
        Question::Lease(Duration::ZERO),
        Question::Lease(Duration::from_millis(499)),
        Question::Lease(Duration::from_secs(601)),
        Question::Lease(Duration::from_secs(u64::MAX)),
        Question::Lease(Duration::MAX),
        Question::Invite(Duration::ZERO),
        Question::Invite(week + Duration::from_secs(1)),
        Question::Invite(Duration::MAX),
    ];
    for question in wrong {
        let effects = node.hear(operator, ToNode::Ask { number: 1, question: question.clone() });
        let told = |it: &Effect| {
            matches!(
                it,
                Effect::Tell {
                    frame: ToClient::QuestionAnswer { answer: QuestionAnswer::NotDone(_), .. },
                    ..
                }
            )
        };
        assert!(matches!(&effects[..], [it] if told(it)), "{question:?}: {effects:?}");
    }
    for question in [Question::Lease(Duration::from_millis(500)), Question::Invite(week)] {
        let effects = node.hear(operator, ToNode::Ask { number: 1, question });
        assert!(matches!(&effects[..], [Effect::Arrange { .. }]), "{effects:?}");
    }
}

#[test]
fn a_leader_that_promises_too_much_is_not_believed() {
    let mut node = Node::new(Limits::default());
    let later = NOW + Duration::from_secs(30);
    node.member.wake(&NoEnvironment, later, &mut node.effects);
    let reply = LeaderReply::Confirmed { incarnation: 5, sequence: 2, lasts: Duration::MAX };
    node.member.leader_replied(reply, later, &mut node.effects);
    assert!(node.member.is_leased(later + Duration::from_secs(599)));
    assert!(!node.member.is_leased(later + Duration::from_secs(600)));
}

#[test]
fn sessions_of_one_address_leave_room_for_others() {
    let limits = Limits { sessions: 5, client_sessions: 3, connection_sessions: 2, ..Limits::default() };
    let mut node = Node::new(limits);
    let [one, two, other] = ["10.0.0.1:1", "10.0.0.1:2", "[::1]:3"].map(|at| node.member.connected(at));
    let first = node.open(one, TTL).unwrap();
    node.open(one, TTL).unwrap();
    assert_eq!(node.open(one, TTL), Err(bound(Bound::ConnectionSessions, 2)));
    node.open(two, TTL).unwrap();
    assert_eq!(node.open(two, TTL), Err(bound(Bound::ClientSessions, 3)));
    // Clients in this process count in the sum, and have no bound of their own.
    node.member.open_here(None, NOW).unwrap();
    node.open(other, TTL).unwrap();
    assert_eq!(node.open(other, TTL), Err(bound(Bound::Sessions, 5)));
    assert_eq!(
        node.tell(one, ToNode::Close { session: first }),
        Some(ToClient::SessionGone { session: first.id })
    );
    node.open(one, TTL).unwrap();
}

/// 100,000 sessions with a ttl of a day shut out all other clients.
#[test]
fn long_sessions_are_few() {
    let mut node = Node::new(Limits { client_long_sessions: 2, ..Limits::default() });
    let one = node.member.connected("10.0.0.1:1");
    let first = node.open(one, LONGEST_TTL).unwrap();
    node.open(one, LONG_TTL + Duration::from_secs(1)).unwrap();
    assert_eq!(node.open(one, LONGEST_TTL), Err(bound(Bound::ClientLongSessions, 2)));
    assert_eq!(node.open(one, LONGEST_TTL + Duration::from_secs(1)), Err(Refusal::TimeToLive));
    assert_eq!(node.open(one, Duration::MAX), Err(Refusal::TimeToLive));
    node.open(one, LONG_TTL).unwrap();
    node.tell(one, ToNode::Close { session: first });
    node.open(one, LONGEST_TTL).unwrap();
}

#[test]
fn requests_have_bounds_and_come_back() {
    let limits = Limits { requests: 5, client_requests: 3, session_requests: 2, ..Limits::default() };
    let mut node = Node::new(limits);
    let [one, two] = ["10.0.0.1:1", "10.0.0.2:1"].map(|at| node.member.connected(at));
    let (a, b, c) = (node.open(one, TTL), node.open(one, TTL), node.open(two, TTL));
    let (a, b, c) = ((one, a.unwrap()), (one, b.unwrap()), (two, c.unwrap()));
    for request in 1..=2 {
        node.mutex(a, request, "x");
    }
    assert_eq!(node.mutex(a, 3, "x"), refused(Bound::SessionRequests, 2));
    node.mutex(b, 1, "x");
    assert_eq!(node.mutex(b, 2, "x"), refused(Bound::ClientRequests, 3));
    node.mutex(c, 1, "x");
    node.mutex(c, 2, "x");
    assert_eq!(node.mutex(c, 3, "x"), refused(Bound::SessionRequests, 2));
    let (here, _) = node.member.open_here(None, NOW).unwrap();
    let (definition, want, timeout) = (Definition::MUTEX, Want::Slot, Timeout::Never);
    let ask = Acquire { request: 1, name: "y".into(), definition, want, timeout };
    let reply = node.member.acquire(here, &ask, &NoEnvironment, NOW, &mut node.effects);
    assert_eq!(reply, Ok(refused(Bound::Requests, 5)));
    node.hear(c.0, ToNode::Cancel { session: c.1, request: 2 });
    assert!(matches!(node.mutex(b, 3, "y"), Some(RequestOutcome::Refused(_))), "its address has three");
    node.hear(a.0, ToNode::Close { session: a.1 });
    assert!(matches!(node.mutex(b, 4, "y"), Some(RequestOutcome::Granted(_))));
}

/// Groups take memory: 64 of them with long names count as many requests.
#[test]
fn groups_count() {
    let mut node = Node::new(Limits { client_requests: 70, ..Limits::default() });
    let one = node.member.connected("10.0.0.1:1");
    let at = (one, node.open(one, TTL).unwrap());
    let groups = |length: usize| Want::AnyOf((0..64).map(|it| format!("{it:0length$}").into()).collect());
    assert!(matches!(node.ask(at, 1, ("x", Definition::Room, groups(2))), Some(RequestOutcome::Granted(_))));
    assert_eq!(node.ask(at, 2, ("x", Definition::Room, groups(255))), refused(Bound::ClientRequests, 70));
}

/// A request of 30 bytes cost 3.5 MiB.
#[test]
fn slots_count() {
    let mut node = Node::new(Limits { slots: 150, client_slots: 100, ..Limits::default() });
    let [one, two] = ["10.0.0.1:1", "10.0.0.2:1"].map(|at| node.member.connected(at));
    let (a, b) = ((one, node.open(one, TTL).unwrap()), (two, node.open(two, TTL).unwrap()));
    let slots = |name, slots| (name, Definition::Slots(slots), Want::Slot);
    assert!(matches!(node.ask(a, 1, slots("x", 80)), Some(RequestOutcome::Granted(_))));
    assert!(
        matches!(node.ask(a, 2, slots("x", 80)), Some(RequestOutcome::Granted(_))),
        "it is there already"
    );
    assert_eq!(node.ask(a, 3, slots("y", 80)), refused(Bound::ClientSlots, 100));
    assert_eq!(node.ask(b, 1, slots("y", 80)), refused(Bound::Slots, 150));
    assert!(matches!(node.mutex(a, 4, "z"), Some(RequestOutcome::Granted(_))), "a mutex has one");
    // When no client uses it any more and it is forgotten, its slots do not count any more.
    node.hear(a.0, ToNode::Close { session: a.1 });
    node.member.wake(&NoEnvironment, NOW + Duration::from_secs(11), &mut node.effects);
    assert!(matches!(node.ask(b, 2, slots("y", 80)), Some(RequestOutcome::Granted(_))));
}

#[test]
fn idle_names_make_room_for_others() {
    let mut node = Node::new(Limits { names: 2, ..Limits::default() });
    let one = node.member.connected("10.0.0.1:1");
    let at = (one, node.open(one, TTL).unwrap());
    node.mutex(at, 1, "x");
    node.mutex(at, 2, "y");
    assert_eq!(node.mutex(at, 3, "z"), refused(Bound::Names, 2));
    node.hear(one, ToNode::Cancel { session: at.1, request: 1 });
    assert!(matches!(node.mutex(at, 4, "z"), Some(RequestOutcome::Granted(_))), "x is idle");
    assert_eq!(node.member.core().status().resources, 2);
}

#[test]
fn orders_on_their_way_are_few() {
    let mut node = Node::new(Limits { control_calls: 3, connection_control_calls: 2, ..Limits::default() });
    let [one, two] = ["10.0.0.1:1", "10.0.0.2:1"].map(|at| node.member.connected(at));
    let define = |number| {
        let definition = Some(Definition::MUTEX);
        ToNode::Order { number, order: Order::Define { name: "x".into(), definition } }
    };
    let lease = |number| ToNode::Ask { number, question: Question::Lease(Duration::from_secs(2)) };
    assert!(matches!(&node.hear(one, define(1))[..], [Effect::Propose { .. }]));
    assert!(matches!(&node.hear(one, lease(2))[..], [Effect::Arrange { .. }]));
    let result = Err(bound(Bound::ConnectionControlCalls, 2));
    assert_eq!(node.tell(one, define(3)), Some(ToClient::OrderResult { number: 3, result }));
    assert!(matches!(&node.hear(two, lease(1))[..], [Effect::Arrange { .. }]));
    let answer = QuestionAnswer::NotDone(bound(Bound::ControlCalls, 3).to_string());
    assert_eq!(node.tell(two, lease(2)), Some(ToClient::QuestionAnswer { number: 2, answer }));
    // A connection that is over frees nothing before the answer comes.
    node.member.disconnected(two, NOW, &mut node.effects);
    assert!(matches!(&node.hear(one, lease(4))[..], [Effect::Tell { .. }]));
    node.member.arranged((two, 1), Ok(QuestionAnswer::Done), &mut node.effects);
    let entry = Entry::Define { name: "x".into(), definition: Some(Definition::MUTEX) };
    node.member.proposed((one, 1), &entry, Ok(Applied::Yes), &mut node.effects);
    node.effects.clear();
    assert!(matches!(&node.hear(one, lease(5))[..], [Effect::Arrange { .. }]));
}

#[test]
fn filters_have_bounds() {
    let mut node = Node::new(Limits { filter_names: 3, filter_bytes: 100, ..Limits::default() });
    let [one, two] = ["10.0.0.1:1", "10.0.0.2:1"].map(|at| node.member.connected(at));
    let watch = |names: &[&str]| {
        let names = names.iter().map(|name| name.to_string()).collect();
        ToNode::Watch(Filter { names, prefixes: Vec::new() })
    };
    let not = |refusal| Some(ToClient::NotWatching(refusal));
    assert_eq!(node.tell(one, watch(&["a"; 4])), not(bound(Bound::FilterNames, 3)));
    let long = "x".repeat(256);
    assert_eq!(node.tell(one, watch(&[&long])), not(Refusal::NameTooLong(256)));
    assert_eq!(node.tell(one, watch(&["aaa"; 3])), Some(ToClient::Watching));
    assert_eq!(node.tell(one, watch(&["aaa"; 3])), Some(ToClient::Watching), "instead of the one before");
    assert_eq!(node.tell(two, watch(&["a"])), not(bound(Bound::FilterBytes, 100)));
    node.member.disconnected(one, NOW, &mut node.effects);
    assert_eq!(node.tell(two, watch(&["a"])), Some(ToClient::Watching));
}

/// The end of a session with very many requests goes in slices: what it holds is free at once, others are served in between, and a
/// grant that one of its waiters still gets counts for nothing.
#[test]
fn a_session_with_many_requests_ends_in_slices() {
    for (definition, want) in [(Definition::MUTEX, Want::Slot), (Definition::RwLock, Want::Write)] {
        let mut node = Node::new(Limits::default());
        let [one, two] = ["10.0.0.1:1", "10.0.0.2:1"].map(|at| node.member.connected(at));
        let (a, b) = ((one, node.open(one, TTL).unwrap()), (two, node.open(two, TTL).unwrap()));
        let about = |name| (name, definition, want.clone());
        assert!(matches!(node.ask(b, 1, about("busy")), Some(RequestOutcome::Granted(_))));
        for request in 1..=5_000 {
            node.ask(a, request, about("busy"));
        }
        assert!(matches!(node.ask(a, 5_001, about("held")), Some(RequestOutcome::Granted(_))));
        assert!(node.ask(b, 2, about("held")).is_none() && node.ask(b, 3, about("busy")).is_none());
        node.tell(two, ToNode::Watch(Filter::default()));
        let effects = node.hear(one, ToNode::Close { session: a.1 });
        assert!(effects.len() < 600, "{} effects in one call", effects.len());
        assert!(granted(&effects, b.1).contains(&2), "what it held is free at once");
        assert!(!node.member.core().knows(a.1.id), "it is gone for its client");
        // Its waiters come next at the busy lock, and get nothing.
        let fence = granted_fence(&node, "busy");
        let mut effects = node.hear(two, ToNode::Release { session: b.1, request: 1, fence });
        let mut calls = 0;
        while node.member.core().wakes_at().is_some_and(|at| at <= NOW) {
            node.member.wake(&NoEnvironment, NOW, &mut node.effects);
            assert!(node.effects.len() < 600, "{} effects in one call", node.effects.len());
            effects.append(&mut node.effects);
            calls += 1;
        }
        assert!(calls > 10, "{calls}");
        assert_eq!(granted(&effects, a.1), [], "nobody is told of a grant to a session that is gone");
        assert_eq!(granted(&effects, b.1), [3], "{definition:?}");
        assert_eq!(node.member.core().status().requests, 2);
    }
}

/// The end of each request is told to all watchers: that counts, too.
#[test]
fn the_more_clients_watch_the_smaller_are_the_slices() {
    let mut node = Node::new(Limits::default());
    let one = node.member.connected("10.0.0.1:1");
    let session = node.open(one, TTL).unwrap();
    (1..=2_000).for_each(|request| {
        node.ask((one, session), request, ("busy", Definition::MUTEX, Want::Slot));
    });
    for watcher in 0..200 {
        let connection = node.member.connected(&*format!("10.0.1.{watcher}:1"));
        node.tell(connection, ToNode::Watch(Filter::default()));
    }
    let mut told = node.hear(one, ToNode::Close { session }).len();
    assert!(told < 8_000, "{told} effects in one call");
    while node.member.core().wakes_at().is_some_and(|at| at <= NOW) {
        node.member.wake(&NoEnvironment, NOW, &mut node.effects);
        assert!(node.effects.len() < 8_000, "{} effects in one call", node.effects.len());
        told += std::mem::take(&mut node.effects).len();
    }
    assert!(told >= 2_000 * 200, "each learns of every end: {told}");
}

/// Many sessions that expire at once end in slices, too, however few requests each of them has.
#[test]
fn sessions_that_run_out_together_end_in_slices() {
    let mut node = Node::new(Limits::default());
    let connections: Vec<_> =
        (0..100).map(|client| node.member.connected(&*format!("c{client}:1"))).collect();
    for connection in connections {
        let session = node.open(connection, TTL).unwrap();
        for request in 1..=50 {
            node.ask((connection, session), request, ("busy", Definition::MUTEX, Want::Slot));
        }
    }
    let (later, mut calls) = (NOW + 2 * TTL, 0);
    while node.member.core().status().sessions > 0 {
        let before = node.member.core().status().requests;
        node.member.wake(&NoEnvironment, later, &mut node.effects);
        let ended = before - node.member.core().status().requests;
        assert!(ended < 400, "{ended} requests end in one call");
        calls += 1;
        assert!(calls < 1_000);
    }
    assert!(calls > 10, "{calls}");
}

/// The requests of a session that the node said were granted.
fn granted(effects: &[Effect], session: SessionHandle) -> Vec<u64> {
    let granted = effects.iter().filter_map(|effect| match effect {
        Effect::Tell { frame: ToClient::Reply(reply), .. } if reply.session == session.id => {
            matches!(reply.outcome, RequestOutcome::Granted(_)).then_some(reply.request)
        }
        _ => None,
    });
    granted.collect()
}

/// The fence of the holder of a name.
fn granted_fence(node: &Node, name: &str) -> u64 {
    let page = node.member.core().inspect_page(name, None, NOW);
    page.listings[0].clients.iter().find_map(|client| client.granted).expect("it is held").fence
}

/// Requests that time out at the same moment do so in slices.
#[test]
fn a_lapse_of_the_lease_goes_in_slices() {
    let mut node = Node::new(Limits::default());
    let one = node.member.connected("10.0.0.1:1");
    let at = (one, node.open(one, Duration::from_secs(300)).unwrap());
    for request in 1..=5_000 {
        node.mutex(at, request, "x");
    }
    let lapsed = NOW + Duration::from_secs(60);
    let (mut refused, mut calls) = (0, 0);
    while node.member.core().wakes_at().is_some_and(|at| at <= lapsed) {
        node.member.wake(&NoEnvironment, lapsed, &mut node.effects);
        assert!(node.effects.len() < 600, "{} effects in one call", node.effects.len());
        let is_no = |it: &&Effect| {
            let Effect::Tell { frame: ToClient::Reply(reply), .. } = it else { return false };
            reply.outcome == RequestOutcome::Refused(Refusal::NoLease)
        };
        refused += node.effects.iter().filter(is_no).count();
        // The holder releases in between. The next waiter must not be granted anything without a lease.
        let release = ToNode::Release { session: at.1, request: 1, fence: (1 << 40) + 1 };
        node.member.hear(one, release, &NoEnvironment, lapsed, &mut node.effects);
        assert_eq!(granted(&node.effects, at.1), []);
        node.effects.clear();
        calls += 1;
    }
    assert!(calls > 10 && refused == 4_999, "{calls} calls, {refused} refused");
    assert_eq!(node.member.core().status().requests, 0);
}

/// A node with very many names brings them into a new view in slices. One that a client uses before its turn comes at once, and
/// members hear that everything was reported after everything was.
#[test]
fn a_view_change_with_many_names_goes_in_slices() {
    const NAMES: u64 = 5_000;
    let mut node = Node::new(Limits::default());
    let one = node.member.connected("10.0.0.1:1");
    let at = (one, node.open(one, TTL).unwrap());
    let name = |request: u64| format!("n{request}");
    for request in 1..=NAMES {
        assert!(matches!(node.mutex(at, request, &name(request)), Some(RequestOutcome::Granted(_))));
    }
    let mut registry = Registry { lease: Duration::from_secs(60), ..Registry::default() };
    agree_on_view(&mut registry, &[0]);
    agree_on_view(&mut registry, &[0, 1]);
    node.member.agreed(&Arc::new(registry), 6, NOW, &mut node.effects);
    // The last in turn whose home is the other member.
    let last = (1..=NAMES).rev().find(|request| node.member.core().home(&name(*request)) == 1).unwrap();
    let mut said = Vec::new();
    let mut calls = 0;
    loop {
        let about = std::mem::take(&mut node.effects).into_iter().filter_map(|effect| match effect {
            Effect::Send { message, .. } => Some(message.content),
            _ => None,
        });
        let about: Vec<PeerContent> = about.collect();
        assert!(about.len() < 600, "{} messages in one call", about.len());
        said.extend(about);
        if calls == 2 {
            let fence = granted_fence(&node, &name(last));
            node.effects = node.hear(one, ToNode::Release { session: at.1, request: last, fence });
            let first = node.effects.iter().find_map(|effect| match effect {
                Effect::Send { message, .. } => Some(&message.content),
                _ => None,
            });
            let Some(PeerContent::Resource { name: about, message: ResourceMessage::Report(_), .. }) = first
            else {
                panic!("{first:?}")
            };
            assert_eq!(**about, name(last));
        } else if node.member.core().wakes_at().is_some_and(|at| at <= NOW) {
            node.member.wake(&NoEnvironment, NOW, &mut node.effects);
        } else {
            break;
        }
        calls += 1;
    }
    assert!(calls > 10, "{calls}");
    let ends = said.iter().filter(|said| **said == PeerContent::EndMark).count();
    let is_report = |said: &PeerContent| {
        matches!(said, PeerContent::Resource { message: ResourceMessage::Report(_), .. })
    };
    let at_other_home = (1..=NAMES).filter(|request| node.member.core().home(&name(*request)) == 1).count();
    assert_eq!((ends, said.iter().filter(|said| is_report(said)).count()), (1, at_other_home));
    let end = said.iter().position(|said| *said == PeerContent::EndMark).unwrap();
    assert!(!said[end..].iter().any(is_report), "an end mark comes before a report");
}
