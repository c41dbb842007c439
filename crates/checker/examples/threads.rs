//! How much faster two threads search than one: `cargo run --release -p tokenwood-checker --example threads`. Pairs of
//! runs, so that both meet the same machine; it should have two idle cores.

use std::thread::sleep;
use std::time::{Duration, Instant};

use algorithms::{Case, Scope};
use checker::{Job, Symmetry, check};

/// How many pairs of runs there are of each.
const PAIRS: usize = 7;
/// Between two runs.
const REST: Duration = Duration::from_millis(300);

fn main() {
    let cases = [
        ("rooms", Scope::new(3, 1, 2).groups(2).clients(1)),
        ("forest", Scope::new(3, 2, 3).clients(2).firings(0, 0)),
        ("naimi-trehel", Scope::new(5, 1, 2)),
        ("drs-gme", Scope::new(3, 1, 2).groups(2).fifo().firings(0, 0)),
        ("naimi-trehel", Scope::new(4, 1, 3)),
        ("bulgannawar-vaidya", Scope::new(4, 2, 3)),
    ];
    println!("algorithm             states   one (s)   two (s)  one over two: median, lowest, highest");
    for (name, scope) in cases {
        let case = Case::of(&scope, None);
        let mut states = 0;
        let mut seconds = |threads| {
            let job = Job {
                case: case.clone(),
                only: None,
                max_states: u64::MAX,
                threads,
                symmetry: Symmetry::Off,
            };
            // Two threads leave their parts to be freed in the background: a run must not meet that of the run before.
            sleep(REST);
            let begun = Instant::now();
            let finding = check(name, &job).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert!(finding.exhausted, "{name}: {:?}", finding.violation.map(|(violation, _)| violation));
            states = finding.states;
            begun.elapsed().as_secs_f64()
        };
        seconds(2);
        let pairs: Vec<(f64, f64)> = (0..PAIRS).map(|_| (seconds(1), seconds(2))).collect();
        let sorted = |of: fn(&(f64, f64)) -> f64| {
            let mut all: Vec<f64> = pairs.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        let (one, two, ratios) = (sorted(|it| it.0), sorted(|it| it.1), sorted(|it| it.0 / it.1));
        println!(
            "{name:<18} {states:>9} {:>9.3} {:>9.3}  {:.2}, {:.2}, {:.2}",
            one[PAIRS / 2],
            two[PAIRS / 2],
            ratios[PAIRS / 2],
            ratios[0],
            ratios[PAIRS - 1]
        );
    }
}
