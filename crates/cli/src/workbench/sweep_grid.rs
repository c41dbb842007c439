//! What a sweep consists of: the product of all names and all varied values, in a fixed order.

use std::collections::BTreeSet;

use algorithms::{Info, registry};
use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use simulator::plan::PARAMETERS;
use simulator::{Plan, Point};

use crate::workbench::plan_arguments::why_ignored;

/// More points than this are a mistake, or better split into several sweeps.
const MOST_POINTS: usize = 100_000;

/// Parameters that are whole numbers, so that a multiplied range is rounded.
const WHOLE: &[&str] = &["nodes", "tokens", "groups", "clients", "entries", "warmup"];

/// The whole description of a sweep: two sweeps are the same if this is the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sweep {
    /// The algorithms, outermost in the order of points.
    pub(crate) algorithms: Vec<String>,
    /// What is varied; the last one changes fastest.
    pub(crate) vary: Vec<Varied>,
    /// What is the same in all points, as (name, value).
    pub(crate) fixed: Vec<(String, String)>,
    pub(crate) seed: u64,
    pub(crate) seeds: u64,
    /// How many points it has, without those that are refused.
    pub(crate) points: u64,
    /// Combinations that were left out.
    pub(crate) refused: Vec<Refused>,
}

/// A parameter and the values it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Varied {
    pub(crate) parameter: String,
    pub(crate) values: Vec<String>,
}

/// A combination that its algorithm refuses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Refused {
    pub(crate) algorithm: String,
    pub(crate) with: Vec<(String, String)>,
    pub(crate) why: String,
}

impl Varied {
    /// Reads `rate=0.1,1`, `nodes=10..100:10` or `rate=0.01..10*10`.
    pub(crate) fn parse(text: &str) -> Result<Varied> {
        let example = "write --vary rate=0.1,1 or --vary nodes=10..100:10";
        let Some((parameter, list)) = text.split_once('=') else {
            bail!("--vary {text}: there is no '=': {example}");
        };
        if parameter == "latencies" {
            bail!(
                "--vary {text}: a matrix has commas itself: sweep once for each file, with --latencies FILE"
            );
        }
        let mut values = Vec::new();
        for item in list.split(',').map(str::trim) {
            if item.is_empty() {
                bail!("--vary {text}: a value is missing: {example}");
            }
            match item.split_once("..") {
                None => values.push(item.to_string()),
                Some((from, rest)) => values
                    .extend(range(from, rest, WHOLE.contains(&parameter)).context(format!("--vary {text}"))?),
            }
        }
        if let Some(twice) = repeated_value(&values) {
            bail!("--vary {text}: {parameter} has the value {twice} twice");
        }
        Ok(Varied { parameter: parameter.trim().to_string(), values })
    }
}

/// The values of `from..rest`, both ends included.
fn range(from: &str, rest: &str, whole: bool) -> Result<Vec<String>> {
    let number = |text: &str| match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(anyhow!("'{text}' is not a number: write FROM..TO:STEP or FROM..TO*FACTOR")),
    };
    // An 'x' instead of the '*' spares the quotes in a shell.
    let (to, step, times) = match (rest.split_once(':'), rest.split_once(['*', 'x'])) {
        (Some((to, step)), _) => (to, step, false),
        (None, Some((to, factor))) => (to, factor, true),
        (None, None) => (rest, "1", false),
    };
    let (first, last, by) = (number(from)?, number(to)?, number(step)?);
    if first > last {
        bail!("the range begins at {first}, above its end {last}");
    }
    if times && !(first > 0.0 && by > 1.0) {
        bail!("a range that is multiplied begins above 0 and has a factor above 1");
    }
    if !times && by <= 0.0 {
        bail!("the step of a range must be above 0");
    }
    let mut values: Vec<String> = Vec::new();
    // Multiplied one by one, because powers differ from machine to machine.
    let mut product = first;
    for place in 0.. {
        let value = if times { product } else { first + by * f64::from(place) };
        let value = if times && whole { value.round() } else { value };
        product *= by;
        // Sums and products of decimal numbers are off in the last of their binary digits; users mean decimals.
        let value: f64 = format!("{value:.11e}").parse().expect("a number that was just written");
        if value > last {
            break;
        }
        if values.len() == MOST_POINTS {
            bail!("the range has more than {MOST_POINTS} values");
        }
        let text = value.to_string();
        if values.last() != Some(&text) {
            values.push(text);
        }
    }
    Ok(values)
}

fn repeated(values: &[String]) -> Option<&String> {
    let mut seen = BTreeSet::new();
    values.iter().find(|value| !seen.insert(value.as_str()))
}

/// The same for values of a parameter, where `0.1` and `0.10` are one.
fn repeated_value(values: &[String]) -> Option<&String> {
    let mut seen = BTreeSet::new();
    let plain = |value: &String| match value.parse::<f64>() {
        Ok(number) => number.to_string(),
        Err(_) => value.clone(),
    };
    values.iter().find(|value| !seen.insert(plain(value)))
}

/// What the user asks for.
pub(crate) struct Wanted<'a> {
    pub(crate) algorithms: &'a [String],
    pub(crate) vary: Vec<Varied>,
    pub(crate) fixed: &'a [(String, String)],
    pub(crate) seed: u64,
    pub(crate) seeds: u64,
    /// Whether combinations that an algorithm refuses are left out, instead of refusing everything.
    pub(crate) skip_refused: bool,
}

impl Wanted<'_> {
    /// All points, in order, and the description of them; or why there can be none.
    pub(crate) fn sweep(&self) -> Result<(Sweep, Vec<Point>)> {
        if let Some(twice) = repeated(self.algorithms) {
            bail!("{twice} is named twice");
        }
        let infos = self.algorithms.iter().map(|name| registry::info(name).copied());
        let infos: Vec<Info> = infos.collect::<Result<_, _>>()?;
        self.refuse_mistakes(&infos)?;
        let mut combinations: Vec<Vec<(String, String)>> = vec![Vec::new()];
        for Varied { parameter, values } in &self.vary {
            let count = combinations.len().saturating_mul(values.len()).saturating_mul(infos.len());
            if count > MOST_POINTS {
                bail!("there are more than {MOST_POINTS} points: split the sweep into several");
            }
            let with = |combination: &Vec<(String, String)>, value: &String| {
                combination.iter().cloned().chain([(parameter.clone(), value.clone())]).collect()
            };
            combinations = combinations
                .iter()
                .flat_map(|combination| values.iter().map(move |value| with(combination, value)))
                .collect();
        }
        let (mut points, mut refused) = (Vec::new(), Vec::new());
        for (name, info) in self.algorithms.iter().zip(&infos) {
            for combination in &combinations {
                match self.point(name, info, combination) {
                    Ok(point) => points.push(point),
                    Err(why) => refused.push(Refused {
                        algorithm: name.clone(),
                        with: combination.clone(),
                        why: why.to_string(),
                    }),
                }
            }
        }
        self.refuse_refused(&refused, points.len())?;
        self.refuse_ignored(&points)?;
        let sweep = Sweep {
            algorithms: self.algorithms.to_vec(),
            vary: self.vary.clone(),
            fixed: self.fixed.to_vec(),
            seed: self.seed,
            seeds: self.seeds,
            points: points.len() as u64,
            refused,
        };
        Ok((sweep, points))
    }

    fn point(&self, name: &str, info: &Info, combination: &[(String, String)]) -> Result<Point> {
        let mut plan = Plan::of(info);
        for (parameter, value) in self.fixed.iter().chain(combination) {
            plan.set(info, parameter, value)?;
        }
        let point = Point { algorithm: name.to_string(), plan, seed: self.seed, seeds: self.seeds };
        point.validate()?;
        Ok(point)
    }

    /// Refuses what can only be a mistake, whatever is to be left out: names and values that no algorithm knows.
    fn refuse_mistakes(&self, infos: &[Info]) -> Result<()> {
        if self.seeds == 0 {
            bail!("there must be at least one seed: --seeds 1");
        }
        let names: Vec<String> = self.vary.iter().map(|varied| varied.parameter.clone()).collect();
        if let Some(twice) = repeated(&names) {
            bail!("{twice} is varied twice: write all its values into one --vary");
        }
        // Faults add up, so those may be both.
        let both = |name: &&String| *name != "fault" && self.fixed.iter().any(|(fixed, _)| fixed == *name);
        if let Some(both) = names.iter().find(both) {
            bail!("{both} is both given and varied: leave one of the two out");
        }
        let varied = self
            .vary
            .iter()
            .flat_map(|varied| varied.values.iter().map(|value| (varied.parameter.as_str(), value.as_str())));
        let fixed = self.fixed.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in fixed.chain(varied) {
            let mut refusals = Vec::new();
            for info in infos {
                refusals.extend(Plan::of(info).set(info, name, value).err());
            }
            if refusals.len() == infos.len() {
                return Err(refusals.swap_remove(0).into());
            }
        }
        Ok(())
    }

    /// Refuses a parameter that makes no difference in any point.
    fn refuse_ignored(&self, points: &[Point]) -> Result<()> {
        let varied = self.vary.iter().map(|varied| varied.parameter.as_str());
        for name in self.fixed.iter().map(|(name, _)| name.as_str()).chain(varied) {
            let why = |point: &Point| {
                let info = registry::info_with(&point.algorithm, &point.plan.setting).ok()?;
                why_ignored(&point.plan, info, name)
            };
            let reasons: Option<Vec<&str>> = points.iter().map(why).collect();
            if let Some(why) = reasons.and_then(|reasons| reasons.first().copied()) {
                bail!("{name} makes no difference in any point, because {why}; or leave out {name}");
            }
        }
        Ok(())
    }

    fn refuse_refused(&self, refused: &[Refused], accepted: usize) -> Result<()> {
        let Some(first) = refused.first() else { return Ok(()) };
        if accepted == 0 {
            let all = if refused.len() == 1 { "" } else { " (and so on: every combination is refused)" };
            bail!("{first}{all}");
        }
        if !self.skip_refused {
            let total = refused.len() + accepted;
            let (are, them) = if refused.len() == 1 { ("is", "it") } else { ("are", "them") };
            let what = format!("{} of {total} combinations {are} refused", refused.len());
            bail!("{first}; {what}, --skip-refused leaves {them} out");
        }
        Ok(())
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.algorithm)?;
        for (index, (name, value)) in self.with.iter().enumerate() {
            write!(f, "{}{name}={value}", if index == 0 { " with " } else { " " })?;
        }
        write!(f, ": {}", self.why)
    }
}

impl Sweep {
    /// The command that runs it, without --shard and --out.
    pub(crate) fn command(&self) -> String {
        let mut words = vec!["tokenwood sweep".to_string(), quoted(&self.algorithms.join(","))];
        for Varied { parameter, values } in &self.vary {
            words.push(format!("--vary {}", quoted(&format!("{parameter}={}", values.join(",")))));
        }
        words.extend(self.fixed.iter().map(|(name, value)| flag(name, value)));
        words.push(format!("--seed {} --seeds {}", self.seed, self.seeds));
        if !self.refused.is_empty() {
            words.push("--skip-refused".to_string());
        }
        words.join(" ")
    }

    /// In what two sweeps differ first, for a message: what it is in this one, and in the other.
    pub(crate) fn difference(&self, other: &Sweep) -> String {
        let values = |sweep: &Sweep| -> Vec<(&str, String)> {
            let vary: Vec<String> = sweep
                .vary
                .iter()
                .map(|varied| format!("{}={}", varied.parameter, varied.values.join(",")))
                .collect();
            let fixed: Vec<String> =
                sweep.fixed.iter().map(|(name, value)| format!("{name}={value}")).collect();
            vec![
                ("algorithms", sweep.algorithms.join(",")),
                ("--vary", vary.join(" ")),
                ("what is not varied", fixed.join(" ")),
                ("--seed", sweep.seed.to_string()),
                ("--seeds", sweep.seeds.to_string()),
                ("number of points", sweep.points.to_string()),
                ("number of refused points", sweep.refused.len().to_string()),
            ]
        };
        let (ours, theirs) = (values(self), values(other));
        let differs = ours.iter().zip(&theirs).find(|((_, ours), (_, theirs))| ours != theirs);
        let or_none = |text: &String| if text.is_empty() { "nothing".to_string() } else { text.clone() };
        match differs {
            Some(((what, ours), (_, theirs))) => {
                format!("{what}: {} there, {} here", or_none(theirs), or_none(ours))
            }
            None => "which points are refused".to_string(),
        }
    }
}

/// A parameter as a flag of `simulate` and `sweep`.
pub(crate) fn flag(name: &str, value: &str) -> String {
    if PARAMETERS.iter().any(|parameter| parameter.name == name) {
        format!("--{name} {}", quoted(value))
    } else {
        format!("--set {}", quoted(&format!("{name}={value}")))
    }
}

/// A word that a shell leaves as it is.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> String {
        Varied::parse(text).map_or_else(|error| format!("{error:#}"), |varied| varied.values.join(" "))
    }

    #[test]
    fn lists_and_ranges_are_written_out_as_one_would_by_hand() {
        assert_eq!(values("choose=random,last-seen"), "random last-seen");
        assert_eq!(values("nodes=10..50:20"), "10 30 50");
        assert_eq!(values("nodes=2..4"), "2 3 4");
        assert_eq!(values("nodes=1,4..10:4,100"), "1 4 8 100");
        assert_eq!(values("rate=0.1..0.7:0.1"), "0.1 0.2 0.3 0.4 0.5 0.6 0.7");
        assert_eq!(values("rate=0.001..10*10"), "0.001 0.01 0.1 1 10");
        assert_eq!(values("rate=1..3x1.5"), "1 1.5 2.25");
        assert_eq!(values("nodes=1..10*1.5"), "1 2 3 5 8");
        assert_eq!(values("loss=0..0:0.1"), "0");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert!(values("rate").contains("no '='"));
        assert!(values("rate=").contains("a value is missing"));
        assert!(values("latencies=a.csv,b.csv").contains("sweep once for each file"));
        assert!(values("rate=1,,2").contains("a value is missing"));
        assert!(values("rate=1,1").contains("twice"));
        assert!(values("rate=0.1,0.10").contains("the value 0.10 twice"));
        assert!(values("rate=0.1..0.3:0.1,0.2").contains("the value 0.2 twice"));
        assert!(values("rate=a..3").contains("'a' is not a number"));
        assert!(values("rate=1..inf").contains("not a number"));
        assert!(values("rate=3..1").contains("above its end"));
        assert!(values("rate=1..3:0").contains("must be above 0"));
        assert!(values("rate=0..3*2").contains("begins above 0"));
        assert!(values("rate=1..3*1").contains("factor above 1"));
        assert!(values("rate=0..1e9").contains("more than"));
    }

    #[test]
    fn a_long_range_is_read_whole() {
        let values = Varied::parse("entries=1..100000").unwrap().values;
        assert_eq!((values.len(), values.last().map(String::as_str)), (MOST_POINTS, Some("100000")));
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("rate=0.1,1"), "rate=0.1,1");
        assert_eq!(quoted("partitioned(makki)"), "'partitioned(makki)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(flag("fault", "crash 2 at 1 for 3"), "--fault 'crash 2 at 1 for 3'");
        assert_eq!(flag("choose", "random"), "--set choose=random");
    }
}
