//! The named properties. They are defined once, and every driver checks the same ones.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Grant, Group, NodeId};
use crate::census::{Census, RequestCount, SlotCount};
use crate::info::{Clients, Conditions, Info, Kind, Tokens};

/// A claim about a system that must always hold, or hold at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// Never more than k clients are inside.
    AtMostKInside,
    /// No slot is held by two clients, and none has two tokens (only the former where messages may arrive
    /// twice).
    OneOfEachSlot,
    /// The fence of an entry is higher than that of the previous entry by the same slot. Clients that enter
    /// the same opening of a room share its fence.
    FencesRise,
    /// All clients inside are in the same group.
    OneGroupAtATime,
    /// No token appears or disappears. Where messages may be lost or nodes crash: running nodes never have
    /// more tokens than there should be.
    TokensConserved,
    /// A client enters only after it made a request, and only in a group that it accepts.
    NoEntryWithoutRequest,
    /// A client inside does not enter again.
    NoDoubleEntry,
    /// A node has an outstanding request if and only if that is in exactly one place. (Where nodes have one
    /// client: if and only if that client waits.)
    OnePlacePerRequest,
    /// Nothing happens that the algorithm's own reasoning rules out.
    NothingImpossible,
    /// When nothing more can happen, no client waits.
    NobodyLeftWaiting,
    /// From every reachable state, a state is reachable in which every client has been served.
    EndReachable,
}

impl Property {
    /// All of them, in the order of reports.
    pub const ALL: [Property; 11] = [
        Property::AtMostKInside,
        Property::OneOfEachSlot,
        Property::FencesRise,
        Property::OneGroupAtATime,
        Property::TokensConserved,
        Property::NoEntryWithoutRequest,
        Property::NoDoubleEntry,
        Property::OnePlacePerRequest,
        Property::NothingImpossible,
        Property::NobodyLeftWaiting,
        Property::EndReachable,
    ];

    /// The name in reports, traces and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Property::AtMostKInside => "at-most-k-inside",
            Property::OneOfEachSlot => "one-of-each-slot",
            Property::FencesRise => "fences-rise",
            Property::OneGroupAtATime => "one-group-at-a-time",
            Property::TokensConserved => "tokens-conserved",
            Property::NoEntryWithoutRequest => "no-entry-without-request",
            Property::NoDoubleEntry => "no-double-entry",
            Property::OnePlacePerRequest => "one-place-per-request",
            Property::NothingImpossible => "nothing-impossible",
            Property::NobodyLeftWaiting => "nobody-left-waiting",
            Property::EndReachable => "end-reachable",
        }
    }

    /// Whether a search through states can decide it. States do not keep the fences of earlier entries.
    pub const fn is_decided_by_search(self) -> bool {
        !matches!(self, Property::FencesRise)
    }

    /// The property of this name.
    pub fn named(name: &str) -> Option<Property> {
        Property::ALL.into_iter().find(|property| property.name() == name)
    }

    /// Whether it applies to the given algorithm under these conditions.
    pub fn applies(self, info: &Info, conditions: Conditions) -> bool {
        match self {
            Property::AtMostKInside => info.kind != Kind::GroupMutex,
            Property::OneOfEachSlot => info.clients == Clients::Many && info.kind != Kind::GroupMutex,
            Property::FencesRise => info.clients == Clients::Many,
            Property::OneGroupAtATime => info.kind == Kind::GroupMutex,
            Property::TokensConserved => info.tokens != Tokens::None,
            Property::OnePlacePerRequest => info.unique_requests && conditions == Conditions::Reliable,
            _ => true,
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A property that does not hold, and what was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property.
    pub property: Property,
    /// What was observed, in one line.
    pub detail: String,
}

impl Violation {
    /// A violation of this property, with what was observed.
    pub fn new(property: Property, detail: String) -> Violation {
        Violation { property, detail }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.detail)
    }
}

/// The highest fence of each slot so far, for drivers that see entries in the order in which they happen.
#[derive(Clone, Debug)]
pub struct Fences {
    /// Whether the algorithm has fences.
    fenced: bool,
    /// Whether consecutive entries may share a fence if they are in the same group.
    shared: bool,
    highest: BTreeMap<u32, (u64, Group)>,
}

impl Fences {
    /// No entry so far.
    pub fn new(info: &Info) -> Fences {
        let fenced = Property::FencesRise.applies(info, Conditions::Reliable);
        Fences { fenced, shared: info.kind == Kind::GroupMutex, highest: BTreeMap::new() }
    }

    /// Records an entry. Returns the violation if its fence is not high enough.
    #[inline]
    pub fn violated(&mut self, me: NodeId, grant: &Grant) -> Option<Violation> {
        if !self.fenced {
            return None;
        }
        let before = self.highest.insert(grant.slot, (grant.fence, grant.group));
        let (fence, group) = before.unwrap_or((0, 0));
        if grant.fence > fence || (self.shared && grant.fence == fence && grant.group == group) {
            return None;
        }
        let detail =
            format!("node {me} enters by slot {} with fence {} after {fence}", grant.slot, grant.fence);
        Some(Violation::new(Property::FencesRise, detail))
    }
}

/// The parameters of the properties over a [`Census`].
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    group_mutex: bool,
    allowed: u32,
    tokens: Option<u32>,
    conditions: Conditions,
    unique_requests: bool,
    slots: bool,
    only: Option<Property>,
}

impl Terms {
    /// For an algorithm with this many tokens under these conditions.
    pub fn new(info: &Info, tokens: u32, conditions: Conditions) -> Terms {
        Terms {
            group_mutex: info.kind == Kind::GroupMutex,
            allowed: tokens,
            tokens: match info.tokens {
                Tokens::None => None,
                Tokens::One => Some(1),
                Tokens::PerSlot => Some(tokens),
            },
            conditions,
            unique_requests: Property::OnePlacePerRequest.applies(info, conditions),
            slots: Property::OneOfEachSlot.applies(info, conditions),
            only: None,
        }
    }

    /// Restricts the check to this property.
    pub fn only(self, property: Property) -> Terms {
        Terms { only: Some(property), ..self }
    }

    /// Whether a property is checked.
    pub fn asks(&self, property: Property) -> bool {
        self.only.is_none_or(|only| only == property)
    }

    /// The first property that the counts of a whole system violate.
    #[inline]
    pub fn violated(&self, census: &Census) -> Option<Property> {
        if self.group_mutex {
            let groups = census.inside_by_group.iter().filter(|&&inside| inside > 0).count();
            if groups > 1 && self.asks(Property::OneGroupAtATime) {
                return Some(Property::OneGroupAtATime);
            }
        } else if census.inside > self.allowed && self.asks(Property::AtMostKInside) {
            return Some(Property::AtMostKInside);
        }
        let faulty = self.conditions == Conditions::Faulty;
        // A token that was duplicated in the network does no harm before both copies have arrived.
        let twice = |slot: &SlotCount| slot.inside > 1 || (slot.tokens > 1 && !faulty);
        if self.slots && self.asks(Property::OneOfEachSlot) && census.slots.iter().any(twice) {
            return Some(Property::OneOfEachSlot);
        }
        if let Some(tokens) = self.tokens {
            let all = census.tokens_held + census.tokens_moving;
            let wrong = if faulty { census.tokens_held > tokens } else { all != tokens };
            if wrong && self.asks(Property::TokensConserved) {
                return Some(Property::TokensConserved);
            }
        }
        let lost = self.unique_requests && census.has_misplaced_request();
        (lost && self.asks(Property::OnePlacePerRequest)).then_some(Property::OnePlacePerRequest)
    }

    /// What was observed when a property of the counts is violated, in one line.
    pub fn detail(&self, property: Property, census: &Census) -> String {
        match property {
            Property::AtMostKInside => format!("{} inside, {} allowed", census.inside, self.allowed),
            Property::OneOfEachSlot => {
                let counted = |(slot, count): (usize, &SlotCount)| {
                    format!("slot {slot}: clients {}, tokens {}", count.inside, count.tokens)
                };
                let slots: Vec<String> = census.slots.iter().enumerate().map(counted).collect();
                slots.join("; ")
            }
            Property::OneGroupAtATime => format!("inside by group: {:?}", census.inside_by_group),
            Property::TokensConserved => format!(
                "{} tokens held and {} under way, there should be {}",
                census.tokens_held,
                census.tokens_moving,
                self.tokens.unwrap_or(0)
            ),
            Property::OnePlacePerRequest => {
                let wrong = |&node: &usize| census.requests[node].asking != census.requests[node].places;
                let node = (0..census.requests.len()).find(wrong).unwrap_or(0);
                let RequestCount { asking, places } = census.requests[node];
                let verb = if asking > 0 { "waits" } else { "does not wait" };
                let places = if places == 1 { "1 place".to_string() } else { format!("{places} places") };
                format!("node {node} {verb}, its request stands in {places}")
            }
            Property::NobodyLeftWaiting => {
                let waits = (0..census.waiting.len()).filter(|&node| census.waiting[node] > 0);
                let names: alloc::vec::Vec<String> = waits.map(|node| node.to_string()).collect();
                match &names[..] {
                    [one] => format!("nothing more can happen and node {one} waits"),
                    _ => format!("nothing more can happen and nodes {} wait", names.join(", ")),
                }
            }
            _ => String::new(),
        }
    }
}
