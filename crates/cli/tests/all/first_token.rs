//! A new cluster with certificates begins with rights, and with one token that may do everything.

use std::cell::RefCell;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::OFlags;

use crate::cluster::client_of;
use crate::folder::{Folder, code, text};
use crate::narrow::terminal;
use crate::nodes::{Nodes, until};

/// A folder with certificates for node 0, and the flags that name them.
fn certificates(name: &str) -> (Folder, PathBuf) {
    let folder = Folder::new(name);
    for arguments in ["certs init --cluster tokenwood", "certs node 0 --days 9"] {
        assert_eq!(code(&folder.run(arguments)), 0);
    }
    let certs = folder.0.join("certs");
    (folder, certs)
}

fn with_certificates(command: &mut Command, certs: &Path) {
    for (flag, file) in [("--ca", "ca.pem"), ("--certificate", "node-0.pem"), ("--key", "node-0.key")] {
        command.arg(flag).arg(certs.join(file));
    }
}

/// A command of a client with this token, or with none.
fn asking(nodes: &Nodes, certs: &Path, token: Option<&str>, arguments: &[&str]) -> Command {
    let mut command = client_of(&nodes.endpoints[0], arguments);
    command.env("TOKENWOOD_CA", certs.join("ca.pem"));
    command.envs(token.map(|token| ("TOKENWOOD_TOKEN", token)));
    command
}

/// Whether such a command succeeds.
fn may(nodes: &Nodes, certs: &Path, token: Option<&str>, arguments: &[&str]) -> bool {
    let mut command = asking(nodes, certs, token, arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn a_new_cluster_with_certificates_begins_with_a_token_in_a_file_of_its_own() {
    let (folder, certs) = certificates("first-token");
    let mut nodes = Nodes::start_in(folder, 1, |_, command| with_certificates(command, &certs));
    let file = nodes.data(0).join("admin-token");
    let token = || fs::read_to_string(&file).unwrap_or_default().trim().to_string();
    // Before there is a leader, rights are off, and nothing can be agreed on.
    let (with, without) = (
        || may(&nodes, &certs, Some(&token()), &["auth", "list"]),
        || may(&nodes, &certs, None, &["auth", "list"]),
    );
    assert!(until(|| with() && !without()), "{}", nodes.log(0));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!may(&nodes, &certs, None, &["locks"]));
    assert!(!may(&nodes, &certs, Some(&token()), &["auth", "on"]), "it is on");
    let status = asking(&nodes, &certs, Some(&token()), &["status"]).output().unwrap();
    assert!(text(&status.stdout).contains("its certificate ends in 8 d"), "{}", text(&status.stdout));

    // What goes to a file says where the token is, and does not have it.
    nodes.nodes[0].kill().unwrap();
    nodes.nodes[0].wait().unwrap();
    let mut said = String::new();
    nodes.nodes[0].stdout.take().unwrap().read_to_string(&mut said).unwrap();
    let secret = token();
    assert!(said.contains("'admin'") && said.contains("admin-token") && !said.contains(&secret), "{said}");
    assert!(!nodes.log(0).contains(&secret));

    // The token is that of the cluster, also after a start that founds nothing.
    let data = nodes.data(0);
    let log = fs::File::options().append(true).open(data.with_file_name("0.log")).unwrap();
    let mut again = Command::new(crate::cluster::TOKENWOOD);
    again.args(["node", "--data"]).arg(&data).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    nodes.nodes[0] = again.spawn().unwrap();
    assert!(until(|| may(&nodes, &certs, Some(&secret), &["auth", "list"])), "{}", nodes.log(0));
    nodes.until_logged(0, "the token of the first administrator is still in");
    assert_eq!(token(), secret);
}

#[test]
fn at_a_terminal_the_first_token_is_printed_once_and_is_in_no_file() {
    let (folder, certs) = certificates("shown-token");
    let (seen, written) = terminal();
    let mut written = Some(written);
    let nodes = Nodes::start_in(folder, 1, |_, command| {
        with_certificates(command, &certs);
        command.stdout(written.take().unwrap());
    });
    rustix::fs::fcntl_setfl(&seen, OFlags::NONBLOCK).unwrap();
    let screen = RefCell::new(String::new());
    let token = || {
        let mut bytes = [0; 4096];
        let count = rustix::io::read(&seen, &mut bytes).unwrap_or(0);
        *screen.borrow_mut() += &text(&bytes[..count]);
        let screen = screen.borrow();
        let digits = |word: &&str| word.len() == 64 && word.bytes().all(|letter| letter.is_ascii_hexdigit());
        screen.split_whitespace().find(digits).map(str::to_string)
    };
    assert!(until(|| token().is_some()), "{}", screen.borrow());
    let token = &*token().unwrap();
    assert!(may(&nodes, &certs, Some(token), &["auth", "list"]));
    assert!(until(|| !nodes.data(0).join("admin-token").exists()));
    assert!(!nodes.log(0).contains(token));
}

#[test]
fn with_rights_off_everything_is_allowed_until_an_operator_turns_them_on() {
    let (folder, certs) = certificates("rights-off");
    let nodes = Nodes::start_in(folder, 1, |_, command| {
        with_certificates(command, &certs);
        command.args(["--rights", "off"]);
    });
    assert!(until(|| may(&nodes, &certs, None, &["auth", "list"])), "{}", nodes.log(0));
    assert!(!nodes.data(0).join("admin-token").exists());
    assert!(may(&nodes, &certs, None, &["auth", "on"]) && !may(&nodes, &certs, None, &["auth", "list"]));
}
