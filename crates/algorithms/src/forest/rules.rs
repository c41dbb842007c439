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
    /// For whom shares are equal.
    pub share: Share,
    /// When a node whose clients wait for a busy token of its own requests another one.
    pub ask: Ask,
    /// Whether nodes leave long queues, and holders that no node disturbs invite others. Only matters with two
    /// tokens or more.
    pub balance: bool,
    /// With balance: at which entry by one token, without a request of another node, its holder invites one.
    pub invite: u32,
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

/// For whom shares are equal while all want to be inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// For clients: a token serves all local clients that waited when it came, or when the queue formed.
    Clients,
    /// For nodes: as many clients of each node are served, one and `passes`.
    Nodes,
}

/// When a node whose clients wait for a busy token of its own requests another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// After a hop: a section that ends sooner costs no request in vain.
    Later,
    /// At once.
    AtOnce,
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
            "4",
            "how often clients of a token's holder may enter before the head of its queue (4)",
        ),
        OptionInfo::choice(
            "share",
            &["clients", "nodes"],
            "for whom shares are equal: a token serves all clients that waited when it came, or one and `passes`",
        ),
        OptionInfo::choice(
            "ask",
            &["later", "at-once"],
            "when a node whose own token is busy asks for another one: after a hop, or at once",
        ),
        OptionInfo::choice(
            "balance",
            &["yes", "no"],
            "whether nodes leave long queues, and invite others to a token that no other node asks for",
        ),
        OptionInfo::number(
            "invite",
            "8",
            "with balance: at which entry without a request of another node a holder invites one (8)",
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
        Rules {
            home,
            passes: 4,
            share: Share::Clients,
            ask: Ask::Later,
            balance: true,
            invite: 8,
            hunt: true,
            forget: false,
            linger: 20,
            defect: None,
            resize_defect: None,
        }
    }

    pub(super) fn of(setting: &Setting) -> Rules {
        let standard = Rules::new(0);
        Rules {
            passes: setting.number("passes", standard.passes),
            share: if setting.option("share") == Some("nodes") { Share::Nodes } else { Share::Clients },
            ask: if setting.option("ask") == Some("at-once") { Ask::AtOnce } else { Ask::Later },
            balance: setting.option("balance") != Some("no"),
            invite: setting.number("invite", standard.invite),
            hunt: setting.option("hunt") != Some("no"),
            forget: setting.option("forget") == Some("yes"),
            defect: Defect::of(setting),
            ..standard
        }
    }
}
