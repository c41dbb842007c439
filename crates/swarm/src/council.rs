//! A model of the control plane: whoever leads decides with the code that leads in production, agreement itself is a model.
//! Leaders change, fall silent with their machines, and those who were replaced do not know it at once.

use service::leases::{Input, Leases, Output, Renewal};
use service::registry::{Applied, Entry, Leadership, MemberEntry, Registry};
use service::{Defect, Time, leases};

use crate::plan::Plan;
use crate::voters::Voters;

/// A node in one of its lives.
pub(crate) type Life = (u32, u64);

/// Somebody who leads, or led and does not know that it is over.
pub(crate) struct Reign {
    pub(crate) leadership: Leadership,
    pub(crate) leases: Leases,
}

pub(crate) struct Council {
    pub(crate) registry: Registry,
    defect: Option<Defect>,
    pub(crate) voters: Voters,
    /// The last is the one that leads.
    pub(crate) reigns: Vec<Reign>,
}

impl Council {
    /// All of these are members, and the first leads.
    pub(crate) fn new(ids: &[u32], plan: &Plan, voters: Voters, now: Time) -> Council {
        let leadership = Leadership { term: 1, node: ids[0] };
        let mut registry = Registry { lease: plan.lease, ..Registry::default() };
        let members = ids.iter().map(|id| (*id, member(1))).collect();
        registry.apply(&Entry::View { base_epoch: 0, decided_by: leadership, members }, leadership);
        let leases = Leases::new(leadership, now, now, &registry).with_defect(plan.defect);
        let reigns = vec![Reign { leadership, leases }];
        Council { registry, defect: plan.defect, voters, reigns }
    }

    pub(crate) fn leader(&self) -> Option<Leadership> {
        self.reigns.last().map(|reign| reign.leadership)
    }

    /// Somebody else leads from now on, on whose clock it is `here`. The one before may go on for a while, in vain.
    pub(crate) fn elect(&mut self, node: u32, now: Time, here: Time) {
        let term = self.leader().map_or(1, |leadership| leadership.term + 1);
        let leadership = Leadership { term, node };
        let since = self.voters.vote(now, term, here).since(term, here);
        let leases = Leases::new(leadership, since, here, &self.registry).with_defect(self.defect);
        self.reigns.push(Reign { leadership, leases });
        if self.reigns.len() > 2 {
            self.reigns.remove(0);
        }
    }

    /// Lets something happen to a leader. Returns what it wants done; proposals are decided at once.
    pub(crate) fn step(&mut self, who: Leadership, input: Input, now: Time) -> (Vec<Output>, bool) {
        let (mut out, mut changed) = (Vec::new(), false);
        let Some(place) = self.reigns.iter().position(|reign| reign.leadership == who) else {
            return (out, changed);
        };
        self.reigns[place].leases.step(now, &self.registry, input, &mut out);
        let leads = place + 1 == self.reigns.len();
        while let Some(at) = out.iter().position(|output| matches!(output, Output::Propose(_))) {
            let Output::Propose(entry) = out.remove(at) else { break };
            // Who does not lead any more agrees with nobody.
            changed |= leads && self.apply(&entry, who);
            self.reigns[place].leases.step(now, &self.registry, Input::Proposed, &mut out);
        }
        (out, changed)
    }

    fn apply(&mut self, entry: &Entry, who: Leadership) -> bool {
        let views = self.registry.epoch;
        if self.defect == Some(Defect::ReadmitsIncarnation) {
            self.registry.incarnations.clear();
        }
        self.registry.apply(entry, who) == Applied::Yes && self.registry.epoch > views
    }

    /// The life in which a node is a member.
    pub(crate) fn life(&self, id: u32) -> Option<u64> {
        self.registry.members.get(&id).map(|member| member.incarnation)
    }
}

/// A node in this life.
pub(crate) fn member(incarnation: u64) -> MemberEntry {
    MemberEntry::new(incarnation, "", "")
}

/// What a node tells a leader.
pub(crate) fn renewal((id, incarnation): Life, sequence: u64, epoch: u64) -> Renewal {
    leases::Renewal { id, incarnation, sequence, epoch, unreachable: Vec::new(), missing_ends: Vec::new() }
}
