//! Doors of nodes with certificates: a grant is revoked at another node, which decides by what the caller showed to the door.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use node::{Encryption, LocalCluster};
use security::issue::{Authority, Period};
use security::{Credentials, Files, Holder, private_files};
use serde_json::{Value, json};
use service::auth::{AuditEntry, Change, Secret, Token};
use tokenwood::{Access, Admin, Guard, Options, Tokenwood};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

const CLUSTER: &str = "encrypted";

/// A CA with the files of all that it signs for. They go with it.
struct Certificates {
    folder: PathBuf,
    authority: Authority,
}

impl Certificates {
    fn new() -> Certificates {
        let folder = std::env::temp_dir().join(format!("tokenwood-doors-{}", std::process::id()));
        private_files::make_folder(&folder).unwrap();
        let (authority, issued) = Authority::create(CLUSTER, day()).unwrap();
        private_files::create(&folder.join("ca.pem"), issued.certificate.as_bytes()).unwrap();
        Certificates { folder, authority }
    }

    fn of(&self, holder: &Holder) -> Credentials {
        let file = |end: &str| self.folder.join(format!("{}.{end}", holder.file_stem()));
        let issued = self.authority.issue(holder, day()).unwrap();
        private_files::replace(&file("pem"), issued.certificate.as_bytes()).unwrap();
        private_files::replace(&file("key"), issued.key.as_bytes()).unwrap();
        self.load(Some(file("pem")), Some(file("key")))
    }

    fn client(&self, name: &str) -> Credentials {
        self.of(&Holder::Client(name.to_string()))
    }

    fn load(&self, certificate: Option<PathBuf>, key: Option<PathBuf>) -> Credentials {
        Credentials::load(Files { ca: self.folder.join("ca.pem"), certificate, key }, None).unwrap()
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn day() -> Period {
    Period::days(SystemTime::now(), 1).unwrap()
}

/// Three nodes with certificates, and the door of node 0.
struct Stage {
    certificates: Certificates,
    cluster: LocalCluster,
    door: String,
    admin: Access,
}

impl Stage {
    async fn begin(changes: Vec<Change>) -> Stage {
        let certificates = Certificates::new();
        let nodes: Vec<Credentials> = (0..3).map(|id| certificates.of(&Holder::Node(id))).collect();
        let mut for_clients = Vec::new();
        for _ in 0..3 {
            for_clients.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
        }
        let encryption = move |id| Encryption::Required(nodes[id as usize].clone());
        let lease = Duration::from_secs(10);
        let cluster = LocalCluster::start_encrypted(CLUSTER, for_clients, lease, |_| {}, encryption);
        let cluster = cluster.await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let door = listener.local_addr().unwrap().to_string();
        tokio::spawn(http_door::serve(cluster.hosts[0].clone(), listener));
        let root = Secret::new([1; 32]);
        let encryption = Encryption::Required(certificates.load(None, None));
        let admin = Access { encryption, token: Some(root.clone()) };
        let stage = Stage { certificates, cluster, door, admin };
        let mut changing = Admin::connect_with(&stage.cluster.endpoints[0], &stage.admin).await.unwrap();
        for change in [Change::Secure { admin: root.hash() }].into_iter().chain(changes) {
            let rights = |node: usize| stage.cluster.hosts[node].control().registry().borrow().rights.clone();
            let before = rights(0);
            changing.change_rights(change).await.unwrap();
            until!((0..3).all(|node| rights(node) != before));
        }
        stage
    }

    /// Acquires a name at node 2.
    async fn hold(&self, name: &str) -> Guard {
        let (two, access) = ([self.cluster.endpoints[2].clone()], self.admin.clone());
        let client = Tokenwood::connect_with(two, Options { access, ..Options::default() }).await.unwrap();
        client.mutex(name).acquire().await.unwrap()
    }

    /// Asks the door of node 0 to revoke what a client of this node holds.
    async fn force(
        &self,
        caller: &Credentials,
        token: Option<&Secret>,
        (name, fence, node): (&str, u64, u32),
    ) -> (u16, Value) {
        let socket = TcpStream::connect(&self.door).await.unwrap();
        let connector = TlsConnector::from(caller.call_config(&[b"http/1.1"], None));
        let mut stream = connector.connect("127.0.0.1".try_into().unwrap(), socket).await.unwrap();
        let body = json!({ "slot": 0, "fence": fence, "node": node }).to_string();
        let token = token.map_or(String::new(), |it| format!("authorization: Bearer {}\r\n", it.reveal()));
        let head = format!(
            "POST /v1/locks/{name}/force HTTP/1.1\r\nhost: door\r\nconnection: close\r\n{token}\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        (status, serde_json::from_str(body).unwrap())
    }

    /// The newest entry of a node's audit.
    async fn newest(&self, node: usize) -> AuditEntry {
        let mut admin = Admin::connect_with(&self.cluster.endpoints[node], &self.admin).await.unwrap();
        admin.audit(0).await.unwrap().entries.pop().expect("there is an entry")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_is_revoked_at_another_node_for_a_caller_that_may() {
    let allow = |who: &str, prefix: &str| Change::Allow {
        who: who.parse().unwrap(),
        prefix: prefix.into(),
        actions: "force".parse().unwrap(),
    };
    let robot = Secret::new([2; 32]);
    let token = Token { principal: "robot".into(), expires: None };
    let added = Change::AddToken { hash: robot.hash(), token };
    let changes = vec![added, allow("ops", "db/"), allow("robot", "db/"), allow("*", "public/")];
    let stage = Stage::begin(changes).await;
    let nothing = stage.certificates.load(None, None);

    // The right to force is enough: neither of them may read.
    let ops = stage.certificates.client("ops");
    for (caller, token, principal) in [(&ops, None, "ops"), (&nothing, Some(&robot), "robot")] {
        let held = stage.hold("db/x").await;
        let (status, body) = stage.force(caller, token, ("db/x", held.fence(), 2)).await;
        assert_eq!((status, body["revoked"][0]["fence"].as_u64()), (200, Some(held.fence())), "{body}");
        until!(held.is_lost());
        let entry = stage.newest(2).await;
        assert_eq!((&*entry.principal, &*entry.what, &*entry.name), (principal, "forced release", "db/x"));
        assert!(entry.allowed && entry.address.ends_with(" via node 0"), "{entry:?}");
    }
    let held = stage.hold("db/x").await;
    let x = |node| ("db/x", held.fence(), node);

    // Who may not is refused at the door, and the other node hears nothing of it.
    let ci = stage.certificates.client("ci");
    for (caller, token, status) in [(&ci, None, 403), (&nothing, None, 401), (&ops, Some([9; 32]), 401)] {
        let token = token.map(Secret::new);
        let (refused, body) = stage.force(caller, token.as_ref(), x(2)).await;
        assert_eq!(refused, status, "{body}");
        let entry = stage.newest(0).await;
        assert_eq!((&*entry.what, &*entry.name, entry.allowed), ("forced release", "db/x", false));
        assert!(!entry.address.contains("via"), "{entry:?}");
    }
    assert!(stage.newest(2).await.allowed);

    // What everyone may, a caller that shows nothing may there, too.
    let (status, body) = stage.force(&nothing, None, ("public/x", 1, 2)).await;
    assert_eq!((status, body["type"].as_str()), (404, Some("urn:tokenwood:problem:not-found")), "{body}");
    assert!(stage.newest(2).await.address.ends_with(" via node 0"));
    // For a node no other one speaks.
    let one = stage.certificates.of(&Holder::Node(1));
    let (status, body) = stage.force(&one, None, ("public/x", 1, 2)).await;
    assert_eq!((status, body["node"].as_u64()), (421, Some(2)), "{body}");
    let (status, body) = stage.force(&ops, None, x(9)).await;
    assert_eq!((status, body["detail"].as_str()), (404, Some("there is no node 9")), "{body}");
    assert!(!held.is_lost());
    drop(held);
    stage.cluster.stop().await;
}
