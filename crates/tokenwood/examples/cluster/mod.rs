//! Where the examples find a cluster: the nodes that `TOKENWOOD_ENDPOINTS` names, or three in this process.

use node::LocalCluster;

/// Some nodes, and the cluster to stop in the end if it is this example's own.
pub(crate) struct Cluster {
    pub(crate) endpoints: Vec<String>,
    own: Option<LocalCluster>,
}

impl Cluster {
    pub(crate) async fn find() -> Result<Cluster, Box<dyn std::error::Error>> {
        if let Ok(endpoints) = std::env::var("TOKENWOOD_ENDPOINTS") {
            return Ok(Cluster { endpoints: endpoints.split(',').map(str::to_string).collect(), own: None });
        }
        let own = LocalCluster::start(3).await?;
        Ok(Cluster { endpoints: own.endpoints.clone(), own: Some(own) })
    }

    pub(crate) async fn stop(self) {
        if let Some(own) = self.own {
            own.stop().await;
        }
    }
}
