//! What a defect changes in the rules, so that a page can show it in its place.

use serde::Serialize;

/// A line for each change. Its first lines say how to read it.
const CHANGES: &str = include_str!("../../data/changes.txt");

/// Some words of a rule, and what a defect says instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The part of the rule, from 1; none if it is in the text of the rule.
    pub part: Option<u32>,
    /// What the defect says.
    pub printed: &'static str,
    /// The right words. They stand there exactly once.
    pub right: &'static str,
}

/// What a line says of its defect.
#[derive(Debug)]
pub(super) enum Says {
    /// A change of the rule of this number.
    Rule(u32, Change),
    /// It changes no rule, but this.
    Other,
}

/// What the file says of a defect, a line each.
pub(super) fn of(algorithm: &str, defect: &str) -> Vec<Says> {
    let lines = CHANGES.lines().filter(|line| !line.starts_with('#'));
    let own = lines.filter_map(|line| {
        let line = line.strip_prefix(algorithm)?.strip_prefix(' ')?;
        line.strip_prefix(defect)?.strip_prefix(' ')
    });
    own.map(|line| read(line).unwrap_or(Says::Other)).collect()
}

fn read(line: &'static str) -> Option<Says> {
    let mut fields = line.split(" | ");
    let (place, printed, right) = (fields.next()?, fields.next()?, fields.next()?);
    let (rule, part) = place.split_once('.').map_or((place, None), |(rule, part)| (rule, Some(part)));
    let part = match part {
        Some(part) => Some(part.parse().ok()?),
        None => None,
    };
    Some(Says::Rule(rule.parse().ok()?, Change { part, printed, right }))
}

#[cfg(test)]
mod tests {
    use algorithms::registry;

    use super::*;
    use crate::rules;

    #[test]
    fn every_defect_changes_words_that_stand_in_a_rule() {
        let (mut read, mut changes) = (0, 0);
        for info in registry::ALL {
            for defect in info.defects {
                let name = format!("{} {}", info.name, defect.name);
                let says = of(info.name, defect.name);
                read += says.len();
                assert!(!says.is_empty(), "data/changes.txt does not say what {name} changes");
                let rules = rules::with_defect(info.name, Some(defect.name));
                for says in says {
                    let Says::Rule(number, change) = says else {
                        // Order of messages, or the start: no rule says that.
                        assert!(name.contains("out-of-order") || defect.source == "mutant", "{name}");
                        continue;
                    };
                    changes += 1;
                    let rule = rules.iter().find(|rule| rule.number == number);
                    let rule = rule.unwrap_or_else(|| panic!("{name}: there is no rule {number}"));
                    let text = match change.part {
                        None => Some(&rule.text),
                        Some(part) => rule.parts.get(part as usize - 1),
                    };
                    let text = text.unwrap_or_else(|| panic!("{name}: rule {number} has no such part"));
                    let times = text.matches(change.right).count();
                    assert_eq!(times, 1, "{name}: '{}' in '{text}'", change.right);
                    assert!(!change.printed.is_empty() && change.printed != change.right, "{name}");
                    assert!(rule.changes.contains(&change), "{name}");
                }
            }
        }
        let lines = CHANGES.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(read, lines, "data/changes.txt has lines of no defect");
        let with_bars = CHANGES.lines().filter(|line| !line.starts_with('#') && line.contains('|')).count();
        assert_eq!(changes, with_bars, "data/changes.txt has lines with bars that are no change of a rule");
    }
}
