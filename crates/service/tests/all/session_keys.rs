//! The number of a session is no secret, its key is: without the key nothing happens to a session, and nothing is learnt of it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use service::core::Timeout;
use service::member::{ConnectionId, ControlPlane, Effect, Environment, LeaderReply, Note, Setup};
use service::protocol::{ToClient, ToNode};
use service::registry::{Entry, Leadership, MemberEntry, Registry};
use service::view::View;
use service::{
    Acquire, Config, Defect, Definition, Member, RequestOutcome, SessionHandle, SessionId, SessionKey, Time,
    Want,
};

pub(crate) const NOW: Time = Time(1_000_000_000);
const TTL: Duration = Duration::from_secs(10);

/// Gives out other keys all the time.
#[derive(Default)]
pub(crate) struct Keys {
    last: Cell<u8>,
    /// The wall clock.
    pub(crate) clock: Cell<u64>,
    /// The nodes of the cluster, as the control plane knows them.
    pub(crate) nodes: RefCell<BTreeMap<u32, String>>,
}

impl Environment for Keys {
    fn unreachable(&self) -> BTreeMap<u32, Duration> {
        BTreeMap::new()
    }

    fn waiting_for(&self, _peer: u32) -> usize {
        0
    }

    fn control_plane(&self) -> ControlPlane {
        ControlPlane { nodes: self.nodes.borrow().clone(), ..ControlPlane::default() }
    }

    fn session_key(&self) -> SessionKey {
        self.last.set(self.last.get() + 1);
        SessionKey::new([self.last.get(); 16])
    }

    fn unix_seconds(&self) -> u64 {
        self.clock.get()
    }
}

/// A member that is alone in its cluster, and has a lease.
pub(crate) struct Node {
    pub(crate) member: Member,
    pub(crate) keys: Keys,
    pub(crate) registry: Registry,
}

impl Node {
    pub(crate) fn new(defect: Option<Defect>) -> Node {
        let core = Config { defect, ..Config::new(0, View::alone(0)) };
        let setup = Setup { cluster: String::new(), address: String::new(), clients: String::new(), core };
        let leader = Leadership { term: 1, node: 0 };
        let mut registry = Registry::default();
        let mut member = Member::new(setup, Arc::new(registry.clone()), 5, NOW);
        let members = [(0, MemberEntry::new(5, "", ""))].into();
        registry.apply(&Entry::View { base_epoch: 0, decided_by: leader, members }, leader);
        let (keys, mut effects) = (Keys::default(), Vec::new());
        member.agreed(&Arc::new(registry.clone()), 5, NOW, &mut effects);
        member.wake(&keys, NOW, &mut effects);
        let reply = LeaderReply::Confirmed { incarnation: 5, sequence: 1, lasts: Duration::from_secs(3) };
        member.leader_replied(reply, NOW, &mut effects);
        Node { member, keys, registry }
    }

    pub(crate) fn hear(&mut self, connection: ConnectionId, frame: ToNode) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.member.hear(connection, frame, &self.keys, NOW, &mut effects);
        effects
    }

    /// What clients are told.
    pub(crate) fn told(&mut self, connection: ConnectionId, frame: ToNode) -> Vec<(ConnectionId, ToClient)> {
        let told = self.hear(connection, frame).into_iter();
        told.filter_map(|it| match it {
            Effect::Tell { connection, frame } => Some((connection, frame)),
            _ => None,
        })
        .collect()
    }

    /// A client with a session that holds a mutex.
    fn holder(&mut self, name: &str) -> (ConnectionId, SessionHandle, u64) {
        let connection = self.member.connected("10.0.0.1:1");
        let told = self.told(connection, ToNode::Open { ttl: TTL, label: None });
        let [(_, ToClient::Opened { session: id, key, .. })] = told[..] else { panic!("{told:?}") };
        let session = SessionHandle { id, key };
        let told = self.told(connection, ToNode::Acquire { session, ask: ask(1, name) });
        let [(_, ToClient::Reply(reply))] = &told[..] else { panic!("{told:?}") };
        let RequestOutcome::Granted(grant) = reply.outcome else { panic!("{reply:?}") };
        (connection, session, grant.fence)
    }
}

pub(crate) fn ask(request: u64, name: &str) -> Acquire {
    let (definition, want, timeout) = (Definition::MUTEX, Want::Slot, Timeout::Never);
    Acquire { request, name: name.into(), definition, want, timeout }
}

/// Everything that can be said about a session.
fn frames(session: SessionHandle, fence: u64) -> [ToNode; 6] {
    [
        ToNode::KeepAlive { session, sequence: 1, settled: 1 },
        ToNode::Acquire { session, ask: ask(1, "x") },
        ToNode::Acquire { session, ask: ask(2, "y") },
        ToNode::Cancel { session, request: 1 },
        ToNode::Release { session, request: 1, fence },
        ToNode::Close { session },
    ]
}

/// The answer, with another number for the session.
fn as_if_about(number: u64, mut told: Vec<(ConnectionId, ToClient)>) -> Vec<(ConnectionId, ToClient)> {
    for (_, frame) in &mut told {
        match frame {
            ToClient::SessionGone { session } | ToClient::NotReleased { session, .. } => {
                session.number = number;
            }
            other => panic!("only what is said about unknown sessions: {other:?}"),
        }
    }
    told
}

#[test]
fn a_stranger_that_counts_gets_the_answers_for_a_session_that_is_not_there() {
    let mut node = Node::new(None);
    let (holder, session, fence) = node.holder("x");
    let (_, other, _) = node.holder("z");
    assert_ne!(session.key, other.key);
    let stranger = node.member.connected("10.0.0.2:1");
    let keys = [SessionKey::new([0; 16]), other.key];
    for key in keys {
        let wrong = SessionHandle { key, ..session };
        let nobody = SessionHandle { id: SessionId { number: 1000, ..session.id }, key };
        for (guess, unknown) in frames(wrong, fence).into_iter().zip(frames(nobody, fence)) {
            let expected = as_if_about(1, node.told(stranger, unknown));
            assert_eq!(node.told(stranger, guess.clone()), expected, "{guess:?}");
        }
    }
    assert_eq!(node.member.core().status().counts.wrong_keys, 12);
    // The holder still holds, and hears what is for it.
    let told = node.told(holder, ToNode::KeepAlive { session, sequence: 1, settled: 0 });
    assert!(matches!(told[..], [(to, ToClient::Promise { .. })] if to == holder), "{told:?}");
    let told = node.told(holder, ToNode::Acquire { session, ask: ask(1, "x") });
    assert!(matches!(&told[..], [(_, ToClient::Reply(reply))] if reply.request == 1), "{told:?}");
}

#[test]
fn a_wrong_key_is_noted_and_an_unknown_session_is_not() {
    let mut node = Node::new(None);
    let (_, session, _) = node.holder("x");
    let stranger = node.member.connected("10.0.0.2:1");
    let wrong = SessionHandle { key: SessionKey::new([0; 16]), ..session };
    let effects = node.hear(stranger, ToNode::Close { session: wrong });
    let [Effect::Note(Note::Audit(entry))] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((&*entry.address, entry.allowed), ("10.0.0.2:1", false));
    let unknown = SessionHandle { id: SessionId { number: 9, ..session.id }, ..session };
    assert_eq!(node.hear(stranger, ToNode::Close { session: unknown }), []);
}

#[test]
fn no_client_far_away_has_a_session_of_this_process() {
    let mut node = Node::new(None);
    let (id, _) = node.member.open_here(None, NOW).unwrap();
    let mut effects = Vec::new();
    node.member.acquire(id, &ask(1, "x"), &Keys::default(), NOW, &mut effects).unwrap();
    let stranger = node.member.connected("10.0.0.2:1");
    for key in [0, 1, 255].map(|byte| SessionKey::new([byte; 16])) {
        node.told(stranger, ToNode::Close { session: SessionHandle { id, key } });
    }
    assert!(node.member.core().knows(id));
}

#[test]
fn without_the_rule_a_stranger_closes_the_session_of_another() {
    let mut node = Node::new(Some(Defect::KeyNotChecked));
    let (holder, session, _) = node.holder("x");
    let stranger = node.member.connected("10.0.0.2:1");
    let wrong = SessionHandle { key: SessionKey::new([0; 16]), ..session };
    let told = node.told(stranger, ToNode::Close { session: wrong });
    assert_eq!(told, [(holder, ToClient::SessionGone { session: session.id })]);
}
