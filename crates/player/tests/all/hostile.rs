//! Whatever is sent, the player answers within its bounds.

use algorithms::registry;
use player::{
    AutorunRequest, FindRequest, Goal, May, PlayRequest, RefusalKind, Setting, Shared, Want, autorun, find,
    limits, open, open_steps, play, share,
};

use crate::runs::settings;

fn refused(setting: &Setting, steps: &[&str]) -> player::Refusal {
    let steps = steps.iter().map(ToString::to_string).collect();
    play(&PlayRequest { setting: setting.clone(), steps, want: Vec::new() }).expect_err("a refusal")
}

/// How far a run fits, and why not further.
fn misfit(setting: &Setting, steps: &[&str]) -> player::Refusal {
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let want = vec![Want::Range(0, steps.len())];
    let answer = play(&PlayRequest { setting: setting.clone(), steps, want }).expect("an answer");
    let misfit = answer.misfit.expect("a step that does not fit");
    assert_eq!(misfit.kind, RefusalKind::Impossible);
    assert_eq!(misfit.fits, Some(answer.steps.len()));
    assert_eq!(answer.states.len(), answer.steps.len() + 1, "the states up to there");
    misfit
}

#[test]
fn settings_beyond_the_bounds_are_refused() {
    let usual = Setting::of("forest");
    for huge in [101, 1_000_000_000, u64::MAX] {
        for setting in [
            Setting { nodes: Some(huge), ..usual.clone() },
            Setting { tokens: Some(huge), ..usual.clone() },
            Setting { groups: Some(huge), ..Setting::of("rooms") },
            Setting { clients: Some(huge), ..usual.clone() },
        ] {
            assert_eq!(refused(&setting, &[]).kind, RefusalKind::Bounds);
        }
    }
    let zero = Setting { nodes: Some(0), ..usual.clone() };
    assert_eq!(refused(&zero, &[]).kind, RefusalKind::Setting);
    for name in ["", "none", "partitioned(", "partitioned(rooms)", "partitioned(partitioned(makki))"] {
        assert_eq!(refused(&Setting::of(name), &[]).kind, RefusalKind::Setting);
    }
    let unknown = [("passes".to_string(), "many".to_string()), ("none".to_string(), "1".to_string())];
    for (name, value) in unknown {
        let setting = Setting { options: [(name, value)].into(), ..usual.clone() };
        assert_eq!(refused(&setting, &[]).kind, RefusalKind::Setting);
    }
    let defect = Setting { defect: Some("none".to_string()), ..usual };
    assert_eq!(refused(&defect, &[]).kind, RefusalKind::Setting);
}

#[test]
fn a_step_that_does_not_fit_says_up_to_where_the_run_does() {
    let setting = Setting { nodes: Some(3), ..Setting::of("naimi-trehel") };
    let found = misfit(&setting, &["req1", "1>0", "exit1", "0>1"]);
    assert_eq!((found.fits, found.step.as_deref()), (Some(2), Some("exit1")));
    for step in ["", "dance", "req1:77", "req99999999999"] {
        let refusal = refused(&setting, &["req1", step]);
        assert_eq!((refusal.kind, refusal.fits), (RefusalKind::NotAStep, Some(1)), "{step}");
    }
    let impossible =
        ["req3", "req1:1", "req1.1", "req1.4294967295", "1>0#18446744073709551615", "0>7", "7>0"]
            .into_iter()
            .chain(["lose0>1", "tmo1:9", "crash9", "restart1", "cancel1"]);
    for step in impossible {
        assert_eq!(misfit(&setting, &["req1", step]).fits, Some(1), "{step}");
    }
    let long = "1".repeat(limits::LONGEST_STEP + 1);
    let refusal = refused(&setting, &[&long]);
    assert_eq!((refusal.kind, refusal.fits), (RefusalKind::Bounds, Some(0)));
    assert!(refusal.message.len() < 200);
    let fifo = Setting { links: Some(player::Links::Fifo), ..setting };
    assert_eq!(misfit(&fifo, &["req1", "req2", "1>0", "2>0", "0>1#1"]).fits, Some(4));
}

#[test]
fn what_is_wanted_is_bounded() {
    let setting = Setting::of("lamport");
    let want = |steps: usize, want: Vec<Want>| {
        let steps = ["crash0", "restart0"].repeat(steps / 2).into_iter().map(ToString::to_string).collect();
        play(&PlayRequest { setting: setting.clone(), steps, want })
    };
    assert_eq!(want(2, vec![Want::One(3)]).unwrap_err().fits, Some(2));
    assert_eq!(want(2, vec![Want::Range(0, usize::MAX)]).unwrap_err().kind, RefusalKind::Bounds);
    assert_eq!(want(600, vec![Want::Range(0, 600)]).unwrap_err().kind, RefusalKind::Bounds);
    assert_eq!(want(limits::MOST_STEPS + 2, Vec::new()).unwrap_err().kind, RefusalKind::Bounds);
    let overlapping =
        vec![Want::Range(1, 4), Want::One(3), Want::Range(3, 2), Want::One(0), Want::Range(4, 5)];
    let numbers: Vec<usize> = want(6, overlapping).unwrap().states.iter().map(|state| state.at).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    let far = AutorunRequest { setting, steps: Vec::new(), count: usize::MAX, faults: false };
    assert_eq!(autorun(&far).unwrap_err().kind, RefusalKind::Bounds);
}

/// Losses, duplicates, crashes and overtaking that an algorithm does not bear break it, but never the player.
#[test]
fn an_algorithm_that_is_broken_by_hand_breaks_nothing_else() {
    for setting in settings() {
        let defects =
            registry::info(&setting.algorithm).unwrap().defects.iter().map(|defect| Some(defect.name));
        for defect in defects.take(3).chain([None]) {
            for seed in 0..6 {
                let setting = Setting {
                    nodes: Some(4),
                    tokens: setting.tokens,
                    links: Some(player::Links::Any),
                    defect: defect.map(ToString::to_string),
                    seed,
                    ..setting.clone()
                };
                let Ok(setting) = setting.completed() else { continue };
                let mut random = random::Random::new(seed);
                let mut steps: Vec<String> = Vec::new();
                for _ in 0..40 {
                    let request =
                        PlayRequest { setting: setting.clone(), steps: steps.clone(), want: Vec::new() };
                    let state = play(&request).unwrap().states.remove(0);
                    let messages: Vec<_> = state.can.iter().filter(|can| can.message.is_some()).collect();
                    let others: Vec<_> = state.can.iter().filter(|can| can.message.is_none()).collect();
                    let of = if messages.is_empty() || random.percent(40) { others } else { messages };
                    steps.push(random.choose(&of).step.clone());
                }
            }
        }
    }
}

#[test]
fn texts_that_are_no_runs_are_refused() {
    for text in ["", "!", "AAAA", "{", "{}", "{\"format\": \"tokenwood-trace\", \"version\": 9}", "_____"] {
        assert_eq!(open(text).unwrap_err().kind, RefusalKind::Unreadable, "{text}");
    }
    assert!(open_steps("&&").is_err());
    assert_eq!(open(&"A".repeat(limits::LONGEST_LINK + 1)).unwrap_err().kind, RefusalKind::Bounds);
    // A small text that unpacks to a huge one.
    let bomb = Shared { setting: Setting::of("lamport"), steps: vec!["req1".to_string(); 10_000] };
    assert!(share(&bomb).unwrap().run.len() < 1_000);
    let huge = Shared { steps: vec!["req1".to_string(); 10_001], ..bomb };
    assert_eq!(share(&huge).unwrap_err().kind, RefusalKind::Bounds);
    let spaced = Shared { setting: Setting::of("a b"), steps: Vec::new() };
    assert!(share(&spaced).is_err());
}

#[test]
fn a_search_is_bounded() {
    let setting = Setting { nodes: Some(100), ..Setting::of("lamport") };
    let goal = Goal::Waiting { count: 2 };
    let request = FindRequest { setting, steps: Vec::new(), at: None, goal, may: May::default() };
    let go_on = |_| std::ops::ControlFlow::Continue(());
    assert_eq!(find(&request, 1, limits::Limits::ALONE, &go_on).unwrap_err().kind, RefusalKind::Setting);
    let many = FindRequest { may: May { requests: 1_000, ..May::default() }, ..request.clone() };
    assert!(find(&many, 1, limits::Limits::ALONE, &go_on).is_err());
    let beyond = FindRequest { at: Some(1), ..request };
    assert_eq!(find(&beyond, 1, limits::Limits::ALONE, &go_on).unwrap_err().fits, Some(0));
}
