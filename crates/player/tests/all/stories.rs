//! Walk-throughs of the papers: what a caption says is what the picture shows at the end of its part.

use player::{NodeIs, PlayAnswer, PlayRequest, State, Story, Verdict, Want, play, stories};

/// What a caption claims of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// It does so in the part.
    Asks,
    Enters,
    Leaves,
    /// It is so at the end of the part.
    Waits,
    Inside,
    Has(u32),
}

/// What a caption claims of nodes: "Nodes 5 and 6 enter", "node 2, which waits", "Node 2 is inside", "node 2 has token 1".
fn claims(text: &str) -> Vec<(u32, Claim)> {
    let words: Vec<&str> =
        text.split_whitespace().map(|word| word.trim_matches([',', '.', ':', ';'])).collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if !["node", "nodes"].contains(&word.to_lowercase().as_str()) {
            continue;
        }
        let mut rest = &words[at + 1..];
        let mut nodes: Vec<u32> = Vec::new();
        while let Some((first, after)) = rest.split_first()
            && (*first == "and" || *first == "which" || first.parse::<u32>().is_ok())
        {
            nodes.extend(first.parse::<u32>());
            rest = after;
        }
        let claim = match rest {
            ["ask" | "asks", ..] => Claim::Asks,
            ["enter" | "enters", ..] => Claim::Enters,
            ["leave" | "leaves", ..] => Claim::Leaves,
            ["wait" | "waits", ..] => Claim::Waits,
            ["is", "inside", ..] => Claim::Inside,
            ["has", "token", token, ..] => Claim::Has(token.parse().expect("a token")),
            _ => continue,
        };
        found.extend(nodes.into_iter().map(|node| (node, claim)));
    }
    found
}

fn is_so(node: u32, claim: Claim, part: &[State]) -> bool {
    let does = |step: &str| {
        let own = |taken: &str| taken.split([':', '/', '.']).next() == Some(&format!("{step}{node}"));
        part.iter().any(|state| state.step.as_deref().is_some_and(own))
    };
    let end = &part[part.len() - 1].nodes[node as usize];
    match claim {
        Claim::Asks => does("req"),
        Claim::Leaves => does("exit"),
        Claim::Enters => part.iter().any(|state| {
            let enters = |line: &String| line.starts_with(&format!("{node} enters"));
            state.says.iter().any(enters)
        }),
        Claim::Waits => end.is == NodeIs::Waits,
        Claim::Inside => end.is == NodeIs::Inside,
        Claim::Has(token) => end.tokens.contains(&token),
    }
}

fn states(story: &Story) -> Vec<State> {
    let want = vec![Want::Range(0, story.steps.len())];
    let request = PlayRequest { setting: story.setting.clone(), steps: story.steps.clone(), want };
    let answer = play(&request).and_then(PlayAnswer::whole);
    answer.unwrap_or_else(|refusal| panic!("{}: {refusal}", story.name)).states
}

#[test]
fn every_step_of_a_story_is_in_a_part() {
    let stories = stories().unwrap();
    assert_eq!(stories.len(), 7);
    for story in stories {
        assert!(story.steps.len() > 5 && !story.preface.is_empty(), "{}", story.name);
        let ends = [0].into_iter().chain(story.captions.iter().map(|part| part.to));
        for (part, end) in story.captions.iter().zip(ends) {
            assert!(part.from == end && part.to > part.from, "{}: {part:?}", story.name);
        }
        assert_eq!(story.captions.last().map(|part| part.to), Some(story.steps.len()), "{}", story.name);
        let last = states(&story).pop().unwrap();
        let wrong = last.properties.iter().find(|property| property.verdict == Verdict::Violated);
        assert_eq!(wrong, None, "{}", story.name);
    }
}

#[test]
fn captions_say_what_the_picture_shows() {
    for story in stories().unwrap() {
        let states = states(&story);
        for part in &story.captions {
            let claims = claims(&part.text);
            assert!(!claims.is_empty(), "{}: nothing to check in '{}'", story.name, part.text);
            for (node, claim) in claims {
                let so = is_so(node, claim, &states[part.from + 1..=part.to]);
                assert!(
                    so,
                    "{}, steps {} to {}: node {node} {claim:?}: '{}'",
                    story.name,
                    part.from + 1,
                    part.to,
                    part.text
                );
            }
        }
    }
}
