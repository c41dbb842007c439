//! Partitioning: k clusters of about n/k consecutive nodes, and an algorithm with k = 1 in each. The texts
//! compare a k-mutex with this: it should do better. Sources: 001 ch. V, 003 sec. 5. Page:
//! `docs/algorithms/partitioned.md`.
//!
//! Inside a cluster nodes are numbered from 0, and only this module knows both numberings. Where slots are
//! told apart, the slot of a cluster has the number of the cluster's first node.

use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Chance, Effect, Grant, Input, NodeId, Outbox, Site};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, Order, Scope, Timing, Tokens};
use crate::setting::{Setting, SettingError};

#[cfg(test)]
mod tests;

/// A node of a partitioned system: a node of the algorithm in its cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partitioned<A>(A);

/// A message inside a cluster. It carries the first node of the cluster, because messages are counted without
/// a [`Site`]; a site for every algorithm's `count_message` would serve this module alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message<M> {
    base: NodeId,
    inner: M,
}

/// The algorithm's own rules, for the two sizes that clusters have.
#[derive(Clone, Debug)]
pub struct Rules<R> {
    smaller: R,
    larger: R,
}

/// The nodes from `base` on, `size` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cluster {
    base: NodeId,
    size: u32,
}

impl Cluster {
    /// The cluster of a node: sizes differ by at most one, the larger ones come first.
    fn of(node: NodeId, nodes: u32, clusters: u32) -> Cluster {
        let (smaller, larger_ones) = (nodes / clusters, nodes % clusters);
        let in_larger = larger_ones * (smaller + 1);
        if node < in_larger {
            let size = smaller + 1;
            Cluster { base: node / size * size, size }
        } else {
            let beyond = node - in_larger;
            Cluster { base: in_larger + beyond / smaller * smaller, size: smaller }
        }
    }
}

impl<A: Algorithm> Algorithm for Partitioned<A> {
    type Message = Message<A::Message>;
    type Durable = A::Durable;
    type Rules = Rules<A::Rules>;

    const INFO: Info = Info {
        name: Self::NAME,
        kind: Kind::KMutex,
        tokens: match A::INFO.tokens {
            Tokens::None => Tokens::None,
            Tokens::One | Tokens::PerSlot => Tokens::PerSlot,
        },
        needs: Needs {
            // Each cluster has one token.
            order: match A::INFO.needs.order {
                Order::FifoIfSeveral => Order::Any,
                order => order,
            },
            ..A::INFO.needs
        },
        suite: match A::INFO.needs.timing {
            Timing::BoundedDelayConstantSections => PACED,
            Timing::Asynchronous | Timing::BoundsForRecovery => SUITE,
        },
        defects: &[],
        ..A::INFO
    };

    fn rules(setting: &Setting) -> Result<Self::Rules, SettingError> {
        let rules = |nodes| A::rules(&Setting { nodes, tokens: 1, ..setting.clone() });
        let size = setting.nodes / setting.tokens;
        let smaller = rules(size)?;
        let even = setting.nodes.is_multiple_of(setting.tokens);
        Ok(Rules { larger: if even { smaller.clone() } else { rules(size + 1)? }, smaller })
    }

    fn start(site: &Site<'_, Self>) -> Self {
        Partitioned(A::start(&inner_site(site, cluster(site))))
    }

    fn restart(site: &Site<'_, Self>, saved: &A::Durable, out: &mut Outbox<'_, Self>) -> Self {
        let cluster = cluster(site);
        Partitioned(translate(cluster, out, |out| A::restart(&inner_site(site, cluster), saved, out)))
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        let cluster = cluster(site);
        let input = match input {
            Input::Request { client, groups } => Input::Request { client, groups },
            Input::Cancel { client } => Input::Cancel { client },
            Input::Exit { client } => Input::Exit { client },
            Input::Expire(timer) => Input::Expire(timer),
            Input::Deliver { from, message } => {
                let Some(from) = from.checked_sub(cluster.base).filter(|&from| from < cluster.size) else {
                    return out.never("a message comes from another cluster");
                };
                Input::Deliver { from, message: message.inner }
            }
        };
        translate(cluster, out, |out| self.0.step(&inner_site(site, cluster), input, out));
    }

    fn count(&self, site: &Site<'_, Self>, census: &mut Census) {
        let cluster = cluster(site);
        counted_from(cluster.base, census, |census| self.0.count(&inner_site(site, cluster), census));
    }

    fn count_message(message: &Self::Message, to: NodeId, census: &mut Census) {
        let to = to.saturating_sub(message.base);
        counted_from(message.base, census, |census| A::count_message(&message.inner, to, census));
    }

    fn kind(message: &Self::Message) -> &'static str {
        A::kind(&message.inner)
    }

    fn words(message: &Self::Message) -> u32 {
        A::words(&message.inner)
    }
}

/// Clusters of one, two and three nodes, and of different sizes. The product of two clusters' state spaces
/// grows fast.
const SUITE: &[Scope] = &[Scope::new(2, 2, 2), Scope::new(3, 2, 2), Scope::new(4, 2, 2), Scope::new(5, 2, 1)];

/// For an algorithm that relies on time bounds.
const PACED: &[Scope] = &[Scope::new(3, 2, 2).paced(1, 1), Scope::new(4, 2, 1).paced(2, 1)];

/// Longer than any name.
const LONGEST: usize = 64;

impl<A: Algorithm> Partitioned<A> {
    /// `partitioned(NAME)`, by which traces and reports find this type again. A constant cannot be formatted,
    /// so the name is assembled byte by byte.
    const NAME: &'static str = {
        let (text, _) = Self::BYTES.split_at(BEFORE.len() + A::INFO.name.len() + AFTER.len());
        match core::str::from_utf8(text) {
            Ok(name) => name,
            Err(_) => A::INFO.name,
        }
    };

    const BYTES: &'static [u8; LONGEST] = &{
        let mut bytes = [0; LONGEST];
        let mut length = 0;
        let parts = [BEFORE, A::INFO.name.as_bytes(), AFTER];
        let mut part = 0;
        while part < parts.len() {
            let mut index = 0;
            while index < parts[part].len() {
                bytes[length] = parts[part][index];
                (length, index) = (length + 1, index + 1);
            }
            part += 1;
        }
        bytes
    };
}

const BEFORE: &[u8] = b"partitioned(";
const AFTER: &[u8] = b")";

fn cluster<A: Algorithm>(site: &Site<'_, Partitioned<A>>) -> Cluster {
    Cluster::of(site.me, site.nodes, site.tokens)
}

/// The site as the algorithm sees it.
fn inner_site<'a, A: Algorithm>(site: &Site<'a, Partitioned<A>>, cluster: Cluster) -> Site<'a, A> {
    let larger = cluster.size > site.nodes / site.tokens;
    Site {
        me: site.me - cluster.base,
        nodes: cluster.size,
        tokens: 1,
        rules: if larger { &site.rules.larger } else { &site.rules.smaller },
    }
}

/// Runs a step of the algorithm and translates its effects to the node numbers of the whole system.
fn translate<A: Algorithm, T>(
    Cluster { base, size }: Cluster,
    out: &mut Outbox<'_, Partitioned<A>>,
    act: impl FnOnce(&mut Outbox<'_, A>) -> T,
) -> T {
    let mut chance = Ask(out);
    let mut effects = Vec::new();
    let mut inner = Outbox::new(&mut effects, &mut chance);
    let result = act(&mut inner);
    for effect in effects {
        match effect {
            Effect::Send { to, message } if to < size => {
                out.send(base + to, Message { base, inner: message });
            }
            Effect::Send { .. } => out.never("a message goes to a node outside the cluster"),
            Effect::Enter(grant) if A::INFO.clients == Clients::Many => {
                out.grant(Grant { slot: base + grant.slot, ..grant });
            }
            Effect::Enter(grant) => out.grant(grant),
            Effect::Arm(timer, wait) => out.arm(timer, wait),
            Effect::Disarm(timer) => out.disarm(timer),
            Effect::Persist(durable) => out.persist(durable),
            Effect::Note(what) => out.note(what),
            Effect::Never(what) => out.never(what),
        }
    }
    result
}

/// Forwards picks of the algorithm to the driver of the whole system.
struct Ask<'a, 'b, A: Algorithm>(&'a mut Outbox<'b, A>);

impl<A: Algorithm> Chance for Ask<'_, '_, A> {
    fn pick(&mut self, options: u32) -> u32 {
        self.0.pick(options)
    }
}

fn counted_from(base: NodeId, census: &mut Census, count: impl FnOnce(&mut Census)) {
    let before = core::mem::replace(&mut census.base, base);
    count(census);
    census.base = before;
}

impl<M: fmt::Display> fmt::Display for Message<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            0 => self.inner.fmt(f),
            // The numbers in the message are those of the cluster.
            base => write!(f, "{base}+{}", self.inner),
        }
    }
}
