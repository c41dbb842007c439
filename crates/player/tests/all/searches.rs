//! The shortest way to a state, two algorithms under one load, and curves.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use player::limits::Limits;
use player::{
    CompareRequest, CurveRequest, FindAnswer, FindRequest, Goal, Load, May, NodeIs, Setting, Value, compare,
    curve, find,
};

use crate::runs::states;

fn search(request: &FindRequest) -> FindAnswer {
    find(request, 1, Limits::ALONE, &|_| ControlFlow::Continue(()))
        .unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn found(answer: FindAnswer) -> Vec<String> {
    match answer {
        FindAnswer::Found { steps, .. } => steps,
        other => panic!("{other:?}"),
    }
}

fn small(algorithm: &str, nodes: u64) -> Setting {
    Setting { nodes: Some(nodes), ..Setting::of(algorithm) }
}

fn request(setting: &Setting, goal: Goal) -> FindRequest {
    FindRequest { setting: setting.clone(), steps: Vec::new(), at: None, goal, may: May::default() }
}

#[test]
fn a_violation_is_found_from_the_start_and_from_a_later_state() {
    let setting = Setting {
        defect: Some("holding-not-set".to_string()),
        tokens: Some(1),
        ..small("bulgannawar-vaidya", 2)
    };
    let wanted = request(&setting, Goal::Violation { property: Some("at-most-k-inside".to_string()) });
    assert_eq!(found(search(&wanted)).len(), 4);
    let later = FindRequest { steps: vec!["req0".to_string(), "exit0".to_string()], at: Some(1), ..wanted };
    let steps = found(search(&later));
    assert_eq!(steps, ["req1", "1>0", "0>1"]);
    let right = Setting { defect: None, ..setting };
    let answer = search(&request(&right, Goal::Violation { property: None }));
    assert!(matches!(answer, FindAnswer::Exhausted { .. }), "{answer:?}");
}

#[test]
fn a_state_with_a_name_is_found_by_the_fewest_steps() {
    let setting = small("bulgannawar-vaidya", 3);
    let last = |steps: &[String]| states(&setting, steps, Vec::new()).remove(0);
    let two = found(search(&request(&setting, Goal::Waiting { count: 1 })));
    assert_eq!(two.len(), 1);
    let steps = found(search(&request(&setting, Goal::Inside { count: 2 })));
    assert_eq!((steps.len(), last(&steps).counts.inside), (2, 2));
    let note = "a request was turned into one for another token".to_string();
    let may = May { requests: 2, ..May::default() };
    let turned = FindRequest { may, ..request(&setting, Goal::Note { note: note.clone() }) };
    let steps = found(search(&turned));
    assert!(last(&steps).seen.contains(&note), "{steps:?}");
    assert!(!last(&steps[..steps.len() - 1]).seen.contains(&note));
    let steps = found(search(&request(&setting, Goal::NoneFree)));
    assert_eq!(steps.len(), 2);
    // From where both are inside and a third waits, to where all have been served.
    let busy: Vec<String> = ["req0", "req1", "req2/0"].map(ToString::to_string).into();
    let served = FindRequest {
        steps: busy.clone(),
        may: May { requests: 0, ..May::default() },
        ..request(&setting, Goal::AllServed)
    };
    let mut all = busy;
    all.extend(found(search(&served)));
    let end = last(&all);
    assert!(
        end.nodes.iter().all(|node| node.is == NodeIs::Out)
            && end.flight.is_empty()
            && end.counts.entries == 3
    );
}

#[test]
fn a_lost_token_is_found_where_messages_are_lost() {
    let setting = Setting { groups: Some(1), ..small("drs-gme", 2) };
    let may = May { losses: 1, ..May::default() };
    let steps = found(search(&FindRequest { may, ..request(&setting, Goal::TokenLost) }));
    assert!(steps.last().unwrap().starts_with("lose"), "{steps:?}");
    let tokenless = request(&small("lamport", 2), Goal::TokenLost);
    assert!(find(&tokenless, 1, Limits::ALONE, &|_| ControlFlow::Continue(())).is_err());
}

#[test]
fn a_search_can_be_followed_and_stopped() {
    let wanted = FindRequest {
        may: May { requests: 3, ..May::default() },
        ..request(&small("bulgannawar-vaidya", 4), Goal::Violation { property: None })
    };
    let stop = |progress: player::FindProgress| {
        if progress.states > 2_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let answer = find(&wanted, 1, Limits::ALONE, &stop).unwrap();
    assert!(
        matches!(answer, FindAnswer::Stopped { why: "interrupt", states, .. } if states > 2_000),
        "{answer:?}"
    );
    let bounded = FindRequest { may: May { states: Some(500), ..wanted.may.clone() }, ..wanted };
    assert!(matches!(search(&bounded), FindAnswer::Stopped { why: "states", .. }));
}

#[test]
fn a_search_that_has_used_up_its_memory_says_what_to_do() {
    let wanted = FindRequest {
        may: May { requests: 3, ..May::default() },
        ..request(&small("bulgannawar-vaidya", 4), Goal::Violation { property: None })
    };
    // The bounds of both places, with less memory: a search that fills it would take long.
    for limits in [Limits::ALONE, Limits::AT_NODE] {
        let little = Limits { search_bytes: 1 << 20, ..limits };
        let answer = find(&wanted, 1, little, &|_| ControlFlow::Continue(())).unwrap();
        let FindAnswer::Stopped { why: "memory", message, .. } = answer else { panic!("{answer:?}") };
        assert!(message.contains("1 MiB") && message.contains("tokenwood check"), "{message}");
        assert_eq!(message.contains("tokenwood play"), limits == Limits::AT_NODE, "{message}");
    }
}

fn load(entries: f64) -> Load {
    Load([("rate".to_string(), Value::Number(0.2)), ("entries".to_string(), Value::Number(entries))].into())
}

#[test]
fn two_algorithms_are_compared_entry_by_entry() {
    let side = |name: &str| Setting { nodes: Some(9), tokens: Some(3), ..Setting::of(name) };
    let request =
        CompareRequest { a: side("bulgannawar-vaidya"), b: side("raymond-k"), load: load(30.0), seed: 7 };
    let mut entries = Vec::new();
    let always = || ControlFlow::Continue(());
    let mut keep = |entry| {
        entries.push(entry);
        ControlFlow::Continue(())
    };
    let answer = compare(&request, &mut keep, &always).unwrap().unwrap();
    assert!(entries.len() >= 30);
    for (number, entry) in (1..).zip(&entries) {
        assert_eq!((entry.entry, entry.a.counts.entries, entry.b.counts.entries), (number, number, number));
    }
    assert!(entries.windows(2).all(|pair| pair[0].a.time <= pair[1].a.time));
    assert!(answer.b.messages_per_entry > 3.0 * answer.a.messages_per_entry);
    assert_eq!(answer.a.steps.len(), answer.a.times.len());
    assert!(answer.a.outline.bars.len() >= 30 && answer.a.violated.is_none());
    // What was simulated can be played.
    assert_eq!(states(&answer.a.setting, &answer.a.steps, Vec::new())[0].at, answer.a.steps.len());
    let mut few = 0;
    let stop = |_| {
        few += 1;
        if few == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert!(compare(&request, &mut { stop }, &always).unwrap().is_none());
    assert_eq!(few, 3);
    // A defect that never ends is not compared for ever.
    let endless =
        Setting { defect: Some("nobody-is-told".to_string()), nodes: Some(20), ..Setting::of("lacbt") };
    let endless = CompareRequest { a: endless.clone(), b: endless, ..request.clone() };
    let _ = compare(&endless, &mut |_| ControlFlow::Continue(()), &always);
    let wrong = CompareRequest {
        load: Load(BTreeMap::from([("latencies".to_string(), Value::Number(1.0))])),
        ..request
    };
    assert!(compare(&wrong, &mut |_| ControlFlow::Continue(()), &always).is_err());
}

#[test]
fn two_runs_are_in_step_where_one_step_lets_several_clients_in() {
    let side = |name: &str| Setting { nodes: Some(6), clients: Some(3), ..Setting::of(name) };
    let a = Setting { clients: None, ..side("drs-gme") };
    let request = CompareRequest { a, b: side("rooms"), load: load(60.0), seed: 7 };
    let mut numbers = Vec::new();
    let mut each = |entry: player::CompareEntry| {
        numbers.push((entry.entry, entry.a.counts.entries, entry.b.counts.entries));
        ControlFlow::Continue(())
    };
    compare(&request, &mut each, &|| ControlFlow::Continue(())).unwrap().unwrap();
    assert!(numbers.iter().map(|numbers| numbers.0).eq(1..=60), "{numbers:?}");
    assert!(numbers.iter().any(|&(entry, _, b)| b > entry), "no step lets several in: {numbers:?}");
    assert!(numbers.iter().all(|&(entry, a, b)| a >= entry && b >= entry && a.max(b) < entry + 6));
}

#[test]
fn a_comparison_ends_between_two_entries_when_it_is_told_to() {
    // The root changes places for ever, so the simulation itself is long.
    let endless =
        Setting { defect: Some("swap-loop-forever".to_string()), nodes: Some(20), ..Setting::of("lacbt") };
    let side = Setting { nodes: Some(60), ..Setting::of("lamport") };
    for (a, looks) in [(&endless, 1), (&side, 1), (&side, 40)] {
        let request = CompareRequest { a: a.clone(), b: side.clone(), load: load(200.0), seed: 7 };
        let (mut told, looked) = (0, Cell::new(0));
        let watch = || {
            looked.set(looked.get() + 1);
            if looked.get() >= looks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut each = |_| {
            told += 1;
            ControlFlow::Continue(())
        };
        assert!(compare(&request, &mut each, &watch).unwrap().is_none());
        assert_eq!((told, looked.get()), (0, looks), "it ends at once, before its first entry is told");
    }
}

#[test]
fn a_curve_has_a_point_for_each_value() {
    let request = CurveRequest {
        setting: Setting { nodes: Some(5), ..Setting::of("suzuki-kasami") },
        load: load(200.0),
        over: "rate".to_string(),
        values: vec![0.01, 0.1, 1.0],
        measures: vec![
            "messages_per_entry".to_string(),
            "time_to_enter".to_string(),
            "time_to_enter_p99".to_string(),
        ],
        seeds: Some(2),
    };
    let answer = curve(&request, &|| ControlFlow::Continue(())).unwrap();
    assert_eq!(answer.curves.len(), 3);
    let waits: Vec<f64> = answer.curves[1].points.iter().filter_map(|point| point.1).collect();
    assert!(waits.len() == 3 && waits[0] < waits[2], "{waits:?}");
    assert!(answer.curves[0].points.iter().all(|point| point.2.is_some()));
    let wrong = CurveRequest { measures: vec!["beauty".to_string()], ..request.clone() };
    assert!(
        curve(&wrong, &|| ControlFlow::Continue(()))
            .unwrap_err()
            .message
            .contains("there is no measure 'beauty'")
    );
    let ended =
        curve(&CurveRequest { load: load(20_000.0), ..request.clone() }, &|| ControlFlow::Break(())).unwrap();
    assert!(ended.curves[0].points.iter().all(|point| point.1.is_none()));
    for (seeds, entries) in [(1_000_000, 200.0), (400, 1.0)] {
        let long = CurveRequest { seeds: Some(seeds), load: load(entries), ..request.clone() };
        assert!(curve(&long, &|| ControlFlow::Continue(())).is_err());
    }
}
