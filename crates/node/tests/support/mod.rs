//! A cluster in this process, over loopback.

#![allow(dead_code)] // no file of tests needs all of it

use std::time::Duration;

use node::{Host, HostConfig, Identity, Member, View};
use tokio::net::TcpListener;

/// Nodes, and where their clients connect.
pub(crate) struct Cluster {
    pub(crate) hosts: Vec<Host>,
    pub(crate) endpoints: Vec<String>,
}

impl Cluster {
    pub(crate) async fn start(nodes: u32, tune: fn(&mut service::Config)) -> Cluster {
        let mut listeners = Vec::new();
        let mut members = Vec::new();
        for id in 0..nodes {
            let for_peers = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let for_clients = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let identity = Identity { id, incarnation: 7 };
            members.push(Member { identity, address: for_peers.local_addr().unwrap().to_string() });
            listeners.push((identity, for_peers, for_clients));
        }
        let view = View { epoch: 1, members };
        let (mut hosts, mut endpoints) = (Vec::new(), Vec::new());
        for (me, for_peers, for_clients) in listeners {
            let (cluster, clients) = ("test".to_string(), for_clients.local_addr().unwrap().to_string());
            endpoints.push(clients.clone());
            let config = HostConfig { cluster, me, view: view.clone(), clients, tune, log: |_| {} };
            hosts.push(Host::start(config, for_peers, for_clients).unwrap());
        }
        Cluster { hosts, endpoints }
    }

    /// Waits until nobody holds or waits anywhere.
    pub(crate) async fn nobody_is_inside(&self) {
        self.until(|status| status.requests == 0).await;
    }

    /// Waits until no node remembers any name.
    pub(crate) async fn all_is_forgotten(&self) {
        self.until(|status| status.resources == 0).await;
    }

    /// Waits until all clients have gone.
    pub(crate) async fn no_session_is_open(&self) {
        self.until(|status| status.sessions == 0).await;
    }

    async fn until(&self, is_so: fn(&service::core::Status) -> bool) {
        for _ in 0..2000 {
            if self.hosts.iter().all(|host| is_so(&host.status())) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it is never so: {:?}", self.hosts.iter().map(Host::status).collect::<Vec<_>>());
    }

    pub(crate) async fn stop(self) {
        for host in self.hosts {
            host.stop().await;
        }
    }
}
