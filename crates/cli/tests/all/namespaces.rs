//! Several machines on this one: scripts that make network namespaces, shared by the tests that need them.

use std::process::{Command, Output};

use crate::cluster::TOKENWOOD;
use crate::folder::{Folder, not_run};

/// Namespaces for users, networks, mounts and processes; a script makes those of its machines in them.
const UNSHARE: &[&str] =
    &["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Four machines, `m1` to `m4`, at 10.78.0.1 to 10.78.0.4 of one network.
const MACHINES: &str = "
set -e
mount -t tmpfs tmpfs /run
ip link add main type bridge
ip link set main up
for i in 1 2 3 4; do
    ip netns add m$i
    ip link add port$i type veth peer name eth0 netns m$i
    ip link set port$i master main up
    ip -n m$i link set lo up
    ip -n m$i address add 10.78.0.$i/24 dev eth0
    ip -n m$i link set eth0 up
done
";

/// Runs a script in a folder and in namespaces of its own, which end with it, on four machines. `$1` is the program. `None` if
/// this machine does not allow that.
pub(crate) fn run(script: &str, folder: &Folder) -> Option<Output> {
    let possible = "mount -t tmpfs tmpfs /run && ip netns add a && ip netns exec a unshare --time --fork --boottime 9 true";
    let tried = Command::new("unshare").args(UNSHARE).args(["sh", "-c", possible]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        not_run("network namespaces cannot be made here");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(UNSHARE).args(["sh", "-c", &format!("{MACHINES}{script}"), "machines", TOKENWOOD]);
    Some(command.current_dir(&folder.0).output().unwrap())
}
