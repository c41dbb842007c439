//! A cluster in this process, over loopback.
use std::ops::Deref;
use std::time::Duration;

use node::{Host, LocalCluster};

/// A cluster that can be waited for.
pub(crate) struct Cluster(LocalCluster);

impl Deref for Cluster {
    type Target = LocalCluster;

    fn deref(&self) -> &LocalCluster {
        &self.0
    }
}

impl Cluster {
    pub(crate) async fn start(nodes: u32, tune: fn(&mut service::Config)) -> Cluster {
        Cluster(LocalCluster::start_with(nodes, tune).await.unwrap())
    }

    /// Waits until no client holds or waits anywhere.
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
        self.0.stop().await;
    }
}
