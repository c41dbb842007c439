//! Examples that name several machines: each is run on a machine of its own, as the page says.

use std::fs;

use super::pages::{self, Example};
use super::{Planned, changes, stage};
use crate::folder::{Folder, code, text};
use crate::namespaces;

/// Seats on three machines and the collector on a fourth; then a node with the file of the example.
const SCRIPT: &str = r#"
PATH="$PWD/bin:$PATH"
until_so() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 500 ] || { echo "never: $*" >&2; exit 9; }
        command -p sleep 0.02
    done
}
for i in 1 2 3 4; do ip -n m$i address add 10.0.0.1$i/24 dev eth0; done
ip -n m4 address add 10.0.0.1/24 dev eth0
for i in 1 2 3; do
    ip netns exec m$i sh -c "exec $(echo "$seat" | sed "s/10.0.0.11/10.0.0.1$i/")" > seat$i.log 2>&1 &
done
for i in 1 2 3; do until_so grep -q "waits at 10.0.0.1$i:7720" seat$i.log; done
ip netns exec m4 sh -c "$collector" > collector.out 2>&1
# The file names a folder below /var/lib, and certificates below /etc.
mkdir etc
tokenwood certs init --cluster build-farm --out etc/tokenwood > certs.out
tokenwood certs node 0 --out etc/tokenwood >> certs.out
ip netns exec m4 sh -c "mount -t tmpfs tmpfs /var/lib; mount --bind etc /etc; exec $node" > node.log 2>&1 &
node=$!
until_so grep -q "waiting for a majority: 1 of 3 voters" node.log
kill $node
wait $node
"#;

#[test]
fn examples_for_several_machines_run_on_as_many() {
    let command = |page: &str, words: &str| {
        let is_it = |example: &Example| example.command.starts_with(words);
        let example = pages::of_page(page).into_iter().find(is_it);
        let example = example.unwrap_or_else(|| panic!("{page} has no example '{words}'"));
        Planned::new(page, example).command
    };
    let collector = command("docs/reproduction.md", "tokenwood reproduce --sockets --tokens 2");
    let commands = [
        ("seat", command("docs/reproduction.md", "tokenwood seat --listen 10.0.0.11:7720")),
        ("collector", changes::with_flags(&collector, "--quick --seeds 1 --entries 3 --rates 1")),
        ("node", command("docs/commands.md", "tokenwood node --config docs/node.toml")),
    ];
    let folder = Folder::new("on-machines");
    stage::set(&folder);
    let settings = commands.map(|(name, command)| format!("{name}='{command}'\n")).concat();
    let Some(output) = namespaces::run(&(settings + SCRIPT), &folder) else { return };
    let read = |name: &str| fs::read_to_string(folder.0.join(name)).unwrap_or_default();
    let logs = ["seat1.log", "collector.out", "node.log"].map(read).join("\n");
    assert_eq!(code(&output), 0, "{}{logs}", text(&output.stderr));
    assert!(read("collector.out").contains("on 3 machines"), "{logs}");
}
