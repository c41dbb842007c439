//! The properties, checked from outside: at every grant of a node, when a client learns of it, from time to
//! time, and at the end.

use std::collections::BTreeSet;

use service::core::{RequestOutcome, Status};
use service::time::DRIFT_PERCENT;
use service::{Grant, Reply};

use crate::run::Run;
use crate::simulated_client::{HeldGrant, listed};

/// Tokens are counted once in this many events.
const COUNTED_EVERY: u64 = 64;

impl Run {
    fn within_bounds(&self) -> bool {
        self.plan.drift <= u64::from(DRIFT_PERCENT)
    }

    /// A node answers a client. A repeated answer is not another grant: if the lease has lapsed meanwhile,
    /// the client knows that the grant is over.
    pub(crate) fn judge_reply(&mut self, client: usize, reply: &Reply) {
        let granted = matches!(reply.outcome, RequestOutcome::Granted(_));
        if !granted || !self.granted.insert((reply.session, reply.request)) {
            return;
        }
        self.judge_order(client, reply);
        if self.within_bounds() {
            self.judge_knowledge(client, reply);
        }
    }

    /// The previous holder knows that its grant is over before a node grants the slot again.
    fn judge_knowledge(&mut self, client: usize, reply: &Reply) {
        let RequestOutcome::Granted(grant) = reply.outcome else { return };
        let Some(wanted) = self.clients[client].names.get(&reply.request) else { return };
        let given = HeldGrant::new(wanted, grant);
        let others = self.clients.iter().enumerate().filter(|(number, _)| *number != client);
        let held_grants = others.flat_map(|(_, program)| program.held_grants(self.now));
        let rooms = self.plan.groups > 0;
        let clashes = |other: &HeldGrant| {
            other.name == given.name && if rooms { !other.shares(&given) } else { other.slot == given.slot }
        };
        if let Some(other) = held_grants.into_iter().find(clashes) {
            self.outcome.violations.push(format!("a node grants {given} while another client holds {other}"));
        }
    }

    /// A node grants a request: fences rise in the order of grants. If clocks are worse than allowed, a node
    /// may go on in an old view, but never with a fence of a later one.
    fn judge_order(&mut self, client: usize, reply: &Reply) {
        let RequestOutcome::Granted(Grant { slot, fence, .. }) = reply.outcome else { return };
        let Some(&(name, _)) = self.clients[client].names.get(&reply.request) else { return };
        let view = if self.plan.drift > u64::from(DRIFT_PERCENT) { fence >> 40 } else { 0 };
        let highest = self.given.entry((name, slot, view)).or_default();
        if fence < *highest {
            self.outcome.violations.push(format!("fence {fence} of name {name} was given after {highest}"));
        }
        *highest = fence.max(*highest);
    }

    /// A client learns of its grant: no conflicting grant may be held at that moment.
    pub(crate) fn judge_grant(&mut self, held: &HeldGrant) {
        let within_bounds = self.plan.drift <= u64::from(DRIFT_PERCENT);
        let mut problems = Vec::new();
        let believed = self.clients.iter().flat_map(|program| program.held_grants(self.now));
        let same: Vec<HeldGrant> = believed.filter(|other| other.name == held.name).collect();
        if self.plan.groups > 0 {
            let alone = held.alone && same.len() > 1;
            let clashes = |other: &HeldGrant| other.group != held.group || other.fence != held.fence;
            if alone || same.iter().any(clashes) {
                problems.push(format!(
                    "clients hold different groups, or different openings, at once: {}",
                    listed(&same)
                ));
            }
        } else {
            let twice = same.iter().filter(|other| other.slot == held.slot).count() > 1;
            let most = self.plan.slots.max(self.most_slots.get(&held.name).copied().unwrap_or(0));
            if twice || (!self.plan.contradict && same.len() > most as usize) {
                problems.push(format!(
                    "two clients hold one slot, or more hold than there are slots: {}",
                    listed(&same)
                ));
            }
        }
        let (highest, group) = self.fences.entry((held.name, held.slot)).or_default();
        // Holders that share an opening share its fence.
        let shares = self.plan.groups > 0 && held.fence == *highest && held.group == *group && !held.alone;
        if held.fence <= *highest && !shares {
            problems.push(format!("a client gets {held} after fence {highest}"));
        }
        (*highest, *group) = (held.fence, held.group.clone());
        if within_bounds {
            self.outcome.violations.extend(problems);
        } else {
            self.outcome.excused += problems.len() as u64;
        }
    }

    /// In a view there is one token of each slot.
    pub(crate) fn judge_now_and_then(&mut self) {
        self.judged += 1;
        if !self.judged.is_multiple_of(COUNTED_EVERY) {
            return;
        }
        self.log_passing();
        if !self.within_bounds() {
            return;
        }
        let mut tokens = BTreeSet::new();
        for core in self.processes.iter().filter_map(|process| process.member.as_ref()).map(|it| it.core()) {
            for (name, definition, slot) in core.tokens() {
                if !tokens.insert((core.view().epoch, name.clone(), definition, slot)) {
                    let epoch = core.view().epoch;
                    let twice = format!("slot {slot} of {name} is at two nodes in view {epoch}");
                    self.outcome.violations.push(twice);
                }
            }
        }
    }

    /// All requests were served, and everything is forgotten.
    pub(crate) fn judge_end(&mut self) {
        for core in self.processes.iter().filter_map(|process| process.member.as_ref()).map(|it| it.core()) {
            let status = core.status();
            if (status.sessions, status.requests, status.resources) != (0, 0, 0) {
                let names: Vec<String> = core.everything().into_iter().map(|listing| listing.name).collect();
                let Status { node, sessions, requests, resources, .. } = status;
                let node = Run::index(node);
                self.outcome.stuck.push(format!(
                    "node {node} has not forgotten everything in the end: sessions {sessions}, requests {requests}, names \
                     {resources} ({})",
                    names.join(", ")
                ));
            }
        }
        for (number, program) in self.clients.iter().enumerate() {
            if program.is_within_promise(self.now) && !program.client.asked().is_empty() {
                let names: Vec<&str> = program.client.asked().values().map(|asked| &*asked.name).collect();
                self.outcome.stuck.push(format!("client {number} waits for ever for {}", names.join(", ")));
            }
        }
    }
}
