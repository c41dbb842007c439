//! What a user asks for: sizes, options and perhaps a defect, before an algorithm has accepted them.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::Groups;
use crate::info::{Allowance, Clients, Info, Kind, OptionInfo, Scope};

/// Sizes and options of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Setting {
    /// The number of nodes.
    pub nodes: u32,
    /// How many may be inside at once (k).
    pub tokens: u32,
    /// The number of groups.
    pub groups: u32,
    /// Options other than the default, as (name, value).
    pub options: Vec<(String, String)>,
    /// A defect to enable.
    pub defect: Option<String>,
}

/// A system, its clients' behaviour and its faults: what a driver runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Sizes, options, defect.
    pub setting: Setting,
    /// What may happen.
    pub allowance: Allowance,
}

impl Case {
    /// The case that a scope describes.
    pub fn of(scope: &Scope, defect: Option<&str>) -> Case {
        Case { setting: Setting::of(scope, defect), allowance: scope.allowance }
    }

    /// Whether messages may overtake each other.
    pub fn reorders(&self, info: &Info) -> bool {
        self.allowance.reorder.unwrap_or(!info.needs.fifo(self.setting.tokens))
    }

    /// Every set of groups that a client may request.
    pub fn groups_wanted(&self) -> Vec<Groups> {
        let groups = self.setting.groups;
        if self.allowance.any_of {
            Groups::all_sets(groups).collect()
        } else {
            (0..groups).map(Groups::one).collect()
        }
    }
}

/// Why a setting is refused, in one line for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError(pub String);

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for SettingError {}

impl Setting {
    /// More nodes than this are taken for a mistake.
    pub const MOST_NODES: u32 = 1_000_000;

    /// More tokens than this are taken for a mistake where there may be more tokens than nodes.
    pub const MOST_TOKENS: u32 = 65_536;

    /// A setting with this many nodes and tokens, one group and default options.
    pub fn new(nodes: u32, tokens: u32) -> Setting {
        Setting { nodes, tokens, groups: 1, options: Vec::new(), defect: None }
    }

    /// The setting that a scope describes.
    pub fn of(scope: &Scope, defect: Option<&str>) -> Setting {
        Setting {
            nodes: scope.nodes,
            tokens: scope.tokens,
            groups: scope.groups,
            options: Vec::new(),
            defect: defect.map(ToString::to_string),
        }
        .with(scope.options)
    }

    /// The same with these options, as (name, value), in addition.
    pub fn with(mut self, options: &[(&str, &str)]) -> Setting {
        self.options.extend(options.iter().map(|(name, value)| (name.to_string(), value.to_string())));
        self
    }

    /// Refuses a setting that no algorithm of this kind can serve, unknown options and unknown defects.
    pub fn validate(&self, info: &Info) -> Result<(), SettingError> {
        let name = info.name;
        let refuse = |why: String| Err(SettingError(why));
        if self.nodes == 0 {
            return refuse("there must be at least one node: try --nodes 3".to_string());
        }
        if self.nodes > Setting::MOST_NODES {
            return refuse(format!("there can be at most {} nodes", Setting::MOST_NODES));
        }
        let most_tokens = if info.clients == Clients::Many { Setting::MOST_TOKENS } else { self.nodes };
        if self.tokens == 0 || self.tokens > most_tokens {
            let (k, n) = (self.tokens, self.nodes);
            let most = if info.clients == Clients::Many {
                format!("{most_tokens}")
            } else {
                format!("the number of nodes ({n})")
            };
            let hint = k.clamp(1, most_tokens);
            return refuse(format!("tokens must be between 1 and {most}, not {k}: try --tokens {hint}"));
        }
        match info.kind {
            Kind::Mutex if self.tokens != 1 => {
                let why = format!("{name} lets one in at a time (a mutex): tokens must be 1");
                return refuse(format!(
                    "{why}; for k tokens see 'tokenwood algorithms' or partitioned({name})"
                ));
            }
            Kind::GroupMutex if self.tokens != 1 => {
                let why = format!("{name} lets one group in at a time, any number of its clients");
                return refuse(format!("{why}: leave --tokens out"));
            }
            _ => (),
        }
        if self.groups == 0 || self.groups >= Groups::MOST {
            return refuse(format!("groups must be between 1 and {}", Groups::MOST - 1));
        }
        if info.kind != Kind::GroupMutex && self.groups != 1 {
            return refuse(format!("{name} has no groups: groups must be 1"));
        }
        for (option, value) in &self.options {
            let Some(choice) = info.options.iter().find(|choice| choice.name == option) else {
                let known: Vec<&str> = info.options.iter().map(|choice| choice.name).collect();
                let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
                return refuse(format!("{name} has no option '{option}'; its options: {known}"));
            };
            if !choice.takes(value) {
                return refuse(format!(
                    "option '{option}' takes {}, not '{value}'",
                    choice.values.join(" or ")
                ));
            }
        }
        match &self.defect {
            Some(defect) if !info.defects.iter().any(|known| known.name == defect) => refuse(format!(
                "{name} has no defect '{defect}'; 'tokenwood check --list-defects' lists what there is"
            )),
            _ => Ok(()),
        }
    }

    /// The value of an option, if it is set.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
    }

    /// All options of this algorithm with the values that they have, also where nothing is set.
    pub fn effective_options(&self, info: &Info) -> Vec<(&'static str, String)> {
        let implied = |name: &str| {
            let all =
                info.options.iter().flat_map(|other| other.implies.iter().map(move |rule| (other, rule)));
            let set = |other: &OptionInfo| self.option(other.name).unwrap_or(other.default);
            all.filter(|(other, (value, option, _))| *option == name && set(other) == *value)
                .map(|(_, (_, _, default))| *default)
                .next()
        };
        let value = |option: &OptionInfo| {
            self.option(option.name).or_else(|| implied(option.name)).unwrap_or(option.default).to_string()
        };
        info.options.iter().map(|option| (option.name, value(option))).collect()
    }

    /// The value of an option that is a number.
    pub fn number(&self, name: &str, default: u32) -> u32 {
        self.option(name).and_then(|value| value.parse().ok()).unwrap_or(default)
    }
}
