//! What is different when an example is run as a test, and why: all that is not in this table runs as it is printed.

use super::pages::Example;

/// How an example is run.
pub(crate) enum How {
    /// With these flags, in place of those of the same name.
    With(&'static str),
    /// With the second text in place of the first.
    Replaced(&'static str, &'static str),
    /// It ends with this exit code, as the page says.
    EndsWith(i32),
    /// After this script. `$said` is where the example writes its standard error, `$other` the second node.
    After(&'static str),
    /// Until it has printed this; then it is ended by SIGTERM.
    UntilItSays(&'static str),
    /// By a test that gives it machines of its own.
    OnMachines,
    NotRun,
}

/// A change for each example of these pages that has these words, in this order; `$` is the end of the command.
pub(crate) struct Change {
    /// The beginning of the page's name.
    page: &'static str,
    words: &'static str,
    pub(crate) how: How,
    /// Why the example does not run as it is printed.
    pub(crate) why: &'static str,
}

const fn change(page: &'static str, words: &'static str, how: How, why: &'static str) -> Change {
    Change { page, words, how, why }
}

const LONG: &str = "it takes too long for a test";
const ENDLESS: &str = "it runs until it is ended";
const FINDS: &str = "the page says that it finds a violation";

pub(crate) static CHANGES: &[Change] = &[
    // What runs until Ctrl-C.
    change("", "tokenwood dev", How::UntilItSays("Ctrl-C ends it"), ENDLESS),
    change("", "tokenwood play", How::UntilItSays("Ctrl-C ends it"), ENDLESS),
    change("", "tokenwood play", How::With("--no-open --listen 127.0.0.1:0"), "a test opens no browser"),
    change("tokenwood", "tokenwood watch", How::UntilItSays("watching node 2"), ENDLESS),
    // Locks that others hold, as the pages show them.
    change(
        "tokenwood",
        "tokenwood release --force gpu --slot 3",
        How::After("for slot in 0 1 2 3 4 5 6 7; do tokenwood acquire gpu --quiet; done"),
        "the slot has to be held",
    ),
    change(
        "docs/commands.md",
        "tokenwood run backup --try",
        How::After(
            "until_so rows_are 0
            tokenwood run backup ./backup.sh until enough &
            until_so rows_are 1
            tokenwood run backup true &
            tokenwood run backup true &
            until_so rows_are 3",
        ),
        "the page shows a lock with a holder and two waiters",
    ),
    change("docs/commands.md", "tokenwood run backup --try", How::EndsWith(75), "the lock is held"),
    change(
        "docs/service.md",
        "tokenwood inspect gpu",
        How::After(
            "tokenwood run gpu --slots 2 sleep 4 &
            until_so rows_are 1
            tokenwood run gpu --slots 2 --label 'build 17' sleep 4 &
            until_so rows_are 2
            tokenwood run gpu --slots 2 --endpoint $other sh -c true &
            until_so rows_are 3",
        ),
        "the page shows two holders and a waiter at another node",
    ),
    change("docs/service.md", "tokenwood watch model", How::With("--count 6"), ENDLESS),
    change(
        "docs/service.md",
        "tokenwood watch model",
        How::After(
            "{
                until_so grep -q 'watching node 2' $said
                tokenwood run model --group v41 ./serve.sh until served &
                until_so rows_are 1
                tokenwood run model --group v41 ./serve.sh
                tokenwood run model --group v42 ./serve.sh &
                until_so rows_are 2
                touch served
                wait
            } &",
        ),
        "the page shows what three programs do meanwhile",
    ),
    change(
        "docs/service.md",
        "tokenwood release --force gpu --slot 1",
        How::After(
            "tokenwood run gpu --slots 2 sleep 4 &
            until_so rows_are 1
            tokenwood run gpu --slots 2 sleep 4 &
            until_so rows_are 2
            tokenwood run gpu --slots 2 sh -c true &
            until_so rows_are 3
            tokenwood watch gpu --count 3 > watched 2> watching &
            watcher=$!
            until_so grep -q 'watching node 2' watching",
        ),
        "the page shows two holders, a waiter and a terminal that watches",
    ),
    change(
        "docs/service.md",
        "tokenwood watch gpu",
        How::Replaced("tokenwood watch gpu", "wait $watcher; cat watched"),
        "it began to watch before the order was given",
    ),
    // Violations, which are exit code 1.
    change("", "tokenwood check bulgannawar-vaidya --defect holding-not-set", How::EndsWith(1), FINDS),
    change("", "tokenwood swarm --defect no-margin", How::EndsWith(1), FINDS),
    change(
        "tokenwood",
        "tokenwood trace FILE",
        How::Replaced("FILE", "bulgannawar-vaidya.holding-not-set.trace.json"),
        "FILE stands for what the check above has written",
    ),
    // Smaller, for a test.
    change("", "tokenwood check --random", How::With("--random 20"), LONG),
    change("tokenwood", "tokenwood check --all $", How::Replaced("--all", "naimi-trehel --all"), LONG),
    change("tokenwood", "tokenwood errata $", How::Replaced("errata", "errata lamport"), LONG),
    change("", "tokenwood recommend", How::With("--seeds 2 --entries 30"), LONG),
    change("docs/map.md", "tokenwood map --groups", How::With("--seeds 2 --entries 30"), LONG),
    change(
        "",
        "tokenwood map --nodes 30",
        How::With("--rates 0.1 --sections 1 --seeds 2 --entries 30"),
        LONG,
    ),
    change(
        "docs/map.md",
        "tokenwood map --delays",
        How::With("--rates 0.1 --sections 1 --seeds 2 --entries 30"),
        LONG,
    ),
    change("docs/map.md", "tokenwood map --rates", How::With("--nodes 10 --seeds 2 --entries 30"), LONG),
    change(
        "docs/map.md",
        "reproduce map limit",
        How::Replaced("map limit", "map-groups --quick --seeds 1"),
        LONG,
    ),
    change("", "tokenwood reproduce --all", How::Replaced("--all", "thesis-10"), LONG),
    change("", "tokenwood reproduce --all", How::With("--quick --seeds 1"), LONG),
    change(
        "",
        "tokenwood reproduce --sockets",
        How::With("--quick --seeds 1 --nodes 3 --tokens 2 --entries 3 --rates 1"),
        LONG,
    ),
    change("docs/simulator.md", "tokenwood simulate --warmup 3000", How::With("--seeds 1 --warmup 30"), LONG),
    change("", "tokenwood sweep --seeds 10", How::With("--seeds 1 --entries 30"), LONG),
    change("", "tokenwood sweep nodes=10..1000:10", How::Replaced("10..1000:10", "3..22"), LONG),
    change("tokenwood", "tokenwood sweep raymond-k --vary rate=0.01..1x10", How::With("--entries 30"), LONG),
    change(
        "tokenwood sweep",
        "tokenwood sweep bulgannawar-vaidya --vary nodes=10..100:10",
        How::Replaced("nodes=10..100:10", "nodes=10..20:10"),
        LONG,
    ),
    change("tokenwood", "tokenwood bench $", How::Replaced("bench", "bench client"), LONG),
    change("", "tokenwood bench", How::With("--time 20ms --rounds 1"), LONG),
    change("", "tokenwood storm", How::With("--time 1s --nodes 3 --clients 10 --ttl 500ms"), LONG),
    change("", "tokenwood swarm --runs 1000", How::With("--runs 5"), LONG),
    change(
        "tokenwood",
        "tokenwood ordeal",
        How::Replaced("ordeal", "ordeal kills --nodes 3 --seconds 1"),
        LONG,
    ),
    // Several machines.
    change("docs/control.md", "tokenwood node --data /var/lib/tokenwood", How::OnMachines, "three machines"),
    change(
        "docs/commands.md",
        "tokenwood node --config docs/node.toml",
        How::OnMachines,
        "the first of three",
    ),
    change(
        "docs/reproduction.md",
        "tokenwood seat --listen 10.0.0.11:7720",
        How::OnMachines,
        "three machines",
    ),
    change("docs/reproduction.md", "tokenwood reproduce --sockets --seat", How::OnMachines, "three machines"),
    // Not run.
    change(
        "README.md",
        "cargo run --release -- dev",
        How::NotRun,
        "it builds the program; 'tokenwood dev' runs",
    ),
    change("README.md", "cargo xtask test", How::NotRun, "it runs this test"),
    change("README.md", "cargo install", How::NotRun, "it changes the user's own folder of programs"),
];

impl Change {
    pub(crate) fn is_for(&self, page: &str, example: &Example) -> bool {
        let pages_match =
            if self.page == "tokenwood" { page == self.page } else { page.starts_with(self.page) };
        let mut words =
            without_comment(&example.command).split_whitespace().map(|word| word.trim_matches('\''));
        let has = |wanted: &str| match wanted {
            "$" => words.next().is_none(),
            wanted => words.any(|word| word == wanted),
        };
        pages_match && self.words.split(' ').all(has)
    }

    /// What stands at the head of the table, for messages.
    pub(crate) fn name(&self) -> String {
        format!("'{}' of '{}' ({})", self.words, self.page, self.why)
    }
}

/// What a comment says is for the reader.
pub(crate) fn without_comment(command: &str) -> &str {
    command.split(" #").next().unwrap_or_default().trim_end()
}

/// The command with these flags, in place of those of the same name.
pub(crate) fn with_flags(command: &str, flags: &str) -> String {
    let mut command = command.to_string();
    let mut words = flags.split(' ').peekable();
    while let Some(flag) = words.next() {
        let value = words.next_if(|next| !next.starts_with("--")).unwrap_or("");
        let mark = format!("{flag} ");
        let setting = format!("{flag} {value}").trim_end().to_string();
        match command.split_once(&mark).map(|(before, after)| (before.to_string(), after.to_string())) {
            Some((before, after)) if !value.is_empty() => {
                let rest = after.split_once(char::is_whitespace).map_or("", |(_, rest)| rest);
                command = format!("{before}{setting} {rest}").trim_end().to_string();
            }
            Some(_) => {}
            None if command.ends_with(flag) => {}
            None => command = format!("{command} {setting}"),
        }
    }
    command
}

#[test]
fn flags_are_replaced_and_added() {
    assert_eq!(with_flags("a --random 100 --b", "--random 2 --quick"), "a --random 2 --b --quick");
    assert_eq!(with_flags("a --quick --out r", "--quick --seeds 1"), "a --quick --out r --seeds 1");
}
