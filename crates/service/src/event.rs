//! What happens at a node, for whoever watches.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::grant::Grant;
use crate::limits::{Bound, Limits};
use crate::name::{Definition, LONGEST_NAME};
use crate::refusal::Refusal;
use crate::session::SessionId;
use crate::wish::Want;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// To a client that holds or waits, or did.
    Client {
        /// Its session,
        session: SessionId,
        /// and its number for the request.
        request: u64,
        /// The resource,
        name: Arc<str>,
        /// what that is,
        definition: Definition,
        /// and what the client wants of it.
        want: Want,
        /// What happened.
        change: Change,
    },
    /// A session has ended.
    SessionEnded {
        /// Which one.
        session: SessionId,
        /// Nobody kept it alive; otherwise the client ended it.
        ran_out: bool,
    },
    /// Somebody wants a client to lose what it holds.
    ForceReleased(ForceReleased),
}

/// A grant that is taken away by force, and who wanted that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForceReleased {
    /// Who wanted it, as far as is known.
    pub by: String,
    /// The session of the holder,
    pub session: SessionId,
    /// and its number for the request.
    pub request: u64,
    /// The resource,
    pub name: Arc<str>,
    /// what that is,
    pub definition: Definition,
    /// and by what it is held.
    pub grant: Grant,
    /// So long from now on it is kept for the holder, unless that lets go before: then it has certainly stopped to believe that it
    /// holds anything.
    pub ends_in: Duration,
    /// It was not waited for that: two may believe to hold it.
    pub at_once: bool,
}

impl fmt::Display for ForceReleased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ForceReleased { by, session, request, name, grant, ends_in, at_once, .. } = self;
        write!(f, "forced release of {name}, slot {}, fence {}: asked by {by}", grant.slot, grant.fence)?;
        write!(f, ", held by client {}/{request} of node {}", session.number, session.node)?;
        if *at_once {
            f.write_str("; at once, so two may believe to hold it")
        } else {
            write!(f, "; free when the client lets go, or in {:.1} s", ends_in.as_secs_f64())
        }
    }
}

/// What happens to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// It was not let in at once, and waits.
    Waits,
    /// It was let in.
    Granted(Grant),
    /// It left.
    Released(Grant),
    /// Its session ran out while it was inside.
    Lost(Grant),
    /// It waits no longer, and was not let in.
    GaveUp(Refusal),
    /// It was taken away by force.
    TakenAway(Grant),
}

/// What somebody wants to see of everything that happens. Nothing named: all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// These names,
    pub names: Vec<String>,
    /// and all that begin like one of these.
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

    /// Whether this is to be seen. Sessions have no name: their end is seen by whoever wants to see everything.
    pub fn shows(&self, event: &Event) -> bool {
        if self.names.is_empty() && self.prefixes.is_empty() {
            return true;
        }
        let (Event::Client { name, .. } | Event::ForceReleased(ForceReleased { name, .. })) = event else {
            return false;
        };
        self.names.iter().any(|named| **named == **name)
            || self.prefixes.iter().any(|prefix| name.starts_with(&**prefix))
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
        };
        let filter = |names: &[&str], prefixes: &[&str]| Filter {
            names: names.iter().map(|name| name.to_string()).collect(),
            prefixes: prefixes.iter().map(|prefix| prefix.to_string()).collect(),
        };
        let ended = Event::SessionEnded { session, ran_out: true };
        assert!(filter(&[], &[]).shows(&about("x")) && filter(&[], &[]).shows(&ended));
        assert!(filter(&["x", "y"], &[]).shows(&about("y")) && !filter(&["x"], &[]).shows(&about("xy")));
        assert!(filter(&["a"], &["x"]).shows(&about("xy")) && !filter(&["a"], &["x"]).shows(&ended));
    }
}
