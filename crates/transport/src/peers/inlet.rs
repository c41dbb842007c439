//! What came in over a connection: bytes come as they like, bodies come out whole.

use crate::wire::{self, WireError};

/// What is read at a time, and kept between bodies.
const USUAL_BYTES: usize = 64 << 10;

/// What was read from a connection.
pub(crate) struct Inlet {
    buffer: Vec<u8>,
    /// What of the buffer was read and not consumed.
    start: usize,
    end: usize,
}

impl Inlet {
    /// With bytes that were read already.
    pub(crate) fn new(read: &[u8]) -> Inlet {
        let mut buffer = vec![0; USUAL_BYTES.max(read.len())];
        buffer[..read.len()].copy_from_slice(read);
        Inlet { buffer, start: 0, end: read.len() }
    }

    /// The next body, if it has come in as a whole.
    pub(crate) fn body(&self, longest: usize) -> Result<Option<&[u8]>, WireError> {
        wire::first_body(&self.buffer[self.start..self.end], longest)
    }

    /// Forgets the body that [`Inlet::body`] showed.
    pub(crate) fn consume_body(&mut self, length: usize) {
        self.start += wire::LENGTH_BYTES + length;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.buffer.len() > USUAL_BYTES {
                self.buffer = vec![0; USUAL_BYTES];
            }
        }
    }

    /// Where to read more into: enough for the body that has begun. A length out of bounds makes no room; [`Inlet::body`] tells
    /// of it.
    pub(crate) fn room(&mut self, longest: usize) -> &mut [u8] {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let begun = wire::body_length(&self.buffer[..self.end], longest).ok().flatten();
        let needed = begun.map_or(0, |length| wire::LENGTH_BYTES + length);
        if needed > self.buffer.len() {
            self.buffer.resize(needed, 0);
        }
        &mut self.buffer[self.end..]
    }

    /// So many bytes were read into the room.
    pub(crate) fn filled(&mut self, bytes: usize) {
        self.end += bytes;
    }
}
