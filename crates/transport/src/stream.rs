//! The one kind of stream that the reactor reads and writes: TCP or a Unix socket, encrypted or not.

use std::io::{self, Read, Write};
use std::net::Shutdown;

use mio::net::{TcpStream, UnixStream};

use crate::tls::Tls;

/// A stream that never blocks. Several threads may use it at once.
pub struct Stream {
    socket: Socket,
    tls: Option<Tls>,
}

/// What carries the bytes of a stream.
pub enum Socket {
    /// To another machine, or to this one by its network.
    Tcp(TcpStream),
    /// To a process of this machine.
    Unix(UnixStream),
}

impl Stream {
    /// A stream over this socket, with the state of its encryption if it has one.
    pub fn new(socket: Socket, tls: Option<Tls>) -> Stream {
        Stream { socket, tls }
    }

    /// Whether it is encrypted: then what was written may have to be [flushed](Stream::flush).
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// What the reactor waits for.
    pub fn source(&mut self) -> &mut dyn mio::event::Source {
        match &mut self.socket {
            Socket::Tcp(socket) => socket,
            Socket::Unix(socket) => socket,
        }
    }

    /// Reads what is there. A read that does not fill the buffer has emptied the socket, unless the other end has closed.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.tls {
            None => (&self.socket).read(buffer),
            Some(tls) => tls.read(&mut &self.socket, buffer),
        }
    }

    /// Writes what the socket takes. After everything was taken, [`Stream::flush`] says whether it has gone out.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.tls {
            None => (&self.socket).write(bytes),
            Some(tls) => tls.write(&mut &self.socket, bytes),
        }
    }

    /// Writes what was taken and is still here. `WouldBlock` if the socket does not take all of it.
    pub fn flush(&self) -> io::Result<()> {
        match &self.tls {
            None => Ok(()),
            Some(tls) => tls.flush(&mut &self.socket),
        }
    }

    /// Ends the connection. The reactor sees that at the socket.
    pub fn shutdown(&self) {
        // It fails only if the other end was quicker.
        _ = match &self.socket {
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Socket::Unix(socket) => socket.shutdown(Shutdown::Both),
        };
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&*socket).read(buffer),
            Socket::Unix(socket) => (&*socket).read(buffer),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&*socket).write(bytes),
            Socket::Unix(socket) => (&*socket).write(bytes),
        }
    }

    fn write_vectored(&mut self, bytes: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => (&*socket).write_vectored(bytes),
            Socket::Unix(socket) => (&*socket).write_vectored(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
