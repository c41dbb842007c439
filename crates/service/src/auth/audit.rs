//! What a node keeps of who did what: the newest entries, with numbers that only rise.

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The most entries that a node keeps of what was allowed, and of what was refused: strangers that cause refusals push out nothing
/// else.
pub const MOST_AUDITED: usize = 4096;
/// The most entries on a page. With the longest names and addresses a page fits into a frame.
const PAGE: usize = 256;

/// Something that was done or refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Its number at this start of the node, counted from 1.
    pub number: u64,
    /// When, in seconds since 1970 on the clock of the node.
    pub at: u64,
    /// Who: the principal, or nothing if the caller showed nothing that counts.
    pub principal: String,
    /// From where.
    pub address: String,
    /// What was asked for.
    pub what: String,
    /// On which name, or what it changes; empty if there is neither.
    pub name: String,
    /// Whether it was allowed.
    pub allowed: bool,
    /// Why.
    pub why: String,
    /// How often the same was refused again without an entry of its own.
    pub repeated: u64,
}

impl fmt::Display for AuditEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AuditEntry { principal, address, what, name, allowed, why, .. } = self;
        let principal = if principal.is_empty() { "an unknown caller" } else { principal };
        let verdict = if *allowed { "allowed" } else { "refused" };
        write!(f, "{principal} at {address}: {what}")?;
        if !name.is_empty() {
            write!(f, " ({name})")?;
        }
        write!(f, " {verdict}: {why}")
    }
}

/// A caller that a port turned away, before any of its frames was heard or because of one that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnedAway {
    /// What it wanted, by the port.
    pub what: &'static str,
    /// From where.
    pub address: String,
    /// Who it is by its certificate, if that was accepted.
    pub principal: Option<String>,
    /// Whom its certificate names, if that was refused and could be read. Nothing vouches for it.
    pub claims: Option<String>,
    /// Why it was turned away.
    pub why: String,
}

/// A part of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditPage {
    /// Entries, oldest first.
    pub entries: Vec<AuditEntry>,
    /// The number after which the next page begins; the same as before if there is nothing newer.
    pub next: u64,
    /// Whether there is more at once.
    pub more: bool,
}

/// The newest entries.
#[derive(Clone, Debug, Default)]
pub struct History {
    last: u64,
    allowed: VecDeque<AuditEntry>,
    refused: VecDeque<AuditEntry>,
}

impl History {
    /// Adds an entry, and numbers it. A refusal that repeats the last one is counted there: a flood does not push out the rest.
    /// Returns the entry if it is a new one.
    pub fn add(&mut self, entry: AuditEntry) -> Option<&AuditEntry> {
        let entries = if entry.allowed { &mut self.allowed } else { &mut self.refused };
        if let Some(last) = entries.back_mut().filter(|last| !entry.allowed && last.is_like(&entry)) {
            last.repeated += 1;
            return None;
        }
        self.last += 1;
        if entries.len() == MOST_AUDITED {
            entries.pop_front();
        }
        entries.push_back(AuditEntry { number: self.last, ..entry });
        entries.back()
    }

    /// The entries after this number, a page of them.
    pub fn after(&self, number: u64) -> AuditPage {
        let newer = |entries: &VecDeque<AuditEntry>| entries.partition_point(|entry| entry.number <= number);
        let allowed = self.allowed.range(newer(&self.allowed)..).take(PAGE + 1);
        let refused = self.refused.range(newer(&self.refused)..).take(PAGE + 1);
        let mut entries: Vec<AuditEntry> = allowed.chain(refused).cloned().collect();
        entries.sort_unstable_by_key(|entry| entry.number);
        let more = entries.len() > PAGE;
        entries.truncate(PAGE);
        let next = entries.last().map_or(number, |entry| entry.number);
        AuditPage { entries, next, more }
    }
}

impl AuditEntry {
    fn is_like(&self, other: &AuditEntry) -> bool {
        // Without the port, and with the node that spoke for the caller.
        let host = |entry: &AuditEntry| {
            let (host, port) = entry.address.rsplit_once(':')?;
            Some((host.to_owned(), port.split_once(' ').map(|(_, via)| via.to_owned())))
        };
        let same = (&self.principal, &self.what, &self.why, self.allowed)
            == (&other.principal, &other.what, &other.why, other.allowed);
        same && host(self) == host(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(what: &str, allowed: bool) -> AuditEntry {
        AuditEntry {
            number: 0,
            at: 1,
            principal: "ci/build".to_owned(),
            address: "10.0.0.1:1".to_owned(),
            what: what.to_owned(),
            name: "x".to_owned(),
            allowed,
            why: "no rule allows it".to_owned(),
            repeated: 0,
        }
    }

    #[test]
    fn the_newest_are_kept_and_read_in_pages() {
        let mut history = History::default();
        for number in 0..MOST_AUDITED + 10 {
            history.add(entry(&number.to_string(), true));
        }
        let (mut after, mut read) = (0, Vec::new());
        loop {
            let page = history.after(after);
            read.extend(page.entries);
            after = page.next;
            if !page.more {
                break;
            }
        }
        assert_eq!((read.len(), read[0].number), (MOST_AUDITED, 11));
        assert!(read.windows(2).all(|two| two[0].number + 1 == two[1].number));
        assert_eq!(history.after(after).entries, []);
    }

    #[test]
    fn refusals_push_out_nothing_that_was_allowed() {
        let mut history = History::default();
        history.add(entry("define", true));
        for number in 0..2 * MOST_AUDITED {
            history.add(entry(&number.to_string(), false));
        }
        assert_eq!(history.after(0).entries[0].what, "define");
    }

    #[test]
    fn a_flood_of_refusals_takes_one_place() {
        let mut history = History::default();
        assert!(history.add(entry("define", true)).is_some());
        assert!(history.add(entry("acquire", false)).is_some());
        for port in 0..100_000 {
            let again = AuditEntry { address: format!("10.0.0.1:{port}"), ..entry("acquire", false) };
            assert!(history.add(again).is_none());
        }
        // From the same host, and a node speaks for it.
        let via = AuditEntry { address: "10.0.0.1:1 via node 2".to_owned(), ..entry("acquire", false) };
        assert!(history.add(via).is_some());
        let page = history.after(0);
        let counted: Vec<u64> = page.entries.iter().map(|entry| entry.repeated).collect();
        assert_eq!(counted, [0, 100_000, 0]);
    }
}
