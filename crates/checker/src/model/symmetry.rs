//! Symmetry: parts after nodes have exchanged their numbers, and the proof that those behave alike.
//!
//! Renamings that keep the initial state form a group. If every part of a state behaves as its renamed parts do,
//! renamed, then so does the whole state, because a state does nothing that its parts do not. So the search
//! needs to visit only one of the states that are renamings of each other. Nothing is taken on trust: the first
//! time that the search asks about a part, the answers for all its renamings are computed and compared. That
//! costs no more than the search without symmetry, which asks about each of those parts as well.

use std::sync::Arc;

use algorithms::{Algorithm, Census, Erased, Property, Renaming, SettingError, System};

use super::{Cause, Envelope, InboxInfo, Model, Move, NodeInfo, NodePart, Outcome};
use crate::fast_hash::FastSet;
use crate::row::Budget;

#[cfg(test)]
mod tests;

/// There are n! renamings, and a state is compared under all of them that keep the initial state.
pub(crate) const MOST_SYMMETRIC_NODES: u32 = 6;

/// The renamings in use.
pub(super) struct Symmetry {
    /// All that keep the initial state, except the identity.
    renamings: Arc<[Renaming]>,
    verified: FastSet<Question>,
    /// The first answer that differs between a part and a renamed part.
    broken: Option<String>,
}

/// A question about parts whose answer is verified.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Question {
    Node(u32),
    Inbox(u32),
    Delivery(u32, u32),
}

/// What a step does, in a form that can be compared: the order of different steps, and of messages to
/// different nodes, has no meaning.
type Summary = (Option<(Cause, Budget)>, u32, Vec<(u32, u32)>, u64, Option<Property>);

/// What an inbox allows and counts, in the same form.
type InboxSummary = (Vec<(u32, u32)>, Option<Census>, Option<u32>);

/// The renamings that the algorithm allows, except the identity. There must not be too many nodes.
fn allowed_renamings(system: &System<Erased>) -> Vec<Renaming> {
    let renamings = Renaming::all(system.setting().nodes).into_iter();
    let changes = renamings.filter(|renaming| !renaming.is_identity());
    changes.filter(|renaming| Erased::allows_renaming(system.rules(), renaming)).collect()
}

/// Whether the algorithm lets at least two nodes exchange their numbers.
pub(crate) fn is_symmetric(system: &System<Erased>) -> bool {
    system.setting().nodes <= MOST_SYMMETRIC_NODES && !allowed_renamings(system).is_empty()
}

impl Model {
    /// From now on, states that are renamings of each other count as one. Refuses an algorithm that tells
    /// nodes apart.
    pub(crate) fn use_symmetry(&mut self) -> Result<(), SettingError> {
        let (name, nodes) = (self.system.info().name, self.system.setting().nodes);
        if nodes > MOST_SYMMETRIC_NODES {
            return Err(SettingError(format!(
                "--symmetry on takes at most {MOST_SYMMETRIC_NODES} nodes, because it tries every order of them"
            )));
        }
        let allowed = allowed_renamings(&self.system);
        if allowed.is_empty() && nodes > 1 {
            return Err(SettingError(format!(
                "{name} tells nodes apart by their numbers, at least with these options: leave out --symmetry on"
            )));
        }
        let start = self.start();
        let states: Vec<u32> = (0..nodes as usize).map(|node| start.as_row().node(node)).collect();
        let keeps_start = |renaming: &Renaming| {
            (0..)
                .zip(&states)
                .all(|(node, &state)| self.rename_node(state, renaming) == states[renaming.of(node) as usize])
        };
        let renamings = allowed.into_iter().filter(keeps_start).collect();
        self.symmetry = Some(Symmetry { renamings, verified: FastSet::default(), broken: None });
        Ok(())
    }

    /// The renamings in use, except the identity; `None` without symmetry.
    pub(crate) fn renamings(&self) -> Option<Arc<[Renaming]>> {
        self.symmetry.as_ref().map(|symmetry| symmetry.renamings.clone())
    }

    /// Why the algorithm is not symmetric although it says so, if that was found.
    pub(crate) fn broken_symmetry(&self) -> Option<&str> {
        self.symmetry.as_ref()?.broken.as_deref()
    }

    /// The state of a node under all renamings in use.
    pub(crate) fn renamed_nodes(&mut self, node: u32, to: &mut [u32]) {
        for (renaming, renamed) in self.renamings().iter().flat_map(|all| all.iter()).zip(to) {
            *renamed = self.rename_node(node, renaming);
        }
    }

    /// An inbox under all renamings in use.
    pub(crate) fn renamed_inboxes(&mut self, inbox: u32, to: &mut [u32]) {
        for (renaming, renamed) in self.renamings().iter().flat_map(|all| all.iter()).zip(to) {
            *renamed = self.rename_inbox(inbox, renaming);
        }
    }

    fn rename_node(&mut self, node: u32, renaming: &Renaming) -> u32 {
        let mut part: NodePart = self.nodes.values[node as usize].clone();
        part.me = renaming.of(part.me);
        if let Some(state) = &mut part.node.state {
            state.rename(self.system.rules(), renaming);
        }
        self.nodes.number(part)
    }

    fn rename_envelope(&mut self, envelope: u32, renaming: &Renaming) -> u32 {
        let mut envelope: Envelope = self.envelopes.values[envelope as usize].clone();
        envelope.from = renaming.of(envelope.from);
        Erased::rename_message(&mut envelope.message, renaming);
        self.envelopes.number(envelope)
    }

    fn rename_inbox(&mut self, inbox: u32, renaming: &Renaming) -> u32 {
        let (node, mut envelopes) = self.inboxes.values[inbox as usize].clone();
        for envelope in &mut envelopes {
            *envelope = self.rename_envelope(*envelope, renaming);
        }
        self.sort(&mut envelopes);
        self.inboxes.number((renaming.of(node), envelopes))
    }

    /// Verifies that the node behaves as it does under every renaming.
    pub(super) fn verify_node(&mut self, node: u32, info: &NodeInfo) {
        for renaming in self.unverified(Question::Node(node)).iter() {
            let other = self.rename_node(node, renaming);
            self.mark(Question::Node(other));
            let found = self.node_alone(other);
            let lists = [
                (&info.moves, &found.moves),
                (&info.when_busy, &found.when_busy),
                (&info.when_silent, &found.when_silent),
            ];
            let mut alike = lists.into_iter().all(|(expected, found)| {
                self.summaries(expected, Some(renaming)) == self.summaries(found, None)
            });
            alike &= info.census.as_ref().map(|census| census.renamed(renaming)) == found.census;
            alike &= (info.done, info.fresh) == (found.done, found.fresh);
            alike &= info.ticked.map(|ticked| self.rename_node(ticked, renaming)) == found.ticked;
            if !alike {
                self.report(&format!("{:?}", self.nodes.values[node as usize].node.state), renaming);
            }
        }
    }

    /// Verifies that the inbox means what it means under every renaming.
    pub(super) fn verify_inbox(&mut self, inbox: u32, info: &InboxInfo) {
        for renaming in self.unverified(Question::Inbox(inbox)).iter() {
            let other = self.rename_inbox(inbox, renaming);
            self.mark(Question::Inbox(other));
            let found = self.inbox_alone(other);
            let expected = self.inbox_summary(info, Some(renaming));
            if expected != self.inbox_summary(&found, None) {
                self.report("the messages on their way to a node", renaming);
            }
        }
    }

    /// Verifies that a message has the same effects on a node under every renaming.
    pub(super) fn verify_delivery(&mut self, node: u32, envelope: u32, outcomes: &[Outcome]) {
        for renaming in self.unverified(Question::Delivery(node, envelope)).iter() {
            let others = (self.rename_node(node, renaming), self.rename_envelope(envelope, renaming));
            self.mark(Question::Delivery(others.0, others.1));
            let found = self.deliver_alone(others.0, others.1);
            let summaries = |model: &mut Model, outcomes: &[Outcome], renaming| {
                let mut all: Vec<Summary> =
                    outcomes.iter().map(|outcome| model.summary(None, outcome, renaming)).collect();
                all.sort();
                all
            };
            if summaries(self, outcomes, Some(renaming)) != summaries(self, &found, None) {
                let what = format!(
                    "{} to {:?}",
                    self.envelope(envelope).1,
                    self.nodes.values[node as usize].node.state
                );
                self.report(&what, renaming);
            }
        }
    }

    /// The renamings under which a question is not verified yet: all or none.
    fn unverified(&mut self, question: Question) -> Arc<[Renaming]> {
        let Some(symmetry) = &mut self.symmetry else { return Arc::default() };
        if symmetry.verified.insert(question) { symmetry.renamings.clone() } else { Arc::default() }
    }

    fn mark(&mut self, question: Question) {
        if let Some(symmetry) = &mut self.symmetry {
            symmetry.verified.insert(question);
        }
    }

    fn report(&mut self, what: &str, renaming: &Renaming) {
        let name = self.system.info().name;
        let Some(symmetry) = &mut self.symmetry else { return };
        symmetry.broken.get_or_insert_with(|| {
            format!(
                "{name} is not symmetric here, although it says so: renaming {renaming} changes more than \
                 names in what happens with {what}. Explore it without --symmetry on"
            )
        });
    }

    fn summaries(&mut self, moves: &[Move], renaming: Option<&Renaming>) -> Vec<Summary> {
        let summary = |step: &Move| self.summary(Some((step.cause, step.cost)), &step.outcome, renaming);
        let mut all: Vec<Summary> = moves.iter().map(summary).collect();
        all.sort();
        all
    }

    fn summary(
        &mut self,
        cause: Option<(Cause, Budget)>,
        outcome: &Outcome,
        renaming: Option<&Renaming>,
    ) -> Summary {
        let (mut node, mut sends) = (outcome.node, outcome.sends.to_vec());
        if let Some(renaming) = renaming {
            node = self.rename_node(node, renaming);
            for (to, envelope) in &mut sends {
                (*to, *envelope) = (renaming.of(*to), self.rename_envelope(*envelope, renaming));
            }
        }
        // Messages to one node keep their order.
        sends.sort_by_key(|&(to, _)| to);
        (cause, node, sends, outcome.notes, outcome.violation.as_ref().map(|violation| violation.property))
    }

    fn inbox_summary(&mut self, info: &InboxInfo, renaming: Option<&Renaming>) -> InboxSummary {
        let InboxInfo { arrivals, census, ticked } = info;
        let Some(renaming) = renaming else {
            let mut arrivals = arrivals.clone();
            arrivals.sort_unstable();
            return (arrivals, census.clone(), *ticked);
        };
        let renamed = arrivals.iter().map(|&(envelope, rest)| {
            (self.rename_envelope(envelope, renaming), self.rename_inbox(rest, renaming))
        });
        let mut arrivals: Vec<(u32, u32)> = renamed.collect();
        arrivals.sort_unstable();
        let ticked = ticked.map(|ticked| self.rename_inbox(ticked, renaming));
        (arrivals, census.as_ref().map(|census| census.renamed(renaming)), ticked)
    }
}
