//! A run that is shared is the run that is opened.

use player::{Links, Shared, Verdict, gallery, open, open_steps, play, share, to_trace, trace_file};

use crate::runs::{run_of, settings, states};

#[test]
fn what_is_shared_is_what_is_opened() {
    for setting in settings() {
        let setting = setting.completed().unwrap();
        let (steps, _) = run_of(&setting, 60, true);
        let shared = Shared { setting: setting.clone(), steps: steps.clone() };
        let texts = share(&shared).unwrap();
        assert_eq!(open(&texts.run).unwrap(), shared);
        assert_eq!(open_steps(&texts.steps).unwrap(), steps);
        assert!(texts.run.len() < 1_500, "{}: {} bytes", setting.algorithm, texts.run.len());
        assert!(texts.run.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter)));
        // As a file, and back.
        let file = trace_file::print(&to_trace(&shared).unwrap());
        let opened = open(&file).unwrap();
        assert_eq!(opened.steps, steps);
        let again = states(&opened.setting, &opened.steps, Vec::new());
        assert_eq!(again[0].nodes, states(&setting, &steps, Vec::new())[0].nodes, "{}", setting.algorithm);
    }
}

#[test]
fn a_trace_of_a_violation_says_so() {
    let exhibit = gallery().unwrap().into_iter().find(|it| it.defect == "holding-not-set").unwrap();
    let shared = Shared { setting: exhibit.setting, steps: exhibit.steps };
    let trace = to_trace(&shared).unwrap();
    assert_eq!(trace.violated.as_deref(), Some("at-most-k-inside"));
    assert!(trace.replay().unwrap().confirmed);
    let opened = open(&trace_file::print(&trace)).unwrap();
    let request = player::PlayRequest { setting: opened.setting, steps: opened.steps, want: Vec::new() };
    let answer = play(&request).unwrap().whole().unwrap();
    assert_eq!(answer.violated.unwrap().at, 4);
    assert!(answer.states[0].properties.iter().any(|it| it.verdict == Verdict::Violated));
}

#[test]
fn a_file_that_the_checker_wrote_opens() {
    let scope = algorithms::Scope::new(2, 1, 2).reordered();
    let job = checker::Job::of(&scope, None);
    // Lamport's algorithm needs FIFO channels, and the search shows why.
    let finding = checker::check("lamport", &job).unwrap();
    let (_, trace) = finding.violation.unwrap();
    let opened = open(&trace_file::print(&trace)).unwrap();
    assert_eq!(opened.setting.links, Some(Links::Any));
    let last = states(&opened.setting, &opened.steps, Vec::new());
    assert!(last[0].properties.iter().any(|it| it.verdict == Verdict::Violated));
}
