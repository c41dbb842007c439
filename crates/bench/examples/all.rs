//! temporary
use std::time::Duration;
fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for s in bench::SCENARIOS.iter().filter(|s| wanted.is_empty() || wanted.iter().any(|w| s.name.starts_with(w.as_str()))) {
        match s.run(&bench::Effort { time: Duration::from_secs(2), names: 1_000_000 }) {
            Ok(o) => for f in o.figures { println!("{:20} {:30} {:12.3} {:4} {}", o.scenario, f.what, f.value, f.unit, f.bound.map_or(String::new(), |b| format!("{b} {}", f.holds()))); },
            Err(e) => println!("{}: {e}", s.name),
        }
    }
}
