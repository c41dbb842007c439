//! `docs/wire.md` tells the bytes of the client protocol as they are: the number of every variant, and a frame of every message.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use service::auth::{Secret, TokenHash, Vouched, VouchedShown};
use service::core::Timeout;
use service::event::{Event, Filter};
use service::frame;
use service::label::Label;
use service::limits::Bound;
use service::protocol::{
    GREETING, Hello, Order, OrderDone, Question, QuestionAnswer, ToClient, ToNode, VERSIONS, Welcome,
};
use service::session::Promise;
use service::{
    Acquire, Definition, Grant, Refusal, Reply, RequestOutcome, SessionHandle, SessionId, SessionKey, Want,
};

const SESSION: SessionId = SessionId { node: 2, incarnation: 17, number: 5 };
const KEY: SessionKey = SessionKey::new([0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
const HANDLE: SessionHandle = SessionHandle { id: SESSION, key: KEY };
const GRANT: Grant = Grant { slot: 1, fence: 1 << 40, group: 0 };

/// The name of a variant. The match has all of them, so that a new one has to be added here, and then to the page.
macro_rules! variants {
    ($names:ident, $type:ident: $($variant:ident)*) => {
        const $names: &[&str] = &[$(stringify!($variant)),*];

        impl Variant for $type {
            const NAMES: &[&str] = $names;

            fn name(&self) -> &'static str {
                match self {
                    $($type::$variant { .. } => stringify!($variant),)*
                }
            }
        }
    };
}

trait Variant {
    const NAMES: &[&str];
    fn name(&self) -> &'static str;
}

variants!(WELCOME, Welcome: Version NoCommonVersion Refused);
variants!(TO_NODE, ToNode: Open KeepAlive Acquire Cancel Release Close Ask Watch Order);
variants!(TO_CLIENT, ToClient: Opened NotOpened Promise SessionGone Reply NotReleased QuestionAnswer Watching Event Missed
    OrderResult NotWatching NotKept);
variants!(QUESTION, Question: Status List Inspect Cluster Invite Remove Lease Definitions Voters Invitations Withdraw
    Rights Audit Counters Uses);
variants!(ANSWER, QuestionAnswer: Status List Inspect Cluster Invited Done NotDone Definitions Voters Invitations
    Refused Rights Audit Counters Uses);
variants!(ORDER, Order: Define Resize ForceRelease Rights ForceReleaseFor);
variants!(REFUSAL, Refusal: NameEmpty NameTooLong NameNotPrintable Slots NoGroup TooManyGroups Contradicts WantsOther NotFree
    TimedOut Cancelled NoSuchSession RequestUsed NotHeld StaleFence TooManyRequests TooManySessions TimeToLive NoLease Overloaded
    Leaving DefinedAs NotDefined NobodyHolds ForceReleased NotAgreed Lease Invitation Bound Label
    NotAllowed Quota Rights);
variants!(BOUND, Bound: Sessions ClientSessions ConnectionSessions LongSessions ClientLongSessions Requests ClientRequests
    SessionRequests Refusals ClientRefusals Names Slots ClientSlots FilterNames FilterBytes ControlCalls ConnectionControlCalls
    Definitions Fences Connections ClientConnections);

#[test]
fn the_page_numbers_every_variant() {
    let page = page();
    let clients = page.split("\n## Clients").nth(1).expect("the page has a section on clients");
    let clients = clients.split("\n## ").next().unwrap().replace('\n', " ");
    let lists = [WELCOME, TO_NODE, TO_CLIENT, QUESTION, ANSWER, ORDER, REFUSAL, BOUND];
    for (number, name) in lists.iter().flat_map(|names| names.iter().enumerate()) {
        let written = [format!("{number} `{name}`"), format!("{number} | `{name}`")];
        assert!(written.iter().any(|text| clients.contains(text)), "docs/wire.md lacks '{}'", written[0]);
    }
}

#[test]
fn the_page_shows_a_frame_of_every_message() {
    const BEGIN: &str = "<!-- frames: written by cargo xtask rewrite -->\n";
    const END: &str = "<!-- end of frames -->\n";
    let mut table = "| message | frame |\n|---|---|\n".to_string();
    let hello = Hello::MINE;
    row(&mut table, GREETING, &hello);
    row(&mut table, GREETING, &Hello::with(Some(Secret::new([0xa5; 32]))));
    rows(&mut table, GREETING, &welcomes());
    rows(&mut table, VERSIONS.1, &to_node());
    rows(&mut table, VERSIONS.1, &to_client());
    let page = page();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for frames");
    let (shown, after) = rest.split_once(END).expect("the place ends");
    if std::env::var_os("TOKENWOOD_REWRITE").is_some() {
        std::fs::write(path(), format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(shown, table, "cargo xtask rewrite writes the frames again");
}

#[test]
fn the_caller_of_an_order_is_written_as_the_page_says() {
    let written = |address: &str, shown| {
        let mut bytes = Vec::new();
        frame::append(&Vouched { address: address.parse().unwrap(), shown }, &mut bytes);
        bytes
    };
    assert_eq!(written("10.0.0.7:300", VouchedShown::Nothing), [0, 10, 0, 0, 7, 0xac, 2, 0]);
    let expected = [&[0, 10, 0, 0, 7, 80, 1][..], &[9; 32]].concat();
    assert_eq!(written("10.0.0.7:80", VouchedShown::Token(TokenHash([9; 32]))), expected);
    let expected = [&[1][..], &[0; 15], &[1, 80, 2, 3], b"ops"].concat();
    assert_eq!(written("[::1]:80", VouchedShown::Certificate("ops".into())), expected);
}

fn path() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/wire.md")
}

fn page() -> String {
    std::fs::read_to_string(path()).unwrap()
}

/// A row for each of these, which have to be all variants in their order: the number on the wire is the order.
fn rows<T: Variant + Serialize + Debug>(table: &mut String, version: u8, messages: &[T]) {
    let names: Vec<&str> = messages.iter().map(Variant::name).collect();
    assert_eq!(names, T::NAMES);
    for (number, message) in messages.iter().enumerate() {
        let mut bytes = Vec::new();
        frame::put(version, message, &mut bytes);
        assert_eq!(usize::from(bytes[frame::LENGTH_BYTES + 1]), number, "{message:?}");
        row(table, version, message);
    }
}

fn row(table: &mut String, version: u8, message: &(impl Serialize + Debug)) {
    let mut bytes = Vec::new();
    frame::put(version, message, &mut bytes);
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (length, body) = hex.split_at(frame::LENGTH_BYTES);
    *table +=
        &format!("| `{message:?}` | `{}` `{}` `{}` |\n", length.join(" "), body[0], body[1..].join(" "));
}

fn welcomes() -> Vec<Welcome> {
    vec![
        Welcome::Version { version: VERSIONS.1, node: 2, incarnation: 17 },
        Welcome::NoCommonVersion(VERSIONS),
        Welcome::Refused(Refusal::Bound { bound: Bound::Connections, most: 300 }),
    ]
}

fn to_node() -> Vec<ToNode> {
    let acquire = Acquire {
        request: 7,
        name: Arc::from("gpu"),
        definition: Definition::Slots(2),
        want: Want::Slot,
        timeout: Timeout::After(Duration::from_secs(10)),
    };
    let [user, host, command, text] = ["ann", "m1", "sh", ""].map(str::to_string);
    let label = Some(Label { user, host, process: 7, command, text });
    vec![
        ToNode::Open { ttl: Duration::from_millis(1500), label },
        ToNode::KeepAlive { session: HANDLE, sequence: 3, settled: 6 },
        ToNode::Acquire { session: HANDLE, ask: acquire },
        ToNode::Cancel { session: HANDLE, request: 7 },
        ToNode::Release { session: HANDLE, request: 7, fence: 1 << 40 },
        ToNode::Close { session: HANDLE },
        ToNode::Ask { number: 1, question: Question::Inspect { name: "gpu".to_string(), after: None } },
        ToNode::Watch(Filter { names: vec!["gpu".to_string()], prefixes: Vec::new() }),
        ToNode::Order { number: 2, order: Order::Resize { name: Arc::from("gpu"), slots: 4 } },
    ]
}

fn to_client() -> Vec<ToClient> {
    let promise = Promise { sequence: 3, lasts: 1_500_000_000, kept: 1_500_000_000 };
    let granted = Reply { session: SESSION, request: 7, outcome: RequestOutcome::Granted(GRANT) };
    vec![
        ToClient::Opened { session: SESSION, key: KEY, promise: Promise { sequence: 0, ..promise } },
        ToClient::NotOpened(Refusal::NoLease),
        ToClient::Promise { session: SESSION, promise },
        ToClient::SessionGone { session: SESSION },
        ToClient::Reply(granted),
        ToClient::NotReleased { session: SESSION, request: 7, refusal: Refusal::NotHeld },
        ToClient::QuestionAnswer { number: 1, answer: QuestionAnswer::NotDone("no leader".to_string()) },
        ToClient::Watching,
        ToClient::Event(Event::SessionEnded { session: SESSION, ran_out: true, label: None }),
        ToClient::Missed(300),
        ToClient::OrderResult { number: 2, result: Ok(OrderDone::Agreed) },
        ToClient::NotWatching(Refusal::NameEmpty),
        ToClient::NotKept { session: SESSION, refusal: Refusal::NoLease },
    ]
}
