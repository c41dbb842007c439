//! One node's place in a system: the algorithm's state with its client, its timers and its stable storage.
//! All drivers apply inputs and effects through this, so what an effect means is written once.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::algorithm::{Algorithm, Chance, Effect, Group, Groups, Input, NodeId, Outbox, Site, Timer, Wait};
use crate::census::Census;
use crate::properties::{Property, Violation};

/// What the local client is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Client {
    /// Neither waiting nor inside.
    Idle,
    /// Asked for one of these groups.
    Waiting(Groups),
    /// Inside, in this group.
    Inside(Group),
}

/// A node in a system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Seat<A: Algorithm> {
    /// The algorithm's state; `None` while the node is down.
    pub node: Option<A>,
    /// What its client is doing.
    pub client: Client,
    /// The timers that run, in ascending order.
    pub armed: Vec<Timer>,
    /// What is in stable storage.
    pub saved: A::Durable,
}

/// What can happen to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<A: Algorithm> {
    /// Something for the algorithm.
    Input(Input<A>),
    /// The node stops; its memory, its client and its timers are gone.
    Crash,
    /// The node comes back from its stable storage.
    Restart,
}

/// What a node did.
#[derive(Clone, Debug)]
pub struct Reaction<A: Algorithm> {
    /// All effects, in order.
    pub effects: Vec<Effect<A>>,
    /// What it did wrong, if anything.
    pub violation: Option<Violation>,
}

impl<A: Algorithm> Seat<A> {
    /// A node when the system starts.
    pub fn start(site: &Site<'_, A>) -> Seat<A> {
        Seat {
            node: Some(A::start(site)),
            client: Client::Idle,
            armed: Vec::new(),
            saved: A::Durable::default(),
        }
    }

    /// Lets something happen to the node, and carries out the effects that concern only this node. The caller
    /// carries out the sends.
    pub fn apply(&mut self, site: &Site<'_, A>, event: Event<A>, chance: &mut dyn Chance) -> Reaction<A> {
        let mut effects = Vec::new();
        self.happen(site, event, &mut Outbox::new(&mut effects, chance));
        let mut violation = None;
        for effect in &effects {
            if let Some(wrong) = self.carry_out(site, effect) {
                violation.get_or_insert(wrong);
            }
        }
        Reaction { effects, violation }
    }

    /// The first half of [`Seat::apply`]: lets something happen. The caller passes each effect to
    /// [`Seat::carry_out`], in order. Inlined, because callers know what happens.
    #[inline(always)]
    pub fn happen(&mut self, site: &Site<'_, A>, event: Event<A>, out: &mut Outbox<'_, A>) {
        match event {
            Event::Input(input) => {
                match &input {
                    Input::Request(groups) => self.client = Client::Waiting(*groups),
                    Input::Exit => self.client = Client::Idle,
                    Input::Expire(timer) => self.armed.retain(|armed| armed != timer),
                    Input::Deliver { .. } => {}
                }
                // A message to a node that is down is lost.
                if let Some(node) = &mut self.node {
                    node.step(site, input, out);
                }
            }
            Event::Crash => {
                (self.node, self.client) = (None, Client::Idle);
                self.armed.clear();
            }
            Event::Restart => self.node = Some(A::restart(site, &self.saved, out)),
        }
    }

    /// Carries out an effect as far as it concerns only this node; says what is wrong with it.
    #[inline]
    pub fn carry_out(&mut self, site: &Site<'_, A>, effect: &Effect<A>) -> Option<Violation> {
        let me = site.me;
        match effect {
            Effect::Send { to, message } if !site.can_send_to(*to) => {
                let detail = format!("node {me} sends {message} to {to}");
                return Some(Violation::new(Property::NothingImpossible, detail));
            }
            Effect::Send { .. } | Effect::Note(_) => {}
            Effect::Enter(group) => return self.enter(me, *group),
            Effect::Arm(timer, _) => {
                if let Err(place) = self.armed.binary_search(timer) {
                    self.armed.insert(place, *timer);
                }
            }
            Effect::Disarm(timer) => self.armed.retain(|armed| armed != timer),
            Effect::Persist(durable) => self.saved = durable.clone(),
            Effect::Never(what) => {
                return Some(Violation::new(Property::NothingImpossible, format!("node {me}: {what}")));
            }
        }
        None
    }

    #[inline]
    fn enter(&mut self, me: NodeId, group: Group) -> Option<Violation> {
        let was = core::mem::replace(&mut self.client, Client::Inside(group));
        match was {
            Client::Waiting(groups) if groups.contains(group) => None,
            Client::Waiting(groups) => {
                let detail = format!("node {me} asked for {groups} and enters {group}");
                Some(Violation::new(Property::NoEntryWithoutRequest, detail))
            }
            Client::Idle => {
                let detail = format!("node {me} enters and has not asked");
                Some(Violation::new(Property::NoEntryWithoutRequest, detail))
            }
            Client::Inside(_) => {
                let detail = format!("node {me} enters and is inside already");
                Some(Violation::new(Property::NoDoubleEntry, detail))
            }
        }
    }

    /// Counts what stands on this node.
    pub fn count(&self, site: &Site<'_, A>, census: &mut Census) {
        census.client(site.me, self.client);
        if let Some(node) = &self.node {
            node.count(site, census);
        }
    }
}

impl<A: Algorithm> Effect<A> {
    /// The effect of node `me` in one line, as transcripts and traces show it.
    pub fn describe(&self, me: NodeId) -> String {
        let timer = |index: &Timer| A::INFO.timers.get(*index).map_or("?", |timer| timer.name);
        match self {
            Effect::Send { to, message } => format!("{me} sends {message} to {to}"),
            Effect::Enter(0) => format!("{me} enters"),
            Effect::Enter(group) => format!("{me} enters group {group}"),
            Effect::Arm(index, Wait { hops, sections }) => {
                format!("{me} starts timer {} ({hops} hops, {sections} sections)", timer(index))
            }
            Effect::Disarm(index) => format!("{me} stops timer {}", timer(index)),
            Effect::Persist(durable) => format!("{me} stores {durable:?}"),
            Effect::Note(what) => format!("{me} notes: {what}"),
            Effect::Never(what) => format!("{me} meets the impossible: {what}"),
        }
    }
}
