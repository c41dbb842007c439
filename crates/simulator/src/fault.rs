//! Faults: shares of messages, and verbs with a time.

use std::fmt;

use algorithms::{NodeId, SettingError};

use crate::time::{Ticks, Typed, ticks, units};

/// All faults of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// The share of messages that are lost.
    pub loss: f64,
    /// Single messages that are lost.
    pub lose: Vec<LostMessage>,
    /// The share of messages that arrive twice.
    pub duplicate: f64,
    /// The share of messages that take up to ten times as long and may be overtaken.
    pub reorder: f64,
    /// Faults of nodes.
    pub verbs: Vec<Fault>,
}

/// One message that is lost: of all messages of its kind, this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostMessage {
    /// Its kind, as in the measures.
    pub kind: String,
    /// Which one, from 1 on, in the order of sending from the beginning of the run.
    pub number: u64,
}

/// A fault of nodes at a certain time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub verb: Verb,
    /// The nodes, from first to last; `None` is any one node, drawn anew each time.
    pub nodes: Option<(NodeId, NodeId)>,
    /// The time of its first occurrence.
    pub at: Ticks,
    /// Its duration.
    pub lasts: Ticks,
    /// The time between repetitions.
    pub every: Option<Ticks>,
}

/// The kinds of node faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The nodes lose their memory, the messages that have arrived or arrive before the restart, and those
    /// that they have not sent yet. They restart with their stable storage. A crash ends a pause.
    Crash,
    /// The nodes do nothing; messages wait, and are handled in order afterwards.
    Pause,
    /// Messages sent between these nodes and the others are lost.
    Partition,
}

const USAGE: &str =
    "write 'crash 2 at 100 for 50', 'pause any every 200 for 10' or 'partition 0-4 at 100 for 50'";

const LOSE_USAGE: &str = "write a kind of message, as 'messages per entry' lists them, and which one of the run is \
                          lost, from 1 on: 'TOKEN:5', or 'START' for the first";

impl Faults {
    /// Whether there are no faults.
    pub fn is_empty(&self) -> bool {
        !self.lossy() && self.reorder == 0.0 && self.verbs.is_empty()
    }

    /// Whether messages may be lost or duplicated or nodes may crash.
    pub fn lossy(&self) -> bool {
        let shares = self.loss > 0.0 || self.duplicate > 0.0;
        shares || !self.lose.is_empty() || self.verbs.iter().any(|fault| fault.verb != Verb::Pause)
    }

    /// Adds the single messages that a list names, such as `TOKEN:5,START`.
    pub fn lose(&mut self, list: &str) -> Result<(), SettingError> {
        for item in list.split(',') {
            let lost = LostMessage::parse(item)
                .ok_or_else(|| SettingError(format!("'{item}' is not understood: {LOSE_USAGE}")))?;
            self.lose.push(lost);
        }
        Ok(())
    }

    /// Adds the fault that a line describes.
    pub fn add(&mut self, line: &str) -> Result<(), SettingError> {
        let fault =
            Fault::parse(line).ok_or_else(|| SettingError(format!("'{line}' is not understood: {USAGE}")))?;
        self.verbs.push(fault);
        Ok(())
    }

    /// Refuses invalid shares and nodes that do not exist.
    pub fn validate(&self, nodes: u32) -> Result<(), SettingError> {
        let shares = [("loss", self.loss), ("duplicate", self.duplicate), ("reorder", self.reorder)];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(SettingError(format!("{name} is a share between 0 and 1, not {}", Typed(share))));
            }
        }
        for fault in &self.verbs {
            if fault.nodes.is_some_and(|(first, last)| first > last || last >= nodes) {
                return Err(SettingError(format!(
                    "'{fault}' speaks of nodes that are not there (0 to {})",
                    nodes - 1
                )));
            }
        }
        Ok(())
    }
}

impl LostMessage {
    fn parse(item: &str) -> Option<LostMessage> {
        let (kind, number) = item.split_once(':').unwrap_or((item, "1"));
        let number: u64 = number.parse().ok()?;
        let named = !kind.is_empty() && !kind.contains(char::is_whitespace);
        (named && number > 0).then(|| LostMessage { kind: kind.to_string(), number })
    }
}

impl fmt::Display for LostMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.number)
    }
}

impl Fault {
    fn parse(line: &str) -> Option<Fault> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [verb, nodes, rest @ ..] = &words[..] else { return None };
        let verb = match *verb {
            "crash" => Verb::Crash,
            "pause" => Verb::Pause,
            "partition" => Verb::Partition,
            _ => return None,
        };
        let nodes = match nodes.split_once('-') {
            None if *nodes == "any" => None,
            None => Some((nodes.parse().ok()?, nodes.parse().ok()?)),
            Some((first, last)) => Some((first.parse().ok()?, last.parse().ok()?)),
        };
        let (mut at, mut lasts, mut every) = (None, None, None);
        for pair in rest.chunks(2) {
            let [word, value] = pair else { return None };
            let time: f64 = value.parse().ok()?;
            let time = (time.is_finite() && (0.0..=1e9).contains(&time)).then(|| ticks(time))?;
            match *word {
                "at" => at = Some(time),
                "for" => lasts = Some(time),
                "every" if time > 0 => every = Some(time),
                _ => return None,
            }
        }
        Some(Fault { verb, nodes, at: at.or(every)?, lasts: lasts?, every })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.verb {
            Verb::Crash => "crash",
            Verb::Pause => "pause",
            Verb::Partition => "partition",
        };
        match self.nodes {
            None => write!(f, "{verb} any")?,
            Some((first, last)) if first == last => write!(f, "{verb} {first}")?,
            Some((first, last)) => write!(f, "{verb} {first}-{last}")?,
        }
        write!(f, " at {} for {}", units(self.at), units(self.lasts))?;
        match self.every {
            None => Ok(()),
            Some(every) => write!(f, " every {}", units(every)),
        }
    }
}
