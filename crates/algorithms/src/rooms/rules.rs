//! The options of a room.

use alloc::format;

use super::defects::Defect;
use super::views::ViewDefect;
use crate::algorithm::{Group, NodeId};
use crate::info::OptionInfo;
use crate::setting::{Setting, SettingError};

/// The options, the same on all nodes.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Where the token starts, and where it goes when it is unused.
    pub home: NodeId,
    /// How many requests may be admitted past a queue while the token is at a node (B).
    pub passes: u32,
    /// How many openings in a row a node may have while another node's request is as old as its own.
    pub turns: u32,
    /// The order of the queue.
    pub queue: QueueOrder,
    /// Whether a writer may be followed by another one at the same node past the queue; it counts as a grant.
    pub hand_off: bool,
    /// Whether followers are told when a request waits for the end of their opening.
    pub close: bool,
    /// Whether an idle token goes home and nodes that do not use it forget the path.
    pub forget: bool,
    /// How many hops a room must have been unused before it is forgotten.
    pub linger: u32,
    /// Fences of this view are higher than this.
    pub floor: u64,
    /// In the workbench: groups from this one on are exclusive.
    pub first_exclusive: Group,
    pub(super) defect: Option<Defect>,
    /// A defect of view changes to enable.
    pub view_defect: Option<ViewDefect>,
}

/// The order of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOrder {
    /// The node that last knew of an opening longest ago is first; among equals the first to arrive.
    Age,
    /// The first to arrive is first.
    Arrival,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            home: 0,
            passes: Rules::PASSES,
            turns: Rules::TURNS,
            queue: QueueOrder::Age,
            hand_off: false,
            close: true,
            forget: false,
            linger: 5,
            floor: 0,
            first_exclusive: Group::MAX,
            defect: None,
            view_defect: None,
        }
    }
}

impl Rules {
    const PASSES: u32 = 4;
    /// A hand-off to another captain costs a hop, so it is rare.
    pub(super) const TURNS: u32 = 32;

    /// The rules of the lock service: an idle token goes home, and is forgotten elsewhere.
    pub fn service(home: NodeId, passes: u32, linger: u32, floor: u64) -> Rules {
        Rules { home, passes, forget: true, linger, floor, ..Rules::default() }
    }

    pub(super) const OPTIONS: &'static [OptionInfo] = &[
        OptionInfo::number(
            "passes",
            "4",
            "how many requests may be admitted past a queue while the token is at a node (4)",
        ),
        OptionInfo::number(
            "turns",
            "32",
            "how many openings in a row a node may have while another node's request is as old (32)",
        ),
        OptionInfo::choice(
            "queue",
            &["age", "arrival"],
            "who comes first: the node longest without an opening, or the first to arrive",
        ),
        OptionInfo::number("exclusive", "0", "the highest so many groups are for one client at a time (0)"),
        OptionInfo::choice(
            "hand-off",
            &["no", "yes"],
            "whether a writer may be followed by another one at the same node past the queue, as one of the passes",
        ),
        OptionInfo::choice(
            "close",
            &["yes", "no"],
            "whether followers are told when a request waits for the end of their opening",
        ),
        OptionInfo::choice(
            "forget",
            &["no", "yes"],
            "whether an idle token goes home and nodes without use for it forget the way",
        ),
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
        let defect = Defect::of(setting);
        if !forget && defect.is_some_and(Defect::is_about_forgetting) {
            return Err(SettingError("that defect is one of forgetting: say --set forget=yes".into()));
        }
        Ok(Rules {
            passes: setting.number("passes", Rules::PASSES),
            turns: setting.number("turns", Rules::TURNS),
            queue: match setting.option("queue") {
                Some("arrival") => QueueOrder::Arrival,
                _ => QueueOrder::Age,
            },
            hand_off: setting.option("hand-off") == Some("yes"),
            close: setting.option("close") != Some("no"),
            forget,
            first_exclusive: setting.groups - exclusive,
            defect,
            ..Rules::default()
        })
    }
}
