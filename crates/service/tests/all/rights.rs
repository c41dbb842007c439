//! What a member lets callers do once security is on, and what becomes of open sessions when rights change.

use std::sync::Arc;
use std::time::Duration;

use service::auth::{
    Caller, Change, Evidence, Limit, Quota, QuotaOf, Rights, Secret, Token, TokenHash, decide,
};
use service::event::Filter;
use service::member::{ConnectionId, ControlPlaneError, Effect};
use service::protocol::{Order, Question, QuestionAnswer, ToClient, ToNode};
use service::registry::{Applied, Entry, Leadership, Registry};
use service::{Defect, Definition, Refusal, RequestOutcome, SessionHandle};

use crate::session_keys::{NOW, Node, ask};
use crate::vouching;

const LEADER: Leadership = Leadership { term: 1, node: 0 };
const TTL: Duration = Duration::from_secs(10);

pub(crate) fn secret(byte: u8) -> Secret {
    Secret::new([byte; 32])
}

pub(crate) fn allow(who: &str, prefix: &str, actions: &str) -> Change {
    let (who, actions) = (who.parse().unwrap(), actions.parse().unwrap());
    Change::Allow { who, prefix: prefix.into(), actions }
}

pub(crate) fn token(byte: u8, principal: &str, expires: Option<u64>) -> Change {
    let token = Token { principal: principal.into(), expires };
    Change::AddToken { hash: secret(byte).hash(), token }
}

/// A node whose cluster has these rights; byte 1 is the token of the first administrator.
pub(crate) struct Secured {
    pub(crate) node: Node,
    registry: Registry,
}

impl Secured {
    pub(crate) fn new(changes: &[Change]) -> Secured {
        Secured::without(None, changes)
    }

    /// Without a rule.
    pub(crate) fn without(defect: Option<Defect>, changes: &[Change]) -> Secured {
        let node = Node::new(defect);
        let registry = node.registry.clone();
        let mut secured = Secured { node, registry };
        secured.change(Change::Secure { admin: secret(1).hash() });
        changes.iter().for_each(|change| _ = secured.change(change.clone()));
        secured
    }

    /// Commits a change. Returns what clients are told because of it.
    pub(crate) fn change(&mut self, change: Change) -> Vec<ToClient> {
        assert_eq!(self.registry.apply(&Entry::Rights(change), LEADER), Applied::Yes);
        let mut effects = Vec::new();
        self.node.member.agreed(&Arc::new(self.registry.clone()), 5, NOW, &mut effects);
        effects
            .into_iter()
            .filter_map(|it| if let Effect::Tell { frame, .. } = it { Some(frame) } else { None })
            .collect()
    }

    pub(crate) fn connect(&mut self, token: Option<u8>) -> ConnectionId {
        let evidence = Evidence { token: token.map(secret), ..Evidence::default() };
        self.node.member.connected(Caller::new("10.0.0.9:1", &evidence))
    }

    pub(crate) fn tell(&mut self, connection: ConnectionId, frame: ToNode) -> Option<ToClient> {
        self.node.told(connection, frame).pop().map(|(_, frame)| frame)
    }

    pub(crate) fn open(&mut self, connection: ConnectionId) -> Result<SessionHandle, Refusal> {
        match self.tell(connection, ToNode::Open { ttl: TTL, label: None }) {
            Some(ToClient::Opened { session: id, key, .. }) => Ok(SessionHandle { id, key }),
            Some(ToClient::NotOpened(refusal)) => Err(refusal),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn acquire(
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

    pub(crate) fn ask(&mut self, connection: ConnectionId, question: Question) -> QuestionAnswer {
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
    matches!(outcome, Some(RequestOutcome::Refused(Refusal::NotAllowed(_))))
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
                Order::ForceRelease { name: name.clone(), slot: 0, fence: 1, at_once: true },
                vouching::revoke_for(vouching::by_token(1), &name, 1),
                Order::Rights(allow("*", "", "admin")),
            ];
            let questions = [
                Question::Status,
                Question::Cluster,
                Question::Voters,
                Question::Counters,
                Question::Uses { filter: Filter::default(), after: None },
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
    assert_eq!(it.audit().iter().filter(|(.., allowed)| !allowed).count(), 3 * 19);
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
    let uses = |it: &mut Secured, caller| match it
        .ask(caller, Question::Uses { filter: Filter::default(), after: None })
    {
        QuestionAnswer::Uses(page) => page.uses.into_iter().map(|used| used.name.to_string()).collect(),
        other => panic!("{other:?}"),
    };
    let (all, readable): (Vec<String>, Vec<String>) = (uses(&mut it, admin), uses(&mut it, ci));
    assert_eq!((all, readable), (vec!["ci/x".to_string(), "db/x".to_string()], vec!["ci/x".to_string()]));
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

/// A node where `ci` may acquire everything, with these quotas for it and for names that begin with `few/`.
fn with_quotas(principal: Quota, namespace: Quota) -> (Secured, ConnectionId) {
    let quotas =
        [(QuotaOf::Principal("ci".into()), principal), (QuotaOf::Namespace("few".into()), namespace)];
    let mut changes = vec![token(2, "ci", None), allow("ci", "", "acquire")];
    let set = quotas.into_iter().filter(|(_, quota)| *quota != Quota::default());
    changes.extend(set.map(|(of, quota)| Change::SetQuota { of, quota }));
    let mut it = Secured::new(&changes);
    let ci = it.connect(Some(2));
    (it, ci)
}

/// Whether a request is refused by a quota: this limit, this number.
fn is_over(outcome: Option<RequestOutcome>, limit: Limit, most: u64) -> bool {
    let Some(RequestOutcome::Refused(Refusal::Quota(quota))) = outcome else { return false };
    (quota.limit, quota.most) == (limit, most)
}

fn is_granted(outcome: Option<RequestOutcome>) -> bool {
    outcome.is_some_and(|outcome| matches!(outcome, RequestOutcome::Granted(_)))
}

#[test]
fn quotas_bound_sessions_and_slots_of_principals_and_namespaces() {
    let principal = Quota { sessions: Some(2), slots: Some(3), ..Quota::default() };
    let (mut it, ci) = with_quotas(principal, Quota { slots: Some(1), ..Quota::default() });
    let (one, two) = (it.open(ci).unwrap(), it.open(ci).unwrap());
    assert!(matches!(it.open(ci), Err(Refusal::Quota(quota)) if quota.most == 2));
    assert!(is_granted(it.acquire(ci, one, 1, "few/x")));
    assert!(is_granted(it.acquire(ci, one, 1, "few/x")), "said again");
    assert!(is_over(it.acquire(ci, two, 1, "few/y"), Limit::Slots, 1));
    it.acquire(ci, one, 2, "a");
    it.acquire(ci, two, 2, "b");
    assert!(is_over(it.acquire(ci, two, 3, "c"), Limit::Slots, 3));
    it.tell(ci, ToNode::Close { session: one });
    assert!(is_granted(it.acquire(ci, two, 4, "few/z")));
    it.open(ci).unwrap();
}

#[test]
fn quotas_bound_waiters_and_a_free_lock_is_granted_all_the_same() {
    let (mut it, ci) = with_quotas(Quota { waiters: Some(1), ..Quota::default() }, Quota::default());
    let session = it.open(ci).unwrap();
    assert!(is_granted(it.acquire(ci, session, 1, "a")));
    assert_eq!(it.acquire(ci, session, 2, "a"), None, "it waits");
    assert!(is_over(it.acquire(ci, session, 3, "a"), Limit::Waiters, 1));
    assert!(is_granted(it.acquire(ci, session, 4, "b")));
    it.tell(ci, ToNode::Cancel { session, request: 2 });
    assert_eq!(it.acquire(ci, session, 5, "a"), None, "it waits");
}

#[test]
fn quotas_bound_names_and_count_what_was_here_before_them() {
    let (mut it, ci) = with_quotas(Quota::default(), Quota::default());
    let session = it.open(ci).unwrap();
    assert!(is_granted(it.acquire(ci, session, 1, "few/x")));
    assert_eq!(it.acquire(ci, session, 2, "few/x"), None, "it waits");
    let names = Quota { names: Some(2), ..Quota::default() };
    it.change(Change::SetQuota { of: QuotaOf::Namespace("few".into()), quota: names });
    assert!(is_granted(it.acquire(ci, session, 3, "few/y")));
    assert!(is_over(it.acquire(ci, session, 4, "few/z"), Limit::Names, 2));
    assert_eq!(it.acquire(ci, session, 5, "few/y"), None, "a name that counts already");
    it.tell(ci, ToNode::Cancel { session, request: 2 });
    it.tell(ci, ToNode::Cancel { session, request: 1 });
    assert!(is_granted(it.acquire(ci, session, 6, "few/z")));
}

#[test]
fn quotas_bound_the_names_that_are_defined_in_a_namespace() {
    let names = Quota { names: Some(2), ..Quota::default() };
    let (it, _) = with_quotas(Quota::default(), names);
    let mut registry = it.registry;
    let mut define = |name: &str, definition| {
        let entry = Entry::Define { name: name.into(), definition };
        registry.apply(&entry, LEADER).of_definition(&entry)
    };
    let mutex = Some(Definition::MUTEX);
    for name in ["few/a", "few/b", "fewer/c", "few", "few/a"] {
        assert_eq!(define(name, mutex), Ok(()), "{name}");
    }
    assert!(matches!(define("few/c", mutex), Err(Refusal::Quota(quota)) if quota.limit == Limit::Names));
    assert_eq!((define("few/a", None), define("few/c", mutex)), (Ok(()), Ok(())));
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
fn the_audit_says_what_was_allowed_and_not_done() {
    let mut it = Secured::new(&[]);
    let admin = it.connect(Some(1));
    let definition = Some(Definition::MUTEX);
    for number in [1, 2] {
        it.node.hear(admin, ToNode::Order { number, order: Order::Define { name: "x".into(), definition } });
    }
    it.node.hear(admin, ToNode::Ask { number: 3, question: Question::Remove(4) });
    let entry = Entry::Define { name: "x".into(), definition };
    let failed = || ControlPlaneError("no leader".to_string());
    let member = &mut it.node.member;
    member.proposed((admin, 1), &entry, Ok(Applied::Yes), &mut Vec::new());
    member.proposed((admin, 2), &entry, Err(failed()), &mut Vec::new());
    member.arranged((admin, 3), Err(failed()), &mut Vec::new());
    let entry = |what: &str, name: &str, allowed| (what.to_string(), name.to_string(), allowed);
    let expected = [
        entry("define", "x", true),
        entry("define", "x", true),
        entry("remove", "node 4", true),
        entry("define", "x", false),
        entry("remove", "node 4", false),
    ];
    assert_eq!(it.audit(), expected);
}

#[test]
fn the_certificate_of_a_node_counts_while_the_node_belongs_to_the_cluster() {
    let mut it = Secured::new(&[]);
    let evidence = Evidence { node: Some(3), ..Evidence::default() };
    let node = it.node.member.connected(Caller::new("10.0.0.3:1", &evidence));
    let watcher = it.node.member.connected(Caller::new("10.0.0.3:2", &evidence));
    let nodes = |ids: &[u32]| ids.iter().map(|id| (*id, String::new())).collect();
    *it.node.keys.nodes.borrow_mut() = nodes(&[0, 3]);
    assert!(matches!(it.ask(node, Question::Rights), QuestionAnswer::Rights(_)));
    assert!(matches!(it.tell(watcher, ToNode::Watch(Filter::default())), Some(ToClient::Watching)));
    *it.node.keys.nodes.borrow_mut() = nodes(&[0]);
    it.node.member.wake(&it.node.keys, NOW, &mut Vec::new());
    let admin = it.connect(Some(1));
    let session = it.open(admin).unwrap();
    let told = it.node.told(admin, ToNode::Acquire { session, ask: ask(1, "x") });
    assert!(told.iter().all(|(connection, _)| *connection != watcher), "it watches no more: {told:?}");
    for question in [Question::Rights, list(), Question::Status] {
        assert!(matches!(it.ask(node, question), QuestionAnswer::Refused(Refusal::NotAllowed(_))));
    }
    *it.node.keys.nodes.borrow_mut() = nodes(&[0, 3]);
    assert!(matches!(it.ask(node, Question::Rights), QuestionAnswer::Rights(_)));
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
