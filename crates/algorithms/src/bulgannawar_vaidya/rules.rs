//! What the texts leave open: which token to ask for, and how many nodes to inform, when.

use super::Defect;
use crate::algorithm::Site;
use crate::info::OptionInfo;
use crate::setting::{Setting, SettingError};

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub(super) choose: Choose,
    pub(super) inform: usize,
    pub(super) whom: Whom,
    pub(super) repeats: u32,
    pub(super) defect: Option<Defect>,
    first_same: bool,
}

/// Which token to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choose {
    Random,
    LastSeen,
    /// The last seen, unless more nodes than its fair share waited for it.
    FairShare,
}

/// Which nodes an idle holder informs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whom {
    Random,
    /// The nodes that follow it.
    Ring,
    /// The nodes whose requests came last, then those that follow it.
    Askers,
}

impl Rules {
    pub(super) const OPTIONS: &'static [OptionInfo] = &[
        OptionInfo::choice(
            "choose",
            &["random", "last-seen", "fair-share"],
            "which token to ask for; fair-share: the last seen, but another one if n/k nodes or more waited for it",
        ),
        OptionInfo::number(
            "inform",
            "0",
            "how many nodes an idle holder informs (0); all others if there are fewer",
        ),
        OptionInfo::choice(
            "whom",
            &["random", "ring", "askers"],
            "which nodes it informs; askers: those whose requests came last, then those that follow it",
        ),
        OptionInfo::number(
            "repeats",
            "0",
            "an idle holder informs only if it has entered so often again before another node asked (0)",
        ),
        OptionInfo::choice(
            "first",
            &["spread", "same"],
            "which token a node asks for that has seen none: its number modulo k, or all the same",
        ),
        OptionInfo::choice(
            "tuning",
            &["none", "balanced"],
            "balanced: choose=fair-share inform=1 repeats=1, where nothing else is said",
        )
        .implying(&[
            ("balanced", "choose", "fair-share"),
            ("balanced", "inform", "1"),
            ("balanced", "repeats", "1"),
        ]),
    ];

    pub(super) fn of(setting: &Setting) -> Result<Rules, SettingError> {
        let balanced = setting.option("tuning") == Some("balanced");
        let choose = match setting.option("choose") {
            Some("last-seen") => Choose::LastSeen,
            Some("fair-share") => Choose::FairShare,
            None if balanced => Choose::FairShare,
            _ => Choose::Random,
        };
        let inform = setting.number("inform", u32::from(balanced)) as usize;
        // Without INFORM messages no node needs to count.
        let repeats = if inform == 0 { 0 } else { setting.number("repeats", u32::from(balanced)) };
        let whom = match setting.option("whom") {
            Some("ring") => Whom::Ring,
            Some("askers") => Whom::Askers,
            _ => Whom::Random,
        };
        let defect = Defect::of(setting);
        let informs = [Defect::InformAlways, Defect::InformUnlessWaiting, Defect::InformByVersion];
        if inform == 0 && defect.is_some_and(|defect| informs.contains(&defect)) {
            return Err(SettingError("a defect of INFORM messages needs some: say --inform 1".into()));
        }
        if choose != Choose::FairShare && defect == Some(Defect::OverflowSentOn) {
            return Err(SettingError(
                "that defect is one of the fair share: say --set choose=fair-share".into(),
            ));
        }
        Ok(Rules {
            choose,
            inform,
            whom,
            repeats,
            defect,
            first_same: setting.option("first") == Some("same"),
        })
    }

    /// Only a holder that informs the nodes after it, by number, tells nodes apart.
    pub(super) fn is_symmetric(&self) -> bool {
        self.inform == 0 || self.whom == Whom::Random
    }

    /// The token that a node asks for before it has seen any, if it does not choose at random.
    pub(super) fn first<A: crate::Algorithm>(&self, site: &Site<'_, A>) -> u32 {
        if self.choose == Choose::Random || self.first_same { 0 } else { site.me % site.tokens }
    }
}
