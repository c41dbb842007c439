//! What a case is: actors, steps and expectations, as they are written in `conformance/*.json`.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::relation::Relation;

/// The format that this program reads.
pub(super) const FORMAT: &str = "tokenwood.conformance-case/1";

/// How many nodes the cluster of a case has.
pub(super) const NODES: usize = 3;

/// What a client may be unable to do: its name, and what it means.
pub const CAPABILITIES: [(&str, &str); 12] = [
    ("any-of", "enter a room in any of several groups"),
    ("cancel", "cancel a request that waits"),
    ("holders", "say who holds a lock that is taken"),
    ("leaving", "be told that a grant is released which it releases at a node that leaves"),
    ("node-loss", "know of a loss by itself when the node of its grant is gone"),
    ("pause", "be stopped and continued, and know what it has lost meanwhile"),
    ("read-write", "acquire read-write locks"),
    ("release-twice", "release the same grant twice"),
    ("revocation", "know of a revocation before the next client holds the lock"),
    ("room", "acquire rooms"),
    ("session", "hold several grants in one session, and close it"),
    ("slots", "acquire semaphores"),
];

/// Something that every client has to do right.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    schema: String,
    /// Its name.
    pub name: String,
    /// What it shows, in a sentence.
    pub about: String,
    /// What clients have to be able to do for it.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The ttl of all clients.
    pub ttl: Span,
    /// The clients, each with the node that it asks first.
    pub actors: BTreeMap<String, usize>,
    /// What happens, in this order.
    pub steps: Vec<Step>,
}

/// A length of time, in leases of the cluster or in ttls of the case.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(try_from = "String")]
pub struct Span {
    count: f64,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Lease,
    Ttl,
}

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Span, String> {
        let wrong = || format!("'{text}' is no length of time: write '0.5 leases' or '2 ttl'");
        let (count, unit) = text.split_once(' ').ok_or_else(wrong)?;
        let count = count.parse().ok().filter(|count| (0.0..1000.0).contains(count)).ok_or_else(wrong)?;
        match unit {
            "lease" | "leases" => Ok(Span { count, unit: Unit::Lease }),
            "ttl" => Ok(Span { count, unit: Unit::Ttl }),
            _ => Err(wrong()),
        }
    }
}

impl Span {
    /// How long it is where leases and ttls are this long.
    pub fn length(self, lease: Duration, ttl: Duration) -> Duration {
        let unit = if self.unit == Unit::Lease { lease } else { ttl };
        unit.mul_f64(self.count)
    }
}

/// A step. A step with `expect` lasts until its outcome is there.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// A client asks for a lock, and waits for it.
    Acquire(Asking),
    /// A client asks for a lock, and does not wait.
    Try(Asking),
    /// The outcome of a request is awaited, or the loss of what it was granted.
    Await {
        /// The request.
        of: String,
        /// The outcome.
        expect: Outcomes,
    },
    /// A request is not answered for this long.
    StillWaits {
        /// The request.
        of: String,
        /// How long.
        #[serde(rename = "for")]
        time: Span,
    },
    /// The client says whether it holds what it was granted.
    Check {
        /// The request.
        of: String,
        /// The outcome.
        expect: Outcomes,
    },
    /// The client releases what it was granted.
    Release {
        /// The request.
        of: String,
        /// The outcome.
        expect: Outcomes,
    },
    /// The client cancels its request.
    Cancel {
        /// The request.
        of: String,
    },
    /// An operator revokes what a request was granted.
    Force {
        /// The request.
        of: String,
    },
    /// A client closes its session.
    Close {
        /// The client.
        who: String,
    },
    /// The process of a client is stopped.
    Pause {
        /// The client.
        who: String,
    },
    /// It goes on.
    Resume {
        /// The client.
        who: String,
    },
    /// The process of a client is killed.
    Kill {
        /// The client.
        who: String,
    },
    /// A node is killed.
    KillNode {
        /// Which.
        node: usize,
    },
    /// A node is asked to leave.
    LeaveNode {
        /// Which.
        node: usize,
    },
    /// An operator defines how many slots a lock has, or changes that.
    Define {
        /// The lock.
        lock: String,
        /// How many.
        slots: u32,
    },
    /// An operator ends a definition.
    Undefine {
        /// The lock.
        lock: String,
    },
    /// The nodes list so many holders and waiters of a lock, now or soon.
    Queue {
        /// The lock.
        lock: String,
        /// How many hold it.
        holders: usize,
        /// How many wait for it.
        waiters: usize,
    },
    /// Clients acquire and release a lock so many times each, all at once.
    Contend {
        /// The clients.
        by: Vec<String>,
        /// The lock.
        lock: String,
        /// How many times.
        rounds: u32,
    },
    /// Relations that hold between what requests were granted.
    Expect {
        /// The relations.
        that: Vec<Relation>,
    },
}

/// A request for a lock.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asking {
    /// The client.
    pub by: String,
    /// The lock.
    pub lock: String,
    /// How many slots the semaphore has.
    pub slots: Option<u32>,
    /// The side of a read-write lock.
    pub mode: Option<Mode>,
    /// The groups of a room, any of which will do.
    pub groups: Option<Vec<String>>,
    /// How long it waits; for ever, if it does not say.
    pub wait: Option<Span>,
    /// What later steps call this request.
    #[serde(rename = "as")]
    pub name: String,
    /// The next step does not wait for the outcome.
    #[serde(default)]
    pub background: bool,
    /// The outcome, unless it is awaited later.
    pub expect: Option<Outcomes>,
    /// The client that the outcome `taken` has to name.
    pub held_by: Option<String>,
}

/// A side of a read-write lock.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// With other readers.
    Shared,
    /// Alone.
    Exclusive,
}

impl Mode {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Shared => "shared",
            Mode::Exclusive => "exclusive",
        }
    }
}

/// Outcomes of which any is right.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Outcomes {
    /// This one.
    One(String),
    /// Any of these.
    Any(Vec<String>),
}

impl Outcomes {
    /// All of them.
    pub fn all(&self) -> &[String] {
        match self {
            Outcomes::One(one) => std::slice::from_ref(one),
            Outcomes::Any(any) => any,
        }
    }

    /// Whether it is one of them.
    pub fn include(&self, outcome: &str) -> bool {
        self.all().iter().any(|one| one == outcome)
    }
}

const OUTCOMES: [&str; 10] = [
    "granted",
    "taken",
    "timed-out",
    "cancelled",
    "refused",
    "unavailable",
    "released",
    "held",
    "lost",
    "stale",
];

impl Case {
    /// Reads a case, and checks that it makes sense.
    pub fn read(text: &str) -> Result<Case> {
        let case: Case = serde_json::from_str(text)?;
        case.validate().with_context(|| format!("case '{}'", case.name))?;
        Ok(case)
    }

    /// Whether it ends nodes, so that it needs a cluster of its own.
    pub fn ends_nodes(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::KillNode { .. } | Step::LeaveNode { .. }))
    }

    fn validate(&self) -> Result<()> {
        ensure!(self.schema == FORMAT, "its format is {}, and this program reads {FORMAT}", self.schema);
        ensure!(self.actors.values().all(|node| *node < NODES), "there are {NODES} nodes, from 0");
        for need in &self.needs {
            ensure!(CAPABILITIES.iter().any(|(name, _)| name == need), "there is no capability '{need}'");
        }
        for (name, _) in CAPABILITIES {
            ensure!(
                !self.needs(name) || self.declares(name),
                "its steps need '{name}', and it does not say so"
            );
        }
        let mut known = Vec::new();
        for (number, step) in (1..).zip(&self.steps) {
            self.validate_step(step, &mut known).with_context(|| format!("step {number}"))?;
        }
        Ok(())
    }

    fn declares(&self, capability: &str) -> bool {
        self.needs.iter().any(|need| need == capability)
    }

    /// Whether a step cannot be done without this.
    fn needs(&self, capability: &str) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Acquire(asking) | Step::Try(asking) => match capability {
                "slots" => asking.slots.is_some(),
                "read-write" => asking.mode.is_some(),
                "room" => asking.groups.is_some(),
                "any-of" => asking.groups.as_ref().is_some_and(|groups| groups.len() > 1),
                "holders" => asking.held_by.is_some(),
                _ => false,
            },
            Step::Cancel { .. } => capability == "cancel",
            Step::Force { .. } => capability == "revocation",
            Step::Pause { .. } => capability == "pause",
            Step::Close { .. } => capability == "session",
            _ => false,
        })
    }

    fn validate_step<'a>(&'a self, step: &'a Step, known: &mut Vec<&'a str>) -> Result<()> {
        let actor = |who: &str| {
            ensure!(self.actors.contains_key(who), "there is no actor '{who}'");
            Ok(())
        };
        let outcomes = |expect: &Outcomes| {
            let wrong = expect.all().iter().find(|one| !OUTCOMES.contains(&one.as_str()));
            ensure!(wrong.is_none(), "there is no outcome {wrong:?}");
            Ok(())
        };
        let request = |of: &str, known: &[&str]| {
            ensure!(known.contains(&of), "no step before it is called '{of}'");
            Ok(())
        };
        match step {
            Step::Acquire(asking) | Step::Try(asking) => {
                actor(&asking.by)?;
                asking.held_by.as_deref().map_or(Ok(()), actor)?;
                asking.expect.as_ref().map_or(Ok(()), outcomes)?;
                ensure!(asking.background != asking.expect.is_some(), "either 'background' or 'expect'");
                ensure!(!known.contains(&asking.name.as_str()), "'{}' is there twice", asking.name);
                known.push(&asking.name);
            }
            Step::Await { of, expect } | Step::Check { of, expect } | Step::Release { of, expect } => {
                request(of, known)?;
                outcomes(expect)?;
            }
            Step::StillWaits { of, .. } | Step::Cancel { of } | Step::Force { of } => request(of, known)?,
            Step::Close { who } | Step::Pause { who } | Step::Resume { who } | Step::Kill { who } => {
                actor(who)?;
            }
            Step::KillNode { node } | Step::LeaveNode { node } => {
                ensure!(*node < NODES, "there is no node {node}");
            }
            Step::Contend { by, .. } => by.iter().try_for_each(|who| actor(who))?,
            Step::Expect { that } => {
                that.iter().flat_map(Relation::requests).try_for_each(|of| request(of, known))?;
            }
            Step::Define { .. } | Step::Undefine { .. } | Step::Queue { .. } => {}
        }
        Ok(())
    }
}
