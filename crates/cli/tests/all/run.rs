//! `tokenwood run`: the command ends with its lock, gets all signals, and its exit codes say what happened. That it ends when
//! `run` is killed, stopped or starved, whatever it does to get away, is an ordeal: `tokenwood ordeal commands`.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cluster::{Cluster, SOON, TOKENWOOD, ended_within, error, kill, lives, until_gone};
use crate::folder::code;

/// Waits until a file has this in it.
fn until_said(file: &Path, what: &str) {
    let begun = Instant::now();
    while !fs::read_to_string(file).is_ok_and(|text| text.contains(what)) {
        assert!(begun.elapsed() < SOON, "never said '{what}': {:?}", fs::read_to_string(file));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A command that holds a lock and writes into a file; it has begun.
fn holder(cluster: &Cluster, flags: &[&str], script: &str) -> Child {
    let log = cluster.folder.0.join("log");
    _ = fs::remove_file(&log);
    let arguments = [&["run", "x"], flags, &["--", "sh", "-c", script]].concat();
    let mut command = cluster.client(0, &arguments);
    let holder = command.current_dir(&cluster.folder.0).stderr(Stdio::piped()).spawn().unwrap();
    until_said(&log, "in");
    holder
}

fn log(cluster: &Cluster) -> String {
    fs::read_to_string(cluster.folder.0.join("log")).unwrap()
}

#[test]
fn the_command_needs_no_dashes_and_knows_where_it_is() {
    let cluster = Cluster::start("no-dashes", 1, false);
    let script = "echo $TOKENWOOD_NAME $TOKENWOOD_SLOT $TOKENWOOD_ENDPOINTS; exit 3";
    let mut command = Command::new(TOKENWOOD);
    command.args(["run", "--endpoint", &cluster.endpoints[0], "x", "sh", "-c", script]);
    let output = command.output().unwrap();
    assert_eq!(code(&output), 3, "{}", error(&output));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("x 0 {}\n", cluster.endpoints[0]));
}

#[test]
fn exit_codes_say_what_happened() {
    let cluster = Cluster::start("run-codes", 1, false);
    for (command, expected) in [("nosuch-command", 127), ("/etc/passwd", 126)] {
        let output = cluster.run(0, &["run", "x", "--", command]);
        assert_eq!(code(&output), expected, "{}", error(&output));
        assert!(error(&output).contains(command), "{}", error(&output));
    }
    // A free lock needs no time.
    assert_eq!(code(&cluster.run(0, &["run", "x", "--wait", "0s", "--", "true"])), 0);
    let mut holder = holder(&cluster, &[], "echo in >> log; exec sleep 60");
    for flags in [&["--try"][..], &["--wait", "0s"], &["--wait", "50ms"]] {
        let arguments = [&["run", "x"], flags, &["--", "true"]].concat();
        assert_eq!(code(&cluster.run(0, &arguments)), 75);
        let arguments = [&["run", "x", "-E", "9"], flags, &["--", "true"]].concat();
        assert_eq!(code(&cluster.run(0, &arguments)), 9);
    }
    kill("-TERM", u64::from(holder.id()));
    assert_eq!(ended_within(&mut holder, SOON).unwrap().code(), Some(128 + 15));
    // Wrong usage is not a cluster that cannot be reached, and its reason is told as it is.
    let short = cluster.run(0, &["run", "x", "--ttl", "1ms", "--", "true"]);
    assert_eq!(code(&short), 2, "{}", error(&short));
    assert!(!error(&short).contains("is a cluster running"), "{}", error(&short));
    let nobody = Command::new(TOKENWOOD).args(["run", "--endpoint", "127.0.0.1:1", "x", "true"]).output();
    assert_eq!(code(&nobody.unwrap()), 69);
}

#[test]
fn waiting_includes_the_time_until_there_is_a_cluster() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let endpoint = format!("127.0.0.1:{port}");
    let begun = Instant::now();
    let arguments = ["run", "--endpoint", &endpoint, "--wait", "1s", "x", "true"];
    let output = Command::new(TOKENWOOD).args(arguments).output().unwrap();
    assert_eq!(code(&output), 69, "{}", error(&output));
    assert!(begun.elapsed() >= Duration::from_secs(1), "it gave up after {:?}", begun.elapsed());
}

#[test]
fn every_signal_that_can_be_caught_reaches_the_command() {
    let cluster = Cluster::start("signals", 1, false);
    let script = "for s in HUP INT QUIT USR1 USR2 ALRM TERM VTALRM PROF XCPU SYS 40 64; do \
                  trap \"echo got-$s >> log\" $s; done; echo in >> log; \
                  while ! grep -q got-TERM log; do sleep 0.05; done; exit 5";
    let mut holder = holder(&cluster, &[], script);
    let log = cluster.folder.0.join("log");
    for signal in ["USR1", "USR2", "ALRM", "VTALRM", "PROF", "XCPU", "SYS", "40", "64", "QUIT", "TERM"] {
        kill(&format!("-{signal}"), u64::from(holder.id()));
        until_said(&log, &format!("got-{signal}"));
    }
    assert_eq!(ended_within(&mut holder, SOON).unwrap().code(), Some(5));
}

#[test]
fn a_killed_run_takes_its_command_with_it() {
    let cluster = Cluster::start("killed-run", 1, false);
    // One in a session of its own, one whose parent is gone, and one that does not listen.
    let script = "setsid sleep 61 & echo $! >> log; (setsid sh -c 'echo $$ >> log; exec sleep 62' &); \
                  trap '' TERM; echo $$ >> log; \
                  while [ $(wc -l < log) -lt 3 ]; do sleep 0.02; done; echo in >> log; sleep 63";
    let mut holder = holder(&cluster, &["--ttl", "2s"], script);
    let processes: Vec<u64> = log(&cluster).lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(processes.len(), 3);
    assert!(processes.iter().all(|process| lives(*process)));
    kill("-KILL", u64::from(holder.id()));
    holder.wait().unwrap();
    // The next one is granted the lock only when they are gone.
    let script =
        format!("for p in {processes:?}; do ! kill -0 ${{p%,}} || exit 9; done").replace(['[', ']'], "");
    let next = cluster.run(0, &["run", "x", "--", "sh", "-c", &script]);
    assert_eq!(code(&next), 0, "{}", error(&next));
    processes.into_iter().for_each(until_gone);
}

#[test]
fn without_its_guardian_a_command_ends_at_once() {
    let cluster = Cluster::start("guardian", 1, false);
    let script =
        "(setsid sh -c 'echo $$ >> log; exec sleep 62' &); echo $PPID >> log; echo in >> log; sleep 63";
    let holder = holder(&cluster, &[], script);
    until_said(&cluster.folder.0.join("log"), "in");
    std::thread::sleep(Duration::from_millis(50));
    let processes: Vec<u64> = log(&cluster).lines().filter_map(|line| line.parse().ok()).collect();
    let guardian = *processes.iter().min().unwrap();
    kill("-KILL", guardian);
    let ended = holder.wait_with_output().unwrap();
    assert_eq!(code(&ended), 70, "{}", error(&ended));
    assert!(error(&ended).contains("guardian"), "{}", error(&ended));
    processes.into_iter().for_each(until_gone);
}

#[test]
fn a_revoked_lock_leaves_time_to_end_but_not_for_ever() {
    let cluster = Cluster::start("revoked-run", 1, false);
    let polite = "trap 'echo asked >> log; exit 0' TERM; echo in >> log; while :; do sleep 0.05; done";
    let polite = holder(&cluster, &[], polite);
    assert_eq!(code(&cluster.run(0, &["release", "--force", "x"])), 0);
    let ended = polite.wait_with_output().unwrap();
    assert_eq!(code(&ended), 76, "{}", error(&ended));
    assert_eq!(log(&cluster), "in\nasked\n");
    let deaf = holder(&cluster, &["--grace", "100ms"], "trap '' TERM; echo in >> log; sleep 60");
    assert_eq!(code(&cluster.run(0, &["release", "--force", "x"])), 0);
    assert_eq!(code(&deaf.wait_with_output().unwrap()), 76);
}

#[test]
fn what_happens_at_a_loss_can_be_chosen() {
    let cluster = Cluster::start("on-lost", 1, false);
    let script = "trap 'echo asked >> log; exit 0' TERM; echo in >> log; \
                  while ! grep -q 'told\\|go on' log; do sleep 0.05; done; echo end >> log";
    let revoke = || assert_eq!(code(&cluster.run(0, &["release", "--force", "x"])), 0);
    let killed = holder(&cluster, &["--on-lost", "kill"], script);
    revoke();
    assert_eq!((code(&killed.wait_with_output().unwrap()), log(&cluster)), (76, "in\n".to_string()));
    let told = holder(
        &cluster,
        &["--on-lost", "echo told >> log; kill -0 $TOKENWOOD_PID && echo lives >> log"],
        script,
    );
    revoke();
    assert_eq!(code(&told.wait_with_output().unwrap()), 76);
    let said = log(&cluster);
    assert!(said.contains("told\n") && said.contains("lives\n") && !said.contains("asked"), "{said}");
    let left_alone = holder(&cluster, &["--on-lost", "none"], script);
    revoke();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(log(&cluster), "in\n");
    fs::write(cluster.folder.0.join("log"), "go on\n").unwrap();
    assert_eq!(code(&left_alone.wait_with_output().unwrap()), 76);
    assert_eq!(log(&cluster), "go on\nend\n");
}

#[test]
fn children_that_stay_are_waited_for_if_wanted() {
    let cluster = Cluster::start("children", 1, false);
    let script = "(sleep 0.5; echo late >> log) & echo in >> log";
    let mut first = holder(&cluster, &[], script);
    assert!(first.wait().unwrap().success());
    assert_eq!(log(&cluster), "in\n", "the lock is free when the command has ended");
    let mut second = holder(&cluster, &["--wait-children"], script);
    assert!(second.wait().unwrap().success());
    assert_eq!(log(&cluster).lines().last(), Some("late"));
}

#[test]
fn a_script_that_suspends_run_suspends_its_command_and_not_itself() {
    let cluster = Cluster::start("suspend", 1, false);
    let script = "echo $$ >> log; echo in >> log; while :; do sleep 0.05; done";
    let endpoint = &cluster.endpoints[0];
    // In a session of its own, so that nothing of the test is stopped if it goes wrong.
    let shell = format!(
        "{TOKENWOOD} run x --endpoint {endpoint} -- sh -c '{script}' & run=$!; \
         while ! grep -q in log 2>/dev/null; do sleep 0.02; done; command=$(head -1 log); \
         state() {{ sed 's/.*) //' /proc/$command/stat | cut -c1; }}; \
         kill -TSTP $run; for i in $(seq 200); do [ $(state) = T ] && break; sleep 0.02; done; \
         echo stopped: $(state), run: $(sed 's/.*) //' /proc/$run/stat | cut -c1); \
         kill -CONT $run; for i in $(seq 200); do [ $(state) != T ] && break; sleep 0.02; done; \
         [ $(state) != T ] && echo continued; kill -TERM $run; wait $run; echo ended: $?"
    );
    let output =
        Command::new("setsid").args(["sh", "-c", &shell]).current_dir(&cluster.folder.0).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        said,
        "stopped: T, run: S\ncontinued\nended: 143\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn everyone_can_see_who_holds_a_lock() {
    let cluster = Cluster::start("labels", 2, false);
    let script = "echo in >> log; exec sleep 60";
    let mut first = holder(&cluster, &["--label", "build 17"], script);
    let mut waits = cluster.client(1, &["run", "x", "--no-label", "--", "true"]).spawn().unwrap();
    cluster.until("x", 1, 1);
    let found = cluster.json(1, &["inspect", "x"]);
    let label = &found["holders"][0]["label"];
    assert_eq!((&label["pid"], &label["command"]), (&first.id().into(), &"sh".into()), "{found:#}");
    assert_eq!(label["text"], "build 17");
    assert!(label["host"].is_string() && label["user"].is_string(), "{label}");
    assert_eq!(found["waiters"][0]["label"]["pid"], serde_json::Value::Null, "it did not want to be known");
    assert_eq!(found["holders"][0]["revoked"], false);
    assert!(found["holders"][0]["expires_in_seconds"].as_f64().unwrap() > 0.0);
    let pid = format!("(pid {}: sh) \"build 17\"", first.id());
    for arguments in [&["locks"][..], &["inspect", "x"]] {
        let table = cluster.says(0, arguments);
        assert!(table.contains(&pid) && table.contains("client "), "{table}");
    }
    for flags in [&["--try"][..], &["--wait", "100ms"]] {
        let refused = cluster.run(1, &[&["run", "x"], flags, &["--", "true"]].concat());
        let said = error(&refused);
        assert!(said.contains("held by ") && said.contains(&pid) && said.contains("1 waiting"), "{said}");
    }
    let long = cluster.run(0, &["run", "y", "--label", &"x".repeat(200), "--", "true"]);
    assert_eq!(code(&long), 2);
    assert!(error(&long).contains("at most 128 bytes"), "{}", error(&long));
    kill("-TERM", u64::from(first.id()));
    first.wait().unwrap();
    assert!(waits.wait().unwrap().success());
}

#[test]
fn a_cluster_without_a_majority_is_not_said_to_be_absent() {
    let cluster = Cluster::start("no-majority", 3, true);
    kill("-KILL", cluster.pids[1]);
    kill("-KILL", cluster.pids[2]);
    let begun = Instant::now();
    loop {
        let output = cluster.run(0, &["run", "y", "--wait", "100ms", "--", "true"]);
        let said = error(&output);
        assert!(!said.contains("is a cluster running") && !said.contains("unreachable"), "{said}");
        // The node that is left grants until its lease has run out; a session opened just before that is lost then.
        if code(&output) == 69 && said.contains("no lease") && !said.contains("session is lost") {
            break;
        }
        assert!(begun.elapsed() < SOON, "{}: {said}", output.status);
        std::thread::sleep(Duration::from_millis(100));
    }
}
