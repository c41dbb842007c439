//! How long a page waits for a step with 50 nodes: every algorithm, the last state of a run that is replayed from its
//! start. `cargo run --release -p tokenwood-player --example speed`.

use std::time::{Duration, Instant};

use player::{AutorunRequest, PlayRequest, Setting, autorun, catalogue, play};

/// Replays of each run, of which the fastest counts: others may use the machine.
const TRIES: usize = 5;

fn main() {
    println!("{:22} {:>5} {:>10} {:>10} {:>10}", "algorithm", "nodes", "500 steps", "2000 steps", "JSON, kB");
    for playable in catalogue() {
        for nodes in [50, 49, 48] {
            // Some algorithms exist for some numbers of nodes only.
            let setting = Setting { nodes: Some(nodes), ..Setting::of(playable.name) };
            if let Some(steps) = run(&setting, 2_000) {
                let (short, _) = replay(&setting, &steps[..500.min(steps.len())]);
                let (long, bytes) = replay(&setting, &steps);
                let (short, long) = (milliseconds(short), milliseconds(long));
                println!("{:22} {nodes:5} {short:8.1} ms {long:7.1} ms {:10}", playable.name, bytes / 1_000);
                break;
            }
        }
    }
}

/// A run of its own, as long as asked for.
fn run(setting: &Setting, count: usize) -> Option<Vec<String>> {
    let mut steps = Vec::new();
    while steps.len() < count {
        let request = AutorunRequest { setting: setting.clone(), steps, count: 500, faults: false };
        steps = autorun(&request).ok()?.steps;
    }
    Some(steps)
}

/// How long a replay takes, with the JSON of its last state, and how many bytes that has.
fn replay(setting: &Setting, steps: &[String]) -> (Duration, usize) {
    let request = PlayRequest { setting: setting.clone(), steps: steps.to_vec(), want: Vec::new() };
    let once = || {
        let begun = Instant::now();
        let answer = play(&request).expect("the run fits");
        let bytes = serde_json::to_string(&answer.states).map_or(0, |json| json.len());
        (begun.elapsed(), bytes)
    };
    (0..TRIES).map(|_| once()).min().expect("there is a try")
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
