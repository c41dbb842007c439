//! The greeting of a client. Its layout is the same in all versions, but for the token at its end, which older programs do not have.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::auth::Secret;
use crate::protocol::{MAGIC, VERSIONS};

/// The first frame of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The magic number: [`MAGIC`].
    pub magic: [u8; 8],
    /// The lowest and the highest version that the client speaks.
    pub versions: (u8, u8),
    /// The token of the client, if it has one. `Debug` does not show it.
    pub token: Option<Secret>,
}

impl Hello {
    /// What this program says as a client without a token.
    pub const MINE: Hello = Hello { magic: MAGIC, versions: VERSIONS, token: None };

    /// What this program says as a client with this token.
    pub fn with(token: Option<Secret>) -> Hello {
        Hello { token, ..Hello::MINE }
    }

    /// The version to use with the sender of this.
    pub fn agreed(&self) -> Option<u8> {
        let highest = self.versions.1.min(VERSIONS.1);
        (self.magic == MAGIC && highest >= self.versions.0.max(VERSIONS.0)).then_some(highest)
    }
}

/// Without a token the greeting ends after the versions, as it always did: so a node of before answers that it speaks another
/// version, and not that it does not understand.
impl Serialize for Hello {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_tuple(if self.token.is_some() { 3 } else { 2 })?;
        fields.serialize_element(&self.magic)?;
        fields.serialize_element(&self.versions)?;
        if let Some(token) = &self.token {
            fields.serialize_element(token)?;
        }
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Hello {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hello, D::Error> {
        deserializer.deserialize_tuple(3, Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Hello;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the greeting of a client")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<Hello, A::Error> {
        let missing = |field| A::Error::custom(field);
        let magic = fields.next_element()?.ok_or_else(|| missing("no magic number"))?;
        let versions = fields.next_element()?.ok_or_else(|| missing("no versions"))?;
        // An error is the end of the greeting, or bytes that are no token: those are left over, and refused as such.
        let token = fields.next_element().unwrap_or(None);
        Ok(Hello { magic, versions, token })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame;

    fn bytes(hello: &Hello) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame::append(hello, &mut bytes);
        bytes
    }

    #[test]
    fn a_greeting_without_a_token_is_as_it_always_was() {
        assert_eq!(bytes(&Hello::MINE), [&MAGIC[..], &[VERSIONS.0, VERSIONS.1]].concat());
        assert_eq!(frame::whole(&bytes(&Hello::MINE)), Ok(Hello::MINE));
    }

    #[test]
    fn a_token_travels_at_the_end_and_is_not_shown() {
        let hello = Hello::with(Some(Secret::new([0xab; 32])));
        assert_eq!(frame::whole(&bytes(&hello)), Ok(hello.clone()));
        assert!(!format!("{hello:?}").contains("abab"));
        let mut cut = bytes(&hello);
        cut.truncate(40);
        assert!(frame::whole::<Hello>(&cut).is_err(), "half a token is none");
    }
}
