//! The price of encryption: the same work with and without it, alternately, in one run.

use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use node::{Encryption, LocalCluster};
use security::issue::{Authority, Period};
use security::{Credentials, Files, Holder, SecurityError, private_files};
use tokenwood::{Access, Options, Tokenwood};
use tokio::net::TcpListener;
use tokio::time::Duration;

use crate::cluster::{Cluster, runtime};
use crate::error::Error;
use crate::figure::median;
use crate::floor::micros;
use crate::handoff;
use crate::uncontended::cycle;
use crate::{Effort, Figure};

/// The name that stands in the certificates.
const CLUSTER: &str = "bench";
const LEASE: Duration = Duration::from_secs(10);
/// Cycles of either kind are measured alternately, this many at a time.
const TURN: u32 = 500;

pub(crate) fn price(effort: &Effort) -> Result<Vec<Figure>, Error> {
    runtime()?.block_on(async {
        let plain = Cluster::start(2).await?;
        let without = [plain.client(0).await?, plain.client(1).await?];
        let (encrypted, with) = encrypted().await?;
        let mut cycles = Pair::default();
        let begun = Instant::now();
        while begun.elapsed() < effort.time {
            cycles.add(self::cycles(&without[0]).await?, self::cycles(&with[0]).await?);
        }
        let mut hand_offs = Pair::default();
        let begun = Instant::now();
        while begun.elapsed() < effort.time {
            hand_offs.add(hand_off(&without).await?, hand_off(&with).await?);
        }
        plain.stop().await;
        encrypted.stop().await;
        Ok([cycles.figures("take and release", 1.4), hand_offs.figures("hand-off", 1.5)].concat())
    })
}

/// Times of the same work without and with encryption, in microseconds, and their ratio in each turn.
#[derive(Default)]
struct Pair {
    without: Vec<f64>,
    with: Vec<f64>,
    ratios: Vec<f64>,
}

impl Pair {
    fn add(&mut self, mut without: Vec<f64>, mut with: Vec<f64>) {
        self.ratios.push(median(&mut with) / median(&mut without));
        self.without.append(&mut without);
        self.with.append(&mut with);
    }

    fn figures(mut self, what: &str, most: f64) -> Vec<Figure> {
        vec![
            Figure::new(&format!("{what}, plain"), median(&mut self.without), "µs"),
            Figure::new(&format!("{what}, encrypted"), median(&mut self.with), "µs"),
            Figure::new(&format!("{what}, encrypted to plain"), median(&mut self.ratios), "").at_most(most),
        ]
    }
}

async fn cycles(client: &Tokenwood) -> Result<Vec<f64>, Error> {
    let (lock, mut times) = (client.mutex("cycle"), Vec::new());
    for _ in 0..TURN {
        let started = Instant::now();
        cycle(&lock).await?;
        times.push(micros(started));
    }
    Ok(times)
}

async fn hand_off(clients: &[Tokenwood; 2]) -> Result<Vec<f64>, Error> {
    handoff::turn(&clients[0].mutex("hand-off"), &clients[1].mutex("hand-off")).await
}

/// A cluster that encrypts everything, and a client of each node.
async fn encrypted() -> Result<(LocalCluster, [Tokenwood; 2]), Error> {
    let files = Certificates::make().map_err(|error| Error::Measurement(error.to_string()))?;
    let load = |holder: Holder| files.load(&holder).map_err(|error| Error::Measurement(error.to_string()));
    let nodes = [load(Holder::Node(0))?, load(Holder::Node(1))?];
    let client = load(Holder::Client("bench".to_string()))?;
    let mut for_clients = Vec::new();
    for _ in 0..2 {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        for_clients.push(listener.map_err(Error::at("cannot listen on loopback"))?);
    }
    let encryption = move |id: u32| Encryption::Required(nodes[id as usize].clone());
    let cluster = LocalCluster::start_encrypted(CLUSTER, for_clients, LEASE, |_| {}, encryption).await;
    let cluster = cluster.map_err(Error::at("cannot start a cluster"))?;
    let access = Access { encryption: Encryption::Required(client), token: None };
    let connect = |endpoint: &String| {
        Tokenwood::connect_with([endpoint.clone()], Options { access: access.clone(), ..Options::default() })
    };
    let clients = [connect(&cluster.endpoints[0]).await?, connect(&cluster.endpoints[1]).await?];
    Ok((cluster, clients))
}

/// Certificates in a folder that goes with them.
struct Certificates {
    folder: PathBuf,
    authority: Authority,
}

impl Certificates {
    fn make() -> Result<Certificates, SecurityError> {
        let folder = std::env::temp_dir().join(format!("tokenwood-bench-{}", std::process::id()));
        private_files::make_folder(&folder)?;
        let (authority, issued) = Authority::create(CLUSTER, Period::days(SystemTime::now(), 1)?)?;
        private_files::replace(&folder.join("ca.pem"), issued.certificate.as_bytes())?;
        Ok(Certificates { folder, authority })
    }

    fn load(&self, holder: &Holder) -> Result<Credentials, SecurityError> {
        let file = |ending: &str| self.folder.join(format!("{}.{ending}", holder.file_stem()));
        let issued = self.authority.issue(holder, Period::days(SystemTime::now(), 1)?)?;
        private_files::replace(&file("pem"), issued.certificate.as_bytes())?;
        private_files::replace(&file("key"), issued.key.as_bytes())?;
        let (certificate, key) = (Some(file("pem")), Some(file("key")));
        Credentials::load(Files { ca: self.folder.join("ca.pem"), certificate, key }, None)
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // What they were for is loaded, and no caller is left to tell.
        _ = std::fs::remove_dir_all(&self.folder);
    }
}
