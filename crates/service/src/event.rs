//! Events at a node, for watchers.

use std::fmt;
use std::ops;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::grant::Grant;
use crate::label::Label;
use crate::limits::{Bound, Limits};
use crate::name::{Definition, LONGEST_NAME};
use crate::refusal::Refusal;
use crate::session::SessionId;
use crate::want::Want;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// An event of a request.
    Client {
        /// The client's session.
        session: SessionId,
        /// The client's number for the request.
        request: u64,
        /// The name of the resource.
        name: Arc<str>,
        /// What the resource is.
        definition: Definition,
        /// What the client wants of it.
        want: Want,
        /// The change.
        change: Change,
        /// Who the client is, as it says itself.
        label: Option<Box<Label>>,
    },
    /// A session has ended.
    SessionEnded {
        /// The session.
        session: SessionId,
        /// Whether the session expired; otherwise the client closed it.
        ran_out: bool,
        /// Who its client was, as it said itself.
        label: Option<Box<Label>>,
    },
    /// A grant was revoked by a forced release.
    ForceReleased(ForceReleased),
}

impl Event {
    /// The name that it is about; the end of a session is about none.
    pub fn name(&self) -> Option<&str> {
        match self {
            Event::Client { name, .. } | Event::ForceReleased(ForceReleased { name, .. }) => Some(name),
            Event::SessionEnded { .. } => None,
        }
    }
}

/// A grant that is revoked by a forced release, and who requested that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForceReleased {
    /// The operator's address, as far as is known, and the node that spoke for it, if one did.
    pub by: String,
    /// The session of the holder.
    pub session: SessionId,
    /// The holder's number for the request.
    pub request: u64,
    /// The name of the resource.
    pub name: Arc<str>,
    /// What the resource is.
    pub definition: Definition,
    /// The revoked grant.
    pub grant: Grant,
    /// The slot is kept for the holder this long from now on, unless the holder releases it before: by then
    /// the holder's promise has certainly run out.
    pub ends_in: Duration,
    /// The slot was freed without that wait: two clients may hold it.
    pub at_once: bool,
    /// Who the holder is, as it says itself.
    pub label: Option<Box<Label>>,
}

impl fmt::Display for ForceReleased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ForceReleased { by, session, request, name, grant, ends_in, at_once, label, .. } = self;
        write!(f, "forced release of {name}, slot {}, fence {}: requested by {by}", grant.slot, grant.fence)?;
        write!(f, ", held by client {}/{request} of node {}", session.number, session.node)?;
        label.iter().try_for_each(|label| write!(f, ", {label}"))?;
        if *at_once {
            f.write_str("; at once, so two clients may hold it")
        } else {
            write!(f, "; free when the client releases it, or in {:.1} s", ends_in.as_secs_f64())
        }
    }
}

/// How a request changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// The request was not granted at once, and waits.
    Waits,
    /// The request was granted.
    Granted(Grant),
    /// The client released the grant.
    Released(Grant),
    /// The session of the request expired while it held the grant.
    Lost(Grant),
    /// The request stopped waiting without a grant.
    GaveUp(Refusal),
    /// The grant was revoked.
    TakenAway(Grant),
}

/// Which events a watcher wants. An empty filter shows all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Show these names.
    pub names: Vec<String>,
    /// Show all names that begin with one of these.
    pub prefixes: Vec<String>,
}

impl Filter {
    /// Refuses more names than a watcher may name, and names that cannot be.
    pub(crate) fn validate(&self, limits: &Limits) -> Result<(), Refusal> {
        let (named, most) = (self.names.len() + self.prefixes.len(), limits.filter_names);
        if named as u64 > most {
            return Err(Refusal::Bound { bound: Bound::FilterNames, most });
        }
        let longest = self.names.iter().chain(&self.prefixes).map(String::len).max().unwrap_or(0);
        if longest > LONGEST_NAME { Err(Refusal::NameTooLong(longest)) } else { Ok(()) }
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.names.iter().chain(&self.prefixes).map(|name| (name.len() + size_of::<String>()) as u64).sum()
    }

    /// Whether the filter shows this name.
    pub fn shows_name(&self, name: &str) -> bool {
        self.is_empty()
            || self.names.iter().any(|named| **named == *name)
            || self.prefixes.iter().any(|prefix| name.starts_with(&**prefix))
    }

    /// Whether the filter shows everything.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.prefixes.is_empty()
    }

    /// What the filter shows as parts of the ordered names, upwards: no name is in two of them.
    pub(crate) fn stretches(&self) -> Vec<Stretch<'_>> {
        if self.is_empty() {
            return vec![Stretch::Prefix("")];
        }
        let mut prefixes: Vec<&str> = self.prefixes.iter().map(|prefix| &**prefix).collect();
        prefixes.sort_unstable();
        // What begins with a prefix comes right behind it.
        prefixes.dedup_by(|next, kept| next.starts_with(*kept));
        let is_in_prefix = |name: &str| prefixes.iter().any(|prefix| name.starts_with(*prefix));
        let names = self.names.iter().map(|name| &**name).filter(|name| !is_in_prefix(name));
        let mut stretches: Vec<Stretch<'_>> = names.map(Stretch::Name).collect();
        stretches.extend(prefixes.iter().copied().map(Stretch::Prefix));
        stretches.sort_unstable_by_key(|stretch| stretch.begin());
        stretches.dedup();
        stretches
    }

    /// Whether the filter shows this event. The end of a session has no name: only an empty filter shows it.
    pub fn shows(&self, event: &Event) -> bool {
        match event.name() {
            Some(name) => self.shows_name(name),
            None => self.is_empty(),
        }
    }
}

/// A part of the ordered names that a filter shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stretch<'a> {
    /// This name.
    Name(&'a str),
    /// All names that begin so.
    Prefix(&'a str),
}

impl<'a> Stretch<'a> {
    fn begin(self) -> &'a str {
        match self {
            Stretch::Name(begin) | Stretch::Prefix(begin) => begin,
        }
    }

    /// Where to look for its first name: a page before may have ended with a name, and looked at all of it or not.
    pub(crate) fn begin_after(self, ended: Option<(&'a str, bool)>) -> ops::Bound<&'a str> {
        match ended {
            Some((name, true)) if name >= self.begin() => ops::Bound::Excluded(name),
            Some((name, false)) if name > self.begin() => ops::Bound::Included(name),
            _ => ops::Bound::Included(self.begin()),
        }
    }

    /// Whether a name at or behind its beginning is in it.
    pub(crate) fn contains(self, name: &str) -> bool {
        match self {
            Stretch::Name(only) => name == only,
            Stretch::Prefix(prefix) => name.starts_with(prefix),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_named_is_shown() {
        let session = SessionId { node: 0, incarnation: 1, number: 1 };
        let about = |name: &str| Event::Client {
            session,
            request: 1,
            name: name.into(),
            definition: Definition::MUTEX,
            want: Want::Slot,
            change: Change::Waits,
            label: None,
        };
        let filter = |names: &[&str], prefixes: &[&str]| Filter {
            names: names.iter().map(|name| name.to_string()).collect(),
            prefixes: prefixes.iter().map(|prefix| prefix.to_string()).collect(),
        };
        let ended = Event::SessionEnded { session, ran_out: true, label: None };
        assert!(filter(&[], &[]).shows(&about("x")) && filter(&[], &[]).shows(&ended));
        assert!(filter(&["x", "y"], &[]).shows(&about("y")) && !filter(&["x"], &[]).shows(&about("xy")));
        assert!(filter(&["a"], &["x"]).shows(&about("xy")) && !filter(&["a"], &["x"]).shows(&ended));
    }
}
