//! A run as lines for a small space-time picture: who is inside when, who waits, which messages go where.

use std::collections::BTreeMap;

use algorithms::info::Clients;
use algorithms::node::Client;
use algorithms::{Algorithm, Erased, Kind, NodeId};
use serde::{Serialize, Serializer};

use crate::run::{Happened, Run};

/// The lines of a run. Times count steps, from 0 at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outline {
    /// The number of nodes.
    pub nodes: u32,
    /// The first step that is drawn.
    pub from: usize,
    /// The last step that is drawn.
    pub to: usize,
    /// Clients inside.
    pub bars: Vec<Bar>,
    /// Clients that wait.
    pub waits: Vec<Bar>,
    /// Messages.
    pub messages: Vec<Arrow>,
}

/// A time that a client of a node was inside, or waited. In JSON a list of its fields, in this order: a page gets many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The node.
    pub node: NodeId,
    /// The client.
    pub client: u32,
    /// The step with which it began.
    pub from: usize,
    /// The step with which it ended; none if it has not.
    pub to: Option<usize>,
    /// The group, where there are groups; the token by which the client is inside, where tokens have numbers.
    pub colour: Option<u32>,
}

/// A message. In JSON a list of its fields, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// Its number.
    pub id: u64,
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// The step that sent it.
    pub sent: usize,
    /// The step in which it arrived; none if it has not, or was lost.
    pub received: Option<usize>,
    /// Its kind.
    pub kind: &'static str,
    /// The token that it carries.
    pub token: Option<u32>,
}

impl Serialize for Bar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Bar { node, client, from, to, colour } = self;
        (node, client, from, to, colour).serialize(serializer)
    }
}

impl Serialize for Arrow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Arrow { id, from, to, sent, received, kind, token } = self;
        (id, from, to, sent, received, kind, token).serialize(serializer)
    }
}

/// Follows a run and draws its outline.
#[derive(Default)]
pub(crate) struct Pen {
    outline: Outline,
    /// Each client, since when, and its colour.
    clients: BTreeMap<(NodeId, u32), (Client, usize, Option<u32>)>,
    arrows: BTreeMap<u64, usize>,
}

impl Pen {
    pub(crate) fn new(run: &Run<'_>) -> Pen {
        let outline = Outline { nodes: run.world.nodes.len() as u32, ..Outline::default() };
        Pen { outline, ..Pen::default() }
    }

    /// Draws the step that led to the state of the run.
    pub(crate) fn draw(&mut self, run: &Run<'_>, happened: &Happened) {
        self.outline.to = run.at;
        if let Some(arrow) = happened.message.as_ref().and_then(|message| self.arrows.get(&message.id))
            && matches!(happened.step.action, algorithms::Action::Deliver(_))
        {
            self.outline.messages[*arrow].received = Some(run.at);
        }
        let Some(node) = happened.outcome.node else { return };
        self.draw_clients(run, node);
        let mut ids = happened.sent.iter();
        for effect in &happened.outcome.effects {
            if let (algorithms::Effect::Send { to, message }, Some(&id)) = (effect, peek(effect, &mut ids)) {
                self.arrows.insert(id, self.outline.messages.len());
                self.outline.messages.push(Arrow {
                    id,
                    from: node,
                    to: *to,
                    sent: run.at,
                    received: None,
                    kind: Erased::kind(message),
                    token: Erased::draw_message(message).token,
                });
            }
        }
    }

    fn draw_clients(&mut self, run: &Run<'_>, node: NodeId) {
        let now: BTreeMap<u32, Client> = run.world.nodes[node as usize].clients().collect();
        let known = self.clients.keys().filter(|(at, _)| *at == node).map(|(_, client)| *client);
        let mut numbers: Vec<u32> = known.chain(now.keys().copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        for client in numbers {
            let is = now.get(&client).copied().unwrap_or(Client::Idle);
            let before = self.clients.get(&(node, client)).copied();
            if before.is_some_and(|(was, ..)| was == is) {
                continue;
            }
            self.clients.insert((node, client), (is, run.at, colour(run, node, is)));
            if let Some((was, since, colour)) = before {
                self.end(Bar { node, client, from: since, to: Some(run.at), colour }, was);
            }
        }
    }

    fn end(&mut self, bar: Bar, was: Client) {
        match was {
            Client::Idle => {}
            Client::Waiting(_) => self.outline.waits.push(bar),
            Client::Inside { .. } => self.outline.bars.push(bar),
        }
    }

    /// The outline, as far as its last `most` steps go.
    pub(crate) fn finish(mut self, most: usize) -> Outline {
        let open: Vec<_> = self.clients.iter().map(|(&key, &value)| (key, value)).collect();
        for ((node, client), (is, from, colour)) in open {
            self.end(Bar { node, client, from, to: None, colour }, is);
        }
        let mut outline = self.outline;
        let from = outline.to.saturating_sub(most);
        outline.from = from;
        let lasts = |bar: &Bar| bar.to.is_none_or(|to| to >= from);
        outline.bars.retain(lasts);
        outline.waits.retain(lasts);
        outline.messages.retain(|arrow| arrow.received.unwrap_or(arrow.sent) >= from);
        let key = |bar: &Bar| (bar.from, bar.node, bar.client);
        outline.bars.sort_by_key(key);
        outline.waits.sort_by_key(key);
        outline
    }
}

/// What tells one entry from another: the group, the slot, or the token.
fn colour(run: &Run<'_>, node: NodeId, client: Client) -> Option<u32> {
    let info = run.world.info();
    match client {
        Client::Idle => None,
        Client::Waiting(groups) if info.kind == Kind::GroupMutex => groups.first(),
        Client::Waiting(_) => run.world.picture(node).asks,
        Client::Inside { group, .. } if info.kind == Kind::GroupMutex => Some(group),
        Client::Inside { slot, .. } if info.clients == Clients::Many => Some(slot),
        Client::Inside { .. } => run.world.picture(node).tokens.first().copied(),
    }
}

/// The number of the message that an effect sends.
fn peek<'i>(effect: &algorithms::Effect<Erased>, ids: &mut std::slice::Iter<'i, u64>) -> Option<&'i u64> {
    matches!(effect, algorithms::Effect::Send { .. }).then(|| ids.next()).flatten()
}
