//! Nodes that die, come back, join and leave: the view follows, and the locks with it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use node::{Bootstrap, Hearts, Host, HostConfig, Invitation, OnFailure, StartError};
use tokenwood::{Options, Tokenwood};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use crate::log;

/// Short enough for a test.
const LEASE: Duration = Duration::from_secs(1);
/// Where a lease must not lapse: on a busy machine an election takes more than a second.
const LONG_LEASE: Duration = Duration::from_secs(4);
/// Nothing here takes that long, unless it never happens.
const LONG: Duration = Duration::from_secs(40);

/// Nodes with folders of their own, which go with the test.
struct Cluster {
    folder: PathBuf,
    addresses: BTreeMap<u32, (String, String)>,
    hosts: BTreeMap<u32, Host>,
    lease: Duration,
    /// The test is over: nodes that still run lose their folders.
    over: Arc<AtomicBool>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Cluster {
    async fn start(name: &str, nodes: u32) -> Cluster {
        Cluster::start_with(name, nodes, LEASE).await
    }

    async fn start_with(name: &str, nodes: u32, lease: Duration) -> Cluster {
        let folder = std::env::temp_dir().join(format!("tokenwood-failover-{name}-{}", std::process::id()));
        let (addresses, hosts) = (BTreeMap::new(), BTreeMap::new());
        let mut cluster = Cluster { folder, addresses, hosts, lease, over: Arc::default() };
        let mut members = BTreeMap::new();
        for id in 0..nodes {
            members.insert(id, cluster.new_address(id));
        }
        for id in 0..nodes {
            cluster.start_node(id, Bootstrap::Together(members.clone())).await;
        }
        cluster.all_are_members().await;
        cluster
    }

    fn new_address(&mut self, id: u32) -> String {
        let [peers, clients] = transport::loopback::addresses(2).unwrap().try_into().unwrap();
        self.addresses.insert(id, (peers.clone(), clients));
        peers
    }

    async fn start_node(&mut self, id: u32, bootstrap: Bootstrap) {
        let started = self.try_to_start(id, bootstrap).await.unwrap();
        self.hosts.insert(id, started);
    }

    async fn try_to_start(&self, id: u32, bootstrap: Bootstrap) -> Result<Host, StartError> {
        let (peers, clients) = self.addresses[&id].clone();
        let listen = |address: String| async move {
            for _ in 0..100 {
                match TcpListener::bind(&address).await {
                    Ok(listener) => return listener,
                    // Connections of the incarnation before may still use it.
                    Err(_) => sleep(Duration::from_millis(50)).await,
                }
            }
            panic!("{address} stays in use");
        };
        let (for_peers, for_clients) = (listen(peers.clone()).await, listen(clients.clone()).await);
        let over = self.over.clone();
        let config = HostConfig {
            cluster: "test".to_string(),
            id,
            peers,
            clients,
            folder: self.folder.join(id.to_string()),
            bootstrap,
            lease: self.lease,
            tune: Box::new(|_| {}),
            // As in a process that is a node.
            encryption: node::Encryption::Off,
            on_first_token: None,
            local_socket: None,
            sockets: node::Sockets::OwnThread,
            on_failure: OnFailure::new(move |failure| {
                if !over.load(Ordering::SeqCst) {
                    eprintln!("node {id} has failed: {failure}");
                    std::process::abort();
                }
            }),
            hearts: Hearts::default(),
        };
        Host::start(config, for_peers, for_clients).await
    }

    /// A node ends without a word.
    async fn kill(&mut self, id: u32) {
        self.hosts.remove(&id).unwrap().stop().await;
    }

    /// Every running node is a member and connected to all others that run; no other node is a member.
    async fn all_are_members(&self) {
        let others = self.hosts.len() - 1;
        let ids: Vec<u32> = self.hosts.keys().copied().collect();
        for (id, host) in &self.hosts {
            let so = async {
                loop {
                    host.until_member(others).await;
                    let members: Vec<u32> =
                        host.control().registry().borrow().members.keys().copied().collect();
                    if members == ids {
                        return;
                    }
                    sleep(Duration::from_millis(10)).await;
                }
            };
            let in_time = timeout(LONG, so).await;
            assert!(in_time.is_ok(), "node {id}: {:?}", host.control().registry().borrow().members);
        }
    }

    fn leader(&self) -> Option<u32> {
        let leads = |host: &Host| host.control().leadership().borrow().is_some();
        self.hosts.iter().find(|(_, host)| leads(host)).map(|(id, _)| *id)
    }

    async fn client(&self, id: u32) -> Tokenwood {
        let options = Options::with_ttl(2 * self.lease);
        Tokenwood::connect_with([self.addresses[&id].1.clone()], options).await.unwrap()
    }

    /// A client of this node that goes on at the others.
    async fn client_of_all(&self, first: u32) -> Tokenwood {
        let options = Options::with_ttl(2 * self.lease);
        let others = self.addresses.iter().filter(|(id, _)| **id != first).map(|(_, (_, clients))| clients);
        let endpoints: Vec<String> = [&self.addresses[&first].1].into_iter().chain(others).cloned().collect();
        Tokenwood::connect_with(endpoints, options).await.unwrap()
    }

    async fn stop(mut self) {
        for host in std::mem::take(&mut self.hosts).into_values() {
            host.stop().await;
        }
    }
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(LONG, future).await.unwrap_or_else(|_| panic!("not in time: {what}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_node_held_is_given_to_others_with_a_higher_fence_and_its_holder_knew() {
    let mut cluster = Cluster::start_with("holder", 3, LONG_LEASE).await;
    let (holder, waiter) = (cluster.client(1).await, cluster.client(2).await);
    let held = holder.mutex("backup").acquire().await.unwrap();
    let fence = held.fence();
    let other = cluster.client(0).await;
    let kept = other.mutex("other").acquire().await.unwrap();
    let lock = waiter.mutex("backup");
    let next = tokio::spawn(async move { lock.acquire().await.unwrap() });
    cluster.kill(1).await;
    let next = within("the next holder", next).await.unwrap();
    assert!(held.is_lost(), "the holder knew before");
    assert!(next.fence() > fence, "{} after {fence}", next.fence());
    assert!(!kept.is_lost(), "locks of others are as they were");
    cluster.all_are_members().await;
    // The node comes back, as another.
    cluster.start_node(1, Bootstrap::Existing).await;
    cluster.all_are_members().await;
    drop(next);
    let lock = cluster.client(1).await.mutex("backup");
    let again = within("a lock at the node that came back", lock.acquire()).await.unwrap();
    assert!(again.fence() > fence);
    drop(kept);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_the_leader_dies() {
    let mut cluster = Cluster::start_with("leader", 3, LONG_LEASE).await;
    let leader = within("a leader", async {
        loop {
            if let Some(leader) = cluster.leader() {
                return leader;
            }
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let others: Vec<u32> = cluster.hosts.keys().copied().filter(|id| *id != leader).collect();
    let holder = cluster.hosts[&others[0]].embedded();
    let held = holder.mutex("kept").acquire().await.unwrap();
    cluster.kill(leader).await;
    cluster.all_are_members().await;
    assert!(!held.is_lost(), "a change of leaders is nothing to those who hold");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_cluster_comes_back_from_its_folders() {
    let mut cluster = Cluster::start("whole", 3).await;
    let fence = cluster.hosts[&0].embedded().mutex("x").acquire().await.unwrap().fence();
    for id in 0..3 {
        cluster.kill(id).await;
    }
    for id in 0..3 {
        cluster.start_node(id, Bootstrap::Existing).await;
    }
    cluster.all_are_members().await;
    let held = within("a lock", cluster.hosts[&2].embedded().mutex("x").acquire()).await.unwrap();
    assert!(held.fence() > fence);
    drop(held);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_joins_by_invitation_once_and_is_removed_for_good() {
    let mut cluster = Cluster::start("join", 1).await;
    for id in 1..3 {
        let lasts = Duration::from_secs(60);
        let invitation = cluster.hosts[&0].control().invite(lasts).await.unwrap();
        let word = invitation.to_string();
        let invitation: Invitation = word.parse().unwrap();
        assert_eq!(invitation.id, id);
        cluster.new_address(id);
        cluster.start_node(id, Bootstrap::Invited(invitation.clone())).await;
        cluster.all_are_members().await;
        // The invitation counts once: no other node joins with it.
        let refused = cluster.hosts[&0].control().join(&invitation, "127.0.0.1:1").await;
        assert!(refused.is_err(), "{refused:?}");
    }
    // With three nodes there are three voters.
    within("more voters", async {
        while cluster.hosts[&0].control().voters().len() != 3 {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let held = cluster.hosts[&2].embedded().mutex("x").acquire().await.unwrap();
    drop(held);
    let running = cluster.hosts[&0].control().remove(2).await;
    assert!(running.is_err(), "who runs is not removed: {running:?}");
    cluster.hosts.remove(&2).unwrap().leave().await;
    cluster.all_are_members().await;
    within("it is removed", async {
        while cluster.hosts[&0].control().remove(2).await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert_eq!(cluster.hosts[&0].control().nodes().len(), 2);
    cluster.stop().await;
}

/// Acquires and releases a lock until it is told to stop. Returns how often it held the lock.
async fn work(client: Tokenwood, inside: Arc<AtomicBool>, over: Arc<AtomicBool>) -> u64 {
    let lock = client.mutex("counter");
    let (mut entries, mut fence) = (0, 0);
    while !over.load(Ordering::Relaxed) {
        let guard = within("every client is served", lock.acquire()).await.unwrap();
        assert!(!inside.swap(true, Ordering::SeqCst), "two are inside");
        assert!(guard.fence() > fence);
        fence = guard.fence();
        tokio::task::yield_now().await;
        inside.store(false, Ordering::SeqCst);
        entries += 1;
    }
    entries
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_restarted_one_after_the_other_leave_and_every_client_goes_on() {
    let mut cluster = Cluster::start_with("rolling", 3, LONG_LEASE).await;
    let (inside, over) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let mut workers = tokio::task::JoinSet::new();
    for id in 0..3 {
        workers.spawn(work(cluster.client_of_all(id).await, inside.clone(), over.clone()));
    }
    for id in 0..3 {
        let host = cluster.hosts.remove(&id).unwrap();
        within("a node leaves", host.leave()).await;
        cluster.all_are_members().await;
        cluster.start_node(id, Bootstrap::Existing).await;
        cluster.all_are_members().await;
    }
    over.store(true, Ordering::Relaxed);
    while let Some(entries) = workers.join_next().await {
        assert!(entries.unwrap() > 0);
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_a_node_that_leaves_is_served_by_another_and_keeps_what_it_has() {
    let mut cluster = Cluster::start_with("turns", 3, LONG_LEASE).await;
    let client = cluster.client_of_all(0).await;
    let held = client.mutex("held").acquire().await.unwrap();
    let host = cluster.hosts.remove(&0).unwrap();
    let leaving = tokio::spawn(async move { host.leave().await });
    while Tokenwood::connect([cluster.addresses[&0].1.clone()]).await.is_ok() {
        sleep(Duration::from_millis(1)).await;
    }
    let other = client.mutex("other").try_acquire().await;
    assert!(other.is_ok_and(|other| !other.is_lost()) && !held.is_lost());
    drop(held);
    timeout(LONG, leaving).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_gets_no_lease_says_why() {
    log::collect();
    let mut cluster = Cluster::start("complains", 3).await;
    let members: BTreeMap<u32, String> =
        cluster.addresses.iter().map(|(id, (peers, _))| (*id, peers.clone())).collect();
    cluster.kill(0).await;
    std::fs::remove_dir_all(cluster.folder.join("0")).unwrap();
    // The others remember it.
    let refused = cluster.try_to_start(0, Bootstrap::Together(members.clone())).await.err().unwrap();
    assert!(matches!(refused, StartError::UsedId { id: 0, removed: false, .. }), "{refused}");
    // If no other node is there to say so, it takes this for the first start of the cluster.
    cluster.kill(1).await;
    cluster.kill(2).await;
    std::fs::remove_dir_all(cluster.folder.join("0")).unwrap();
    cluster.start_node(0, Bootstrap::Together(members)).await;
    until_logged("waiting for a majority: 1 of 3 voters").await;
    cluster.start_node(1, Bootstrap::Existing).await;
    cluster.start_node(2, Bootstrap::Existing).await;
    let said = until_logged("it belongs to another cluster of the same name").await;
    assert!(said.contains("waiting for a majority: 1 of 3 voters"), "{said}");
}

/// The first line that contains this, once there is one.
async fn until_logged(part: &str) -> String {
    let said = timeout(LONG, async {
        loop {
            if let Some(said) = log::lines(part).pop() {
                return said;
            }
            sleep(Duration::from_millis(50)).await;
        }
    });
    said.await.unwrap()
}
