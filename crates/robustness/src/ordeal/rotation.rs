//! The CA of an encrypted cluster is replaced under load, step by step, and every link is made anew after each step.

mod proxies;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;
use security::issue::{Folder, LEAF_DAYS, Written};
use security::{Credentials, Files, Holder, private_files};
use service::InWords;
use tokenwood::{Access, Admin, Encryption};
use tokio::time::{sleep, timeout};
use transport::peers::Timing;

use super::crashes::usual;
use super::report::Report;
use super::trial::{self, CLUSTER, Load, Plan, Tolerance, Trial};
use crate::node_processes::is_connected;
use crate::storm::{self, Proxy};
use proxies::Proxies;

const SCENARIO: &str = "rotation";
/// Nodes look at their files every five seconds; a busy machine takes longer. Links come back sooner.
const NOTICED_WITHIN: Duration = Duration::from_secs(30);
/// What a node logs when it has read new files.
const NOTICED: &str = "new connections use the new certificates";
/// How many clients each node has.
const CLIENTS: u32 = 2;
const CA: &str = "ca.pem";
const CERTIFICATE: &str = "own.pem";
const KEY: &str = "own.key";

/// `rotate`, `renew` and `rotate --finish`, as docs/security.md says, as often as there is time for; then the same without one
/// of the nodes, which has to be cut off by it.
pub(crate) async fn rotation(plan: Plan) -> Result<Report> {
    let mut rollover = Rollover::start(&plan).await?;
    let (begun, mut rotations) = (Instant::now(), 0);
    while rotations == 0 || begun.elapsed() < plan.time {
        rollover.rotate().await?;
        rotations += 1;
    }
    rollover.trial.report.count("rotations", rotations);
    rollover.judge_clients(plan.lease).await?;
    rollover.leave_one_out().await?;
    Ok(rollover.trial.close())
}

/// An encrypted cluster, and the files of all.
struct Rollover {
    trial: Trial,
    authority: Authority,
    proxies: Proxies,
    /// What this program itself shows.
    credentials: Credentials,
    /// Whether a node finds new files by itself. It takes seconds.
    with_patience: bool,
    cuts: [usize; 2],
    cut_at: Instant,
    /// How long links stand before they are cut.
    links_stand: Duration,
}

impl Rollover {
    async fn start(plan: &Plan) -> Result<Rollover> {
        let authority = Authority::found(plan.nodes)?;
        let mut setups = trial::setups(plan.nodes, None)?;
        for (id, setup) in (0..).zip(&mut setups) {
            setup.files = Some(authority.of(&Holder::Node(id)));
        }
        let proxies = Proxies::start(&mut setups).await?;
        let mut trial = Trial::of(SCENARIO, plan, None, setups)?;
        // The nodes know where they listen; all others call the proxies.
        for (setup, proxy) in trial.setups.iter_mut().zip(&proxies.before_clients) {
            setup.clients = proxy.address.clone();
        }
        let credentials = Credentials::load(authority.of(&client()), None)?;
        trial.access = Access { encryption: Encryption::Required(credentials.clone()), token: None };
        trial.launch_all().await?;
        let load = Load { files: Some(authority.of(&client())), ..usual(plan) };
        for node in trial.ids().repeat(CLIENTS as usize) {
            trial.editor(node, &load)?;
        }
        let mut rollover = Rollover {
            trial,
            authority,
            proxies,
            credentials,
            with_patience: !plan.is_short(),
            cuts: [0; 2],
            cut_at: Instant::now(),
            links_stand: Timing::default().silence_limit * 6 / 5,
        };
        rollover.until_all_served_again().await;
        Ok(rollover)
    }

    /// The three steps. Nobody notices but the holder of an old certificate.
    async fn rotate(&mut self) -> Result<()> {
        let (everyone, old) = (self.trial.ids(), self.authority.keep_old()?);
        self.authority.folder.begin_rotation()?;
        self.hand_out("both CAs", &everyone, &[CA]).await?;
        let old = Files { ca: self.authority.of(&client()).ca, ..old };
        // With both CAs, which the old client needs to trust the new nodes.
        let old = Files { ca: self.authority.keep(&old.ca, "both.pem")?, ..old };
        self.authority.renew_all()?;
        self.hand_out("new certificates", &everyone, &[KEY, CERTIFICATE]).await?;
        let admitted = self.admits(&old).await;
        self.trial.report.demand(admitted.is_ok(), || {
            format!("the old certificate counts until the end, but: {:#}", admitted.unwrap_err())
        });
        self.authority.folder.finish_rotation()?;
        self.hand_out("the new CA alone", &everyone, &[CA]).await?;
        let admitted = self.admits(&old).await;
        self.trial
            .report
            .demand(admitted.is_err(), || "the nodes accept a certificate of the old CA".to_string());
        Ok(())
    }

    /// Gives these files to these nodes and to all clients, waits until all use them, and cuts all connections.
    async fn hand_out(&mut self, what: &str, to: &[u32], files: &[&str]) -> Result<()> {
        self.trial.note(&format!("{what} for {to:?}"));
        let mut before = Vec::new();
        for node in to {
            before.push(self.noticed(*node)?);
            self.authority.copy(&Holder::Node(*node), files)?;
            // One of them is not told, and has to look for itself.
            if !self.with_patience || *node > 0 {
                self.trial.signal(*node, Signal::HUP)?;
            }
        }
        self.authority.copy(&client(), files)?;
        self.credentials.reload()?;
        for (node, before) in to.iter().zip(before) {
            let begun = Instant::now();
            while self.noticed(*node)? == before {
                anyhow::ensure!(begun.elapsed() < NOTICED_WITHIN, "node {node} does not notice {what}");
                sleep(Duration::from_millis(20)).await;
            }
        }
        self.until_all_served_again().await;
        // Nodes call each other again the later the shorter their links stood, and operators take their time, too.
        sleep(self.links_stand.saturating_sub(self.cut_at.elapsed())).await;
        self.cut_all();
        Ok(())
    }

    /// How often a node has begun to use new files.
    fn noticed(&self, node: u32) -> Result<usize> {
        Ok(self.trial.said_by(node)?.matches(NOTICED).count())
    }

    /// Two grants for each client: it looks at its files before it asks for the second.
    async fn until_all_served_again(&mut self) {
        for _ in 0..2 {
            let waiting = self.trial.until_served(storm::now(), NOTICED_WITHIN).await;
            self.trial.report.demand(waiting.is_empty(), || format!("clients {waiting:?} are not served"));
        }
    }

    /// All links and connections of clients have to be made anew.
    fn cut_all(&mut self) {
        let cut = |proxies: &[Proxy]| proxies.iter().map(Proxy::cut_all).sum::<usize>();
        let now = [cut(&self.proxies.between_nodes), cut(&self.proxies.before_clients)];
        self.trial.note(&format!("{} connections of nodes and {} of clients are cut", now[0], now[1]));
        self.cut_at = Instant::now();
        self.cuts[0] += now[0];
        self.cuts[1] += now[1];
        self.trial.report.demand(now[0] > 0, || "no node had a connection that could be cut".to_string());
    }

    /// Whether all nodes let a client with these files in.
    async fn admits(&self, files: &Files) -> Result<()> {
        let encryption = Encryption::Required(Credentials::load(files.clone(), None)?);
        let access = Access { encryption, token: None };
        for setup in &self.trial.setups {
            let asking = async { Admin::connect_with(&setup.clients, &access).await?.cluster().await };
            timeout(NOTICED_WITHIN, asking).await.context("no answer")??;
        }
        Ok(())
    }

    async fn judge_clients(&mut self, lease: Duration) -> Result<()> {
        self.until_all_served_again().await;
        let waits = self.trial.arrivals().into_iter().map(|arrival| arrival.at - arrival.asked);
        let longest = waits.max().unwrap_or_default();
        self.trial.report.count("cut_between_nodes", self.cuts[0]);
        self.trial.report.count("cut_from_clients", self.cuts[1]);
        self.trial.judge_clients(Tolerance::default()).await?;
        let (report, lost) = (&mut self.trial.report, self.trial.tally.lost);
        let stall = self.proxies.longest_stall();
        report.count("lost_grants", lost);
        report.seconds("longest_stall_seconds", stall.as_secs_f64());
        if (lost > 0 || longest > lease) && stall > lease / 4 {
            let (stall, longest) = (InWords(stall), InWords(longest));
            report.not_run = Some(format!(
                "this machine is too busy: it stopped the proxies for {stall}; {lost} grants were lost, and a client \
                 waited for {longest}"
            ));
            return Ok(());
        }
        report.demand(lost == 0, || format!("{lost} grants were lost"));
        report.demand(longest <= lease, || {
            format!("a client waited for {}, longer than a lease", InWords(longest))
        });
        Ok(())
    }

    /// One node is given nothing: the others refuse it, and it them, until it has the files. Without this, the scenario could
    /// not fail.
    async fn leave_one_out(&mut self) -> Result<()> {
        let mut others = self.trial.ids();
        let Some(forgotten) = others.pop() else { return Ok(()) };
        self.authority.folder.begin_rotation()?;
        self.authority.renew_all()?;
        self.authority.folder.finish_rotation()?;
        self.trial.note(&format!("node {forgotten} is given nothing"));
        self.hand_out("all of it", &others, &[CA, KEY, CERTIFICATE]).await?;
        let (begun, endpoint) = (Instant::now(), self.trial.setups[0].clients.clone());
        let mut is_out = false;
        while !is_out && begun.elapsed() < NOTICED_WITHIN {
            is_out = is_connected(&endpoint, others.len(), &self.trial.access).await;
            sleep(Duration::from_millis(20)).await;
        }
        let report = &mut self.trial.report;
        report.count("excluded_without_new_files", u32::from(is_out));
        report.demand(is_out, || format!("node {forgotten} was given no new files, and is still a member"));
        self.authority.copy(&Holder::Node(forgotten), &[CA, KEY, CERTIFICATE])?;
        self.trial.signal(forgotten, Signal::HUP)?;
        let whole = self.trial.until_whole(NOTICED_WITHIN).await;
        let report = &mut self.trial.report;
        report.demand(whole.is_ok(), || {
            format!("node {forgotten} has the new files, but: {:#}", whole.unwrap_err())
        });
        Ok(())
    }
}

fn client() -> Holder {
    Holder::Client("editor".to_string())
}

/// The folder of the CA, and a folder for each holder with its copies.
struct Authority {
    folder: Folder,
    path: PathBuf,
    leaves: Vec<(Holder, Written)>,
}

impl Authority {
    fn found(nodes: u32) -> Result<Authority> {
        let path = trial::folder(SCENARIO).join("certs");
        let folder = Folder::new(&path);
        folder.init(CLUSTER)?;
        let holders = (0..nodes).map(Holder::Node).chain([client()]);
        let leaves = holders
            .map(|holder| {
                let written = folder.issue(&holder, LEAF_DAYS)?;
                Ok((holder, written))
            })
            .collect::<Result<Vec<_>>>()?;
        let authority = Authority { folder, path, leaves };
        for (holder, _) in &authority.leaves {
            private_files::make_folder(&authority.place(holder))?;
            authority.copy(holder, &[CA, KEY, CERTIFICATE])?;
        }
        Ok(authority)
    }

    fn place(&self, holder: &Holder) -> PathBuf {
        self.path.join("copies").join(holder.file_stem())
    }

    /// The copies of a holder.
    fn of(&self, holder: &Holder) -> Files {
        let place = self.place(holder);
        Files { ca: place.join(CA), certificate: Some(place.join(CERTIFICATE)), key: Some(place.join(KEY)) }
    }

    /// Copies these files to a holder, each at once.
    fn copy(&self, holder: &Holder, files: &[&str]) -> Result<()> {
        let leaf = self.leaves.iter().find(|(of, _)| of == holder).map(|(_, written)| written);
        let leaf = leaf.context("no certificate was issued")?;
        for file in files {
            let from = match *file {
                CERTIFICATE => leaf.certificate.clone(),
                KEY => leaf.key.clone(),
                _ => self.path.join(CA),
            };
            private_files::replace(&self.place(holder).join(file), &fs::read(from)?)?;
        }
        Ok(())
    }

    fn renew_all(&self) -> Result<()> {
        for (_, written) in &self.leaves {
            self.folder.renew(&written.certificate, LEAF_DAYS)?;
        }
        Ok(())
    }

    /// Keeps what a client has now.
    fn keep_old(&self) -> Result<Files> {
        let Files { ca, certificate, key } = self.of(&client());
        let keep = |file: Option<PathBuf>, name| file.map(|file| self.keep(&file, name)).transpose();
        Ok(Files { ca, certificate: keep(certificate, "old.pem")?, key: keep(key, "old.key")? })
    }

    fn keep(&self, file: &Path, name: &str) -> Result<PathBuf> {
        let kept = self.path.join("copies").join(name);
        private_files::replace(&kept, &fs::read(file)?)?;
        Ok(kept)
    }
}
