//! Encrypted clusters over real sockets, as those who belong to them meet them. Who does not get in is in `intruders`.

use std::time::Duration;

use node::Encryption;
use security::Credentials;
use tokenwood::auth::{Change, Secret};
use tokenwood::{Access, Admin, Error, NoAnswer, Refusal, Tokenwood};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::certificates::{CLUSTER, Certificates, access, cluster, encrypted, options};

/// What does not come within this time does not come.
const SOON: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_move_between_nodes_and_long_answers_arrive() {
    let certificates = Certificates::of(CLUSTER);
    let cluster = encrypted(&certificates).await;
    let access = access(certificates.client("ci/build"));
    let mut clients = Vec::new();
    for endpoint in &cluster.endpoints {
        clients.push(Tokenwood::connect_with([endpoint], options(access.clone())).await.unwrap());
    }
    let mut fences = Vec::new();
    for round in 0..30 {
        let guard = clients[round % 3].mutex("moves").acquire().await.unwrap();
        fences.push(guard.fence());
    }
    assert!(fences.is_sorted_by(|one, other| one < other), "{fences:?}");
    // More than a socket takes at once, in both directions.
    let mut held = Vec::new();
    for number in 0..3000 {
        let name = format!("{number:04}-{}", "x".repeat(100));
        held.push(clients[0].mutex(&name).acquire().await.unwrap());
    }
    let mut admin = Admin::connect_with(&cluster.endpoints[0], &access).await.unwrap();
    assert_eq!(admin.list().await.unwrap().len(), held.len());
    drop(held);
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_may_encrypt_serves_both_kinds_of_callers() {
    let certificates = Certificates::of(CLUSTER);
    let all: Vec<Credentials> = (0..3).map(|id| certificates.node(id)).collect();
    // As in the middle of a change: one node knows no encryption yet.
    let cluster = cluster(move |id| match id {
        0 => Encryption::Off,
        id => Encryption::Optional(all[id as usize].clone()),
    })
    .await;
    let encrypted = access(certificates.client("ci"));
    let mut fences = Vec::new();
    for (endpoint, access) in cluster.endpoints.iter().zip([Access::default(), Access::default(), encrypted])
    {
        let client = Tokenwood::connect_with([endpoint], options(access)).await.unwrap();
        fences.push(client.mutex("both").acquire().await.unwrap().fence());
    }
    assert!(fences.is_sorted_by(|one, other| one < other), "{fences:?}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handshake_that_never_comes_costs_no_place_for_long() {
    let certificates = Certificates::of(CLUSTER);
    let cluster = encrypted(&certificates).await;
    let mut silent = TcpStream::connect(&cluster.endpoints[0]).await.unwrap();
    let mut byte = [0; 1];
    assert_eq!(timeout(SOON, silent.read(&mut byte)).await.unwrap().unwrap_or(0), 0);
    cluster.stop().await;
}

/// Acquires a name and releases it, on a new connection, or says why that was refused.
async fn acquire(endpoint: &str, name: &str, access: &Access) -> Result<(), Refusal> {
    let acquired = match Tokenwood::connect_with([endpoint], options(access.clone())).await {
        Ok(client) => client.mutex(name).acquire().await.map(drop),
        Err(error) => Err(error),
    };
    match acquired {
        Ok(()) => Ok(()),
        Err(Error::Refused(refusal)) => Err(refusal),
        Err(Error::NoNode(tried)) => match &tried[0].1 {
            NoAnswer::Refused(refusal) => Err(refusal.clone()),
            other => panic!("{other:?}"),
        },
        Err(other) => panic!("{other}"),
    }
}

/// Acquires `ci/gpu` again and again until that is allowed, or until it is not.
async fn until(endpoint: &str, access: &Access, is_allowed: bool) -> Result<(), Refusal> {
    let tries = async {
        loop {
            let answer = acquire(endpoint, "ci/gpu", access).await;
            if answer.is_ok() == is_allowed {
                break answer;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, tries).await.expect("the node never heard of it")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_makes_its_client_the_principal_of_that_name() {
    let certificates = Certificates::of(CLUSTER);
    let cluster = encrypted(&certificates).await;
    let endpoint = cluster.endpoints[0].as_str();
    let root = Secret::new([1; 32]);
    let nothing = access(certificates.without_certificate());
    let mut admin = Admin::connect_with(endpoint, &Access { token: Some(root.clone()), ..nothing.clone() })
        .await
        .unwrap();
    let allow = |who: &str, prefix: &str| Change::Allow {
        who: who.parse().unwrap(),
        prefix: prefix.into(),
        actions: "acquire".parse().unwrap(),
    };
    let rules = [allow("ci/other", "other/"), allow("ci/build", "ci/")];
    for change in [Change::Secure { admin: root.hash() }].into_iter().chain(rules) {
        admin.change_rights(change).await.unwrap();
    }
    let (build, other) = (access(certificates.client("ci/build")), access(certificates.client("ci/other")));
    // The node hears of commits some time after the leader has them, in their order.
    until(endpoint, &nothing, false).await.unwrap_err();
    until(endpoint, &build, true).await.unwrap();
    assert!(matches!(acquire(endpoint, "db", &build).await, Err(Refusal::NotAllowed(_))));
    acquire(endpoint, "other/x", &other).await.unwrap();
    let refused = acquire(endpoint, "ci/gpu", &other).await;
    assert!(
        matches!(&refused, Err(refusal @ Refusal::NotAllowed(_)) if refusal.to_string().contains("ci/other")),
        "{refused:?}"
    );

    let refused = acquire(endpoint, "ci/gpu", &nothing).await;
    assert!(matches!(refused, Err(Refusal::NotAllowed(_))), "{refused:?}");
    let mut stranger = Admin::connect_with(endpoint, &nothing).await.unwrap();
    let refused = stranger.list().await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::NotAllowed(_)))), "{refused:?}");

    // An operator with the files of a node needs no token.
    let mut operator = Admin::connect_with(endpoint, &access(certificates.node(1))).await.unwrap();
    operator.change_rights(Change::Bar { principal: "ci/build".into(), barred: true }).await.unwrap();
    let refused = until(endpoint, &build, false).await;
    assert!(matches!(refused, Err(Refusal::NotAllowed(_))), "{refused:?}");
    acquire(endpoint, "other/x", &other).await.unwrap();
    cluster.stop().await;
}
