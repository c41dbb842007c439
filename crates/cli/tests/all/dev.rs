//! `tokenwood dev`: who gets into a secure one, and what it leaves behind, however it ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::cluster::{Cluster, TOKENWOOD, error, kill, lives, until_gone};
use crate::folder::{code, text};
use crate::nodes::until;

/// Kills what a failing test would leave behind.
struct Nodes(Vec<u64>);

impl Drop for Nodes {
    fn drop(&mut self) {
        self.0.iter().filter(|node| lives(**node)).for_each(|node| kill("-KILL", *node));
    }
}

#[test]
fn nodes_end_with_a_dev_that_is_killed() {
    let mut cluster = Cluster::start("dev-killed", 3, true);
    let nodes = Nodes(cluster.pids.clone());
    assert!(nodes.0.iter().all(|node| lives(*node)));
    cluster.kill_dev();
    nodes.0.iter().for_each(|node| until_gone(*node));
}

/// A secure cluster whose temporary directory and output are in its folder.
fn secure(processes: bool) -> Cluster {
    Cluster::start_with("dev-secure", 3, processes, |folder, dev| {
        fs::create_dir(folder.join("tmp")).unwrap();
        let said = fs::File::create(folder.join("said")).unwrap();
        dev.arg("--secure").env("TMPDIR", folder.join("tmp")).stdout(said);
    })
}

impl Cluster {
    /// What is in its temporary directory.
    fn temporary(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.0.join("tmp")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn file(&self, which: &str) -> PathBuf {
        self.ready[which].as_str().unwrap().into()
    }

    /// A command that knows the CA, and the token if it is to.
    fn trusting(&self, node: usize, arguments: &[&str], with_token: bool) -> Output {
        let mut command = self.client(node, arguments);
        command.env("TOKENWOOD_CA", self.file("ca"));
        if with_token {
            command.env("TOKENWOOD_TOKEN", fs::read_to_string(self.file("token_file")).unwrap());
        }
        command.output().unwrap()
    }

    /// Only those get in who have the CA and the token.
    fn is_secure(&self) {
        for node in 0..3 {
            assert_ne!(code(&self.run(node, &["locks"])), 0);
            let denied = self.trusting(node, &["run", "x", "--", "true"], false);
            assert!(code(&denied) != 0 && error(&denied).contains("may not acquire"), "{}", error(&denied));
            for arguments in [&["locks"][..], &["run", "x", "--", "true"]] {
                let allowed = self.trusting(node, arguments, true);
                assert_eq!(code(&allowed), 0, "{arguments:?}: {}", error(&allowed));
            }
        }
    }

    /// What it printed works as it is, and has the token once; the file for programs does not have it.
    fn says_what_to_type(&self) {
        let said = || fs::read_to_string(self.folder.0.join("said")).unwrap();
        assert!(until(|| said().contains("remove them yourself")), "{}", said());
        let (said, token) = (said(), fs::read_to_string(self.file("token_file")).unwrap());
        assert_eq!(said.matches(&token).count(), 1, "{said}");
        let ready = fs::read_to_string(self.folder.0.join("ready.json")).unwrap();
        assert!(!ready.contains(&token), "{ready}");
        let export = said.lines().find(|line| line.contains("export TOKENWOOD_CA")).unwrap();
        let typed = format!("{export}\n'{TOKENWOOD}' locks --endpoint {}", self.endpoints[0]);
        let typed = Command::new("sh").args(["-c", &typed]).output().unwrap();
        assert_eq!(code(&typed), 0, "{}", text(&typed.stderr));
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn assert_private(cluster: &Cluster) {
    let folder = cluster.file("ca").parent().unwrap().to_path_buf();
    assert_eq!(mode(&folder), 0o700);
    for entry in fs::read_dir(&folder).unwrap() {
        let file = entry.unwrap().path();
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    for which in ["certificate", "key", "token_file"] {
        assert_eq!(cluster.file(which).parent(), Some(&*folder));
    }
}

#[test]
fn a_secure_dev_admits_only_those_with_ca_and_token_and_leaves_nothing() {
    for processes in [false, true] {
        let mut cluster = secure(processes);
        assert_private(&cluster);
        cluster.is_secure();
        cluster.says_what_to_type();
        assert!(cluster.ends());
        cluster.pids.iter().for_each(|node| until_gone(*node));
        assert_eq!(cluster.temporary(), [""; 0], "processes: {processes}");
    }
}

/// The keys stay, as the help says: nothing is left that could remove them.
#[test]
fn a_secure_dev_that_is_killed_leaves_its_folders_and_nothing_else() {
    for (processes, state) in [(false, "tokenwood-local-"), (true, "tokenwood-nodes-")] {
        let mut cluster = secure(processes);
        let nodes = Nodes(cluster.pids.clone());
        cluster.kill_dev();
        nodes.0.iter().for_each(|node| until_gone(*node));
        let left = cluster.temporary();
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(left[0].starts_with("tokenwood-dev-") && left[1].starts_with(state), "{left:?}");
        assert_private(&cluster);
    }
}
