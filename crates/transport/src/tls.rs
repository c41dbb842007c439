//! An encrypted connection without its socket: bytes in the clear on one side, a socket that never blocks on the other.
//!
//! A thread that has something to say encrypts and writes it itself, and the reactor reads: both need the state of the
//! connection, which a lock protects for the length of a system call that does not block.

use std::io::{self, Read, Write};
use std::sync::{Mutex, MutexGuard};

use rustls::Connection;
use sync::IgnorePoison;

/// The state of an encrypted connection whose handshake is over.
pub struct Tls(Mutex<Connection>);

impl Tls {
    /// A connection after its handshake. What it has read ahead is kept in it.
    pub fn new(connection: impl Into<Connection>) -> Tls {
        Tls(Mutex::new(connection.into()))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().ignore_poison()
    }

    /// Reads and decrypts. As with a plain socket, a read that does not fill the buffer has emptied the socket, unless the
    /// other end has closed.
    pub fn read(&self, socket: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
        let mut connection = self.lock();
        let mut socket = Noting { socket, emptied: false };
        let mut filled = 0;
        loop {
            filled += clear(&mut connection, &mut buffer[filled..])?;
            // With nothing to give, it is the socket that has to say so: it wakes who waits for more.
            if filled == buffer.len() || (socket.emptied && filled > 0) {
                return Ok(filled);
            }
            match connection.read_tls(&mut socket) {
                Ok(0) => return Ok(filled),
                Ok(_) => _ = connection.process_new_packets().map_err(broken)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What came before is still good, and the next read says the same.
                Err(_) if filled > 0 => return Ok(filled),
                Err(error) => return Err(error),
            }
        }
    }

    /// Encrypts and writes. Takes nothing while the socket has no room; what it takes may have to be [flushed](Tls::flush).
    pub fn write(&self, socket: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
        let mut connection = self.lock();
        send(&mut connection, socket)?;
        let taken = connection.writer().write(bytes)?;
        match send(&mut connection, socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Writes what was encrypted and did not fit into the socket. `WouldBlock` if there is still something left.
    pub fn flush(&self, socket: &mut impl Write) -> io::Result<()> {
        send(&mut self.lock(), socket)
    }
}

/// A socket that notes when it had less to give than it was asked for.
struct Noting<'a, S> {
    socket: &'a mut S,
    emptied: bool,
}

impl<S: Read> Read for Noting<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.socket.read(buffer)?;
        self.emptied = read < buffer.len();
        Ok(read)
    }
}

/// What has been decrypted and not been read yet, as far as it fits.
fn clear(connection: &mut Connection, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match connection.reader().read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            // Nothing more has come, or the other end is gone without a word: the socket says which.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::UnexpectedEof) =>
            {
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn send(connection: &mut Connection, socket: &mut impl Write) -> io::Result<()> {
    while connection.wants_write() {
        match connection.write_tls(socket) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn broken(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
