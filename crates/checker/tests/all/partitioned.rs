//! Partitioned systems keep the properties of their algorithm.

use algorithms::{Kind, registry};
use checker::{Job, Verdict, check};

#[test]
fn clusters_hold_what_the_algorithm_holds() {
    for info in registry::ALL.iter().filter(|info| info.kind != Kind::GroupMutex) {
        let info = registry::info(&format!("partitioned({})", info.name)).expect("a known name");
        for scope in info.suite {
            // Where a node asks all others, three nodes of k-majority have too many states for two clusters.
            let options: &[_] =
                if info.name == "partitioned(k-majority)" { &[("pick", "window")] } else { &[] };
            let scope = &scope.with(options);
            let finding = check(info.name, &Job::of(scope, None)).expect("a scope that is served");
            assert_eq!(finding.verdict(), Verdict::Holds, "{} {scope:?}", info.name);
            println!("{} {scope:?}: {} states", info.name, finding.states);
        }
    }
}
