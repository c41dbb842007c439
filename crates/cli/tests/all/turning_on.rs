//! Encryption is turned on in a cluster that runs, under load, by the steps of docs/security.md: no client loses what it holds, no
//! two hold the same, and none waits for longer than a lease and an election.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use node::Encryption;
use security::{Credentials, Files};
use serde_json::Value;
use tokenwood::{Access, Options, Tokenwood};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::cluster::{SOON, TOKENWOOD, client_of, ended_within, error, kill};
use crate::folder::{Folder, code, text};
use crate::nodes::{Nodes, until};

/// A lease of these nodes. It is long, so that no node loses it because the machine is busy.
const LEASE: &str = "8s";
/// A lease, and an election.
const LONGEST_WAIT: Duration = Duration::from_secs(8 + 1);
/// So many pass one lock on, and as many hold one of their own for long.
const CLIENTS: usize = 3;

/// What the clients of a name have seen.
#[derive(Default)]
struct Seen {
    inside: bool,
    fence: u64,
    turns: usize,
    longest_wait: Duration,
}

/// Clients that hold, renew and release until they are told to stop, and use what they are told to show.
struct Load {
    runtime: Runtime,
    shows: watch::Sender<Access>,
    /// How many clients show what they were told to in the meantime.
    switched: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    clients: JoinSet<()>,
    /// What those that pass a lock on have seen, and then each of the others.
    seen: Vec<Arc<Mutex<Seen>>>,
}

impl Load {
    fn start(endpoints: &[String]) -> Load {
        let runtime = Runtime::new().unwrap();
        let (shows, over) = (watch::Sender::new(Access::default()), Arc::new(AtomicBool::new(false)));
        let switched = Arc::new(AtomicUsize::new(0));
        let seen: Vec<Arc<Mutex<Seen>>> = (0..=CLIENTS).map(|_| Arc::default()).collect();
        let mut clients = JoinSet::new();
        for number in 0..2 * CLIENTS {
            // Each begins at another node.
            let (later, first) = endpoints.split_at(number % endpoints.len());
            let endpoints = [first, later].concat();
            let (name, holds) = match number.checked_sub(CLIENTS) {
                None => (0, Duration::from_millis(5)),
                // Longer than it takes until a session is renewed.
                Some(own) => (own + 1, Duration::from_millis(600)),
            };
            let (seen, over, told) =
                (seen[name].clone(), over.clone(), (shows.subscribe(), switched.clone()));
            let work = work(endpoints, format!("name-{name}"), holds, (told, over, seen));
            clients.spawn_on(work, runtime.handle());
        }
        Load { runtime, shows, switched, over, clients, seen }
    }

    /// Has all clients show this, and waits until they do.
    fn show(&self, access: Access) {
        self.shows.send_replace(access);
        assert!(until(|| self.switched.load(Ordering::Relaxed) == 2 * CLIENTS));
    }

    /// Waits until each name was held twice more.
    fn goes_on(&self) {
        let turns = || self.seen.iter().map(|seen| seen.lock().unwrap().turns).collect::<Vec<_>>();
        let before = turns();
        assert!(
            until(|| turns().iter().zip(&before).all(|(now, before)| *now >= before + 2)),
            "{before:?}, then {:?}",
            turns()
        );
    }

    /// Fails if a client has seen what it must not see.
    fn end(self) {
        self.over.store(true, Ordering::Relaxed);
        self.runtime.block_on(self.clients.join_all());
        for (number, seen) in self.seen.iter().enumerate() {
            let Seen { longest_wait, turns, .. } = *seen.lock().unwrap();
            assert!(longest_wait <= LONGEST_WAIT, "name-{number}: {longest_wait:?} of {turns} turns");
        }
    }
}

type Shared = ((watch::Receiver<Access>, Arc<AtomicUsize>), Arc<AtomicBool>, Arc<Mutex<Seen>>);

async fn work(
    endpoints: Vec<String>,
    name: String,
    holds: Duration,
    ((mut shows, switched), over, seen): Shared,
) {
    let connect = async |access: Access| {
        let options = Options { access, ..Options::default() };
        Tokenwood::connect_with(endpoints.clone(), options).await.expect("a node serves")
    };
    let access = shows.borrow_and_update().clone();
    let mut client = connect(access).await;
    while !over.load(Ordering::Relaxed) {
        if shows.has_changed().unwrap() {
            let access = shows.borrow_and_update().clone();
            client = connect(access).await;
            switched.fetch_add(1, Ordering::Relaxed);
        }
        let begun = Instant::now();
        let guard = client.mutex(&name).acquire().await.expect("a node serves");
        {
            let mut seen = seen.lock().unwrap();
            assert!(!seen.inside, "two hold {name}");
            assert!(guard.fence() > seen.fence, "{name}: {} after {}", guard.fence(), seen.fence);
            (seen.inside, seen.fence) = (true, guard.fence());
            seen.longest_wait = seen.longest_wait.max(begun.elapsed());
        }
        tokio::time::sleep(holds).await;
        assert!(!guard.is_lost(), "{name} is lost");
        let mut seen = seen.lock().unwrap();
        (seen.inside, seen.turns) = (false, seen.turns + 1);
        drop(guard);
    }
}

/// Stops a node in good order, and starts it with its certificate.
fn restart(nodes: &mut Nodes, node: usize, certs: &Path, encryption: &str) {
    kill("-TERM", nodes.pid(node));
    assert!(ended_within(&mut nodes.nodes[node], SOON).is_some(), "{}", nodes.log(node));
    let mut command = Command::new(TOKENWOOD);
    command.args(["node", "--encryption", encryption, "--data"]).arg(nodes.data(node));
    command.arg("--ca").arg(certs.join("ca.pem"));
    command.arg("--certificate").arg(certs.join(format!("node-{node}.pem")));
    command.arg("--key").arg(certs.join(format!("node-{node}.key")));
    let log = fs::File::create(nodes.data(node).with_extension(format!("{encryption}.log"))).unwrap();
    nodes.nodes[node] = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
}

/// Waits until all nodes are members again, as each of them says: the next node may be restarted then.
fn all_are_there(nodes: &Nodes, ca: Option<&Path>) {
    let is_there = |node: usize| {
        let mut members = client_of(&nodes.endpoints[node], &["members", "--format", "json"]);
        let told = members.envs(ca.map(|ca| ("TOKENWOOD_CA", ca))).output().unwrap();
        let told: Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
        let is_leased = told["lease_left_seconds"].as_f64().is_some_and(|left| left > 0.0);
        let members =
            told["nodes"].as_array().map_or(0, |all| all.iter().filter(|it| it["member"] == true).count());
        is_leased && members == nodes.nodes.len()
    };
    assert!(until(|| (0..nodes.nodes.len()).all(is_there)), "{}", nodes.log(0));
}

#[test]
fn encryption_is_turned_on_in_a_cluster_that_runs_and_no_client_loses_anything() {
    let folder = Folder::new("turning-on");
    let certs = folder.0.join("certs");
    for arguments in ["init --cluster tokenwood", "node 0", "node 1", "node 2"] {
        let output = folder.run(&format!("certs {arguments}"));
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    }
    let mut nodes = Nodes::start_in(folder, 3, |_, _| {});
    all_are_there(&nodes, None);
    assert!(nodes.run(0, &["members", "lease", LEASE]), "{}", nodes.log(0));
    all_are_there(&nodes, None);
    let load = Load::start(&nodes.endpoints);
    load.goes_on();

    // 1. Restart each node with its certificate and `--encryption optional`.
    for node in 0..3 {
        restart(&mut nodes, node, &certs, "optional");
        all_are_there(&nodes, None);
        load.goes_on();
    }
    // 2. Give all clients the CA.
    let ca = certs.join("ca.pem");
    let files = Files { ca: ca.clone(), certificate: None, key: None };
    let encryption = Encryption::Required(Credentials::load(files, None).unwrap());
    load.show(Access { encryption, token: None });
    load.goes_on();
    // 3. Restart each node with `--encryption required`.
    for node in 0..3 {
        restart(&mut nodes, node, &certs, "required");
        all_are_there(&nodes, Some(&ca));
        load.goes_on();
    }
    load.end();
    for endpoint in &nodes.endpoints {
        let plain = client_of(endpoint, &["run", "x", "--", "true"]).output().unwrap();
        assert_ne!(code(&plain), 0, "a caller without encryption is served");
        let encrypted = client_of(endpoint, &["run", "x", "--", "true"]).env("TOKENWOOD_CA", &ca).output();
        let encrypted = encrypted.unwrap();
        assert_eq!(code(&encrypted), 0, "{}", error(&encrypted));
    }
}
