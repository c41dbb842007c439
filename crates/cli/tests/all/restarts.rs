//! Nodes that start again: with their folder alone, at other addresses, and with folders that are lost, wrong or another's.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::cluster::{SOON, TOKENWOOD, client_of, ended_within, error, kill};
use crate::folder::{Folder, code, text};
use crate::json_schema::document;
use crate::nodes::{Nodes, free_ports, until};

/// A node with these arguments, and where its log goes.
fn node(log: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(TOKENWOOD);
    command.arg("node").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(fs::File::create(log).unwrap()).spawn().unwrap()
}

/// The line in which a node says where it listens.
fn listens(node: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(node.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line
}

/// Ends a node in good order.
fn stop(nodes: &mut Nodes, node: usize) {
    kill("-TERM", nodes.pid(node));
    assert!(ended_within(&mut nodes.nodes[node], SOON).is_some());
}

/// What a node says that does not start.
fn refused(arguments: &[&str]) -> String {
    let output = Command::new(TOKENWOOD).arg("node").args(arguments).output().unwrap();
    assert_eq!(code(&output), 2, "{arguments:?}: {}", error(&output));
    error(&output)
}

#[test]
fn a_node_that_is_named_by_its_folder_alone_comes_back_where_it_was() {
    let mut nodes = Nodes::start("bare", 1, |_, _| {});
    nodes.until_logged(0, "view 1 with nodes 0");
    let first = listens(&mut nodes.nodes[0]);
    stop(&mut nodes, 0);
    let (data, log) = (nodes.data(0), nodes.data(0).with_extension("again.log"));
    let data = data.to_str().unwrap();
    nodes.nodes[0] = node(&log, &["--data", data]);
    assert_eq!(listens(&mut nodes.nodes[0]), first);
    assert!(until(|| nodes.run(0, &["run", "x", "--", "true"])), "{}", fs::read_to_string(&log).unwrap());
    stop(&mut nodes, 0);
    // A flag that differs wins, is said, and is remembered.
    let elsewhere = free_ports(1).remove(0);
    nodes.nodes[0] = node(&log, &["--data", data, "--clients", &elsewhere]);
    assert!(listens(&mut nodes.nodes[0]).ends_with(&format!("at {elsewhere} for clients\n")));
    let said = fs::read_to_string(&log).unwrap();
    let expected =
        format!("clients is {elsewhere} from now on; at the last start it was {}", nodes.endpoints[0]);
    assert!(said.contains(&expected), "{said}");
    stop(&mut nodes, 0);
    nodes.nodes[0] = node(&log, &["--data", data]);
    assert!(listens(&mut nodes.nodes[0]).ends_with(&format!("at {elsewhere} for clients\n")));
    assert!(!fs::read_to_string(&log).unwrap().contains("from now on"), "nothing has changed");
}

#[test]
fn a_node_that_does_not_found_the_cluster_says_whom_it_waits_for() {
    let folder = Folder::new("lone");
    let ports = free_ports(4);
    let list = format!("0={},1={},2={}", ports[0], ports[1], ports[2]);
    let (data, log) = (folder.0.join("1"), folder.0.join("1.log"));
    let data = data.to_str().unwrap();
    let waits = format!("waiting for a majority: 1 of 3 voters (missing node 0 at {}: ", ports[0]);
    let said = || fs::read_to_string(&log).unwrap();
    // Started again before the cluster has begun, its folder is enough.
    for arguments in
        [&["--id", "1", "--data", data, "--member", &list, "--clients", &ports[3]][..], &["--data", data]]
    {
        let mut lone = node(&log, arguments);
        let told = until(|| {
            said().contains(&waits) && said().contains("refused, and it founds the cluster; node 2 at")
        });
        let members = client_of(&ports[3], &["members"]).output().unwrap();
        let listed = client_of(&ports[3], &["members", "--format", "json"]).output().unwrap();
        _ = lone.kill();
        _ = lone.wait();
        assert!(told, "{arguments:?}: {}", said());
        let shown = text(&members.stdout);
        assert!(
            code(&members) == 69 && shown.contains(&waits) && shown.contains("1     not a member yet"),
            "{shown}"
        );
        let listed = document(&listed.stdout);
        let missing = |node: usize| listed["nodes"][node]["missing"].as_str().unwrap_or_default();
        assert!(missing(0).contains("refused") && missing(1).is_empty(), "the same for scripts: {listed}");
    }
}

#[test]
fn a_node_that_died_comes_back_at_another_address_at_once() {
    let mut nodes = Nodes::start("moved", 3, |_, _| {});
    assert!(until(|| nodes.members(0) == Some(3)), "{}", nodes.log(0));
    kill("-KILL", nodes.pid(2));
    _ = nodes.nodes[2].wait();
    // It is still a member, and the leader sends the log to the old address.
    let (data, ports) = (nodes.data(2), free_ports(2));
    let log = data.with_extension("again.log");
    let again = ["--data", data.to_str().unwrap(), "--listen", &ports[0], "--clients", &ports[1]];
    nodes.nodes[2] = node(&log, &again);
    let is_there = || {
        let told = client_of(&nodes.endpoints[0], &["members", "--format", "json"]).output().unwrap();
        let told: Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
        told["nodes"][2]["address"] == ports[0] && told["nodes"][2]["endpoint"] == ports[1]
    };
    assert!(until(is_there), "{} {}", fs::read_to_string(&log).unwrap(), nodes.log(0));
}

#[test]
fn a_node_comes_back_at_another_address_after_the_leader_that_it_knew_is_gone() {
    let mut nodes = Nodes::start("leaders", 5, |_, _| {});
    let asked = |nodes: &Nodes, node: usize| {
        let told = client_of(&nodes.endpoints[node], &["members", "--format", "json"]).output().unwrap();
        serde_json::from_slice::<Value>(&told.stdout).unwrap_or_default()
    };
    assert!(until(|| nodes.members(0) == Some(5)), "{}", nodes.log(0));
    let leader = asked(&nodes, 0)["leader"].as_u64().unwrap() as usize;
    let (moves, stays) = ((leader + 1) % 5, (leader + 2) % 5);
    stop(&mut nodes, moves);
    kill("-KILL", nodes.pid(leader));
    _ = nodes.nodes[leader].wait();
    let replaced = |told: &Value| told["leader"].as_u64().is_some_and(|it| it != leader as u64);
    assert!(until(|| replaced(&asked(&nodes, stays))), "{}", nodes.log(stays));
    // It hears from no leader there, and the one in its folder is dead.
    let (data, ports) = (nodes.data(moves), free_ports(2));
    let log = data.with_extension("again.log");
    let again =
        ["--data", data.to_str().unwrap(), "--listen", &ports[0], "--clients", &ports[1], "--lease", "1s"];
    nodes.nodes[moves] = node(&log, &again);
    let is_there = || asked(&nodes, stays)["nodes"][moves]["endpoint"] == ports[1];
    assert!(until(is_there), "{} {}", fs::read_to_string(&log).unwrap(), nodes.log(stays));
}

#[test]
fn folders_that_are_lost_or_anothers_are_told_at_the_start() {
    let mut nodes = Nodes::start("folders", 1, |_, _| {});
    nodes.until_logged(0, "view 1 with nodes 0");
    stop(&mut nodes, 0);
    let data = nodes.data(0).to_str().unwrap().to_string();
    let said = refused(&["--id", "1", "--data", &data]);
    assert!(said.contains("belongs to node 0, not to 1: name the folder of node 1"), "{said}");
    let said = refused(&["--cluster", "other", "--data", &data]);
    assert!(said.contains("belongs to cluster 'tokenwood', not to 'other'"), "{said}");
    // Moved away, as if it were lost.
    fs::rename(&data, format!("{data}.away")).unwrap();
    let said = refused(&["--data", &data]);
    assert!(said.contains("0 is empty or not there") && said.contains("members invite"), "{said}");
    let peers = free_ports(1).remove(0);
    let member = format!("0={peers}");
    let again = ["--id", "0", "--data", &data, "--member", &member];
    let said = refused(&again);
    assert!(said.contains("of node 0 is lost") && said.contains("give out its fences again"), "{said}");
    assert!(!Path::new(&data).exists(), "nothing was written");
    fs::remove_file(format!("{data}.founded")).unwrap();
    let log = nodes.data(0).with_extension("again.log");
    let clients = nodes.endpoints[0].clone();
    nodes.nodes[0] = node(&log, &[&again[..], &["--clients", &clients]].concat());
    assert!(until(|| nodes.run(0, &["run", "x", "--", "true"])), "{}", fs::read_to_string(&log).unwrap());
}

#[test]
fn a_node_ends_when_its_folder_is_removed_or_replaced() {
    for replaced in [false, true] {
        let mut nodes = Nodes::start("gone", 1, |_, _| {});
        nodes.until_logged(0, "view 1 with nodes 0");
        let data = nodes.data(0);
        let away = data.with_extension("away");
        fs::rename(&data, &away).unwrap();
        if replaced {
            let copied = Command::new("cp").arg("-r").args([&away, &data]).status().unwrap();
            assert!(copied.success());
        }
        let ended = ended_within(&mut nodes.nodes[0], SOON);
        assert_eq!(ended.and_then(|status| status.code()), Some(70), "{}", nodes.log(0));
        assert!(nodes.log(0).contains("was removed or replaced while the node ran"), "{}", nodes.log(0));
    }
}

#[test]
fn an_id_that_is_used_is_told() {
    let mut nodes = Nodes::start("used", 3, |_, _| {});
    assert!(until(|| nodes.members(0) == Some(3)), "{}", nodes.log(0));
    let peers = |node: usize| {
        let told = client_of(&nodes.endpoints[0], &["members", "--format", "json"]).output().unwrap();
        let told = document(&told.stdout);
        told["nodes"][node]["address"].as_str().unwrap().to_string()
    };
    let members: Vec<String> = (0..3).map(|id| format!("{id}={}", peers(id))).collect();
    stop(&mut nodes, 2);
    // A copy of the folder, while the node runs: the leader says that it does.
    let (data, copy) = (nodes.data(2), nodes.data(2).with_extension("copy"));
    assert!(Command::new("cp").arg("-r").args([&data, &copy]).status().unwrap().success());
    let log = nodes.data(2).with_extension("again.log");
    nodes.nodes[2] = node(&log, &["--data", data.to_str().unwrap()]);
    assert!(until(|| nodes.members(0) == Some(3)), "{}", fs::read_to_string(&log).unwrap());
    let ports = free_ports(2);
    let copied = ["--data", copy.to_str().unwrap(), "--listen", &ports[0], "--clients", &ports[1]];
    let log = copy.with_extension("copy.log");
    let mut second = node(&log, &copied);
    let told = until(|| fs::read_to_string(&log).unwrap().contains("node 2 is running already, at "));
    _ = second.kill();
    _ = second.wait();
    assert!(told, "{}", fs::read_to_string(&log).unwrap());
    assert_eq!(nodes.members(0), Some(3), "the first is not disturbed");
    // An empty folder instead of the one that is lost.
    stop(&mut nodes, 2);
    fs::remove_dir_all(&data).unwrap();
    let clients = nodes.endpoints[2].clone();
    let list = members.join(",");
    let again = ["--id", "2", "--data", data.to_str().unwrap(), "--member", &list, "--clients", &clients];
    let said = refused(&[&again[..], &["--lease", "1s"]].concat());
    assert!(said.contains("node 2 already belongs to the cluster with another folder"), "{said}");
    assert!(said.contains("'tokenwood members remove 2'"), "{said}");
}

#[test]
fn a_wrong_node_at_an_advertised_address_is_named_and_not_shown_in_place_of_another() {
    let mut first = String::new();
    let nodes = Nodes::start("mistaken", 3, |id, command| {
        if id == 0 {
            let arguments: Vec<_> = command.get_args().map(|it| it.to_str().unwrap().to_string()).collect();
            first = arguments[arguments.iter().position(|it| it == "--clients").unwrap() + 1].clone();
        } else {
            command.args(["--advertise", &first]);
        }
    });
    assert!(until(|| nodes.members(0) == Some(3)), "{}", nodes.log(0));
    let status = client_of(&nodes.endpoints[0], &["status", "--format", "json"]).output().unwrap();
    assert_eq!(code(&status), 69);
    let told = document(&status.stdout);
    for (id, node) in told["nodes"].as_array().unwrap().iter().enumerate() {
        let error = node["error"].as_str().unwrap_or_default();
        let expected = if id == 0 { "" } else { "node 0 answers there: start node" };
        assert!(
            node["node"] == id && error.starts_with(expected) && error.is_empty() == (id == 0),
            "{told:#}"
        );
    }
    let locks = client_of(&nodes.endpoints[0], &["locks"]).output().unwrap();
    assert!(code(&locks) == 69 && !text(&locks.stdout).contains("No client"), "{}", text(&locks.stdout));
    assert!(
        error(&locks).contains("node 2 at") && error(&locks).contains("--advertise"),
        "{}",
        error(&locks)
    );
    // A grant names its node: another one at that address says nothing about it.
    let acquired = client_of(&nodes.endpoints[0], &["acquire", "x", "--quiet"]).output().unwrap();
    let grant = text(&acquired.stdout).trim().replace(&nodes.endpoints[0], &nodes.endpoints[1]);
    for command in ["renew", "release"] {
        let output = Command::new(TOKENWOOD).args([command, &grant]).output().unwrap();
        assert!(code(&output) == 69 && error(&output).contains("node 1 answers there"), "{}", error(&output));
    }
}

#[test]
fn a_node_of_another_cluster_is_not_taken_for_a_member() {
    let folder = Folder::new("stranger");
    let ports = free_ports(2);
    let (data, member) = (folder.0.join("1"), format!("1={}", ports[0]));
    // It has the same name, and the same id.
    let arguments =
        ["--id", "1", "--data", data.to_str().unwrap(), "--member", &member, "--clients", &ports[1]];
    let mut stranger = node(&folder.0.join("1.log"), &arguments);
    let nodes = Nodes::start("members", 2, |id, command| {
        if id == 1 {
            command.args(["--advertise", &ports[1]]);
        }
    });
    let status = || client_of(&nodes.endpoints[0], &["status", "--format", "json"]).output().unwrap();
    let told = until(|| {
        let told: Value = serde_json::from_slice(&status().stdout).unwrap_or_default();
        told["nodes"][1]["error"] == "a node of another cluster answers there ('tokenwood')"
    });
    _ = stranger.kill();
    _ = stranger.wait();
    assert!(told, "{}", text(&status().stdout));
}

#[test]
fn the_command_of_an_invitation_starts_the_node() {
    let nodes = Nodes::start("pasted", 1, |_, _| {});
    nodes.until_logged(0, "view 1 with nodes 0");
    let ask = |arguments: &[&str]| {
        let output = client_of(&nodes.endpoints[0], arguments).output().unwrap();
        assert_eq!(code(&output), 0, "{arguments:?}: {}", error(&output));
        text(&output.stdout)
    };
    let said = ask(&["members", "invite"]);
    let command = said.lines().map(str::trim).find(|line| line.starts_with("TOKENWOOD_JOIN=")).expect(&said);
    let folder = nodes.data(0).with_extension("bin");
    fs::create_dir(&folder).unwrap();
    symlink(TOKENWOOD, folder.join("tokenwood")).unwrap();
    let mut pasted = Command::new("sh");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    pasted
        .args(["-c", &command.replace(" tokenwood ", " exec tokenwood ")])
        .current_dir(&folder)
        .env("PATH", path);
    let mut pasted = pasted.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let joined = until(|| nodes.members(0) == Some(2));
    _ = pasted.kill();
    _ = pasted.wait();
    assert!(joined, "{said}");
    // What is open is listed, and can be withdrawn or removed.
    let invited = document(ask(&["members", "invite", "--format", "json"]));
    assert!(
        invited["node"] == 2 && invited["command"].as_str().unwrap().starts_with("TOKENWOOD_JOIN=tw2-"),
        "{invited}"
    );
    assert!(ask(&["members", "invite", "--quiet"]).starts_with("tw2-"));
    let list = document(ask(&["members", "invite", "--list", "--format", "json"]));
    let ids = list["invitations"].as_array().unwrap().iter().map(|it| it["node"].as_u64().unwrap());
    assert_eq!(ids.collect::<Vec<_>>(), [2, 3]);
    ask(&["members", "invite", "--withdraw", "2"]);
    assert_eq!(ask(&["members", "remove", "3"]), "The invitation of node 3 is removed.\n");
    assert_eq!(ask(&["members", "invite", "--list"]), "No invitation is open.\n");
    let again = client_of(&nodes.endpoints[0], &["members", "invite", "--withdraw", "2"]).output().unwrap();
    assert!(
        code(&again) == 2 && error(&again).contains("there is no invitation for node 2"),
        "{}",
        error(&again)
    );
}

#[test]
fn a_lease_that_is_too_short_is_refused_with_the_shortest() {
    for arguments in [&["dev", "--lease", "1ms"][..], &["node", "--id", "0", "--lease", "1ms"]] {
        let output = Command::new(TOKENWOOD).args(arguments).output().unwrap();
        assert_eq!(code(&output), 2);
        assert!(
            error(&output).contains("leases last at least 500 ms and at most 10 min"),
            "{arguments:?}: {}",
            error(&output)
        );
    }
}

#[test]
fn health_tells_scripts_whether_a_node_serves() {
    let mut nodes = Nodes::start("health", 3, |_, _| {});
    assert!(until(|| nodes.members(0) == Some(3)), "{}", nodes.log(0));
    let health = |node: usize| {
        let output = client_of(&nodes.endpoints[node], &["health", "--format", "json"]).output().unwrap();
        (code(&output), document(&output.stdout))
    };
    let (healthy, told) = health(1);
    assert!(healthy == 0 && told["healthy"] == true && told["majority"] == true, "{told}");
    for node in 1..3 {
        kill("-KILL", nodes.pid(node));
    }
    assert!(until(|| health(0).0 == 1), "{:?}", health(0));
    let (_, told) = health(0);
    assert!(told["reason"].as_str().unwrap().contains("waiting for a majority: 1 of 3 voters"), "{told}");
    assert_eq!(health(1).0, 69);
    // When the lease has run out.
    let locks = || client_of(&nodes.endpoints[0], &["locks"]).output().unwrap();
    let grants_nothing = || error(&locks()).contains("the cluster grants nothing: waiting for a majority");
    assert!(until(grants_nothing) && code(&locks()) == 69, "{}", error(&locks()));
    nodes.nodes.iter_mut().skip(1).for_each(|node| _ = node.wait());
}
