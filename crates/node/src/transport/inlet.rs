//! The reading end of a connection: bytes come in as they like, bodies come out whole.

use std::io;

use tokio::io::AsyncReadExt;

use super::stream::Reader;
use crate::wire::{self, WireError};

/// What is read at a time, and kept between bodies.
const USUAL_BYTES: usize = 16 << 10;

/// A connection's reader with what it has read.
pub(crate) struct Inlet {
    reader: Reader,
    buffer: Vec<u8>,
    /// What of the buffer was read and not consumed.
    start: usize,
    end: usize,
}

impl Inlet {
    pub(crate) fn new(reader: Reader) -> Inlet {
        Inlet { reader, buffer: vec![0; USUAL_BYTES], start: 0, end: 0 }
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

    /// Reads more, as much as is there; answers how much. Nothing is lost if the answer is not awaited.
    pub(crate) async fn fill(&mut self, longest: usize) -> io::Result<usize> {
        self.make_room(longest);
        let count = self.reader.read(&mut self.buffer[self.end..]).await?;
        self.end += count;
        Ok(count)
    }

    /// Room behind what was read, enough for the body that has begun. A length out of bounds makes no room: whoever
    /// asks for the body learns of it.
    fn make_room(&mut self, longest: usize) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let begun = wire::body_length(&self.buffer[..self.end], longest).ok().flatten();
        let needed = begun.map_or(0, |length| wire::LENGTH_BYTES + length);
        if needed > self.buffer.len() {
            self.buffer.resize(needed, 0);
        }
    }
}
