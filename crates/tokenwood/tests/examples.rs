//! The examples run to their end, as the programs that they are.

use std::process::Command;

#[test]
fn every_example_runs() {
    // They are built together with this test, into a folder beside it.
    let built = std::env::current_exe().unwrap();
    let folder = built.ancestors().nth(2).unwrap().join("examples");
    for example in ["mutex", "semaphore", "room", "leader_election", "fenced_write", "embedded"] {
        let mut command = Command::new(folder.join(example));
        let output = command.env_remove("TOKENWOOD_ENDPOINTS").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let complained = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.is_empty(), "{example}: {said}{complained}");
    }
}
