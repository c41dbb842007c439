//! What a member lets callers do once security is on, and what becomes of open sessions when rights change.

use std::sync::Arc;
use std::time::Duration;

use service::auth::{Caller, Change, Evidence, Quota, QuotaOf, Rights, Secret, Token, TokenHash, decide};
use service::event::Filter;
use service::member::{ConnectionId, Effect};
use service::protocol::{Order, Question, QuestionAnswer, ToClient, ToNode};
use service::registry::{Applied, Entry, Leadership, Registry};
use service::{Definition, Refusal, RequestOutcome, SessionHandle};

use crate::session_keys::{NOW, Node, ask};

const LEADER: Leadership = Leadership { term: 1, node: 0 };
const TTL: Duration = Duration::from_secs(10);

fn secret(byte: u8) -> Secret {
    Secret::new([byte; 32])
}

fn allow(who: &str, prefix: &str, actions: &str) -> Change {
    let (who, actions) = (who.parse().unwrap(), actions.parse().unwrap());
    Change::Allow { who, prefix: prefix.into(), actions }
}

fn token(byte: u8, principal: &str, expires: Option<u64>) -> Change {
    let token = Token { principal: principal.into(), expires };
    Change::AddToken { hash: secret(byte).hash(), token }
}

/// A node whose cluster has these rights; byte 1 is the token of the first administrator.
struct Secured {
    node: Node,
    registry: Registry,
}

impl Secured {
    fn new(changes: &[Change]) -> Secured {
        let node = Node::new(None);
        let registry = node.registry.clone();
        let mut secured = Secured { node, registry };
        secured.change(Change::Secure { admin: secret(1).hash() });
        changes.iter().for_each(|change| _ = secured.change(change.clone()));
        secured
    }

    /// Commits a change. Returns what clients are told because of it.
    fn change(&mut self, change: Change) -> Vec<ToClient> {
        assert_eq!(self.registry.apply(&Entry::Rights(change), LEADER), Applied::Yes);
        let mut effects = Vec::new();
        self.node.member.agreed(&Arc::new(self.registry.clone()), 5, NOW, &mut effects);
        effects
            .into_iter()
            .filter_map(|it| if let Effect::Tell { frame, .. } = it { Some(frame) } else { None })
            .collect()
    }

    fn connect(&mut self, token: Option<u8>) -> ConnectionId {
        let evidence = Evidence { token: token.map(secret), ..Evidence::default() };
        self.node.member.connected(Caller::new("10.0.0.9:1", &evidence))
    }

    fn tell(&mut self, connection: ConnectionId, frame: ToNode) -> Option<ToClient> {
        self.node.told(connection, frame).pop().map(|(_, frame)| frame)
    }

    fn open(&mut self, connection: ConnectionId) -> Result<SessionHandle, Refusal> {
        match self.tell(connection, ToNode::Open { ttl: TTL, label: None }) {
            Some(ToClient::Opened { session: id, key, .. }) => Ok(SessionHandle { id, key }),
            Some(ToClient::NotOpened(refusal)) => Err(refusal),
            other => panic!("{other:?}"),
        }
    }

    fn acquire(
        &mut self,
        connection: ConnectionId,
        session: SessionHandle,
        request: u64,
        name: &str,
    ) -> Option<RequestOutcome> {
        match self.tell(connection, ToNode::Acquire { session, ask: ask(request, name) }) {
            Some(ToClient::Reply(reply)) => Some(reply.outcome),
            None => None,
            other => panic!("{other:?}"),
        }
    }

    fn ask(&mut self, connection: ConnectionId, question: Question) -> QuestionAnswer {
        match self.tell(connection, ToNode::Ask { number: 1, question }) {
            Some(ToClient::QuestionAnswer { answer, .. }) => answer,
            other => panic!("{other:?}"),
        }
    }

    /// The newest entries of the audit: what, on which name, and whether it was allowed.
    fn audit(&mut self) -> Vec<(String, String, bool)> {
        let admin = self.connect(Some(1));
        let QuestionAnswer::Audit(page) = self.ask(admin, Question::Audit(0)) else { panic!("it may") };
        page.entries.into_iter().map(|it| (it.what, it.name, it.allowed)).collect()
    }
}

fn is_refused(outcome: Option<&RequestOutcome>) -> bool {
    matches!(outcome, Some(RequestOutcome::Refused(Refusal::NotAllowed { .. })))
}

fn list() -> Question {
    Question::List { filter: Filter::default(), after: None }
}

/// Every frame that needs a right, as what was refused.
fn refusal(answer: Option<ToClient>) -> Refusal {
    match answer {
        Some(
            ToClient::NotOpened(refusal)
            | ToClient::NotWatching(refusal)
            | ToClient::OrderResult { result: Err(refusal), .. }
            | ToClient::QuestionAnswer { answer: QuestionAnswer::Refused(refusal), .. },
        ) => refusal,
        other => panic!("it is not refused: {other:?}"),
    }
}

#[test]
fn a_caller_without_rights_gets_nothing_and_cannot_tell_whether_a_name_is_there() {
    let mut it = Secured::new(&[token(2, "stranger", None)]);
    let admin = it.connect(Some(1));
    let session = it.open(admin).unwrap();
    assert!(matches!(it.acquire(admin, session, 1, "there"), Some(RequestOutcome::Granted(_))));
    for shown in [None, Some(2), Some(99)] {
        let caller = it.connect(shown);
        let frames = |name: &str| {
            let (name, text): (Arc<str>, String) = (name.into(), name.to_string());
            let definition = Some(Definition::MUTEX);
            let orders = [
                Order::Define { name: name.clone(), definition },
                Order::Define { name: name.clone(), definition: None },
                Order::Resize { name: name.clone(), slots: 2 },
                Order::ForceRelease { name, slot: 0, fence: 1, at_once: true },
                Order::Rights(allow("*", "", "admin")),
            ];
            let questions = [
                Question::Status,
                Question::Cluster,
                Question::Voters,
                list(),
                Question::Inspect { name: text, after: None },
                Question::Definitions(None),
                Question::Invite(TTL),
                Question::Invitations,
                Question::Withdraw(3),
                Question::Remove(3),
                Question::Lease(TTL),
                Question::Rights,
                Question::Audit(0),
            ];
            let orders = orders.map(|order| ToNode::Order { number: 1, order });
            let questions = questions.map(|question| ToNode::Ask { number: 1, question });
            let others = [ToNode::Open { ttl: TTL, label: None }, ToNode::Watch(Filter::default())];
            others.into_iter().chain(orders).chain(questions)
        };
        for (there, missing) in frames("there").zip(frames("gone!")) {
            let there = refusal(it.tell(caller, there)).to_string();
            assert_eq!(there.replace("there", "gone!"), refusal(it.tell(caller, missing)).to_string());
        }
    }
    // What is refused twice in a row is counted.
    assert_eq!(it.audit().iter().filter(|(.., allowed)| !allowed).count(), 3 * 18);
}

#[test]
fn names_that_may_not_be_read_are_in_no_listing_and_no_event() {
    let mut it = Secured::new(&[token(2, "ci", None), allow("ci", "ci/", "acquire,read")]);
    let (admin, ci) = (it.connect(Some(1)), it.connect(Some(2)));
    assert_eq!(it.tell(ci, ToNode::Watch(Filter::default())), Some(ToClient::Watching));
    let session = it.open(admin).unwrap();
    let events = |it: &mut Secured, request, name: &str| {
        let told = it.node.told(admin, ToNode::Acquire { session, ask: ask(request, name) });
        told.iter().filter(|(to, _)| *to == ci).count()
    };
    // A grant is one event.
    assert_eq!((events(&mut it, 1, "ci/x"), events(&mut it, 2, "db/x")), (1, 0));
    let names = |answer| match answer {
        QuestionAnswer::List(page) => page.listings.into_iter().map(|listing| listing.name).collect(),
        other => panic!("{other:?}"),
    };
    let all: Vec<String> = names(it.ask(admin, list()));
    assert_eq!(all, ["ci/x", "db/x"]);
    let readable: Vec<String> = names(it.ask(ci, list()));
    assert_eq!(readable, ["ci/x"]);
    let inspect = |name: &str| Question::Inspect { name: name.to_string(), after: None };
    assert!(matches!(it.ask(ci, inspect("ci/x")), QuestionAnswer::Inspect { .. }));
    assert!(matches!(it.ask(ci, inspect("db/x")), QuestionAnswer::Refused(_)));
    // What is not readable any more is not seen any more.
    it.change(Change::Disallow {
        who: "ci".parse().unwrap(),
        prefix: "ci/".into(),
        actions: "read".parse().unwrap(),
    });
    assert_eq!(events(&mut it, 3, "ci/y"), 0);
}

#[test]
fn a_caller_that_may_acquire_no_more_keeps_what_it_holds_and_waits_for_nothing() {
    let mut it = Secured::new(&[token(2, "ci", None), allow("ci", "ci/", "acquire")]);
    let (admin, ci) = (it.connect(Some(1)), it.connect(Some(2)));
    let (first, session) = (it.open(admin).unwrap(), it.open(ci).unwrap());
    assert!(is_refused(it.acquire(ci, session, 1, "db/x").as_ref()));
    let Some(RequestOutcome::Granted(grant)) = it.acquire(ci, session, 2, "ci/x") else { panic!("it may") };
    it.acquire(admin, first, 1, "ci/y");
    assert_eq!(it.acquire(ci, session, 3, "ci/y"), None, "it waits");
    let who = "ci".parse().unwrap();
    let told = it.change(Change::Disallow { who, prefix: "ci/".into(), actions: "acquire".parse().unwrap() });
    let [ToClient::Reply(reply)] = &told[..] else { panic!("{told:?}") };
    assert!(reply.request == 3 && is_refused(Some(&reply.outcome)), "{reply:?}");
    assert!(is_refused(it.acquire(ci, session, 4, "ci/z").as_ref()), "a new request");
    // Asked again after a broken connection, it hears of its grant.
    assert_eq!(it.acquire(ci, session, 2, "ci/x"), Some(RequestOutcome::Granted(grant)));
    let keep_alive = ToNode::KeepAlive { session, sequence: 1, settled: 0 };
    assert!(matches!(it.tell(ci, keep_alive), Some(ToClient::Promise { .. })));
    let release = ToNode::Release { session, request: 2, fence: grant.fence };
    assert_eq!(it.tell(ci, release), None, "it may release");
}

#[test]
fn a_session_ends_in_order_when_its_token_is_removed_or_expires_with_any_connection() {
    for expires in [None, Some(100)] {
        let mut it = Secured::new(&[token(2, "ci", expires), allow("ci", "ci/", "acquire")]);
        let ci = it.connect(Some(2));
        let session = it.open(ci).unwrap();
        it.acquire(ci, session, 1, "ci/x");
        let keep_alive = ToNode::KeepAlive { session, sequence: 1, settled: 0 };
        assert!(matches!(it.tell(ci, keep_alive.clone()), Some(ToClient::Promise { .. })));
        match expires {
            None => _ = it.change(Change::RemoveToken(secret(2).hash())),
            Some(expires) => it.node.keys.clock.set(expires),
        }
        let (nobody, admin) = (it.connect(None), it.connect(Some(1)));
        for connection in [ci, nobody, admin] {
            let answer = it.tell(connection, keep_alive.clone());
            assert!(matches!(answer, Some(ToClient::NotKept { .. })), "{answer:?}");
            assert!(is_refused(it.acquire(connection, session, 2, "ci/y").as_ref()));
        }
        assert!(it.node.member.core().knows(session.id), "it lives as long as was promised");
        assert!(it.open(ci).is_err());
    }
}

#[test]
fn a_barred_principal_gets_nothing_whatever_it_shows() {
    let mut it = Secured::new(&[allow("*", "", "read"), allow("ci", "", "acquire")]);
    let evidence = Evidence { certificate: Some("ci".to_string()), ..Evidence::default() };
    let ci = it.node.member.connected(Caller::new("10.0.0.9:1", &evidence));
    let session = it.open(ci).unwrap();
    it.change(Change::Bar { principal: "ci".into(), barred: true });
    assert!(matches!(it.ask(ci, list()), QuestionAnswer::Refused(_)));
    assert!(is_refused(it.acquire(ci, session, 1, "x").as_ref()));
    it.change(Change::Bar { principal: "ci".into(), barred: false });
    assert!(matches!(it.acquire(ci, session, 2, "x"), Some(RequestOutcome::Granted(_))));
}

#[test]
fn quotas_bound_sessions_and_requests_of_principals_and_namespaces() {
    let quota = |sessions, requests| Quota { sessions, requests };
    let set = |of, quota| Change::SetQuota { of, quota };
    let mut it = Secured::new(&[
        token(2, "ci", None),
        allow("ci", "", "acquire"),
        set(QuotaOf::Principal("ci".into()), quota(Some(2), Some(3))),
        set(QuotaOf::Namespace("few".into()), quota(None, Some(1))),
    ]);
    let ci = it.connect(Some(2));
    let (one, two) = (it.open(ci).unwrap(), it.open(ci).unwrap());
    assert!(matches!(it.open(ci), Err(Refusal::Quota { most: 2, .. })));
    let full = |outcome: Option<RequestOutcome>, most: u64| matches!(outcome, Some(RequestOutcome::Refused(Refusal::Quota { most: found, .. })) if found == most);
    assert!(matches!(it.acquire(ci, one, 1, "few/x"), Some(RequestOutcome::Granted(_))));
    assert!(matches!(it.acquire(ci, one, 1, "few/x"), Some(RequestOutcome::Granted(_))), "said again");
    assert!(full(it.acquire(ci, two, 1, "few/y"), 1));
    it.acquire(ci, one, 2, "a");
    it.acquire(ci, two, 2, "b");
    assert!(full(it.acquire(ci, two, 3, "c"), 3));
    it.tell(ci, ToNode::Close { session: one });
    assert!(matches!(it.acquire(ci, two, 4, "few/z"), Some(RequestOutcome::Granted(_))));
    it.open(ci).unwrap();
}

#[test]
fn the_audit_has_every_order_and_is_for_administrators() {
    let mut it = Secured::new(&[token(2, "ops", None), allow("ops", "db/", "define,read")]);
    let ops = it.connect(Some(2));
    let definition = Some(Definition::MUTEX);
    for name in ["db/x", "ci/x"] {
        it.node
            .hear(ops, ToNode::Order { number: 1, order: Order::Define { name: name.into(), definition } });
    }
    it.ask(ops, Question::Audit(0));
    let entry = |what: &str, name: &str, allowed| (what.to_string(), name.to_string(), allowed);
    let expected = [entry("define", "db/x", true), entry("define", "ci/x", false), entry("audit", "", false)];
    assert_eq!(it.audit(), expected);
}

#[test]
fn a_snapshot_has_the_rights_and_one_of_before_has_none() {
    let registry = Secured::new(&[token(2, "ci", Some(9)), allow("ci", "ci/", "acquire")]).registry;
    let mut bytes = Vec::new();
    registry.write(&mut bytes);
    assert_eq!(Registry::read(&bytes), Ok(registry.clone()));
    let mut before = Vec::new();
    service::frame::append(&registry, &mut before);
    assert_eq!(Registry::read(&before).map(|registry| registry.rights), Ok(Rights::default()));
    let hash = TokenHash([0; 32]);
    assert!(!registry.rights.tokens.contains_key(&hash));
    assert!(decide(&registry.rights, Some("ci"), service::auth::Action::Acquire, "ci/x").allowed);
}
