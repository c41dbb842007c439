//! What an algorithm declares about itself, read by every driver, the command line and the documentation.

mod option_info;

use core::fmt;

use crate::algorithm::{Algorithm, Site};
use crate::properties::Property;
pub use option_info::OptionInfo;

/// Name, source, needs, options and known defects of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name on the command line.
    pub name: &'static str,
    /// A short description for a list.
    pub title: &'static str,
    /// The kind of mutual exclusion it provides.
    pub kind: Kind,
    /// Where it is published; begins with [`Info::OURS`] if no text describes it.
    pub source: &'static str,
    /// Messages per entry, as the text states it or as measured here.
    pub cost: &'static str,
    /// How many tokens exist.
    pub tokens: Tokens,
    /// What it needs of channels and nodes.
    pub needs: Needs,
    /// How many clients a node serves.
    pub clients: Clients,
    /// Whether each outstanding request exists in exactly one place at any time.
    pub unique_requests: bool,
    /// The options it understands.
    pub options: &'static [OptionInfo],
    /// Its timers; a [`Timer`](crate::Timer) is an index into this list.
    pub timers: &'static [TimerInfo],
    /// Notes that must occur somewhere in the standard suite; otherwise the suite shows nothing. These are
    /// the notes of the algorithm itself; the drivers add what they observe from outside.
    pub sometimes: &'static [&'static str],
    /// The standard suite: sizes at which the checker explores the whole state space.
    pub suite: &'static [Scope],
    /// Errors of printed texts, and mutants, that can be enabled.
    pub defects: &'static [DefectInfo],
}

impl Info {
    /// How the source of an algorithm begins that was designed here.
    pub const OURS: &'static str = "ours";

    /// Whether some text describes the algorithm.
    pub fn is_published(&self) -> bool {
        !self.source.starts_with(Info::OURS)
    }

    /// Whether it has timers that it needs even if nothing goes wrong.
    pub const fn relies_on_timers(&self) -> bool {
        !self.timers.is_empty() && matches!(self.needs.timing, Timing::Asynchronous)
    }

    /// Whether it is correct only with bounds on delays and critical sections.
    pub const fn relies_on_pace(&self) -> bool {
        matches!(self.needs.timing, Timing::BoundedDelayConstantSections)
    }
}

/// The kind of mutual exclusion that an algorithm provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One inside at a time.
    Mutex,
    /// At most k inside at a time.
    KMutex,
    /// Any number inside, all in the same group.
    GroupMutex,
}

/// How many clients a node serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// One, which waits until it may enter.
    OneEach,
    /// Any number at once, each of which may cancel. Clients are told their slot and their fence, and there
    /// may be more tokens than nodes.
    Many,
}

/// How many tokens exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// None: it works by permissions.
    None,
    /// A single one, whatever k is.
    One,
    /// One for each of the k slots.
    PerSlot,
}

/// What an algorithm needs of channels and nodes. The checker explores exactly what is promised here, a
/// simulator injects what is tolerated, a node has to supply what is needed.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// In which order messages between two nodes must arrive.
    pub order: Order,
    /// Messages may be lost.
    pub tolerates_loss: bool,
    /// Messages may arrive twice.
    pub tolerates_duplicates: bool,
    /// Nodes may crash and restart with the contents of their stable storage.
    pub tolerates_crashes: bool,
    /// What has to be known about time.
    pub timing: Timing,
}

impl Needs {
    /// Reliable channels in order, nodes that never crash, no clock.
    pub const RELIABLE_FIFO: Needs = Needs {
        order: Order::Fifo,
        tolerates_loss: false,
        tolerates_duplicates: false,
        tolerates_crashes: false,
        timing: Timing::Asynchronous,
    };

    /// Reliable channels in any order, nodes that never crash, no clock.
    pub const RELIABLE: Needs = Needs { order: Order::Any, ..Needs::RELIABLE_FIFO };

    /// Whether channels must be FIFO with this many tokens.
    pub const fn fifo(&self, tokens: u32) -> bool {
        match self.order {
            Order::Fifo => true,
            Order::FifoIfSeveral => tokens > 1,
            Order::Any => false,
        }
    }
}

/// In which order messages between two nodes must arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they were sent.
    Fifo,
    /// As they were sent if there are two tokens or more; in any order if there is one.
    FifoIfSeveral,
    /// In any order.
    Any,
}

/// What has to be known about time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Nothing is known.
    Asynchronous,
    /// Safety needs nothing. Liveness after a fault needs bounds on delays and critical sections, for timers.
    BoundsForRecovery,
    /// The algorithm is correct only with a bound on message delays and critical sections of one constant
    /// length.
    BoundedDelayConstantSections,
}

/// A timer of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct TimerInfo {
    /// Its name.
    pub name: &'static str,
    /// What happens when it expires.
    pub when_it_expires: &'static str,
}

/// The size of one exploration and what may happen in it.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// The number of nodes.
    pub nodes: u32,
    /// How many may be inside at once.
    pub tokens: u32,
    /// The number of groups.
    pub groups: u32,
    /// Options other than the default, as (name, value).
    pub options: &'static [(&'static str, &'static str)],
    /// What may happen.
    pub allowance: Allowance,
}

/// What clients, the network and timers may do in one run, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// How many requests each node makes at most.
    pub requests: u32,
    /// How many clients of a node wait or are inside at the same time, at most.
    pub clients: u32,
    /// Whether waiting clients may cancel.
    pub cancels: bool,
    /// Whether a request may name several groups.
    pub any_of: bool,
    /// Whether messages may overtake each other; `None` for the weakest order that the algorithm declares
    /// sufficient.
    pub reorder: Option<bool>,
    /// How many messages may be lost.
    pub losses: u32,
    /// How many messages may arrive twice.
    pub duplicates: u32,
    /// How often nodes may crash and restart.
    pub crashes: u32,
    /// How often each timer of each node may expire while messages are under way. Beyond that it expires only
    /// when the network is silent. 0 disables timers.
    pub firings: u32,
    /// How often timers may expire while messages are under way, in total.
    pub early: u32,
    /// If set, time is modelled: messages and critical sections take this long, and timers expire exactly
    /// when due. `None` lets everything take any time.
    pub pace: Option<Pace>,
}

/// How long things take where time is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// A message takes at most this many ticks.
    pub delay: u32,
    /// A critical section takes exactly this many ticks.
    pub section: u32,
}

impl Allowance {
    /// This many requests by one client of each node, and nothing that goes wrong.
    pub const fn new(requests: u32) -> Allowance {
        Allowance {
            requests,
            clients: 1,
            cancels: false,
            any_of: false,
            reorder: None,
            losses: 0,
            duplicates: 0,
            crashes: 0,
            firings: 0,
            early: 2,
            pace: None,
        }
    }

    /// Whether messages may be lost or duplicated or nodes may crash.
    pub const fn conditions(&self) -> Conditions {
        if self.losses + self.duplicates + self.crashes > 0 {
            Conditions::Faulty
        } else {
            Conditions::Reliable
        }
    }
}

/// Whether messages may be lost or duplicated or nodes may crash: some properties hold only without that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditions {
    /// None of that happens.
    Reliable,
    /// Some of that may happen.
    Faulty,
}

impl Scope {
    /// A scope with these sizes and nothing else.
    pub const fn new(nodes: u32, tokens: u32, requests: u32) -> Scope {
        Scope { nodes, tokens, groups: 1, options: &[], allowance: Allowance::new(requests) }
    }

    /// The same with these options.
    pub const fn with(self, options: &'static [(&'static str, &'static str)]) -> Scope {
        Scope { options, ..self }
    }

    /// The same with this many groups.
    pub const fn groups(self, groups: u32) -> Scope {
        Scope { groups, ..self }
    }

    /// The same with requests that may name several groups.
    pub const fn any_of(self) -> Scope {
        self.with_allowance(Allowance { any_of: true, ..self.allowance })
    }

    /// The same with this many clients at each node, which may cancel.
    pub const fn clients(self, clients: u32) -> Scope {
        self.with_allowance(Allowance { clients, cancels: true, ..self.allowance })
    }

    /// The same with this many messages that may be lost.
    pub const fn losses(self, losses: u32) -> Scope {
        self.with_allowance(Allowance { losses, ..self.allowance })
    }

    /// The same with this many messages that may arrive twice.
    pub const fn duplicates(self, duplicates: u32) -> Scope {
        self.with_allowance(Allowance { duplicates, ..self.allowance })
    }

    /// The same with this many crashes.
    pub const fn crashes(self, crashes: u32) -> Scope {
        self.with_allowance(Allowance { crashes, ..self.allowance })
    }

    /// The same with timers that expire early: `firings` times each at most, and `early` times in total.
    pub const fn firings(self, firings: u32, early: u32) -> Scope {
        self.with_allowance(Allowance { firings, early, ..self.allowance })
    }

    /// The same with messages that may overtake each other.
    pub const fn reordered(self) -> Scope {
        self.with_allowance(Allowance { reorder: Some(true), ..self.allowance })
    }

    /// The same with messages in FIFO order.
    pub const fn fifo(self) -> Scope {
        self.with_allowance(Allowance { reorder: Some(false), ..self.allowance })
    }

    /// The same where a message takes at most `delay` ticks and a critical section exactly `section`.
    pub const fn paced(self, delay: u32, section: u32) -> Scope {
        self.with_allowance(Allowance { pace: Some(Pace { delay, section }), ..self.allowance })
    }

    /// The same with this allowance.
    pub const fn with_allowance(self, allowance: Allowance) -> Scope {
        Scope { allowance, ..self }
    }
}

/// The flags of `tokenwood check` that ask for this scope.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allowance = &self.allowance;
        write!(f, "--nodes {} --tokens {} --requests {}", self.nodes, self.tokens, allowance.requests)?;
        if self.groups > 1 {
            write!(f, " --groups {}", self.groups)?;
        }
        if allowance.any_of {
            f.write_str(" --any-of")?;
        }
        if allowance.clients > 1 {
            write!(f, " --clients {}", allowance.clients)?;
        }
        if allowance.cancels {
            f.write_str(" --cancels")?;
        }
        for (name, value) in self.options {
            write!(f, " --set {name}={value}")?;
        }
        match allowance.reorder {
            Some(true) => f.write_str(" --reorder")?,
            Some(false) => f.write_str(" --fifo")?,
            None => {}
        }
        let faults = [
            ("loss", allowance.losses),
            ("duplicates", allowance.duplicates),
            ("crashes", allowance.crashes),
        ];
        for (name, number) in faults.into_iter().filter(|(_, number)| *number > 0) {
            write!(f, " --{name} {number}")?;
        }
        if allowance.firings > 0 {
            write!(f, " --firings {} --early {}", allowance.firings, allowance.early)?;
        }
        if let Some(Pace { delay, section }) = allowance.pace {
            // Where time is modelled, timers expire when they are due.
            write!(f, " --delay {delay} --section {section}")?;
        }
        Ok(())
    }
}

/// An error of a printed text, or a mutant, that can be enabled to see what it does.
#[derive(Clone, Copy, Debug)]
pub struct DefectInfo {
    /// Its name on the command line.
    pub name: &'static str,
    /// The text and the place, or "mutant".
    pub source: &'static str,
    /// The rule as printed.
    pub printed: &'static str,
    /// The correct rule.
    pub right: &'static str,
    /// What it leads to.
    pub shows: Shows,
    /// The scope in which it shows.
    pub scope: Scope,
}

/// How a defect shows itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// The exhaustive search in the defect's scope, checking this property alone, finds it violated.
    Search(Property),
    /// The random run from this seed, with the defect's scope, violates this property. For defects that need
    /// more nodes or rarer delays than a search can cover.
    Random(Property, u64),
    /// No property is violated, but random runs with the defect's scope at light load send at least this
    /// percentage of the messages that the correct rule sends.
    Dearer(u64),
}

/// Rules by which a defect can be enabled.
pub trait Defective {
    /// The defects.
    type Defect: PartialEq;

    /// The defect that is enabled.
    fn defect(&self) -> Option<Self::Defect>;
}

impl<A: Algorithm<Rules: Defective>> Site<'_, A> {
    /// Whether this defect is enabled.
    #[inline]
    pub fn has_defect(&self, defect: <A::Rules as Defective>::Defect) -> bool {
        self.rules.defect() == Some(defect)
    }
}

/// The rules of an algorithm without options.
#[derive(Clone, Copy, Debug)]
pub struct OnlyDefect<D> {
    /// The defect that is enabled.
    pub defect: Option<D>,
}

/// Defines the defects of an algorithm: an enum for the code, the table for [`Info::defects`], and that its
/// `Rules` name one of them.
#[macro_export]
macro_rules! defects {
    ($(#[$meta:meta])* pub enum $enum:ident { $($variant:ident => $defect:expr,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // the table beside each variant says more than a comment could
        pub enum $enum { $($variant,)* }

        impl $enum {
            /// Descriptions, in the order of the variants.
            pub const TABLE: &'static [$crate::info::DefectInfo] = &[$($defect,)*];

            /// The defect that the setting enables.
            pub fn of(setting: &$crate::Setting) -> Option<$enum> {
                const ALL: &[$enum] = &[$($enum::$variant,)*];
                let name = setting.defect.as_deref()?;
                let index = Self::TABLE.iter().position(|defect| defect.name == name)?;
                ALL.get(index).copied()
            }
        }

        impl $crate::info::Defective for super::Rules {
            type Defect = $enum;

            #[inline]
            fn defect(&self) -> Option<$enum> {
                self.defect
            }
        }
    };
}
