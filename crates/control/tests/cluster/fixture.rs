//! Some nodes of the control plane on loopback, each behind a proxy and with a folder of its own.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use control::{Config, Control, Timing};
use service::Definition;
use service::Time;
use service::registry::{Entry, Leadership, MemberEntry, Registry};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use crate::proxy::{CutOff, Proxy};
use crate::test_folder::TestFolder;

/// Quick, but with room for a machine that is busy with other things.
const TIMING: Timing = Timing { heartbeat: Duration::from_millis(60), election: Duration::from_millis(600) };

/// Nothing in these tests takes that long, unless it never happens.
const LONG: Duration = Duration::from_secs(30);

struct Node {
    folder: TestFolder,
    proxy: Proxy,
    control: Option<Control>,
}

pub(crate) struct Cluster {
    nodes: BTreeMap<u32, Node>,
    addresses: BTreeMap<u32, String>,
    pub(crate) cut_off: CutOff,
    timing: Timing,
}

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(LONG, future).await.unwrap_or_else(|_| panic!("not in time: {what}"))
}

pub(crate) fn define(name: &str, slots: u32) -> Entry {
    Entry::Define { name: Arc::from(name), definition: Some(Definition::Slots(slots)) }
}

/// A view with one member.
pub(crate) fn view(base_epoch: u64, decided_by: Leadership) -> Entry {
    let member = MemberEntry::new(1, "", "");
    Entry::View { base_epoch, decided_by, members: [(1, member)].into() }
}

impl Cluster {
    /// A new cluster; the first node founds it.
    pub(crate) async fn founded(voters: &[u32]) -> Cluster {
        Cluster::founded_with(voters, TIMING).await
    }

    pub(crate) async fn founded_with(voters: &[u32], timing: Timing) -> Cluster {
        let cluster = Cluster::unfounded(voters, timing).await;
        cluster.control(voters[0]).found(&cluster.addresses).await.unwrap();
        cluster
    }

    /// Nodes that belong to no cluster yet.
    pub(crate) async fn of(nodes: &[u32]) -> Cluster {
        Cluster::unfounded(nodes, TIMING).await
    }

    async fn unfounded(nodes: &[u32], timing: Timing) -> Cluster {
        let cut_off = CutOff::default();
        let mut cluster = Cluster { nodes: BTreeMap::new(), addresses: BTreeMap::new(), cut_off, timing };
        for id in nodes {
            cluster.add(*id).await;
        }
        cluster
    }

    /// A node that knows nothing yet.
    pub(crate) async fn add(&mut self, id: u32) {
        let proxy = Proxy::start(id, &self.cut_off).await;
        self.addresses.insert(id, proxy.address.to_string());
        self.nodes.insert(id, Node { folder: TestFolder::new(), proxy, control: None });
        self.start(id).await;
    }

    pub(crate) fn adopt_address(&mut self, id: u32, address: String) {
        self.addresses.insert(id, address);
    }

    pub(crate) fn address(&self, id: u32) -> String {
        self.addresses[&id].clone()
    }

    /// Where a node itself listens, behind its proxy.
    pub(crate) fn listens_at(&self, id: u32) -> SocketAddr {
        self.nodes[&id].proxy.target()
    }

    pub(crate) async fn start(&mut self, id: u32) {
        let node = self.nodes.get_mut(&id).unwrap();
        let folder = node.folder.0.clone();
        let config = Config {
            cluster: "test".to_owned(),
            node: id,
            folder,
            timing: self.timing,
            lease: None,
            clock,
            encryption: transport::Encryption::Off,
        };
        let control = Control::start(config).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        node.proxy.leads_to(listener.local_addr().unwrap());
        control.listen(listener);
        node.control = Some(control);
    }

    pub(crate) async fn halt(&mut self, id: u32) {
        let control = self.nodes.get_mut(&id).unwrap().control.take().unwrap();
        within("a node stops", control.stop()).await;
    }

    /// A stopped node loses everything that it had on disk.
    pub(crate) fn wipe(&mut self, id: u32) {
        std::fs::remove_dir_all(&self.nodes[&id].folder.0).unwrap();
    }

    pub(crate) async fn stop(self) {
        for node in self.nodes.into_values() {
            if let Some(control) = node.control {
                within("a node stops", control.stop()).await;
            }
        }
    }

    pub(crate) fn control(&self, id: u32) -> &Control {
        self.nodes[&id].control.as_ref().unwrap()
    }

    fn running(&self) -> impl Iterator<Item = (u32, &Control)> {
        self.nodes.iter().filter_map(|(id, node)| Some((*id, node.control.as_ref()?)))
    }

    pub(crate) fn other_than(&self, id: u32) -> u32 {
        self.running().map(|(other, _)| other).find(|other| *other != id).unwrap()
    }

    /// The leader, once a node can prove that it leads.
    pub(crate) async fn leader(&self) -> (u32, Leadership) {
        self.leader_but(u32::MAX).await
    }

    /// The same without asking this node.
    pub(crate) async fn leader_but(&self, not: u32) -> (u32, Leadership) {
        let find = async {
            loop {
                for (id, control) in self.running().filter(|(id, _)| *id != not) {
                    let leadership = *control.leadership().borrow();
                    if let Some(leadership) = leadership
                        && control.prove_leadership(leadership).await.is_ok()
                    {
                        return (id, leadership);
                    }
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        within("a node leads", find).await
    }

    pub(crate) async fn knows_leader(&self, id: u32, leader: u32) {
        let wait = async {
            while self.control(id).leader() != Some(leader) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        within("a node knows who leads", wait).await;
    }

    /// Waits until a node has applied enough.
    pub(crate) async fn sees(&self, id: u32, enough: impl Fn(&Registry) -> bool) {
        let mut registry = self.control(id).registry();
        within("a node hears what was agreed on", registry.wait_for(|registry| enough(registry)))
            .await
            .unwrap();
    }
}

/// What time it is, for all nodes.
pub(crate) fn clock() -> Time {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    Time(1) + BEGIN.elapsed()
}
