//! Proxies before all ports of a cluster, on threads of their own: files that are slow to write must not delay connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Runtime};

use crate::node_processes::NodeSetup;
use crate::storm::Proxy;

/// How often the watch over the proxies wakes up.
const WATCH: Duration = Duration::from_millis(10);

pub(super) struct Proxies {
    /// In front of the ports for peers.
    pub(super) between_nodes: Vec<Proxy>,
    /// In front of the ports for clients.
    pub(super) before_clients: Vec<Proxy>,
    /// The longest time that the watch overslept, in nanoseconds.
    overslept: Arc<AtomicU64>,
    runtime: Option<Runtime>,
}

impl Proxies {
    /// Starts proxies before these nodes, and has their peers call them there.
    pub(super) async fn start(setups: &mut [NodeSetup]) -> Result<Proxies> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.context("cannot start a thread for proxies")?;
        let overslept = Arc::new(AtomicU64::new(0));
        runtime.spawn(watch(overslept.clone()));
        let mut proxies = Proxies {
            between_nodes: Vec::new(),
            before_clients: Vec::new(),
            overslept,
            runtime: Some(runtime),
        };
        for setup in setups {
            let between_nodes = proxies.before(&setup.peers).await?;
            setup.reached_at = between_nodes.address.clone();
            proxies.between_nodes.push(between_nodes);
            let before_clients = proxies.before(&setup.clients).await?;
            proxies.before_clients.push(before_clients);
        }
        Ok(proxies)
    }

    async fn before(&self, target: &str) -> Result<Proxy> {
        let runtime = self.runtime.as_ref().context("the proxies have ended")?;
        let proxy = runtime.spawn(Proxy::start(target.to_string())).await?;
        proxy.context("cannot listen at any port of 127.0.0.1")
    }

    /// How long the proxies did not run at a time although they wanted to, at most.
    pub(super) fn longest_stall(&self) -> Duration {
        Duration::from_nanos(self.overslept.load(Ordering::Relaxed))
    }
}

impl Drop for Proxies {
    fn drop(&mut self) {
        // It must not be waited for in an asynchronous function.
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

async fn watch(overslept: Arc<AtomicU64>) {
    loop {
        let begun = Instant::now();
        tokio::time::sleep(WATCH).await;
        let late = begun.elapsed().saturating_sub(WATCH);
        overslept.fetch_max(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
