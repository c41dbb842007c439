//! What a member decides around its core: incarnations, renewals, leaving, and what it accepts from peers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use algorithms::forest::{self, Body, Size};
use service::core::{PeerContent, Timeout};
use service::member::{Breach, ConnectionId, ControlPlane, Effect, Environment, LeaderReply, Note, Setup};
use service::protocol::{ToClient, ToNode};
use service::registry::{Entry, Leadership, MemberEntry, Registry};
use service::resource::ResourceMessage;
use service::view::View;
use service::{
    Acquire, Config, Definition, Identity, Member, PeerMessage, RequestOutcome, SessionHandle, SessionKey,
    Time, Want,
};

const LEASE: Duration = Duration::from_secs(3);
const LEADER: Leadership = Leadership { term: 1, node: 0 };
const TTL: Duration = Duration::from_secs(10);

/// Peers that are out of reach, and for how long.
#[derive(Default)]
struct Around(BTreeMap<u32, Duration>);

impl Environment for Around {
    fn unreachable(&self) -> BTreeMap<u32, Duration> {
        self.0.clone()
    }

    fn waiting_for(&self, _peer: u32) -> usize {
        0
    }

    fn control_plane(&self) -> ControlPlane {
        ControlPlane::default()
    }

    fn session_key(&self) -> SessionKey {
        SessionKey::new([7; 16])
    }

    fn unix_seconds(&self) -> u64 {
        0
    }
}

/// Milliseconds since the start.
fn at(millis: u64) -> Time {
    Time(0) + Duration::from_millis(millis)
}

/// The registry after a view of these incarnations was committed.
fn next(registry: &Registry, members: &[(u32, u64)]) -> Arc<Registry> {
    let mut registry = registry.clone();
    let members = members.iter().map(|(id, of)| (*id, MemberEntry::new(*of, "", ""))).collect();
    let entry = Entry::View { base_epoch: registry.epoch, decided_by: LEADER, members };
    registry.apply(&entry, LEADER);
    Arc::new(registry)
}

/// A member of nodes 0, 1 and 2, with what it wants done.
struct Node {
    member: Member,
    environment: Around,
    registry: Arc<Registry>,
    effects: Vec<Effect>,
}

impl Node {
    /// A process that starts, in no view yet.
    fn start(id: u32, lease: Duration) -> Node {
        let core = Config::new(id, View::alone(id));
        let setup = Setup { cluster: String::new(), address: String::new(), clients: String::new(), core };
        let registry = Arc::new(Registry { lease, ..Registry::default() });
        let member = Member::new(setup, registry.clone(), 5, at(1));
        Node { member, environment: Around::default(), registry, effects: Vec::new() }
    }

    /// One that is in the first view, and whose lease was just renewed.
    fn leased(id: u32, lease: Duration) -> Node {
        let mut node = Node::start(id, lease);
        node.agree(&[(0, 5), (1, 5), (2, 5)], 10);
        node.renew(10);
        node.effects.clear();
        node
    }

    fn agree(&mut self, members: &[(u32, u64)], millis: u64) {
        self.registry = next(&self.registry, members);
        self.member.agreed(&self.registry, 5, at(millis), &mut self.effects);
    }

    fn wake(&mut self, millis: u64) {
        self.member.wake(&self.environment, at(millis), &mut self.effects);
    }

    /// Wakes it, and confirms what it asks for.
    fn renew(&mut self, millis: u64) {
        self.wake(millis);
        let Some((identity, sequence)) = self.renewal().map(|it| (it.identity, it.sequence)) else {
            panic!("it renews: {:?}", self.effects)
        };
        let lasts = self.registry.lease;
        let reply = LeaderReply::Confirmed { incarnation: identity.incarnation, sequence, lasts };
        self.member.leader_replied(reply, at(millis), &mut self.effects);
    }

    /// The last renewal that it wants to send.
    fn renewal(&self) -> Option<&service::leases::Renewal> {
        self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Renew(renewal) => Some(renewal),
            _ => None,
        })
    }

    fn hear(&mut self, connection: ConnectionId, frame: ToNode, millis: u64) {
        self.member.hear(connection, frame, &self.environment, at(millis), &mut self.effects);
    }

    /// What it sent to clients since the last time.
    fn told(&mut self) -> Vec<ToClient> {
        let told = std::mem::take(&mut self.effects).into_iter();
        told.filter_map(|effect| if let Effect::Tell { frame, .. } = effect { Some(frame) } else { None })
            .collect()
    }

    /// A client with a session that holds a mutex.
    fn holder(&mut self, name: &str, millis: u64) -> (ConnectionId, SessionHandle) {
        let connection = self.member.connected("a test");
        self.hear(connection, ToNode::Open { ttl: TTL, label: None }, millis);
        let told = self.told();
        let [ToClient::Opened { session: id, key, .. }] = told[..] else { panic!("{told:?}") };
        let session = SessionHandle { id, key };
        let (definition, want, timeout) = (Definition::MUTEX, Want::Slot, Timeout::Never);
        let ask = Acquire { request: 1, name: name.into(), definition, want, timeout };
        self.hear(connection, ToNode::Acquire { session, ask }, millis);
        let told = self.told();
        let [ToClient::Reply(reply)] = &told[..] else { panic!("{told:?}") };
        assert!(matches!(reply.outcome, RequestOutcome::Granted(_)), "{reply:?}");
        (connection, session)
    }

    fn receive(&mut self, from: u32, content: PeerContent, millis: u64) {
        let epoch = self.member.view().epoch;
        self.member.receive(from, PeerMessage { epoch, content }, at(millis), &mut self.effects);
    }

    /// The rule that a peer broke, if the member disconnects it.
    fn breach(&mut self, from: u32, content: PeerContent) -> Option<Breach> {
        self.effects.clear();
        self.receive(from, content, 20);
        let disconnects = self.effects.iter().find_map(|effect| match effect {
            Effect::Disconnect { peer, why } if *peer == from => Some(why.clone()),
            _ => None,
        });
        let noted = self.effects.iter().any(|it| matches!(it, Effect::Note(Note::Breach { .. })));
        assert_eq!(noted, disconnects.is_some(), "what is disconnected is reported");
        disconnects
    }
}

/// A name that is at home at this node, among nodes 0, 1 and 2.
fn name_at(home: u32) -> String {
    let view = View::of(1, 0..3);
    let mut names = (0..).map(|number| format!("name {number}"));
    names.find(|name| view.index_of(home) == Some(view.home(name))).expect("names are at home everywhere")
}

#[test]
fn a_process_asks_to_become_a_member_until_a_view_is_agreed_on() {
    let mut node = Node::start(1, LEASE);
    node.wake(1);
    assert!(matches!(&node.effects[..], [Effect::Join(member)] if member.incarnation == 5));
    node.effects.clear();
    node.member.leader_replied(LeaderReply::Noted, at(2), &mut node.effects);
    // Noted, but not a member yet: it asks again soon.
    node.wake(251);
    assert!(matches!(&node.effects[..], [Effect::Join(_)]), "{:?}", node.effects);
    node.agree(&[(0, 5), (1, 4)], 300);
    assert_eq!(node.member.view().epoch, 0, "another incarnation of it is no reason to enter");
    node.agree(&[(0, 5), (1, 5)], 400);
    assert_eq!(node.member.view().epoch, 2);
    node.effects.clear();
    node.wake(400);
    assert!(node.renewal().is_some_and(|renewal| (renewal.epoch, renewal.identity.incarnation) == (2, 5)));
}

#[test]
fn a_silent_leader_is_asked_again_soon_and_the_log_hears_of_it() {
    let mut node = Node::start(1, LEASE);
    let mut complaints = 0;
    for millis in 1..40_000 {
        node.wake(millis);
        let asks = node.effects.iter().any(|effect| matches!(effect, Effect::Join(_)));
        complaints +=
            node.effects.iter().filter(|it| matches!(it, Effect::Note(Note::NoLease { .. }))).count();
        node.effects.clear();
        if asks {
            node.member.leader_replied(LeaderReply::Silence, at(millis), &mut node.effects);
            let next = node.member.wakes_at().expect("it goes on");
            assert!(next - at(millis) <= LEASE / 6 / 8, "{next:?}");
        }
    }
    assert_eq!(complaints, 2, "after three leases, and again after half a minute");
}

/// A refused renewal says nothing about views: the leader may be about to exclude the node, or may have been
/// replaced. Only a committed view excludes it.
#[test]
fn a_node_is_excluded_by_a_view_and_by_nothing_else() {
    let mut node = Node::leased(1, LEASE);
    let name = name_at(1);
    let (_, session) = node.holder(&name, 20);
    node.member.leader_replied(LeaderReply::NotRenewed, at(600), &mut node.effects);
    node.member.leader_replied(LeaderReply::Refused("no".to_owned()), at(600), &mut node.effects);
    assert_eq!((node.member.incarnation(), node.told()), (5, Vec::new()));
    node.agree(&[(0, 5), (2, 5)], 700);
    assert!(node.effects.contains(&Effect::Note(Note::Excluded { while_leased: true })), "that is an alarm");
    assert!(node.effects.contains(&Effect::BeginIncarnation(Identity { id: 1, incarnation: 6 })));
    assert_eq!(node.told(), [ToClient::SessionGone { session: session.id }], "what it had is gone");
    assert_eq!((node.member.incarnation(), node.member.view().epoch), (6, 0));
    assert!(!node.member.is_leased(at(700)));
    // It comes back as another.
    node.wake(700);
    assert!(matches!(&node.effects[..], [Effect::Join(member)] if member.incarnation == 6));
}

#[test]
fn an_answer_to_another_incarnation_renews_nothing() {
    let mut node = Node::leased(1, LEASE);
    node.agree(&[(0, 5), (2, 5)], 100);
    node.agree(&[(0, 5), (1, 6), (2, 5)], 200);
    node.wake(200);
    let late = LeaderReply::Confirmed { incarnation: 5, sequence: 1, lasts: LEASE };
    node.member.leader_replied(late, at(300), &mut node.effects);
    assert!(!node.member.is_leased(at(300)));
}

/// With leases of a second or so, a peer that is unreachable for a second would be named too late to part the two in time.
#[test]
fn a_peer_counts_as_unreachable_after_a_second_or_a_third_of_a_lease() {
    for (lease, after) in [(Duration::from_secs(9), 1000), (Duration::from_millis(600), 200)] {
        for (millis, named) in [(after - 1, vec![]), (after, vec![2])] {
            let mut node = Node::leased(1, lease);
            node.environment.0.insert(2, Duration::from_millis(millis));
            node.wake(10 + lease.as_millis() as u64 / 6);
            assert_eq!(node.renewal().map(|renewal| renewal.unreachable.clone()), Some(named), "{lease:?}");
        }
    }
}

#[test]
fn end_marks_that_stay_away_are_reported() {
    let mut node = Node::leased(1, LEASE);
    node.agree(&[(0, 5), (1, 5)], 1000);
    node.wake(1000);
    assert_eq!(node.renewal().map(|renewal| renewal.missing_ends.clone()), Some(vec![]), "not at once");
    node.wake(2000);
    assert_eq!(node.renewal().map(|renewal| renewal.missing_ends.clone()), Some(vec![0]));
    node.receive(0, PeerContent::EndMark, 2100);
    node.wake(2600);
    assert_eq!(node.renewal().map(|renewal| renewal.missing_ends.clone()), Some(vec![]));
}

/// A client that holds something may finish under what it was promised. It has a lease's time; keep-alives within that are
/// answered, and later ones are not: to say that the session is gone would end its work for nothing.
#[test]
fn clients_of_a_leaving_node_have_a_lease_to_finish() {
    let mut node = Node::leased(1, LEASE);
    let (connection, session) = node.holder(&name_at(1), 20);
    node.member.leave(at(100), &mut node.effects);
    assert_eq!(node.told(), [], "it holds something, and goes on");
    let keep_alive = |sequence| ToNode::KeepAlive { session, sequence, settled: 1 };
    node.renew(2_900);
    node.effects.clear();
    node.hear(connection, keep_alive(1), 3_099);
    assert!(matches!(node.told()[..], [ToClient::Promise { .. }]), "until the lease's time is over");
    node.hear(connection, keep_alive(2), 3_100);
    assert_eq!(node.told(), [], "then there is nothing to say: what was promised still holds");
    let goodbye = |effect: &Effect| matches!(effect, Effect::Goodbye(Identity { id: 1, incarnation: 5 }));
    // The last promise lasted no longer than the lease, which is over at 5.9 s; on any clock a little later.
    for millis in 3_100..6_400 {
        node.wake(millis);
        assert!(!node.effects.iter().any(goodbye), "a client may still hold at {millis}");
    }
    (6_400..6_700).for_each(|millis| node.wake(millis));
    assert!(node.effects.iter().any(goodbye), "now nobody does");
    node.agree(&[(0, 5), (2, 5)], 6_800);
    assert!(node.effects.contains(&Effect::Left) && node.member.has_left());
}

#[test]
fn a_node_whose_client_lets_go_says_goodbye_at_once_and_again_until_it_is_heard() {
    let mut node = Node::leased(1, LEASE);
    let (connection, session) = node.holder(&name_at(1), 20);
    node.member.leave(at(100), &mut node.effects);
    node.hear(connection, ToNode::Close { session }, 200);
    node.effects.clear();
    let mut said = 0;
    for millis in 200..700 {
        node.wake(millis);
        said += node.effects.iter().filter(|it| matches!(it, Effect::Goodbye(_))).count();
        node.effects.clear();
    }
    assert_eq!(said, 5, "every tenth of a second");
    // No node hears it: it does not wait for ever.
    node.wake(200 + 10 + 3_000);
    assert!(node.effects.contains(&Effect::Left));
}

#[test]
fn a_leaving_node_opens_no_session_and_one_in_no_view_is_gone_at_once() {
    let mut node = Node::leased(1, LEASE);
    node.member.leave(at(100), &mut node.effects);
    let connection = node.member.connected("a test");
    node.effects.clear();
    node.hear(connection, ToNode::Open { ttl: TTL, label: None }, 110);
    assert_eq!(node.told(), [ToClient::NotOpened(service::Refusal::Leaving)]);
    let mut outside = Node::start(1, LEASE);
    outside.member.leave(at(2), &mut outside.effects);
    assert_eq!(outside.effects, [Effect::Left]);
}

fn about(name: &str, definition: Definition, message: ResourceMessage) -> PeerContent {
    PeerContent::Resource { name: name.into(), definition, message }
}

fn slots(body: Body) -> ResourceMessage {
    ResourceMessage::Slots(forest::Message { clock: 1, body })
}

/// What no honest peer sends. The node neither panics nor allocates for it: it disconnects the peer, says so, and names it
/// to the leader.
#[test]
fn a_peer_that_breaks_the_rules_is_disconnected_and_named() {
    let name = &name_at(1)[..];
    let request = |origin, token| slots(Body::Request { origin, token, front: false });
    let resized = |stamp, tokens| slots(Body::Resized { size: Size { stamp, tokens } });
    let cases = [
        (about("", Definition::MUTEX, request(0, 0)), Breach::Name),
        (about(&"x".repeat(300), Definition::MUTEX, request(0, 0)), Breach::Name),
        (about(name, Definition::Slots(u32::MAX), request(0, 0)), Breach::Definition),
        (about(name, Definition::Slots(0), request(0, 0)), Breach::Definition),
        (about(name, Definition::Room, request(0, 0)), Breach::OtherKind),
        (about(name, Definition::MUTEX, request(3, 0)), Breach::OutOfRange),
        (about(name, Definition::MUTEX, request(0, u32::MAX)), Breach::OutOfRange),
        (about(name, Definition::MUTEX, resized(1, u32::MAX)), Breach::OutOfRange),
        (about(name, Definition::MUTEX, resized(u64::MAX, 1)), Breach::OutOfRange),
        (
            about(name, Definition::MUTEX, ResourceMessage::Refused { defined: Definition::Slots(u32::MAX) }),
            Breach::OutOfRange,
        ),
    ];
    for (content, why) in cases {
        let mut node = Node::leased(1, LEASE);
        assert_eq!(node.breach(0, content.clone()), Some(why), "{content:?}");
        // In this view nothing more is taken in of it, and the leader learns of it.
        assert_eq!(node.breach(0, content), None);
        node.wake(600);
        assert_eq!(node.renewal().map(|renewal| renewal.unreachable.clone()), Some(vec![0]));
        // In the next it gets another chance.
        node.agree(&[(0, 5), (1, 5)], 700);
        node.wake(1300);
        assert_eq!(node.renewal().map(|renewal| renewal.unreachable.clone()), Some(vec![]));
    }
}

#[test]
fn a_report_after_the_end_mark_is_a_breach() {
    let mut node = Node::leased(1, LEASE);
    let report = || {
        let size = Size { stamp: 0, tokens: 1 };
        let report = service::resource::Report::Slots(vec![(0, 7)], size);
        about(&name_at(1), Definition::MUTEX, ResourceMessage::Report(report))
    };
    assert_eq!(node.breach(0, report()), Some(Breach::ReportAfterEnd), "nobody owes one in the first view");
    let mut node = Node::leased(1, LEASE);
    node.agree(&[(0, 5), (1, 5)], 100);
    assert_eq!(node.breach(0, report()), None, "before its end mark");
    assert_eq!(node.breach(0, PeerContent::EndMark), None);
    assert_eq!(node.breach(0, report()), Some(Breach::ReportAfterEnd));
}

#[test]
fn bytes_that_are_no_message_are_a_breach() {
    let mut node = Node::leased(1, LEASE);
    node.member.received_nonsense(2, "odd".to_owned(), &mut node.effects);
    assert!(node.effects.contains(&Effect::Disconnect { peer: 2, why: Breach::Malformed("odd".to_owned()) }));
    // A stranger is not worth a word.
    node.effects.clear();
    node.member.received_nonsense(9, "odd".to_owned(), &mut node.effects);
    assert_eq!(node.effects, []);
}

/// A token that this node has comes from a peer: well-formed, and impossible. It changes nothing.
#[test]
fn a_message_that_contradicts_what_is_known_changes_nothing() {
    let mut node = Node::leased(1, LEASE);
    let name = name_at(1);
    node.holder(&name, 15);
    let (queue, size) = (Vec::new(), Size { stamp: 0, tokens: 1 });
    let token = slots(Body::Token { token: 0, version: 7, queue, size });
    let breach = node.breach(2, about(&name, Definition::MUTEX, token));
    assert!(matches!(breach, Some(Breach::Contradiction(_))), "{breach:?}");
    assert_eq!(node.member.core().tokens().count(), 1);
    assert_eq!(node.member.core().status().requests, 1, "the holder notices nothing");
}
