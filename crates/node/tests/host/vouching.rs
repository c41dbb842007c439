//! A node that speaks for a caller of its own, over real sockets with certificates: what a door does that revokes a grant at
//! another node.

use std::time::Duration;

use node::LocalCluster;
use tokenwood::auth::{AuditEntry, Change, Secret, Token, Vouched, VouchedShown};
use tokenwood::{Access, Admin, Error, ForceReleased, GrantAgain, Guard, Refusal, Tokenwood};
use tokio::time::{sleep, timeout};

use crate::certificates::{CLUSTER, Certificates, access, encrypted, options};

/// Long enough for whatever has to happen, however busy the machine is.
const SOON: Duration = Duration::from_secs(20);
const OPERATOR: &str = "192.0.2.7:4711";
const CANNOT: &str = "only a node of the cluster can speak for another caller";

/// Three nodes. `ops` may revoke `db/…`, by its certificate or by the token of byte 2; `ci` may not, and has the token of byte 3.
struct Stage {
    certificates: Certificates,
    cluster: LocalCluster,
    admin: Access,
}

impl Stage {
    async fn begin() -> Stage {
        let certificates = Certificates::of(CLUSTER);
        let cluster = encrypted(&certificates).await;
        let root = Secret::new([1; 32]);
        let admin = Access { token: Some(root.clone()), ..access(certificates.without_certificate()) };
        let token = |byte, principal: &str| Change::AddToken {
            hash: Secret::new([byte; 32]).hash(),
            token: Token { principal: principal.into(), expires: None },
        };
        let allow = Change::Allow {
            who: "ops".parse().unwrap(),
            prefix: "db/".into(),
            actions: "force".parse().unwrap(),
        };
        let stage = Stage { certificates, cluster, admin };
        for change in [Change::Secure { admin: root.hash() }, token(2, "ops"), token(3, "ci"), allow] {
            stage.change(change).await;
        }
        stage
    }

    /// Changes rights, and waits until all nodes have heard of it.
    async fn change(&self, change: Change) {
        let rights = |node: usize| self.cluster.hosts[node].control().registry().borrow().rights.clone();
        let before = rights(0);
        let mut admin = Admin::connect_with(&self.cluster.endpoints[0], &self.admin).await.unwrap();
        admin.change_rights(change).await.unwrap();
        let heard = async {
            while (0..3).any(|node| rights(node) == before) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(SOON, heard).await.expect("all nodes hear of it");
    }

    /// Acquires a name at node 2.
    async fn hold(&self, name: &str) -> Guard {
        let two = [self.cluster.endpoints[2].clone()];
        let client = Tokenwood::connect_with(two, options(self.admin.clone())).await.unwrap();
        client.mutex(name).acquire().await.unwrap()
    }

    /// Says to node 2 that this is for an operator that shows this.
    async fn revoke(
        &self,
        by: &Access,
        shown: VouchedShown,
        held: (&str, u64),
    ) -> Result<Vec<ForceReleased>, Error> {
        let caller = Vouched { address: OPERATOR.parse().unwrap(), shown };
        let mut node = Admin::connect_to(2, &self.cluster.endpoints[2], by).await.unwrap();
        node.force_release_for(caller, held.0, (0, held.1), GrantAgain::WhenSafe).await
    }

    /// The newest entry of the audit of node 2.
    async fn newest(&self) -> AuditEntry {
        let mut admin = Admin::connect_with(&self.cluster.endpoints[2], &self.admin).await.unwrap();
        admin.audit(0).await.unwrap().entries.pop().expect("there is an entry")
    }
}

fn token(byte: u8) -> VouchedShown {
    VouchedShown::Token(Secret::new([byte; 32]).hash())
}

fn certificate(name: &str) -> VouchedShown {
    VouchedShown::Certificate(name.into())
}

fn why(refused: Result<Vec<ForceReleased>, Error>) -> (String, String) {
    match refused {
        Err(Error::Refused(Refusal::NotAllowed(refusal))) => (refusal.principal, refusal.why),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_revokes_at_another_for_a_caller_that_may() {
    let stage = Stage::begin().await;
    let zero = access(stage.certificates.node(0));
    for (name, shown) in [("db/by-certificate", certificate("ops")), ("db/by-token", token(2))] {
        let held = stage.hold(name).await;
        let released = stage.revoke(&zero, shown, (name, held.fence())).await.unwrap();
        assert_eq!((released.len(), released[0].grant.fence), (1, held.fence()));
        assert_eq!(released[0].by, format!("{OPERATOR} via node 0"));
        timeout(SOON, held.lost()).await.expect("the holder hears of it");
        let entry = stage.newest().await;
        assert_eq!((&*entry.principal, &*entry.what, &*entry.name), ("ops", "forced release", name));
        assert_eq!((entry.address, entry.allowed), (format!("{OPERATOR} via node 0"), true));
    }
    let held = stage.hold("db/kept").await;
    let kept = ("db/kept", held.fence());
    for (shown, principal, reason) in [
        (certificate("ci"), "ci", "no rule allows it"),
        (token(3), "ci", "no rule allows it"),
        (token(4), "", "the token is unknown, or was removed"),
        (certificate("node/2"), "node/2", "the name in the certificate is reserved"),
    ] {
        let refused = stage.revoke(&zero, shown, kept).await;
        assert_eq!(why(refused), (principal.to_string(), reason.to_string()));
        let entry = stage.newest().await;
        assert_eq!((&*entry.principal, &*entry.why, entry.allowed), (principal, reason, false));
        assert_eq!((entry.address, &*entry.name), (format!("{OPERATOR} via node 0"), "db/kept"));
    }
    stage.change(Change::Bar { principal: "ops".into(), barred: true }).await;
    assert_eq!(why(stage.revoke(&zero, token(2), kept).await).1, "the principal is barred");
    assert!(!held.is_lost());
    drop(held);
    stage.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_nodes_of_the_cluster_speak_for_callers() {
    let stage = Stage::begin().await;
    let held = stage.hold("db/x").await;
    let x = ("db/x", held.fence());
    // Each may revoke it in its own name, and in no other; a node that was never in the cluster may nothing.
    let client = access(stage.certificates.client("ops"));
    let nothing = access(stage.certificates.without_certificate());
    let strangers = [
        (client, "ops"),
        (stage.admin.clone(), "admin"),
        (nothing, ""),
        (access(stage.certificates.node(7)), "node/7"),
    ];
    for (by, principal) in strangers {
        let refused = stage.revoke(&by, certificate("ops"), x).await;
        assert_eq!(why(refused), (principal.to_string(), CANNOT.to_string()));
        let entry = stage.newest().await;
        assert_eq!((&*entry.principal, &*entry.name, entry.allowed), (principal, "", false));
        assert!(!entry.address.contains(OPERATOR), "{entry:?}");
    }
    // A node that is removed, over a connection of before.
    let one = access(stage.certificates.node(1));
    let mut before = Admin::connect_with(&stage.cluster.endpoints[2], &one).await.unwrap();
    stage.cluster.hosts[1].leave().await;
    let control = stage.cluster.hosts[2].control();
    let removed = async {
        while control.remove(1).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, removed).await.expect("it can be removed");
    let caller = Vouched { address: OPERATOR.parse().unwrap(), shown: certificate("ops") };
    let refused = async {
        loop {
            let tried = before.force_release_for(caller.clone(), "db/y", (0, 1), GrantAgain::WhenSafe).await;
            match tried {
                // The node has not heard of it yet.
                Err(Error::Refused(Refusal::NobodyHolds)) => sleep(Duration::from_millis(20)).await,
                other => break other,
            }
        }
    };
    let refused = timeout(SOON, refused).await.expect("the node hears of it");
    assert_eq!(why(refused), ("node/1".to_string(), CANNOT.to_string()));
    assert_eq!(why(stage.revoke(&one, certificate("ops"), x).await).1, CANNOT);
    assert!(!held.is_lost());
    drop(held);
    stage.cluster.stop().await;
}
