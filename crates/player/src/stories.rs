//! Walk-throughs of the papers, as runs with captions. Each is a transcript of `algorithms`, read as it is: its commands
//! are the steps, its prose the captions.

use algorithms::schedule::parse_schedule;
use serde::Serialize;

use crate::refusal::{Refusal, RefusalKind};
use crate::setting::{Links, Setting};

/// A run with captions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Story {
    /// Its name in addresses.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// The number of the text that tells it, such as `001`.
    pub text: &'static str,
    /// What to notice.
    pub preface: String,
    /// What to play.
    pub setting: Setting,
    /// The steps.
    pub steps: Vec<String>,
    /// Its parts, one after the other: each step is in one of them.
    pub captions: Vec<Caption>,
}

/// A part of a run, and what is said of it. The text is about what happens in the part, and the state at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Caption {
    /// How many steps come before the part.
    pub from: usize,
    /// How many steps lead to its end.
    pub to: usize,
    /// The text.
    pub text: String,
}

/// A story of the list: its name, its title, its text, the algorithm and the transcript.
struct Source(&'static str, &'static str, &'static str, &'static str, &'static str);

macro_rules! source {
    ($name:literal, $title:literal, $text:literal, $algorithm:literal, $file:literal) => {
        Source(
            $name,
            $title,
            $text,
            $algorithm,
            include_str!(concat!("../../algorithms/testdata/", $algorithm, "/", $file, ".txt")),
        )
    };
}

const STORIES: &[Source] = &[
    source!("thesis-fig-1", "Four sites and one token", "001", "naimi-trehel", "figure-1"),
    source!("thesis-fig-3", "A queue with tags", "001", "bulgannawar-vaidya", "figure-3"),
    source!("thesis-fig-4", "Two trees for one token", "001", "bulgannawar-vaidya", "figure-4"),
    source!("thesis-fig-5", "A request turns its path round", "001", "bulgannawar-vaidya", "figure-5"),
    source!("thesis-fig-6", "An idle token serves any request", "001", "bulgannawar-vaidya", "figure-6"),
    source!("tree-case-study", "Ten processes on a tree", "002", "lacbt", "case-study"),
    source!("rooms-table-1", "Four nodes, three groups", "004", "drs-gme", "table-1"),
];

/// All stories.
pub fn stories() -> Result<Vec<Story>, Refusal> {
    STORIES.iter().map(read).collect()
}

fn read(Source(name, title, text, algorithm, transcript): &Source) -> Result<Story, Refusal> {
    let bad = |why: String| Refusal::new(RefusalKind::Unreadable, format!("{name}: {why}"));
    let mut story = Story {
        name,
        title,
        text,
        preface: String::new(),
        setting: Setting { links: Some(Links::Any), ..Setting::of(algorithm) },
        steps: Vec::new(),
        captions: Vec::new(),
    };
    let mut begun = false;
    for line in transcript.lines() {
        if let Some(prose) = line.strip_prefix('#') {
            let prose = prose.trim();
            match story.captions.last_mut() {
                _ if !begun => append(&mut story.preface, prose),
                Some(caption) if caption.from == story.steps.len() => append(&mut caption.text, prose),
                _ => {
                    let from = story.steps.len();
                    story.captions.push(Caption { from, to: from, text: prose.to_string() });
                }
            }
        } else if let Some(system) = line.strip_prefix("system") {
            begun = true;
            set(&mut story.setting, system).ok_or_else(|| bad(format!("cannot read '{system}'")))?;
        } else if let Some(commands) = line.strip_prefix('>') {
            let steps = parse_schedule(commands).map_err(|error| bad(error.to_string()))?;
            story.steps.extend(steps.iter().map(ToString::to_string));
            let part = story
                .captions
                .last_mut()
                .ok_or_else(|| bad("a step before the first caption".to_string()))?;
            part.to = story.steps.len();
        }
    }
    Ok(story)
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    *text += more;
}

/// Reads `nodes=3 tokens=2 inform=1`.
fn set(setting: &mut Setting, system: &str) -> Option<()> {
    (setting.nodes, setting.tokens, setting.groups, setting.faulty) =
        (Some(1), Some(1), Some(1), Some(false));
    for word in system.split_whitespace() {
        if word == "faulty" {
            setting.faulty = Some(true);
            continue;
        }
        let (name, value) = word.split_once('=')?;
        match name {
            "nodes" => setting.nodes = Some(value.parse().ok()?),
            "tokens" => setting.tokens = Some(value.parse().ok()?),
            "groups" => setting.groups = Some(value.parse().ok()?),
            "defect" => setting.defect = Some(value.to_string()),
            _ => _ = setting.options.insert(name.to_string(), value.to_string()),
        }
    }
    Some(())
}
