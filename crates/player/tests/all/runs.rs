//! Runs of every algorithm.

use algorithms::info::Order;
use algorithms::registry;
use player::{
    AutorunRequest, CanKind, PlayAnswer, PlayRequest, Setting, State, Verdict, Want, autorun, catalogue, play,
};

/// A run of its own from a seed.
pub(crate) fn run_of(setting: &Setting, count: usize, faults: bool) -> (Vec<String>, Vec<State>) {
    let request = AutorunRequest { setting: setting.clone(), steps: Vec::new(), count, faults };
    let answer = autorun(&request).unwrap_or_else(|refusal| panic!("{}: {refusal}", setting.algorithm));
    (answer.steps, answer.states)
}

pub(crate) fn states(setting: &Setting, steps: &[String], want: Vec<Want>) -> Vec<State> {
    let request = PlayRequest { setting: setting.clone(), steps: steps.to_vec(), want };
    let answer = play(&request).and_then(PlayAnswer::whole);
    answer.unwrap_or_else(|refusal| panic!("{}: {refusal}", setting.algorithm)).states
}

/// Every algorithm, and one that is partitioned, at its default setting.
pub(crate) fn settings() -> Vec<Setting> {
    let names = registry::ALL.iter().map(|info| info.name).chain(["partitioned(naimi-trehel)"]);
    names.map(|name| Setting { seed: 7, ..Setting::of(name) }).collect()
}

#[test]
fn a_run_of_any_algorithm_replays_to_equal_states() {
    for setting in settings() {
        let (steps, first) = run_of(&setting, 200, false);
        assert_eq!(steps.len(), 200, "{}", setting.algorithm);
        assert_eq!(states(&setting, &steps, vec![Want::Range(1, 200)]), first, "{}", setting.algorithm);
        let wrong =
            |state: &State| state.properties.iter().any(|property| property.verdict == Verdict::Violated);
        assert_eq!(first.iter().find(|state| wrong(state)), None, "{}", setting.algorithm);
        // Every step has a rule, and the rule is one of those that are listed.
        let rules = catalogue();
        let name = setting.algorithm.trim_start_matches("partitioned(").trim_end_matches(')');
        let rules = &rules.iter().find(|playable| playable.name == name).unwrap().rules;
        for state in &first {
            let rule = state.rule.as_ref();
            let rule = rule.unwrap_or_else(|| panic!("{}: {:?} has no rule", setting.algorithm, state.says));
            let listed = rules.iter().find(|listed| listed.number == rule.number).expect("a listed rule");
            assert!(rule.part.unwrap_or(0) as usize <= listed.parts.len(), "{} {rule:?}", setting.algorithm);
            assert!(rule.then.iter().all(|then| rules.iter().any(|rule| rule.number == *then)));
        }
        let entries = first.last().map_or(0, |state| state.counts.entries);
        assert!(entries > 3, "{}: {entries} entries", setting.algorithm);
    }
}

#[test]
fn back_and_forth_is_the_same_state() {
    for setting in settings() {
        let (steps, first) = run_of(&setting, 40, true);
        for at in [0, 7, 39, 3, 40.min(steps.len())] {
            let now = states(&setting, &steps[..at], Vec::new());
            assert_eq!(now.len(), 1);
            assert_eq!(now[0].at, at);
            if at > 0 {
                assert_eq!(now[0], first[at - 1], "{} at {at}", setting.algorithm);
            }
        }
        // A run that goes on from its middle is the same run.
        let request =
            AutorunRequest { setting: setting.clone(), steps: steps[..20].to_vec(), count: 20, faults: true };
        assert_eq!(autorun(&request).unwrap().steps, steps, "{}", setting.algorithm);
    }
}

#[test]
fn every_step_that_is_offered_is_accepted() {
    for setting in settings() {
        let (steps, first) = run_of(&setting, 25, false);
        for at in [0, 9, 24] {
            let offered = if at == 0 { states(&setting, &[], Vec::new()) } else { vec![first[at].clone()] };
            let taken = if at == 0 { 0 } else { at + 1 };
            for can in &offered[0].can {
                let mut with = steps[..taken].to_vec();
                with.push(can.step.clone());
                let after = states(&setting, &with, Vec::new());
                // What the page sent is what happened, apart from picks that it left to the seed.
                let step = after[0].step.clone().unwrap();
                assert!(step.starts_with(&can.step), "{}: {step} for {}", setting.algorithm, can.step);
            }
            assert!(offered[0].can.iter().any(|can| can.kind == CanKind::Request));
        }
    }
}

#[test]
fn messages_keep_their_numbers_until_they_arrive() {
    for setting in settings() {
        let (_, states) = run_of(&setting, 120, true);
        for pair in states.windows(2) {
            let (before, after) = (&pair[0], &pair[1]);
            let ids = |state: &State| state.flight.iter().map(|flight| flight.id).collect::<Vec<_>>();
            let doubled = after.step.as_ref().unwrap().starts_with("dup");
            let gone = after.received.filter(|_| !doubled);
            let mut expected: Vec<u64> = ids(before).into_iter().filter(|id| Some(*id) != gone).collect();
            expected.extend(&after.sent);
            assert_eq!(ids(after), expected, "{} {:?}", setting.algorithm, after.step);
            assert_eq!(
                after.counts.messages,
                before.counts.messages + after.sent.len() as u64 - u64::from(doubled)
            );
        }
    }
}

#[test]
fn a_choice_of_the_algorithm_is_offered_as_steps() {
    let setting = Setting::of("bulgannawar-vaidya");
    let start = &states(&setting, &[], Vec::new())[0];
    let of_node_5: Vec<&str> =
        start.can.iter().map(|can| can.step.as_str()).filter(|it| it.starts_with("req5")).collect();
    assert_eq!(of_node_5, ["req5/0", "req5/1"]);
    let does = &start.can.iter().find(|can| can.step == "req5/1").unwrap().does;
    assert_eq!(does[..], ["5 sends REQUEST(5 asks for token 1) to 1"]);
    // Left to the seed, it is the same choice each time, and the answer names it.
    let steps = ["req5".to_string()];
    let answers: Vec<_> = (0..3).map(|_| states(&setting, &steps, Vec::new())[0].step.clone()).collect();
    assert!(answers.iter().all(|step| *step == answers[0] && step.as_ref().unwrap().starts_with("req5/")));
}

#[test]
fn a_state_tells_what_a_picture_needs() {
    let setting = Setting { nodes: Some(3), tokens: Some(2), ..Setting::of("bulgannawar-vaidya") };
    let steps = "req0 req1 req2/1 2>1 exit1 1>2 req1/0 1>0 exit0 0>1 req0/1 0>1";
    let steps: Vec<String> = steps.split(' ').map(ToString::to_string).collect();
    let state = &states(&setting, &steps, Vec::new())[0];
    assert_eq!(
        state.sentence,
        "Node 1 receives REQUEST(0 asks for token 1) from 0 and puts 0 on the queue of token 0, tagged via 1. Note: a \
         request was turned into one for another token."
    );
    let rule = state.rule.as_ref().unwrap();
    assert_eq!((rule.number, rule.bind["origin"], rule.bind["asked"], rule.bind["me"]), (3, 0, 1, 1));
    let queued = &state.nodes[1].queue[0];
    assert_eq!((queued.node, queued.token, queued.via), (0, Some(0), Some(1)));
    assert_eq!(state.nodes[1].words, "Node 1 is inside with token 0; its queue: 0 via 1.");
    assert_eq!((state.nodes[0].asks, state.nodes[2].tokens.as_slice()), (Some(1), [1].as_slice()));
    assert!(state.seen.iter().any(|seen| seen == "a request was turned into one for another token"));
}

#[test]
fn a_violation_says_that_a_step_went_beyond_the_claim() {
    let setting = Setting { nodes: Some(3), ..Setting::of("naimi-trehel") };
    let steps: Vec<String> = ["req1", "1>0", "dup0>1", "0>1", "0>1"].map(str::to_string).into();
    let all = states(&setting, &steps, vec![Want::Range(0, steps.len())]);
    assert_eq!(all[2].beyond, None);
    let doubled = all[3].beyond.as_ref().map(|it| (it.at, it.step.as_str()));
    assert_eq!((doubled, &all[5].beyond), (Some((3, "dup0>1")), &all[3].beyond), "it stays so");
    let words = all[5].sentence.split("This violates ").nth(1);
    assert!(
        words.is_some_and(
            |it| it.ends_with(" But step 3, dup0>1, is beyond what naimi-trehel claims to bear.")
        ),
        "{}",
        all[5].sentence
    );
    // A defect violates what the algorithm claims.
    let defect = Setting {
        tokens: Some(1),
        defect: Some("holding-not-set".to_string()),
        ..Setting::of("bulgannawar-vaidya")
    };
    let steps: Vec<String> = ["req0", "req1", "1>0", "0>1"].map(str::to_string).into();
    let end = states(&defect, &steps, Vec::new()).remove(0);
    assert!(end.sentence.contains("This violates") && !end.sentence.contains("beyond"), "{}", end.sentence);
    assert_eq!(end.beyond, None);
}

/// Messages that overtake are beyond the claim of an algorithm that needs FIFO links.
#[test]
fn overtaking_is_beyond_a_claim_that_needs_fifo() {
    for name in ["lamport", "bulgannawar-vaidya", "ricart-agrawala"] {
        let setting = Setting { links: Some(player::Links::Any), ..Setting::of(name) };
        let needs = registry::info(name).unwrap().needs;
        let request =
            AutorunRequest { setting: setting.clone(), steps: Vec::new(), count: 60, faults: false };
        let steps = autorun(&request).unwrap().steps;
        let all = states(&setting, &steps, vec![Want::Range(0, steps.len())]);
        let offered = all.iter().flat_map(|state| &state.can);
        let overtaking: Vec<bool> = offered
            .filter(|can| can.kind == CanKind::Deliver && can.step.contains('#'))
            .map(|can| can.tolerated)
            .collect();
        let bears = match needs.order {
            Order::Fifo => false,
            Order::FifoIfSeveral => setting.tokens == Some(1),
            Order::Any => true,
        };
        assert!(!overtaking.is_empty() && overtaking.iter().all(|&it| it == bears), "{name}: {overtaking:?}");
    }
}
