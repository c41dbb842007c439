//! Refusals, for programs to match on and for people to read: each text says what to do next.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::auth::{Action, InvalidChange, Limit, QuotaOf};
use crate::in_words::InWords;
use crate::label::LONGEST_TEXT;
use crate::leases::{LONGEST_LEASE, SHORTEST_LEASE};
use crate::limits::Bound;
use crate::name::{Definition, LONGEST_NAME, MOST_SLOTS};
use crate::registry::{LONGEST_INVITATION, SHORTEST_INVITATION};
use crate::session::{LONGEST_TTL, SHORTEST_TTL};

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// The name is empty.
    NameEmpty,
    /// The name has this many bytes, which is too long.
    NameTooLong(usize),
    /// The name has control characters.
    NameNotPrintable,
    /// A semaphore cannot have this many slots.
    Slots(u32),
    /// A request for a room names no group.
    NoGroup,
    /// A request names more groups than this.
    TooManyGroups(usize),
    /// The name is in use as something else.
    Contradicts {
        /// What the name stands for.
        defined: Definition,
        /// What the client asked for.
        asked: Definition,
    },
    /// The request does not fit the definition of the resource.
    WantsOther(Definition),
    /// Other clients hold the resource, and the request does not wait.
    NotFree,
    /// The request timed out waiting.
    TimedOut,
    /// The client cancelled the request.
    Cancelled,
    /// There is no such session at this node, or not any more.
    NoSuchSession,
    /// The session has used this request number before.
    RequestUsed(u64),
    /// The session holds nothing by this request, and never did.
    NotHeld,
    /// The fence is not that of the grant: it belongs to an earlier or a later holder.
    StaleFence {
        /// The fence of the grant.
        held: u64,
        /// The fence that was named.
        named: u64,
    },
    /// This many clients hold or wait at the node already. Only nodes older than [`Refusal::Bound`] send it.
    TooManyRequests(usize),
    /// This many sessions are open at the node already. Only nodes older than [`Refusal::Bound`] send it.
    TooManySessions(usize),
    /// The ttl of a session is too short or too long.
    TimeToLive,
    /// The node grants nothing now: its own lease has run out.
    NoLease,
    /// Too much waits to be sent to a node that is out of reach or does not keep up.
    Overloaded,
    /// The node is about to leave the cluster.
    Leaving,
    /// The name is defined as something else.
    DefinedAs {
        /// What the name is defined as.
        defined: Definition,
        /// What the client asked for.
        asked: Definition,
    },
    /// The name is not defined.
    NotDefined,
    /// No client at this node holds that grant, or not any more.
    NobodyHolds,
    /// The grant was revoked by a forced release.
    ForceReleased,
    /// The cluster did not commit the change, for this reason.
    NotAgreed(String),
    /// Leases cannot last this long, or this short.
    Lease(Duration),
    /// An invitation cannot last this long, or this short.
    Invitation(Duration),
    /// A bound was reached: the node keeps no more of this than its limit.
    Bound {
        /// The bound.
        bound: Bound,
        /// The limit.
        most: u64,
    },
    /// A label is too long, or has control characters.
    Label,
    /// The caller may not do this.
    NotAllowed(Box<NotAllowed>),
    /// A quota of a principal or a namespace is used up at this node.
    Quota(Box<QuotaUsed>),
    /// A change of rights is refused.
    Rights(InvalidChange),
}

// Every outcome of a request has room for a refusal, and is moved many times in a cycle: what is large has a box.
const _: () = assert!(size_of::<Refusal>() <= 24);

/// A quota that is used up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaUsed {
    /// Of whom.
    pub of: QuotaOf,
    /// What it bounds.
    pub limit: Limit,
    /// How much it allows.
    pub most: u64,
}

impl fmt::Display for QuotaUsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QuotaUsed { of, limit, most } = self;
        write!(f, "the quota of {of} allows {most} {limit} at each node: end some, or ask for more")
    }
}

/// What a caller may not do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotAllowed {
    /// Who the caller is: its principal, or nothing if it showed nothing that counts.
    pub principal: String,
    /// What it would have to be allowed to do.
    pub action: Action,
    /// On which name; empty if it is about the cluster.
    pub name: String,
    /// Why it is not allowed, in words.
    pub why: String,
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotAllowed { principal, action, name, why } = self;
        match &**principal {
            "" => f.write_str("you showed no token or certificate that counts, and")?,
            principal => write!(f, "you are '{principal}', and")?,
        }
        match &**name {
            "" => write!(f, " may not {action}: {why}"),
            name => write!(f, " may not {action} '{name}': {why}"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NameEmpty => f.write_str("the name is empty: choose one"),
            Refusal::NameTooLong(bytes) => {
                write!(f, "the name has {bytes} bytes, and the limit is {LONGEST_NAME}: choose a shorter one")
            }
            Refusal::NameNotPrintable => f.write_str("the name has control characters: remove them"),
            Refusal::Slots(slots) => write!(f, "a semaphore has 1 to {MOST_SLOTS} slots, not {slots}"),
            Refusal::NoGroup => f.write_str("a request for a room needs a group: name one"),
            Refusal::TooManyGroups(most) => write!(f, "a request can name at most {most} groups"),
            Refusal::Contradicts { defined, asked } => {
                write!(f, "the name is in use as {defined}, not {asked}: ask for that, or use another name")
            }
            Refusal::WantsOther(definition) => {
                write!(f, "the request does not fit {definition}: check what kind of resource the name is")
            }
            Refusal::NotFree => f.write_str(
                "another client holds it, and the request does not wait: try later, or set a timeout",
            ),
            Refusal::TimedOut => f.write_str("timed out waiting: set a longer timeout, or see who holds it"),
            Refusal::Cancelled => f.write_str("the request was cancelled"),
            Refusal::NoSuchSession => f.write_str(
                "no such session at this node: it was closed, has expired, or belongs to another node",
            ),
            Refusal::RequestUsed(number) => {
                write!(f, "this session has used request number {number} before: use increasing numbers")
            }
            Refusal::NotHeld => f.write_str("this request holds nothing"),
            Refusal::StaleFence { held, named } => {
                write!(f, "the grant has fence {held}, not {named}: the release names another grant")
            }
            Refusal::TooManyRequests(most) => too_many(f, *most, "requests hold or wait"),
            Refusal::TooManySessions(most) => too_many(f, *most, "sessions are open"),
            Refusal::TimeToLive => write!(
                f,
                "the ttl of a session is at least {} and at most {}",
                InWords(SHORTEST_TTL),
                InWords(LONGEST_TTL)
            ),
            Refusal::Overloaded => f.write_str(
                "another node is unreachable or slow, and too many messages wait to be sent to it: try later",
            ),
            Refusal::NoLease => f.write_str("this node has no lease and grants nothing: try another node"),
            Refusal::Leaving => f.write_str("this node is leaving the cluster: try another node"),
            Refusal::DefinedAs { defined, asked: Definition::Slots(_) } if defined.slots().is_some() => {
                write!(f, "the name is defined as {defined}: ask for that, or name no number of slots")
            }
            Refusal::DefinedAs { defined, asked } => {
                write!(f, "the name is defined as {defined}, not {asked}: ask for that, or undefine it first")
            }
            Refusal::NotDefined => f.write_str("the name is not defined: check how it is spelt"),
            Refusal::NobodyHolds => {
                f.write_str("no client at this node holds that grant any more: see who holds it now")
            }
            Refusal::ForceReleased => f.write_str("the grant was revoked by a forced release"),
            Refusal::NotAgreed(why) => write!(f, "the cluster did not commit it: {why}"),
            Refusal::Lease(lasts) => not_within(f, "leases last", SHORTEST_LEASE, LONGEST_LEASE, *lasts),
            Refusal::Invitation(lasts) => {
                not_within(f, "invitations last", SHORTEST_INVITATION, LONGEST_INVITATION, *lasts)
            }
            Refusal::Bound { bound, most } => {
                write!(f, "{bound} (the limit is {most}): {}", bound.advice())
            }
            Refusal::NotAllowed(_) | Refusal::Quota(_) | Refusal::Rights(_) => self.fmt_of_rights(f),
            Refusal::Label => {
                write!(f, "a label has at most {LONGEST_TEXT} bytes, and no control characters: change it")
            }
        }
    }
}

impl Refusal {
    /// Its reason in a word or two, for those who count.
    pub fn reason(&self) -> &'static str {
        match self {
            Refusal::NameEmpty | Refusal::NameTooLong(_) | Refusal::NameNotPrintable => "name",
            Refusal::Slots(_) => "slots",
            Refusal::NoGroup | Refusal::TooManyGroups(_) => "groups",
            Refusal::Contradicts { .. } | Refusal::WantsOther(_) | Refusal::DefinedAs { .. } => {
                "defined_otherwise"
            }
            Refusal::NotFree => "not_free",
            Refusal::TimedOut => "timed_out",
            Refusal::Cancelled => "cancelled",
            Refusal::NoSuchSession => "no_such_session",
            Refusal::RequestUsed(_) => "request_used",
            Refusal::NotHeld | Refusal::NobodyHolds => "not_held",
            Refusal::StaleFence { .. } => "stale_fence",
            Refusal::TooManyRequests(_) | Refusal::TooManySessions(_) | Refusal::Bound { .. } => "bound",
            Refusal::TimeToLive | Refusal::Lease(_) | Refusal::Invitation(_) => "length_of_time",
            Refusal::NoLease => "no_lease",
            Refusal::Overloaded => "overloaded",
            Refusal::Leaving => "leaving",
            Refusal::NotDefined => "not_defined",
            Refusal::ForceReleased => "force_released",
            Refusal::NotAgreed(_) => "not_agreed",
            Refusal::Label => "label",
            Refusal::NotAllowed(_) => "not_allowed",
            Refusal::Quota(_) => "quota",
            Refusal::Rights(_) => "rights",
        }
    }

    /// A refusal that comes of rights.
    fn fmt_of_rights(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotAllowed(what) => write!(f, "{what}"),
            Refusal::Quota(used) => write!(f, "{used}"),
            Refusal::Rights(why) => write!(f, "{why}"),
            _ => Ok(()),
        }
    }
}

fn too_many(f: &mut fmt::Formatter<'_>, most: usize, what: &str) -> fmt::Result {
    write!(f, "{most} {what} at this node already: try another node, or later")
}

fn not_within(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    shortest: Duration,
    longest: Duration,
    asked: Duration,
) -> fmt::Result {
    let [shortest, longest, asked] = [shortest, longest, asked].map(InWords);
    write!(f, "{what} at least {shortest} and at most {longest}, not {asked}")
}

impl std::error::Error for Refusal {}
