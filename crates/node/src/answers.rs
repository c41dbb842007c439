//! What a node tells those who ask how things are.

use service::Time;
use service::protocol::{Cluster, ClusterNode, Member, Question, Told};

use crate::host::{Shared, State};

impl Shared {
    /// Answers a question, if this node can by itself.
    pub(crate) fn answer(&self, question: &Question, state: &State, now: Time) -> Option<Told> {
        let core = &state.core;
        Some(match question {
            Question::Status => Told::Status { node: core.status(), members: self.members(state) },
            Question::Cluster => Told::Cluster(self.cluster(state, now)),
            Question::List(after) => Told::List(core.list_page(after.as_ref(), now)),
            Question::Inspect { name, after } => {
                let page = core.inspect_page(name, after.as_ref(), now);
                Told::Inspect { home: core.home(name), page }
            }
            Question::Definitions(after) => {
                let (definitions, more) = core.definitions_page(after.as_deref());
                let next = definitions.last().filter(|_| more).map(|(name, _)| name.clone());
                Told::Definitions { definitions, next }
            }
            Question::Invite(_) | Question::Remove(_) | Question::Lease(_) => return None,
        })
    }

    /// Sees to what the cluster has to agree on.
    pub(crate) async fn arrange(&self, question: Question) -> Told {
        let arranged = match question {
            Question::Invite(lasts) => {
                let invited = self.control.invite(lasts).await;
                return invited.map_or_else(
                    |error| Told::NotDone(error.to_string()),
                    |invitation| Told::Invited(invitation.to_string()),
                );
            }
            Question::Remove(node) => self.control.remove(node).await,
            Question::Lease(lasts) => self.control.change_lease(lasts).await,
            _ => Ok(()),
        };
        arranged.map_or_else(|error| Told::NotDone(error.to_string()), |()| Told::Done)
    }

    fn members(&self, state: &State) -> Vec<Member> {
        let unreachable = state.life.peers.unreachable();
        let registry = self.control.registry();
        let registry = registry.borrow();
        let member = |&service::view::Member { id, .. }| Member {
            id,
            endpoint: registry.members.get(&id).map(|member| member.clients.clone()),
            unreachable: unreachable.get(&id).copied(),
        };
        state.core.view().members.iter().map(member).collect()
    }

    /// Everybody who belongs to the cluster, whether a member now or not.
    fn cluster(&self, state: &State, now: Time) -> Cluster {
        let registry = self.control.registry();
        let registry = registry.borrow();
        let (mut nodes, voters) = (self.control.nodes(), self.control.voters());
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
                votes: voters.contains(&id),
            }
        };
        Cluster {
            name: self.cluster.clone(),
            asked: self.id,
            epoch: registry.epoch,
            in_view: state.core.view().epoch,
            lease: registry.lease,
            lease_left: state.life.lease.until() - now,
            leader: self.control.leader(),
            invited: registry.invitations.keys().copied().collect(),
            nodes: nodes.into_iter().map(node).collect(),
        }
    }
}
