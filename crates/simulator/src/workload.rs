//! When clients make requests, and for which groups.

use std::fmt;

use algorithms::{Groups, NodeId, SettingError};
use random::Random;

use crate::plan::Plan;
use crate::time::{Ticks, ticks};

/// When clients make requests. The rate of the plan sets the pace of all of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// After each exit a client thinks for an exponentially distributed time with mean 1/λ: the thesis'
    /// model.
    Think,
    /// As `Think`, but only these nodes have clients.
    Only(Vec<Block>),
    /// After each exit a client thinks for exactly 1/λ.
    Steady,
    /// All clients make a request at the same moment; when all have been served, again after 1/λ.
    Burst,
    /// These nodes (all, if none are named) make one request each at the same moment. The run ends when all
    /// of them have left and every message has been handled. All of it is measured, so `entries` and `warmup`
    /// have no effect.
    Once(Vec<Block>),
    /// One client, drawn at random, makes a request; when it has left, the next does after 1/λ.
    Single,
    /// As `Think`, but clients are away in between: on for about the first number of units, off for about the
    /// second.
    OnOff(f64, f64),
    /// As `Think`, but rates follow Zipf's law with this exponent: node 0 has the highest. Their mean is the
    /// rate.
    Skewed(f64),
}

/// Nodes from the first to the last, both included.
pub type Block = (NodeId, NodeId);

/// The groups that clients request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GroupChoice {
    /// Each is as likely.
    Uniform,
    /// By Zipf's law with this exponent: group 0 is requested most.
    Zipf(f64),
    /// Any non-empty set of groups, each as likely; the client accepts any of them.
    AnyOf,
    /// Each node always requests the same group: its own number, modulo the number of groups.
    Own,
}

impl Workload {
    /// Reads `think`, `only:NODES` (such as `only:1-3,7`), `steady`, `burst`, `once`, `once:NODES`, `single`,
    /// `on-off:ON:OFF` or `skewed:S`.
    pub fn parse(text: &str) -> Result<Workload, SettingError> {
        let parts: Vec<&str> = text.split(':').collect();
        Ok(match parts[..] {
            ["think"] => Workload::Think,
            ["only", nodes] => Workload::Only(blocks(nodes)?),
            ["steady"] => Workload::Steady,
            ["burst"] => Workload::Burst,
            ["once"] => Workload::Once(Vec::new()),
            ["once", nodes] => Workload::Once(blocks(nodes)?),
            ["single"] => Workload::Single,
            ["on-off", on, off] => Workload::OnOff(positive(on)?, positive(off)?),
            ["skewed"] => Workload::Skewed(1.0),
            ["skewed", exponent] => Workload::Skewed(positive(exponent)?),
            _ => {
                let known = "think, only:NODES, steady, burst, once:NODES, single, on-off:ON:OFF (two times) or skewed:S";
                return Err(SettingError(format!("'{text}' is none of {known}")));
            }
        })
    }

    /// The nodes that have clients, block after block.
    pub(crate) fn askers(&self, nodes: u32) -> Vec<NodeId> {
        match self {
            Workload::Only(blocks) | Workload::Once(blocks) if !blocks.is_empty() => {
                blocks.iter().flat_map(|&(first, last)| first..=last).collect()
            }
            _ => (0..nodes).collect(),
        }
    }

    /// Refuses nodes that do not exist, or that are named twice.
    pub(crate) fn validate(&self, nodes: u32) -> Result<(), SettingError> {
        match self {
            Workload::Only(blocks) => validate_blocks("workload only", blocks, nodes),
            Workload::Once(blocks) => validate_blocks("workload once", blocks, nodes),
            _ => Ok(()),
        }
    }
}

/// Refuses nodes that do not exist, or that are named twice.
pub(crate) fn validate_blocks(name: &str, blocks: &[Block], nodes: u32) -> Result<(), SettingError> {
    let mut sorted = blocks.to_vec();
    sorted.sort_unstable();
    if let Some((first, last)) = sorted.iter().find(|(_, last)| *last >= nodes) {
        let there = nodes - 1;
        return Err(SettingError(format!("{name}: {first}-{last} is not within the nodes 0 to {there}")));
    }
    match sorted.windows(2).find(|pair| pair[1].0 <= pair[0].1) {
        Some(pair) => Err(SettingError(format!("{name}: node {} is named twice", pair[1].0))),
        None => Ok(()),
    }
}

/// Reads nodes such as `1-3,7`.
pub(crate) fn blocks(text: &str) -> Result<Vec<Block>, SettingError> {
    let block = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (NodeId, NodeId) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last).then_some((first, last))
    };
    let usage = || SettingError(format!("'{text}' names no nodes: write them as 1-3,7"));
    text.split(',').map(|part| block(part).ok_or_else(usage)).collect()
}

impl GroupChoice {
    /// Reads `uniform`, `zipf:S`, `any-of` or `own`.
    pub fn parse(text: &str) -> Result<GroupChoice, SettingError> {
        let parts: Vec<&str> = text.split(':').collect();
        Ok(match parts[..] {
            ["uniform"] => GroupChoice::Uniform,
            ["zipf"] => GroupChoice::Zipf(1.0),
            ["zipf", exponent] => GroupChoice::Zipf(positive(exponent)?),
            ["any-of"] => GroupChoice::AnyOf,
            ["own"] => GroupChoice::Own,
            _ => return Err(SettingError(format!("'{text}' is none of uniform, zipf:S, any-of or own"))),
        })
    }
}

impl fmt::Display for Workload {
    /// In the form that `parse` reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Workload::Think => f.write_str("think"),
            Workload::Steady => f.write_str("steady"),
            Workload::Burst => f.write_str("burst"),
            Workload::Only(blocks) | Workload::Once(blocks) => {
                f.write_str(if matches!(self, Workload::Only(_)) { "only" } else { "once" })?;
                let separator = if blocks.is_empty() { "" } else { ":" };
                write!(f, "{separator}{}", written(blocks))
            }
            Workload::Single => f.write_str("single"),
            Workload::OnOff(on, off) => write!(f, "on-off:{on}:{off}"),
            Workload::Skewed(exponent) => write!(f, "skewed:{exponent}"),
        }
    }
}

/// In the form that [`blocks`] reads.
pub(crate) fn written(blocks: &[Block]) -> String {
    let blocks: Vec<String> = blocks.iter().map(|(first, last)| format!("{first}-{last}")).collect();
    blocks.join(",")
}

impl fmt::Display for GroupChoice {
    /// In the form that `parse` reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupChoice::Uniform => f.write_str("uniform"),
            GroupChoice::Zipf(exponent) => write!(f, "zipf:{exponent}"),
            GroupChoice::AnyOf => f.write_str("any-of"),
            GroupChoice::Own => f.write_str("own"),
        }
    }
}

fn positive(text: &str) -> Result<f64, SettingError> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 1e6 => Ok(number),
        _ => Err(SettingError(format!("'{text}' must be a number above 0 and at most a million"))),
    }
}

/// So many pauses are drawn at once: the processor works on several logarithms at a time, and the run waits for none.
const DRAWN_AT_ONCE: usize = 64;

/// The clients of a run.
pub(crate) struct Load {
    workload: Workload,
    mean_think: f64,
    /// For skewed loads, the factor for each node's pauses.
    slowness: Vec<f64>,
    /// For on/off loads, how much longer each node's clients are on.
    on_left: Vec<f64>,
    groups: u32,
    group_choice: GroupChoice,
    /// For groups by Zipf's law: the cumulative share up to each group.
    up_to: Vec<f64>,
    random: Random,
    /// Pauses that have been drawn and not been used, the next one last. Only where nothing else is drawn from this
    /// stream, so that a seed means the same pauses.
    ahead: Vec<Ticks>,
    draws_ahead: bool,
}

impl Load {
    pub(crate) fn new(plan: &Plan, seed: u64) -> Load {
        let nodes = plan.setting.nodes;
        let mut slowness = Vec::new();
        if let Workload::Skewed(exponent) = plan.workload {
            let shares = zipf(nodes, exponent);
            slowness = shares.into_iter().map(|share| 1.0 / (share * f64::from(nodes))).collect();
        }
        let mut up_to = Vec::new();
        if let GroupChoice::Zipf(exponent) = plan.group_choice {
            let mut sum = 0.0;
            up_to.extend(zipf(plan.setting.groups, exponent).into_iter().map(|share| {
                sum += share;
                sum
            }));
        }
        let on_left =
            if matches!(plan.workload, Workload::OnOff(..)) { vec![0.0; nodes as usize] } else { Vec::new() };
        Load {
            workload: plan.workload.clone(),
            mean_think: 1.0 / plan.rate,
            slowness,
            on_left,
            groups: plan.setting.groups,
            group_choice: plan.group_choice,
            up_to,
            random: Random::stream(seed, 1),
            ahead: Vec::with_capacity(DRAWN_AT_ONCE),
            draws_ahead: matches!(plan.workload, Workload::Think | Workload::Only(_))
                && plan.setting.groups == 1,
        }
    }

    /// How long a client of this node thinks before its next request.
    #[inline(always)]
    pub(crate) fn think(&mut self, node: NodeId) -> Ticks {
        self.ahead.pop().unwrap_or_else(|| self.draw_pause(node))
    }

    #[inline(never)]
    fn draw_pause(&mut self, node: NodeId) -> Ticks {
        let mean = self.mean_think;
        if self.draws_ahead {
            let mut pauses = [0.0; DRAWN_AT_ONCE];
            self.random.exponentials(&mut pauses);
            self.ahead.extend(pauses.iter().rev().map(|pause| ticks(mean * pause)));
            return self.ahead.pop().unwrap_or_default();
        }
        ticks(match self.workload {
            Workload::Think | Workload::Only(_) => mean * self.random.exponential(),
            Workload::Steady | Workload::Burst | Workload::Once(_) | Workload::Single => mean,
            Workload::Skewed(_) => mean * self.random.exponential() * self.slowness[node as usize],
            Workload::OnOff(on, off) => self.on_off(node, on, off),
        })
    }

    fn on_off(&mut self, node: NodeId, on: f64, off: f64) -> f64 {
        let mut thinks = self.mean_think * self.random.exponential();
        let mut pause = 0.0;
        // A client thinks only while it is on.
        while thinks > self.on_left[node as usize] {
            let left = std::mem::replace(&mut self.on_left[node as usize], on * self.random.exponential());
            thinks -= left;
            pause += left + off * self.random.exponential();
        }
        self.on_left[node as usize] -= thinks;
        pause + thinks
    }

    /// When a client makes its first request.
    pub(crate) fn first(&mut self, node: NodeId) -> Ticks {
        match self.workload {
            // Not all at the same time: that is what bursts are for.
            Workload::Steady => (self.random.fraction() * ticks(self.mean_think) as f64) as Ticks,
            _ => self.think(node),
        }
    }

    /// A node, each as likely.
    pub(crate) fn any_node(&mut self, nodes: u32) -> NodeId {
        self.random.below(u64::from(nodes)) as NodeId
    }

    /// The groups that a client of this node requests.
    #[inline]
    pub(crate) fn groups_wanted(&mut self, node: NodeId) -> Groups {
        if self.groups == 1 {
            return Groups::one(0);
        }
        match self.group_choice {
            GroupChoice::Uniform => Groups::one(self.random.below(u64::from(self.groups)) as u32),
            GroupChoice::Zipf(_) => {
                let place = self.random.fraction();
                let group =
                    self.up_to.iter().position(|up_to| place < *up_to).unwrap_or(self.up_to.len() - 1);
                Groups::one(group as u32)
            }
            GroupChoice::AnyOf => {
                let set = 1 + self.random.below((1 << self.groups) - 1);
                (0..self.groups).filter(|group| set & 1 << group != 0).collect()
            }
            GroupChoice::Own => Groups::one(node % self.groups),
        }
    }
}

/// Cumulative shares by Zipf's law.
fn zipf(count: u32, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> =
        (1..=count).map(|rank| libm::exp(-exponent * libm::log(f64::from(rank)))).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_written_as_they_are_read() {
        for text in
            ["think", "steady", "burst", "once", "once:1-3,7-7", "single", "on-off:2:0.5", "skewed:1.5"]
        {
            assert_eq!(Workload::parse(text).unwrap().to_string(), text);
        }
        for text in ["uniform", "zipf:2", "any-of", "own"] {
            assert_eq!(GroupChoice::parse(text).unwrap().to_string(), text);
        }
    }
}
