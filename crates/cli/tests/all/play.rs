//! `tokenwood play` and `tokenwood trace --open`: what they print, what they serve, and how they end.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::{Cluster, TOKENWOOD, ended_within, error, kill};
use crate::folder::{Folder, code, text};
use crate::json_schema::document;

const SOON: Duration = Duration::from_secs(20);

/// A server that runs, and the address that it printed.
struct Playing {
    child: Child,
    /// Kept open for as long as it runs.
    _said: BufReader<ChildStdout>,
    page: String,
}

impl Drop for Playing {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Playing {
    fn start(arguments: &[&str]) -> Playing {
        let mut command = Command::new(TOKENWOOD);
        // A test opens no browser.
        command.args(arguments).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (mut said, mut page) = (BufReader::new(child.stdout.take().unwrap()), String::new());
        said.read_line(&mut page).unwrap();
        Playing { child, _said: said, page: page.trim_end().to_string() }
    }

    /// The address of the server, and what follows it in that of the page.
    fn place(&self) -> (&str, &str) {
        let (_, rest) =
            self.page.split_once("http://").unwrap_or_else(|| panic!("no address: {}", self.page));
        rest.split_at(rest.find('/').unwrap())
    }

    /// The status and the body of an answer.
    fn send(&self, request: &str, body: &str) -> (u16, String) {
        exchange(self.place().0, request, body)
    }

    fn json(&self, request: &str, body: &str) -> Value {
        let (status, body) = self.send(request, body);
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    fn ends(&mut self, signal: &str) -> i32 {
        kill(signal, self.child.id().into());
        ended_within(&mut self.child, SOON).expect("it ends").code().unwrap()
    }
}

/// Sends a request to a server. Returns the status and the body of the answer.
fn exchange(server: &str, request: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let head = format!(
        "{request} HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_string())
}

#[test]
fn play_serves_the_page_and_the_player_until_it_is_asked_to_end() {
    let mut playing = Playing::start(&["play", "bulgannawar-vaidya", "--no-open"]);
    let (server, path) = playing.place();
    assert!(server.starts_with("127.0.0.1:"), "{server}");
    assert_eq!(path, "/ui/play/bulgannawar-vaidya?n=6&k=2");
    let (status, page) = playing.send(&format!("GET {path}"), "");
    assert_eq!((status, page.starts_with("<!doctype html>")), (200, true), "{page}");
    let about = playing.json("GET /player/about", "");
    assert_eq!((&about["cluster"], &about["player"]), (&json!(false), &json!(true)));
    assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));
    let played =
        playing.json("POST /player/play", r#"{"algorithm": "bulgannawar-vaidya", "steps": ["req1/0"]}"#);
    assert_eq!(played["states"][0]["at"], 1);
    assert_eq!(playing.send("GET /v1/cluster", "").0, 404);
    assert_eq!(playing.ends("-TERM"), 0);
    let mut again = Playing::start(&["play", "--no-open", "--listen", "[::1]:0"]);
    assert!(again.page.starts_with("http://[::1]:") && again.page.ends_with("/ui/play"), "{}", again.page);
    assert_eq!(again.ends("-INT"), 0);
}

#[test]
fn play_ends_at_once_while_it_searches() {
    let mut playing = Playing::start(&["play", "--no-open", "--listen", "127.0.0.1:0"]);
    let (server, _) = playing.place();
    let mut stream = TcpStream::connect(server).unwrap();
    let body = r#"{"algorithm": "bulgannawar-vaidya", "goal": {"is": "violation"}, "may": {"requests": 3}}"#;
    let head = format!(
        "POST /player/find HTTP/1.1\r\nhost: {server}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    assert_eq!(playing.ends("-TERM"), 0);
}

/// The server that made a link is gone: the link has all of the run.
#[test]
fn a_shared_link_is_played_and_replayed() {
    let folder = Folder::new("links");
    let steps = ["req1/0", "1>0"];
    let playing = Playing::start(&["play", "naimi-trehel", "--no-open", "--listen", "127.0.0.1:0"]);
    let shared = json!({ "algorithm": "naimi-trehel", "nodes": 3, "seed": 7, "steps": steps });
    let run = playing.json("POST /player/share", &shared.to_string())["run"].as_str().unwrap().to_string();
    let server = playing.place().0.to_string();
    let place = format!("/ui/play/naimi-trehel?n=3&seed=7&at=1#r={run}");
    let link = format!("http://{server}{place}");
    drop(playing);
    let output = folder.run(&format!("trace {link}"));
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let told = text(&output.stdout);
    assert!(told.starts_with("naimi-trehel: 3 nodes, 1 token\n"), "{told}");
    assert!(told.contains("   1  req1") && told.contains("   2  1>0"), "{told}");
    let found = document(&folder.run(&format!("trace {link} --format json")).stdout);
    assert_eq!(found["steps"].as_array().unwrap().len(), 2);
    let mut again = Playing::start(&["play", &link, "--no-open", "--listen", "127.0.0.1:0"]);
    assert_eq!(again.place().1, place);
    let opened = again.json("POST /player/open", &run);
    assert_eq!(opened["steps"], json!(steps));
    assert_eq!(again.ends("-TERM"), 0);
    let cut = &link[..link.len() - 4];
    for (arguments, said) in [
        (format!("play {link} --nodes 4"), "leave out --nodes"),
        (format!("play {cut}"), "a link may have lost its end"),
        (format!("trace {cut}"), "a link may have lost its end"),
        (format!("trace http://{server}/ui/play/naimi-trehel?n=3"), "this link has no run"),
        ("play http://127.0.0.1:7720/ui/names/gpu".to_string(), "this is no link of the player"),
    ] {
        let output = folder.run(&arguments);
        assert_eq!(code(&output), 2, "{arguments}");
        assert!(error(&output).contains(said), "{arguments}: {}", error(&output));
    }
}

#[test]
fn the_address_has_what_the_flags_say() {
    for (arguments, expected) in [
        (vec!["naimi-trehel", "-n", "9", "--seed", "7"], "/ui/play/naimi-trehel?n=9&k=1&seed=7"),
        (
            vec!["bulgannawar-vaidya", "--set", "choose=random", "-n", "5"],
            "/ui/play/bulgannawar-vaidya?n=5&k=2&set=choose:random",
        ),
        (vec!["drs-gme", "-m", "3"], "/ui/play/drs-gme?n=6&k=1&groups=3"),
    ] {
        let mut all = vec!["play"];
        all.extend(arguments);
        all.extend(["--no-open", "--listen", "127.0.0.1:0"]);
        assert_eq!(Playing::start(&all).place().1, expected);
    }
    // What shows a defect is the default.
    let broken =
        ["play", "bulgannawar-vaidya", "--defect", "holding-not-set", "--no-open", "--listen", "127.0.0.1:0"];
    let broken = Playing::start(&broken);
    let path = broken.place().1;
    assert!(path.starts_with("/ui/play/bulgannawar-vaidya?n=2&k=1&"), "{path}");
    assert!(path.contains("defect=holding-not-set"), "{path}");
}

#[test]
fn play_refuses_what_it_cannot_serve() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let folder = Folder::new("play-refused");
    for (arguments, expected) in [
        ("play paxos", "paxos"),
        ("play naimi-trehel --defect holding-not-set", "holding-not-set"),
        ("play naimi-trehel --nodes 0", "node"),
        ("play naimi-trehel --nodes 101", "at most 100"),
        ("play naimi-trehel --set choose", "is not NAME=VALUE"),
        ("play --nodes 3", "ALGORITHM"),
        ("play --listen 0.0.0.0:7730", "use 127.0.0.1:7730"),
        ("play --listen 10.0.0.1:7730", "ssh -L 7730:127.0.0.1:7730"),
        ("play --listen nowhere", "--listen"),
        (&format!("play --listen {taken}"), "is the port in use?"),
    ] {
        let mut child =
            folder.command(&format!("{arguments} --no-open")).stderr(Stdio::piped()).spawn().unwrap();
        if ended_within(&mut child, SOON).is_none() {
            _ = child.kill();
            panic!("{arguments} is served");
        }
        let refused = child.wait_with_output().unwrap();
        assert_eq!(code(&refused), 2, "{arguments}");
        assert!(error(&refused).contains(expected), "{arguments}: {}", error(&refused));
    }
    // An algorithm and a defect that do not exist are refused in the words of check.
    for arguments in ["paxos", "naimi-trehel --defect holding-not-set"] {
        let (play, check) =
            (folder.run(&format!("play {arguments}")), folder.run(&format!("check {arguments}")));
        assert_eq!(error(&play), error(&check));
    }
}

#[test]
fn a_node_is_told_whether_it_plays() {
    let folder = Folder::new("node-player");
    let config = |more: &str| folder.run(&format!("node --id 0 --data data --print-config {more}"));
    let refused = config("--player on");
    assert_eq!(code(&refused), 2);
    assert!(error(&refused).contains("--http"), "{}", error(&refused));
    for (flags, expected) in [("", "player = \"off\""), ("--player on", "player = \"on\"")] {
        let printed = text(&config(&format!("--http 127.0.0.1:7720 {flags}")).stdout);
        assert!(printed.lines().any(|line| line == expected), "{expected}: {printed}");
        fs::write(folder.0.join("node.toml"), &printed).unwrap();
        assert_eq!(text(&folder.run("node --print-config --config node.toml").stdout), printed);
    }
}

#[test]
fn the_nodes_of_dev_play() {
    for processes in [false, true] {
        let cluster = Cluster::start("dev-player", 1, processes);
        let door = cluster.ready["nodes"][0]["http"].as_str().unwrap();
        let (status, body) = exchange(door, "GET /player/about", "");
        let about: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &about["cluster"], &about["player"]), (200, &json!(true), &json!(true)));
        assert_eq!(exchange(door, "POST /player/play", r#"{"algorithm": "ra1"}"#).0, 200);
    }
}

#[test]
fn a_trace_opens_in_the_player() {
    let folder = Folder::new("trace-open");
    let found = folder.run("check bulgannawar-vaidya --defect holding-not-set --trace short.json");
    assert_eq!(code(&found), 1, "{}", text(&found.stderr));
    let short = folder.0.join("short.json");
    let file = short.to_str().unwrap();
    let playing = Playing::start(&["trace", file, "--open", "--listen", "127.0.0.1:0"]);
    let (_, path) = playing.place();
    let (place, run) = path.split_once("&at=0#r=").unwrap_or_else(|| panic!("no run: {path}"));
    assert!(place.starts_with("/ui/play/bulgannawar-vaidya?n=2&k=1&defect=holding-not-set"), "{place}");
    let opened = playing.json("POST /player/open", run);
    assert_eq!(opened["defect"], "holding-not-set");
    let played = playing.json("POST /player/play", &opened.to_string());
    assert_eq!(played["violated"]["property"], "at-most-k-inside", "{played}");

    // A run that is too long for an address.
    let run = json!({ "algorithm": "ricart-agrawala", "nodes": 20, "seed": 3, "count": 500 });
    let mut run = playing.json("POST /player/autorun", &run.to_string());
    while run["steps"].as_array().unwrap().len() < 6_000 {
        let more = json!({ "algorithm": "ricart-agrawala", "nodes": 20, "seed": 3, "count": 500, "steps": run["steps"] });
        run = playing.json("POST /player/autorun", &more.to_string());
    }
    let long = json!({ "algorithm": "ricart-agrawala", "nodes": 20, "seed": 3, "steps": run["steps"] });
    let (status, trace) = playing.send("POST /player/trace", &long.to_string());
    assert_eq!(status, 200);
    let file = folder.0.join("long.json");
    fs::write(&file, trace).unwrap();
    let playing = Playing::start(&["trace", file.to_str().unwrap(), "--open", "--listen", "127.0.0.1:0"]);
    let (_, path) = playing.place();
    assert!(path.ends_with("&at=0&opened=1"), "{path}");
    assert_eq!(playing.json("GET /player/opened", "")["steps"], run["steps"]);

    // A recording is shown as it is.
    assert_eq!(code(&folder.run("swarm --seed 11 --record run.jsonl")), 0);
    let file = folder.0.join("run.jsonl");
    let playing = Playing::start(&["trace", file.to_str().unwrap(), "--open", "--listen", "127.0.0.1:0"]);
    assert_eq!(playing.place().1, "/ui/recording");
    assert_eq!(playing.send("GET /player/opened", ""), (200, fs::read_to_string(&file).unwrap()));

    let refused = folder.run("trace short.json --open --format json");
    assert_eq!(code(&refused), 2);
    fs::write(folder.0.join("none.json"), "{}").unwrap();
    assert_eq!(code(&folder.run("trace none.json --open")), 2);
}
