//! Encrypted clusters over real sockets: who gets in, and who does not, at each port.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use control::Hello;
use node::{Encryption, LocalCluster};
use security::issue::{Authority, Period};
use security::{Credentials, Files, Holder};
use service::Identity;
use service::frame;
use service::protocol::GREETING;
use tokenwood::auth::{Change, Secret};
use tokenwood::{Access, Admin, Error, NoAnswer, Options, Refusal, Tokenwood};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use transport::Secured;
use transport::handshake::Local;
use transport::wire;

const CLUSTER: &str = "encrypted";
const LEASE: Duration = Duration::from_secs(10);
/// What does not come within this time does not come.
const SOON: Duration = Duration::from_secs(20);

/// A CA, and the files of those that it vouches for.
struct Certificates {
    folder: PathBuf,
    authority: Authority,
}

impl Certificates {
    fn of(cluster: &str) -> Certificates {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("tokenwood-certificates-{}-{number}", std::process::id()));
        security::private_files::make_folder(&folder).unwrap();
        let (authority, issued) = Authority::create(cluster, days(10)).unwrap();
        security::private_files::create(&folder.join("ca.pem"), issued.certificate.as_bytes()).unwrap();
        Certificates { folder, authority }
    }

    fn credentials(&self, holder: &Holder) -> Credentials {
        let stem = holder.file_stem();
        let (certificate, key) =
            (self.folder.join(format!("{stem}.pem")), self.folder.join(format!("{stem}.key")));
        let issued = self.authority.issue(holder, days(1)).unwrap();
        security::private_files::replace(&certificate, issued.certificate.as_bytes()).unwrap();
        security::private_files::replace(&key, issued.key.as_bytes()).unwrap();
        let files = Files { ca: self.folder.join("ca.pem"), certificate: Some(certificate), key: Some(key) };
        Credentials::load(files, None).unwrap()
    }

    /// Of a client that trusts the CA, and shows nothing.
    fn without_certificate(&self) -> Credentials {
        let files = Files { ca: self.folder.join("ca.pem"), certificate: None, key: None };
        Credentials::load(files, None).unwrap()
    }

    fn node(&self, id: u32) -> Credentials {
        self.credentials(&Holder::Node(id))
    }

    fn client(&self, name: &str) -> Credentials {
        self.credentials(&Holder::Client(name.to_string()))
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.folder);
    }
}

fn days(days: u32) -> Period {
    Period::days(SystemTime::now(), days).unwrap()
}

async fn cluster(encryption: impl Fn(u32) -> Encryption + Send + 'static) -> LocalCluster {
    let mut for_clients = Vec::new();
    for _ in 0..3 {
        for_clients.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
    }
    LocalCluster::start_encrypted(CLUSTER, for_clients, LEASE, |_| {}, encryption).await.unwrap()
}

async fn encrypted(certificates: &Certificates) -> LocalCluster {
    let all: Vec<Credentials> = (0..3).map(|id| certificates.node(id)).collect();
    cluster(move |id| Encryption::Required(all[id as usize].clone())).await
}

fn access(credentials: Credentials) -> Access {
    Access { encryption: Encryption::Required(credentials), token: None }
}

fn options(access: Access) -> Options {
    Options { access, ..Options::default() }
}

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

/// What a caller gets from a port: whether it is answered at all.
async fn is_answered(called: std::io::Result<Secured>, says: &[u8]) -> bool {
    let Ok(mut stream) = called else { return false };
    if stream.write_all(says).await.is_err() || stream.flush().await.is_err() {
        return false;
    }
    let mut answer = [0; 1];
    matches!(timeout(SOON, stream.read(&mut answer)).await.expect("the port says nothing"), Ok(1))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_gets_through_without_the_right_certificate() {
    let certificates = Certificates::of(CLUSTER);
    let (foreign, other) = (Certificates::of(CLUSTER), Certificates::of("another"));
    let cluster = encrypted(&certificates).await;
    let peers = cluster.hosts[2].control().nodes()[&2].clone();
    let clients = cluster.endpoints[2].clone();
    let friend =
        Tokenwood::connect_with([&clients], options(access(certificates.client("friend")))).await.unwrap();
    let held = friend.mutex("held").acquire().await.unwrap();

    let mut greeting = Vec::new();
    frame::put(GREETING, &service::protocol::Hello::MINE, &mut greeting);
    let (version, cluster_id) = (2, cluster.hosts[0].control().cluster_id().await.unwrap());
    let consensus = |from| Hello { version, cluster: CLUSTER.to_string(), cluster_id, from, to: 2 }.encode();
    let member = |id: u32| cluster.hosts[id as usize].control().registry().borrow().members[&id].incarnation;
    let link = |from: u32| {
        let me = Identity { id: from, incarnation: member(from) };
        let local = Local { cluster: CLUSTER.to_string(), me, versions: wire::VERSIONS };
        let (mut bytes, to) = (Vec::new(), Identity { id: 2, incarnation: member(2) });
        wire::put_hello(&local.hello(to, 1, 0), &mut bytes);
        bytes
    };
    let ports = [
        (&clients, security::CLIENTS, greeting.clone()),
        (&peers, security::CONTROL, consensus(0)),
        (&peers, security::PEERS, link(0)),
    ];
    let right = Encryption::Required(certificates.node(0));
    // That the ports answer at all, so that silence says something. The link is not tried: it would replace the real one.
    for (address, protocol, says) in &ports[..2] {
        assert!(is_answered(right.call(address, protocol, Some(2)).await, says).await, "{protocol:?}");
    }
    let callers = [
        ("plain", Encryption::Off),
        ("foreign CA", Encryption::Required(foreign.node(0))),
        ("other cluster", Encryption::Required(other.node(0))),
        ("client of a foreign CA", Encryption::Required(foreign.client("friend"))),
        ("client of another cluster", Encryption::Required(other.client("friend"))),
    ];
    for (who, encryption) in &callers {
        for (address, protocol, says) in &ports {
            assert!(
                !is_answered(encryption.call(address, protocol, None).await, says).await,
                "{who} at {protocol:?}"
            );
        }
    }
    // Those of the cluster, at ports that are not for them or under another name.
    let client = Encryption::Required(certificates.client("friend"));
    for (address, protocol, says) in &ports[1..] {
        assert!(
            !is_answered(client.call(address, protocol, None).await, says).await,
            "a client at {protocol:?}"
        );
    }
    let mut answer = [0; 64];
    let impostor = Encryption::Required(certificates.node(1));
    let mut stream = impostor.call(&peers, security::CONTROL, Some(2)).await.unwrap();
    stream.write_all(&consensus(0)).await.unwrap();
    stream.flush().await.unwrap();
    let read = timeout(SOON, stream.read(&mut answer)).await.unwrap().unwrap();
    assert!(read > 0 && timeout(SOON, stream.read(&mut answer)).await.unwrap().unwrap_or(0) == 0);
    let called = impostor.call(&peers, security::PEERS, Some(2)).await;
    assert!(!is_answered(called, &link(0)).await, "node 1 as node 0");

    assert!(!held.is_lost() && friend.mutex("other").acquire().await.is_ok(), "a friend noticed");
    assert_eq!(cluster.hosts[2].unreachable().len(), 0);
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
    assert!(matches!(acquire(endpoint, "db", &build).await, Err(Refusal::NotAllowed { .. })));
    acquire(endpoint, "other/x", &other).await.unwrap();
    let refused = acquire(endpoint, "ci/gpu", &other).await;
    assert!(
        matches!(&refused, Err(refusal @ Refusal::NotAllowed { .. }) if refusal.to_string().contains("ci/other")),
        "{refused:?}"
    );

    let refused = acquire(endpoint, "ci/gpu", &nothing).await;
    assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{refused:?}");
    let mut stranger = Admin::connect_with(endpoint, &nothing).await.unwrap();
    let refused = stranger.list().await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::NotAllowed { .. }))), "{refused:?}");

    // An operator with the files of a node needs no token.
    let mut operator = Admin::connect_with(endpoint, &access(certificates.node(1))).await.unwrap();
    operator.change_rights(Change::Bar { principal: "ci/build".into(), barred: true }).await.unwrap();
    let refused = until(endpoint, &build, false).await;
    assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{refused:?}");
    acquire(endpoint, "other/x", &other).await.unwrap();
    cluster.stop().await;
}
