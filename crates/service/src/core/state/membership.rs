//! The view that a node is in.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::defect::Defect;
use crate::resource::Position;
use crate::view::{MemberIndex, View};

/// The view in force, this node's index in it, and the members whose reports are not complete.
///
/// This node is in the view, and views only rise. Members that were in an earlier view owe an end mark, which comes
/// after all their reports; in one view their number only falls.
#[derive(Clone)]
pub(crate) struct Membership {
    /// This node's id, the same in all views.
    id: u32,
    view: Arc<View>,
    /// This node's index in this view.
    me: MemberIndex,
    /// The members, by their indices, that owe an end mark.
    owing: BTreeSet<MemberIndex>,
    defect: Option<Defect>,
}

impl Membership {
    /// The node of this id in its first view.
    pub(crate) fn new(id: u32, view: Arc<View>, defect: Option<Defect>) -> Membership {
        let me = view.index_of(id).expect("a node starts in a view that it is in");
        let owing = view.owing(me);
        Membership { id, view, me, owing, defect }
    }

    /// Enters a later view.
    pub(crate) fn enter(&mut self, view: Arc<View>) {
        let rises = view.epoch > self.view.epoch || self.defect == Some(Defect::ViewsBackwards);
        assert!(rises, "views only rise");
        *self = Membership::new(self.id, view, self.defect);
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.view.epoch
    }

    /// This node's index.
    pub(crate) fn me(&self) -> MemberIndex {
        self.me
    }

    /// How many members there are.
    pub(crate) fn nodes(&self) -> u32 {
        self.view.members.len() as u32
    }

    pub(crate) fn position(&self) -> Position {
        Position { me: self.me, nodes: self.nodes() }
    }

    /// The indices of all other members.
    pub(crate) fn others(&self) -> impl Iterator<Item = MemberIndex> + use<> {
        let me = self.me;
        (0..self.nodes()).map(MemberIndex).filter(move |index| *index != me)
    }

    /// No fence of an earlier view is higher, and all of this one are.
    pub(crate) fn floor(&self) -> u64 {
        if self.defect == Some(Defect::FenceWithoutView) { 0 } else { self.view.floor() }
    }

    /// The last fence of this view.
    pub(crate) fn last_fence(&self) -> u64 {
        self.view.last_fence()
    }

    /// Whether a member may still report.
    pub(crate) fn owes(&self, from: MemberIndex) -> bool {
        self.owing.contains(&from)
    }

    /// A member has reported everything; false if it owed nothing.
    pub(crate) fn end_mark(&mut self, from: MemberIndex) -> bool {
        self.owing.remove(&from)
    }

    /// Whether all members have reported everything.
    pub(crate) fn has_all_reports(&self) -> bool {
        self.owing.is_empty()
    }

    /// Whether a home may mint what no member has reported: it is nowhere.
    pub(crate) fn may_mint(&self) -> bool {
        match self.defect {
            Some(Defect::MintsEarly) => true,
            Some(Defect::QuorumOfEnds) => 2 * self.owing.len() < self.view.members.len(),
            _ => self.has_all_reports(),
        }
    }

    /// The ids of the members that owe an end mark.
    pub(crate) fn missing_ends(&self) -> Vec<u32> {
        self.owing.iter().map(|index| self.view.id(*index)).collect()
    }
}

/// What can change: the view, and which members owe an end mark.
impl fmt::Debug for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Membership { view, owing, .. } = self;
        let members: Vec<(u32, u64)> =
            view.members.iter().map(|member| (member.identity.id, member.joined)).collect();
        write!(f, "{}{members:?}{owing:?}", view.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;
    use crate::view::ViewMember;

    fn view(epoch: u64, members: &[(u32, u64)]) -> Arc<View> {
        let member =
            |&(id, joined)| ViewMember { joined, ..ViewMember::new(Identity { id, incarnation: 1 }, "") };
        Arc::new(View { epoch, members: members.iter().map(member).collect() })
    }

    #[test]
    fn only_members_of_earlier_views_owe_an_end_mark_and_only_one() {
        let mut membership = Membership::new(20, view(1, &[(20, 1)]), None);
        assert!(membership.may_mint());
        membership.enter(view(2, &[(10, 1), (20, 1), (30, 2)]));
        assert_eq!((membership.me(), membership.missing_ends()), (MemberIndex(1), vec![10]));
        assert_eq!(membership.others().collect::<Vec<_>>(), [MemberIndex(0), MemberIndex(2)]);
        assert!(membership.owes(MemberIndex(0)) && !membership.may_mint());
        assert!(
            !membership.end_mark(MemberIndex(2))
                && membership.end_mark(MemberIndex(0))
                && !membership.end_mark(MemberIndex(0))
        );
        assert!(membership.may_mint());
    }

    #[test]
    #[should_panic(expected = "views only rise")]
    fn an_earlier_view_is_not_entered() {
        let mut membership = Membership::new(1, view(2, &[(1, 1)]), None);
        membership.enter(view(2, &[(1, 1)]));
    }
}
