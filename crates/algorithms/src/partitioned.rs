//! Partitioning: k clusters of about n/k consecutive nodes, and an algorithm with k = 1 in each. The texts
//! compare a k-mutex with this: it should do better. Sources: 001 ch. V, 003 sec. 5. Page:
//! `docs/algorithms/partitioned.md`.
//!
//! Inside a cluster nodes are numbered from 0, and only this module knows both numberings. Where slots are
//! told apart, the slot of a cluster has the number of the cluster's first node.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use crate::algorithm::{Algorithm, Effect, Grant, Input, NodeId, Outbox, Site};
use crate::census::Census;
use crate::erased::{self, Erased};
use crate::info::{Clients, Info, Kind, Needs, Order, Scope, Timing, Tokens};
use crate::picture::{Contents, Picture};
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};

#[cfg(test)]
mod tests;

/// A node of a partitioned system: a node of the algorithm in its cluster. The algorithm is erased, so that
/// the drivers are compiled for one partitioned algorithm and not for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partitioned(Erased);

/// A message inside a cluster. It carries the first node of the cluster, because messages are counted without
/// a [`Site`]; a site for every algorithm's `count_message` would serve this module alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    /// The first node of the cluster.
    pub base: NodeId,
    /// The message of the algorithm.
    pub inner: erased::Message,
}

/// The algorithm's own rules, for the two sizes that clusters have.
#[derive(Clone, Debug)]
pub struct Rules {
    info: &'static Info,
    smaller: erased::Rules,
    larger: erased::Rules,
}

impl Rules {
    /// The rules of clusters. `info` describes the whole system, and `read` reads the algorithm's rules from
    /// the setting of one cluster.
    pub(crate) fn new(
        info: &'static Info,
        setting: &Setting,
        read: impl Fn(&Setting) -> Result<erased::Rules, SettingError>,
    ) -> Result<Rules, SettingError> {
        let rules = |nodes| read(&Setting { nodes, tokens: 1, ..setting.clone() });
        let size = setting.nodes / setting.tokens;
        let smaller = rules(size)?;
        let inner = Erased::info(&smaller);
        if (inner.unique_requests, inner.needs.timing) != (info.unique_requests, info.needs.timing) {
            let options: Vec<String> =
                setting.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let why = "takes no option that changes what the algorithm needs";
            return Err(SettingError(format!("{} {why}: leave out {}", info.name, options.join(" "))));
        }
        let even = setting.nodes.is_multiple_of(setting.tokens);
        Ok(Rules { info, larger: if even { smaller.clone() } else { rules(size + 1)? }, smaller })
    }
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

impl Algorithm for Partitioned {
    type Message = Message;
    type Durable = erased::Durable;
    type Rules = Rules;

    /// Fails to compile where it is read: which algorithm is partitioned, only the rules know.
    const INFO: Info = panic!("a partitioned algorithm has no constant description: call Algorithm::info");

    /// Always refuses: which algorithm is meant, only a name can tell.
    fn rules(_: &Setting) -> Result<Rules, SettingError> {
        Err(SettingError("a partitioned algorithm is found by its name: call registry::system".to_string()))
    }

    fn info(rules: &Rules) -> &'static Info {
        rules.info
    }

    fn unsaved(rules: &Rules) -> erased::Durable {
        Erased::unsaved(&rules.smaller)
    }

    fn node_bytes(rules: &Rules) -> usize {
        Erased::node_bytes(&rules.smaller)
    }

    fn start(site: &Site<'_, Self>) -> Self {
        Partitioned(Erased::start(&inner_site(site, cluster(site))))
    }

    fn restart(site: &Site<'_, Self>, saved: &erased::Durable, out: &mut Outbox<'_, Self>) -> Self {
        let (cluster, info) = (cluster(site), site.info());
        let inner = inner_site(site, cluster);
        let restart = |out: &mut Outbox<'_, Erased>| Erased::restart(&inner, saved, out);
        Partitioned(out.nested(restart, |effect| translate(cluster, info, effect)))
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
        let (inner, info) = (inner_site(site, cluster), site.info());
        let step = |out: &mut Outbox<'_, Erased>| self.0.step(&inner, input, out);
        out.nested(step, |effect| translate(cluster, info, effect));
    }

    fn count(&self, site: &Site<'_, Self>, census: &mut Census) {
        let cluster = cluster(site);
        counted_from(cluster.base, census, |census| self.0.count(&inner_site(site, cluster), census));
    }

    fn count_message(message: &Self::Message, to: NodeId, census: &mut Census) {
        let to = to.saturating_sub(message.base);
        counted_from(message.base, census, |census| Erased::count_message(&message.inner, to, census));
    }

    fn allows_client_renaming(rules: &Rules) -> bool {
        Erased::allows_client_renaming(&rules.smaller) && Erased::allows_client_renaming(&rules.larger)
    }

    fn rename_clients(&mut self, renaming: &Renaming) {
        self.0.rename_clients(renaming);
    }

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        let cluster = cluster(site);
        let (base, mut inner) = (cluster.base, Picture::default());
        self.0.draw(&inner_site(site, cluster), &mut inner);
        picture.add_shifted(inner, base);
    }

    fn draw_message(message: &Self::Message) -> Contents {
        let shifted = |number: u32| message.base + number;
        let Contents { token, asks, origin } = Erased::draw_message(&message.inner);
        Contents { token: token.map(shifted), asks: asks.map(shifted), origin: origin.map(shifted) }
    }

    fn kind(message: &Self::Message) -> &'static str {
        Erased::kind(&message.inner)
    }

    fn words(message: &Self::Message) -> u32 {
        Erased::words(&message.inner)
    }
}

/// Clusters of one, two and three nodes, and of different sizes. The product of two clusters' state spaces
/// grows fast.
const SUITE: &[Scope] = &[Scope::new(2, 2, 2), Scope::new(3, 2, 2), Scope::new(4, 2, 2), Scope::new(5, 2, 1)];

/// For an algorithm that needs its timers.
const TIMED: &[Scope] = &[
    Scope::new(2, 2, 2).firings(1, 2),
    Scope::new(3, 2, 2).firings(1, 2),
    Scope::new(4, 2, 2).firings(1, 1),
    Scope::new(5, 2, 1).firings(1, 1),
];

/// For an algorithm that relies on time bounds.
const PACED: &[Scope] = &[Scope::new(3, 2, 2).paced(1, 1), Scope::new(4, 2, 1).paced(2, 1)];

/// The description of `partitioned(NAME)`.
pub(crate) const fn info<A: Algorithm>() -> Info {
    Info {
        name: Named::<A>::NAME,
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
            Timing::Asynchronous | Timing::BoundsForRecovery if A::INFO.relies_on_timers() => TIMED,
            Timing::Asynchronous | Timing::BoundsForRecovery => SUITE,
        },
        defects: &[],
        ..A::INFO
    }
}

/// Longer than any name.
const LONGEST: usize = 64;

/// The name `partitioned(NAME)`, by which traces and reports find the algorithm again.
struct Named<A>(PhantomData<A>);

impl<A: Algorithm> Named<A> {
    /// A constant cannot be formatted, so the name is assembled byte by byte.
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

fn cluster(site: &Site<'_, Partitioned>) -> Cluster {
    Cluster::of(site.me, site.nodes, site.tokens)
}

/// The site as the algorithm sees it.
fn inner_site<'a>(site: &Site<'a, Partitioned>, cluster: Cluster) -> Site<'a, Erased> {
    let larger = cluster.size > site.nodes / site.tokens;
    Site {
        me: site.me - cluster.base,
        nodes: cluster.size,
        tokens: 1,
        rules: if larger { &site.rules.larger } else { &site.rules.smaller },
    }
}

/// Translates an effect of the algorithm to the node numbers of the whole system.
fn translate(Cluster { base, size }: Cluster, info: &Info, effect: Effect<Erased>) -> Effect<Partitioned> {
    match effect {
        Effect::Send { to, message: inner } if to < size => {
            Effect::Send { to: base + to, message: Message { base, inner } }
        }
        Effect::Send { .. } => Effect::Never("a message goes to a node outside the cluster"),
        Effect::Enter(grant) if info.clients == Clients::Many => {
            Effect::Enter(Grant { slot: base + grant.slot, ..grant })
        }
        Effect::Enter(grant) => Effect::Enter(grant),
        Effect::Arm(timer, wait) => Effect::Arm(timer, wait),
        Effect::Disarm(timer) => Effect::Disarm(timer),
        Effect::Persist(durable) => Effect::Persist(durable),
        Effect::Note(what) => Effect::Note(what),
        Effect::Never(what) => Effect::Never(what),
    }
}

fn counted_from(base: NodeId, census: &mut Census, count: impl FnOnce(&mut Census)) {
    let before = core::mem::replace(&mut census.base, base);
    count(census);
    census.base = before;
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            0 => self.inner.fmt(f),
            // The numbers in the message are those of the cluster.
            base => write!(f, "{base}+{}", self.inner),
        }
    }
}
