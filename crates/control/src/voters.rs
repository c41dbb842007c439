//! Which nodes receive the log, and which of them vote: how that is changed, and when it should be.

use std::collections::{BTreeMap, BTreeSet};

use openraft::ChangeMembers;
use openraft::error::{ChangeMembershipError as Membership, ClientWriteError, RaftError};
use openraft::impls::BasicNode;
use tokio::time::timeout;

use crate::error::{ChangeError, ProposeError};
use crate::shared::Shared;

/// How many voters there can be. The highest number that there are nodes for is used: a minority of them may
/// fail. More voters would make commits slower and little safer.
pub(crate) const NUMBERS: [usize; 4] = [1, 3, 5, 7];

/// The voters among these nodes: as many as there should be, those with the lowest ids.
pub fn of(nodes: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
    let nodes: BTreeSet<u32> = nodes.into_iter().collect();
    let number = number(nodes.len());
    nodes.into_iter().take(number).collect()
}

fn number(nodes: usize) -> usize {
    NUMBERS.into_iter().filter(|number| *number <= nodes).max().unwrap_or(0)
}

/// The voters that there should be, if not the present ones. `present` are the nodes that take part now,
/// `missed` those that have been absent for so long that they should be replaced, `removed` those that never
/// return. The leader stays if possible.
pub(crate) fn wanted(
    voters: &BTreeSet<u32>,
    present: &BTreeSet<u32>,
    missed: &BTreeSet<u32>,
    removed: &BTreeSet<u32>,
    leader: u32,
) -> Option<BTreeSet<u32>> {
    let mut wanted: BTreeSet<u32> = voters.difference(removed).copied().collect();
    let mut spare = present.iter().copied().filter(|id| !voters.contains(id) && !removed.contains(id));
    // One for each that is missed, as far as there are any.
    for gone in voters.intersection(missed).filter(|id| !removed.contains(id)) {
        if let Some(instead) = spare.next() {
            wanted.remove(gone);
            wanted.insert(instead);
        }
    }
    let mut enough = number(wanted.len() + spare.clone().count()).max(1);
    if removed.is_disjoint(voters) {
        // Fewer only if a voter leaves for good: an absent voter comes back.
        enough = enough.max(voters.len());
    }
    wanted.extend(spare.take(enough.saturating_sub(wanted.len())));
    let by_need = |id: &u32| (*id == leader, present.contains(id), std::cmp::Reverse(*id));
    while wanted.len() > enough {
        let least = wanted.iter().copied().min_by_key(by_need)?;
        wanted.remove(&least);
    }
    let makes_sense = NUMBERS.contains(&wanted.len()) && wanted != *voters;
    makes_sense.then_some(wanted)
}

impl Shared {
    /// See [`crate::Control::admit`].
    pub(crate) async fn admit(&self, node: u32, address: &str) -> Result<(), ChangeError> {
        let id = u64::from(node);
        let nodes = BTreeMap::from([(id, BasicNode::new(address))]);
        let known = self.nodes().contains_key(&node);
        self.change(if known { ChangeMembers::SetNodes(nodes) } else { ChangeMembers::AddNodes(nodes) })
            .await?;
        let mut metrics = self.raft.metrics();
        let admitted = metrics.borrow().last_log_index;
        let heard = metrics.wait_for(|now| match &now.replication {
            Some(to) => to.get(&id).is_some_and(|upto| upto.map(|upto| upto.index) >= admitted),
            None => true,
        });
        match timeout(self.config.timing.request_timeout(), heard).await {
            Ok(Ok(now)) if now.replication.is_some() || id == now.id => Ok(()),
            Ok(_) => Err(ChangeError::Propose(ProposeError::NotLeading { leader: self.leader() })),
            Err(_) => Err(ChangeError::Unheard(node)),
        }
    }

    /// See [`crate::Control::change_voters`].
    pub(crate) async fn change_voters(&self, voters: &BTreeSet<u32>) -> Result<(), ChangeError> {
        if !NUMBERS.contains(&voters.len()) {
            return Err(ChangeError::Voters(voters.len()));
        }
        let voters = voters.iter().map(|id| u64::from(*id)).collect();
        self.change(ChangeMembers::ReplaceAllVoters(voters)).await
    }

    /// See [`crate::Control::dismiss`].
    pub(crate) async fn dismiss(&self, node: u32) -> Result<(), ChangeError> {
        self.change(ChangeMembers::RemoveNodes(BTreeSet::from([node.into()]))).await
    }

    async fn change(&self, change: ChangeMembers<u64, BasicNode>) -> Result<(), ChangeError> {
        let change = self.raft.change_membership(change, true);
        match timeout(self.config.timing.request_timeout(), change).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(RaftError::APIError(ClientWriteError::ForwardToLeader(to)))) => {
                let leader = to.leader_id.and_then(|leader| u32::try_from(leader).ok());
                Err(ChangeError::Propose(ProposeError::NotLeading { leader }))
            }
            Ok(Err(RaftError::APIError(ClientWriteError::ChangeMembershipError(error)))) => {
                Err(match error {
                    Membership::InProgress(_) => ChangeError::InProgress,
                    Membership::EmptyMembership(_) => ChangeError::Voters(0),
                    Membership::LearnerNotFound(error) => {
                        ChangeError::Unknown(u32::try_from(error.node_id).unwrap_or(u32::MAX))
                    }
                })
            }
            Ok(Err(RaftError::Fatal(error))) => {
                Err(ChangeError::Propose(ProposeError::Stopped(error.to_string())))
            }
            Err(_) => Err(ChangeError::Propose(ProposeError::Unknown)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ids: &[u32]) -> BTreeSet<u32> {
        ids.iter().copied().collect()
    }

    #[track_caller]
    fn check(voters: &[u32], present: &[u32], missed: &[u32], removed: &[u32], expected: Option<&[u32]>) {
        let wanted = wanted(&set(voters), &set(present), &set(missed), &set(removed), voters[0]);
        assert_eq!(wanted, expected.map(set));
    }

    #[test]
    fn voters_grow_with_the_nodes() {
        check(&[0], &[0], &[], &[], None);
        check(&[0], &[0, 1], &[], &[], None);
        check(&[0], &[0, 1, 2], &[], &[], Some(&[0, 1, 2]));
        check(&[0, 1, 2], &[0, 1, 2, 3], &[], &[], None);
        check(&[0, 1, 2], &[0, 1, 2, 3, 4, 5], &[], &[], Some(&[0, 1, 2, 3, 4]));
        check(&[0, 1, 2, 3, 4], &[0, 1, 2, 3, 4, 5], &[], &[], None);
        check(&[0, 1, 2, 3, 4], &[0, 1, 2, 3, 4, 5, 6, 7], &[], &[], Some(&[0, 1, 2, 3, 4, 5, 6]));
        check(&[0, 1, 2, 3, 4, 5, 6], &[0, 1, 2, 3, 4, 5, 6, 7, 8], &[], &[], None);
        assert_eq!(of(0..9), set(&[0, 1, 2, 3, 4, 5, 6]));
        assert_eq!(of([4, 9]), set(&[4]));
    }

    #[test]
    fn a_missing_voter_is_replaced_if_another_node_can() {
        check(&[0, 1, 2], &[0, 1], &[2], &[], None);
        check(&[0, 1, 2], &[0, 1, 3], &[2], &[], Some(&[0, 1, 3]));
        check(&[0, 1, 2], &[0, 3], &[1, 2], &[], Some(&[0, 2, 3]));
        // A voter that is absent only for a moment stays.
        check(&[0, 1, 2], &[0, 1, 3], &[], &[], None);
    }

    #[test]
    fn a_voter_that_leaves_for_good_is_replaced_or_missing() {
        check(&[0, 1, 2], &[0, 1, 3], &[], &[2], Some(&[0, 1, 3]));
        check(&[0, 1, 2], &[0, 1], &[], &[2], Some(&[0]));
        check(&[0, 1, 2], &[1, 2], &[], &[0], Some(&[1]));
        check(&[0, 1, 2, 3, 4], &[0, 1, 2, 3], &[], &[4], Some(&[0, 1, 2]));
        check(&[0], &[0], &[], &[0], None);
    }
}
