//! `tokenwood dev`: what it leaves behind, however it ends.

use crate::cluster::{Cluster, kill, lives, until_gone};

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
