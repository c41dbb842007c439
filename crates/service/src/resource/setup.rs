//! What a resource is set up with.

use algorithms::{Origin, forest, rooms};

use crate::defect::Defect;
use crate::view::MemberIndex;

/// What all resources of a node do by configuration.
#[derive(Clone, Copy)]
pub(crate) struct Policy {
    /// How often a local client may pass clients of other nodes that wait.
    pub(crate) passes: u32,
    /// How many hops an idle token stays where it is.
    pub(crate) linger: u32,
    /// Fences of this view are higher than this.
    pub(crate) floor: u64,
    /// A rule to leave out.
    pub(crate) defect: Option<Defect>,
}

impl Policy {
    pub(crate) fn of_forest(self, home: MemberIndex) -> forest::Rules {
        let resize_defect = match self.defect {
            Some(Defect::SlotFromTheStart) => Some(forest::ResizeDefect::NoFloor),
            Some(Defect::GrowsBlindly) => Some(forest::ResizeDefect::GrowBlindly),
            _ => None,
        };
        forest::Rules { resize_defect, ..forest::Rules::service(home.0, self.passes, self.linger) }
    }

    pub(crate) fn of_room(self, home: MemberIndex) -> rooms::Rules {
        let view_defect = match self.defect {
            Some(Defect::CaptainKeepsFollowers) => Some(rooms::ViewDefect::KeepsFollowers),
            Some(Defect::CompletesToCaptain) => Some(rooms::ViewDefect::CompletesToCaptain),
            _ => None,
        };
        let mut rules = rooms::Rules::service(home.0, self.passes, self.linger, self.floor);
        rules.view_defect = view_defect;
        rules
    }
}

/// When a new resource can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// At once: its home has told, or will tell, what there is of it.
    AtOnce,
    /// When the members have reported: this is its home, and other nodes may have something of it.
    AfterReports,
}

/// This node's position in the view: its index, and the number of members.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    pub(crate) me: MemberIndex,
    pub(crate) nodes: u32,
}

/// What a resource needs to start, or to go on in another view.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) position: Position,
    pub(crate) policy: Policy,
    /// Higher than all that was forgotten: a home may open a name that it has opened and forgotten in the same view.
    pub(crate) origin: Origin,
}
