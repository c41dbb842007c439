//! Chaudhuri and Edward's k-mutex, as 000 describes it: the groups and collectors of
//! [`collectors`](crate::collectors), but every waiting group gets one token, and the remaining tokens serve
//! the global collector's own group. Source: 000 sec. II and III B. Page:
//! `docs/algorithms/chaudhuri-edward.md`.

use crate::collectors::{COLLECT_TIMER, Grouped, LOCAL_GROUPS, Rules, Share, Variant, notes};
use crate::info::{Clients, Info, Kind, Needs, OptionInfo, Scope, Tokens};
use crate::setting::{Setting, SettingError};

#[cfg(test)]
mod paper;

/// One token for each group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OneEach {}

/// Chaudhuri and Edward's algorithm.
pub type ChaudhuriEdward = Grouped<OneEach>;

impl Variant for OneEach {
    const INFO: Info = Info {
        name: "chaudhuri-edward",
        title: "about √n groups with request collectors, one token for each waiting group",
        kind: Kind::KMutex,
        source: "000 sec. II, III B (Chaudhuri and Edward)",
        cost: "0 to 6 for a single request; about 2 for many at once, plus 4 per group",
        tokens: Tokens::PerSlot,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: true,
        options: &[
            OptionInfo::choice(
                "share",
                &["at-once", "collect"],
                "serve a group as soon as it asks, or collect requests for a moment first",
            ),
            LOCAL_GROUPS,
        ],
        timers: &[COLLECT_TIMER],
        sometimes: &[notes::WAITS, notes::OWN_GROUP_SEVERAL, notes::BACK_WHILE_COLLECTING],
        suite: &[
            Scope::new(1, 1, 2),
            Scope::new(2, 2, 3),
            Scope::new(3, 2, 3),
            Scope::new(4, 1, 2),
            Scope::new(4, 2, 2),
            Scope::new(4, 3, 2),
            Scope::new(4, 2, 2).with(&[("share", "collect")]).firings(2, 2),
            Scope::new(6, 2, 1),
            Scope::new(6, 4, 1).with(&[("local-groups", "3")]),
        ],
        defects: &[],
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Rules::new(setting, Share::One)
    }
}
