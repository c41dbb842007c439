//! Servers of other lock services, where they are installed, each on ports of its own in a temporary folder. They end with
//! this program.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use bench::peers::{Kind, Peer};
use robustness::{NodeProcesses, NodeSetup};

/// Where Debian's package puts ZooKeeper.
const ZOOKEEPER_JAR: &str = "/usr/share/java/zookeeper.jar";
/// As many servers as we have nodes, where a service is one of several servers.
const SERVERS: usize = 3;

/// What serves while this is there.
pub(crate) struct Servers {
    children: Vec<Child>,
    _nodes: Option<NodeProcesses>,
    folder: PathBuf,
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.children {
            _ = child.kill();
            _ = child.wait();
        }
        // There is none if nothing was written.
        _ = fs::remove_dir_all(&self.folder);
    }
}

/// What is to be started: the names that people know, and how.
pub(crate) const ALL: [(&str, Start); 4] =
    [("tokenwood", tokenwood), ("redis-server", redis), ("etcd", etcd), ("zookeeper", zookeeper)];

/// Starts a service; `None` if it is not installed.
type Start = fn() -> Result<Option<(Servers, Vec<Peer>)>>;

impl Servers {
    fn new(name: &str) -> Result<Servers> {
        let folder = std::env::temp_dir().join(format!("tokenwood-peers-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Servers { children: Vec::new(), _nodes: None, folder })
    }

    fn start(&mut self, command: &mut Command) -> Result<()> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir(&self.folder);
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        self.children.push(child);
        Ok(())
    }

    /// The peers that these processes serve as, in each of these ways.
    fn peers(&self, kinds: &[Kind], endpoints: &[String]) -> Vec<Peer> {
        let processes: Vec<u32> = self.children.iter().map(Child::id).collect();
        let peer =
            |kind: &Kind| Peer { kind: *kind, endpoints: endpoints.to_vec(), processes: processes.clone() };
        kinds.iter().map(peer).collect()
    }
}

fn tokenwood() -> Result<Option<(Servers, Vec<Peer>)>> {
    let ports = transport::loopback::addresses(2 * SERVERS)?;
    let setup = |ports: &[String]| NodeSetup {
        reached_at: ports[0].clone(),
        peers: ports[0].clone(),
        clients: ports[1].clone(),
        ..NodeSetup::default()
    };
    let setups: Vec<NodeSetup> = ports.chunks(2).map(setup).collect();
    let nodes = NodeProcesses::start("bench", &setups, &[])?;
    let endpoints: Vec<String> = setups.into_iter().map(|setup| setup.clients).collect();
    let processes: Vec<u32> = nodes.ids_and_pids().map(|(_, process)| process).collect();
    let mut servers = Servers::new("tokenwood")?;
    servers._nodes = Some(nodes);
    let peer = |kind| Peer { kind, endpoints: endpoints.clone(), processes: processes.clone() };
    Ok(Some((servers, [Kind::Tokenwood, Kind::TokenwoodJoined].map(peer).to_vec())))
}

/// One process that keeps nothing on disk.
fn redis() -> Result<Option<(Servers, Vec<Peer>)>> {
    let Some(program) = program("redis-server") else { return Ok(None) };
    let endpoint = free_ports(1)?;
    let (mut servers, port) = (Servers::new("redis")?, port(&endpoint[0]));
    let mut command = Command::new(program);
    command.args(["--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no"]);
    servers.start(&mut command)?;
    let peers = servers.peers(&[Kind::Redis, Kind::RedisJoined], &endpoint);
    Ok(Some((servers, peers)))
}

fn etcd() -> Result<Option<(Servers, Vec<Peer>)>> {
    let Some(program) = program("etcd") else { return Ok(None) };
    let (clients, peers) = (free_ports(SERVERS)?, free_ports(SERVERS)?);
    let mut servers = Servers::new("etcd")?;
    let member = |(number, peer): (usize, &String)| format!("{number}=http://{peer}");
    let cluster = peers.iter().enumerate().map(member).collect::<Vec<_>>().join(",");
    for (number, (client, peer)) in clients.iter().zip(&peers).enumerate() {
        let (client, peer) = (format!("http://{client}"), format!("http://{peer}"));
        let data = servers.folder.join(number.to_string());
        let mut command = Command::new(&program);
        command.args(["--name", &number.to_string(), "--data-dir"]).arg(data);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &cluster, "--initial-cluster-state", "new"]);
        servers.start(&mut command)?;
    }
    let peers = servers.peers(&[Kind::Etcd], &clients);
    Ok(Some((servers, peers)))
}

fn zookeeper() -> Result<Option<(Servers, Vec<Peer>)>> {
    let Some(java) = program("java").filter(|_| Path::new(ZOOKEEPER_JAR).exists()) else { return Ok(None) };
    let (clients, peers) = (free_ports(SERVERS)?, free_ports(2 * SERVERS)?);
    let mut servers = Servers::new("zookeeper")?;
    let member = |(number, ports): (usize, &[String])| {
        format!("server.{}=127.0.0.1:{}:{}\n", number + 1, port(&ports[0]), port(&ports[1]))
    };
    let members: String = peers.chunks(2).enumerate().map(member).collect();
    for (number, client) in clients.iter().enumerate() {
        let data = servers.folder.join(number.to_string());
        fs::create_dir_all(&data)?;
        fs::write(data.join("myid"), (number + 1).to_string())?;
        let file = servers.folder.join(format!("{number}.cfg"));
        let settings = format!(
            "tickTime=2000\ninitLimit=10\nsyncLimit=5\nmaxClientCnxns=0\nadmin.enableServer=false\ndataDir={}\n\
             clientPortAddress=127.0.0.1\nclientPort={}\n{members}",
            data.display(),
            port(client)
        );
        fs::write(&file, settings)?;
        let mut command = Command::new(&java);
        command.args(["-Xmx512m", "-cp", ZOOKEEPER_JAR]);
        command.arg("org.apache.zookeeper.server.quorum.QuorumPeerMain").arg(file);
        servers.start(&mut command)?;
    }
    let peers = servers.peers(&[Kind::ZooKeeper], &clients);
    Ok(Some((servers, peers)))
}

/// Where a program is, if it is installed.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Addresses on this machine that nothing listens at, all different.
fn free_ports(count: usize) -> Result<Vec<String>> {
    let cannot = "cannot listen at any port of 127.0.0.1";
    let taken: Result<Vec<TcpListener>, _> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    let taken = taken.context(cannot)?;
    taken.iter().map(|listener| Ok(listener.local_addr().context(cannot)?.to_string())).collect()
}

fn port(endpoint: &str) -> &str {
    endpoint.rsplit(':').next().unwrap_or(endpoint)
}
