//! Nodes that are slower than others.

use std::fmt;

use algorithms::{NodeId, SettingError};

use crate::time::Typed;
use crate::workload::{Block, blocks, validate_blocks, written};

/// Nodes whose processors take longer to send and to receive a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Slow {
    /// The nodes.
    pub nodes: Vec<Block>,
    /// How many times as long.
    pub factor: f64,
}

impl Slow {
    /// Reads NODES:FACTOR, such as `0-2,7:10`.
    pub(crate) fn parse(text: &str) -> Result<Slow, SettingError> {
        let usage = || SettingError(format!("'{text}' is not NODES:FACTOR, such as 0-2,7:10"));
        let (nodes, factor) = text.split_once(':').ok_or_else(usage)?;
        let factor: f64 = factor.trim().parse().map_err(|_| usage())?;
        if !(1.0..=1e6).contains(&factor) {
            return Err(SettingError(format!(
                "a factor of {} is not between 1 and a million",
                Typed(factor)
            )));
        }
        Ok(Slow { nodes: blocks(nodes)?, factor })
    }

    pub(crate) fn validate(&self, nodes: u32) -> Result<(), SettingError> {
        validate_blocks("slow", &self.nodes, nodes)
    }

    /// How many times as long this node takes.
    pub(crate) fn factor_of(&self, node: NodeId) -> f64 {
        let slow = self.nodes.iter().any(|&(first, last)| (first..=last).contains(&node));
        if slow { self.factor } else { 1.0 }
    }
}

impl fmt::Display for Slow {
    /// In the form that `parse` reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", written(&self.nodes), self.factor)
    }
}
