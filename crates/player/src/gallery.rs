//! Every defect of every algorithm, with a run that shows it. The checker finds the runs for `docs/errata.md`; finding
//! them all takes minutes, so they are kept in a file that is derived from that page.

use algorithms::info::{DefectInfo, Scope, Shows};
use algorithms::{Conditions, registry};
use serde::Serialize;

use crate::outline::{Outline, Pen};
use crate::refusal::Refusal;
use crate::rules::{self, Rule};
use crate::run::Run;
use crate::setting::{Links, Setting};

/// A line for each defect: the algorithm, the defect, and the steps. A test derives it again.
const RUNS: &str = include_str!("../data/gallery.txt");

/// The outline of a run has this many steps at most: the last ones.
const DRAWN: usize = 60;

/// A defect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exhibit {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The name of the defect.
    pub defect: &'static str,
    /// The number of the text that errs, such as `001`; none for a mutant and for the usual form of a cited algorithm.
    pub text: Option<&'static str>,
    /// Whether no text makes the error.
    pub mutant: bool,
    /// The text and the place.
    #[serde(rename = "where")]
    pub place: &'static str,
    /// The rule as printed.
    pub printed: &'static str,
    /// The correct rule.
    pub right: &'static str,
    /// The rules that it changes, and what it changes in each; none if it changes something else.
    pub rules: Vec<Rule>,
    /// What it leads to: the name of a property, or `dearer` if nothing is violated and messages are wasted.
    pub leads: &'static str,
    /// What to play.
    pub setting: Setting,
    /// The steps.
    pub steps: Vec<String>,
    /// Whether no run with fewer steps shows it.
    pub shortest: bool,
    /// The run as lines.
    pub outline: Outline,
}

/// Every defect, in the order of algorithms.
pub fn gallery() -> Result<Vec<Exhibit>, Refusal> {
    let mut exhibits = Vec::new();
    for line in RUNS.lines() {
        let mut words = line.split_whitespace();
        let (Some(algorithm), Some(defect)) = (words.next(), words.next()) else { continue };
        let info = registry::ALL.iter().find(|info| info.name == algorithm);
        let Some(info) = info else { continue };
        let Some(defect) = info.defects.iter().find(|known| known.name == defect) else { continue };
        exhibits.push(exhibit(info.name, defect, words.map(ToString::to_string).collect())?);
    }
    Ok(exhibits)
}

fn exhibit(
    algorithm: &'static str,
    defect: &'static DefectInfo,
    steps: Vec<String>,
) -> Result<Exhibit, Refusal> {
    let setting = setting(algorithm, &defect.scope, Some(defect.name));
    let game = setting.accept()?;
    let mut run = Run::start(&game);
    run.draws = false;
    let mut pen = Pen::new(&run);
    for step in &steps {
        let happened = run.take_text(step)?;
        pen.draw(&run, &happened);
    }
    let text = defect.source.split([' ', ',']).next().filter(|word| word.parse::<u32>().is_ok());
    Ok(Exhibit {
        algorithm,
        defect: defect.name,
        text,
        mutant: defect.source.starts_with("mutant"),
        place: defect.source,
        printed: defect.printed,
        right: defect.right,
        rules: changed(algorithm, defect.name),
        leads: match defect.shows {
            Shows::Search(property) | Shows::Random(property, _) => property.name(),
            Shows::Dearer(_) => "dearer",
        },
        shortest: matches!(defect.shows, Shows::Search(_)),
        setting: game.setting.clone(),
        outline: pen.finish(DRAWN),
        steps,
    })
}

/// The rules that a defect changes.
fn changed(algorithm: &str, defect: &str) -> Vec<Rule> {
    let rules = rules::with_defect(algorithm, Some(defect)).into_iter();
    rules.filter(|rule| !rule.changes.is_empty()).collect()
}

/// The setting of a scope.
pub(crate) fn setting(algorithm: &str, scope: &Scope, defect: Option<&str>) -> Setting {
    let allowance = scope.allowance;
    let links = allowance.reorder.map(|reorder| if reorder { Links::Any } else { Links::Fifo });
    Setting {
        clients: (allowance.clients > 1).then(|| allowance.clients.into()),
        links,
        faulty: Some(allowance.conditions() == Conditions::Faulty),
        ..Setting::of_system(algorithm, &algorithms::Setting::of(scope, defect))
    }
}
