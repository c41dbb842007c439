//! The named properties, written once. Every driver asks the same questions.

use alloc::string::{String, ToString};
use core::fmt;

use crate::census::Census;
use crate::info::{Info, Kind, Tokens};

/// A claim about a system that must always hold, or hold at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// Never more than k clients are inside.
    AtMostKInside,
    /// All clients inside are in the same group.
    OneGroupAtATime,
    /// No token appears or disappears. Where messages may be lost or nodes crash: never more tokens at running
    /// nodes than there should be.
    TokensConserved,
    /// A client enters only after it asked, and only a group that it asked for.
    NoEntryWithoutRequest,
    /// A client that is inside does not enter again.
    NoDoubleEntry,
    /// A client waits if and only if its request stands in exactly one place.
    OnePlacePerRequest,
    /// Nothing happens that the algorithm's own reasoning rules out.
    NothingImpossible,
    /// When nothing more can happen, nobody waits.
    NobodyLeftWaiting,
    /// From every state that can be reached, a state can be reached in which everybody has been served.
    EndReachable,
}

impl Property {
    /// All of them, in the order of reports.
    pub const ALL: [Property; 9] = [
        Property::AtMostKInside,
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

    /// The property of this name.
    pub fn named(name: &str) -> Option<Property> {
        Property::ALL.into_iter().find(|property| property.name() == name)
    }

    /// Whether it speaks about the given algorithm, where messages may be lost or nodes crash or not.
    pub fn applies(self, info: &Info, faulty: bool) -> bool {
        match self {
            Property::AtMostKInside => info.kind != Kind::GroupMutex,
            Property::OneGroupAtATime => info.kind == Kind::GroupMutex,
            Property::TokensConserved => info.tokens != Tokens::None,
            Property::OnePlacePerRequest => info.unique_requests && !faulty,
            _ => true,
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A property that does not hold, and what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property.
    pub property: Property,
    /// What was seen, in one line.
    pub detail: String,
}

impl Violation {
    /// This property, with what was seen.
    pub fn new(property: Property, detail: String) -> Violation {
        Violation { property, detail }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.detail)
    }
}

/// What the properties over a [`Census`] need to know of the system.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    group_mutex: bool,
    rights: u32,
    tokens: Option<u32>,
    faulty: bool,
    unique_requests: bool,
    only: Option<Property>,
}

impl Terms {
    /// For an algorithm with so many tokens, where messages may be lost or nodes crash or not.
    pub fn new(info: &Info, tokens: u32, faulty: bool) -> Terms {
        Terms {
            group_mutex: info.kind == Kind::GroupMutex,
            rights: tokens,
            tokens: match info.tokens {
                Tokens::None => None,
                Tokens::One => Some(1),
                Tokens::PerRight => Some(tokens),
            },
            faulty,
            unique_requests: Property::OnePlacePerRequest.applies(info, faulty),
            only: None,
        }
    }

    /// Asks for this property alone.
    pub fn only(self, property: Property) -> Terms {
        Terms { only: Some(property), ..self }
    }

    /// Whether a property is asked for.
    pub fn asks(&self, property: Property) -> bool {
        self.only.is_none_or(|only| only == property)
    }

    /// The first property that the counts of a whole system violate.
    pub fn violated(&self, census: &Census) -> Option<Property> {
        if self.group_mutex {
            let groups = census.inside_by_group.iter().filter(|&&inside| inside > 0).count();
            if groups > 1 && self.asks(Property::OneGroupAtATime) {
                return Some(Property::OneGroupAtATime);
            }
        } else if census.inside > self.rights && self.asks(Property::AtMostKInside) {
            return Some(Property::AtMostKInside);
        }
        if let Some(tokens) = self.tokens {
            let all = census.tokens_held + census.tokens_moving;
            let wrong = if self.faulty { census.tokens_held > tokens } else { all != tokens };
            if wrong && self.asks(Property::TokensConserved) {
                return Some(Property::TokensConserved);
            }
        }
        let lost = self.unique_requests && census.has_misplaced_request();
        (lost && self.asks(Property::OnePlacePerRequest)).then_some(Property::OnePlacePerRequest)
    }

    /// What was seen when a property of the counts is violated, in one line.
    pub fn detail(&self, property: Property, census: &Census) -> String {
        use alloc::format;
        match property {
            Property::AtMostKInside => format!("{} inside, {} allowed", census.inside, self.rights),
            Property::OneGroupAtATime => format!("inside by group: {:?}", census.inside_by_group),
            Property::TokensConserved => format!(
                "{} tokens held and {} under way, there should be {}",
                census.tokens_held,
                census.tokens_moving,
                self.tokens.unwrap_or(0)
            ),
            Property::OnePlacePerRequest => {
                let waits =
                    (0..census.waiting.len()).find(|&node| census.waiting[node] != census.places[node]);
                let node = waits.unwrap_or(0);
                let verb = if census.waiting[node] > 0 { "waits" } else { "does not wait" };
                format!("node {node} {verb}, its request stands in {} places", census.places[node])
            }
            Property::NobodyLeftWaiting => {
                let waits = (0..census.waiting.len()).filter(|&node| census.waiting[node] > 0);
                let names: alloc::vec::Vec<String> = waits.map(|node| node.to_string()).collect();
                format!("nothing more can happen and node {} waits", names.join(", "))
            }
            _ => String::new(),
        }
    }
}
