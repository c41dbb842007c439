//! The table: kinds of callers, ports, and what each gets.

use std::net::SocketAddr;
use std::time::Duration;

use control::Hello;
use security::Holder;
use service::core::RequestOutcome;
use service::frame::{self, LENGTH_BYTES};
use service::protocol::{Order, Question, QuestionAnswer, ToClient, ToNode};
use service::{Definition, Identity, SessionHandle};
use tokenwood::auth::{AuditEntry, Change};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use transport::handshake::Local;
use transport::wire::{self, Answer};

use super::caller::{Called, OPEN, Shown, acquire};
use super::watch::{Friends, Stage};
use crate::certificates::{CLUSTER, Certificates};
use crate::log;

/// What a caller wants of the node.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Port {
    Clients,
    Peers,
    Consensus,
    /// The port for clients, as an operator.
    Admin,
}

const PORTS: [Port; 4] = [Port::Clients, Port::Peers, Port::Consensus, Port::Admin];

/// What a caller has got from a port.
#[derive(Debug, PartialEq)]
enum Seen {
    /// Not one byte.
    Silence,
    /// A refusal, for this reason.
    Refused(String),
    /// Something else.
    Heard(String),
}

/// What has to become of a caller.
enum Expected {
    /// The handshake is refused for this reason.
    Handshake(&'static str),
    /// The greeting of this principal is refused.
    Greeting(String, &'static str),
    /// The frames of this principal are refused.
    Frames(String, &'static str),
    /// Its frames are refused, for any reason.
    Nothing,
}

struct Row {
    who: &'static str,
    shown: Shown,
    /// The node that it says it is, at ports for nodes.
    says: u32,
    /// Whom its certificate names, if that is refused.
    claims: &'static str,
    /// A session that it opened while it was allowed to.
    session: Option<(Called, SessionHandle)>,
    /// At the ports in their order; at further ones it belongs.
    expected: Vec<Expected>,
}

const NO_RULE: &str = "no rule allows it";
const NO_CERTIFICATE: &str = "the caller has no certificate";

/// A caller whose handshake fails everywhere.
fn stranger(who: &'static str, shown: Shown, claims: &'static str, why: &'static str) -> Row {
    let expected = [why; 4].map(Expected::Handshake).into();
    Row { who, shown, says: 0, claims, session: None, expected }
}

/// A caller that the port for clients lets speak, and that is refused what it says.
fn unwelcome(
    who: &'static str,
    shown: Shown,
    at_peers: &'static str,
    (is, why): (&str, &'static str),
) -> Row {
    let frames = || Expected::Frames(is.to_owned(), why);
    let expected = vec![frames(), Expected::Handshake(at_peers), Expected::Handshake(at_peers), frames()];
    Row { who, shown, says: 0, claims: "", session: None, expected }
}

/// Callers with certificates.
fn with_certificates(stage: &Stage) -> Vec<Row> {
    let ours = &stage.certificates;
    let (foreign, other) = (Certificates::of(CLUSTER), Certificates::of("another"));
    let (node, client) = (Holder::Node(stage.other(1)), Holder::Client("friend".to_owned()));
    let (unknown, expired) = ("no CA of the bundle has signed", "the certificate has expired");
    let of_node = |text: &str| -> &'static str { format!("{text}/node/{}", stage.other(1)).leak() };
    let shows = Shown::certificate;
    let plain = Shown { plain: true, ..Shown::default() };
    let not_a_node = "is a client, and only nodes are accepted here";
    let mine = of_node("tokenwood://encrypted");
    vec![
        stranger("without encryption", plain, "", "it is not encrypted"),
        unwelcome("without a certificate", Shown::default(), NO_CERTIFICATE, ("", NO_RULE)),
        stranger("a node of a foreign CA", shows(foreign.issue(&node)), mine, unknown),
        stranger("a node whose certificate has expired", shows(ours.expired(&node)), mine, expired),
        stranger("a client of a foreign CA", shows(foreign.issue(&client)), FRIEND, unknown),
        stranger("a client whose certificate has expired", shows(ours.expired(&client)), FRIEND, expired),
        stranger(
            "a node of another cluster",
            shows(other.issue(&node)),
            of_node("tokenwood://another"),
            unknown,
        ),
        stranger(
            "a node of another cluster, by our CA",
            shows(ours.sign(of_node("tokenwood://another"))),
            of_node("tokenwood://another"),
            "belongs to another cluster than encrypted",
        ),
        unwelcome(
            "a client without rights",
            shows(ours.issue(&Holder::Client("guest".to_owned()))),
            not_a_node,
            ("guest", NO_RULE),
        )
        .claiming("tokenwood://encrypted/client/guest"),
        unwelcome(
            "a client that is named like a node",
            shows(ours.issue(&Holder::Client("node/0".to_owned()))),
            not_a_node,
            ("node/0", "the name in the certificate is reserved"),
        )
        .claiming("tokenwood://encrypted/client/node/0"),
    ]
}

const FRIEND: &str = "tokenwood://encrypted/client/friend";

/// Callers with tokens.
async fn with_tokens(stage: &mut Stage) -> Vec<Row> {
    let gone = stage.token("ci/gone", "ci/", 2).await;
    let elsewhere = stage.token("db/main", "db/", 3).await;
    let narrowed = stage.token("ci/narrowed", "ci/", 4).await;
    let (unknown, shows) = ("the token is unknown, or was removed", Shown::token);
    let mut rows = vec![
        unwelcome("a removed token", shows(gone.clone()), NO_CERTIFICATE, ("", unknown)),
        unwelcome("a token of another namespace", shows(elsewhere), NO_CERTIFICATE, ("db/main", NO_RULE)),
        unwelcome("a removed token, with a session", shows(gone.clone()), NO_CERTIFICATE, ("", unknown)),
        unwelcome(
            "a removed right, with a session",
            shows(narrowed),
            NO_CERTIFICATE,
            ("ci/narrowed", NO_RULE),
        ),
    ];
    for row in &mut rows[2..] {
        let mut called = row.shown.call(&stage.for_clients(), security::CLIENTS).await.unwrap();
        let session = called.open(&row.shown.greeting()).await;
        called.tell(&[acquire(session, 1, "ci/other")]).await.unwrap();
        let granted = called.answer().await;
        assert!(
            matches!(&granted, Some(ToClient::Reply(it)) if matches!(it.outcome, RequestOutcome::Granted(_))),
            "{granted:?}"
        );
        called.tell(&[ToNode::Release { session, request: 1, fence: fence(&granted) }]).await.unwrap();
        row.session = Some((called, session));
    }
    let (who, actions) = ("ci/narrowed".parse().unwrap(), "acquire".parse().unwrap());
    let disallow = Change::Disallow { who, prefix: "ci/".into(), actions };
    stage.change([Change::RemoveToken(gone.hash()), disallow]).await;
    rows
}

fn fence(answer: &Option<ToClient>) -> u64 {
    match answer {
        Some(ToClient::Reply(reply)) => match &reply.outcome {
            RequestOutcome::Granted(grant) => grant.fence,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

impl Row {
    fn claiming(self, claims: &'static str) -> Row {
        Row { claims, ..self }
    }

    /// Tries a port. Returns where the caller called from, and what it got.
    async fn attempt(&mut self, stage: &Stage, port: Port) -> (SocketAddr, Seen) {
        if let (Port::Clients, Some((called, session))) = (port, &mut self.session) {
            return (called.from, ask_for_a_lock(called, *session).await);
        }
        let (address, protocol) = match port {
            Port::Clients | Port::Admin => (stage.for_clients(), security::CLIENTS),
            Port::Peers => (stage.for_peers(), security::PEERS),
            Port::Consensus => (stage.for_peers(), security::CONTROL),
        };
        let mut called = self.shown.call(&address, protocol).await.unwrap();
        let seen = match port {
            Port::Clients => self.speak_as_a_client(&mut called).await,
            Port::Admin => self.speak_as_an_operator(&mut called).await,
            Port::Peers => self.speak_as_a_peer(stage, &mut called).await,
            Port::Consensus => self.speak_of_consensus(stage, &mut called).await,
        };
        (called.from, seen)
    }

    async fn speak_as_a_client(&self, called: &mut Called) -> Seen {
        // The node may have hung up in the middle of it: what it says then is what counts.
        _ = called.say(&self.shown.greeting()).await;
        _ = called.tell(&[OPEN]).await;
        if called.welcome().await.is_none() {
            return Seen::Silence;
        }
        match called.answer().await {
            Some(ToClient::NotOpened(refusal)) => Seen::Refused(refusal.to_string()),
            Some(ToClient::Opened { session: id, key, .. }) => {
                ask_for_a_lock(called, SessionHandle { id, key }).await
            }
            other => Seen::Heard(format!("{other:?}")),
        }
    }

    async fn speak_as_an_operator(&self, called: &mut Called) -> Seen {
        let ask = |question| ToNode::Ask { number: 1, question };
        let order = |order| ToNode::Order { number: 1, order };
        let bars = Change::Bar { principal: "friend".into(), barred: true };
        let defines = Order::Define { name: "ci/defined".into(), definition: Some(Definition::Slots(3)) };
        let wants = [
            ask(Question::Cluster),
            ask(Question::Invite(Duration::from_secs(60))),
            ask(Question::Lease(Duration::from_secs(1))),
            ask(Question::Remove(self.says)),
            ask(Question::Rights),
            ask(Question::Audit(0)),
            order(defines),
            order(Order::Rights(bars)),
        ];
        _ = called.say(&self.shown.greeting()).await;
        _ = called.tell(&wants).await;
        if called.welcome().await.is_none() {
            return Seen::Silence;
        }
        let mut refusals = Vec::new();
        for want in &wants {
            match called.answer().await {
                Some(ToClient::QuestionAnswer { answer: QuestionAnswer::Refused(refusal), .. })
                | Some(ToClient::OrderResult { result: Err(refusal), .. }) => {
                    refusals.push(refusal.to_string());
                }
                other => return Seen::Heard(format!("{want:?}: {other:?}")),
            }
        }
        Seen::Refused(refusals.join("\n"))
    }

    async fn speak_as_a_peer(&self, stage: &Stage, called: &mut Called) -> Seen {
        let registry = stage.target().control().registry().borrow().clone();
        let incarnation = |id: &u32| registry.incarnations[id];
        let me = Identity { id: self.says, incarnation: incarnation(&self.says) };
        let to = Identity { id: stage.target, incarnation: incarnation(&stage.target) };
        let local = Local { cluster: CLUSTER.to_owned(), me, versions: wire::VERSIONS };
        // A token is worth nothing here, whatever it may do elsewhere.
        let mut bytes = if self.shown.token.is_some() { self.shown.greeting() } else { Vec::new() };
        wire::put_hello(&local.hello(to, registry.epoch, 0), &mut bytes);
        _ = called.say(&bytes).await;
        match called.body().await.as_deref().map(wire::answer) {
            None => Seen::Silence,
            Some(Ok(Answer::Refused(refusal))) => Seen::Refused(refusal.to_string()),
            other => Seen::Heard(format!("{other:?}")),
        }
    }

    /// Asks for a vote that would win, and that a node is removed.
    async fn speak_of_consensus(&self, stage: &Stage, called: &mut Called) -> Seen {
        const VOTE: u32 = 1;
        const LEADER: u32 = 4;
        const REMOVE: u32 = 6;
        let cluster_id = stage.target().control().cluster_id().await.unwrap();
        let (cluster, from) = (CLUSTER.to_owned(), self.says);
        let mut bytes = if self.shown.token.is_some() { self.shown.greeting() } else { Vec::new() };
        bytes.extend(Hello { version: 2, cluster, cluster_id, from, to: stage.target }.encode());
        let (term, node, index) = (1_000_000_u64, u64::from(from), 1_000_000_u64);
        frame::put(2, &(1_u64, VOTE, (term, node), false, Some(((term, node), index))), &mut bytes);
        frame::put(2, &(2_u64, LEADER, REMOVE, stage.other(2)), &mut bytes);
        _ = called.say(&bytes).await;
        let Some(greeting) = called.body().await else { return Seen::Silence };
        let is_refused = greeting[1 + control::MAGIC.len()] != 0;
        if is_refused {
            return Seen::Refused("the greeting".to_owned());
        }
        for _ in [VOTE, REMOVE] {
            let answer = called.body().await;
            let text = answer.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
            if !text.contains("may not ask this") {
                return Seen::Heard(format!("{answer:?}"));
            }
        }
        Seen::Refused("it may not ask this".to_owned())
    }

    /// Tries a port, and compares what comes of it with what has to.
    async fn check(&mut self, stage: &mut Stage, column: usize) {
        let port = PORTS[column];
        let cell = format!("{} at {port:?}", self.who);
        let (from, seen) = self.attempt(stage, port).await;
        let let_in = log::lines("let in").iter().any(|line| line.contains(&from.to_string()));
        match &self.expected[column] {
            Expected::Handshake(_) => assert!(seen == Seen::Silence && !let_in, "{cell}: {seen:?}"),
            Expected::Greeting(..) => {
                assert!(!matches!(seen, Seen::Heard(_)) && !let_in, "{cell}: {seen:?}");
            }
            Expected::Frames(..) | Expected::Nothing => {
                assert!(matches!(seen, Seen::Refused(_)) && let_in, "{cell}: {seen:?}");
            }
        }
        let from = from.to_string();
        stage.until_refused(&cell, |entry| entry.address == from && self.is_like(entry, column)).await;
    }

    /// Whether an entry of the audit is the one that a port has to make of this caller.
    fn is_like(&self, entry: &AuditEntry, column: usize) -> bool {
        let port = match PORTS[column] {
            Port::Clients | Port::Admin => PORT_FOR_CLIENTS,
            Port::Peers => PORT_FOR_PEERS,
            Port::Consensus => "call of consensus",
        };
        let (what, is, why) = match &self.expected[column] {
            // Before a handshake is over, it is not known what for it is.
            Expected::Handshake(why) if PORTS[column] == Port::Consensus => (PORT_FOR_PEERS, "", why),
            Expected::Handshake(why) => (port, "", why),
            Expected::Greeting(is, why) => (port, is.as_str(), why),
            Expected::Frames(is, why) if PORTS[column] == Port::Consensus => (port, is.as_str(), why),
            Expected::Frames(is, why) => (entry.what.as_str(), is.as_str(), why),
            Expected::Nothing => return true,
        };
        let claims = !matches!(self.expected[column], Expected::Handshake(_)) || entry.name == self.claims;
        (entry.what.as_str(), entry.principal.as_str()) == (what, is) && entry.why.contains(why) && claims
    }
}

const PORT_FOR_CLIENTS: &str = "connection to the port for clients";
const PORT_FOR_PEERS: &str = "connection to the port for peers";

async fn ask_for_a_lock(called: &mut Called, session: SessionHandle) -> Seen {
    _ = called.tell(&[acquire(session, 2, "ci/gpu")]).await;
    match called.answer().await {
        Some(ToClient::Reply(reply)) => match reply.outcome {
            RequestOutcome::Refused(refusal) => Seen::Refused(refusal.to_string()),
            other => Seen::Heard(format!("{other:?}")),
        },
        other => Seen::Heard(format!("{other:?}")),
    }
}

/// A node that uses its own certificate and another's name.
fn as_another(stage: &Stage) -> Row {
    let impostor = stage.other(2);
    let is = format!("node/{impostor}");
    Row {
        who: "a node that says it is another",
        shown: stage.node(impostor),
        says: stage.other(1),
        claims: "",
        session: None,
        expected: vec![
            // It may read and administer, and acquires nothing.
            Expected::Frames(is.clone(), NO_RULE),
            Expected::Greeting(is.clone(), "and its certificate does not"),
            Expected::Greeting(is, "its certificate is that of another"),
        ],
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gets_in_who_does_not_belong_there_and_nobody_else_notices() {
    let mut stage = Stage::start().await;
    let mut rows = with_tokens(&mut stage).await;
    rows.extend(with_certificates(&stage));
    rows.iter_mut().for_each(|row| row.says = stage.other(1));
    rows.push(as_another(&stage));
    let friends = Friends::begin(&stage).await;
    let before = stage.state();

    for row in &mut rows {
        for column in 0..row.expected.len() {
            row.check(&mut stage, column).await;
        }
    }

    friends.end().await;
    assert_eq!(stage.state(), before, "the cluster is as it was");
    assert_eq!(stage.target().unreachable().len(), 0);
    // The same words of a node that is the one it says it is are heard: so silence says something.
    let mut itself = Row { says: stage.other(2), ..as_another(&stage) };
    let (from, seen) = itself.attempt(&stage, Port::Consensus).await;
    let let_in = log::lines("let in for consensus").iter().any(|line| line.contains(&from.to_string()));
    assert!(let_in && matches!(seen, Seen::Heard(_)), "{seen:?}");
    assert!(!log::lines("let in for a link").is_empty(), "links are logged, too");
    stage.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_that_call_again_and_again_take_one_place_in_the_audit() {
    const CALLS: u64 = 50;
    let mut stage = Stage::start().await;
    for address in [stage.for_clients(), stage.for_peers()] {
        for _ in 0..CALLS {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            // The node may hang up before it has read it all.
            _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await;
            _ = stream.read_to_end(&mut Vec::new()).await;
        }
        let what = if address == stage.for_peers() { PORT_FOR_PEERS } else { PORT_FOR_CLIENTS };
        let is_like = |entry: &AuditEntry| entry.what == what && entry.repeated == CALLS - 1;
        stage.until_refused("all of them in one entry", is_like).await;
    }
    let mut refusals = stage.refusals().await;
    refusals.retain(|entry| entry.why == "it is not encrypted");
    assert_eq!(refusals.len(), 2, "{refusals:#?}");
    stage.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_certificate_of_a_removed_node_opens_nothing() {
    let mut stage = Stage::start().await;
    let removed = stage.other(1);
    let is = format!("node/{removed}");
    let mut row = Row {
        who: "a node that was removed",
        shown: stage.node(removed),
        says: removed,
        claims: "",
        session: None,
        expected: vec![
            Expected::Nothing,
            Expected::Greeting(is.clone(), "is not a member of view"),
            Expected::Frames(is, "may not ask this"),
            Expected::Nothing,
        ],
    };
    stage.remove(removed).await;
    let friends = Friends::begin(&stage).await;
    let before = stage.state();
    for column in 0..row.expected.len() {
        row.check(&mut stage, column).await;
    }
    friends.end().await;
    assert_eq!(stage.state(), before, "the cluster is as it was");
    stage.cluster.stop().await;
}

impl Called {
    /// The body of the next frame; `None` if the node hangs up instead.
    async fn body(&mut self) -> Option<Vec<u8>> {
        let length = self.hear(LENGTH_BYTES).await;
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        let body = self.hear(length).await;
        (body.len() == length).then_some(body)
    }
}
