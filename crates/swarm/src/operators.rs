//! Operators, over connections of their own: they define names, resize them, change leases, list the holders
//! and release grants by force. And strangers, which send invalid frames.

use std::sync::Arc;
use std::time::Duration;

use service::core::{Listing, Timeout};
use service::event::Filter;
use service::leases;
use service::member::{ConnectionId, ControlPlaneError};
use service::protocol::{Order, Question, QuestionAnswer, ToClient, ToNode};
use service::registry::{Applied, Entry};
use service::{Acquire, Definition, SessionHandle, SessionId, SessionKey, Want};

use crate::events::Event;
use crate::log::{Happened, NodeChange};
use crate::run::{Reader, Run};

/// The most slots that a name gets.
const MOST_SLOTS: u64 = 5;

impl Run {
    /// A running node, and a new connection to it.
    pub(crate) fn operator(&mut self) -> Option<(usize, ConnectionId)> {
        let runs = |node: &usize| self.processes[*node].member.is_some();
        let nodes: Vec<usize> = (0..self.processes.len()).filter(runs).collect();
        let node = *nodes.get(self.below(nodes.len() as u64) as usize)?;
        let process = &mut self.processes[node];
        let connection = process.member.as_mut()?.connected("an operator");
        process.readers.insert(connection, Reader::Operator);
        Some((node, connection))
    }

    pub(crate) fn order(&mut self, node: usize, connection: ConnectionId, said: ToNode) -> Vec<ToClient> {
        self.at_node(node, |member, environment, now, effects| {
            member.hear(connection, said, environment, now, effects);
        });
        std::mem::take(&mut self.told)
    }

    /// An operator defines a name: with a number of slots, or sometimes without a definition.
    pub(crate) fn define(&mut self) {
        let Some((node, connection)) = self.operator() else { return };
        let name: Arc<str> = format!("name {}", self.below(u64::from(self.plan.names))).into();
        let slots = 1 + self.below(MOST_SLOTS) as u32;
        let order = match self.below(5) {
            0 => Order::Define { name, definition: None },
            1 => Order::Resize { name, slots },
            _ => Order::Define { name, definition: Some(Definition::Slots(slots)) },
        };
        self.order(node, connection, ToNode::Order { number: 1, order });
    }

    /// A node has an entry committed, if there is a leader.
    pub(crate) fn propose(&mut self, node: usize, started: u64, order: (ConnectionId, u64), entry: &Entry) {
        if self.processes[node].started != started {
            return;
        }
        let leader = self.control.leader().filter(|leader| self.can_lead(Run::index(leader.node)));
        let reached = leader.filter(|_| !self.is_cut_off(node));
        let applied = match reached {
            Some(leadership) => Ok(self.control.apply(entry, leadership)),
            None => Err(ControlPlaneError("there is no leader".to_owned())),
        };
        if applied == Ok(Applied::Yes) {
            self.note_definition(entry);
            self.announce();
        }
        self.at_node(node, |member, _, _, effects| member.proposed(order, entry, applied, effects));
    }

    fn note_definition(&mut self, entry: &Entry) {
        let Entry::Define { name, definition } = entry else { return };
        self.outcome.resized += 1;
        let what = definition.map_or("nothing".to_string(), |definition| definition.to_string());
        self.log(Happened::Defined { name: name.to_string(), definition: what });
        let number = name.rsplit(' ').next().and_then(|number| number.parse().ok());
        if let (Some(number), Some(slots)) = (number, definition.and_then(Definition::slots)) {
            let most = self.most_slots.entry(number).or_default();
            *most = slots.max(*most);
        }
    }

    /// An operator changes the length of leases.
    pub(crate) fn change_leases(&mut self) {
        let Some((node, connection)) = self.operator() else { return };
        let question = Question::Lease(Duration::from_secs(1 + self.below(3)));
        self.order(node, connection, ToNode::Ask { number: 1, question });
    }

    /// The control plane carries out an operator's request.
    pub(crate) fn arrange(&mut self, node: usize, order: (ConnectionId, u64), question: &Question) {
        let (after, started) = (self.control_hop(), self.processes[node].started);
        if let (Question::Lease(lasts), Some(who)) = (question, self.control.leader()) {
            self.plan_in(after, Event::Lead { who, input: leases::Input::Lasts(*lasts) });
        }
        self.plan_in(2 * after, Event::Arranged { node, started, order });
    }

    pub(crate) fn arranged(&mut self, node: usize, started: u64, order: (ConnectionId, u64)) {
        if self.processes[node].started == started {
            self.at_node(node, |member, _, _, effects| {
                member.arranged(order, Ok(QuestionAnswer::Done), effects);
            });
        }
    }

    /// An operator lists the grants at a node, and releases one of them by force.
    pub(crate) fn force(&mut self) {
        let Some((node, connection)) = self.operator() else { return };
        let told = self.order(
            node,
            connection,
            ToNode::Ask { number: 1, question: Question::List { filter: Filter::default(), after: None } },
        );
        let listings = told.into_iter().flat_map(|frame| match frame {
            ToClient::QuestionAnswer { answer: QuestionAnswer::List(page), .. } => page.listings,
            _ => Vec::new(),
        });
        let mut held = Vec::new();
        for listing in listings {
            self.judge_listing(node, &listing);
            let grants = listing.clients.iter().filter_map(|client| client.granted);
            held.extend(grants.map(|grant| (listing.name.clone(), grant)));
        }
        if held.is_empty() {
            return;
        }
        let (name, grant) = held.swap_remove(self.below(held.len() as u64) as usize);
        self.outcome.forced += 1;
        let (slot, fence) = (grant.slot, grant.fence);
        let what = format!("slot {slot} of {name} with fence {fence}");
        self.log_node(node, NodeChange::Forces { name: name.clone(), slot, fence });
        let order = Order::ForceRelease { name: name.into(), slot, fence, at_once: false };
        let told = self.order(node, connection, ToNode::Order { number: 2, order });
        let refusal = told.iter().find_map(|frame| match frame {
            ToClient::OrderResult { result: Err(refusal), .. } => Some(refusal),
            _ => None,
        });
        if let Some(refusal) = refusal {
            self.outcome
                .violations
                .push(format!("node {node} lists {what}, and does not release it: {refusal}"));
        }
    }

    /// Every grant that a node lists is held once.
    fn judge_listing(&mut self, node: usize, listing: &Listing) {
        let rooms = self.plan.groups > 0;
        let grants: Vec<_> = listing.clients.iter().filter_map(|client| client.granted).collect();
        for (index, grant) in grants.iter().enumerate() {
            if !rooms && grants[..index].iter().any(|other| other.slot == grant.slot) {
                let twice = format!("node {node} lists slot {} of {} twice", grant.slot, listing.name);
                self.outcome.violations.push(twice);
            }
        }
    }

    /// A stranger sends invalid frames, which affect no other connection.
    pub(crate) fn nonsense(&mut self) {
        let Some((node, connection)) = self.operator() else { return };
        for _ in 0..1 + self.below(8) {
            let said = self.absurd();
            self.order(node, connection, said);
        }
        self.hung_up(node, self.processes[node].started, connection);
    }

    /// A number that programs tend to mishandle.
    fn odd_number(&mut self) -> u64 {
        [0, 1, 2, u64::from(u32::MAX), 1 << 40, u64::MAX - 1, u64::MAX][self.below(7) as usize]
    }

    fn absurd(&mut self) -> ToNode {
        // Sessions of others have low numbers: guesses are in `strangers`.
        let (incarnation, number) = (self.odd_number(), 1_000_000 + self.odd_number() / 2);
        let id = SessionId { node: 100 + self.below(3) as u32, incarnation, number };
        let session = SessionHandle { id, key: SessionKey::new([0xff; 16]) };
        let (request, fence) = (self.odd_number(), self.odd_number());
        match self.below(9) {
            0 => ToNode::Open { ttl: [Duration::ZERO, Duration::MAX][self.below(2) as usize], label: None },
            1 => ToNode::KeepAlive { session, sequence: request, settled: fence },
            2 => ToNode::Cancel { session, request },
            3 => ToNode::Release { session, request, fence },
            4 => ToNode::Close { session },
            5 => ToNode::Ask {
                number: request,
                question: Question::Inspect { name: "\n".repeat(300), after: None },
            },
            6 => {
                let definition = Some(Definition::Slots(u32::MAX));
                ToNode::Order { number: request, order: Order::Define { name: "name 0".into(), definition } }
            }
            7 => {
                let order = Order::ForceRelease { name: "name 0".into(), slot: 0, fence, at_once: true };
                ToNode::Order { number: request, order }
            }
            _ => {
                let (definition, want) = (Definition::Slots(0), Want::AnyOf([].into()));
                let timeout = Timeout::Never;
                ToNode::Acquire {
                    session,
                    ask: Acquire { request, name: "".into(), definition, want, timeout },
                }
            }
        }
    }
}
