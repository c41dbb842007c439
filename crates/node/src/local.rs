//! A whole cluster in this process, over loopback: for tests of programs that use locks, and to measure.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use service::Config;
use tokio::net::TcpListener;

use crate::host::{Host, HostConfig};
use crate::identity::{Identity, Member, View};

/// Nodes that run in this process, on ports that were free.
pub struct LocalCluster {
    /// The nodes, by their ids.
    pub hosts: Vec<Host>,
    /// Where clients reach each.
    pub endpoints: Vec<String>,
}

impl LocalCluster {
    /// Starts so many nodes with the defaults. Belongs into a tokio runtime.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = node::LocalCluster::start(3).await?;
    /// let client = client::Tokenwood::connect(cluster.endpoints.clone()).await?;
    /// let guard = client.mutex("orders/17").acquire().await?;
    /// let other = cluster.hosts[2].embedded();
    /// assert!(other.mutex("orders/17").try_acquire().await.is_err());
    /// drop(guard);
    /// assert!(other.mutex("orders/17").acquire().await.is_ok());
    /// cluster.stop().await;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub async fn start(nodes: u32) -> io::Result<LocalCluster> {
        LocalCluster::start_with(nodes, |_| {}).await
    }

    /// The same with changes to the defaults.
    pub async fn start_with(nodes: u32, tune: fn(&mut Config)) -> io::Result<LocalCluster> {
        let mut for_clients = Vec::new();
        for _ in 0..nodes {
            for_clients.push(TcpListener::bind("127.0.0.1:0").await?);
        }
        LocalCluster::start_at(for_clients, tune).await
    }

    /// The same, one node for each of these places where clients are expected.
    pub async fn start_at(for_clients: Vec<TcpListener>, tune: fn(&mut Config)) -> io::Result<LocalCluster> {
        // New at every start, so that nothing of an earlier cluster is mistaken for this one.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let incarnation = since.map_or(1, |since| since.as_micros() as u64);
        let (mut members, mut listeners) = (Vec::new(), Vec::new());
        for (id, for_clients) in (0..).zip(for_clients) {
            let for_peers = TcpListener::bind("127.0.0.1:0").await?;
            let identity = Identity { id, incarnation };
            members.push(Member { identity, address: for_peers.local_addr()?.to_string() });
            listeners.push((identity, for_peers, for_clients));
        }
        let view = View { epoch: 1, members };
        let mut cluster = LocalCluster { hosts: Vec::new(), endpoints: Vec::new() };
        for (me, for_peers, for_clients) in listeners {
            let clients = for_clients.local_addr()?.to_string();
            cluster.endpoints.push(clients.clone());
            let (name, view) = ("local".to_string(), view.clone());
            let config = HostConfig { cluster: name, me, view, clients, tune: Box::new(tune), log: |_| {} };
            cluster.hosts.push(Host::start(config, for_peers, for_clients).map_err(io::Error::other)?);
        }
        Ok(cluster)
    }

    /// Ends all nodes.
    pub async fn stop(self) {
        for host in self.hosts {
            host.stop().await;
        }
    }
}
