//! What to run, and how it went.

use std::time::Duration;

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many nodes.
    pub nodes: usize,
    /// How many clients.
    pub clients: usize,
    /// How many names they want,
    pub names: u32,
    /// with so many slots each.
    pub slots: u32,
    /// Instead of slots: rooms with so many groups, or read-write locks if there is one.
    pub groups: u32,
    /// How many connections of clients are cut,
    pub cuts: u32,
    /// and how many clients die.
    pub deaths: u32,
    /// How many times a node dies and comes back,
    pub crashes: u32,
    /// stands still for a while,
    pub pauses: u32,
    /// or is cut off from some others, or from the control plane, in both directions or in one.
    pub partitions: u32,
    /// How many times somebody else comes to lead although nothing is wrong.
    pub elections: u32,
    /// How long leases of nodes last.
    pub lease: Duration,
    /// By how many percent clocks run too fast or too slow, at most. Beyond 10 only fences hold.
    pub drift: u64,
    /// Whether clients ask for other numbers of slots as well.
    pub contradict: bool,
    /// How long clients stay inside, at most.
    pub section: Duration,
    /// How long clients do things, and things go wrong.
    pub lasts: Duration,
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
            deaths: 0,
            crashes: 0,
            pauses: 0,
            partitions: 0,
            elections: 0,
            lease: Duration::from_secs(1),
            drift: 10,
            contradict: false,
            section: Duration::from_millis(50),
            lasts: Duration::from_secs(20),
        }
    }
}

impl Plan {
    /// A bit of everything, drawn from a seed.
    pub fn drawn(seed: u64) -> Plan {
        let mut bits = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
        let mut below = |limit: u64| {
            bits =
                (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(0x1405_7b7e_f767_814f);
            (bits >> 33) % limit
        };
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
            lasts: Duration::from_secs(20),
        }
    }
}

/// How a run went.
#[derive(Clone, Debug, Default)]
pub struct Happened {
    /// What must never be: too many inside, fences that fall. The run stops at the first.
    pub violations: Vec<String>,
    /// Who was not served in the end, and what was not forgotten.
    pub stuck: Vec<String>,
    /// With clocks that are worse than allowed: how often too many were inside. Fences hold all the same.
    pub excused: u64,
    /// Grants.
    pub grants: u64,
    /// Views after the first.
    pub views: u64,
    /// Nodes that died.
    pub crashes: u64,
    /// Nodes that were left out although they lived.
    pub excluded: u64,
    /// Partitions.
    pub partitions: u64,
    /// Changes of who leads.
    pub elections: u64,
    /// How much time passed in the simulation.
    pub simulated: Duration,
    /// What happened, a line each.
    pub log: Vec<String>,
}
