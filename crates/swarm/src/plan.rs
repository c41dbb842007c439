//! What to run, and the result.

use std::fmt;
use std::time::Duration;

use random::Random;
use service::Defect;

use crate::log::Logged;
use crate::run;

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The number of nodes.
    pub nodes: usize,
    /// The number of clients.
    pub clients: usize,
    /// The number of names that they use.
    pub names: u32,
    /// The number of slots of each name.
    pub slots: u32,
    /// Instead of slots: rooms with this many groups, or read-write locks if there is one.
    pub groups: u32,
    /// How many client connections are cut.
    pub cuts: u32,
    /// How many client connections are slow for a while, in both directions or in one.
    pub stalls: u32,
    /// How many clients die.
    pub deaths: u32,
    /// How many clients are paused for a while.
    pub naps: u32,
    /// How many times a node crashes and restarts.
    pub crashes: u32,
    /// How many times a node is paused for a while.
    pub pauses: u32,
    /// How many times a node loses contact with some others, or with the control plane, in both directions or
    /// in one.
    pub partitions: u32,
    /// How many new nodes join.
    pub joins: u32,
    /// How many nodes leave.
    pub leaves: u32,
    /// How many times another node becomes the leader although nothing is wrong.
    pub elections: u32,
    /// How many times the length of leases changes.
    pub lease_changes: u32,
    /// How many times a name is resized while it is in use.
    pub resizes: u32,
    /// How many times a grant is released by force.
    pub forces: u32,
    /// How many connections watch the events of nodes; most of them do not keep up all the time.
    pub watchers: u32,
    /// How many times a stranger sends invalid frames.
    pub nonsense: u32,
    /// How many times a stranger guesses the numbers of sessions.
    pub strangers: u32,
    /// How many times a peer sends invalid messages.
    pub lies: u32,
    /// One in this many messages between leaders and nodes is slow, and some nodes learn late of new views
    /// and leaders; 0 for none.
    pub late_news: u32,
    /// How many requests end in one call of a node; 0 for the default.
    pub slice: u32,
    /// How many requests may hold or wait at a node at once; 0 for the default.
    pub most_requests: u32,
    /// Whether two nodes lose contact for good, some time after the beginning.
    pub split: bool,
    /// The length of nodes' leases.
    pub lease: Duration,
    /// By how many percent clocks run too fast or too slow, at most. Beyond 10 only fences are guaranteed.
    pub drift: u64,
    /// Whether clients also request other numbers of slots.
    pub contradict: bool,
    /// How long clients hold a grant, at most.
    pub section: Duration,
    /// The longest delay of a message between nodes.
    pub hop: Duration,
    /// The longest delay of a message between a client and its node.
    pub client_hop: Duration,
    /// How long clients act and faults happen.
    pub lasts: Duration,
    /// A defect to enable, to show that the rule is needed.
    pub defect: Option<Defect>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            nodes: 3,
            clients: 6,
            names: 1,
            slots: 1,
            groups: 0,
            cuts: 0,
            stalls: 0,
            deaths: 0,
            naps: 0,
            crashes: 0,
            pauses: 0,
            partitions: 0,
            joins: 0,
            leaves: 0,
            elections: 0,
            lease_changes: 0,
            resizes: 0,
            forces: 0,
            watchers: 0,
            nonsense: 0,
            strangers: 0,
            lies: 0,
            late_news: 0,
            slice: 0,
            most_requests: 0,
            split: false,
            lease: Duration::from_secs(1),
            drift: 10,
            contradict: false,
            section: Duration::from_millis(50),
            hop: Duration::from_millis(5),
            client_hop: Duration::from_millis(5),
            lasts: Duration::from_secs(20),
            defect: None,
        }
    }
}

impl Plan {
    /// A bit of everything, drawn from a seed.
    pub fn drawn(seed: u64) -> Plan {
        let mut random = Random::stream(seed, run::PLAN);
        let mut below = |limit: u64| random.below(limit);
        let groups = [0, 0, 1, 2, 3][below(5) as usize];
        Plan {
            nodes: 2 + below(5) as usize,
            clients: 4 + below(12) as usize,
            names: 1 + below(4) as u32,
            slots: [1, 1, 2, 3, 7][below(5) as usize],
            groups,
            cuts: below(15) as u32,
            deaths: below(5) as u32,
            crashes: below(5) as u32,
            pauses: below(5) as u32,
            partitions: below(5) as u32,
            elections: 1 + below(4) as u32,
            lease: Duration::from_millis([1000, 3000][below(2) as usize]),
            drift: 10,
            contradict: groups == 0 && below(3) == 0,
            section: Duration::from_millis([5, 50, 500, 3000][below(4) as usize]),
            hop: Duration::from_millis(5),
            client_hop: Duration::from_millis(5),
            lasts: Duration::from_secs(20),
            naps: below(4) as u32,
            joins: [0, 0, 1, 2][below(4) as usize],
            leaves: [0, 0, 1, 2][below(4) as usize],
            lease_changes: [0, 0, 0, 3][below(4) as usize],
            late_news: [0, 0, 30, 300][below(4) as usize],
            stalls: below(6) as u32,
            slice: 0,
            most_requests: 0,
            split: false,
            resizes: if groups == 0 { [0, 2, 8][below(3) as usize] } else { 0 },
            forces: [0, 0, 3, 20][below(4) as usize],
            watchers: [0, 0, 1, 3][below(4) as usize],
            nonsense: [0, 0, 5, 50][below(4) as usize],
            lies: [0, 0, 0, 2][below(4) as usize],
            strangers: [0, 0, 5, 50][below(4) as usize],
            defect: None,
        }
    }

    /// The names that can be set: durations are in milliseconds, booleans are 1 or 0.
    pub const KEYS: [&str; 33] = [
        "nodes",
        "clients",
        "names",
        "slots",
        "groups",
        "cuts",
        "stalls",
        "deaths",
        "naps",
        "crashes",
        "pauses",
        "partitions",
        "joins",
        "leaves",
        "elections",
        "lease-changes",
        "resizes",
        "forces",
        "watchers",
        "nonsense",
        "strangers",
        "lies",
        "late-news",
        "slice",
        "most-requests",
        "split",
        "contradict",
        "lease",
        "drift",
        "section",
        "hop",
        "client-hop",
        "lasts",
    ];

    /// The value of this name; `None` if there is no such name.
    pub fn get(&self, key: &str) -> Option<u64> {
        let millis = |duration: Duration| duration.as_millis() as u64;
        Some(match key {
            "nodes" => self.nodes as u64,
            "clients" => self.clients as u64,
            "split" => u64::from(self.split),
            "contradict" => u64::from(self.contradict),
            "lease" => millis(self.lease),
            "drift" => self.drift,
            "section" => millis(self.section),
            "hop" => millis(self.hop),
            "client-hop" => millis(self.client_hop),
            "lasts" => millis(self.lasts),
            _ => u64::from(*self.clone().count(key)?),
        })
    }

    /// Sets the value of this name. Returns whether there is such a name.
    pub fn set(&mut self, key: &str, value: u64) -> bool {
        let millis = Duration::from_millis(value);
        match key {
            "nodes" => self.nodes = value.clamp(1, 16) as usize,
            "clients" => self.clients = value.max(1) as usize,
            "split" => self.split = value > 0,
            "contradict" => self.contradict = value > 0,
            "lease" => self.lease = millis,
            "drift" => self.drift = value.min(90),
            "section" => self.section = millis,
            "hop" => self.hop = millis,
            "client-hop" => self.client_hop = millis,
            "lasts" => self.lasts = millis,
            _ => match self.count(key) {
                Some(count) => *count = u32::try_from(value).unwrap_or(u32::MAX),
                None => return false,
            },
        }
        (self.names, self.slots) = (self.names.max(1), self.slots.max(1));
        true
    }

    /// Sets several values, as on the command line: `nodes=3,clients=9`.
    pub fn adjust(&mut self, with: &str) -> Result<(), AdjustError> {
        for (key, value) in pairs(with)? {
            if !self.set(key, value) {
                return Err(AdjustError::NoSuchName { name: key.to_owned(), names: &Plan::KEYS });
            }
        }
        Ok(())
    }

    fn count(&mut self, key: &str) -> Option<&mut u32> {
        Some(match key {
            "names" => &mut self.names,
            "slots" => &mut self.slots,
            "groups" => &mut self.groups,
            "cuts" => &mut self.cuts,
            "stalls" => &mut self.stalls,
            "deaths" => &mut self.deaths,
            "naps" => &mut self.naps,
            "crashes" => &mut self.crashes,
            "pauses" => &mut self.pauses,
            "partitions" => &mut self.partitions,
            "joins" => &mut self.joins,
            "leaves" => &mut self.leaves,
            "elections" => &mut self.elections,
            "lease-changes" => &mut self.lease_changes,
            "resizes" => &mut self.resizes,
            "forces" => &mut self.forces,
            "watchers" => &mut self.watchers,
            "nonsense" => &mut self.nonsense,
            "strangers" => &mut self.strangers,
            "lies" => &mut self.lies,
            "late-news" => &mut self.late_news,
            "slice" => &mut self.slice,
            "most-requests" => &mut self.most_requests,
            _ => return None,
        })
    }

    /// The differences to another plan, as on the command line.
    pub fn differences(&self, other: &Plan) -> String {
        let differs = |key: &&&str| self.get(key) != other.get(key);
        let typed =
            Plan::KEYS.iter().filter(differs).map(|key| format!("{key}={}", self.get(key).unwrap_or(0)));
        typed.collect::<Vec<_>>().join(",")
    }
}

/// Names and numbers, as on the command line: `nodes=3,clients=9`.
pub(crate) fn pairs(with: &str) -> Result<Vec<(&str, u64)>, AdjustError> {
    let typed = with.split(',').filter(|typed| !typed.trim().is_empty());
    let pairs = typed.map(|typed| {
        let (key, value) = typed.split_once('=')?;
        Some((key.trim(), value.trim().parse().ok()?))
    });
    let pairs: Option<Vec<(&str, u64)>> = pairs.collect();
    pairs.ok_or_else(|| AdjustError::NotPairs(with.to_owned()))
}

/// Why values that were typed cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdjustError {
    /// The text is not a list of names and numbers.
    NotPairs(String),
    /// There is no value of this name.
    NoSuchName {
        /// The name that was typed.
        name: String,
        /// The names that can be set.
        names: &'static [&'static str],
    },
}

impl fmt::Display for AdjustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdjustError::NotPairs(typed) => {
                write!(f, "'{typed}' is not NAME=NUMBER,…: write, for example, nodes=3,clients=9")
            }
            AdjustError::NoSuchName { name, names } => {
                write!(f, "there is no '{name}': use {}", names.join(", "))
            }
        }
    }
}

impl std::error::Error for AdjustError {}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Violations: conflicting grants, falling fences. The run stops at the first.
    pub violations: Vec<String>,
    /// Requests that were not served in the end, and names that were not forgotten.
    pub stuck: Vec<String>,
    /// With clocks that are worse than allowed: how often grants conflicted. Fences hold all the same.
    pub excused: u64,
    /// The number of grants.
    pub grants: u64,
    /// The number of views after the first.
    pub views: u64,
    /// The number of crashes.
    pub crashes: u64,
    /// Nodes that were excluded although they were running.
    pub excluded: u64,
    /// Nodes that joined for the first time.
    pub joined: u64,
    /// How many times a name was resized.
    pub resized: u64,
    /// How many grants were revoked by force.
    pub forced: u64,
    /// Events that watchers saw.
    pub watched: u64,
    /// Events that watchers were told they had missed.
    pub missed: u64,
    /// Nodes that left.
    pub left: u64,
    /// Partitions.
    pub partitions: u64,
    /// Changes of the leader.
    pub elections: u64,
    /// The simulated time.
    pub simulated: Duration,
    /// What happened, in order.
    pub log: Vec<Logged>,
}

impl Outcome {
    /// The first violation or stuck request, if any.
    pub fn failure(&self) -> Option<&str> {
        self.violations.first().or(self.stuck.first()).map(String::as_str)
    }
}
