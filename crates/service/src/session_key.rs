//! The keys of sessions: the numbers of sessions can be counted, so a client has to show that the session is its own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::session::SessionId;

/// How many bytes a key has.
pub const KEY_BYTES: usize = 16;

/// What only the client of a session knows, and the node that keeps the session.
///
/// It is not shown by `Debug`; [`SessionKey::to_text`] shows it.
#[derive(Clone, Copy, Eq, Serialize, Deserialize)]
pub struct SessionKey([u8; KEY_BYTES]);

impl SessionKey {
    /// The key of these bytes, which have to be random.
    pub const fn new(bytes: [u8; KEY_BYTES]) -> SessionKey {
        SessionKey(bytes)
    }

    /// The key as hexadecimal digits. A program that has the text has the session.
    pub fn to_text(self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }
}

/// Looks at all bytes, wherever the first difference is: the time that it takes tells a stranger nothing about the key.
impl PartialEq for SessionKey {
    fn eq(&self, other: &SessionKey) -> bool {
        let differences = self.0.iter().zip(other.0).fold(0, |all, (mine, other)| all | (mine ^ other));
        std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKey(…)")
    }
}

/// A text that is not the key of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAKey;

impl fmt::Display for NotAKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key of a session has {} hexadecimal digits", 2 * KEY_BYTES)
    }
}

impl std::error::Error for NotAKey {}

impl FromStr for SessionKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<SessionKey, NotAKey> {
        let digits = text.len() == 2 * KEY_BYTES && text.bytes().all(|letter| letter.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| digits).ok_or(NotAKey)?;
        Ok(SessionKey(number.to_be_bytes()))
    }
}

/// A session as its client names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionHandle {
    /// The session.
    pub id: SessionId,
    /// Its key.
    pub key: SessionKey,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_a_key_counts() {
        let key = SessionKey::new([0x5a; KEY_BYTES]);
        for bit in 0..8 * KEY_BYTES {
            let mut bytes = [0x5a; KEY_BYTES];
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(SessionKey::new(bytes), key, "bit {bit}");
        }
        assert_eq!(SessionKey::new([0x5a; KEY_BYTES]), key);
    }

    #[test]
    fn a_key_can_be_written_and_read_again_and_is_not_shown_otherwise() {
        let key = SessionKey::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        assert_eq!(key.to_text(), "000102030405060708090a0b0c0d0eff");
        assert_eq!(key.to_text().parse(), Ok(key));
        let id = SessionId { node: 0, incarnation: 1, number: 1 };
        assert!(!format!("{:?}", SessionHandle { id, key }).contains("0102"));
        for text in ["", "00", "+00102030405060708090a0b0c0d0eff", "g00102030405060708090a0b0c0d0eff"] {
            assert_eq!(text.parse::<SessionKey>(), Err(NotAKey), "{text}");
        }
    }
}
