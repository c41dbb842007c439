//! The rights that the cluster has agreed on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::action::Actions;
use super::change::InvalidChange;
use super::token::{Token, TokenHash};

/// The most tokens, rules, groups, members of groups, barred principals and quotas: every node keeps all of them.
pub const MOST_OF_EACH: usize = 4096;

/// Whom a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Who {
    /// Every caller, also one that shows nothing. Written `*`.
    Everyone,
    /// The principals in a group. Written `@group`.
    Group(Arc<str>),
    /// A principal.
    Principal(Arc<str>),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Everyone => f.write_str("*"),
            Who::Group(name) => write!(f, "@{name}"),
            Who::Principal(name) => f.write_str(name),
        }
    }
}

impl FromStr for Who {
    type Err = InvalidChange;

    fn from_str(text: &str) -> Result<Who, InvalidChange> {
        let who = match (text, text.strip_prefix('@')) {
            ("*", _) => Who::Everyone,
            (_, Some(group)) => Who::Group(group.into()),
            (name, None) => Who::Principal(name.into()),
        };
        who.validate().map(|()| who)
    }
}

/// What a quota is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum QuotaOf {
    /// A principal.
    Principal(Arc<str>),
    /// A namespace: the first component of names, without the slash.
    Namespace(Arc<str>),
}

impl fmt::Display for QuotaOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuotaOf::Principal(name) => write!(f, "principal {name}"),
            QuotaOf::Namespace(name) => write!(f, "namespace {name}/"),
        }
    }
}

/// How much a node keeps for a principal or in a namespace, each node for itself; `None` where only the limits of the node count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Open sessions (of a principal only: a session belongs to no namespace).
    pub sessions: Option<u64>,
    /// Names that are held or waited for; of a namespace also those that are defined.
    pub names: Option<u64>,
    /// Requests that wait.
    pub waiters: Option<u64>,
    /// Slots that are held or waited for: what waits now may hold next.
    pub slots: Option<u64>,
}

/// What a quota bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// [`Quota::sessions`].
    Sessions,
    /// [`Quota::names`].
    Names,
    /// [`Quota::waiters`].
    Waiters,
    /// [`Quota::slots`].
    Slots,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Sessions => "sessions",
            Limit::Names => "names",
            Limit::Waiters => "waiters",
            Limit::Slots => "slots",
        })
    }
}

/// Who may do what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Whether security is on. Before, everything is allowed.
    pub on: bool,
    /// Tokens, by the hashes of their secrets.
    pub tokens: BTreeMap<TokenHash, Token>,
    /// The members of groups.
    pub groups: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Principals that are denied everything.
    pub barred: BTreeSet<Arc<str>>,
    /// What is allowed to whom, on names that begin with a prefix.
    pub rules: BTreeMap<(Who, Arc<str>), Actions>,
    /// Quotas.
    pub quotas: BTreeMap<QuotaOf, Quota>,
}

impl Rights {
    /// Whether a rule is about this principal; `None` is a caller that shows nothing.
    pub fn concerns(&self, who: &Who, principal: Option<&str>) -> bool {
        match (who, principal) {
            (Who::Everyone, _) => true,
            (Who::Principal(name), Some(principal)) => **name == *principal,
            (Who::Group(group), Some(principal)) => {
                self.groups.get(group).is_some_and(|members| members.contains(principal))
            }
            (Who::Principal(_) | Who::Group(_), None) => false,
        }
    }

    /// The quotas that count.
    pub fn quotas_in_force(&self) -> &BTreeMap<QuotaOf, Quota> {
        static NONE: BTreeMap<QuotaOf, Quota> = BTreeMap::new();
        if self.on { &self.quotas } else { &NONE }
    }

    /// The token that people name by the first digits of its hash, if there is one and no other.
    pub fn token_of_id(&self, id: &str) -> Option<TokenHash> {
        let mut found = self.tokens.keys().filter(|hash| hash.id() == id);
        found.next().filter(|_| found.next().is_none()).copied()
    }
}
