//! Steps of a run in a short notation, shared by transcripts, traces and tests.
//!
//! | text | meaning |
//! |---|---|
//! | `req2` | the client of node 2 asks (for group 0) |
//! | `req2:1`, `req2:0+1` | it asks for group 1; for any one of groups 0 and 1 |
//! | `exit1` | the client of node 1 leaves |
//! | `cancel1` | the client of node 1 waits no longer |
//! | `req2.1`, `exit2.1`, `cancel2.1` | where nodes have several clients: client 1 of node 2 |
//! | `1>0` | the oldest message from 1 to 0 is delivered |
//! | `1>0#2` | the third oldest is delivered: it has overtaken two |
//! | `lose1>0`, `dup1>0` | the oldest message from 1 to 0 is lost; is doubled |
//! | `tmo1`, `tmo1:1` | timer 0 of node 1 expires; timer 1 |
//! | `crash1`, `restart1` | node 1 stops; comes back |
//! | `…/2,0` | picks that the step made, in order |

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::algorithm::{Chance, ClientId, Groups, NodeId, Timer};

/// One step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A client requests entry.
    Request {
        /// The client's node.
        node: NodeId,
        /// The client.
        client: ClientId,
        /// The groups it accepts.
        groups: Groups,
    },
    /// A client cancels its request.
    Cancel {
        /// The client's node.
        node: NodeId,
        /// The client.
        client: ClientId,
    },
    /// A client leaves.
    Exit {
        /// The client's node.
        node: NodeId,
        /// The client.
        client: ClientId,
    },
    /// A message arrives.
    Deliver(Envelope),
    /// A message is lost.
    Lose(Envelope),
    /// A message will arrive twice.
    Duplicate(Envelope),
    /// A timer expires.
    Expire {
        /// The timer's node.
        node: NodeId,
        /// The timer.
        timer: Timer,
    },
    /// A node crashes.
    Crash {
        /// The node.
        node: NodeId,
    },
    /// A node restarts.
    Restart {
        /// The node.
        node: NodeId,
    },
}

/// A message under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// How many older messages from the same sender to the same receiver are under way.
    pub overtakes: usize,
}

/// An action with its picks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The action.
    pub action: Action,
    /// The answers to the algorithm's calls of [`Outbox::pick`](crate::Outbox::pick), in order.
    pub picks: Vec<u32>,
}

impl From<Action> for Step {
    fn from(action: Action) -> Step {
        Step { action, picks: Vec::new() }
    }
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}>{}", self.from, self.to)?;
        if self.overtakes > 0 { write!(f, "#{}", self.overtakes) } else { Ok(()) }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.action {
            Action::Request { node, client, groups } => {
                write!(f, "req{}", ClientOfNode { node, client })?;
                if groups != Groups::one(0) {
                    write!(f, ":{groups}")?;
                }
            }
            Action::Cancel { node, client } => write!(f, "cancel{}", ClientOfNode { node, client })?,
            Action::Exit { node, client } => write!(f, "exit{}", ClientOfNode { node, client })?,
            Action::Deliver(envelope) => write!(f, "{envelope}")?,
            Action::Lose(envelope) => write!(f, "lose{envelope}")?,
            Action::Duplicate(envelope) => write!(f, "dup{envelope}")?,
            Action::Expire { node, timer: 0 } => write!(f, "tmo{node}")?,
            Action::Expire { node, timer } => write!(f, "tmo{node}:{timer}")?,
            Action::Crash { node } => write!(f, "crash{node}")?,
            Action::Restart { node } => write!(f, "restart{node}")?,
        }
        for (index, pick) in self.picks.iter().enumerate() {
            write!(f, "{}{pick}", if index == 0 { "/" } else { "," })?;
        }
        Ok(())
    }
}

/// A client of a node; the first is printed without its number.
struct ClientOfNode {
    node: NodeId,
    client: ClientId,
}

impl fmt::Display for ClientOfNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.node)?;
        if self.client > 0 { write!(f, ".{}", self.client) } else { Ok(()) }
    }
}

fn parse_client(text: &str) -> Option<ClientOfNode> {
    let (node, client) = text.split_once('.').unwrap_or((text, "0"));
    Some(ClientOfNode { node: node.parse().ok()?, client: client.parse().ok()? })
}

/// Why a text is not a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAStep(String);

impl fmt::Display for NotAStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not a step: expected something like req2, 1>0, exit1 or tmo1", self.0)
    }
}

impl core::error::Error for NotAStep {}

impl FromStr for Step {
    type Err = NotAStep;

    fn from_str(text: &str) -> Result<Step, NotAStep> {
        parse(text).ok_or_else(|| NotAStep(text.to_string()))
    }
}

fn parse(text: &str) -> Option<Step> {
    let (action, picks) = text.split_once('/').map_or((text, None), |(action, picks)| (action, Some(picks)));
    let picks =
        picks.map_or(Some(Vec::new()), |picks| picks.split(',').map(|pick| pick.parse().ok()).collect());
    let action = if let Some(rest) = action.strip_prefix("req") {
        let (who, groups) = rest.split_once(':').unwrap_or((rest, "0"));
        let ClientOfNode { node, client } = parse_client(who)?;
        Action::Request { node, client, groups: parse_groups(groups)? }
    } else if let Some(rest) = action.strip_prefix("cancel") {
        let ClientOfNode { node, client } = parse_client(rest)?;
        Action::Cancel { node, client }
    } else if let Some(rest) = action.strip_prefix("exit") {
        let ClientOfNode { node, client } = parse_client(rest)?;
        Action::Exit { node, client }
    } else if let Some(rest) = action.strip_prefix("lose") {
        Action::Lose(parse_envelope(rest)?)
    } else if let Some(rest) = action.strip_prefix("dup") {
        Action::Duplicate(parse_envelope(rest)?)
    } else if let Some(rest) = action.strip_prefix("tmo") {
        let (node, timer) = rest.split_once(':').unwrap_or((rest, "0"));
        Action::Expire { node: node.parse().ok()?, timer: timer.parse().ok()? }
    } else if let Some(rest) = action.strip_prefix("crash") {
        Action::Crash { node: rest.parse().ok()? }
    } else if let Some(rest) = action.strip_prefix("restart") {
        Action::Restart { node: rest.parse().ok()? }
    } else {
        Action::Deliver(parse_envelope(action)?)
    };
    Some(Step { action, picks: picks? })
}

fn parse_groups(text: &str) -> Option<Groups> {
    let groups: Option<Vec<u32>> = text.split('+').map(|group| group.parse().ok()).collect();
    let groups = groups?;
    groups.iter().all(|&group| group < Groups::MOST).then(|| groups.into_iter().collect())
}

fn parse_envelope(text: &str) -> Option<Envelope> {
    let (channel, overtakes) = text.split_once('#').unwrap_or((text, "0"));
    let (from, to) = channel.split_once('>')?;
    Some(Envelope { from: from.parse().ok()?, to: to.parse().ok()?, overtakes: overtakes.parse().ok()? })
}

/// Picks from a list; past its end, always the first option. Records the picks, so that every combination can
/// be tried in turn.
#[derive(Clone, Debug, Default)]
pub struct Script {
    picks: Vec<u32>,
    options: Vec<u32>,
}

impl Script {
    /// Answers with these picks.
    pub fn new(picks: &[u32]) -> Script {
        Script { picks: picks.to_vec(), options: Vec::new() }
    }

    /// The picks that were made.
    pub fn made(&self) -> &[u32] {
        &self.picks[..self.options.len().min(self.picks.len())]
    }

    /// Advances to the next combination of picks; `false` when all have been tried.
    pub fn advance(&mut self) -> bool {
        self.picks.truncate(self.options.len());
        while let (Some(pick), Some(options)) = (self.picks.pop(), self.options.pop()) {
            if pick + 1 < options {
                self.picks.push(pick + 1);
                self.options.clear();
                return true;
            }
        }
        false
    }
}

impl Chance for Script {
    fn pick(&mut self, options: u32) -> u32 {
        let index = self.options.len();
        self.options.push(options);
        if index == self.picks.len() {
            self.picks.push(0);
        }
        self.picks[index] = self.picks[index].min(options - 1);
        self.picks[index]
    }
}

/// Reads a schedule: steps separated by white space.
pub fn parse_schedule(text: &str) -> Result<Vec<Step>, NotAStep> {
    text.split_whitespace().map(str::parse).collect()
}

/// Prints a schedule on one line.
pub fn print_schedule(steps: &[Step]) -> String {
    let steps: Vec<String> = steps.iter().map(|step| format!("{step}")).collect();
    steps.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_they_are_printed() {
        let text = "req2 req2:1 req0:0+3 exit1 1>0 12>3#4 lose1>0 dup1>0#1 tmo1 tmo1:2 crash1 restart1 req1/2,0 \
             req1.2:1 exit1.2 cancel1 cancel1.2";
        let steps = parse_schedule(text).unwrap();
        assert_eq!(print_schedule(&steps), text);
        for bad in ["", "req", "1>", ">1", "x1", "req1:64", "req1/", "tmo", "1>0#x", "req1.", "exit.1"] {
            assert!(bad.parse::<Step>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_script_tries_every_combination_once() {
        let mut script = Script::default();
        let mut seen = Vec::new();
        loop {
            let first = script.pick(2);
            let second = if first == 0 { script.pick(3) } else { 9 };
            seen.push((first, second));
            if !script.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, 0), (0, 1), (0, 2), (1, 9)]);
    }
}
