//! A run as an HTML file that needs no server: all its states are in it.

use ::player::limits::MOST_STATES;
use ::player::{
    PlayRequest, Playable, Refusal, RefusalKind, Rule, Setting, State, Violated, Want, catalogue, play,
};
use serde::{Deserialize, Serialize};

use super::no::No;

/// A title is no longer than this.
const LONGEST_TITLE: usize = 200;

/// The run that is wanted as a file.
#[derive(Deserialize)]
pub(crate) struct FileRequest {
    #[serde(flatten)]
    pub(crate) setting: Setting,
    #[serde(default)]
    steps: Vec<String>,
    /// The number of the state that is shown first; the last one if it is left out.
    at: Option<usize>,
    /// What the file is called; the algorithm if it is left out.
    title: Option<String>,
}

/// What is in the file.
#[derive(Serialize)]
struct InFile {
    setting: Setting,
    steps: Vec<String>,
    at: usize,
    title: String,
    /// What the catalogue says of the algorithm.
    entry: Option<Playable>,
    rules: Vec<Rule>,
    violated: Option<Violated>,
    /// All of them, the start included, without what is possible in each: a file cannot act.
    states: Vec<State>,
}

impl FileRequest {
    pub(crate) fn file(self) -> Result<String, No> {
        let last = self.steps.len();
        if last >= MOST_STATES {
            let most = MOST_STATES - 1;
            let message = format!(
                "the run has {last} steps, and a page without a server has at most {most}: save the run as a trace file, or cut it \
                 after step {most}"
            );
            return Err(Refusal { kind: RefusalKind::Bounds, message, step: None, fits: Some(most) }.into());
        }
        let mut title: String = self.title.unwrap_or_default().chars().take(LONGEST_TITLE).collect();
        if title.trim().is_empty() {
            title.clone_from(&self.setting.algorithm);
        }
        let name = self.setting.algorithm.clone();
        let request =
            PlayRequest { setting: self.setting, steps: self.steps, want: vec![Want::Range(0, last)] };
        let played = play(&request)?.whole()?;
        let mut states = played.states;
        for state in &mut states {
            (state.can, state.more_can) = (Vec::new(), 0);
        }
        let run = InFile {
            setting: played.setting,
            steps: played.steps,
            at: self.at.unwrap_or(last).min(last),
            entry: catalogue().into_iter().find(|entry| entry.name == name),
            rules: played.rules,
            violated: played.violated,
            states,
            title,
        };
        let json = serde_json::to_string(&run).map_err(No::failed)?;
        page::bundle(&run.title, &json).map_err(No::failed)
    }
}
