//! Messages of any algorithm as bytes. Only this file is compiled for each algorithm.

use algorithms::algorithm::Portable;
use algorithms::erased::Message;
use algorithms::partitioned::{self, Partitioned};
use algorithms::registry::{self, MessageVisitor};
use algorithms::{Algorithm, NodeId, SettingError};
use postcard::Error;

/// Writes and reads the messages of one algorithm.
pub(super) struct Codec {
    write: fn(&Message, Vec<u8>) -> Result<Vec<u8>, Error>,
    read: fn(&[u8]) -> Result<Message, Error>,
    /// Whether each message comes with the first node of its cluster.
    is_partitioned: bool,
}

impl Codec {
    /// For the algorithm of this name.
    pub(super) fn new(name: &str) -> Result<Codec, SettingError> {
        let inner = registry::inner_of_partitioned(name)?;
        let codec = registry::visit_messages(inner.map_or(name, |inner| inner.name), ForAlgorithm)?;
        Ok(Codec { is_partitioned: inner.is_some(), ..codec })
    }

    /// Appends a message to these bytes.
    pub(super) fn write(&self, message: &Message, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
        if !self.is_partitioned {
            return (self.write)(message, bytes);
        }
        let message = message.open::<Partitioned>().ok_or(Error::SerdeSerCustom)?;
        (self.write)(&message.inner, postcard::to_extend(&message.base, bytes)?)
    }

    /// Reads the bytes of a message.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<Message, Error> {
        if !self.is_partitioned {
            return (self.read)(bytes);
        }
        let (base, bytes): (NodeId, _) = postcard::take_from_bytes(bytes)?;
        Ok(Message::new::<Partitioned>(partitioned::Message { base, inner: (self.read)(bytes)? }))
    }
}

struct ForAlgorithm;

impl MessageVisitor for ForAlgorithm {
    type Output = Codec;

    fn visit<A: Algorithm<Message: Portable>>(self) -> Codec {
        Codec { write: write::<A>, read: read::<A>, is_partitioned: false }
    }
}

fn write<A: Algorithm<Message: Portable>>(message: &Message, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    postcard::to_extend(message.open::<A>().ok_or(Error::SerdeSerCustom)?, bytes)
}

fn read<A: Algorithm<Message: Portable>>(bytes: &[u8]) -> Result<Message, Error> {
    postcard::from_bytes(bytes).map(Message::new::<A>)
}
