//! A process that is killed in the middle of writing, or cannot write any more, loses nothing that was acknowledged.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use control::{Config, Control, Timing};
use service::Definition;
use service::Time;
use service::registry::{Entry, Leadership, MemberEntry};

#[path = "../src/test_folder.rs"]
mod test_folder;

use test_folder::TestFolder;

/// In the environment of the process that is killed: its folder.
const FOLDER: &str = "TOKENWOOD_TEST_CONTROL_FOLDER";

fn config(folder: &TestFolder) -> Config {
    let timing = Timing { heartbeat: Duration::from_millis(50), election: Duration::from_millis(300) };
    Config {
        cluster: "prod".to_owned(),
        node: 1,
        folder: folder.0.clone(),
        timing,
        lease: None,
        clock: || Time(0),
        encryption: transport::Encryption::Off,
    }
}

/// Defines one name after the other and says so, until it is killed or cannot go on.
#[tokio::test]
async fn the_process_that_comes_to_an_end() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    // The folder stays for the other process.
    let folder = std::mem::ManuallyDrop::new(TestFolder(folder.into()));
    let control = Control::start(config(&folder)).await.unwrap();
    // It has been founded by an earlier one that was killed too.
    _ = control.found(&BTreeMap::from([(1, "127.0.0.1:1".to_owned())])).await;
    control.leadership().wait_for(Option::is_some).await.unwrap();
    let begin = control.registry().borrow().definitions.len();
    for number in begin..begin + 10_000 {
        let name = Arc::from(format!("{number}-{}", "x".repeat(200)));
        let defined = control.propose(Entry::Define { name, definition: Some(Definition::MUTEX) }).await;
        let defined = match defined {
            Ok(_) => control.propose(long_entry()).await,
            error => error,
        };
        if let Err(error) = defined {
            say(&format!("stopped {error}"));
            return control.stop().await;
        }
        say(&format!("acknowledged {number}"));
    }
}

/// A view of 20 kB that follows none there is: it takes room in the log, and changes nothing.
fn long_entry() -> Entry {
    let address = "x".repeat(500);
    let members = (0..20).map(|id| (id, MemberEntry::new(1, &address, &address))).collect();
    Entry::View { base_epoch: u64::MAX, decided_by: Leadership::default(), members }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").and_then(|()| out.flush()).unwrap();
}

/// Starts this program again to run only that.
fn the_process(folder: &TestFolder, before: &str) -> Child {
    let program = std::env::current_exe().unwrap();
    Command::new("sh")
        .args(["-c", &format!("{before} exec \"$0\" --exact the_process_that_comes_to_an_end --nocapture")])
        .arg(program)
        .env(FOLDER, &folder.0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> {
    BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok)
}

fn number(line: &str) -> Option<usize> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}

/// How many names are defined, once everything is applied.
async fn known(folder: &TestFolder) -> usize {
    let control = Control::start(config(folder)).await.unwrap();
    control.leadership().wait_for(Option::is_some).await.unwrap();
    let known = control.registry().borrow().definitions.len();
    control.stop().await;
    known
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill() {
    let folder = TestFolder::new();
    for kills in 1..=5 {
        let mut child = the_process(&folder, "");
        // Some way into it, each time elsewhere.
        let acknowledged = lines(&mut child).filter_map(|line| number(&line)).take(40 + 7 * kills).last();
        child.kill().unwrap();
        child.wait().unwrap();
        let (last, known) = (acknowledged.expect("it says something"), known(&folder).await);
        assert!(known > last, "{last} was acknowledged, {known} are there");
    }
}

/// A limit on the size of files does what a full disk does.
#[tokio::test]
async fn what_was_acknowledged_survives_a_full_disk() {
    let folder = TestFolder::new();
    let mut child = the_process(&folder, "trap '' XFSZ; ulimit -f 4096;");
    let lines: Vec<String> = lines(&mut child).collect();
    assert!(child.wait().unwrap().success(), "it ends in good order");
    assert!(lines.iter().any(|line| line.starts_with("stopped the control plane has stopped")), "{lines:?}");
    let last = lines.iter().filter_map(|line| number(line)).next_back().expect("it says something");
    let known = known(&folder).await;
    assert!(known > last, "{last} was acknowledged, {known} are there");
}
