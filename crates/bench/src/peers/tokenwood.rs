//! Our own clients: a session and a connection each, or one for all tasks at a node.

use std::time::Instant;

use tokenwood::{Guard, Tokenwood};

use super::{Connections, Locker, Peer, Workload};
use crate::error::Error;

/// A client of Tokenwood.
pub(super) struct Ours {
    tokenwood: Tokenwood,
    held: Option<Guard>,
    /// Whether release and acquire go out in one message.
    joined: bool,
}

/// Clients of the nodes in turn.
pub(super) async fn clients(peer: &Peer, workload: &Workload, joined: bool) -> Result<Vec<Ours>, Error> {
    let connections = match workload.connections {
        Connections::Own => workload.clients,
        Connections::Shared => peer.endpoints.len(),
    };
    let mut sessions = Vec::new();
    for endpoint in peer.endpoints.iter().cycle().take(connections) {
        sessions.push(Tokenwood::connect([endpoint.clone()]).await?);
    }
    let client = |tokenwood: &Tokenwood| Ours { tokenwood: tokenwood.clone(), held: None, joined };
    Ok(sessions.iter().cycle().take(workload.clients).map(client).collect())
}

impl Locker for Ours {
    async fn acquire(&mut self, name: &str) -> Result<(), Error> {
        let guard = self.tokenwood.mutex(name).acquire().await;
        self.held = Some(guard?);
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Error> {
        self.held = None;
        Ok(())
    }

    async fn go_on(&mut self, name: &str, released: impl Fn() + Send) -> Result<Instant, Error> {
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
        self.held = Some(guard?);
        Ok(asked)
    }
}
