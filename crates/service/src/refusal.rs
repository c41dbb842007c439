//! Why something was not done, for programs to match on and for people to read: each text says what to do next.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::leases::{LONGEST_LEASE, SHORTEST_LEASE};
use crate::limits::Bound;
use crate::name::{Definition, LONGEST_NAME, MOST_SLOTS};
use crate::registry::{LONGEST_INVITATION, SHORTEST_INVITATION};
use crate::session::{LONGEST_LIFE, SHORTEST_LIFE};

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// The name is empty.
    NameEmpty,
    /// The name has so many bytes.
    NameTooLong(usize),
    /// The name has control characters.
    NameNotPrintable,
    /// There cannot be so many slots.
    Slots(u32),
    /// A request for a room names no group.
    NoGroup,
    /// A request names more groups than this.
    TooManyGroups(usize),
    /// The resource is something else, and in use as that.
    Contradicts {
        /// What it is.
        defined: Definition,
        /// What was asked for.
        asked: Definition,
    },
    /// What is wanted does not go with what the resource is said to be.
    WantsOther(Definition),
    /// Somebody else holds it, and the client did not want to wait.
    NotFree,
    /// It was not had in time.
    TimedOut,
    /// The client gave up.
    Cancelled,
    /// There is no such session here (any more).
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
    /// So many clients hold or wait at this node already. Said by nodes of before [`Refusal::Bound`].
    TooManyRequests(usize),
    /// So many sessions are open at this node already. Said by nodes of before [`Refusal::Bound`].
    TooManySessions(usize),
    /// A session lives neither as short nor as long as that.
    TimeToLive,
    /// The node cannot promise anything now: its own lease has run out.
    NoLease,
    /// Too much waits to be sent to a node that is out of reach or does not keep up.
    Overloaded,
    /// The node is about to leave the cluster.
    Leaving,
    /// The name is defined as something else.
    DefinedAs {
        /// What it is defined as.
        defined: Definition,
        /// What was asked for.
        asked: Definition,
    },
    /// The name is not defined.
    NotDefined,
    /// Nobody holds that here (any more).
    NobodyHolds,
    /// It was held, and then taken away by force.
    ForceReleased,
    /// The cluster could not agree on it, for this reason.
    NotAgreed(String),
    /// Leases cannot last that long, or that short.
    Lease(Duration),
    /// An invitation cannot last that long, or that short.
    Invitation(Duration),
    /// A bound was reached: the node keeps no more of this, and so many are allowed.
    Bound {
        /// Which bound.
        bound: Bound,
        /// How many are allowed.
        most: u64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NameEmpty => f.write_str("the name is empty: give the resource one"),
            Refusal::NameTooLong(bytes) => {
                write!(f, "the name has {bytes} bytes, and at most {LONGEST_NAME} are allowed")
            }
            Refusal::NameNotPrintable => f.write_str("the name has control characters: leave them out"),
            Refusal::Slots(slots) => write!(f, "a semaphore has 1 to {MOST_SLOTS} slots, not {slots}"),
            Refusal::NoGroup => f.write_str("a room is joined in a group: name one"),
            Refusal::TooManyGroups(most) => write!(f, "a request names at most {most} groups"),
            Refusal::Contradicts { defined, asked } => {
                write!(f, "this is {defined}, and in use as such; you asked for {asked}")
            }
            Refusal::WantsOther(definition) => write!(f, "that is not how {definition} is used"),
            Refusal::NotFree => f.write_str("somebody holds it, and you did not want to wait"),
            Refusal::TimedOut => f.write_str("not had in time: wait longer, or see who holds it"),
            Refusal::Cancelled => f.write_str("given up"),
            Refusal::NoSuchSession => f.write_str(
                "there is no such session here: it was closed, ran out, or belongs to another node",
            ),
            Refusal::RequestUsed(number) => {
                write!(f, "request {number} was used before in this session: number requests upwards")
            }
            Refusal::NotHeld => f.write_str("nothing is held by this request"),
            Refusal::StaleFence { held, named } => {
                write!(f, "the grant has fence {held}, not {named}: this release is somebody else's")
            }
            Refusal::TooManyRequests(most) => {
                write!(f, "{most} clients hold or wait at this node already: try another, or later")
            }
            Refusal::TooManySessions(most) => {
                write!(f, "{most} sessions are open at this node already: try another, or later")
            }
            Refusal::TimeToLive => write!(
                f,
                "a session lives at least {} ms and at most {} hours",
                SHORTEST_LIFE.as_millis(),
                LONGEST_LIFE.as_secs() / 3600
            ),
            Refusal::Overloaded => {
                f.write_str("another node is out of reach, and too much waits to be sent to it: try later")
            }
            Refusal::Leaving => f.write_str("this node is leaving the cluster: try another"),
            Refusal::DefinedAs { defined, asked: Definition::Slots(_) } if defined.slots().is_some() => {
                write!(f, "this is defined as {defined}: ask for that, or without a number")
            }
            Refusal::DefinedAs { defined, asked } => {
                write!(f, "this is defined as {defined}, not as {asked}: ask for that, or undefine it first")
            }
            Refusal::NotDefined => f.write_str("this is not defined: define it first"),
            Refusal::NobodyHolds => f.write_str("nobody holds that here any more: see who holds it now"),
            Refusal::ForceReleased => f.write_str("it was held, and then released by force"),
            Refusal::NotAgreed(why) => write!(f, "the nodes could not agree on it: {why}"),
            Refusal::Lease(lasts) => not_within(f, "leases last", SHORTEST_LEASE, LONGEST_LEASE, *lasts),
            Refusal::Invitation(lasts) => {
                not_within(f, "invitations last", SHORTEST_INVITATION, LONGEST_INVITATION, *lasts)
            }
            Refusal::Bound { bound, most } => {
                write!(f, "{bound}, and {most} are allowed: {}", bound.advice())
            }
            Refusal::NoLease => f.write_str("this node has lost touch with the cluster: try another"),
        }
    }
}

fn not_within(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    shortest: Duration,
    longest: Duration,
    asked: Duration,
) -> fmt::Result {
    write!(f, "{what} {shortest:?} at least and {longest:?} at most, not {asked:?}")
}

impl std::error::Error for Refusal {}
