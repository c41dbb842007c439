//! The gallery is what the errata are, and each of its runs shows what it says.

use std::path::Path;

use algorithms::info::Shows;
use algorithms::registry;
use player::{PlayAnswer, PlayRequest, Verdict, gallery, play};
use simulator::random::{self, RandomJob};

/// A run without an end is shown up to here.
const LONGEST: usize = 400;

/// The lines of `data/gallery.txt`: the steps of the errata, and for defects that random runs show, those runs.
fn lines() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errata.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut text = String::new();
    for info in registry::ALL {
        for defect in info.defects {
            let steps = match defect.shows {
                Shows::Search(_) => steps_of(&page, info.name, defect.name),
                Shows::Random(_, seed) => random_steps(info.name, defect.name, seed, 1),
                Shows::Dearer(_) => random_steps(info.name, defect.name, 1, 100),
            };
            text += &format!("{} {} {}\n", info.name, defect.name, steps.join(" "));
        }
    }
    text
}

/// The steps in the table of a defect. The usual presentation of an algorithm stands under its own heading.
fn steps_of(page: &str, algorithm: &str, defect: &str) -> Vec<String> {
    let own = page.split(&format!("\n## {algorithm}\n")).nth(1).unwrap_or("");
    let own = own.split("\n## ").next().unwrap_or("");
    let section = own.split(&format!("\n### {defect}\n")).nth(1);
    let usual = || page.split(&format!("\n### {algorithm}: {defect}\n")).nth(1);
    let section =
        section.or_else(usual).unwrap_or_else(|| panic!("{algorithm} {defect} is not in the errata"));
    let section = section.split("\n### ").next().unwrap_or("").split("\n## ").next().unwrap_or("");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split_once('`')).map(|(step, _)| step.to_string()).collect()
}

fn random_steps(algorithm: &str, defect: &str, seed: u64, pause: u64) -> Vec<String> {
    let info = registry::info(algorithm).unwrap();
    let scope = info.defects.iter().find(|known| known.name == defect).unwrap().scope;
    let job = RandomJob { pause, ..RandomJob::of(&scope, Some(defect)) };
    let run = random::run(algorithm, &job, seed).unwrap();
    let most = if run.steps.len() > 10 * LONGEST { LONGEST } else { run.steps.len() };
    run.steps[..most].iter().map(ToString::to_string).collect()
}

#[test]
fn the_gallery_has_the_runs_of_the_errata() {
    let found = lines();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/gallery.txt");
    if std::env::var_os("TOKENWOOD_REWRITE").is_some() {
        std::fs::write(&file, found).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        found == written,
        "data/gallery.txt differs from the errata: 'cargo xtask rewrite' writes it anew"
    );
}

#[test]
fn an_error_that_no_text_makes_is_a_mutant() {
    for exhibit in gallery().unwrap() {
        let usual = exhibit.place.starts_with("textbook form") || exhibit.place.ends_with("(an assumption)");
        let known = exhibit.text.is_some() || usual;
        assert!(known != exhibit.mutant, "{} {}: {}", exhibit.algorithm, exhibit.defect, exhibit.place);
    }
}

#[test]
fn every_exhibit_ends_in_what_it_leads_to() {
    let exhibits = gallery().unwrap();
    let defects: usize = registry::ALL.iter().map(|info| info.defects.len()).sum();
    assert_eq!(exhibits.len(), defects);
    let mut outlines = 0;
    for exhibit in exhibits {
        let name = format!("{} {}", exhibit.algorithm, exhibit.defect);
        outlines += serde_json::to_string(&exhibit.outline).unwrap().len();
        let request = PlayRequest { setting: exhibit.setting, steps: exhibit.steps, want: Vec::new() };
        let answer =
            play(&request).and_then(PlayAnswer::whole).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        // No single run shows that the end is not reachable, or that messages are wasted.
        if exhibit.leads == "end-reachable" || exhibit.leads == "dearer" {
            continue;
        }
        let last = &answer.states[0];
        let violated = last.properties.iter().find(|property| property.name == exhibit.leads);
        let violated = violated.unwrap_or_else(|| panic!("{name} has no {}", exhibit.leads));
        // In a search without timers, a client may be left waiting while a timer is armed.
        let armed = last.nodes.iter().any(|node| !node.timers.is_empty()) && last.counts.waits > 0;
        let left = exhibit.leads == "nobody-left-waiting" && armed;
        assert!(violated.verdict == Verdict::Violated || left, "{name}: {last:?}");
    }
    // A page gets all of them at once.
    assert!((10_000..60_000).contains(&outlines), "{outlines} bytes");
}
