//! A node speaks for a caller that called it. Only a node can, and the caller needs the right as if it had called itself.

use service::auth::{AuditEntry, Caller, Change, Evidence, Vouched, VouchedShown};
use service::member::{ConnectionId, Effect, Note};
use service::protocol::{Order, OrderDone, Question, QuestionAnswer, ToClient, ToNode};
use service::{Defect, Refusal, RequestOutcome};

use crate::rights::{Secured, allow, secret, token};
use crate::session_keys::Node;

const CALLER: &str = "10.0.0.7:77";

fn vouched(shown: VouchedShown) -> Vouched {
    Vouched { address: CALLER.parse().unwrap(), shown }
}

/// The caller that shows this token.
pub(crate) fn by_token(byte: u8) -> Vouched {
    vouched(VouchedShown::Token(secret(byte).hash()))
}

fn by_certificate(name: &str) -> Vouched {
    vouched(VouchedShown::Certificate(name.into()))
}

pub(crate) fn revoke_for(caller: Vouched, name: &str, fence: u64) -> Order {
    Order::ForceReleaseFor { caller, name: name.into(), slot: 0, fence, at_once: false }
}

/// The token of `ops` is of byte 2, that of `ci` of byte 3; `ops` may revoke `db/…`, and so may the client that is named so in its
/// certificate.
fn secured(defect: Option<Defect>) -> Secured {
    let changes = [
        token(2, "ops", Some(100)),
        token(3, "ci", None),
        allow("ops", "db/", "force"),
        allow("ci", "", "read"),
    ];
    let it = Secured::without(defect, &changes);
    *it.node.keys.nodes.borrow_mut() = [0, 4].map(|id| (id, String::new())).into();
    it
}

/// A connection with the certificate of a node.
fn node(it: &mut Node, id: u32) -> ConnectionId {
    let evidence = Evidence { node: Some(id), ..Evidence::default() };
    it.member.connected(Caller::new("10.0.0.4:1", &evidence))
}

/// The administrator holds the name. Returns the fence.
fn held(it: &mut Secured, name: &str) -> u64 {
    let admin = it.connect(Some(1));
    let session = it.open(admin).unwrap();
    match it.acquire(admin, session, 1, name) {
        Some(RequestOutcome::Granted(grant)) => grant.fence,
        other => panic!("{other:?}"),
    }
}

/// What becomes of an order, and what the log is to say.
fn order(it: &mut Node, connection: ConnectionId, order: Order) -> (Result<OrderDone, Refusal>, Vec<Note>) {
    let (mut result, mut notes) = (None, Vec::new());
    for effect in it.hear(connection, ToNode::Order { number: 1, order }) {
        match effect {
            Effect::Tell { frame: ToClient::OrderResult { result: told, .. }, .. } => result = Some(told),
            Effect::Note(note) => notes.push(note),
            _ => {}
        }
    }
    (result.expect("it is answered"), notes)
}

/// Why an order is not allowed, and to whom.
fn why(refused: Result<OrderDone, Refusal>) -> (String, String) {
    match refused {
        Err(Refusal::NotAllowed(refusal)) => (refusal.principal, refusal.why),
        other => panic!("{other:?}"),
    }
}

fn newest(it: &mut Secured) -> AuditEntry {
    let admin = it.connect(Some(1));
    match it.ask(admin, Question::Audit(0)) {
        QuestionAnswer::Audit(page) => page.entries.last().cloned().expect("there is an entry"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_node_revokes_for_a_caller_that_may_and_the_log_names_both() {
    for caller in [by_token(2), by_certificate("ops")] {
        let mut it = secured(None);
        let fence = held(&mut it, "db/x");
        let four = node(&mut it.node, 4);
        let (done, notes) = order(&mut it.node, four, revoke_for(caller, "db/x", fence));
        let Ok(OrderDone::ForceReleased(released)) = done else { panic!("{done:?}") };
        assert_eq!((released[0].grant.fence, &*released[0].by), (fence, "10.0.0.7:77 via node 4"));
        assert!(notes.contains(&Note::ForceReleased(released[0].clone())), "{notes:?}");
        let entry = newest(&mut it);
        assert_eq!((&*entry.principal, &*entry.address), ("ops", "10.0.0.7:77 via node 4"));
        assert_eq!((&*entry.what, &*entry.name, entry.allowed), ("forced release", "db/x", true));
    }
}

#[test]
fn the_caller_needs_the_right_as_if_it_had_called_itself() {
    let mut it = secured(None);
    let fence = held(&mut it, "db/x");
    it.change(allow("*", "public/", "force"));
    it.change(allow("uid/0", "", "force"));
    let four = node(&mut it.node, 4);
    let cases = [
        (by_token(3), "ci", "no rule allows it"),
        (by_token(9), "", "the token is unknown, or was removed"),
        (by_certificate("ci"), "ci", "no rule allows it"),
        (by_certificate("node/4"), "node/4", "the name in the certificate is reserved"),
        (by_certificate("uid/0"), "uid/0", "the name in the certificate is reserved"),
        (vouched(VouchedShown::Nothing), "", "no rule allows it"),
    ];
    for (caller, principal, reason) in cases {
        let (refused, _) = order(&mut it.node, four, revoke_for(caller, "db/x", fence));
        assert_eq!(why(refused), (principal.to_string(), reason.to_string()));
        let entry = newest(&mut it);
        assert_eq!((&*entry.principal, &*entry.address), (principal, "10.0.0.7:77 via node 4"));
        assert_eq!((&*entry.name, entry.allowed), ("db/x", false));
    }
    // A caller that shows nothing may what everyone may.
    let (allowed, _) =
        order(&mut it.node, four, revoke_for(vouched(VouchedShown::Nothing), "public/x", fence));
    assert_eq!(allowed, Err(Refusal::NobodyHolds));
    // A token ends, and a principal is barred, whichever node speaks for it.
    it.node.keys.clock.set(100);
    let (refused, _) = order(&mut it.node, four, revoke_for(by_token(2), "db/x", fence));
    assert_eq!(why(refused).1, "the token has expired");
    it.change(Change::Bar { principal: "ops".into(), barred: true });
    let (refused, _) = order(&mut it.node, four, revoke_for(by_certificate("ops"), "db/x", fence));
    assert_eq!(why(refused).1, "the principal is barred");
    // The right is the caller's: the node has none of its own.
    let own = Order::ForceRelease { name: "db/x".into(), slot: 0, fence, at_once: false };
    assert_eq!(
        why(order(&mut it.node, four, own).0),
        ("node/4".to_string(), "no rule allows it".to_string())
    );
}

const CANNOT: &str = "only a node of the cluster can speak for another caller";

#[test]
fn only_a_node_of_the_cluster_speaks_for_a_caller() {
    let mut it = secured(None);
    let fence = held(&mut it, "db/x");
    let local = Evidence { local_user: Some(0), ..Evidence::default() };
    let client = Evidence { certificate: Some("ops".to_string()), ..Evidence::default() };
    // A node that shows a token is what the token makes it.
    let both = Evidence { node: Some(4), token: Some(secret(1)), ..Evidence::default() };
    let callers = [
        (it.connect(None), ""),
        (it.connect(Some(1)), "admin"),
        (it.connect(Some(2)), "ops"),
        (it.node.member.connected(Caller::new("10.0.0.9:1", &client)), "ops"),
        (it.node.member.connected(Caller::new("10.0.0.9:1", &local)), "uid/0"),
        (it.node.member.connected(Caller::new("10.0.0.9:1", &both)), "admin"),
        (node(&mut it.node, 5), "node/5"),
    ];
    for (caller, principal) in callers {
        let (refused, _) = order(&mut it.node, caller, revoke_for(by_token(2), "db/x", fence));
        assert_eq!(why(refused), (principal.to_string(), CANNOT.to_string()));
        // Nothing of the order is believed, not even its name.
        let entry = newest(&mut it);
        assert_eq!((&*entry.principal, &*entry.name, entry.allowed), (principal, "", false));
        assert!(!entry.address.contains(CALLER), "{entry:?}");
    }
    // One that is removed while its connection lasts.
    let four = node(&mut it.node, 4);
    it.node.keys.nodes.borrow_mut().remove(&4);
    let (refused, _) = order(&mut it.node, four, revoke_for(by_token(2), "db/x", fence));
    assert_eq!(why(refused), ("node/4".to_string(), CANNOT.to_string()));
    // Nothing was revoked.
    let ops = it.connect(Some(2));
    let own = Order::ForceRelease { name: "db/x".into(), slot: 0, fence, at_once: false };
    let (revoked, _) = order(&mut it.node, ops, own);
    assert!(matches!(&revoked, Ok(OrderDone::ForceReleased(it)) if it.len() == 1), "{revoked:?}");
}

#[test]
fn without_security_still_only_nodes_speak_for_callers() {
    let mut node = Node::new(None);
    *node.keys.nodes.borrow_mut() = [0, 4].map(|id| (id, String::new())).into();
    let client = node.member.connected("10.0.0.9:1");
    assert_eq!(why(order(&mut node, client, revoke_for(by_token(2), "x", 1)).0).1, CANNOT);
    for (id, answer) in [(4, true), (5, false)] {
        let connection = self::node(&mut node, id);
        let (result, _) = order(&mut node, connection, revoke_for(by_certificate("ops"), "x", 1));
        assert_eq!(result == Err(Refusal::NobodyHolds), answer, "{result:?}");
    }
}

#[test]
fn without_the_rule_a_client_revokes_in_the_name_of_another() {
    let mut it = secured(Some(Defect::ClientVouches));
    let fence = held(&mut it, "db/x");
    let stranger = it.connect(None);
    let (revoked, _) = order(&mut it.node, stranger, revoke_for(by_certificate("ops"), "db/x", fence));
    assert!(matches!(revoked, Ok(OrderDone::ForceReleased(_))), "{revoked:?}");
}

#[test]
fn a_node_says_nothing_for_nodes_and_users_of_its_machine() {
    let of = |evidence: Evidence| Vouched::of(&Caller::new(CALLER, &evidence));
    let ops = Evidence { certificate: Some("ops".to_string()), ..Evidence::default() };
    assert_eq!(of(ops.clone()), Some(by_certificate("ops")));
    assert_eq!(of(Evidence { token: Some(secret(2)), ..ops }), Some(by_token(2)));
    assert_eq!(of(Evidence::default()), Some(vouched(VouchedShown::Nothing)));
    assert_eq!(of(Evidence { node: Some(1), ..Evidence::default() }), None);
    assert_eq!(of(Evidence { local_user: Some(0), ..Evidence::default() }), None);
}
