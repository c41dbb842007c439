//! Which algorithms, with which options, `tokenwood recommend` tries.

use algorithms::info::OptionInfo;
use algorithms::{Info, Kind, Setting, registry};
use simulator::Plan;
use simulator::topology::Topology;

/// An option and a value of it.
type Value = (&'static str, &'static str);

/// An algorithm with options to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Its name, or partitioned(NAME).
    pub(crate) algorithm: String,
    /// Options other than the default.
    pub(crate) options: Vec<Value>,
    /// How many tokens it is asked for.
    pub(crate) tokens: u32,
}

impl Candidate {
    /// Its options, and no size.
    pub(crate) fn setting(&self) -> Setting {
        Setting::new(1, 1).with(&self.options)
    }

    /// Name and options, for people.
    pub(crate) fn label(&self) -> String {
        let options = self.options.iter().map(|(name, value)| format!(" {name}={value}"));
        self.algorithm.clone() + &options.collect::<String>()
    }
}

/// What each node of these knows grows with the number of nodes, so the whole grows with its square.
pub(crate) const ALL_KNOWING: &[&str] = &[
    "carvalho-roucairol",
    "drs-gme",
    "k-majority",
    "lamport",
    "lodha-kshemkalyani",
    "ra1",
    "raymond-k",
    "ricart-agrawala",
    "singhal-dynamic",
    "singhal-heuristic",
    "srimani-reddy",
    "suzuki-kasami",
];

/// The most nodes that those are tried with.
pub(crate) const MOST_FOR_ALL_KNOWING: u32 = 3000;

/// More combinations of options than this, and only one is changed at a time.
const MOST_VARIANTS: usize = 12;

/// Numbers worth trying beside the default, for options that are numbers.
const NUMBERS: &[Value] = &[("inform", "2"), ("collect", "0")];

/// Values that no load makes sensible: a line or chain has the longest paths of all trees; a tree that only begins as a
/// cube soon has another shape; behaviour that is drawn is for searches; nodes that all begin with the same token wait for
/// it; a room that is not closed saves messages at the cost of the waiters of other groups; forgetting a room saves memory
/// only; only writers hand it off; whom to inform matters only to nodes that inform; when a captain's timer runs matters
/// only after a loss, and little then; and what forest did before it was fair is there to compare with.
const SENSELESS: &[Value] = &[
    ("shape", "line"),
    ("tree", "chain"),
    ("tree", "cube"),
    ("behaviour", "any"),
    ("first", "same"),
    ("close", "no"),
    ("forget", "yes"),
    ("hand-off", "yes"),
    ("whom", "ring"),
    ("whom", "askers"),
    ("watch", "start"),
    ("share", "nodes"),
    ("ask", "at-once"),
    ("balance", "no"),
];

/// Values that are of use only together with another one.
const ONLY_WITH: &[(Value, Value)] = &[(("token", "straight"), ("release", "queue"))];

/// What is sensible all the same where the links of the network have that shape.
const SENSIBLE_ON: &[(Topology, Value)] = &[
    (Topology::Line, ("shape", "line")),
    (Topology::Line, ("tree", "chain")),
    (Topology::Ring, ("shape", "line")),
    (Topology::Ring, ("tree", "chain")),
    (Topology::Hypercube, ("tree", "cube")),
];

/// Options that stand for several others, and are not combined with them.
const ALONE: &[&str] = &["tuning"];

/// All candidates for this load, in the order of the registry.
pub(crate) fn all(plan: &Plan) -> Vec<Candidate> {
    let setting = &plan.setting;
    let mut found = Vec::new();
    for info in registry::ALL {
        let name = match info.kind {
            _ if setting.groups > 1 && info.kind != Kind::GroupMutex => continue,
            Kind::GroupMutex if setting.groups == 1 => continue,
            Kind::Mutex if setting.tokens > 1 => format!("partitioned({})", info.name),
            _ => info.name.to_string(),
        };
        for options in variants(info, setting.tokens, plan.topology) {
            found.push(Candidate { algorithm: name.clone(), options, tokens: setting.tokens });
        }
    }
    found
}

/// The combinations of options that may matter; the first is the default.
fn variants(info: &Info, tokens: u32, topology: Topology) -> Vec<Vec<Value>> {
    // With one token there is nothing to choose.
    let options: Vec<&OptionInfo> =
        info.options.iter().filter(|option| tokens > 1 || option.name != "choose").collect();
    let (alone, combined): (Vec<&OptionInfo>, Vec<&OptionInfo>) =
        options.into_iter().partition(|option| ALONE.contains(&option.name));
    let other_values = |option| other_values(option, topology);
    let others: Vec<Vec<(&str, &str)>> = combined.into_iter().map(other_values).collect();
    let mut all = vec![Vec::new()];
    for values in &others {
        let with = |value: &Value| {
            let changed = all.iter().map(|variant: &Vec<_>| [variant.as_slice(), &[*value]].concat());
            changed.collect::<Vec<_>>()
        };
        let more: Vec<_> = values.iter().flat_map(with).collect();
        all.extend(more);
    }
    if all.len() > MOST_VARIANTS {
        all = vec![Vec::new()];
        all.extend(others.into_iter().flatten().map(|value| vec![value]));
    }
    all.extend(alone.into_iter().flat_map(other_values).map(|value| vec![value]));
    let lacks = |variant: &[(&str, &str)]| {
        ONLY_WITH.iter().any(|(value, with)| variant.contains(value) && !variant.contains(with))
    };
    all.retain(|variant| !lacks(variant));
    all
}

/// What an option can be beside its default.
fn other_values(option: &OptionInfo, topology: Topology) -> Vec<Value> {
    if option.values == OptionInfo::NUMBER {
        return NUMBERS.iter().filter(|(name, _)| *name == option.name).copied().collect();
    }
    let values = option.values.iter().skip(1).map(|value| (option.name, *value));
    values.filter(|pair| !SENSELESS.contains(pair) || SENSIBLE_ON.contains(&(topology, *pair))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(nodes: u32, tokens: u32, groups: u32) -> Vec<String> {
        let setting = Setting { groups, ..Setting::new(nodes, tokens) };
        all(&Plan { setting, ..Plan::default() }).iter().map(Candidate::label).collect()
    }

    #[test]
    fn a_tree_like_the_network_is_tried() {
        let on = |topology| {
            let plan = Plan { setting: Setting::new(8, 1), topology, ..Plan::default() };
            all(&plan).iter().map(Candidate::label).collect::<Vec<_>>()
        };
        assert!(on(Topology::Line).contains(&"raymond-tree shape=line".to_string()));
        assert!(!on(Topology::Tree).contains(&"raymond-tree shape=line".to_string()));
        assert!(on(Topology::Hypercube).iter().any(|label| label.contains("tree=cube")));
        assert!(
            on(Topology::Full).iter().all(|label| !label.contains("cube") || label.contains("open-cube"))
        );
    }

    #[test]
    fn each_kind_of_load_has_its_candidates() {
        let one = labels(10, 1, 1);
        assert!(one.contains(&"naimi-trehel".to_string()));
        assert!(one.contains(&"bulgannawar-vaidya inform=2".to_string()));
        assert!(one.iter().all(|label| !label.contains("choose") && !label.contains("partitioned")));
        let several = labels(10, 3, 1);
        assert!(several.contains(&"bulgannawar-vaidya choose=last-seen inform=2".to_string()));
        assert!(several.contains(&"bulgannawar-vaidya tuning=balanced".to_string()));
        assert!(several.contains(&"makki release=queue token=straight".to_string()));
        assert!(!several.contains(&"makki token=straight".to_string()), "it is refused");
        assert!(several.contains(&"partitioned(naimi-trehel)".to_string()));
        assert!(several.contains(&"partitioned(neilsen-mizuno) shape=star".to_string()));
        assert!(several.iter().all(|label| !label.contains("shape=line") && !label.contains("gme")));
        assert_eq!(labels(10, 1, 3), ["drs-gme", "drs-gme ask=all", "ra1", "rooms", "rooms queue=arrival"]);
    }

    #[test]
    fn every_algorithm_is_tried_somewhere() {
        let all = [labels(10, 1, 1), labels(10, 1, 2)].concat();
        for info in registry::ALL {
            assert!(all.iter().any(|label| label == info.name), "{}", info.name);
        }
    }
}
