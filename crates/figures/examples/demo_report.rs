//! Writes a report of charts that are hard to draw into a folder, to be looked at after a change to the
//! drawing: `cargo run --package tokenwood-figures --example demo_report -- FOLDER`.

#[path = "../tests/all/demo.rs"]
mod demo;

use std::path::PathBuf;

use figures::report::{self, Run, Shown};
use figures::{Effort, Results, results};

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("say into which folder to write"));
    let effort = Effort { seeds: 3, quick: false };
    let exhibits = demo::exhibits();
    let points = results::distinct(exhibits.iter().flat_map(|exhibit| (exhibit.points)(&effort)));
    let summaries = simulator::batch::run_all(&points, &|_| ()).expect("the points are valid");
    let run = Run {
        command: "cargo run --example demo_report".to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        effort,
        points: points.len() as u64,
        entries: summaries.iter().map(|summary| summary.entries).sum(),
        messages: summaries.iter().map(|summary| summary.messages).sum(),
        measured: None,
    };
    let results = Results::new(points, summaries);
    let mut shown: Vec<Shown> =
        exhibits.iter().map(|exhibit| Shown::of(exhibit, &effort, &results)).collect();
    shown[2].violations.push("naimi-trehel, 4 nodes, rate 1, seed 7: this is only a show".to_string());
    let began = std::time::Instant::now();
    let files = report::files(&run, &shown);
    println!("drawn in {:.2} s", began.elapsed().as_secs_f64());
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    for file in files {
        std::fs::write(folder.join(&file.name), &file.content).expect("the folder can be written to");
    }
}
