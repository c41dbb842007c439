//! What those who belong to a cluster see of it while intruders are about: the same as before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use node::{Host, LocalCluster};
use security::Holder;
use service::registry::{Leadership, Registry};
use sync::IgnorePoison;
use tokenwood::auth::{AuditEntry, Change, Secret, Token};
use tokenwood::{Access, Admin, Tokenwood};
use tokio::task::JoinSet;

use super::caller::{SOON, Shown};
use crate::certificates::{CLUSTER, Certificates, access, encrypted, options};
use crate::log;

/// An encrypted cluster with security on, and its operator.
pub(super) struct Stage {
    pub(super) certificates: Certificates,
    pub(super) cluster: LocalCluster,
    /// The node that intruders call: the last, because of two nodes the one with the lower id opens the link.
    pub(super) target: u32,
    /// An operator at that node.
    pub(super) operator: Admin,
}

/// The token of the first administrator.
pub(super) const ROOT: [u8; 32] = [1; 32];

/// What no intruder may change.
#[derive(Debug, PartialEq)]
pub(super) struct State {
    registry: Registry,
    leading: Vec<Option<Leadership>>,
    /// The view, the incarnation and the number of members, as each node sees it.
    views: Vec<(u64, u64, u32)>,
}

pub(super) fn allow(who: &str, prefix: &str) -> Change {
    Change::Allow { who: who.parse().unwrap(), prefix: prefix.into(), actions: "acquire".parse().unwrap() }
}

/// Waits until this is so, and no longer than that takes at most.
pub(super) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < SOON, "never {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

impl Stage {
    pub(super) async fn start() -> Stage {
        log::collect();
        let certificates = Certificates::of(CLUSTER);
        let cluster = encrypted(&certificates).await;
        let target = cluster.hosts.len() as u32 - 1;
        let root = Secret::new(ROOT);
        let access = Access { token: Some(root.clone()), ..access(certificates.without_certificate()) };
        let endpoint = &cluster.endpoints[target as usize];
        let operator = Admin::connect_with(endpoint, &access).await.unwrap();
        let mut stage = Stage { certificates, cluster, target, operator };
        stage.change([Change::Secure { admin: root.hash() }, allow("friend", "friend/")]).await;
        stage
    }

    /// Changes rights, and waits until all nodes have heard of it.
    pub(super) async fn change(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            self.operator.change_rights(change).await.unwrap();
        }
        let heard = |host: &Host| host.control().registry().borrow().clone();
        let hosts = &self.cluster.hosts;
        let target = self.target as usize;
        until("heard everywhere", async || hosts.iter().all(|host| heard(host) == heard(&hosts[target])))
            .await;
        // The member hears of the registry a moment after consensus has it.
        let agreed = heard(&hosts[target]).rights.clone();
        let operator = &mut self.operator;
        until("heard by the member", async || operator.rights().await.unwrap() == agreed).await;
    }

    /// Removes a definition, once the target has heard of it, and waits until all have heard of that.
    pub(super) async fn undefine(&mut self, name: &str) {
        let operator = &mut self.operator;
        until("undefined", async || operator.undefine(name).await.is_ok()).await;
        self.change([]).await;
    }

    /// Has a node leave, and removes it for good.
    pub(super) async fn remove(&mut self, node: u32) {
        self.cluster.hosts[node as usize].leave().await;
        let control = self.target().control();
        until("removed", async || control.remove(node).await.is_ok()).await;
        let is_gone = || {
            !control.nodes().contains_key(&node) && !control.registry().borrow().members.contains_key(&node)
        };
        until("gone", async || is_gone()).await;
    }

    /// A token for a principal that may acquire the names of its namespace.
    pub(super) async fn token(&mut self, principal: &str, prefix: &str, number: u8) -> Secret {
        let secret = Secret::new([number; 32]);
        let token = Token { principal: principal.into(), expires: None };
        self.change([Change::AddToken { hash: secret.hash(), token }, allow(principal, prefix)]).await;
        secret
    }

    /// Where the target serves clients.
    pub(super) fn for_clients(&self) -> String {
        self.cluster.endpoints[self.target as usize].clone()
    }

    /// Where the target serves peers.
    pub(super) fn for_peers(&self) -> String {
        self.target().control().nodes()[&self.target].clone()
    }

    pub(super) fn target(&self) -> &Host {
        &self.cluster.hosts[self.target as usize]
    }

    /// A node that is not the target: the first or the second of those.
    pub(super) fn other(&self, number: u32) -> u32 {
        (self.target + number) % 3
    }

    /// The rightful certificate of a node.
    pub(super) fn node(&self, id: u32) -> Shown {
        Shown::certificate(self.certificates.issue(&Holder::Node(id)))
    }

    pub(super) fn state(&self) -> State {
        let hosts = &self.cluster.hosts;
        let registry = (*self.target().control().registry().borrow()).as_ref().clone();
        let leading = hosts.iter().map(|host| *host.control().leadership().borrow()).collect();
        let views = hosts.iter().map(Host::status).map(|it| (it.epoch, it.incarnation, it.members)).collect();
        State { registry, leading, views }
    }

    /// Everything that the target has refused.
    pub(super) async fn refusals(&mut self) -> Vec<AuditEntry> {
        let (mut entries, mut after) = (Vec::new(), 0);
        loop {
            let page = self.operator.audit(after).await.unwrap();
            entries.extend(page.entries.into_iter().filter(|entry| !entry.allowed));
            after = page.next;
            if !page.more {
                return entries;
            }
        }
    }

    /// Waits until the audit has something like this.
    pub(super) async fn until_refused(&mut self, what: &str, is_like: impl Fn(&AuditEntry) -> bool) {
        let begun = Instant::now();
        loop {
            let refusals = self.refusals().await;
            if count(&refusals, &is_like) > 0 {
                return;
            }
            assert!(begun.elapsed() < SOON, "{what} is not in the audit: {refusals:#?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// How often something like this was refused.
pub(super) fn count(refusals: &[AuditEntry], is_like: impl Fn(&AuditEntry) -> bool) -> u64 {
    refusals.iter().filter(|entry| is_like(entry)).map(|entry| 1 + entry.repeated).sum()
}

/// Clients of two nodes that pass a lock to and fro, and one that holds another all the time.
pub(super) struct Friends {
    over: Arc<AtomicBool>,
    tasks: JoinSet<usize>,
}

impl Friends {
    pub(super) async fn begin(stage: &Stage) -> Friends {
        let (over, fences) = (Arc::new(AtomicBool::new(false)), Arc::new(std::sync::Mutex::new(Vec::new())));
        let mut tasks = JoinSet::new();
        let access = access(stage.certificates.client("friend"));
        for node in [stage.target, stage.other(2)] {
            let endpoint = &stage.cluster.endpoints[node as usize];
            let client = Tokenwood::connect_with([endpoint], options(access.clone())).await.unwrap();
            let (over, fences) = (over.clone(), fences.clone());
            tasks.spawn(async move {
                let held = client.mutex(&format!("friend/held-{node}")).acquire().await.unwrap();
                let mut turns = 0;
                while !over.load(Ordering::Relaxed) {
                    let guard = client.mutex("friend/lock").acquire().await.expect("a friend is served");
                    let mut fences = fences.lock().ignore_poison();
                    assert!(fences.last().is_none_or(|last| *last < guard.fence()), "fences only rise");
                    fences.push(guard.fence());
                    drop(fences);
                    assert!(!guard.is_lost() && !held.is_lost(), "a friend loses nothing");
                    turns += 1;
                }
                turns
            });
        }
        Friends { over, tasks }
    }

    /// Ends them. Fails if one of them has noticed anything.
    pub(super) async fn end(self) {
        self.over.store(true, Ordering::Relaxed);
        for turns in self.tasks.join_all().await {
            assert!(turns > 0, "a friend had no turn at all");
        }
    }
}
