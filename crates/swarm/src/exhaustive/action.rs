//! The possible next steps.

use std::fmt;

use service::Defect;

use super::world::World;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The oldest message from one node to another arrives.
    Deliver(usize, usize),
    /// A node learns of the view of this epoch.
    Learn(usize, u64),
    /// A client makes a request.
    Ask(usize),
    /// A client releases its grant.
    Release(usize),
    /// A node crashes.
    Crash(usize),
    /// The lease of a node lapses.
    Lapse(usize),
    /// A lapsed lease is renewed.
    Renew(usize),
    /// A node is excluded from the next view.
    Exclude(usize),
    /// An excluded node learns of it, and drops everything.
    Discover(usize),
    /// A node joins, in a new incarnation.
    Join(usize),
    /// A timer of a node's resource expires.
    Timer(usize, u32, usize),
    /// A node forgets an unused resource.
    Forget(usize),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Deliver(from, to) => write!(f, "a message of node {from} reaches node {to}"),
            Action::Learn(node, epoch) => write!(f, "node {node} hears of view {epoch}"),
            Action::Ask(client) => write!(f, "client {client} asks"),
            Action::Release(client) => write!(f, "client {client} releases"),
            Action::Crash(node) => write!(f, "node {node} dies"),
            Action::Lapse(node) => write!(f, "the lease of node {node} runs out"),
            Action::Renew(node) => write!(f, "the lease of node {node} is renewed"),
            Action::Exclude(node) => write!(f, "node {node} is excluded"),
            Action::Discover(node) => write!(f, "node {node} learns that it was excluded"),
            Action::Join(node) => write!(f, "node {node} joins, in a new incarnation"),
            Action::Timer(node, resource, timer) => {
                write!(f, "timer {timer} of resource {resource} at node {node} runs out")
            }
            Action::Forget(node) => write!(f, "node {node} forgets an unused resource"),
        }
    }
}

impl World {
    /// All possible next steps.
    pub(crate) fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        for from in 0..self.nodes.len() {
            let others = (0..self.nodes.len()).filter(|to| self.can_deliver(from, *to));
            actions.extend(others.map(|to| Action::Deliver(from, to)));
        }
        for node in 0..self.nodes.len() {
            self.actions_of_node(node, &mut actions);
        }
        for (number, client) in self.clients.iter().enumerate() {
            let here = &self.nodes[client.node];
            if client.promised {
                actions.push(Action::Release(number));
            } else if client.rounds > 0 && !client.waits && here.core().is_some() && !here.lapsed {
                actions.push(Action::Ask(number));
            }
        }
        actions
    }

    fn actions_of_node(&self, number: usize, actions: &mut Vec<Action>) {
        let node = &self.nodes[number];
        let is_member = self.is_member(number);
        let may_fail = self.failures > 0;
        if let Some(core) = node.core() {
            let backwards = self.defect == Some(Defect::ViewsBackwards);
            let epochs = self.views_of(number);
            let others =
                epochs.filter(|epoch| *epoch > core.view().epoch || backwards && *epoch < core.view().epoch);
            actions.extend(others.map(|epoch| Action::Learn(number, epoch)));
            if may_fail && is_member {
                actions.push(Action::Crash(number));
                if !node.lapsed {
                    actions.push(Action::Lapse(number));
                }
            }
            if node.lapsed && is_member {
                actions.push(Action::Renew(number));
            }
            if !is_member {
                actions.push(Action::Discover(number));
            }
            if self.timers > 0 {
                actions.extend(
                    core.timers().into_iter().map(|(resource, timer)| Action::Timer(number, resource, timer)),
                );
                if core.wakes_at().is_some_and(|at| at <= node.now) {
                    actions.push(Action::Forget(number));
                }
            }
        } else if node.joins {
            actions.extend(self.views_of(number).map(|epoch| Action::Learn(number, epoch)));
        }
        let gone = node.lapsed || node.core().is_none() && !node.joins;
        let suspected = self.defect == Some(Defect::ExcludesOnSuspicion) && may_fail;
        if is_member && self.view().members.len() > 1 && (gone || suspected) {
            actions.push(Action::Exclude(number));
        }
        let at_once = self.defect == Some(Defect::RestartReplaces);
        if node.core().is_none() && !node.joins && (!is_member || at_once) {
            actions.push(Action::Join(number));
        }
    }
}
