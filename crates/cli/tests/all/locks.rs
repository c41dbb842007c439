//! A cluster of processes and what people do with it: run commands under locks, look, get things wrong.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::cluster::{Cluster, TOKENWOOD, error, kill};
use crate::folder::code;

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
    cluster.until("x", 1, 0);
    for timeout in [&["--try"][..], &["--wait", "20ms"]] {
        let arguments = [&["run", "x"], timeout, &["--", "true"]].concat();
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
fn a_client_that_loses_its_node_loses_the_lock_and_its_command_ends() {
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
        (&["run", "", "--", "true"][..], "lock '': the name is empty"),
        (&["run", &long, "--", "true"], "256 bytes"),
        (&["run", "a\nb", "--", "true"], "control characters"),
        (&["run", "x", "--slots", "0", "--", "true"], "1 to 65536 slots"),
        (&["run", "x", "--ttl", "1ms", "--", "true"], "at least 500 ms"),
        (&["run", "x", "--wait", "soon", "--", "true"], "not a length of time"),
        (&["run", "x", "--group", "", "--", "true"], "a group needs a name"),
    ] {
        let refused = cluster.run(0, arguments);
        assert_eq!(code(&refused), 2, "{arguments:?}: {}", error(&refused));
        assert!(error(&refused).contains(expected), "{arguments:?}: {}", error(&refused));
    }
    let not_text = std::ffi::OsStr::from_bytes(b"x\xff");
    let refused = cluster.client(0, &["run"]).arg(not_text).args(["--", "true"]).output().unwrap();
    assert_eq!(code(&refused), 2);
    assert!(error(&refused).contains("invalid UTF-8"), "{}", error(&refused));
}

#[test]
fn slots_that_contradict_what_is_in_use_are_refused() {
    let cluster = Cluster::start("contradiction", 2, false);
    let mut holder = cluster.client(0, &["run", "gpu", "--slots", "2", "--", "sleep", "60"]).spawn().unwrap();
    cluster.until("gpu", 1, 0);
    for node in 0..2 {
        for other in [&["--slots", "3"][..], &["--shared"], &["--group", "a"]] {
            let refused = cluster.run(node, &[&["run", "gpu"], other, &["--", "true"]].concat());
            assert_eq!(code(&refused), 2, "{other:?}: {}", error(&refused));
            let said = error(&refused);
            assert!(said.contains("lock 'gpu': the name is in use as a semaphore with 2 slots"), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
    kill("-TERM", u64::from(holder.id()));
    holder.wait().unwrap();
}

#[test]
fn no_node_there_or_another_program() {
    for arguments in [
        &["status"][..],
        &["locks"],
        &["inspect", "x"],
        &["watch"],
        &["run", "x", "--", "true"],
        &["acquire", "x"],
    ] {
        let at = arguments.iter().position(|argument| *argument == "--").unwrap_or(arguments.len());
        let mut command = Command::new(TOKENWOOD);
        command.args(&arguments[..at]).args(["--endpoint", "127.0.0.1:1"]).args(&arguments[at..]);
        let refused = command.output().unwrap();
        assert_eq!(code(&refused), 69, "{arguments:?}");
        let said = error(&refused);
        assert!(
            said.contains("is a cluster running?") && said.contains("127.0.0.1:1: "),
            "{arguments:?}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let gone = Command::new(TOKENWOOD)
        .args(["release", "0.1.1.1.1.000102030405060708090a0b0c0d0e0f@127.0.0.1:1"])
        .output()
        .unwrap();
    assert_eq!(code(&gone), 69);
    assert!(error(&gone).contains("127.0.0.1:1 does not answer"), "{}", error(&gone));
}

#[test]
fn a_port_in_use_is_said() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let member = format!("0={taken}");
    for (arguments, whom) in [
        (["--member", "0=127.0.0.1:0", "--clients", &taken], "clients"),
        (["--member", &member, "--clients", "127.0.0.1:0"], "peers"),
    ] {
        let refused = Command::new(TOKENWOOD).args(["node", "--id", "0"]).args(arguments).output().unwrap();
        assert_eq!(code(&refused), 2);
        let expected = format!("cannot listen at {taken} for {whom}: is the port in use?");
        assert!(error(&refused).contains(&expected), "{}", error(&refused));
    }
}

#[test]
fn some_locks_are_listed_by_name_and_prefix_and_again_when_they_change() {
    let cluster = Cluster::start("some", 2, false);
    for name in ["a/1", "a/2", "b/1"] {
        cluster.says(0, &["acquire", name, "--quiet"]);
    }
    let names = |arguments: &[&str]| {
        let told = cluster.json(1, &[&["locks"], arguments].concat());
        let mut names: Vec<String> = told["locks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|lock| lock["name"].as_str().unwrap().into())
            .collect();
        names.dedup();
        names
    };
    assert_eq!(names(&["a/1"]), ["a/1"]);
    assert_eq!(names(&["--prefix", "a/"]), ["a/1", "a/2"]);
    assert_eq!(names(&["b/1", "--prefix", "a/2"]), ["a/2", "b/1"]);
    assert!(cluster.says(0, &["locks", "c"]).contains("No client holds or waits for these locks"));
    let wrong = cluster.run(0, &["locks", "--watch=1ms"]);
    assert!(error(&wrong).contains("at most ten times a second"), "{}", error(&wrong));

    let mut watching = cluster
        .client(0, &["locks", "--prefix", "b/", "--watch=100ms"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("b/1 ")), "what there is comes at once");
    cluster.says(1, &["acquire", "a/3", "--quiet"]);
    cluster.says(1, &["acquire", "b/2", "--quiet"]);
    let next: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("b/2 ")).collect();
    assert_eq!(next.iter().filter(|line| line.starts_with("b/1 ")).count(), 1, "{next:?}");
    kill("-INT", watching.id().into());
    assert!(watching.wait().unwrap().success());
}
