//! What a node needs to join a cluster, as one word that can be passed on.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use service::frame;

/// What the word begins with: the version of the rest.
const PREFIX: &str = "tw2-";

/// What a node needs to join a cluster: its id, and the nodes to ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// The name of the cluster.
    pub cluster: String,
    /// The number that the cluster was given when it was founded.
    pub cluster_id: u64,
    /// The id of the node that was invited.
    pub id: u32,
    /// The secret that proves the invitation.
    pub secret: u128,
    /// Nodes to ask, with their addresses.
    pub nodes: BTreeMap<u32, String>,
    /// The SHA-256 of each CA that the cluster trusts, in hexadecimal digits; none if it does not encrypt.
    pub authorities: Vec<String>,
}

impl Invitation {
    /// Whether a node that trusts these CAs, named in the same way, would be among friends.
    pub fn is_from(&self, trusted: &[String]) -> bool {
        self.authorities.is_empty() || self.authorities.iter().any(|authority| trusted.contains(authority))
    }
}

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        frame::append(self, &mut bytes);
        f.write_str(PREFIX)?;
        bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The word is not an invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoInvitation;

impl fmt::Display for NoInvitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is not a complete invitation: copy the whole word, which begins with {PREFIX}")
    }
}

impl std::error::Error for NoInvitation {}

impl FromStr for Invitation {
    type Err = NoInvitation;

    fn from_str(text: &str) -> Result<Invitation, NoInvitation> {
        let digits = text.trim().strip_prefix(PREFIX).ok_or(NoInvitation)?.as_bytes();
        if digits.len() % 2 != 0 {
            return Err(NoInvitation);
        }
        let byte = |pair: &[u8]| {
            let digit = |digit: u8| char::from(digit).to_digit(16).ok_or(NoInvitation);
            Ok((digit(pair[0])? << 4 | digit(pair[1])?) as u8)
        };
        let bytes = digits.chunks_exact(2).map(byte).collect::<Result<Vec<u8>, NoInvitation>>()?;
        frame::whole(&bytes).map_err(|_| NoInvitation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invitation_is_a_word_and_nothing_else_is_one() {
        let nodes = BTreeMap::from([(0, "10.0.0.7:7700".to_owned()), (1, "[::1]:7700".to_owned())]);
        let (cluster, authorities) = ("prod".to_owned(), vec!["0f".to_owned()]);
        let invitation =
            Invitation { cluster, cluster_id: 9, id: 3, secret: u128::MAX - 5, nodes, authorities };
        assert!(invitation.is_from(&["aa".to_owned(), "0f".to_owned()]) && !invitation.is_from(&[]));
        let word = invitation.to_string();
        assert_eq!(format!(" {word}\n").parse(), Ok(invitation));
        for wrong in ["", "tw2-", "tw2-0", "tw2-zz", &word[4..], &word[..word.len() - 2]] {
            assert_eq!(wrong.parse::<Invitation>(), Err(NoInvitation), "{wrong}");
        }
    }
}
