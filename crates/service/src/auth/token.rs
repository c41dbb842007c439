//! Bearer tokens: a program that has the secret is the principal.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

/// How many bytes a secret has, and its hash.
const BYTES: usize = 32;

/// The secret of a token, as text: 64 hexadecimal digits. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret(String);

impl Secret {
    /// The secret of these bytes, which have to be random.
    pub fn new(bytes: [u8; BYTES]) -> Secret {
        Secret(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The secret itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What the registry keeps of it.
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0.as_bytes()).into())
    }
}

/// The text does not stay behind in memory.
impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A text that is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAToken;

impl fmt::Display for NotAToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the text: it may be a token with a slip.
        write!(f, "this is not a token: a token has {} hexadecimal digits", 2 * BYTES)
    }
}

impl std::error::Error for NotAToken {}

impl FromStr for Secret {
    type Err = NotAToken;

    fn from_str(text: &str) -> Result<Secret, NotAToken> {
        let text = text.trim();
        let is_one = text.len() == 2 * BYTES && text.bytes().all(|letter| letter.is_ascii_hexdigit());
        if is_one { Ok(Secret(text.to_ascii_lowercase())) } else { Err(NotAToken) }
    }
}

/// The SHA-256 of a secret. The secret has 256 random bits, so the hash gives nothing of it away.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TokenHash(pub [u8; BYTES]);

impl TokenHash {
    /// How people name the token: the first digits of the hash.
    pub fn id(&self) -> String {
        self.0[..6].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHash({})", self.id())
    }
}

/// What a token is good for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Who shows it.
    pub principal: Arc<str>,
    /// When it expires, in seconds since 1970; `None` if it does not.
    pub expires: Option<u64>,
}

impl Token {
    /// Whether it counts at this time.
    pub fn is_valid(&self, now: u64) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_written_once_and_never_shown_otherwise() {
        let secret = Secret::new([0xab; BYTES]);
        assert_eq!(secret.reveal(), "ab".repeat(BYTES));
        assert_eq!(format!(" {}\n", secret.reveal()).parse(), Ok(secret.clone()));
        assert!(!format!("{secret:?} {:?}", secret.hash()).contains("abab"));
        assert_eq!(secret.reveal().to_uppercase().parse::<Secret>().map(|it| it.hash()), Ok(secret.hash()));
        for text in ["", "ab", &"g".repeat(64)] {
            assert_eq!(text.parse::<Secret>(), Err(NotAToken));
        }
    }

    /// The registries of running clusters have these hashes: another text or another hash would void their tokens.
    #[test]
    fn the_registry_keeps_the_sha_256_of_the_digits() {
        let hash = Secret::new([0xab; BYTES]).hash();
        let digits: String = hash.0.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digits, "271a413bd339c5709fdceaec41f14f11e9fbfb5042d72d331c65f32b284cd09a");
        assert_eq!(hash.id(), digits[..12]);
    }

    #[test]
    fn a_token_counts_until_it_expires() {
        let token = |expires| Token { principal: "ci".into(), expires };
        assert!(token(None).is_valid(u64::MAX) && token(Some(10)).is_valid(9));
        assert!(!token(Some(10)).is_valid(10));
    }
}
