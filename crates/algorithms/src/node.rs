//! One node in a system: the algorithm's state with its clients, its timers and its stable storage. All
//! drivers apply inputs and effects through this type, so the meaning of an effect is written once.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::algorithm::{
    Algorithm, Chance, ClientId, Effect, Grant, Group, Groups, Input, NodeId, Outbox, Site, Timer, Wait,
};
use crate::census::Census;
use crate::info::{Clients, Info, Kind};
use crate::properties::{Property, Violation};
use crate::renaming::Renaming;
use crate::sorted;

/// The state of a local client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Client {
    /// Neither waiting nor inside.
    Idle,
    /// Waiting for any one of these groups.
    Waiting(Groups),
    /// Inside.
    Inside {
        /// The group of the entry.
        group: Group,
        /// The slot it holds.
        slot: u32,
    },
}

impl Client {
    /// Whether the client is inside.
    pub fn is_inside(self) -> bool {
        matches!(self, Client::Inside { .. })
    }

    /// Whether the client waits.
    pub fn is_waiting(self) -> bool {
        matches!(self, Client::Waiting(_))
    }
}

/// A node in a system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node<A: Algorithm> {
    /// The algorithm's state; `None` while the node is down.
    pub state: Option<A>,
    /// The client's state; of the first one if there are several.
    pub client: Client,
    /// The states of the other clients, from number 1 to the last that is not idle.
    pub others: Vec<Client>,
    /// The armed timers, in ascending order.
    pub armed: Vec<Timer>,
    /// What is in stable storage.
    pub saved: A::Durable,
}

/// An event at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<A: Algorithm> {
    /// An input of the algorithm.
    Input(Input<A>),
    /// The node crashes; its memory, its clients and its timers are gone.
    Crash,
    /// The node restarts from its stable storage.
    Restart,
}

/// What a node did on an event.
#[derive(Clone, Debug)]
pub struct Reaction<A: Algorithm> {
    /// All effects, in order.
    pub effects: Vec<Effect<A>>,
    /// The property that it violated, if any.
    pub violation: Option<Violation>,
}

impl<A: Algorithm> Node<A> {
    /// A node when the system starts.
    pub fn start(site: &Site<'_, A>) -> Node<A> {
        Node {
            state: Some(A::start(site)),
            client: Client::Idle,
            others: Vec::new(),
            armed: Vec::new(),
            saved: A::unsaved(site.rules),
        }
    }

    /// The state of a client.
    #[inline]
    pub fn client(&self, number: ClientId) -> Client {
        match number {
            0 => self.client,
            _ => self.others.get(number as usize - 1).copied().unwrap_or(Client::Idle),
        }
    }

    /// All clients up to the last that is not idle, with their numbers.
    pub fn clients(&self) -> impl Iterator<Item = (ClientId, Client)> {
        (0..).zip(core::iter::once(self.client).chain(self.others.iter().copied()))
    }

    /// The lowest number of an idle client.
    pub fn idle_client(&self) -> ClientId {
        let busy = self.clients().take_while(|(_, client)| *client != Client::Idle);
        busy.count() as ClientId
    }

    #[inline]
    fn set_client(&mut self, number: ClientId, client: Client) {
        if number == 0 {
            self.client = client;
            return;
        }
        let index = number as usize - 1;
        if index >= self.others.len() {
            self.others.resize(index + 1, Client::Idle);
        }
        self.others[index] = client;
        while self.others.last() == Some(&Client::Idle) {
            self.others.pop();
        }
    }

    /// Gives the clients other numbers.
    pub fn rename_clients(&mut self, renaming: &Renaming) {
        let before: Vec<(ClientId, Client)> = self.clients().collect();
        self.client = Client::Idle;
        self.others.clear();
        before.into_iter().for_each(|(number, client)| self.set_client(renaming.of(number), client));
        if let Some(state) = &mut self.state {
            state.rename_clients(renaming);
        }
    }

    /// Applies an event to the node, and carries out the effects that concern only this node. The caller
    /// carries out the sends.
    pub fn apply(&mut self, site: &Site<'_, A>, event: Event<A>, chance: &mut dyn Chance) -> Reaction<A> {
        let mut effects = Vec::new();
        self.handle(site, event, &mut Outbox::new(&mut effects, chance));
        let mut violation = None;
        for effect in &effects {
            if let Some(wrong) = self.carry_out(site, effect) {
                violation.get_or_insert(wrong);
            }
        }
        Reaction { effects, violation }
    }

    /// The first half of [`Node::apply`]: applies an event. The caller passes each effect to
    /// [`Node::carry_out`], in order. Inlined, because callers know the event.
    #[inline(always)]
    pub fn handle(&mut self, site: &Site<'_, A>, event: Event<A>, out: &mut Outbox<'_, A>) {
        match event {
            Event::Input(Input::Deliver { from, message }) => self.deliver(site, from, message, out),
            Event::Input(input) => {
                match &input {
                    Input::Request { client, groups } => self.set_client(*client, Client::Waiting(*groups)),
                    Input::Cancel { client } | Input::Exit { client } => {
                        self.set_client(*client, Client::Idle);
                    }
                    Input::Expire(timer) => self.armed.retain(|armed| armed != timer),
                    Input::Deliver { .. } => {}
                }
                if let Some(state) = &mut self.state {
                    state.step(site, input, out);
                }
            }
            Event::Crash => {
                (self.state, self.client) = (None, Client::Idle);
                self.others.clear();
                self.armed.clear();
            }
            Event::Restart => self.state = Some(A::restart(site, &self.saved, out)),
        }
    }

    /// [`Node::handle`] for a message, which is most of what a node handles.
    #[inline(always)]
    pub fn deliver(
        &mut self,
        site: &Site<'_, A>,
        from: NodeId,
        message: A::Message,
        out: &mut Outbox<'_, A>,
    ) {
        // A message to a node that is down is lost.
        if let Some(state) = &mut self.state {
            state.step(site, Input::Deliver { from, message }, out);
        }
    }

    /// Carries out an effect as far as it concerns only this node. Returns the property that the effect
    /// violates.
    #[inline]
    pub fn carry_out(&mut self, site: &Site<'_, A>, effect: &Effect<A>) -> Option<Violation> {
        let me = site.me;
        match effect {
            Effect::Send { to, message } if !site.can_send_to(*to) => {
                let detail = format!("node {me} sends {message} to {to}");
                return Some(Violation::new(Property::NothingImpossible, detail));
            }
            Effect::Send { .. } | Effect::Note(_) => {}
            Effect::Enter(grant) => return self.enter(me, grant),
            Effect::Arm(timer, _) => sorted::insert(&mut self.armed, *timer),
            Effect::Disarm(timer) => self.armed.retain(|armed| armed != timer),
            Effect::Persist(durable) => self.saved = durable.clone(),
            Effect::Never(what) => {
                return Some(Violation::new(Property::NothingImpossible, format!("node {me}: {what}")));
            }
        }
        None
    }

    /// [`Node::carry_out`] for an entry.
    #[inline(always)]
    pub fn enter(&mut self, me: NodeId, &Grant { client, group, slot, .. }: &Grant) -> Option<Violation> {
        let was = self.client(client);
        self.set_client(client, Client::Inside { group, slot });
        match was {
            Client::Waiting(groups) if groups.contains(group) => None,
            _ => Some(wrong_entry(me, was, group)),
        }
    }

    /// Counts what is on this node.
    #[inline]
    pub fn count(&self, site: &Site<'_, A>, census: &mut Census) {
        let info = site.info();
        match info.clients {
            Clients::OneEach => census.client(site.me, self.client),
            Clients::Many => self.count_many(site.me, info.kind, census),
        }
        if let Some(state) = &self.state {
            state.count(site, census);
        }
    }
}

/// An entry by a client that did not wait for this group.
#[cold]
#[inline(never)]
fn wrong_entry(me: NodeId, was: Client, group: Group) -> Violation {
    let (property, detail) = match was {
        Client::Waiting(groups) => {
            (Property::NoEntryWithoutRequest, format!("node {me} asked for {groups} and enters {group}"))
        }
        Client::Idle => (Property::NoEntryWithoutRequest, format!("node {me} enters and has not asked")),
        Client::Inside { .. } => (Property::NoDoubleEntry, format!("node {me} enters and is inside already")),
    };
    Violation::new(property, detail)
}

impl Grant {
    fn describe(&self, me: NodeId, clients: Clients) -> String {
        let Grant { client, group, slot, fence } = self;
        let group = if *group == 0 { String::new() } else { format!(" group {group}") };
        match clients {
            Clients::OneEach => format!("{me} enters{group}"),
            Clients::Many => format!("client {client} of {me} enters{group} by slot {slot}, fence {fence}"),
        }
    }
}

impl<A: Algorithm> Node<A> {
    fn count_many(&self, me: NodeId, kind: Kind, census: &mut Census) {
        for (_, client) in self.clients() {
            census.client_of_many(me, client);
            if let Client::Inside { slot, .. } = client
                && kind != Kind::GroupMutex
            {
                census.inside_by_slot(slot);
            }
        }
    }
}

impl<A: Algorithm> Effect<A> {
    /// The effect of node `me` in one line, as transcripts and traces show it. `info` describes the algorithm.
    pub fn describe(&self, info: &Info, me: NodeId) -> String {
        let timer = |index: &Timer| info.timers.get(*index).map_or("?", |timer| timer.name);
        match self {
            Effect::Send { to, message } => format!("{me} sends {message} to {to}"),
            Effect::Enter(grant) => grant.describe(me, info.clients),
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
