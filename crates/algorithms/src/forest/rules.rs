//! The options: how far local clients may enter ahead of other nodes, whether waiters and idle tokens look
//! for each other, and whether idle tokens go home.

use super::Defect;
use crate::algorithm::NodeId;
use crate::info::OptionInfo;
use crate::setting::Setting;

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Where the tokens start, where waiters and idle tokens meet, and where unchanged pointers lead.
    pub home: NodeId,
    /// How often clients of a token's holder may enter ahead of the head of its queue.
    pub passes: u32,
    /// Whether a request that waits for a busy token may move to an idle one. Only matters with two tokens or
    /// more.
    pub hunt: bool,
    /// Whether idle tokens go home, so that other nodes can forget the resource.
    pub forget: bool,
    /// How many hops an unused token or state stays where it is before it is cleaned up.
    pub linger: u32,
    /// A defect to enable.
    pub defect: Option<Defect>,
    /// A defect of resizing to enable.
    pub resize_defect: Option<ResizeDefect>,
}

/// Defects of resizing: simplifications that look right and are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResizeDefect {
    /// A token that is minted again starts at its first version, as if it had never existed.
    NoFloor,
    /// All new tokens are minted, also those that a node still has from before.
    GrowBlindly,
}

impl Rules {
    pub(super) const OPTIONS: &'static [OptionInfo] = &[
        OptionInfo::number(
            "passes",
            "how often clients of a token's holder may enter before the head of its queue (4)",
        ),
        OptionInfo::choice(
            "hunt",
            &["yes", "no"],
            "whether a request that waits for a busy token may move to an idle one",
        ),
        OptionInfo::choice(
            "forget",
            &["no", "yes"],
            "whether idle tokens go home, so that other nodes can forget the resource",
        ),
    ];

    /// The defaults, with this home.
    pub const fn new(home: NodeId) -> Rules {
        Rules { home, passes: 4, hunt: true, forget: false, linger: 20, defect: None, resize_defect: None }
    }

    pub(super) fn of(setting: &Setting) -> Rules {
        let standard = Rules::new(0);
        Rules {
            passes: setting.number("passes", standard.passes),
            hunt: setting.option("hunt") != Some("no"),
            forget: setting.option("forget") == Some("yes"),
            defect: Defect::of(setting),
            ..standard
        }
    }
}
