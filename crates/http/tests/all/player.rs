//! The player over real sockets: without a cluster, and at a node.

use std::net::SocketAddr;
use std::time::Duration;

use http_door::player::{Opened, What, serve};
use player::{Setting, Shared};
use serde_json::{Value, json};
use service::auth::{Change, Secret};
use tokenwood::Admin;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::SOON;
use crate::client::{Answer, Doors};

/// A server without a cluster.
struct Alone {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A search that takes minutes.
const LONG: &str = r#"{"algorithm": "bulgannawar-vaidya", "nodes": 6, "tokens": 2, "goal": {"is": "violation"},
    "may": {"requests": 3}}"#;

impl Alone {
    async fn start(opened: Opened) -> Alone {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Alone { address, serving: tokio::spawn(serve(listener, opened)) }
    }

    /// Sends a request. What comes back is not read.
    async fn begin(&self, request: &str, headers: &[&str], body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut text =
            format!("{request} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in [("host", self.address.to_string()), ("content-type", "application/json".into())]
        {
            if !headers.iter().any(|header| header.starts_with(name)) {
                text += &format!("{name}: {value}\r\n");
            }
        }
        for header in headers {
            text += &format!("{header}\r\n");
        }
        stream.write_all(format!("{text}\r\n").as_bytes()).await.unwrap();
        // A server that refuses need not read it all.
        _ = stream.write_all(body).await;
        stream
    }

    async fn send_with(&self, request: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut stream = self.begin(request, headers, body).await;
        let mut bytes = Vec::new();
        _ = timeout(SOON, stream.read_to_end(&mut bytes)).await.expect(request);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Answer {
            status: status.unwrap_or_else(|| panic!("no answer to {request}: {text:?}")),
            head: head.to_string(),
            body: serde_json::from_str(body).unwrap_or_else(|_| Value::from(body)),
        }
    }

    async fn send(&self, request: &str, body: &Value) -> Answer {
        self.send_with(request, &[], body.to_string().as_bytes()).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.send_with(&format!("GET {path}"), &[], b"").await
    }

    /// Begins a long search, and waits until it tells how far it is.
    async fn search(&self) -> TcpStream {
        let mut stream = self.begin("POST /player/find", &[], LONG.as_bytes()).await;
        let mut seen = String::new();
        while !seen.contains("event: progress") {
            let mut bytes = [0; 4096];
            let count = timeout(SOON, stream.read(&mut bytes)).await.expect("progress").unwrap();
            assert!(count > 0, "it ended: {seen}");
            seen += &String::from_utf8_lossy(&bytes[..count]);
        }
        stream
    }
}

/// The events of an answer, as name and JSON.
fn events(answer: &Answer) -> Vec<(String, Value)> {
    assert_eq!(answer.header("content-type"), Some("text/event-stream"), "{answer:?}");
    let (mut events, mut name) = (Vec::new(), String::new());
    for line in answer.body.as_str().unwrap().lines() {
        if let Some(event) = line.strip_prefix("event: ") {
            name = event.to_string();
        } else if let Some(data) = line.strip_prefix("data: ") {
            events.push((name.clone(), serde_json::from_str(data).unwrap()));
        }
    }
    events
}

fn run() -> Value {
    json!({ "algorithm": "naimi-trehel", "nodes": 3, "seed": 7, "steps": ["req1", "1>0", "0>1"] })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_function_has_an_address() {
    let alone = Alone::start(Opened { first: "/ui/play/ra1?n=3".to_string(), what: None }).await;
    let about = alone.get("/player/about").await;
    assert_eq!((&about.body["cluster"], &about.body["player"]), (&json!(false), &json!(true)), "{about:?}");
    for (list, least) in [("catalogue", 20), ("gallery", 20), ("stories", 7)] {
        let answer = alone.get(&format!("/player/{list}")).await;
        assert_eq!(answer.status, 200, "{list}");
        assert!(answer.body.as_array().map(Vec::len) >= Some(least), "{list}");
        let tag = format!("if-none-match: {}", answer.header("etag").unwrap());
        let again = alone.send_with(&format!("GET /player/{list}"), &[&tag], b"").await;
        assert_eq!((again.status, &again.body), (304, &json!("")), "{list}");
    }
    let played = alone.send("POST /player/play", &run()).await;
    assert_eq!((played.status, &played.body["states"][0]["at"]), (200, &json!(3)), "{played:?}");
    assert_eq!(played.header("x-content-type-options"), Some("nosniff"));
    let mut more = run();
    more["count"] = json!(5);
    let longer = alone.send("POST /player/autorun", &more).await;
    assert_eq!(longer.body["steps"].as_array().map(Vec::len), Some(8), "{longer:?}");

    let shared = alone.send("POST /player/share", &run()).await;
    let plain = ["content-type: text/plain"];
    let opened = alone.send_with("POST /player/open", &plain, shared.text("run").as_bytes()).await;
    assert_eq!((opened.status, &opened.body["steps"]), (200, &run()["steps"]), "{opened:?}");
    let trace = alone.send("POST /player/trace", &run()).await;
    assert_eq!(
        trace.header("content-disposition"),
        Some("attachment; filename=\"naimi-trehel.trace.json\""),
        "{trace:?}"
    );
    let opened = alone.send_with("POST /player/open", &plain, trace.body.to_string().as_bytes()).await;
    assert_eq!((&opened.body["nodes"], &opened.body["steps"]), (&json!(3), &run()["steps"]), "{opened:?}");

    let start = alone.get("/").await;
    assert_eq!((start.status, start.header("location")), (307, Some("/ui/play/ra1?n=3")));
    let page = alone.get("/ui/play/ra1?n=3").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let absent = alone.get("/v1/cluster").await;
    assert_eq!((absent.status, absent.problem()), (404, "not-found"));
    assert!(absent.text("detail").contains("no cluster"), "{absent:?}");
    assert_eq!(alone.get("/player/play").await.status, 405);
    assert_eq!(alone.get("/player/opened").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_becomes_a_file_that_needs_no_server() {
    let alone = Alone::start(Opened::default()).await;
    let mut wanted = run();
    wanted["title"] = json!("</title><script>alert(1)</script>");
    wanted["at"] = json!(99);
    let file = alone.send("POST /player/html", &wanted).await;
    assert_eq!(
        (file.status, file.header("content-type")),
        (200, Some("text/html; charset=utf-8")),
        "{file:?}"
    );
    assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"naimi-trehel.html\""));
    let text = file.body.as_str().unwrap();
    assert!(text.contains("<title>&lt;/title&gt;&lt;script&gt;") && !text.contains("<script>alert"));
    let (_, run) = text.split_once("id=\"run\">").unwrap();
    let run: Value = serde_json::from_str(run.split_once("</script>").unwrap().0).unwrap();
    assert_eq!((&run["at"], &run["title"]), (&json!(3), &wanted["title"]));
    assert_eq!(run["entry"]["name"], "naimi-trehel");
    let numbers: Vec<&Value> = run["states"].as_array().unwrap().iter().map(|state| &state["at"]).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    assert_eq!(run["states"][3]["can"], json!([]));
    let long = json!({ "algorithm": "naimi-trehel", "steps": vec!["req1"; 500] });
    let no = alone.send("POST /player/html", &long).await;
    assert_eq!((no.status, &no.body["refusal"]["fits"]), (422, &json!(499)), "{no:?}");
    assert!(no.body["refusal"]["message"].as_str().unwrap().contains("trace file"), "{no:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_long_comes_as_events() {
    let alone = Alone::start(Opened::default()).await;
    let find = json!({ "algorithm": "bulgannawar-vaidya", "nodes": 2, "tokens": 1, "defect": "holding-not-set",
        "steps": ["req0"], "goal": { "is": "violation" } });
    let found = events(&alone.send("POST /player/find", &find).await);
    let (name, answer) = found.last().unwrap();
    assert_eq!((name.as_str(), &answer["steps"]), ("done", &json!(["req1", "1>0", "0>1"])), "{answer}");
    let compare = json!({ "a": { "algorithm": "bulgannawar-vaidya" }, "b": { "algorithm": "raymond-k" },
        "load": { "entries": 40 }, "seed": 7 });
    let compared = events(&alone.send("POST /player/compare", &compare).await);
    let (last, entries) = compared.split_last().unwrap();
    assert_eq!((entries.len(), last.0.as_str()), (40, "done"));
    assert!(
        entries.iter().zip(1..).all(|((name, entry), number)| name == "entry" && entry["entry"] == number)
    );
    assert_eq!(last.1["a"]["entries"], 40);
    let curve = json!({ "algorithm": "suzuki-kasami", "nodes": 5, "over": "rate", "values": [0.01, 0.1],
        "measures": ["messages_per_entry"], "load": { "entries": 200 }, "seeds": 2 });
    let curve = alone.send("POST /player/curve", &curve).await;
    let points = curve.body["curves"][0]["points"].as_array().map(Vec::len);
    assert_eq!((curve.status, points), (200, Some(2)), "{curve:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_opened_is_there() {
    let run = Shared { setting: Setting::of("naimi-trehel"), steps: vec!["req1".to_string()] };
    let opened = Opened { first: "/ui/play/naimi-trehel?opened=1".to_string(), what: Some(What::Run(run)) };
    let answer = Alone::start(opened).await.get("/player/opened").await;
    assert_eq!((answer.status, &answer.body["steps"]), (200, &json!(["req1"])), "{answer:?}");
    assert_eq!(answer.body["algorithm"], "naimi-trehel");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_answered_is_refused() {
    let alone = Alone::start(Opened::default()).await;
    let step = json!({ "algorithm": "naimi-trehel", "nodes": 3, "steps": ["req1", "1>0", "exit1"] });
    // A run that fits in part is an answer of `play`; a file would have another run than the caller asked for.
    let part = alone.send("POST /player/play", &step).await;
    assert_eq!((part.status, &part.body["steps"]), (200, &json!(["req1", "1>0"])), "{part:?}");
    assert_eq!(part.body["misfit"]["step"], "exit1");
    for path in ["trace", "html"] {
        let no = alone.send(&format!("POST /player/{path}"), &step).await;
        let refusal = &no.body["refusal"];
        assert_eq!(
            (no.status, &refusal["kind"], &refusal["fits"]),
            (422, &json!("impossible"), &json!(2)),
            "{no:?}"
        );
    }
    let unknown = json!({ "algorithm": "paxos", "count": 1, "goal": { "is": "all-served" }, "over": "rate",
        "values": [1], "measures": [], "a": { "algorithm": "paxos" }, "b": { "algorithm": "paxos" } });
    for path in ["play", "autorun", "trace", "find", "compare", "curve"] {
        let no = alone.send(&format!("POST /player/{path}"), &unknown).await;
        assert_eq!((no.status, &no.body["refusal"]["kind"]), (422, &json!("setting")), "{path}: {no:?}");
    }
    let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
    let bodies: [&[u8]; 7] = [
        b"",
        b"{",
        b"null",
        b"\xff\xfe",
        br#"{"algorithm": 7}"#,
        br#"{"algorithm": "ra1", "nodes": -1, "count": 1e99, "goal": {"is": "x"}, "over": 1}"#,
        &deep,
    ];
    for path in ["play", "autorun", "share", "trace", "html", "find", "compare", "curve"] {
        for body in bodies {
            let no = alone.send_with(&format!("POST /player/{path}"), &[], body).await;
            assert_eq!(
                (no.status, &no.body["refusal"]["kind"]),
                (422, &json!("unreadable")),
                "{path}: {no:?}"
            );
            assert!(no.body["refusal"]["message"].as_str().map(str::len) < Some(300), "{no:?}");
        }
        let no = alone.send_with(&format!("POST /player/{path}"), &["content-type: text/plain"], b"{}").await;
        assert_eq!((no.status, &no.body["refusal"]["kind"]), (415, &json!("unreadable")), "{path}: {no:?}");
        let no = alone.send_with(&format!("POST /player/{path}"), &[], &vec![b' '; 2 << 20]).await;
        assert_eq!((no.status, &no.body["refusal"]["kind"]), (413, &json!("bounds")), "{path}: {no:?}");
    }
    for body in [&b""[..], b"\xff", b"no link", b"{\"format\": 1}", &vec![b'A'; 1 << 20]] {
        let no = alone.send_with("POST /player/open", &[], body).await;
        assert_eq!(no.status, 422, "{no:?}");
    }
    assert_eq!(alone.send_with("POST /player/open", &[], &vec![b'A'; 5 << 20]).await.status, 413);
    // It still plays.
    assert_eq!(alone.send("POST /player/play", &run()).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_searches_run_at_once_and_one_whose_page_hangs_up_ends() {
    let alone = Alone::start(Opened::default()).await;
    let (first, second) = (alone.search().await, alone.search().await);
    let curve = json!({ "algorithm": "ra1", "over": "rate", "values": [1], "measures": [] });
    let busy = [
        alone.send_with("POST /player/find", &[], LONG.as_bytes()).await,
        alone.send("POST /player/curve", &curve).await,
    ];
    for no in busy {
        assert_eq!((no.status, &no.body["refusal"]["kind"]), (503, &json!("busy")), "{no:?}");
        assert_eq!(no.header("retry-after"), Some("1"));
    }
    // Steps are taken meanwhile.
    assert_eq!(alone.send("POST /player/play", &run()).await.status, 200);
    drop(first);
    until!(alone.send("POST /player/curve", &curve).await.status == 200);
    drop(second);
    let (third, fourth) = {
        until!(alone.send("POST /player/curve", &curve).await.status == 200);
        let mut both = Vec::new();
        let both_run = async {
            while both.len() < 2 {
                match alone.send("POST /player/curve", &curve).await.status {
                    200 => both.push(alone.search().await),
                    _ => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        };
        timeout(SOON, both_run).await.expect("both places are free again");
        (both.pop(), both.pop())
    };
    drop((third, fourth));
    until!(alone.send("POST /player/curve", &curve).await.status == 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_curve_whose_page_hangs_up_ends_and_does_not_delay_a_short_one() {
    let alone = Alone::start(Opened::default()).await;
    let long = json!({ "algorithm": "lamport", "nodes": 100, "over": "rate", "values": [1], "measures": [],
        "load": { "entries": 1_000_000 }, "seeds": 1 });
    let long = long.to_string();
    let short = json!({ "algorithm": "ra1", "over": "rate", "values": [0.1, 1], "measures": [] });
    let first = alone.begin("POST /player/curve", &[], long.as_bytes()).await;
    for _ in 0..10 {
        assert_eq!(alone.send("POST /player/curve", &short).await.status, 200);
    }
    // A long one that comes while a short one has the second place is refused.
    let mut others = Vec::new();
    until!({
        others.push(alone.begin("POST /player/curve", &[], long.as_bytes()).await);
        alone.send("POST /player/curve", &short).await.status == 503
    });
    drop((first, others));
    until!(alone.send("POST /player/curve", &short).await.status == 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_places_do_not_get_in() {
    let alone = Alone::start(Opened::default()).await;
    let port = alone.address.port();
    for host in
        ["example.org".to_string(), format!("127.0.0.1.example.org:{port}"), "10.0.0.1".into(), "".into()]
    {
        for path in ["/player/about", "/ui/", "/"] {
            let no = alone.send_with(&format!("GET {path}"), &[&format!("host: {host}")], b"").await;
            assert_eq!(
                (no.status, &no.body["refusal"]["kind"]),
                (403, &json!("forbidden")),
                "{host}: {no:?}"
            );
        }
    }
    for host in [format!("localhost:{port}"), format!("[::1]:{port}"), "127.0.0.1".to_string()] {
        assert_eq!(alone.send_with("GET /player/about", &[&format!("host: {host}")], b"").await.status, 200);
    }
    let body = run().to_string();
    for (origin, status) in
        [(format!("http://127.0.0.1:{port}"), 200), ("http://example.org".into(), 403), ("null".into(), 403)]
    {
        let header = format!("origin: {origin}");
        let answer = alone.send_with("POST /player/play", &[&header], body.as_bytes()).await;
        assert_eq!(answer.status, status, "{origin}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_plays_only_if_it_is_told_to_and_for_those_who_may_read() {
    let doors = Doors::start(1).await;
    let about = doors.exchange(0, "GET /player/about", &[], "").await;
    assert_eq!((&about.body["cluster"], &about.body["player"]), (&json!(true), &json!(false)), "{about:?}");
    for request in ["GET /player/catalogue", "POST /player/play", "GET /player/no/such"] {
        let absent = doors.exchange(0, request, &[], "").await;
        assert_eq!((absent.status, absent.problem()), (404, "not-found"), "{absent:?}");
        assert!(absent.text("detail").contains("tokenwood play"), "{absent:?}");
    }
    doors.cluster.stop().await;

    let mut doors = Doors::start(1).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    doors.doors[0] = listener.local_addr().unwrap();
    tokio::spawn(http_door::serve_with_player(doors.cluster.hosts[0].clone(), listener));
    let about = doors.exchange(0, "GET /player/about", &[], "").await;
    assert_eq!((&about.body["cluster"], &about.body["player"]), (&json!(true), &json!(true)), "{about:?}");
    // Its memory is for locks: a search there gets less of it than one of `tokenwood play`, and says so.
    let long = doors.exchange(0, "POST /player/find", &[], LONG).await;
    let (name, stopped) = events(&long).pop().unwrap();
    assert_eq!((name.as_str(), &stopped["why"]), ("done", &json!("memory")), "{stopped}");
    let message = stopped["message"].as_str().unwrap();
    assert!(message.contains("256 MiB") && message.contains("tokenwood play"), "{message}");
    let play = || doors.exchange(0, "POST /player/play", &[], r#"{"algorithm": "ra1"}"#);
    assert_eq!(play().await.status, 200);
    // A body that is larger than other requests have.
    let large = json!({ "algorithm": "ra1", "steps": [], "ignored": "x".repeat(200_000) }).to_string();
    assert_eq!(doors.exchange(0, "POST /player/play", &[], &large).await.status, 200);

    let secret = Secret::new([1; 32]);
    let mut admin = Admin::connect(&doors.cluster.endpoints[0]).await.unwrap();
    admin.change_rights(Change::Secure { admin: secret.hash() }).await.unwrap();
    let stranger = play().await;
    assert_eq!((stranger.status, stranger.problem()), (401, "no-token"), "{stranger:?}");
    let header = format!("authorization: Bearer {}", secret.reveal());
    let known = doors.exchange(0, "POST /player/play", &[&header], r#"{"algorithm": "ra1"}"#).await;
    assert_eq!(known.status, 200, "{known:?}");
    assert_eq!(doors.exchange(0, "GET /player/about", &[], "").await.status, 200);
    doors.cluster.stop().await;
}
