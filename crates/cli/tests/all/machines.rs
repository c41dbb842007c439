//! The steps of docs/control.md, literally, on machines of their own: four network namespaces.

use std::fs;

use crate::examples::pages;
use crate::folder::{Folder, code, text};
use crate::namespaces;

#[test]
fn a_cluster_on_three_machines_begins_restarts_grows_and_shrinks_as_the_manual_says() {
    let folder = Folder::new("machines");
    // The commands are those of the page.
    let found: Vec<String> =
        pages::of_page("docs/control.md").into_iter().map(|it| it.command.replace("\\\n", "")).collect();
    let [certs @ .., found, restart] = &found[..] else { panic!("too few: {found:?}") };
    assert_eq!(certs.len(), 4, "these are not those that are run: {certs:?}");
    let commands = format!("certs='{}'\nfound='{found}'\nrestart='{restart}'\n", certs.join("\n"));
    let Some(output) = namespaces::run(&(commands + include_str!("machines.sh")), &folder) else { return };
    let read = |name: &str| fs::read_to_string(folder.0.join(name)).unwrap_or_default();
    let logs = || (1..=4).map(|i| read(&format!("node{i}.log"))).collect::<Vec<_>>().join("\n");
    assert_eq!(code(&output), 0, "{} {}", text(&output.stderr), logs());
    let has = |name: &str, parts: &[&str]| {
        let said = read(name);
        for part in parts {
            assert!(said.contains(part), "{name} without '{part}': {said}");
        }
    };

    // Alone: what is missing, and that nothing is granted.
    let waits = "waiting for a majority: 1 of 3 voters (missing node 1 at b:7700: ";
    has("alone-members.out", &[waits, "node 2 at c:7700: ", "0     not a member yet", "exit 69"]);
    has("alone-status.out", &[waits, "no lease: grants nothing", "1     –", "exit 69"]);
    has("alone-health.out", &["degraded: ", waits, "exit 1"]);
    assert!(!logs().contains("no leader"), "{}", logs());

    // Each machine sees each node once, at its own address, and the lock that is held on the first.
    for machine in 1..=3 {
        let status = read(&format!("status{machine}.out"));
        for (node, name) in ["a", "b", "c"].into_iter().enumerate() {
            let at = if node + 1 == machine { "127.0.0.1" } else { name };
            let row = format!("{node}     {at}:7710 ");
            assert_eq!(status.lines().filter(|line| line.starts_with(&row)).count(), 1, "{status}");
        }
        assert!(!status.contains("exit") && status.matches("reaches all").count() == 3, "{status}");
        has(&format!("locks{machine}.out"), &["backup  holds"]);
        has(&format!("health{machine}.out"), &["healthy"]);
    }

    // The first machine has its own name for a loopback address, and the others reach it nevertheless.
    has("node1.out", &["node 0 listens at 0.0.0.0:7700 for peers, at 0.0.0.0:7710 for clients"]);

    // Restarted with its folder alone, it listens where it did.
    has("away.out", &["1     –               away: not a member"]);
    let listened = read("node2.out");
    assert!(
        listened.lines().count() == 2 && listened.lines().all(|line| Some(line) == listened.lines().next()),
        "{listened}"
    );

    // The pasted command needs no address.
    has(
        "invite.out",
        &[
            "On the new machine, with the files of 'tokenwood certs node 3':",
            "TOKENWOOD_JOIN=tw2-",
            " tokenwood node --data tokenwood-3 --ca ca.pem --certificate node-3.pem --key node-3.key\n",
        ],
    );
    has("node4.out", &["node 3 listens at 10.78.0.4:7700 for peers, at 0.0.0.0:7710 for clients"]);
    has("status-four.out", &["0     a:7710", "3     10.78.0.4:7710  reaches all"]);
    // A moment has passed.
    has("list.out", &["4     2", " h\n"]);
    has("list-after.out", &["No invitation is open."]);
    has("remove.out", &["Node 3 is removed."]);
    assert!(!read("members-end.out").contains("\n3 "), "{}", read("members-end.out"));
    what_is_refused(has);
}

/// What cannot be is told at the start, and what is not encrypted gets nothing.
fn what_is_refused(has: impl Fn(&str, &[&str])) {
    has(
        "plain.out",
        &["other machines could connect to d:7700 (peers) without encryption", "say --insecure", "exit 2"],
    );
    has(
        "wrong-certificate.out",
        &["is the certificate of tokenwood://tokenwood/node/1, and this is node 0", "exit 2"],
    );
    has("plain-client.out", &["exit 69"]);
    has(
        "loopback-clients.out",
        &["127.0.0.1:7710", "node 1 is on another one", "--advertise HOST:PORT", "exit 2"],
    );
    has(
        "loopback-peers.out",
        &["127.0.0.1:7700", "node 1 is on another one", "--reached-at HOST:PORT", "exit 2"],
    );
    has(
        "every-address.out",
        &["0.0.0.0:7700, which stands for every address", "--reached-at HOST:PORT", "exit 2"],
    );
    has(
        "used-id.out",
        &["node 1 already belongs to the cluster with another folder", "members remove 1", "exit 2"],
    );
    has("lowest-used.out", &["node 0 already belongs to the cluster with another folder", "exit 2"]);
    has("withdrawn.out", &["it was used or withdrawn, ask for a new one", "exit 2"]);
}
