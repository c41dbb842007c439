//! The core boundary: what an algorithm is, its inputs and its effects.
//!
//! **The contract.** One value of a type that implements [`Algorithm`] is one resource on one node. A driver
//! owns it, feeds it one [`Input`] through [`Algorithm::step`], and then carries out the effects in the
//! [`Outbox`] in order. Everything that the state and the input do not decide (order of messages, loss,
//! time, chance, crashes, the callers) belongs to the driver:
//!
//! 1. Same state, same input and same picks give the same state and the same effects, in every driver.
//! 2. There is no clock: a timer goes out as [`Effect::Arm`] and comes back as [`Input::Expire`]. At most one
//!    timer of each number is armed; arming again replaces it, a disarmed one never expires.
//! 3. There is no randomness: [`Outbox::pick`] asks the driver. The checker tries every answer, a simulator
//!    draws from its seed, a trace records what was picked.
//! 4. What follows an [`Effect::Persist`] leaves the node only after the value is in stable storage.
//! 5. A node never sends to itself.
//! 6. `step` cannot fail. What the algorithm's own reasoning rules out is reported with [`Outbox::never`], and
//!    every driver treats it as a violated property.

use alloc::vec::Vec;
use core::fmt::{self, Debug, Display};
use core::hash::Hash;

use crate::census::Census;
use crate::info::Info;
use crate::node::Node;
use crate::picture::{Contents, Picture};
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};

/// A node, numbered from 0.
pub type NodeId = u32;

/// A group (forum, resource type) of a group mutual exclusion algorithm, numbered from 0. The others use 0.
pub type Group = u32;

/// A client of a node, numbered by the driver. Where a node has one client it is number 0.
pub type ClientId = u32;

/// A token, numbered from 0; where a token gives a slot, its number is the slot.
pub type TokenId = u32;

/// A timer, as an index into [`Info::timers`].
pub type Timer = usize;

/// One resource on one node. See the [module page](self) for the contract.
pub trait Algorithm: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// What nodes send to each other. `Display` prints it on one line, as transcripts and traces show it.
    type Message: Clone + Eq + Ord + Hash + Debug + Display + Send + Sync + 'static;
    /// What must survive a crash; `()` if nothing does.
    type Durable: Clone + Eq + Hash + Debug + Default + Send + Sync + 'static;
    /// The options of a setting, read once, the same on all nodes.
    type Rules: Clone + Debug + Send + Sync + 'static;

    /// Name, source, needs, options, known defects. Drivers read it through [`Algorithm::info`].
    const INFO: Info;

    /// Reads the options and refuses a setting that the algorithm cannot serve. The drivers have already
    /// called [`Setting::validate`], which checks what is common to all algorithms.
    fn rules(setting: &Setting) -> Result<Self::Rules, SettingError>;

    /// The description of the algorithm that reads these rules. It is [`Algorithm::INFO`], unless an option
    /// changes what the algorithm needs or what holds of it, as with [`Makki`](crate::makki::Makki), or the
    /// type stands for many algorithms, as [`Erased`](crate::erased::Erased) does.
    #[inline(always)]
    fn info(rules: &Self::Rules) -> &'static Info {
        let _ = rules;
        const { &Self::INFO }
    }

    /// The stable storage of a node that has not persisted anything.
    fn unsaved(rules: &Self::Rules) -> Self::Durable {
        let _ = rules;
        Self::Durable::default()
    }

    /// How many bytes a node takes, without what its state owns on the heap.
    fn node_bytes(rules: &Self::Rules) -> usize {
        let _ = rules;
        size_of::<Node<Self>>()
    }

    /// The state of a node when the system starts.
    fn start(site: &Site<'_, Self>) -> Self;

    /// The state of a node that restarts after a crash, from the last value it persisted, or from the default
    /// value if it never persisted one. Only called where [`Info::needs`] tolerates crashes.
    fn restart(site: &Site<'_, Self>, saved: &Self::Durable, out: &mut Outbox<'_, Self>) -> Self {
        let _ = (saved, out);
        Self::start(site)
    }

    /// Handles one input.
    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>);

    /// Counts what is on this node: tokens, and requests (its own or of other nodes) queued here.
    fn count(&self, site: &Site<'_, Self>, census: &mut Census);

    /// Counts what a message on its way to `to` carries.
    fn count_message(message: &Self::Message, to: NodeId, census: &mut Census);

    /// Fills in what a picture of this node shows.
    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture);

    /// What a picture of this message shows.
    fn draw_message(message: &Self::Message) -> Contents;

    /// Whether nodes may exchange their numbers in this way under these rules: if all states and messages are
    /// renamed, every step has the same effects, renamed. It is not so where a number breaks a tie. The first
    /// holder of a token or a first tree does no harm, because drivers compare the states at the start. The
    /// checker verifies each step that it relies on.
    fn allows_renaming(rules: &Self::Rules, renaming: &Renaming) -> bool {
        let _ = rules;
        renaming.is_identity()
    }

    /// Renames the nodes that this state names. Only called if [`Algorithm::allows_renaming`].
    fn rename(&mut self, rules: &Self::Rules, renaming: &Renaming) {
        let _ = (rules, renaming);
    }

    /// Renames the nodes that a message names. Only called if [`Algorithm::allows_renaming`].
    fn rename_message(message: &mut Self::Message, renaming: &Renaming) {
        let _ = (message, renaming);
    }

    /// Whether the clients of one node may exchange their numbers under these rules: if a state is renamed by
    /// [`Algorithm::rename_clients`], every step has the same effects, for renamed clients. A message never names
    /// a client, and no number breaks a tie. The checker verifies each step that it relies on.
    fn allows_client_renaming(rules: &Self::Rules) -> bool {
        let _ = rules;
        false
    }

    /// Renames the local clients that this state names. Only called if [`Algorithm::allows_client_renaming`].
    fn rename_clients(&mut self, renaming: &Renaming) {
        let _ = renaming;
    }

    /// The kind of a message, for statistics by kind.
    fn kind(message: &Self::Message) -> &'static str;

    /// The size of a message in words, by the accounting of the thesis (001 ch. V): type, source and
    /// destination are 3 words, every further number is one.
    fn words(message: &Self::Message) -> u32;
}

/// A value that can travel between processes: with the feature `serde` anything that serde can write and
/// read, without it anything at all.
#[cfg(feature = "serde")]
pub trait Portable: serde::Serialize + serde::de::DeserializeOwned {}

#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned> Portable for T {}

/// A value that can travel between processes: with the feature `serde` anything that serde can write and
/// read, without it anything at all.
#[cfg(not(feature = "serde"))]
pub trait Portable {}

#[cfg(not(feature = "serde"))]
impl<T> Portable for T {}

/// Where an instance runs. It is constant for the lifetime of the instance and passed with every call, so
/// that a state holds only what changes.
#[derive(Debug)]
pub struct Site<'a, A: Algorithm> {
    /// This node.
    pub me: NodeId,
    /// How many nodes there are; they are numbered `0..nodes`.
    pub nodes: u32,
    /// How many may be inside at once (k).
    pub tokens: u32,
    /// The options in force.
    pub rules: &'a A::Rules,
}

impl<A: Algorithm> Clone for Site<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Algorithm> Copy for Site<'_, A> {}

impl<A: Algorithm> Site<'_, A> {
    /// The description of the algorithm.
    #[inline(always)]
    pub fn info(&self) -> &'static Info {
        A::info(self.rules)
    }

    /// Whether this node can send to `node`: it exists and is not this node.
    pub fn can_send_to(&self, node: NodeId) -> bool {
        node != self.me && node < self.nodes
    }

    /// Every node but this one, in ascending order.
    pub fn others(&self) -> impl Iterator<Item = NodeId> + use<A> {
        let me = self.me;
        (0..self.nodes).filter(move |&node| node != me)
    }
}

/// What a driver feeds to an algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input<A: Algorithm> {
    /// A local client requests entry in any one of these groups. A client makes a request only when it
    /// neither waits nor is inside.
    Request {
        /// The requesting client.
        client: ClientId,
        /// The groups it accepts.
        groups: Groups,
    },
    /// A waiting local client cancels its request. Only where [`Info::clients`] says that clients may cancel.
    Cancel {
        /// The client that cancels.
        client: ClientId,
    },
    /// A local client leaves the critical section.
    Exit {
        /// The client that leaves.
        client: ClientId,
    },
    /// A message arrives.
    Deliver {
        /// The sender.
        from: NodeId,
        /// The message.
        message: A::Message,
    },
    /// An armed timer has expired and is no longer armed.
    Expire(Timer),
}

/// What [`Outbox::never`] reports for inputs that [`Info`] rules out: of an algorithm without timers, or without
/// clients that cancel.
pub const UNUSED_INPUT: &str =
    "a timer expires or a client cancels, and there are no timers or no such clients";

/// What an algorithm tells its driver to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect<A: Algorithm> {
    /// Send a message to another node.
    Send {
        /// The receiver.
        to: NodeId,
        /// The message.
        message: A::Message,
    },
    /// A local client enters.
    Enter(Grant),
    /// Start a timer, or restart it.
    Arm(Timer, Wait),
    /// Stop a timer.
    Disarm(Timer),
    /// Put this value into stable storage before carrying out the effects that follow.
    Persist(A::Durable),
    /// Something worth counting happened; one of [`Info::sometimes`].
    Note(&'static str),
    /// Something happened that the algorithm's own reasoning rules out.
    Never(&'static str),
}

/// A client's right to be in the critical section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grant {
    /// The client that holds it.
    pub client: ClientId,
    /// The group it is for.
    pub group: Group,
    /// The slot, from 0. Always 0 where slots are not told apart.
    pub slot: u32,
    /// A number that rises with every entry by the same slot (with every opening of a room), so that a
    /// resource can tell an old holder from a new one. Always 0 where there are no fences.
    pub fence: u64,
}

/// How long a timer runs, in units that the driver knows: a bound on the delay of a message and a bound on
/// the length of a critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wait {
    /// This many times the longest message delay is one part of the wait.
    pub hops: u32,
    /// This many times the longest critical section is the other part.
    pub sections: u32,
}

/// Where the answers to [`Outbox::pick`] come from.
pub trait Chance {
    /// A number below `options`, which is at least 1.
    fn pick(&mut self, options: u32) -> u32;
}

/// The list that a step appends its effects to.
pub struct Outbox<'a, A: Algorithm> {
    effects: &'a mut Vec<Effect<A>>,
    chance: &'a mut dyn Chance,
}

impl<'a, A: Algorithm> Outbox<'a, A> {
    /// An outbox that appends to this list and whose picks are answered by `chance`. The driver owns the
    /// list, so it can reuse the allocation.
    #[inline]
    pub fn new(effects: &'a mut Vec<Effect<A>>, chance: &'a mut dyn Chance) -> Self {
        Outbox { effects, chance }
    }

    /// Sends a message to another node.
    #[inline]
    pub fn send(&mut self, to: NodeId, message: A::Message) {
        self.effects.push(Effect::Send { to, message });
    }

    /// Sends the same message to every other node, in ascending order.
    pub fn broadcast(&mut self, site: &Site<'_, A>, message: &A::Message) {
        for to in site.others() {
            self.send(to, message.clone());
        }
    }

    /// Lets the only local client enter in group 0: for all algorithms without groups.
    pub fn enter(&mut self) {
        self.enter_group(0);
    }

    /// Lets the only local client enter in this group.
    pub fn enter_group(&mut self, group: Group) {
        self.grant(Grant { group, ..Grant::default() });
    }

    /// Grants entry to a local client.
    pub fn grant(&mut self, grant: Grant) {
        self.effects.push(Effect::Enter(grant));
    }

    /// Starts a timer, or restarts it.
    pub fn arm(&mut self, timer: Timer, wait: Wait) {
        self.effects.push(Effect::Arm(timer, wait));
    }

    /// Stops a timer, if it is armed.
    pub fn disarm(&mut self, timer: Timer) {
        self.effects.push(Effect::Disarm(timer));
    }

    /// Puts this value into stable storage before any later effect leaves the node.
    pub fn persist(&mut self, durable: A::Durable) {
        self.effects.push(Effect::Persist(durable));
    }

    /// Marks that something worth counting happened.
    pub fn note(&mut self, what: &'static str) {
        self.effects.push(Effect::Note(what));
    }

    /// Reports that something happened that the algorithm's own reasoning rules out.
    pub fn never(&mut self, what: &'static str) {
        self.effects.push(Effect::Never(what));
    }

    /// Asks the driver for a number below `options`. With one option the driver is not asked.
    pub fn pick(&mut self, options: u32) -> u32 {
        if options <= 1 { 0 } else { self.chance.pick(options) }
    }

    /// Runs a step of another algorithm inside this one. `translate` turns its effects into effects of this
    /// one; its picks are answered by the same driver.
    pub(crate) fn nested<B: Algorithm, T>(
        &mut self,
        run: impl FnOnce(&mut Outbox<'_, B>) -> T,
        mut translate: impl FnMut(Effect<B>) -> Effect<A>,
    ) -> T {
        let mut effects = Vec::new();
        let result = run(&mut Outbox::new(&mut effects, self.chance));
        self.effects.extend(effects.into_iter().map(&mut translate));
        result
    }

    /// Asks the driver for `count` different nodes other than this one (all of them if there are fewer).
    pub fn pick_others(&mut self, site: &Site<'_, A>, count: usize) -> Vec<NodeId> {
        let others = site.nodes as usize - 1;
        // The picks so far, in ascending order, as indices into the list of all others.
        let mut gone: Vec<u32> = Vec::with_capacity(count.min(others));
        let mut picked = Vec::with_capacity(count.min(others));
        while picked.len() < count.min(others) {
            let mut rank = self.pick((others - picked.len()) as u32);
            let before = gone.iter().take_while(|&&earlier| {
                let passed = earlier <= rank;
                rank += u32::from(passed);
                passed
            });
            let index = before.count();
            gone.insert(index, rank);
            picked.push(if rank < site.me { rank } else { rank + 1 });
        }
        picked
    }
}

/// A set of groups, each below [`Groups::MOST`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Groups(u64);

impl Groups {
    /// One more than the largest group that fits.
    pub const MOST: u32 = u64::BITS;

    /// The set with this group only.
    pub const fn one(group: Group) -> Groups {
        Groups(1 << group)
    }

    /// Whether the group is in the set.
    pub const fn contains(self, group: Group) -> bool {
        group < Groups::MOST && self.0 & (1 << group) != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many groups are in the set.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The smallest group in the set.
    pub const fn first(self) -> Option<Group> {
        if self.is_empty() { None } else { Some(self.0.trailing_zeros()) }
    }

    /// The groups, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Group> {
        (0..Groups::MOST).filter(move |&group| self.contains(group))
    }

    /// Every non-empty set of groups below `groups`.
    pub fn all_sets(groups: u32) -> impl Iterator<Item = Groups> {
        (1..1u64 << groups.min(Groups::MOST - 1)).map(Groups)
    }
}

impl FromIterator<Group> for Groups {
    fn from_iter<I: IntoIterator<Item = Group>>(groups: I) -> Self {
        Groups(groups.into_iter().fold(0, |set, group| set | 1 << group))
    }
}

impl Display for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, group) in self.iter().enumerate() {
            write!(f, "{}{group}", if index == 0 { "" } else { "+" })?;
        }
        Ok(())
    }
}

impl Debug for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}
