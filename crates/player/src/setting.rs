//! What to play: the setting that a page sends, checked and completed.

use std::collections::BTreeMap;

use algorithms::info::Clients;
use algorithms::{Conditions, Erased, Info, Kind, System, World, registry};
use serde::{Deserialize, Serialize};

use crate::limits::{MOST_CLIENTS, MOST_NODES, MOST_TOKENS};
use crate::refusal::Refusal;

/// What to play. What is left out has the default of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The algorithm's name.
    pub algorithm: String,
    /// The number of nodes.
    #[serde(default)]
    pub nodes: Option<u64>,
    /// How many may be inside at once.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// The number of groups.
    #[serde(default)]
    pub groups: Option<u64>,
    /// How many clients each node has.
    #[serde(default)]
    pub clients: Option<u64>,
    /// Options of the algorithm, by name.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// A defect to put back.
    #[serde(default)]
    pub defect: Option<String>,
    /// In which order messages between two nodes may arrive.
    #[serde(default)]
    pub links: Option<Links>,
    /// Whether the properties allow for losses, duplicates and crashes.
    #[serde(default)]
    pub faulty: Option<bool>,
    /// Decides what the algorithm picks, and what a run does by itself.
    #[serde(default)]
    pub seed: u64,
}

/// In which order messages between two nodes may arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// As they were sent.
    Fifo,
    /// In any order.
    Any,
}

/// A setting that the algorithm has accepted.
#[derive(Clone, Debug)]
pub(crate) struct Game {
    /// The setting, with nothing left out.
    pub(crate) setting: Setting,
    pub(crate) system: System<Erased>,
    pub(crate) conditions: Conditions,
    pub(crate) fifo: bool,
    pub(crate) clients: u32,
}

impl Setting {
    /// The default setting of an algorithm.
    pub fn of(algorithm: &str) -> Setting {
        Setting {
            algorithm: algorithm.to_string(),
            nodes: None,
            tokens: None,
            groups: None,
            clients: None,
            options: BTreeMap::new(),
            defect: None,
            links: None,
            faulty: None,
            seed: 1,
        }
    }

    /// The setting of a system, as the drivers have it.
    pub(crate) fn of_system(algorithm: &str, setting: &algorithms::Setting) -> Setting {
        Setting {
            nodes: Some(setting.nodes.into()),
            tokens: Some(setting.tokens.into()),
            groups: Some(setting.groups.into()),
            options: setting.options.iter().cloned().collect(),
            defect: setting.defect.clone(),
            ..Setting::of(algorithm)
        }
    }

    /// The same with nothing left out.
    pub fn completed(&self) -> Result<Setting, Refusal> {
        Ok(self.accept()?.setting)
    }

    /// The setting as the drivers have it. Numbers are within the bounds.
    fn as_driven(&self, info: &Info) -> Result<algorithms::Setting, Refusal> {
        let number = |what: &str, given: Option<u64>, usual: u64, most: u64| {
            let given = given.unwrap_or(usual);
            if given > most { Err(Refusal::bounds(what, given, most)) } else { Ok(given as u32) }
        };
        let tokens = if info.kind == Kind::KMutex { 2 } else { 1 };
        let groups = if info.kind == Kind::GroupMutex { 2 } else { 1 };
        Ok(algorithms::Setting {
            nodes: number("nodes", self.nodes, 6, MOST_NODES)?,
            tokens: number("tokens", self.tokens, tokens, MOST_TOKENS)?,
            groups: number("groups", self.groups, groups, 63)?,
            options: self.options.clone().into_iter().collect(),
            defect: self.defect.clone(),
        })
    }

    /// Refuses a setting that cannot be played.
    pub(crate) fn accept(&self) -> Result<Game, Refusal> {
        // The description with default options is enough for the sizes.
        let driven = self.as_driven(registry::info(&self.algorithm)?)?;
        let system = registry::system(&self.algorithm, &driven)?;
        let info = system.info();
        let many = info.clients == Clients::Many;
        let clients = self.clients.unwrap_or(if many { 2 } else { 1 });
        let most = if many { MOST_CLIENTS } else { 1 };
        if clients == 0 || clients > most {
            return Err(Refusal::bounds("clients of a node", clients, most));
        }
        let needs = info.needs;
        let weakest = if needs.fifo(driven.tokens) { Links::Fifo } else { Links::Any };
        let links = self.links.unwrap_or(weakest);
        let tolerates = needs.tolerates_loss || needs.tolerates_duplicates || needs.tolerates_crashes;
        let faulty = self.faulty.unwrap_or(tolerates);
        let setting = Setting {
            clients: Some(clients),
            links: Some(links),
            faulty: Some(faulty),
            seed: self.seed,
            ..Setting::of_system(&self.algorithm, &driven)
        };
        Ok(Game {
            setting,
            system,
            conditions: if faulty { Conditions::Faulty } else { Conditions::Reliable },
            fifo: links == Links::Fifo,
            clients: clients as u32,
        })
    }
}

impl Game {
    /// The system at its start.
    pub(crate) fn start(&self) -> World<Erased> {
        World::start(self.system.clone(), self.conditions)
    }
}
