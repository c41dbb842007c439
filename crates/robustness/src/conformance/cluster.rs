//! The cluster of a case: three nodes, each a process, with an HTTP door; and what operators do to it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use tokenwood::{Access, Admin, Definition, Error, GrantAgain, Refusal};
use tokio::sync::Mutex;
use tokio::time::sleep;
use transport::loopback;

use super::case::NODES;
use crate::node_processes::{NodeProcesses, NodeSetup};

/// Between two looks at something that is about to change.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// A node that is killed is gone by then.
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// A cluster that ends with this.
pub(super) struct Cluster {
    pub(super) lease: Duration,
    endpoints: Vec<String>,
    doors: Vec<String>,
    nodes: Mutex<NodeProcesses>,
}

impl Cluster {
    /// Starts a cluster, and waits until it serves.
    pub(super) async fn start(lease: Duration) -> Result<Cluster> {
        let addresses = loopback::addresses(NODES * 3).context("there are no addresses")?;
        let setup = |node: usize| NodeSetup {
            reached_at: addresses[node * 3].clone(),
            peers: addresses[node * 3].clone(),
            clients: addresses[node * 3 + 1].clone(),
            http: Some(addresses[node * 3 + 2].clone()),
            ..NodeSetup::default()
        };
        let setups: Vec<NodeSetup> = (0..NODES).map(setup).collect();
        let lengths = format!("{}ms", lease.as_millis());
        let mut nodes = NodeProcesses::start("conformance", &setups, &["--lease", &lengths])?;
        for setup in &setups {
            nodes.until_connected(&setup.clients, NODES, &Access::default()).await?;
        }
        let endpoints = setups.iter().map(|setup| setup.clients.clone()).collect();
        let doors = setups.iter().flat_map(|setup| setup.http.iter().map(|door| format!("http://{door}")));
        Ok(Cluster { lease, endpoints, doors: doors.collect(), nodes: Mutex::new(nodes) })
    }

    /// Where clients reach the nodes, this one first.
    pub(super) fn endpoints_from(&self, node: usize) -> Vec<String> {
        from(&self.endpoints, node)
    }

    /// The URLs of the nodes' HTTP doors, that of this one first.
    pub(super) fn doors_from(&self, node: usize) -> Vec<String> {
        from(&self.doors, node)
    }

    pub(super) async fn kill(&self, node: usize) -> Result<()> {
        self.nodes.lock().await.end(u32::try_from(node)?, Signal::KILL, GONE_WITHIN).await.map(|_| ())
    }

    /// Asks a node to leave. It does so in its own time.
    pub(super) async fn leave(&self, node: usize) -> Result<()> {
        self.nodes.lock().await.signal(u32::try_from(node)?, Signal::TERM)
    }

    /// The epochs and incarnations of the nodes that answer: another one says that a node was lost meanwhile.
    pub(super) async fn epochs(&self) -> Vec<(u64, u64)> {
        let mut epochs = Vec::new();
        for endpoint in &self.endpoints {
            let Ok(mut admin) = Admin::connect(endpoint).await else { continue };
            epochs.extend(admin.status().await.map(|status| (status.node.epoch, status.node.incarnation)));
        }
        epochs
    }

    /// Defines how many slots a lock has, or ends its definition, and waits until all nodes know.
    pub(super) async fn define(&self, name: &str, slots: Option<u32>, limit: Duration) -> Result<()> {
        let mut admin = Admin::connect_first(&self.endpoints, &Access::default()).await?;
        let definition = slots.map(Definition::Slots);
        match (slots, definition) {
            (Some(slots), Some(definition)) => match admin.define(name, definition).await {
                Err(Error::Refused(Refusal::DefinedAs { .. })) => admin.resize(name, slots).await?,
                defined => defined?,
            },
            _ => admin.undefine(name).await?,
        }
        for endpoint in &self.endpoints {
            let mut admin = Admin::connect(endpoint).await?;
            let begun = Instant::now();
            loop {
                let known = admin.definitions().await?;
                let known = known.iter().find(|(defined, _)| **defined == *name).map(|(_, what)| *what);
                if known == definition {
                    break;
                }
                if begun.elapsed() > limit {
                    bail!("{endpoint} does not hear that '{name}' was defined");
                }
                sleep(LOOK_AGAIN).await;
            }
        }
        Ok(())
    }

    /// Revokes a grant, at the node that serves it.
    pub(super) async fn force(&self, name: &str, slot: u32, fence: u64) -> Result<()> {
        for endpoint in &self.endpoints {
            let mut admin = Admin::connect(endpoint).await?;
            match admin.force_release(name, slot, fence, GrantAgain::WhenSafe).await {
                Err(Error::Refused(Refusal::NobodyHolds)) => {}
                released => return released.map(|_| ()).context("the grant is not revoked"),
            }
        }
        bail!("no node serves that grant of '{name}'")
    }

    /// Waits until so many clients hold a lock and so many wait for it, at all nodes that answer.
    pub(super) async fn until_queue(
        &self,
        name: &str,
        holders: usize,
        waiters: usize,
        limit: Duration,
    ) -> Result<()> {
        let begun = Instant::now();
        loop {
            let found = self.queue(name).await;
            if found == (holders, waiters) {
                return Ok(());
            }
            if begun.elapsed() > limit {
                let (hold, wait) = found;
                bail!(
                    "expected {holders} to hold '{name}' and {waiters} to wait; {hold} hold and {wait} wait"
                );
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    async fn queue(&self, name: &str) -> (usize, usize) {
        let mut clients = Vec::new();
        for endpoint in &self.endpoints {
            let Ok(mut admin) = Admin::connect(endpoint).await else { continue };
            let Ok((_, listings)) = admin.inspect(name).await else { continue };
            clients.extend(listings.into_iter().flat_map(|listing| listing.clients));
        }
        let holders = clients.iter().filter(|client| client.granted.is_some()).count();
        (holders, clients.len() - holders)
    }
}

fn from(all: &[String], first: usize) -> Vec<String> {
    let mut all = all.to_vec();
    all.rotate_left(first);
    all
}
