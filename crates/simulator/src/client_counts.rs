//! How many clients each node has.

use std::fmt;

use algorithms::{NodeId, SettingError};

use crate::column::Cell;

/// The most clients that a node can have.
const MOST: u32 = 10_000;

/// How many clients each node has. With fewer numbers than nodes, the numbers begin again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCounts(Vec<u32>);

impl ClientCounts {
    /// Reads one number for all nodes, or several such as `20,1,1`.
    pub fn parse(text: &str) -> Result<ClientCounts, SettingError> {
        let number = |part: &str| part.trim().parse().ok();
        match text.split(',').map(number).collect() {
            Some(counts) => Ok(ClientCounts(counts)),
            None => Err(SettingError(format!(
                "clients takes a whole number, or one for each node, not '{text}': write, for example, 10 or 20,1,1"
            ))),
        }
    }

    /// How many clients this node has.
    pub fn of(&self, node: NodeId) -> u32 {
        self.0[node as usize % self.0.len()]
    }

    /// Whether every node has one client.
    pub fn is_one_each(&self) -> bool {
        self.0.iter().all(|&count| count == 1)
    }

    /// A number if it is the same for all nodes, otherwise the text that is parsed.
    pub(crate) fn value(&self) -> Cell {
        match self.0[..] {
            [count] => count.into(),
            _ => self.to_string().into(),
        }
    }

    /// The clients of all these nodes.
    pub(crate) fn total(&self, nodes: impl IntoIterator<Item = NodeId>) -> f64 {
        nodes.into_iter().map(|node| f64::from(self.of(node))).sum()
    }

    pub(crate) fn validate(&self, nodes: u32) -> Result<(), SettingError> {
        if let Some(count) = self.0.iter().find(|&&count| count == 0 || count > MOST) {
            let hint = if *count == 0 { ": workload only:… names the nodes that have clients" } else { "" };
            return Err(SettingError(format!("clients must be between 1 and {MOST}, not {count}{hint}")));
        }
        if self.0.len() > nodes as usize {
            let count = self.0.len();
            return Err(SettingError(format!(
                "clients has {count} numbers for {nodes} nodes: leave some out"
            )));
        }
        Ok(())
    }
}

impl From<u32> for ClientCounts {
    /// The same number for all nodes.
    fn from(count: u32) -> ClientCounts {
        ClientCounts(vec![count])
    }
}

impl fmt::Display for ClientCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&counts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_again() {
        let counts = ClientCounts::parse("20, 1,1").unwrap();
        assert_eq!((counts.of(0), counts.of(2), counts.of(3)), (20, 1, 20));
        assert_eq!((counts.to_string(), counts.total(0..4)), ("20,1,1".to_string(), 42.0));
        assert!(!counts.is_one_each() && ClientCounts::from(1).is_one_each());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in ["", "1,", "a", "-1", "1.5", "99999999999"] {
            let refusal = ClientCounts::parse(wrong).unwrap_err().to_string();
            assert!(refusal.contains("write, for example"), "{wrong}: {refusal}");
        }
        for (wrong, part) in [("0", "workload only"), ("10001", "10000"), ("1,2,3", "3 numbers for 2 nodes")]
        {
            let refusal = ClientCounts::parse(wrong).unwrap().validate(2).unwrap_err().to_string();
            assert!(refusal.contains(part), "{wrong}: {refusal}");
        }
    }
}
