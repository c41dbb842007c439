//! A cluster of processes and what people do with it: run commands under locks, look, get things wrong.

mod folder;

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use folder::{Folder, code};
use serde_json::Value;

const TOKENWOOD: &str = env!("CARGO_BIN_EXE_tokenwood");

/// A cluster that ends with the test.
struct Cluster {
    dev: Child,
    folder: Folder,
    pids: Vec<u64>,
    endpoints: Vec<String>,
}

impl Cluster {
    fn start(name: &str, nodes: u32, processes: bool) -> Cluster {
        let folder = Folder::new(name);
        let ready = folder.0.join("ready.json");
        let mut dev = Command::new(TOKENWOOD);
        dev.args(["dev", "--nodes", &nodes.to_string(), "--ready-file"]).arg(&ready);
        dev.args(processes.then_some("--processes")).stdout(Stdio::null()).stderr(Stdio::inherit());
        let mut dev = dev.spawn().unwrap();
        for _ in 0..2000 {
            if ready.exists() {
                let ready: Value = serde_json::from_str(&fs::read_to_string(&ready).unwrap()).unwrap();
                let nodes = ready["nodes"].as_array().unwrap();
                let pids = nodes.iter().map(|node| node["pid"].as_u64().unwrap()).collect();
                let endpoints =
                    nodes.iter().map(|node| node["endpoint"].as_str().unwrap().to_string()).collect();
                return Cluster { dev, folder, pids, endpoints };
            }
            assert_eq!(dev.try_wait().unwrap(), None, "it ended before it was ready");
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the cluster is not ready");
    }

    /// A command of a client of this node.
    fn client(&self, node: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new(TOKENWOOD);
        let at = arguments.iter().position(|argument| *argument == "--").unwrap_or(arguments.len());
        command.args(&arguments[..at]).args(["--endpoint", &self.endpoints[node]]).args(&arguments[at..]);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, node: usize, arguments: &[&str]) -> Output {
        self.client(node, arguments).output().unwrap()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Politely, so that it ends its nodes.
        kill("-TERM", u64::from(self.dev.id()));
        _ = self.dev.wait();
    }
}

/// Sends a signal. The shell knows how; a program for it need not be there.
fn kill(signal: &str, process: u64) {
    _ = Command::new("sh").args(["-c", &format!("kill {signal} {process}")]).status();
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn two_slots_three_commands_on_three_nodes() {
    let cluster = Cluster::start("three-commands", 3, true);
    let log = cluster.folder.0.join("log");
    let script =
        format!("echo in $TOKENWOOD_SLOT $TOKENWOOD_FENCE >> {0}; sleep 0.3; echo out >> {0}", log.display());
    let commands: Vec<Child> = (0..3)
        .map(|node| {
            cluster.client(node, &["run", "gpu", "--slots", "2", "--", "sh", "-c", &script]).spawn().unwrap()
        })
        .collect();
    for mut command in commands {
        assert!(command.wait().unwrap().success());
    }
    let log = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = log.lines().map(|line| &line[..2]).collect();
    assert_eq!(lines[..3], ["in", "in", "ou"], "the third waits until one has left: {log}");
    assert_eq!(lines.iter().filter(|line| **line == "in").count(), 3, "{log}");
}

#[test]
fn the_command_decides_the_exit_code_unless_the_lock_is_not_had() {
    let cluster = Cluster::start("exit-codes", 2, false);
    assert_eq!(code(&cluster.run(0, &["run", "x", "--", "sh", "-c", "exit 7"])), 7);
    assert_eq!(code(&cluster.run(1, &["run", "x", "--", "sh", "-c", "kill -9 $$"])), 128 + 9);
    let mut holder = cluster.client(0, &["run", "x", "--", "sleep", "60"]).spawn().unwrap();
    let held = || {
        !serde_json::from_slice::<Value>(&cluster.run(0, &["locks", "--format", "json"]).stdout).unwrap()["locks"].as_array().unwrap().is_empty()
    };
    assert!((0..500).any(|_| held()), "it never holds");
    for patience in [&["--try"][..], &["--wait", "20ms"]] {
        let arguments = [&["run", "x"], patience, &["--", "true"]].concat();
        let refused = cluster.run(1, &arguments);
        assert_eq!(code(&refused), 75, "{}", error(&refused));
    }
    let table = String::from_utf8(cluster.run(0, &["locks"]).stdout).unwrap();
    assert!(table.contains("holds"), "{table}");
    // A signal is passed on to the command, and the lock is free.
    kill("-TERM", u64::from(holder.id()));
    assert_eq!(holder.wait().unwrap().code(), Some(128 + 15));
    assert_eq!(code(&cluster.run(1, &["run", "x", "--", "true"])), 0);
}

#[test]
fn whoever_loses_its_node_loses_the_lock_and_its_command_is_ended() {
    let cluster = Cluster::start("lost", 3, true);
    let log = cluster.folder.0.join("log");
    let script =
        format!("trap 'echo asked >> {0}; exit 3' TERM; echo in >> {0}; sleep 60 & wait", log.display());
    let arguments = ["run", "x", "--ttl", "1s", "--", "sh", "-c", &script];
    let holder = cluster.client(1, &arguments).stderr(Stdio::piped()).spawn().unwrap();
    assert!((0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        log.exists()
    }));
    kill("-KILL", cluster.pids[1]);
    let ended = holder.wait_with_output().unwrap();
    assert_eq!(code(&ended), 76);
    assert!(error(&ended).contains("the lock is lost"), "{}", error(&ended));
    assert_eq!(fs::read_to_string(&log).unwrap(), "in\nasked\n");
}

#[test]
fn wrong_input_gets_a_clear_error() {
    let cluster = Cluster::start("wrong-input", 1, false);
    let long = "x".repeat(256);
    for (arguments, expected) in [
        (&["run", "", "--", "true"][..], "the name is empty"),
        (&["run", &long, "--", "true"], "256 bytes"),
        (&["run", "a\nb", "--", "true"], "control characters"),
        (&["run", "x", "--slots", "0", "--", "true"], "1 to 65536 slots"),
        (&["run", "x", "--ttl", "1ms", "--", "true"], "at least 500 ms"),
        (&["run", "x", "--wait", "soon", "--", "true"], "not a length of time"),
        (&["run", "x", "--", "/no/such/program"], "cannot run '/no/such/program'"),
    ] {
        let refused = cluster.run(0, arguments);
        assert_eq!(code(&refused), 2, "{arguments:?}: {}", error(&refused));
        assert!(error(&refused).contains(expected), "{arguments:?}: {}", error(&refused));
    }
    let stranger = Command::new(TOKENWOOD).args(["status", "--endpoint", "127.0.0.1:1"]).output().unwrap();
    assert_eq!(code(&stranger), 2);
    assert!(error(&stranger).contains("is a cluster running?"), "{}", error(&stranger));
    let taken = Command::new(TOKENWOOD)
        .args(["node", "--id", "0", "--member", "0=127.0.0.1:0", "--clients", &cluster.endpoints[0]])
        .output()
        .unwrap();
    assert_eq!(code(&taken), 2);
    assert!(error(&taken).contains("is the port in use?"), "{}", error(&taken));
}
