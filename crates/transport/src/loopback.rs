//! Addresses on this machine for nodes that end and start again at the same address.
//!
//! A port that was free a moment ago may be the near end of a connection when a node wants it back: the system
//! gives such ends ports of 127.0.0.1. On Linux all of 127.0.0.0/8 is this machine, so every call here has an address of
//! its own there, and nothing else has ports of it.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// Addresses that nothing listens at, all different.
pub fn addresses(count: usize) -> io::Result<Vec<String>> {
    let host = host();
    // All at once: a port that is free again would be given twice.
    let taken: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind((host, 0))).collect::<io::Result<_>>()?;
    taken.iter().map(|listener| Ok(listener.local_addr()?.to_string())).collect()
}

/// An address of the loopback network that no other call got: a process has 62, then they come again.
fn host() -> Ipv4Addr {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    if !cfg!(target_os = "linux") {
        return Ipv4Addr::LOCALHOST;
    }
    // From 1 to 62, so that the last byte is never 0 or 255.
    let call = CALLS.fetch_add(1, Ordering::Relaxed) % 62 + 1;
    let [_, a, b, c] = (std::process::id() * 64 + call).to_be_bytes();
    // Never 127.0.x.y, where services of the system are.
    Ipv4Addr::new(127, a | 0x40, b, c)
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn connections_do_not_take_the_ports() {
        let all = addresses(3).unwrap();
        let listener = TcpListener::bind(&all[0]).unwrap();
        let near = TcpStream::connect(&all[0]).unwrap().local_addr().unwrap().ip();
        assert!(all.iter().all(|address| !address.starts_with(&format!("{near}:"))), "{all:?}, {near}");
        drop(listener);
        TcpListener::bind(&all[0]).unwrap();
    }

    #[test]
    fn calls_get_addresses_of_their_own() {
        let mut hosts: Vec<Ipv4Addr> = (0..8).map(|_| host()).collect();
        hosts.dedup();
        assert_eq!(hosts.len(), 8);
    }
}
