//! What an algorithm declares about itself, read by every driver, the command line and the documentation.

use core::fmt;

use crate::properties::Property;

/// Name, source, needs, options and known defects of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name on the command line.
    pub name: &'static str,
    /// A few words for a list.
    pub title: &'static str,
    /// What it gives its clients.
    pub kind: Kind,
    /// Where it is published.
    pub source: &'static str,
    /// Messages per entry, as the text states it or as we know it.
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
    pub options: &'static [Choice],
    /// Its timers; a [`Timer`](crate::Timer) is an index into this list.
    pub timers: &'static [TimerInfo],
    /// What must happen somewhere in the standard suite, or the suite shows nothing. These are the notes the
    /// algorithm itself makes; the drivers add what they can see from outside.
    pub sometimes: &'static [&'static str],
    /// The standard suite: sizes at which the checker exhausts the space.
    pub suite: &'static [Scope],
    /// Errors of printed texts, and mutants, that can be put back.
    pub defects: &'static [Defect],
}

impl Info {
    /// Whether it has timers without which it does nothing, not even if nothing goes wrong.
    pub const fn relies_on_timers(&self) -> bool {
        !self.timers.is_empty() && matches!(self.needs.timing, Timing::Asynchronous)
    }

    /// Whether it is nothing without bounds on how long things take.
    pub const fn relies_on_pace(&self) -> bool {
        matches!(self.needs.timing, Timing::BoundedDelayConstantSections)
    }
}

/// What an algorithm gives its clients.
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
    /// One, that waits until it may enter.
    OneEach,
    /// Any number at once, each of which may give up; they are told their slot and their fence, and there may be more
    /// tokens than nodes.
    Many,
}

/// How many tokens exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// It works by permissions.
    None,
    /// A single one, whatever k is.
    One,
    /// One for each of the k rights.
    PerRight,
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
    /// Nodes may crash and come back with what they had in stable storage.
    pub tolerates_crashes: bool,
    /// What must be known about time.
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

/// What must be known about time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Nothing.
    Asynchronous,
    /// Nothing for safety; liveness after a fault needs bounds on delays and critical sections for timers.
    BoundsForRecovery,
    /// A bound on message delays and critical sections of one constant length, or nothing is right.
    BoundedDelayConstantSections,
}

/// An option of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Its name.
    pub name: &'static str,
    /// The values it takes, the default first; or a description of them if they are numbers.
    pub values: &'static [&'static str],
    /// What it decides.
    pub help: &'static str,
}

/// A timer of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct TimerInfo {
    /// Its name.
    pub name: &'static str,
    /// What happens when it runs out.
    pub when_it_expires: &'static str,
}

/// The size and the freedom of one exploration.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// How many nodes.
    pub nodes: u32,
    /// How many may be inside at once.
    pub tokens: u32,
    /// How often each node asks, at most.
    pub requests: u32,
    /// How many groups.
    pub groups: u32,
    /// How many clients of a node wait or are inside at the same time, at most.
    pub clients: u32,
    /// Whether clients that wait may give up.
    pub cancels: bool,
    /// Whether a request may name several groups.
    pub any_of: bool,
    /// Options other than the default, as (name, value).
    pub options: &'static [(&'static str, &'static str)],
    /// The order of messages; `None` explores the weakest the algorithm declares to be enough.
    pub reorder: Option<bool>,
    /// How many messages may be lost.
    pub losses: u32,
    /// How many messages may arrive twice.
    pub duplicates: u32,
    /// How often nodes may crash and come back.
    pub crashes: u32,
    /// How often each timer of each node may run out while messages are under way. Beyond that it runs out
    /// only when the network is silent. 0 turns timers off altogether.
    pub firings: u32,
    /// How often timers may do that in all.
    pub early: u32,
    /// Time counts: messages and critical sections take this long. `None` lets everything take any time.
    pub pace: Option<Pace>,
}

/// How long things take where time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// A message takes at most so many ticks.
    pub delay: u32,
    /// A critical section takes exactly so many ticks.
    pub section: u32,
}

impl Scope {
    /// Nothing but sizes.
    pub const fn new(nodes: u32, tokens: u32, requests: u32) -> Scope {
        Scope {
            nodes,
            tokens,
            requests,
            groups: 1,
            clients: 1,
            cancels: false,
            any_of: false,
            options: &[],
            reorder: None,
            losses: 0,
            duplicates: 0,
            crashes: 0,
            firings: 0,
            early: 2,
            pace: None,
        }
    }

    /// The same with options.
    pub const fn with(self, options: &'static [(&'static str, &'static str)]) -> Scope {
        Scope { options, ..self }
    }

    /// The same with so many groups.
    pub const fn groups(self, groups: u32) -> Scope {
        Scope { groups, ..self }
    }

    /// The same with so many clients at each node, which may give up.
    pub const fn clients(self, clients: u32) -> Scope {
        Scope { clients, cancels: true, ..self }
    }

    /// The same with timers that run out so often while messages are under way, and so often in all.
    pub const fn firings(self, firings: u32, early: u32) -> Scope {
        Scope { firings, early, ..self }
    }

    /// The same with messages that overtake each other.
    pub const fn reordered(self) -> Scope {
        Scope { reorder: Some(true), ..self }
    }

    /// The same with messages in order.
    pub const fn fifo(self) -> Scope {
        Scope { reorder: Some(false), ..self }
    }

    /// The same where a message takes at most `delay` ticks and a critical section exactly `section`.
    pub const fn paced(self, delay: u32, section: u32) -> Scope {
        Scope { pace: Some(Pace { delay, section }), ..self }
    }

    /// Whether anything may be lost, doubled or crash.
    pub const fn faulty(&self) -> bool {
        self.losses + self.duplicates + self.crashes > 0
    }
}

/// The flags of `tokenwood check` that ask for this scope.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--nodes {} --tokens {} --requests {}", self.nodes, self.tokens, self.requests)?;
        if self.groups > 1 {
            write!(f, " --groups {}", self.groups)?;
        }
        if self.any_of {
            f.write_str(" --any-of")?;
        }
        if self.clients > 1 {
            write!(f, " --clients {}", self.clients)?;
        }
        if self.cancels {
            f.write_str(" --cancels")?;
        }
        for (name, value) in self.options {
            write!(f, " --set {name}={value}")?;
        }
        match self.reorder {
            Some(true) => f.write_str(" --reorder")?,
            Some(false) => f.write_str(" --fifo")?,
            None => {}
        }
        let faults = [("loss", self.losses), ("duplicates", self.duplicates), ("crashes", self.crashes)];
        for (name, number) in faults.into_iter().filter(|(_, number)| *number > 0) {
            write!(f, " --{name} {number}")?;
        }
        if self.firings > 0 {
            write!(f, " --firings {} --early {}", self.firings, self.early)?;
        }
        if let Some(Pace { delay, section }) = self.pace {
            // Where time counts, timers run out when they are due.
            write!(f, " --delay {delay} --section {section}")?;
        }
        Ok(())
    }
}

/// An error of a printed text, or a mutant, that can be put back to see what it does.
#[derive(Clone, Copy, Debug)]
pub struct Defect {
    /// Its name on the command line.
    pub name: &'static str,
    /// The text and the place, or "mutant".
    pub source: &'static str,
    /// What is printed there.
    pub printed: &'static str,
    /// What is right.
    pub right: &'static str,
    /// What it leads to.
    pub shows: Shows,
    /// Where to look for it.
    pub scope: Scope,
}

/// How a defect shows itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// The exhaustive search in the defect's scope, asking for this property alone, finds it violated.
    Search(Property),
    /// The random run from this seed, with the defect's scope, violates this property. For what needs more nodes or
    /// rarer delays than can be exhausted.
    Random(Property, u64),
    /// Nothing is violated, but random runs with the defect's scope at light load send at least so many percent of
    /// the messages that the corrected rule sends.
    Dearer(u64),
}

/// Defines the defects of an algorithm: an enum to ask for in the code, and the table that goes into
/// [`Info::defects`].
#[macro_export]
macro_rules! defects {
    ($(#[$meta:meta])* pub enum $enum:ident { $($variant:ident => $defect:expr,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // the table beside each variant says more than a comment could
        pub enum $enum { $($variant,)* }

        impl $enum {
            /// What is known of each, in the order of the variants.
            pub const TABLE: &'static [$crate::info::Defect] = &[$($defect,)*];

            /// The one that the setting asks for.
            pub fn of(setting: &$crate::Setting) -> Option<$enum> {
                const ALL: &[$enum] = &[$($enum::$variant,)*];
                let name = setting.defect.as_deref()?;
                let index = Self::TABLE.iter().position(|defect| defect.name == name)?;
                ALL.get(index).copied()
            }
        }
    };
}
