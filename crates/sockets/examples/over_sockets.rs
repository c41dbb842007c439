//! Algorithms over loopback in real time, replayed afterwards: messages and waits for each entry.
//!
//! `cargo run --package tokenwood-sockets --example over_sockets -- NODES TOKENS ENTRIES THINK_MS NAME...`

use std::time::Duration;

use algorithms::Setting;
use sockets::{Plan, run};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [nodes, tokens, entries, think, names @ ..] = arguments.as_slice() else {
        return Err("expected NODES TOKENS ENTRIES THINK_MS NAME...".into());
    };
    let setting = Setting::new(nodes.parse()?, tokens.parse()?);
    let think = Duration::from_millis(think.parse()?);
    println!("{:24} {:>10} {:>10} {:>12} {:>10}", "algorithm", "messages", "words", "wait", "replayed");
    for name in names {
        let plan = Plan { think, ..Plan::new(setting.clone(), entries.parse()?, 1) };
        let tally = run(name, plan).await?;
        let words = tally.words as f64 / tally.visits.len() as f64;
        println!(
            "{name:24} {:>10.2} {words:>10.2} {:>9.2} ms {:>10}",
            tally.messages_per_entry(),
            tally.mean_wait().as_secs_f64() * 1e3,
            tally.replayed
        );
    }
    Ok(())
}
