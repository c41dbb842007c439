//! Symmetry: parts after nodes, or the clients of a node, have exchanged their numbers.
//!
//! Renamings that keep the initial state form a group. If every part of a state behaves as its renamed parts do,
//! up to renaming, then so does the whole state, because a state does nothing that its parts do not. So the
//! search needs to visit only one of the states that are renamings of each other. `verification` checks that
//! premise.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use algorithms::info::{Clients, Pace};
use algorithms::{Algorithm, Case, ClientId, Erased, NodeId, Renaming, SettingError, System};

use super::shared::Answers;
use super::{Envelope, Model, NodePart};
use crate::fast_hash::FastSet;
use crate::job::Symmetry;

#[cfg(test)]
mod tests;
mod verification;

use verification::{MESSAGES, Question};

/// There are n! renamings of n nodes, and a state is compared under all of them that keep the initial state.
/// The same is so of the clients of each node.
const MOST_SYMMETRIC: u32 = 6;

/// The renamings in use.
pub(super) struct Renamings {
    /// Those of nodes that keep the initial state, the identity first.
    nodes: Arc<[Renaming]>,
    /// Those of the clients of one node, the identity first. Each node has its own, and all keep the initial state.
    clients: Arc<[Renaming]>,
    /// For each state of a node that was asked about: the one that stands for it and all others in which its
    /// clients have exchanged their numbers, and how many those are.
    forms: Answers<u32, ClientForms>,
    verified: Mutex<FastSet<Question>>,
    /// The first answer that differs between a part and a renamed part.
    broken: OnceLock<String>,
}

/// The states of a node in which its clients have only exchanged their numbers.
#[derive(Clone, Copy)]
struct ClientForms {
    smallest: u32,
    count: u32,
}

/// A renaming of the nodes and of the clients of one node, which the rules do not mix: no message names a client.
#[derive(Clone, Copy)]
struct Exchange<'a> {
    nodes: &'a Renaming,
    clients: &'a Renaming,
}

impl fmt::Display for Exchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [("nodes", self.nodes), ("clients", self.clients)];
        let changes = kinds.iter().filter(|(_, renaming)| !renaming.is_identity());
        for (index, (kind, renaming)) in changes.enumerate() {
            write!(f, "{}{kind} {renaming}", if index == 0 { "" } else { " and " })?;
        }
        Ok(())
    }
}

/// The renamings of nodes that the algorithm allows, the identity first, or why there are no others.
fn node_renamings(system: &System<Erased>) -> Result<Vec<Renaming>, SettingError> {
    let (name, nodes) = (system.info().name, system.setting().nodes);
    if nodes > MOST_SYMMETRIC {
        return Err(SettingError(format!(
            "--symmetry takes at most {MOST_SYMMETRIC} nodes, because it tries every order of them"
        )));
    }
    let allows =
        |renaming: &Renaming| renaming.is_identity() || Erased::allows_renaming(system.rules(), renaming);
    let allowed: Vec<Renaming> = Renaming::all(nodes).into_iter().filter(allows).collect();
    if allowed.len() == 1 && nodes > 1 {
        return Err(SettingError(format!(
            "{name} tells nodes apart by their numbers, at least with these options: leave out --symmetry"
        )));
    }
    Ok(allowed)
}

/// The renamings of the clients of a node, the identity first, or why there are no others.
fn client_renamings(
    system: &System<Erased>,
    clients: ClientId,
    pace: Option<Pace>,
) -> Result<Vec<Renaming>, SettingError> {
    let info = system.info();
    let refuse = |why: String| Err(SettingError(why));
    if info.clients == Clients::OneEach {
        return refuse(format!("{} serves one client per node: leave out --symmetry clients", info.name));
    }
    if clients < 2 {
        return refuse(
            "one client at a time at each node has none to change places with: try --clients 2, or leave out \
             --symmetry clients"
                .to_string(),
        );
    }
    if clients > MOST_SYMMETRIC {
        return refuse(format!(
            "--symmetry clients takes at most {MOST_SYMMETRIC} clients at each node, because it tries every \
             order of them"
        ));
    }
    if pace.is_some() {
        return refuse("where time counts, a node has one client: leave out --symmetry clients".to_string());
    }
    if !Erased::allows_client_renaming(system.rules()) {
        return refuse(format!(
            "{} tells the clients of a node apart by their numbers: leave out --symmetry clients",
            info.name
        ));
    }
    Ok(Renaming::all(clients))
}

/// Whether there is any symmetry of this kind in a case.
pub(crate) fn is_symmetric(system: &System<Erased>, case: &Case, symmetry: Symmetry) -> bool {
    let is_any = |renamings: Result<Vec<Renaming>, SettingError>| renamings.is_ok_and(|all| all.len() > 1);
    let nodes = || is_any(node_renamings(system));
    let clients = || is_any(client_renamings(system, case.allowance.clients, case.allowance.pace));
    match symmetry {
        Symmetry::Off => false,
        Symmetry::Nodes => nodes(),
        Symmetry::Clients => clients(),
        Symmetry::On => nodes() || clients(),
    }
}

impl Model {
    /// From now on, states that are renamings of each other count as one. Refuses an algorithm that tells
    /// nodes or clients apart.
    pub(crate) fn use_symmetry(&mut self, symmetry: Symmetry) -> Result<(), SettingError> {
        // The only permutation of one number changes no others either.
        let identity = || Renaming::all(1);
        let by_clients = || client_renamings(&self.system, self.clients, self.pace);
        let (nodes, clients) = match symmetry {
            Symmetry::Off => return Ok(()),
            Symmetry::Nodes => (node_renamings(&self.system)?, identity()),
            Symmetry::Clients => (identity(), by_clients()?),
            Symmetry::On => match (node_renamings(&self.system), by_clients()) {
                (nodes, Ok(clients)) => (nodes.unwrap_or_else(|_| identity()), clients),
                (nodes, Err(_)) => (nodes?, identity()),
            },
        };
        let nodes: Vec<Renaming> = nodes.into_iter().filter(|renaming| self.keeps_start(renaming)).collect();
        self.renamings = Some(Renamings {
            nodes: nodes.into(),
            clients: clients.into(),
            forms: Answers::default(),
            verified: Mutex::default(),
            broken: OnceLock::new(),
        });
        Ok(())
    }

    /// Whether the initial state looks the same after nodes were renamed.
    fn keeps_start(&self, renaming: &Renaming) -> bool {
        let start = self.start();
        let state = |node: u32| start.as_row().node(node as usize);
        (0..self.system.setting().nodes)
            .all(|node| self.rename_nodes_in(state(node), renaming) == state(renaming.of(node)))
    }

    /// The renamings of nodes in use, the identity first; none without symmetry.
    pub(crate) fn node_renamings(&self) -> Arc<[Renaming]> {
        self.renamings.as_ref().map_or(Arc::default(), |renamings| renamings.nodes.clone())
    }

    /// The renamings of the clients of a node in use, the identity first; none without symmetry.
    pub(crate) fn client_renamings(&self) -> Arc<[Renaming]> {
        self.renamings.as_ref().map_or(Arc::default(), |renamings| renamings.clients.clone())
    }

    /// Why the algorithm is not symmetric although it says so, if that was found.
    pub(crate) fn broken_symmetry(&self) -> Option<&str> {
        self.renamings.as_ref()?.broken.get().map(String::as_str)
    }

    /// What stands for the state of a node under all renamings of nodes in use.
    pub(super) fn renamed_nodes_alone(&self, node: u32) -> Arc<[u32]> {
        let (nodes, clients) = (self.node_renamings(), self.client_renamings());
        let renamed = nodes.iter().map(|nodes| {
            let renamed = self.rename_nodes_in(node, nodes);
            if self.rename_nodes_in(renamed, &nodes.inverse()) != node {
                self.report_lossy(&self.describe_node(node), Exchange { nodes, clients: &clients[0] });
            }
            self.smallest_form(renamed)
        });
        renamed.collect()
    }

    /// An inbox under all renamings of nodes in use.
    pub(super) fn renamed_inboxes_alone(&self, inbox: u32) -> Arc<[u32]> {
        let (nodes, clients) = (self.node_renamings(), self.client_renamings());
        let renamed = nodes.iter().map(|nodes| {
            let renamed = self.rename_inbox(inbox, nodes);
            if self.rename_inbox(renamed, &nodes.inverse()) != inbox {
                self.report_lossy(MESSAGES, Exchange { nodes, clients: &clients[0] });
            }
            renamed
        });
        renamed.collect()
    }

    /// In how many ways the clients of a node in this state can be numbered.
    pub(crate) fn client_forms(&self, node: u32) -> u32 {
        self.forms(node).count
    }

    /// The state that stands for this one, and for all in which the clients have exchanged their numbers.
    fn smallest_form(&self, node: u32) -> u32 {
        self.forms(node).smallest
    }

    fn forms(&self, node: u32) -> ClientForms {
        if let Some(forms) = self.renamings.as_ref().and_then(|renamings| renamings.forms.get(&node)) {
            return forms;
        }
        let (nodes, clients) = (self.node_renamings(), self.client_renamings());
        let mut all = Vec::with_capacity(clients.len());
        for clients in clients.iter() {
            let renamed = self.rename_clients_in(node, clients);
            if self.rename_clients_in(renamed, &clients.inverse()) != node {
                self.report_lossy(&self.describe_node(node), Exchange { nodes: &nodes[0], clients });
            }
            all.push(renamed);
        }
        all.sort_unstable();
        all.dedup();
        let forms = ClientForms { smallest: *all.first().unwrap_or(&node), count: all.len().max(1) as u32 };
        if let Some(renamings) = &self.renamings {
            for form in all {
                renamings.forms.keep(form, forms);
            }
        }
        forms
    }

    fn rename_nodes_in(&self, node: u32, renaming: &Renaming) -> u32 {
        if renaming.is_identity() {
            return node;
        }
        let mut part = NodePart::clone(&self.nodes.get(node));
        part.me = renaming.of(part.me);
        if let Some(state) = &mut part.node.state {
            state.rename(self.system.rules(), renaming);
        }
        self.nodes.number(part)
    }

    fn rename_clients_in(&self, node: u32, renaming: &Renaming) -> u32 {
        if renaming.is_identity() {
            return node;
        }
        let mut part = NodePart::clone(&self.nodes.get(node));
        part.node.rename_clients(renaming);
        self.nodes.number(part)
    }

    fn rename_node(&self, node: u32, Exchange { nodes, clients }: Exchange<'_>) -> u32 {
        let node = self.rename_nodes_in(node, nodes);
        self.rename_clients_in(node, clients)
    }

    fn rename_envelope(&self, envelope: u32, renaming: &Renaming) -> u32 {
        if renaming.is_identity() {
            return envelope;
        }
        let mut envelope = Envelope::clone(&self.envelopes.get(envelope));
        envelope.from = renaming.of(envelope.from);
        Erased::rename_message(&mut envelope.message, renaming);
        self.envelopes.number(envelope)
    }

    fn rename_inbox(&self, inbox: u32, renaming: &Renaming) -> u32 {
        if renaming.is_identity() {
            return inbox;
        }
        let (node, mut envelopes) = <(NodeId, Vec<u32>)>::clone(&self.inboxes.get(inbox));
        for envelope in &mut envelopes {
            *envelope = self.rename_envelope(*envelope, renaming);
        }
        self.sort(&mut envelopes);
        self.inboxes.number((renaming.of(node), envelopes))
    }
}
