//! What may be chosen about a room.

use alloc::format;

use super::defects::Printed;
use super::views::Shortcut;
use crate::algorithm::{Group, NodeId};
use crate::info::Choice;
use crate::setting::{Setting, SettingError};

/// The options, the same on all nodes.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Where the token starts, and where it goes if nobody wants it.
    pub home: NodeId,
    /// How many may be let in past a queue while the token is at a node (B).
    pub passes: u32,
    /// The order of the queue.
    pub queue: QueueOrder,
    /// Whether a writer may be followed by another one at the same node past the queue; it counts as a pass.
    pub hand_off: bool,
    /// Whether followers are told when somebody waits for the end of their opening.
    pub close: bool,
    /// Whether an idle token goes home and nodes that have no use for it forget the way.
    pub forget: bool,
    /// How many hops nobody must have had any use for the room before it is forgotten.
    pub linger: u32,
    /// Fences of this view are higher than this.
    pub floor: u64,
    /// In the workbench: groups from this one on are exclusive.
    pub first_exclusive: Group,
    pub(super) printed: Option<Printed>,
    /// A rule of changing views to leave out.
    pub omits: Option<Shortcut>,
}

/// The order of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOrder {
    /// Whoever has heard of no opening for the longest comes first, and among equals whoever came first.
    Age,
    /// Whoever came first.
    Arrival,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            home: 0,
            passes: Rules::PASSES,
            queue: QueueOrder::Age,
            hand_off: false,
            close: true,
            forget: false,
            linger: 5,
            floor: 0,
            first_exclusive: Group::MAX,
            printed: None,
            omits: None,
        }
    }
}

impl Rules {
    const PASSES: u32 = 4;

    /// What the lock service runs: an idle token goes home, and is forgotten elsewhere.
    pub fn service(home: NodeId, passes: u32, linger: u32, floor: u64) -> Rules {
        Rules { home, passes, forget: true, linger, floor, ..Rules::default() }
    }

    pub(super) const CHOICES: &'static [Choice] = &[
        Choice {
            name: "passes",
            values: Choice::NUMBER,
            help: "how many may be let in past a queue while the token is at a node (4)",
        },
        Choice {
            name: "queue",
            values: &["age", "arrival"],
            help: "who comes first: whoever has heard of no opening for the longest, or whoever arrived first",
        },
        Choice {
            name: "exclusive",
            values: Choice::NUMBER,
            help: "the highest so many groups are for one client at a time (0)",
        },
        Choice {
            name: "hand-off",
            values: &["no", "yes"],
            help: "whether a writer may be followed by another one at the same node past the queue, as one of the passes",
        },
        Choice {
            name: "close",
            values: &["yes", "no"],
            help: "whether followers are told when somebody waits for the end of their opening",
        },
        Choice {
            name: "forget",
            values: &["no", "yes"],
            help: "whether an idle token goes home and nodes without use for it forget the way",
        },
    ];

    pub(super) fn of(setting: &Setting) -> Result<Rules, SettingError> {
        let exclusive = setting.number("exclusive", 0);
        if exclusive > setting.groups {
            let groups = setting.groups;
            return Err(SettingError(format!(
                "there are only {groups} groups, {exclusive} cannot be exclusive"
            )));
        }
        let forget = setting.option("forget") == Some("yes");
        let printed = Printed::of(setting);
        if !forget && printed.is_some_and(Printed::is_about_forgetting) {
            return Err(SettingError("that defect is one of forgetting: say --set forget=yes".into()));
        }
        Ok(Rules {
            passes: setting.number("passes", Rules::PASSES),
            queue: match setting.option("queue") {
                Some("arrival") => QueueOrder::Arrival,
                _ => QueueOrder::Age,
            },
            hand_off: setting.option("hand-off") == Some("yes"),
            close: setting.option("close") != Some("no"),
            forget,
            first_exclusive: setting.groups - exclusive,
            printed,
            ..Rules::default()
        })
    }
}
