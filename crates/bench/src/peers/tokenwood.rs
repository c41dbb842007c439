//! Our own clients: a session and a connection each.

use std::time::Instant;

use client::{Guard, Tokenwood};

use super::{Locker, Peer, Workload};

/// A client of Tokenwood.
pub(super) struct Ours {
    tokenwood: Tokenwood,
    held: Option<Guard>,
    /// Releases and acquires in one message.
    joined: bool,
}

/// Clients of the nodes in turn.
pub(super) async fn clients(peer: &Peer, workload: &Workload, joined: bool) -> Result<Vec<Ours>, String> {
    let mut clients = Vec::new();
    for endpoint in peer.endpoints.iter().cycle().take(workload.clients) {
        let tokenwood = Tokenwood::connect([endpoint.clone()]).await.map_err(|error| error.to_string())?;
        clients.push(Ours { tokenwood, held: None, joined });
    }
    Ok(clients)
}

impl Locker for Ours {
    async fn acquire(&mut self, name: &str) -> Result<(), String> {
        let guard = self.tokenwood.mutex(name).acquire().await;
        self.held = Some(guard.map_err(|error| error.to_string())?);
        Ok(())
    }

    async fn release(&mut self) -> Result<(), String> {
        self.held = None;
        Ok(())
    }

    async fn go_on(&mut self, name: &str, released: impl Fn() + Send) -> Result<Instant, String> {
        released();
        let before = self.held.take();
        let asked = Instant::now();
        let lock = self.tokenwood.mutex(name);
        let guard = match before {
            Some(guard) if self.joined => lock.acquire_after(guard).await,
            before => {
                drop(before);
                lock.acquire().await
            }
        };
        self.held = Some(guard.map_err(|error| error.to_string())?);
        Ok(asked)
    }
}
