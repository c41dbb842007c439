//! What a system with collectors can be told: how tokens are shared, where they return, and whether the global collector
//! moves.

use alloc::format;
use core::fmt::Debug;
use core::hash::Hash;

use super::{COLLECT_TIMER, Defect, Layout, notes};
use crate::info::{Clients, Info, Kind, Needs, OptionInfo, Scope, Tokens};
use crate::setting::{Setting, SettingError};

/// What distinguishes the algorithms of this structure.
pub trait Variant: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// Its description.
    const INFO: Info;
    /// Reads its options.
    fn rules(setting: &Setting) -> Result<Rules, SettingError>;
}

/// How the global collector shares out its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Equal shares of all free tokens: the text's rule.
    Equal,
    /// Equal shares, none above ⌈k / groups⌉.
    Capped,
    /// One for each group; the rest for the global collector's own group.
    One,
}

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub(super) layout: Layout,
    pub(super) share: Share,
    /// Whether requests are collected for a moment before idle tokens are shared out.
    pub(super) collect: bool,
    /// Whether a token returns to the local collector after every critical section.
    pub(super) redeal: bool,
    /// After how many grants the global collector moves, if it does.
    pub(super) moves_after: Option<u32>,
    pub(super) defect: Option<Defect>,
}

impl Rules {
    /// The rules for this way of sharing. The setting says how many groups there are and whether requests are
    /// collected.
    pub fn new(setting: &Setting, share: Share) -> Result<Rules, SettingError> {
        let (nodes, groups) = (setting.nodes, setting.number(LOCAL_GROUPS.name, 0));
        let layout = Layout::new(nodes, groups).ok_or_else(|| {
            SettingError(format!("local-groups must be at most the number of nodes ({nodes}), not {groups}"))
        })?;
        let collect = setting.option("share") == Some("collect");
        Ok(Rules { layout, share, collect, redeal: false, moves_after: None, defect: None })
    }
}

/// The option that all variants have.
pub const LOCAL_GROUPS: OptionInfo = OptionInfo::number(
    "local-groups",
    "0",
    "how many local groups (0: the whole number nearest to the root of the number of nodes)",
);

/// Only for [`Dynamic`].
const MOVE_AFTER: OptionInfo = OptionInfo::number(
    "move-after",
    "0",
    "with grc=moves: after how many grants (0: after as many as there are groups)",
);

/// The algorithm of 000.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dynamic {}

impl Variant for Dynamic {
    const INFO: Info = Info {
        name: "collectors",
        title: "about √n groups with request collectors, tokens shared out by demand",
        kind: Kind::KMutex,
        source: "000 sec. III",
        cost: "0 to 7 for a single request; for many at once 2 to 3, plus 2 per group and per token",
        tokens: Tokens::PerSlot,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: true,
        options: &[
            OptionInfo::choice(
                "share",
                &["equal", "cap", "collect"],
                "how free tokens are granted: equal shares at once, at most k/groups at once, or equal shares after \
                 collecting requests for a moment",
            ),
            OptionInfo::choice(
                "return",
                &["queue", "collector"],
                "where a token goes after each section: along its queue, or to the local collector",
            ),
            LOCAL_GROUPS,
            OptionInfo::choice(
                "grc",
                &["fixed", "moves"],
                "whether the global collector stays where it is, or moves to the group that was served last",
            ),
            MOVE_AFTER,
        ],
        timers: &[COLLECT_TIMER],
        sometimes: &[
            notes::WAITS,
            notes::TOO_MANY,
            notes::OWN_GROUP_SEVERAL,
            notes::BACK_WHILE_COLLECTING,
            notes::DEALT_AGAIN,
            notes::MOVED,
            notes::FORWARDED,
            notes::EARLY,
        ],
        suite: &[
            Scope::new(1, 1, 2),
            Scope::new(2, 2, 3),
            Scope::new(3, 3, 2),
            Scope::new(4, 1, 2),
            Scope::new(4, 2, 2),
            Scope::new(4, 3, 2),
            Scope::new(4, 2, 2).with(&[("return", "collector")]),
            Scope::new(4, 1, 2).with(&[("share", "collect")]).firings(2, 2),
            Scope::new(4, 2, 2).with(&[("share", "collect")]).firings(2, 2),
            Scope::new(4, 3, 2).with(&[("share", "collect"), ("return", "collector")]).firings(2, 2),
            Scope::new(6, 2, 1),
            Scope::new(6, 2, 1).with(&[("return", "collector")]),
            Scope::new(6, 2, 1).with(&[("share", "collect")]).firings(2, 2),
            Scope::new(6, 4, 1).with(&[("local-groups", "3")]),
            Scope::new(4, 2, 2).with(&[("share", "cap")]),
            Scope::new(6, 4, 1).with(&[("share", "cap"), ("local-groups", "3")]),
            Scope::new(4, 1, 2).with(&[("grc", "moves"), ("move-after", "1")]),
            Scope::new(4, 2, 1).with(&[("grc", "moves")]),
            Scope::new(4, 2, 1).with(&[("grc", "moves"), ("move-after", "1"), ("local-groups", "3")]),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        let share = if setting.option("share") == Some("cap") { Share::Capped } else { Share::Equal };
        let redeal = setting.option("return") == Some("collector");
        let rules = Rules { redeal, defect: Defect::of(setting), ..Rules::new(setting, share)? };
        if setting.option("grc") != Some("moves") {
            return Ok(rules);
        }
        if rules.collect {
            let why = "requests are collected where the tokens are, and these move";
            return Err(SettingError(format!("share=collect and grc=moves cannot be combined: {why}")));
        }
        let moves_after = setting.number(MOVE_AFTER.name, 0);
        let moves_after = if moves_after == 0 { rules.layout.groups() } else { moves_after };
        Ok(Rules { moves_after: Some(moves_after), ..rules })
    }
}
