//! The options of DRS_GME.

use crate::drs_gme::Defect;
use crate::info::OptionInfo;
use crate::setting::Setting;

/// Every node is asked, for ever.
pub(super) const ASK_ALL: &[(&str, &str)] = &[("ask", "all")];
/// The captain's timer runs from its first START on.
pub(super) const WATCH_START: &[(&str, &str)] = &[("watch", "start")];

pub(super) const OPTIONS: &[OptionInfo] = &[
    OptionInfo::choice(
        "ask",
        &["dynamic", "all"],
        "who is asked: the nodes that may have the token or get it, or all nodes every time",
    ),
    OptionInfo::choice(
        "watch",
        &["left", "start"],
        "when the timer for the followers runs: once the captain has left, or from its first START on",
    ),
];

/// The rules.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The nodes that a request goes to.
    pub ask: Ask,
    /// When the timer for the followers runs.
    pub watch: Watch,
    /// The defect that is enabled.
    pub defect: Option<Defect>,
}

/// The nodes that a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Those that may have the token or get it (dynamic request sets).
    Dynamic,
    /// All others (static request sets).
    All,
}

/// When the timer for the followers runs. It restarts with every START in both cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Once the captain has left.
    Left,
    /// From the captain's first START on, as the text says of a START for a new request.
    Start,
}

impl Rules {
    pub(super) fn of(setting: &Setting) -> Rules {
        Rules {
            ask: if setting.option("ask") == Some("all") { Ask::All } else { Ask::Dynamic },
            watch: if setting.option("watch") == Some("start") { Watch::Start } else { Watch::Left },
            defect: Defect::of(setting),
        }
    }
}
