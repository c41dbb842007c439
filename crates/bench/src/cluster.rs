//! A cluster in this process, with sockets between its nodes and for clients.

use client::Tokenwood;
use node::{Host, HostConfig, Identity, Member, View};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// Nodes that run.
pub(crate) struct Cluster {
    hosts: Vec<Host>,
    endpoints: Vec<String>,
}

impl Cluster {
    pub(crate) async fn start(nodes: u32) -> Result<Cluster, String> {
        let cannot = |error: std::io::Error| format!("cannot listen on loopback: {error}");
        let (mut members, mut listeners, mut endpoints) = (Vec::new(), Vec::new(), Vec::new());
        for id in 0..nodes {
            let for_peers = TcpListener::bind("127.0.0.1:0").await.map_err(cannot)?;
            let for_clients = TcpListener::bind("127.0.0.1:0").await.map_err(cannot)?;
            let identity = Identity { id, incarnation: 1 };
            let address = for_peers.local_addr().map_err(cannot)?.to_string();
            members.push(Member { identity, address });
            endpoints.push(for_clients.local_addr().map_err(cannot)?.to_string());
            listeners.push((identity, for_peers, for_clients));
        }
        let view = View { epoch: 1, members };
        let mut hosts = Vec::new();
        for (me, for_peers, for_clients) in listeners {
            let cluster = "bench".to_string();
            let config = HostConfig { cluster, me, view: view.clone(), tune: |_| {}, log: |_| {} };
            let host = Host::start(config, for_peers, for_clients);
            hosts.push(host.map_err(|error| error.to_string())?);
        }
        Ok(Cluster { hosts, endpoints })
    }

    /// A client in the process of this node.
    pub(crate) fn embedded(&self, node: usize) -> Tokenwood {
        self.hosts[node].embedded()
    }

    /// A client with a connection to this node.
    pub(crate) async fn client(&self, node: usize) -> Result<Tokenwood, String> {
        Tokenwood::connect([self.endpoints[node].clone()]).await.map_err(|error| error.to_string())
    }

    /// How many messages nodes have sent each other.
    pub(crate) fn messages(&self) -> u64 {
        self.hosts.iter().map(|host| host.status().counts.sent).sum()
    }

    /// How many resources all nodes know together.
    pub(crate) fn resources(&self) -> usize {
        self.hosts.iter().map(|host| host.status().resources).sum()
    }

    pub(crate) async fn stop(self) {
        for host in self.hosts {
            host.stop().await;
        }
    }
}

/// A runtime for a scenario: two threads, so that figures of machines with many cores can be compared.
pub(crate) fn runtime() -> Result<Runtime, String> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(|error| format!("no threads can be started: {error}"))
}
