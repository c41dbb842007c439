//! A process that is killed in the middle of writing loses nothing that was acknowledged.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use control::{Config, Control, Timing};
use service::Definition;
use service::registry::Entry;

#[path = "../src/temporary.rs"]
mod temporary;

use temporary::Temporary;

/// In the environment of the process that is killed: its folder.
const FOLDER: &str = "TOKENWOOD_TEST_CONTROL_FOLDER";

fn config(folder: &Temporary) -> Config {
    let timing = Timing { heartbeat: Duration::from_millis(50), election: Duration::from_millis(300) };
    Config { cluster: "prod".to_owned(), node: 1, folder: folder.0.clone(), timing }
}

/// Defines one name after the other and says so, until it is killed.
#[tokio::test]
async fn the_process_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    // It ends by being killed: the folder stays for the other process.
    let folder = std::mem::ManuallyDrop::new(Temporary(folder.into()));
    let control = Control::start(config(&folder)).await.unwrap();
    // It has been founded by an earlier one that was killed too.
    _ = control.found(&BTreeMap::from([(1, "127.0.0.1:1".to_owned())])).await;
    control.leadership().wait_for(Option::is_some).await.unwrap();
    let begin = control.registry().borrow().definitions.len();
    for number in begin..begin + 1000 {
        let name = Arc::from(format!("name-{number}"));
        control.propose(Entry::Define { name, definition: Some(Definition::MUTEX) }).await.unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nacknowledged {number}").and_then(|()| out.flush()).unwrap();
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill() {
    let folder = Temporary::new();
    for kills in 1..=5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_process_that_is_killed", "--nocapture"])
            .env(FOLDER, &folder.0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let acknowledged = lines.filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<usize>().ok());
        // Some way into it, each time elsewhere.
        let last = acknowledged.take(40 + 7 * kills).last().expect("it says something");
        child.kill().unwrap();
        child.wait().unwrap();

        let control = Control::start(config(&folder)).await.unwrap();
        control.leadership().wait_for(Option::is_some).await.unwrap();
        let known = control.registry().borrow().definitions.len();
        assert!(known > last, "{last} was acknowledged, {known} are there");
        control.stop().await;
    }
}
