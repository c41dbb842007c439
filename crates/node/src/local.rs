//! A whole cluster in this process, over loopback: for tests of programs that use locks, and to measure.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{fs, io};

use service::Config;
use sync::BoxFuture;
use tokio::net::TcpListener;

use crate::failure::OnFailure;
use crate::host::{Bootstrap, Host, HostConfig};
use crate::watchdog::Hearts;
use transport::Encryption;
use transport::reactor::Sockets;

/// Nodes that run in this process, on ports that were free.
pub struct LocalCluster {
    /// The nodes, by their ids.
    pub hosts: Vec<Host>,
    /// Where clients reach each.
    pub endpoints: Vec<String>,
    folder: Folder,
}

/// What is kept on disk goes with the cluster.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Folder(std::env::temp_dir().join(format!("tokenwood-local-{}-{count}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The folder is not needed any more, and no caller is left to tell.
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A process that is busy with tests may stand still for a while.
const LEASE: Duration = Duration::from_secs(10);

impl LocalCluster {
    /// Starts so many nodes with the defaults. Belongs into a tokio runtime.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = node::LocalCluster::start(3).await?;
    /// let client = tokenwood::Tokenwood::connect(cluster.endpoints.clone()).await?;
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
        LocalCluster::start_at(for_clients, LEASE, tune).await
    }

    /// The same, one node for each of these places where clients are expected, with leases of this length.
    pub fn start_at(
        for_clients: Vec<TcpListener>,
        lease: Duration,
        tune: fn(&mut Config),
    ) -> BoxFuture<'static, io::Result<LocalCluster>> {
        LocalCluster::start_encrypted("local", for_clients, lease, tune, |_| Encryption::Off)
    }

    /// The same for a cluster of this name, whose nodes encrypt like this.
    pub fn start_encrypted(
        name: &'static str,
        for_clients: Vec<TcpListener>,
        lease: Duration,
        tune: fn(&mut Config),
        encryption: impl Fn(u32) -> Encryption + Send + 'static,
    ) -> BoxFuture<'static, io::Result<LocalCluster>> {
        Box::pin(async move {
            let (mut members, mut listeners) = (BTreeMap::new(), Vec::new());
            for (id, for_clients) in (0..).zip(for_clients) {
                let for_peers = TcpListener::bind("127.0.0.1:0").await?;
                members.insert(id, for_peers.local_addr()?.to_string());
                listeners.push((id, for_peers, for_clients));
            }
            let mut cluster =
                LocalCluster { hosts: Vec::new(), endpoints: Vec::new(), folder: Folder::new() };
            let mut starting = Vec::new();
            for (id, for_peers, for_clients) in listeners {
                let clients = for_clients.local_addr()?.to_string();
                cluster.endpoints.push(clients.clone());
                let config = HostConfig {
                    cluster: name.to_string(),
                    id,
                    peers: members[&id].clone(),
                    clients,
                    folder: cluster.folder.0.join(id.to_string()),
                    bootstrap: Bootstrap::Together(members.clone()),
                    lease,
                    tune: Box::new(tune),
                    encryption: encryption(id),
                    on_first_token: None,
                    local_socket: None,
                    sockets: Sockets::Runtime,
                    on_failure: OnFailure::default(),
                    hearts: Hearts::default(),
                };
                // All at once: each asks the others whether they belong to a cluster already.
                starting.push(tokio::spawn(Host::start(config, for_peers, for_clients)));
            }
            for started in starting {
                cluster.hosts.push(started.await.map_err(io::Error::other)?.map_err(io::Error::other)?);
            }
            for host in &cluster.hosts {
                host.until_member(members.len() - 1).await;
            }
            Ok(cluster)
        })
    }

    /// Ends all nodes.
    pub async fn stop(self) {
        for host in self.hosts {
            host.stop().await;
        }
    }
}
