//! What can be played: every algorithm with its options, defects and notes.

use algorithms::info::{Clients, Order, Tokens};
use algorithms::{Info, Kind, Property, registry};
use serde::Serialize;

use crate::rules::{self, Rule};
use crate::setting::Setting;

/// An algorithm that can be played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Playable {
    /// Its name.
    pub name: &'static str,
    /// A short description.
    pub title: &'static str,
    /// `mutex`, `k-mutex` or `group-mutex`.
    pub kind: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// What it costs.
    pub cost: &'static str,
    /// `none`, `one`, or `per-slot`: one for each that may be inside.
    pub tokens: &'static str,
    /// `ring` or `tree`: how its nodes are best drawn.
    pub shape: &'static str,
    /// Whether a node has several clients, which may cancel.
    pub many_clients: bool,
    /// What it bears.
    pub bears: Bears,
    /// Its options.
    pub options: Vec<PlayableOption>,
    /// The names of its timers, and what happens when each expires.
    pub timers: Vec<(&'static str, &'static str)>,
    /// Notes that a search can look for.
    pub notes: Vec<&'static str>,
    /// The names of its defects; the gallery has the rest.
    pub defects: Vec<&'static str>,
    /// The names of its properties.
    pub properties: Vec<&'static str>,
    /// What is played unless a page says otherwise.
    pub setting: Setting,
    /// Its rules in words.
    pub rules: Vec<Rule>,
}

/// What an algorithm bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bears {
    /// Messages that overtake each other.
    pub any_order: bool,
    /// Messages that are lost.
    pub loss: bool,
    /// Messages that arrive twice.
    pub duplicates: bool,
    /// Nodes that crash and restart.
    pub crashes: bool,
    /// Messages and sections that take any time.
    pub any_time: bool,
}

/// An option of an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlayableOption {
    /// Its name.
    pub name: &'static str,
    /// Its values, the default first; `a number` alone if it is one.
    pub values: Vec<&'static str>,
    /// What it decides.
    pub help: &'static str,
}

/// Every algorithm, in the order of lists. `partitioned(NAME)` can be played as well.
pub fn catalogue() -> Vec<Playable> {
    registry::ALL.iter().map(playable).collect()
}

fn playable(info: &'static Info) -> Playable {
    let setting = Setting::of(info.name);
    let game = setting.accept();
    let conditions = game.as_ref().map(|game| game.conditions);
    let conditions = conditions.unwrap_or(algorithms::Conditions::Reliable);
    let needs = info.needs;
    Playable {
        name: info.name,
        title: info.title,
        kind: match info.kind {
            Kind::Mutex => "mutex",
            Kind::KMutex => "k-mutex",
            Kind::GroupMutex => "group-mutex",
        },
        source: info.source,
        cost: info.cost,
        tokens: match info.tokens {
            Tokens::None => "none",
            Tokens::One => "one",
            Tokens::PerSlot => "per-slot",
        },
        shape: rules::shape(info),
        many_clients: info.clients == Clients::Many,
        bears: Bears {
            any_order: needs.order == Order::Any,
            loss: needs.tolerates_loss,
            duplicates: needs.tolerates_duplicates,
            crashes: needs.tolerates_crashes,
            any_time: !info.relies_on_pace(),
        },
        options: info
            .options
            .iter()
            .map(|option| PlayableOption {
                name: option.name,
                values: option.values.to_vec(),
                help: option.help,
            })
            .collect(),
        timers: info.timers.iter().map(|timer| (timer.name, timer.when_it_expires)).collect(),
        notes: info.sometimes.to_vec(),
        defects: info.defects.iter().map(|defect| defect.name).collect(),
        properties: Property::ALL
            .into_iter()
            .filter(|property| property.applies(info, conditions))
            .map(Property::name)
            .collect(),
        setting: game.map_or(setting, |game| game.setting),
        rules: rules::of(info.name),
    }
}
