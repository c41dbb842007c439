//! Rights over real sockets: turned on in a running cluster, with tokens in greetings, and enforced by every node.

use node::LocalCluster;
use tokenwood::auth::{Change, Secret, Token};
use tokenwood::{Access, Admin, Error, NoAnswer, Options, Refusal, Tokenwood};

fn allow(who: &str, prefix: &str, actions: &str) -> Change {
    let (who, actions) = (who.parse().unwrap(), actions.parse().unwrap());
    Change::Allow { who, prefix: prefix.into(), actions }
}

/// Waits until a node has heard that security is on: commits reach nodes one after the other.
async fn until_refused(endpoint: &str) {
    loop {
        let mut stranger = Admin::connect(endpoint).await.unwrap();
        if matches!(stranger.list().await, Err(Error::Refused(Refusal::NotAllowed(_)))) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_node_enforces_rights_that_one_was_told() {
    let cluster = LocalCluster::start(3).await.unwrap();
    let before = Tokenwood::connect([cluster.endpoints[0].clone()]).await.unwrap();
    let held = before.mutex("ci/held").acquire().await.unwrap();
    let (root, ci) = (Secret::new([1; 32]), Secret::new([2; 32]));
    let access = Access { token: Some(root.clone()), ..Access::default() };
    let mut admin = Admin::connect_with(&cluster.endpoints[1], &access).await.unwrap();
    // Not the leader at one of the nodes at least: the change is passed on.
    admin.change_rights(Change::Secure { admin: root.hash() }).await.unwrap();
    for endpoint in &cluster.endpoints {
        until_refused(endpoint).await;
    }
    let token = Token { principal: "ci/build".into(), expires: None };
    admin.change_rights(Change::AddToken { hash: ci.hash(), token }).await.unwrap();
    admin.change_rights(allow("ci/build", "ci/", "acquire,read")).await.unwrap();

    // The node that was told has heard of its own commits.
    let endpoint = [cluster.endpoints[1].clone()];
    let options = || Options::default().token(ci.clone());
    let mine = loop {
        match Tokenwood::connect_with(endpoint.clone(), options()).await {
            Ok(mine) => break mine,
            Err(Error::NoNode(_)) => tokio::task::yield_now().await,
            Err(other) => panic!("{other}"),
        }
    };
    drop(mine.mutex("ci/free").acquire().await.unwrap());
    let denied = mine.mutex("db/x").acquire().await;
    assert!(matches!(denied, Err(Error::Refused(Refusal::NotAllowed(_)))), "{denied:?}");
    let nobody = Tokenwood::connect(endpoint.clone()).await;
    let Err(Error::NoNode(tried)) = nobody else { panic!("a stranger gets no session") };
    assert!(matches!(tried[0].1, NoAnswer::Refused(Refusal::NotAllowed(_))), "{tried:?}");

    // What was held before stays held, and its holder asks for nothing more.
    assert!(held.remaining().is_some_and(|left| !left.is_zero()));
    let again = before.mutex("ci/other").acquire().await;
    assert!(matches!(again, Err(Error::Refused(Refusal::NotAllowed(_)))), "{again:?}");
    let entries = admin.audit(0).await.unwrap().entries;
    assert!(
        entries.iter().any(|entry| !entry.allowed && entry.principal == "ci/build" && entry.name == "db/x")
    );
    assert!(entries.iter().any(|entry| entry.allowed && entry.what == "change of rights"));
    drop(held);
    cluster.stop().await;
}
