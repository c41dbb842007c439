//! What a member tells clients that ask how things are.

use super::{ConnectionId, Environment, Member};
use crate::core::{Counts, Page, Uses};
use crate::event::Filter;
use crate::leases::validate_lease;
use crate::metrics::HandOff;
use crate::protocol::{Cluster, ClusterNode, Counters, PeerStatus, Question, QuestionAnswer};
use crate::refusal::Refusal;
use crate::registry::validate_invitation;
use crate::time::Time;

/// The answer to what cannot be; `None` if the control plane has to see to it.
fn refused(validated: Result<(), Refusal>) -> Option<QuestionAnswer> {
    validated.err().map(|refusal| QuestionAnswer::NotDone(refusal.to_string()))
}

impl Member {
    /// Answers a question; `None` if the control plane has to see to it.
    pub(super) fn answer(
        &mut self,
        connection: ConnectionId,
        question: &Question,
        environment: &dyn Environment,
        now: Time,
    ) -> Option<QuestionAnswer> {
        // What the caller may read of all names.
        let readable = self.readable(connection, &Filter::default());
        let core = &self.core;
        Some(match question {
            Question::Status => {
                let certificate_left = environment.certificate_left();
                let members = self.members(environment);
                QuestionAnswer::Status { node: core.status(), members, certificate_left }
            }
            Question::Cluster => QuestionAnswer::Cluster(self.cluster(environment, now)),
            Question::List { filter, after } => {
                if let Some(refused) = refused(filter.validate(&self.setup.core.limits)) {
                    return Some(refused);
                }
                let page = match self.readable(connection, filter) {
                    Some(filter) => self.core.list_page(&filter, after.as_ref(), now),
                    None => Page { listings: Vec::new(), next: None },
                };
                QuestionAnswer::List(page)
            }
            Question::Uses { filter, after } => {
                if let Some(refused) = refused(filter.validate(&self.setup.core.limits)) {
                    return Some(refused);
                }
                let readable = self.readable(connection, filter);
                let page = readable.map(|filter| self.core.uses_page(&filter, after.as_ref(), now));
                QuestionAnswer::Uses(page.unwrap_or_else(Uses::nothing))
            }
            Question::Counters => QuestionAnswer::Counters(self.counters()),
            Question::Inspect { name, after } => {
                let page = core.inspect_page(name, after.as_ref(), now);
                QuestionAnswer::Inspect { home: core.home(name), page }
            }
            Question::Definitions(after) => {
                let shows = |name: &str| readable.as_ref().is_some_and(|readable| readable.shows_name(name));
                let (definitions, more) = core.definitions_page(after.as_deref(), shows);
                let next = definitions.last().filter(|_| more).map(|(name, _)| name.clone());
                QuestionAnswer::Definitions { definitions, next }
            }
            Question::Invite(lasts) => refused(validate_invitation(*lasts))?,
            Question::Lease(lasts) => refused(validate_lease(*lasts))?,
            Question::Voters => QuestionAnswer::Voters(environment.control_plane().voters_there),
            Question::Invitations => {
                let open = self.registry.invitations.iter();
                QuestionAnswer::Invitations(open.map(|(id, invitation)| (*id, invitation.until)).collect())
            }
            Question::Rights => QuestionAnswer::Rights(Box::new(self.registry.rights.clone())),
            Question::Audit(after) => QuestionAnswer::Audit(self.audit_page(*after)),
            Question::Remove(_) | Question::Withdraw(_) => return None,
        })
    }

    /// What this node has counted since it started.
    fn counters(&self) -> Counters {
        let Counts { grants, sent, received, of_other_views, sessions_ended, refused, forgotten, wrong_keys } =
            self.core.status().counts;
        let metrics = self.core.metrics();
        let counted = [
            ("grants", grants),
            ("sent", sent),
            ("received", received),
            ("of_other_views", of_other_views),
            ("sessions_ended", sessions_ended),
            ("refused", refused),
            ("forgotten", forgotten),
            ("wrong_keys", wrong_keys),
            ("handoffs_local", metrics.hand_offs(HandOff::Local)),
            ("handoffs_remote", metrics.hand_offs(HandOff::Remote)),
        ];
        let waits = metrics.all_waits();
        let bounds = waits.scale.bounds.iter().copied().map(Some).chain([None]);
        let waits = bounds.map(Counters::waits_up_to).zip(waits.buckets);
        let counted =
            counted.map(|(name, count)| (name.to_string(), count)).into_iter().chain(waits).collect();
        Counters { waiters: self.core.waiters() as u64, counted }
    }

    fn members(&self, environment: &dyn Environment) -> Vec<PeerStatus> {
        let unreachable = environment.unreachable();
        let member = |id: u32| PeerStatus {
            id,
            endpoint: self.registry.members.get(&id).map(|member| member.clients.clone()),
            unreachable: unreachable.get(&id).copied(),
        };
        self.view().members.iter().map(|it| member(it.identity.id)).collect()
    }

    /// All nodes that belong to the cluster, members or not.
    fn cluster(&self, environment: &dyn Environment, now: Time) -> Cluster {
        let registry = &self.registry;
        let plane = environment.control_plane();
        let mut nodes = plane.nodes;
        for (id, member) in &registry.members {
            nodes.entry(*id).or_insert_with(|| member.address.clone());
        }
        let node = |(id, address): (u32, String)| {
            let member = registry.members.get(&id);
            ClusterNode {
                id,
                address,
                clients: member.map(|member| member.clients.clone()),
                incarnation: member.map(|member| member.incarnation),
                votes: plane.voters.contains(&id),
            }
        };
        Cluster {
            name: self.setup.cluster.clone(),
            asked: self.id(),
            epoch: registry.epoch,
            in_view: self.view().epoch,
            lease: registry.lease,
            lease_left: self.core.lease().until() - now,
            leader: plane.leader,
            invited: registry.invitations.keys().copied().collect(),
            nodes: nodes.into_iter().map(node).collect(),
        }
    }
}
