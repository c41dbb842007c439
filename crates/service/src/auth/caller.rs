//! What a node knows of the program at the other end of a connection.

use std::sync::Arc;

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

/// A caller that shows nothing.
impl From<&str> for Caller {
    fn from(address: &str) -> Caller {
        Caller::new(address, &Evidence::default())
    }
}
