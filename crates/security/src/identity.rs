//! What a certificate says of its holder: the cluster, and which node or client of it.

use std::fmt;
use std::str::FromStr;

use crate::error::IdentityError;

/// The longest name of a cluster or a client, in bytes.
pub const LONGEST_NAME: usize = 64;

pub(crate) const SCHEME: &str = "tokenwood://";

/// The holder of a certificate, as its URI says: `tokenwood://CLUSTER/node/ID` or
/// `tokenwood://CLUSTER/client/NAME`.
///
/// Only a valid identity can be made, so each has one text, and two identities are equal if their texts are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    cluster: String,
    holder: Holder,
}

/// A node or a client of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// The node with this id.
    Node(u32),
    /// The client with this name.
    Client(String),
}

impl Identity {
    /// Refuses names that a certificate cannot carry.
    pub fn new(cluster: &str, holder: Holder) -> Result<Identity, IdentityError> {
        if !is_name(cluster, b"._-") {
            return Err(IdentityError::Cluster);
        }
        match &holder {
            Holder::Client(name) if !is_name(name, b"._/@-") => Err(IdentityError::Client),
            _ => Ok(Identity { cluster: cluster.to_string(), holder }),
        }
    }

    /// The name of the cluster.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The node or the client.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }
}

/// The URI of the CA of a cluster.
pub(crate) fn authority_uri(cluster: &str) -> Result<String, IdentityError> {
    if is_name(cluster, b"._-") { Ok(format!("{SCHEME}{cluster}/ca")) } else { Err(IdentityError::Cluster) }
}

/// The cluster whose CA has this URI.
pub(crate) fn authority_cluster(uri: &str) -> Option<String> {
    let cluster = uri.strip_prefix(SCHEME)?.strip_suffix("/ca")?;
    is_name(cluster, b"._-").then(|| cluster.to_string())
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Node(id) => write!(f, "node/{id}"),
            Holder::Client(name) => write!(f, "client/{name}"),
        }
    }
}

impl Holder {
    /// The name of its files, without an ending. Two holders never share one: no name has a `+`.
    pub fn file_stem(&self) -> String {
        match self {
            Holder::Node(id) => format!("node-{id}"),
            Holder::Client(name) => format!("client-{}", name.replace('/', "+")),
        }
    }
}

/// Percent signs are not among the characters, so no two texts mean the same name.
fn is_name(name: &str, punctuation: &[u8]) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || punctuation.contains(&byte);
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_allowed)
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.cluster, self.holder)
    }
}

impl FromStr for Identity {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Identity, IdentityError> {
        let rest = text.strip_prefix(SCHEME).ok_or(IdentityError::Scheme)?;
        let (cluster, rest) = rest.split_once('/').ok_or(IdentityError::Form)?;
        let holder = match rest.split_once('/') {
            Some(("node", id)) => Holder::Node(node_id(id)?),
            Some(("client", name)) => Holder::Client(name.to_string()),
            _ => return Err(IdentityError::Form),
        };
        Identity::new(cluster, holder)
    }
}

/// The standard library also reads `+3` and `03`, which would be further texts of the same node.
fn node_id(text: &str) -> Result<u32, IdentityError> {
    let id: u32 = text.parse().map_err(|_| IdentityError::Node)?;
    if id.to_string() == text { Ok(id) } else { Err(IdentityError::Node) }
}

#[cfg(test)]
mod tests {
    use super::{Holder, Identity, LONGEST_NAME};
    use crate::error::IdentityError;

    #[test]
    fn identities_are_read_as_they_are_printed() {
        let longest = format!("tokenwood://{}/client/{}", "c".repeat(LONGEST_NAME), "n".repeat(LONGEST_NAME));
        for text in [
            "tokenwood://prod/node/0",
            "tokenwood://prod/node/4294967295",
            "tokenwood://eu-1.prod_2/client/ci/build@host",
            longest.as_str(),
        ] {
            let identity: Identity = text.parse().unwrap();
            assert_eq!(identity.to_string(), text);
        }
        let node: Identity = "tokenwood://prod/node/3".parse().unwrap();
        assert_eq!((node.cluster(), node.holder()), ("prod", &Holder::Node(3)));
    }

    #[test]
    fn other_texts_are_refused() {
        let long_cluster = format!("tokenwood://{}/node/1", "c".repeat(LONGEST_NAME + 1));
        let long_client = format!("tokenwood://prod/client/{}", "n".repeat(LONGEST_NAME + 1));
        for (text, error) in [
            ("", IdentityError::Scheme),
            ("https://prod/node/1", IdentityError::Scheme),
            ("Tokenwood://prod/node/1", IdentityError::Scheme),
            (" tokenwood://prod/node/1", IdentityError::Scheme),
            ("tokenwood://prod", IdentityError::Form),
            ("tokenwood://prod/node", IdentityError::Form),
            ("tokenwood://prod/Node/1", IdentityError::Form),
            ("tokenwood://prod/admin/1", IdentityError::Form),
            ("tokenwood:///node/1", IdentityError::Cluster),
            ("tokenwood://pr%6fd/node/1", IdentityError::Cluster),
            ("tokenwood://user@prod/node/1", IdentityError::Cluster),
            ("tokenwood://prod:7710/node/1", IdentityError::Cluster),
            (&long_cluster, IdentityError::Cluster),
            ("tokenwood://prod/node/", IdentityError::Node),
            ("tokenwood://prod/node/01", IdentityError::Node),
            ("tokenwood://prod/node/+1", IdentityError::Node),
            ("tokenwood://prod/node/-1", IdentityError::Node),
            ("tokenwood://prod/node/1/", IdentityError::Node),
            ("tokenwood://prod/node/1?x", IdentityError::Node),
            ("tokenwood://prod/node/4294967296", IdentityError::Node),
            ("tokenwood://prod/client/", IdentityError::Client),
            ("tokenwood://prod/client/a%2fb", IdentityError::Client),
            ("tokenwood://prod/client/a b", IdentityError::Client),
            ("tokenwood://prod/client/a\0", IdentityError::Client),
            ("tokenwood://prod/client/ä", IdentityError::Client),
            ("tokenwood://prod/client/a#b", IdentityError::Client),
            (&long_client, IdentityError::Client),
        ] {
            assert_eq!(text.parse::<Identity>(), Err(error), "{text:?}");
        }
    }

    #[test]
    fn two_holders_never_share_a_file() {
        let client = |name: &str| Holder::Client(name.to_string()).file_stem();
        assert_eq!(client("ci/build"), "client-ci+build");
        assert_eq!(Identity::new("prod", Holder::Client("ci+build".into())), Err(IdentityError::Client));
        assert_eq!(client("../../etc"), "client-..+..+etc", "a name never leaves its folder");
        assert_ne!(client("3"), Holder::Node(3).file_stem());
    }
}
