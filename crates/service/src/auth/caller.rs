//! What a node knows of the program at the other end of a connection.

use std::net::SocketAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::token::{Secret, TokenHash};

/// What a driver has of a caller when it connects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The name in the client's certificate, which was checked.
    pub certificate: Option<String>,
    /// The id in the certificate of a node of this cluster, which was checked.
    pub node: Option<u32>,
    /// The user at the other end of a socket of this machine.
    pub local_user: Option<u32>,
    /// The token in the greeting, which was not checked.
    pub token: Option<Secret>,
}

/// What counts of the evidence. A token comes first, because the caller chose to show it; then a client's certificate, a
/// node's, and the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    /// Nothing.
    #[default]
    Nothing,
    /// A token.
    Token(TokenHash),
    /// A client's certificate with this name.
    Certificate(Arc<str>),
    /// The certificate of this node.
    Node(u32),
    /// This user of the node's machine.
    LocalUser(u32),
}

impl From<&Evidence> for Shown {
    fn from(evidence: &Evidence) -> Shown {
        let Evidence { certificate, node, local_user, token } = evidence;
        if let Some(token) = token {
            return Shown::Token(token.hash());
        }
        if let Some(name) = certificate {
            return Shown::Certificate(name.as_str().into());
        }
        match (node, local_user) {
            (Some(node), _) => Shown::Node(*node),
            (None, Some(user)) => Shown::LocalUser(*user),
            (None, None) => Shown::Nothing,
        }
    }
}

/// The program at the other end of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// Where it is, as `host:port`.
    pub address: String,
    /// What it has shown.
    pub shown: Shown,
}

impl Caller {
    /// A caller at this address with this evidence.
    pub fn new(address: impl Into<String>, evidence: &Evidence) -> Caller {
        Caller { address: address.into(), shown: evidence.into() }
    }
}

/// A caller that a node speaks for, because it called that node and this one has to act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vouched {
    /// Where it is.
    pub address: SocketAddr,
    /// What it has shown to the node.
    pub shown: VouchedShown,
}

/// What a node can say that a caller has shown. It cannot say that the caller is a node, or a user of a machine: those act for
/// themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VouchedShown {
    /// Nothing.
    Nothing,
    /// A token. Its secret stays at the node that was called.
    Token(TokenHash),
    /// A client's certificate with this name.
    Certificate(Arc<str>),
}

impl Vouched {
    /// What a node says of a caller that called it; `None` if it cannot speak for that one.
    pub fn of(caller: &Caller) -> Option<Vouched> {
        let shown = match &caller.shown {
            Shown::Nothing => VouchedShown::Nothing,
            Shown::Token(hash) => VouchedShown::Token(*hash),
            Shown::Certificate(name) => VouchedShown::Certificate(name.clone()),
            Shown::Node(_) | Shown::LocalUser(_) => return None,
        };
        Some(Vouched { address: caller.address.parse().ok()?, shown })
    }

    /// The caller, as the audit and the log name it: with the node that speaks for it.
    pub(crate) fn caller(&self, node: u32) -> Caller {
        let shown = match &self.shown {
            VouchedShown::Nothing => Shown::Nothing,
            VouchedShown::Token(hash) => Shown::Token(*hash),
            VouchedShown::Certificate(name) => Shown::Certificate(name.clone()),
        };
        Caller { address: format!("{} via node {node}", self.address), shown }
    }
}

/// A caller that shows nothing.
impl From<&str> for Caller {
    fn from(address: &str) -> Caller {
        Caller::new(address, &Evidence::default())
    }
}
