//! A node that is set up with a file, the environment and flags.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::cluster::{TOKENWOOD, error, kill};
use crate::folder::{Folder, code, text};
use crate::json_schema::document;
use crate::nodes::{Nodes, free_ports};

fn node(arguments: &[&str]) -> Command {
    let mut command = Command::new(TOKENWOOD);
    command.arg("node").args(arguments);
    command
}

fn print_config(file: &Path, arguments: &[&str]) -> Output {
    node(arguments).arg("--print-config").arg("--config").arg(file).output().unwrap()
}

#[test]
fn the_example_can_be_used_and_what_is_in_effect_is_a_file_again() {
    let folder = Folder::new("example");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/node.toml");
    let printed = print_config(&example, &[]);
    assert_eq!(code(&printed), 0, "{}", error(&printed));
    let printed = text(&printed.stdout);
    for expected in [
        "cluster = \"build-farm\"",
        "id = 0",
        "clients = \"0.0.0.0:7710\"",
        "listen = \"10.0.0.1:7700\"",
        "2 = \"10.0.0.3:7700\"",
    ] {
        assert!(printed.lines().any(|line| line == expected), "{expected} in {printed}");
    }
    let again = folder.0.join("again.toml");
    fs::write(&again, &printed).unwrap();
    assert_eq!(text(&print_config(&again, &[]).stdout), printed);
    // Flags before the environment before the file.
    let mut command = node(&["--print-config", "--id", "2", "--advertise", "two.example.org:7710"]);
    command
        .env("TOKENWOOD_CONFIG", &again)
        .env("TOKENWOOD_ID", "1")
        .env("TOKENWOOD_CLUSTER", "other \"one\"");
    let printed = command.output().unwrap();
    let printed = text(&printed.stdout);
    for expected in ["id = 2", "cluster = \"other \\\"one\\\"\"", "advertise = \"two.example.org:7710\""] {
        assert!(printed.lines().any(|line| line == expected), "{expected} in {printed}");
    }
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let folder = Folder::new("wrong");
    let file = folder.0.join("node.toml");
    for (content, expected) in [
        ("id = 0\nport = 7\n", "node.toml, line 2: unknown field `port`"),
        ("id = 0\n\nclients = \"7710\"\n", "node.toml, line 3: '7710' is not an address: write HOST:PORT"),
        ("[members]\n0 = \"a:1\"\n", "which node is this?"),
        ("id = 1\n[members]\n0 = \"a:1\"\n", "node 1 is not among the members"),
    ] {
        fs::write(&file, content).unwrap();
        let refused = print_config(&file, &[]);
        assert_eq!(code(&refused), 2, "{content}");
        assert!(error(&refused).contains(expected), "{content}: {}", error(&refused));
        assert_eq!(error(&refused).lines().count(), 1, "{}", error(&refused));
    }
    let missing = print_config(&folder.0.join("none.toml"), &[]);
    assert!(error(&missing).contains("cannot read"), "{}", error(&missing));
    let twice = node(&["--id", "0", "--member", "0=a:1,0=a:2"]).output().unwrap();
    assert!(error(&twice).contains("member 0 is named twice"), "{}", error(&twice));
}

#[test]
fn a_node_says_who_else_has_rights_to_its_folder_and_how_to_mend_it() {
    let folder = Folder::new("o'rights of others");
    let data = folder.0.join("0");
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let rights = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::create_dir(&data).unwrap();
    // As left by a first start that was interrupted.
    fs::write(data.join("lock"), "").unwrap();
    set(&data, 0o755);
    set(&data.join("lock"), 0o640);
    let mend = "chmod -R go-rwx ";
    let nodes = Nodes::start_in(folder, 1, |_, _| {});
    nodes.until_logged(0, mend);
    nodes.until_logged(0, "view 1 with nodes 0");
    let log = nodes.log(0);
    let line = log.lines().find(|line| line.contains(mend)).unwrap();
    assert!(line.contains(" WARN  control: "), "{line}");
    assert!(line.contains("0 (mode 755), lock (mode 640), where secrets are kept"), "{line}");
    // What the line says, literally.
    let command = &line[line.find(mend).unwrap()..];
    assert!(Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
    assert_eq!((rights(&data), rights(&data.join("lock"))), (0o700, 0o600), "{command}");
    assert_eq!(rights(&data.join("identity")), 0o600);
}

#[test]
fn nothing_is_said_of_a_folder_that_the_node_made() {
    let nodes = Nodes::start("own-rights", 1, |_, _| {});
    nodes.until_logged(0, "view 1 with nodes 0");
    assert!(!nodes.log(0).contains("other users"), "{}", nodes.log(0));
}

/// Nodes that are asked to end with the test.
struct Asked(Vec<Child>);

impl Drop for Asked {
    fn drop(&mut self) {
        for child in &mut self.0 {
            kill("-TERM", u64::from(child.id()));
            _ = child.wait();
        }
    }
}

#[test]
fn two_nodes_of_files_whose_ids_are_not_their_places() {
    let folder = Folder::new("two-nodes");
    let addresses = free_ports(4);
    let mut nodes = Asked(Vec::new());
    for (id, clients) in [(4, &addresses[2]), (7, &addresses[3])] {
        let file = folder.0.join(format!("{id}.toml"));
        let members = format!("[members]\n4 = \"{}\"\n7 = \"{}\"\n", addresses[0], addresses[1]);
        fs::write(&file, format!("id = {id}\nclients = \"{clients}\"\n{members}")).unwrap();
        let mut command = node(&["--config"]);
        command.arg(&file).arg("--data").arg(folder.0.join(id.to_string()));
        nodes.0.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }
    let tokenwood = |arguments: &[&str]| {
        let mut command = Command::new(TOKENWOOD);
        text(&command.args(arguments).env("TOKENWOOD_ENDPOINTS", &addresses[3]).output().unwrap().stdout)
    };
    let connected = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        tokenwood(&["status"]).matches("reaches all").count() == 2
    });
    assert!(connected, "{}", tokenwood(&["status"]));
    tokenwood(&["acquire", "x"]);
    let found = document(tokenwood(&["inspect", "x", "--format", "json"]));
    assert_eq!(
        (&found["holders"][0]["node"], &found["tokens"][0]["node"]),
        (&7.into(), &7.into()),
        "{found:#}"
    );
    assert!(found["home"] == 4 || found["home"] == 7, "{found:#}");
}
