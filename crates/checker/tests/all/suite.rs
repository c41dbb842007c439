//! The standard suite, as every algorithm declares it.

use std::fs;
use std::path::Path;

use algorithms::{Scope, registry};
use checker::{Finding, Job, Verdict, check};

fn run(name: &str, scope: &Scope) -> Finding {
    let job = Job { threads: 2, ..Job::of(scope, None) };
    check(name, &job).unwrap_or_else(|refusal| panic!("{name}: {refusal}"))
}

/// The heading of the table in `docs/checked.md` that lists the results of the suite.
const LIST: &str = "| algorithm | `tokenwood check NAME` with | states | depth |\n|---|---|---|---|\n";

#[test]
fn the_standard_suite_holds_and_is_as_large_as_the_page_says() {
    let mut list = LIST.to_string();
    for info in registry::ALL {
        let mut seen = vec![false; info.sometimes.len()];
        assert!(!info.suite.is_empty(), "{} has no suite", info.name);
        for scope in info.suite {
            let finding = run(info.name, scope);
            assert_eq!(finding.verdict(), Verdict::Holds, "{} {scope:?}: {:?}", info.name, finding.violation);
            list += &format!("| {} | `{scope}` | {} | {} |\n", info.name, finding.states, finding.depth);
            for (index, what) in info.sometimes.iter().enumerate() {
                seen[index] |= finding.sometimes.iter().any(|note| note.what == *what && note.seen);
            }
        }
        for (what, seen) in info.sometimes.iter().zip(seen) {
            assert!(seen, "{}: never seen in the suite: {what}", info.name);
        }
    }
    compare_with_page(&list);
}

/// The numbers of states are golden: they change only if an algorithm or the meaning of a step does.
fn compare_with_page(list: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/checked.md");
    let page = fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(LIST).expect("docs/checked.md has the list of the suite");
    let (written, after) = rest.split_once("\n\n").expect("something follows the list");
    if std::env::var_os("TOKENWOOD_REWRITE").is_some() {
        fs::write(&file, format!("{before}{list}\n{after}")).unwrap();
        return;
    }
    for (found, written) in list.lines().skip(2).zip(written.lines()) {
        assert_eq!(found, written, "docs/checked.md: 'cargo xtask rewrite' writes it anew");
    }
    assert_eq!(list.lines().count() - 2, written.lines().count(), "'cargo xtask rewrite' writes it anew");
}
