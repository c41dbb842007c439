//! A model of the control plane: the leader decides with the production code, consensus itself is a model.
//! Leaders change, pause with their processes, and a replaced leader does not know it at once.

use std::sync::Arc;

use service::leases::{Input, Leases, Output};
use service::registry::{Applied, Entry, Leadership, MemberEntry, Registry};
use service::{Defect, Time};

use crate::plan::Plan;
use crate::voters::Voters;

/// A node that leads, or that led and has not learned that another does.
pub(crate) struct Leader {
    pub(crate) leadership: Leadership,
    leases: Leases,
}

pub(crate) struct ControlPlane {
    /// The registry after each commit, the latest last.
    pub(crate) log: Vec<Arc<Registry>>,
    defect: Option<Defect>,
    pub(crate) voters: Voters,
    /// The last one leads.
    pub(crate) leaders: Vec<Leader>,
}

impl ControlPlane {
    /// All of these nodes are members of the first view, and the first of them leads.
    pub(crate) fn new(ids: &[u32], plan: &Plan, voters: Voters, now: Time) -> ControlPlane {
        let leadership = Leadership { term: 1, node: ids[0] };
        let mut registry = Registry { lease: plan.lease, ..Registry::default() };
        let members = ids.iter().map(|id| (*id, MemberEntry::new(now.0, "", ""))).collect();
        registry.apply(&Entry::View { base_epoch: 0, decided_by: leadership, members }, leadership);
        let leases = Leases::new(leadership, now, now, &registry).with_defect(plan.defect);
        let leaders = vec![Leader { leadership, leases }];
        ControlPlane { log: vec![Arc::new(registry)], defect: plan.defect, voters, leaders }
    }

    pub(crate) fn leader(&self) -> Option<Leadership> {
        self.leaders.last().map(|leader| leader.leadership)
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.log[self.log.len() - 1]
    }

    /// Another node leads from now on, on whose clock it is `here`. The previous leader may go on for a while
    /// without effect.
    pub(crate) fn elect(&mut self, node: u32, now: Time, here: Time) {
        let term = self.leader().map_or(1, |leadership| leadership.term + 1);
        let leadership = Leadership { term, node };
        let since = self.voters.vote(now, term, here).since(term, here);
        let leases = Leases::new(leadership, since, here, self.registry()).with_defect(self.defect);
        self.leaders.push(Leader { leadership, leases });
        if self.leaders.len() > 2 {
            self.leaders.remove(0);
        }
    }

    /// Whether a leader keeps a node out for a while.
    pub(crate) fn keeps_out(&self, who: Leadership, id: u32, now: Time) -> bool {
        let leader = self.leaders.iter().find(|leader| leader.leadership == who);
        leader.is_some_and(|leader| leader.leases.keeps_out(now, id))
    }

    /// Gives a leader an input. Returns its effects, and whether an entry was committed; proposals are
    /// decided at once.
    pub(crate) fn step(&mut self, who: Leadership, input: Input, now: Time) -> (Vec<Output>, bool) {
        let (mut out, mut changed) = (Vec::new(), false);
        let Some(index) = self.leaders.iter().position(|leader| leader.leadership == who) else {
            return (out, changed);
        };
        let registry = self.registry().clone();
        self.leaders[index].leases.step(now, &registry, input, &mut out);
        let leads = index + 1 == self.leaders.len();
        while let Some(at) = out.iter().position(|output| matches!(output, Output::Propose(_))) {
            let Output::Propose(entry) = out.remove(at) else { break };
            // A node that does not lead any more cannot commit.
            changed |= leads && self.apply(&entry, who) == Applied::Yes;
            let registry = self.registry().clone();
            self.leaders[index].leases.step(now, &registry, Input::Proposed, &mut out);
        }
        (out, changed)
    }

    /// Applies an entry that was committed under this leadership.
    pub(crate) fn apply(&mut self, entry: &Entry, who: Leadership) -> Applied {
        let mut registry = Registry::clone(self.registry());
        if self.defect == Some(Defect::ReadmitsIncarnation) {
            registry.incarnations.clear();
        }
        let applied = registry.apply(entry, who);
        if applied == Applied::Yes {
            self.log.push(Arc::new(registry));
        }
        applied
    }
}
