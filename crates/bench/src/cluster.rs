//! A cluster in this process, with sockets between its nodes and for clients.

use std::net::SocketAddr;

use node::LocalCluster;
use service::Config;
use tokenwood::Tokenwood;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use crate::error::Error;

/// A running cluster.
pub(crate) struct Cluster(LocalCluster);

impl Cluster {
    pub(crate) async fn start(nodes: u32) -> Result<Cluster, Error> {
        Cluster::start_with(nodes, |_| {}).await
    }

    pub(crate) async fn start_with(nodes: u32, tune: fn(&mut Config)) -> Result<Cluster, Error> {
        let started = LocalCluster::start_with(nodes, tune).await;
        started.map(Cluster).map_err(Error::at("cannot listen on loopback"))
    }

    /// A client in the process of this node.
    pub(crate) fn embedded(&self, node: usize) -> Tokenwood {
        self.0.hosts[node].embedded()
    }

    /// A client with a connection to this node.
    pub(crate) async fn client(&self, node: usize) -> Result<Tokenwood, Error> {
        Ok(Tokenwood::connect([self.0.endpoints[node].clone()]).await?)
    }

    /// Opens the HTTP door of this node.
    pub(crate) async fn open_door(&self, node: usize) -> Result<SocketAddr, Error> {
        let cannot = "cannot listen on loopback";
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Error::at(cannot))?;
        let address = listener.local_addr().map_err(Error::at(cannot))?;
        tokio::spawn(http_door::serve(self.0.hosts[node].clone(), listener));
        Ok(address)
    }

    /// How many messages nodes have sent each other.
    pub(crate) fn messages(&self) -> u64 {
        self.0.hosts.iter().map(|host| host.status().counts.sent).sum()
    }

    /// How many resources all nodes have in total.
    pub(crate) fn resources(&self) -> usize {
        self.0.hosts.iter().map(|host| host.status().resources).sum()
    }

    pub(crate) async fn stop(self) {
        self.0.stop().await;
    }
}

/// A runtime for a scenario: two threads, so that figures of machines with many cores can be compared.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(Error::at("no threads can be started"))
}
