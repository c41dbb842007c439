//! A measure over a parameter, for a chart.

use std::ops::ControlFlow;
use std::sync::OnceLock;

use algorithms::SettingError;
use serde::{Deserialize, Serialize};
use simulator::batch;
use simulator::{Cell, Point, Summary};

use crate::compare::{Load, Value, plan};
use crate::limits::{MOST_RUNS, MOST_SIMULATED};
use crate::refusal::{Refusal, RefusalKind};
use crate::setting::Setting;

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurveRequest {
    /// What runs.
    #[serde(flatten)]
    pub setting: Setting,
    /// The load.
    #[serde(default)]
    pub load: Load,
    /// The parameter of the load that changes.
    pub over: String,
    /// Its values.
    pub values: Vec<f64>,
    /// The measures, by the names that `tokenwood simulate --format json` has.
    pub measures: Vec<String>,
    /// How many seeds each point has.
    #[serde(default)]
    pub seeds: Option<u64>,
}

/// A curve for each measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurveAnswer {
    /// What ran.
    pub setting: Setting,
    /// The curves, in the order of the measures.
    pub curves: Vec<Curve>,
}

/// A measure over the parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The measure.
    pub measure: String,
    /// The value of the parameter, the measure, and its standard error if it is known.
    pub points: Vec<(f64, Option<f64>, Option<f64>)>,
}

/// More points than this make no better chart.
const MOST_POINTS: usize = 50;
/// More measures than this do not exist.
const MOST_MEASURES: usize = 20;

/// Called now and then while a curve is simulated, from any thread; may end that.
pub type CurveWatch<'a> = &'a (dyn Fn() -> ControlFlow<()> + Sync);

/// Simulates every point, on all cores.
pub fn curve(request: &CurveRequest, watch: CurveWatch<'_>) -> Result<CurveAnswer, Refusal> {
    let game = request.setting.accept()?;
    for (what, given, most) in
        [("points", request.values.len(), MOST_POINTS), ("measures", request.measures.len(), MOST_MEASURES)]
    {
        if given > most {
            return Err(Refusal::bounds(what, given, most));
        }
    }
    let mut points = Vec::new();
    for &value in &request.values {
        let mut load = request.load.clone();
        load.0.insert(request.over.clone(), Value::Number(value));
        let plan = plan(&game, &load, 1_000, 100)?;
        let seeds = request.seeds.unwrap_or(5);
        points.push(Point {
            algorithm: game.setting.algorithm.clone(),
            plan,
            seed: game.setting.seed,
            seeds,
        });
    }
    let entries = points.iter().map(Point::entries_of_all_runs).fold(0, u64::saturating_add);
    if entries > MOST_SIMULATED {
        return Err(Refusal::bounds("entries that are simulated", entries, MOST_SIMULATED));
    }
    let runs = points.iter().map(|point| point.seeds).fold(0, u64::saturating_add);
    if runs > MOST_RUNS {
        return Err(Refusal::bounds("runs of a curve", runs, MOST_RUNS));
    }
    let summaries: Vec<OnceLock<Summary>> = points.iter().map(|_| OnceLock::new()).collect();
    let run = || {
        batch::run_each(&points, &|_, _| watch(), &|index, summary| {
            // Each point is passed on once, so its place is still empty.
            let _ = summaries[index].set(summary);
            Ok::<(), SettingError>(())
        })
    };
    // On threads of its own: a thread that waits for the rest of one curve must not begin a run of another, longer one.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    batch::on_threads(Some(cores), run)??;
    Ok(CurveAnswer { setting: game.setting.clone(), curves: curves(request, &summaries)? })
}

/// The measures of the points that are complete.
fn curves(request: &CurveRequest, summaries: &[OnceLock<Summary>]) -> Result<Vec<Curve>, Refusal> {
    let mut curves: Vec<Curve> = request
        .measures
        .iter()
        .map(|measure| Curve { measure: measure.clone(), points: Vec::new() })
        .collect();
    for (summary, &value) in summaries.iter().zip(&request.values) {
        let columns = summary.get().map(Summary::columns).unwrap_or_default();
        let number = |name: &str| {
            let column = columns.iter().find(|column| column.name == name)?;
            Some(match column.value {
                Cell::Count(count) => count as f64,
                Cell::Number(number) => number,
                Cell::Text(_) | Cell::Nothing => return None,
            })
        };
        for curve in &mut curves {
            let error = number(&format!("{}_stderr", curve.measure));
            if summary.get().is_some() && !columns.iter().any(|column| column.name == curve.measure) {
                let name: String = curve.measure.chars().take(40).collect();
                let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                let why = format!("there is no measure '{name}'; there are {}", names.join(", "));
                return Err(Refusal::new(RefusalKind::Setting, why));
            }
            curve.points.push((value, number(&curve.measure), error));
        }
    }
    Ok(curves)
}
