//! The flags that describe what to simulate: one for each parameter of a plan, from the plan's own list.

use std::fs;
use std::io::Read;

use algorithms::Info;
use anyhow::{Context, Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use simulator::Plan;
use simulator::latencies::Latencies;
use simulator::plan::PARAMETERS;
use simulator::topology::Topology;
use simulator::workload::Workload;

/// Parameters with their values, in the order of the plan's list and, for one parameter, of the command line.
#[derive(Clone, Default)]
pub(crate) struct PlanArguments {
    pairs: Vec<(String, String)>,
}

/// Options of algorithms that are common enough to have a flag of their own.
const SHORT_FOR: &[(&str, &str)] = &[
    (
        "inform",
        "Short for --set inform=V: how many nodes an idle holder informs, all others if there are fewer",
    ),
    ("choose", "Short for --set choose=random or last-seen: which token to ask for"),
];

impl PlanArguments {
    /// What the flags say, as (name, value), with the contents of a file of latencies in place of its name.
    pub(crate) fn pairs(&self) -> Result<Vec<(String, String)>> {
        let read = |(name, value): &(String, String)| {
            let value = if name == "latencies" { latencies(value)? } else { value.clone() };
            Ok((name.clone(), value))
        };
        refuse_repeated(self.given())?;
        self.pairs.iter().map(read).collect()
    }

    /// The plan for an algorithm: what the flags say and, where they are silent, what is usual.
    pub(crate) fn plan(&self, info: &Info) -> Result<Plan> {
        let mut plan = Plan::of(info);
        for (name, value) in self.pairs()? {
            plan.set(info, &name, &value)?;
        }
        Ok(plan)
    }

    /// Refuses flags that make no difference in the plan that they make.
    pub(crate) fn refuse_ignored(&self, plan: &Plan, info: &Info) -> Result<()> {
        for name in self.given() {
            if let Some(why) = why_ignored(plan, info, name) {
                bail!("--{name} makes no difference, because {why}; or leave out --{name}");
            }
        }
        Ok(())
    }

    /// The names of the parameters and options that were given.
    pub(crate) fn given(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(name, _)| name.as_str())
    }
}

impl FromArgMatches for PlanArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut arguments = PlanArguments::default();
        arguments.update_from_arg_matches(matches)?;
        Ok(arguments)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let names = PARAMETERS.iter().map(|parameter| parameter.name);
        for name in names.chain(SHORT_FOR.iter().map(|(name, _)| *name)) {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            self.pairs.extend(values.map(|value| (name.to_string(), value.clone())));
        }
        for option in matches.get_many::<(String, String)>("set").into_iter().flatten() {
            self.pairs.push(option.clone());
        }
        Ok(())
    }
}

impl Args for PlanArguments {
    fn augment_args(command: Command) -> Command {
        let heading = "What to simulate";
        let flag = |name: &'static str, help: &'static str| {
            Arg::new(name)
                .long(name)
                .value_name("V")
                .help(help)
                .help_heading(heading)
                .allow_hyphen_values(true)
                .action(ArgAction::Append)
        };
        let command = PARAMETERS
            .iter()
            .fold(command, |command, parameter| command.arg(flag(parameter.name, parameter.help)));
        let command = SHORT_FOR.iter().fold(command, |command, (name, help)| command.arg(flag(name, help)));
        let set = flag("set", "An option of the algorithm, as name=value");
        command.arg(set.value_name("NAME=VALUE").value_parser(pair))
    }

    fn augment_args_for_update(command: Command) -> Command {
        PlanArguments::augment_args(command)
    }
}

/// No file of latencies is longer: that would be thousands of sites.
const LONGEST_FILE: u64 = 64 << 20;

/// The latencies of a file, in one line; or the line itself, which has semicolons.
fn latencies(value: &str) -> Result<String> {
    if value.contains(';') {
        return Ok(value.to_string());
    }
    let mut text = String::new();
    let read = fs::File::open(value).and_then(|file| file.take(LONGEST_FILE + 1).read_to_string(&mut text));
    let bytes = read.with_context(|| {
        let example = "'one-way,a,b;a,1,40;b,40,1'";
        format!("--latencies {value}: name a CSV file, or write the matrix in one line, such as {example}")
    })?;
    if bytes as u64 > LONGEST_FILE {
        bail!("--latencies {value}: that is more than 64 MiB, and no matrix of latencies");
    }
    let read = Latencies::parse(&text).with_context(|| format!("--latencies {value}"))?;
    Ok(read.to_string())
}

/// In what a network differs from the usual one, to follow the rest of a description.
pub(crate) fn network(plan: &Plan) -> String {
    let mut text = String::new();
    if plan.topology != Topology::Full {
        text += &format!(", topology {}", plan.topology);
    }
    if let Some(latencies) = &plan.latencies {
        text += &format!(", {} sites ({})", latencies.count(), plan.sites);
    }
    if plan.multicast {
        text += ", multicast";
    }
    if let Some(slow) = &plan.slow {
        text += &format!(", slow {slow}");
    }
    text
}

/// Reads an option of an algorithm.
pub(crate) fn pair(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_string(), value.to_string()))
        }
        _ => bail!("'{text}' is not NAME=VALUE: write, for example, --set choose=random"),
    }
}

/// Refuses what is given twice, of which one would be ignored. Faults and losses add up.
pub(crate) fn refuse_repeated<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = Vec::new();
    for name in names.filter(|name| !["fault", "lose"].contains(name)) {
        if seen.contains(&name) {
            bail!("{name} is given twice: leave one of the two out");
        }
        seen.push(name);
    }
    Ok(())
}

/// Why a parameter makes no difference in this plan; `None` if it makes one.
pub(crate) fn why_ignored(plan: &Plan, info: &Info, name: &str) -> Option<&'static str> {
    let once = matches!(plan.workload, Workload::Once(_));
    let reasons = [
        ("group-choice", plan.setting.groups < 2, "there is one group: add --groups 3"),
        ("rate", once, "the workload once has one request of each node"),
        ("entries", once, "the workload once has one request of each node"),
        ("warmup", once, "the workload once has one request of each node"),
        ("timers", info.timers.is_empty(), "the algorithm has no timers"),
        ("sites", plan.latencies.is_none(), "no latencies name the sites: add --latencies FILE"),
    ];
    reasons.iter().find(|(ignored, holds, _)| *ignored == name && *holds).map(|(_, _, why)| *why)
}
