//! Frames: a length, then a body that begins with a version. What nodes and clients say to each other, and what nodes say
//! among themselves, travels in them. `docs/wire.md` has the layout in words.
//!
//! Decoding never panics and allocates nothing for a length that a stranger only claims.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest body of a frame.
pub const LONGEST_BODY: usize = 1 << 20;

/// What is kept between two frames of a connection at most.
const USUAL_BYTES: usize = 16 << 10;

/// How many bytes the length before a body has.
pub const LENGTH_BYTES: usize = 4;

/// What greetings between the nodes of a view begin with.
pub const PEER_MAGIC: [u8; 8] = *b"tokenwd\n";
/// What the greeting of a client begins with.
pub const CLIENT_MAGIC: [u8; 8] = *b"tokenwc\n";
/// What greetings of the control plane begin with. All three differ: a port that serves two protocols tells them
/// apart by these bytes, and a caller at the wrong port is refused by its first bytes.
pub const CONSENSUS_MAGIC: [u8; 8] = *b"tokenwr\n";

/// Why bytes are not a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// A body longer than allowed.
    TooLong {
        /// The length that the frame claims.
        length: usize,
        /// The longest length allowed.
        most: usize,
    },
    /// A body without even a version.
    Empty,
    /// A greeting that is none of ours.
    NotTokenwood,
    /// Another version than the agreed one.
    Version {
        /// The version in the frame.
        found: u8,
        /// The agreed version.
        agreed: u8,
    },
    /// The bytes do not encode a value of the expected type.
    Malformed(postcard::Error),
    /// More bytes than the body needs.
    TrailingBytes(usize),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::TooLong { length, most } => {
                write!(f, "a body of {length} bytes, and the limit is {most}")
            }
            FrameError::Empty => f.write_str("an empty body"),
            FrameError::NotTokenwood => f.write_str("not a Tokenwood node"),
            FrameError::Version { found, agreed } => {
                write!(f, "version {found}, and the agreed version is {agreed}")
            }
            FrameError::Malformed(error) => write!(f, "malformed: {error}"),
            FrameError::TrailingBytes(bytes) => write!(f, "{bytes} trailing bytes"),
        }
    }
}

impl std::error::Error for FrameError {}

/// The length of the body that begins these bytes, behind its [`LENGTH_BYTES`]; `None` if more are needed to know.
pub fn body_length(bytes: &[u8], most: usize) -> Result<Option<usize>, FrameError> {
    let Some(&length) = bytes.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let length = u32::from_le_bytes(length) as usize;
    match length {
        0 => Err(FrameError::Empty),
        _ if length > most => Err(FrameError::TooLong { length, most }),
        _ => Ok(Some(length)),
    }
}

/// The first body in these bytes, behind its length; `None` if it is not complete.
pub fn first_body(bytes: &[u8], most: usize) -> Result<Option<&[u8]>, FrameError> {
    let Some(length) = body_length(bytes, most)? else { return Ok(None) };
    Ok(bytes[LENGTH_BYTES..].get(..length))
}

/// Appends a value as a frame, in this version.
pub fn put<T: Serialize>(version: u8, value: &T, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; LENGTH_BYTES]);
    bytes.push(version);
    append(value, bytes);
    let length = bytes.len() - start - LENGTH_BYTES;
    bytes[start..start + LENGTH_BYTES].copy_from_slice(&(length as u32).to_le_bytes());
}

/// Appends a value as a frame, unless it is longer than a frame may be: then nothing is appended.
pub fn put_if_it_fits<T: Serialize>(version: u8, value: &T, bytes: &mut Vec<u8>) -> Result<(), FrameError> {
    let start = bytes.len();
    put(version, value, bytes);
    let length = bytes.len() - start - LENGTH_BYTES;
    if length > LONGEST_BODY {
        bytes.truncate(start);
        return Err(FrameError::TooLong { length, most: LONGEST_BODY });
    }
    Ok(())
}

/// Appends a value and nothing else.
pub fn append<T: Serialize>(value: &T, bytes: &mut Vec<u8>) {
    postcard::serialize_with_flavor(value, End(bytes)).expect("a vector takes any number of bytes");
}

/// The end of some bytes, where a value goes.
struct End<'a>(&'a mut Vec<u8>);

impl postcard::ser_flavors::Flavor for End<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Reads a body in this version.
pub fn body<'a, T: Deserialize<'a>>(version: u8, body: &'a [u8]) -> Result<T, FrameError> {
    let (&found, body) = body.split_first().ok_or(FrameError::Empty)?;
    if found != version {
        return Err(FrameError::Version { found, agreed: version });
    }
    whole(body)
}

/// Reads the value at the beginning of these bytes, and returns the rest.
pub fn first<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), FrameError> {
    postcard::take_from_bytes(bytes).map_err(FrameError::Malformed)
}

/// Reads a value that takes up all of these bytes.
pub fn whole<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, FrameError> {
    match postcard::take_from_bytes(bytes).map_err(FrameError::Malformed)? {
        (value, []) => Ok(value),
        (_, rest) => Err(FrameError::TrailingBytes(rest.len())),
    }
}

/// Bytes that came in, until they make up frames.
#[derive(Debug, Default)]
pub struct Incoming {
    bytes: Vec<u8>,
    /// How many of the bytes have been read.
    read: usize,
}

impl Incoming {
    /// The buffer for the next bytes.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        if self.read > 0 {
            self.bytes.drain(..self.read);
            self.read = 0;
        }
        &mut self.bytes
    }

    /// Takes in bytes.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.buffer().extend_from_slice(bytes);
    }

    /// Whether [`Incoming::next_within`] has something to say.
    pub fn has_whole_frame(&self, longest: usize) -> bool {
        !matches!(first_body(&self.bytes[self.read..], longest), Ok(None))
    }

    /// The next value, if all of it has arrived.
    pub fn next<T: for<'a> Deserialize<'a>>(&mut self, version: u8) -> Result<Option<T>, FrameError> {
        self.next_within(version, LONGEST_BODY)
    }

    /// The same, from bodies that are no longer than this.
    pub fn next_within<T: for<'a> Deserialize<'a>>(
        &mut self,
        version: u8,
        longest: usize,
    ) -> Result<Option<T>, FrameError> {
        let Some(found) = first_body(&self.bytes[self.read..], longest)? else { return Ok(None) };
        let value = body(version, found)?;
        self.read += LENGTH_BYTES + found.len();
        if self.read == self.bytes.len() {
            // What many bytes once took shall not be kept for as long as the connection lasts.
            self.bytes.clear();
            self.bytes.shrink_to(USUAL_BYTES);
            self.read = 0;
        }
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn protocols_begin_differently() {
        assert_ne!(super::PEER_MAGIC, super::CLIENT_MAGIC);
        assert_ne!(super::PEER_MAGIC, super::CONSENSUS_MAGIC);
        assert_ne!(super::CLIENT_MAGIC, super::CONSENSUS_MAGIC);
    }

    use super::*;

    #[test]
    fn values_come_out_as_they_went_in_however_the_bytes_are_cut() {
        let values: Vec<(u64, String)> =
            (0..50).map(|number| (number, "x".repeat(number as usize))).collect();
        let mut bytes = Vec::new();
        values.iter().for_each(|value| put(1, value, &mut bytes));
        for size in [1, 2, 3, 7, 64, 10_000] {
            let (mut incoming, mut found) = (Incoming::default(), Vec::new());
            for piece in bytes.chunks(size) {
                incoming.buffer().extend_from_slice(piece);
                while let Some(value) = incoming.next::<(u64, String)>(1).unwrap() {
                    found.push(value);
                }
            }
            assert_eq!(found, values, "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_not_a_frame_is_an_error() {
        let next = |bytes: &[u8]| {
            let mut incoming = Incoming::default();
            incoming.buffer().extend_from_slice(bytes);
            incoming.next::<u32>(1)
        };
        assert_eq!(next(&[1, 0, 0]), Ok(None));
        assert_eq!(next(&[0, 0, 0, 0]), Err(FrameError::Empty));
        assert_eq!(next(&[0, 0, 0, 9]), Err(FrameError::TooLong { length: 9 << 24, most: LONGEST_BODY }));
        assert_eq!(next(&[2, 0, 0, 0, 7, 1]), Err(FrameError::Version { found: 7, agreed: 1 }));
        assert!(matches!(next(&[2, 0, 0, 0, 1, 0xff]), Err(FrameError::Malformed(_))));
        assert_eq!(next(&[3, 0, 0, 0, 1, 5, 5]), Err(FrameError::TrailingBytes(1)));
    }

    #[test]
    fn what_does_not_fit_into_a_frame_leaves_no_trace() {
        let mut bytes = vec![7];
        let long = "x".repeat(LONGEST_BODY);
        assert!(matches!(put_if_it_fits(1, &long, &mut bytes), Err(FrameError::TooLong { .. })));
        assert_eq!(bytes, [7]);
        // The version, and the length of the text.
        assert_eq!(put_if_it_fits(1, &&long[..LONGEST_BODY - 4], &mut bytes), Ok(()));
        assert_eq!(first_body(&bytes[1..], LONGEST_BODY).unwrap().map(<[u8]>::len), Some(LONGEST_BODY));
    }

    #[test]
    fn random_bytes_are_never_more_than_an_error() {
        let (mut random, mut bytes) = (random::Random::new(1), [0; 40]);
        for _ in 0..20_000 {
            random.fill(&mut bytes);
            for body in [&bytes[..], &bytes[..random.below(40) as usize]] {
                _ = whole::<crate::protocol::ToNode>(body);
                _ = whole::<crate::protocol::ToClient>(body);
                _ = whole::<crate::PeerMessage>(body);
            }
        }
    }
}
