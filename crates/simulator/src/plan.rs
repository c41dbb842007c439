//! What to simulate: the system, its load, its delays, its faults, and the length of the run.
//!
//! Every parameter has a name, and [`Plan::set`] is the one way from text to a plan: flags, sweeps and
//! figures all use it.

use algorithms::info::Timing;
use algorithms::{Conditions, Info, Kind, Setting, SettingError, registry};

use crate::client_counts::ClientCounts;
use crate::column::{Cell, Column};
use crate::fault::Faults;
use crate::latencies::{Latencies, Sites};
use crate::memory;
use crate::slow::Slow;
use crate::time::{Shape, Span, Typed};
use crate::topology::Topology;
use crate::workload::{GroupChoice, Workload};

/// More entries than this in one run are taken for a mistake.
const MOST_ENTRIES: u64 = 1_000_000_000;
/// The slowest rate: with a thousand million ticks to a unit, longer pauses would not fit a long run.
const LEAST_RATE: f64 = 1e-6;
/// The fastest rate: pauses of a thousandth of a tick.
const MOST_RATE: f64 = 1e12;
/// The longest run, in units; the clock can count to 1.8e10.
const LONGEST_RUN: f64 = 1.5e10;
/// The shortest time that clients may be on, in pauses.
const SHORTEST_ON: f64 = 1e-4;

/// What to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Sizes, options, defect.
    pub setting: Setting,
    /// How often a client that has left makes its next request, per unit of time (λ).
    pub rate: f64,
    /// How long a client stays inside (E).
    pub section: Span,
    /// How long a message occupies its sender's processor (Ts).
    pub send: f64,
    /// How long a message occupies its receiver's processor (Tr).
    pub receive: f64,
    /// How long a message is under way between the two, over one link (Tt).
    pub transit: Span,
    /// The links between nodes.
    pub topology: Topology,
    /// Transit times between sites, in place of `transit`, if there are any.
    pub latencies: Option<Latencies>,
    /// Which nodes are at which of those sites.
    pub sites: Sites,
    /// Whether copies of one message to several nodes leave together and count once.
    pub multicast: bool,
    /// The nodes whose processors are slower, if any.
    pub slow: Option<Slow>,
    /// Whether messages between two nodes arrive in the order in which they were sent.
    pub fifo: bool,
    /// When clients make requests.
    pub workload: Workload,
    /// The number of clients of each node; they wait for each other.
    pub clients: ClientCounts,
    /// The groups that clients request.
    pub group_choice: GroupChoice,
    /// The faults.
    pub faults: Faults,
    /// Whether timers run; by default only with faults or where the algorithm needs them.
    pub timers: Option<bool>,
    /// How many entries are measured.
    pub entries: u64,
    /// How many entries come before the measured ones.
    pub warmup: u64,
    /// Whether the properties are checked at every event.
    pub check: bool,
}

impl Default for Plan {
    /// The model of the thesis (001 ch. V): 30 nodes, 3 tokens, Ts = Tr = 0.1, Tt = 0.8, E = 0.0002.
    fn default() -> Plan {
        Plan {
            setting: Setting::new(30, 3),
            rate: 0.1,
            section: Span::constant(0.0002),
            send: 0.1,
            receive: 0.1,
            transit: Span::constant(0.8),
            topology: Topology::Full,
            latencies: None,
            sites: Sites::Blocks,
            multicast: false,
            slow: None,
            fifo: true,
            workload: Workload::Think,
            clients: 1.into(),
            group_choice: GroupChoice::Uniform,
            faults: Faults::default(),
            timers: None,
            entries: 5000,
            warmup: 500,
            check: true,
        }
    }
}

/// A parameter that can be set by name.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub help: &'static str,
}

/// All parameters but the options of the algorithm, which are set by their own names.
pub const PARAMETERS: &[Parameter] = &[
    Parameter { name: "nodes", help: "how many nodes (n)" },
    Parameter { name: "tokens", help: "how many may be inside at once (k)" },
    Parameter { name: "groups", help: "how many groups, for group mutual exclusion" },
    Parameter { name: "rate", help: "how often a client that has left asks again, per unit of time (λ)" },
    Parameter { name: "cs", help: "how long a client stays inside (E)" },
    Parameter { name: "section", help: "constant, exponential, uniform or heavy-tailed" },
    Parameter { name: "send", help: "how long a message occupies its sender's processor (Ts)" },
    Parameter { name: "receive", help: "how long a message occupies its receiver's processor (Tr)" },
    Parameter {
        name: "topology",
        help: "full, ring, line, star, tree, grid, torus or hypercube: a message takes the transit time for each link",
    },
    Parameter {
        name: "latencies",
        help: "a CSV file of the transit times between sites, or the same in one line, such as 'one-way,a,b;a,1,40;b,40,1'",
    },
    Parameter {
        name: "sites",
        help: "blocks, spread, or how many nodes each site of the latencies has, such as 10,10,5",
    },
    Parameter { name: "transit", help: "how long a message is under way between the two (Tt)" },
    Parameter { name: "delay", help: "constant, exponential, uniform or heavy-tailed" },
    Parameter {
        name: "multicast",
        help: "off, or on: copies of one message that a node sends in one step cost one sending and count once",
    },
    Parameter {
        name: "slow",
        help: "nodes whose processors take longer to send and receive, and how many times, such as 0-2,7:10",
    },
    Parameter { name: "order", help: "fifo, or any: messages overtake each other" },
    Parameter {
        name: "workload",
        help: "think, only:NODES (such as only:1-3,7), steady, burst, once:NODES, single, on-off:ON:OFF or skewed:S",
    },
    Parameter {
        name: "clients",
        help: "how many clients each node has; or one number for each node, such as 20,1,1, which begin again",
    },
    Parameter { name: "group-choice", help: "uniform, zipf:S, any-of or own" },
    Parameter { name: "entries", help: "how many entries are measured" },
    Parameter { name: "warmup", help: "how many entries come before those" },
    Parameter { name: "loss", help: "the share of messages that are lost" },
    Parameter {
        name: "lose",
        help: "one message that is lost, by its kind and which one of the run it is, such as TOKEN:5; or several",
    },
    Parameter { name: "duplicate", help: "the share of messages that arrive twice" },
    Parameter { name: "reorder", help: "the share of messages that others may overtake" },
    Parameter { name: "fault", help: "for example 'crash 2 at 100 for 50'" },
    Parameter { name: "timers", help: "on or off" },
    Parameter { name: "defect", help: "a defect to enable" },
];

impl Plan {
    /// The default plan for an algorithm: one token, and one group or more, where other numbers make no
    /// sense.
    pub fn of(info: &Info) -> Plan {
        let mut plan = Plan::default();
        if info.kind != Kind::KMutex {
            plan.setting.tokens = 1;
        }
        if info.kind == Kind::GroupMutex {
            plan.setting.groups = 3;
        }
        plan
    }

    /// Sets a parameter, or an option of the algorithm, by its name.
    pub fn set(&mut self, info: &Info, name: &str, value: &str) -> Result<(), SettingError> {
        let wrong = |why: SettingError| SettingError(format!("{name}: {why}"));
        match name {
            "nodes" => self.setting.nodes = whole(name, value)?,
            "tokens" => self.setting.tokens = whole(name, value)?,
            "groups" => self.setting.groups = whole(name, value)?,
            "rate" => self.rate = number(name, value)?,
            "cs" => self.section.mean = number(name, value)?,
            "section" => self.section.shape = Shape::named(value).map_err(wrong)?,
            "send" => self.send = number(name, value)?,
            "receive" => self.receive = number(name, value)?,
            "topology" => self.topology = Topology::named(value).map_err(wrong)?,
            "latencies" => self.latencies = Some(Latencies::parse(value).map_err(wrong)?),
            "sites" => self.sites = Sites::parse(value).map_err(wrong)?,
            "transit" if self.transit_is_unused() => {
                let why = "the latencies have all times, also within each site".to_string();
                return Err(wrong(SettingError(format!("{why}: leave one of the two out"))));
            }
            "transit" => self.transit.mean = number(name, value)?,
            "delay" => self.transit.shape = Shape::named(value).map_err(wrong)?,
            "multicast" => self.multicast = one_of(name, value, ["on", "off"])? == 0,
            "slow" => self.slow = Some(Slow::parse(value).map_err(wrong)?),
            "order" => self.fifo = one_of(name, value, ["fifo", "any"])? == 0,
            "workload" => self.workload = Workload::parse(value).map_err(wrong)?,
            "clients" => self.clients = ClientCounts::parse(value)?,
            "group-choice" => self.group_choice = GroupChoice::parse(value).map_err(wrong)?,
            "entries" => self.entries = whole(name, value)?,
            "warmup" => self.warmup = whole(name, value)?,
            "loss" => self.faults.loss = number(name, value)?,
            "lose" => self.faults.lose(value).map_err(wrong)?,
            "duplicate" => self.faults.duplicate = number(name, value)?,
            "reorder" => self.faults.reorder = number(name, value)?,
            "fault" => self.faults.add(value).map_err(wrong)?,
            "timers" => self.timers = Some(one_of(name, value, ["on", "off"])? == 0),
            "defect" => self.setting.defect = Some(value.to_string()),
            option if info.options.iter().any(|known| known.name == option) => {
                self.setting.options.retain(|(known, _)| known != option);
                self.setting.options.push((option.to_string(), value.to_string()));
            }
            _ => return Err(unknown(info, name)),
        }
        Ok(())
    }

    /// Every parameter with its value, in the order of the list, and then every option of the algorithm. An
    /// option that is not set has no value: its default is up to the algorithm, and may depend on other
    /// options.
    pub fn parameters(&self, info: &Info) -> Vec<Column> {
        let parameters =
            PARAMETERS.iter().map(|parameter| Column::new(parameter.name, self.value(info, parameter.name)));
        let options =
            info.options.iter().map(|option| Column::new(option.name, self.setting.option(option.name)));
        parameters.chain(options).collect()
    }

    /// The value of a parameter, as [`Plan::set`] takes it.
    fn value(&self, info: &Info, name: &str) -> Cell {
        match name {
            "nodes" => self.setting.nodes.into(),
            "tokens" => self.setting.tokens.into(),
            "groups" => self.setting.groups.into(),
            "rate" => self.rate.into(),
            "cs" => self.section.mean.into(),
            "section" => self.section.shape.to_string().into(),
            "send" => self.send.into(),
            "receive" => self.receive.into(),
            "topology" => self.topology.to_string().into(),
            "latencies" => self.latencies.as_ref().map(ToString::to_string).into(),
            "sites" => self.latencies.as_ref().map(|_| self.sites.to_string()).into(),
            "transit" => (!self.transit_is_unused()).then_some(self.transit.mean).into(),
            "delay" => self.transit.shape.to_string().into(),
            "multicast" => if self.multicast { "on" } else { "off" }.into(),
            "slow" => self.slow.as_ref().map(ToString::to_string).into(),
            "order" => if self.fifo { "fifo" } else { "any" }.into(),
            "workload" => self.workload.to_string().into(),
            "clients" => self.clients.value(),
            "group-choice" => self.group_choice.to_string().into(),
            "entries" => self.entries.into(),
            "warmup" => self.warmup.into(),
            "loss" => self.faults.loss.into(),
            "lose" => joined(&self.faults.lose, ",").into(),
            "duplicate" => self.faults.duplicate.into(),
            "reorder" => self.faults.reorder.into(),
            "fault" => joined(&self.faults.verbs, "; ").into(),
            "timers" => if self.timers_run(info) { "on" } else { "off" }.into(),
            "defect" => self.setting.defect.clone().into(),
            _ => Cell::Nothing,
        }
    }

    /// Refuses a plan that the algorithm of this name cannot run, in one line that says what to do.
    pub(crate) fn validate_for(&self, name: &str) -> Result<(), SettingError> {
        let system = registry::system(name, &self.setting)?;
        self.validate(system.info())?;
        memory::refuse_too_large(&system)
    }

    /// Refuses a plan that makes no sense, in one line that says what to do.
    pub fn validate(&self, info: &Info) -> Result<(), SettingError> {
        let refuse = |why: String| Err(SettingError(why));
        self.setting.validate(info)?;
        if !(self.rate >= LEAST_RATE && self.rate <= MOST_RATE) {
            let hint = "it is how often a client asks per unit of time";
            return refuse(format!(
                "rate must be between {LEAST_RATE} and {MOST_RATE}, not {}: {hint}",
                Typed(self.rate)
            ));
        }
        self.section.validate("cs")?;
        self.transit.validate("transit")?;
        Span::constant(self.send).validate("send")?;
        Span::constant(self.receive).validate("receive")?;
        if self.entries == 0 {
            return refuse("entries must be at least 1, not 0".to_string());
        }
        if self.entries.saturating_add(self.warmup) > MOST_ENTRIES {
            let (entries, warmup) = (self.entries, self.warmup);
            return refuse(format!(
                "entries and warmup must be at most {MOST_ENTRIES} together, not {entries} and {warmup}"
            ));
        }
        self.clients.validate(self.setting.nodes)?;
        if !self.clients.is_one_each() && self.rounds() {
            return refuse("workloads burst, once and single have one client per node".to_string());
        }
        self.workload.validate(self.setting.nodes)?;
        self.validate_routes()?;
        if let Some(slow) = &self.slow {
            slow.validate(self.setting.nodes)?;
            if info.relies_on_pace() {
                let why = "is only right where all nodes are equally fast";
                return refuse(format!("{} {why}: leave out slow", info.name));
            }
        }
        if let Workload::OnOff(on, _) = self.workload
            && on * self.rate < SHORTEST_ON
        {
            return refuse(format!(
                "clients that are on for {on} hardly ever ask: make that or the rate larger"
            ));
        }
        let length = self.expected_length();
        if length > LONGEST_RUN {
            let hint = "give all times in a larger unit, or take fewer entries";
            return refuse(format!(
                "this run would last about {length:.0} units, more than the clock has: {hint}"
            ));
        }
        let constant = self.section.shape == Shape::Constant && self.transit.shape == Shape::Constant;
        if info.relies_on_pace() && !constant {
            let why = "is only right where messages and critical sections take constant times";
            return refuse(format!("{} {why}: leave delay and section at constant", info.name));
        }
        self.faults.validate(self.setting.nodes)
    }

    /// The conditions that the properties allow for. They are faulty if messages may be lost or duplicated,
    /// nodes may crash, or timers may take slow messages for lost.
    pub fn conditions(&self, info: &Info) -> Conditions {
        let suspects = info.needs.timing == Timing::BoundsForRecovery;
        let faulty = self.faults.lossy() || suspects && self.timers_run(info);
        if faulty { Conditions::Faulty } else { Conditions::Reliable }
    }

    /// How many clients enter in a run, the warm-up included.
    pub fn entries_of_a_run(&self) -> u64 {
        match self.workload {
            Workload::Once(_) => self.workload.askers(self.setting.nodes).len() as u64,
            _ => self.warmup.saturating_add(self.entries),
        }
    }

    /// Whether clients make requests in rounds, each after the previous one is over.
    pub(crate) fn rounds(&self) -> bool {
        matches!(self.workload, Workload::Burst | Workload::Once(_) | Workload::Single)
    }

    /// Whether all transit times are given by the latencies.
    fn transit_is_unused(&self) -> bool {
        self.latencies.as_ref().is_some_and(Latencies::is_complete)
    }

    /// About how many units a run lasts; for most algorithms an overestimate.
    fn expected_length(&self) -> f64 {
        let nodes = f64::from(self.setting.nodes);
        let clients = || self.clients.total(self.workload.askers(self.setting.nodes));
        let (asking, stretch) = match &self.workload {
            Workload::Single => (1.0, 1.0),
            Workload::Burst | Workload::Once(_) => (nodes, 1.0),
            Workload::OnOff(on, off) => (clients(), (on + off) / on),
            Workload::Only(_) | Workload::Think | Workload::Steady | Workload::Skewed(_) => (clients(), 1.0),
        };
        // As if every client waited for the previous one, and each for a path through a tree.
        let factor = self.slow.as_ref().map_or(1.0, |slow| slow.factor);
        let handling = (self.send + self.receive) * factor;
        let messages = 2.0 * (nodes.log2() + 1.0) * (handling + self.longest_transit().mean);
        let each = stretch / self.rate / asking + self.section.mean + messages;
        (self.entries + self.warmup) as f64 * each
    }

    /// Whether timers run.
    pub fn timers_run(&self, info: &Info) -> bool {
        let needed = !self.faults.is_empty() || info.relies_on_timers() || info.relies_on_pace();
        self.timers.unwrap_or(needed)
    }
}

fn number(name: &str, value: &str) -> Result<f64, SettingError> {
    let wrong = || SettingError(format!("{name} takes a number, not '{value}': write, for example, 0.5"));
    value.trim().parse().map_err(|_| wrong())
}

fn whole<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, SettingError> {
    let wrong =
        || SettingError(format!("{name} takes a whole number, not '{value}': write, for example, 10"));
    value.trim().parse().map_err(|_| wrong())
}

/// These in one text, if there are any.
fn joined<T: ToString>(items: &[T], separator: &str) -> Option<String> {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| texts.join(separator))
}

/// The index of the word.
fn one_of<const N: usize>(name: &str, value: &str, words: [&str; N]) -> Result<usize, SettingError> {
    let found = words.iter().position(|word| *word == value);
    found.ok_or_else(|| SettingError(format!("{name} is {}, not '{value}'", words.join(" or "))))
}

fn unknown(info: &Info, name: &str) -> SettingError {
    let parameters = PARAMETERS.iter().map(|parameter| parameter.name);
    let options = info.options.iter().map(|option| option.name);
    let names: Vec<&str> = parameters.chain(options).collect();
    SettingError(format!("{} has no parameter '{name}'; there are {}", info.name, names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plan_says_of_itself_makes_the_same_plan() {
        let info = algorithms::registry::info("bulgannawar-vaidya").unwrap();
        let mut plan = Plan::of(info);
        let values = [
            ("nodes", "7"),
            ("rate", "0.3"),
            ("section", "uniform"),
            ("delay", "heavy-tailed"),
            ("latencies", "round-trip,a,b;a,1,80;b,60,1"),
            ("sites", "3,4"),
            ("order", "any"),
            ("workload", "on-off:2:0.5"),
            ("group-choice", "zipf:1.5"),
            ("reorder", "0.25"),
            ("lose", "TOKEN:5,REQUEST"),
            ("fault", "pause any at 3 for 1.5 every 10"),
            ("timers", "off"),
            ("defect", "holding-not-set"),
            ("choose", "last-seen"),
            ("inform", "2"),
        ];
        for (name, value) in values {
            plan.set(info, name, value).unwrap();
        }
        let mut again = Plan::of(info);
        for column in plan.parameters(info) {
            if column.value == Cell::Nothing {
                assert_eq!(plan.setting.option(&column.name), None);
                continue;
            }
            again.set(info, &column.name, &column.value.to_string()).unwrap();
        }
        assert_eq!(plan, again);
    }
}
