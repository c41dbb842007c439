//! Asking one node again and again over one connection, each time for a bounded part of what it knows.

use std::time::{Duration, Instant};

use service::core::{Cursor, Listing, NameUse};
use service::protocol::{Cluster, Counters, Voters};
use tokenwood::{Access, Admin, Error, Filter, NoAnswer, NodeStatus};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::locks::cluster::reason;

/// A node that has not answered everything within this time gave no answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// A node that hangs up this often when it hears of counters is of a version that does not know them.
const HANGS_UP: u32 = 2;

/// What to ask for. The main loop changes it, and the next question of each node is about that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Only names that begin so.
    pub(super) prefix: String,
    /// Names that are asked for each time.
    pub(super) tracked: Vec<String>,
    /// So many pages of all names are asked for each time, one after the other, and then from the beginning.
    pub(super) pages: usize,
    /// The name to tell everything about.
    pub(super) inspected: Option<String>,
}

/// What a node answered.
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) incarnation: u64,
    pub(super) status: NodeStatus,
    pub(super) cluster: Cluster,
    pub(super) voters: Voters,
    /// Nothing from a node of an older version.
    pub(super) counters: Option<Counters>,
    /// The prefix that was asked for.
    pub(super) prefix: String,
    pub(super) uses: Uses,
    pub(super) inspected: Option<Inspected>,
}

/// How much names are used at a node.
#[derive(Default)]
pub(super) struct Uses {
    /// The names that were asked for one by one: what is missing is not in use.
    pub(super) tracked: Vec<String>,
    /// Of these and of the pages.
    pub(super) found: Vec<NameUse>,
    /// Whether the last of the pages was the last there is.
    pub(super) round_ends: bool,
}

/// What a node knows of one name.
pub(super) struct Inspected {
    pub(super) name: String,
    pub(super) home: u32,
    pub(super) listings: Vec<Listing>,
    /// There is more than fits on a page.
    pub(super) more: bool,
}

/// Where a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) id: u32,
    pub(super) endpoint: Option<String>,
    pub(super) cluster: String,
}

/// Asks one node, and keeps the connection.
pub(super) struct Asker {
    place: watch::Receiver<Place>,
    access: Access,
    admin: Option<Admin>,
    /// Where the last page ended.
    cursor: Option<Cursor>,
    /// The prefix that the pages are about.
    prefix: String,
    /// How often this incarnation has hung up when it was asked for counters.
    hung_up: (u64, u32),
}

impl Asker {
    pub(super) fn new(place: watch::Receiver<Place>, access: Access) -> Asker {
        Asker { place, access, admin: None, cursor: None, prefix: String::new(), hung_up: (0, 0) }
    }

    /// Asks every so often until nothing receives the answers any more.
    pub(super) async fn ask_every(
        mut self,
        every: Duration,
        mut wanted: watch::Receiver<Wanted>,
        answers: mpsc::Sender<(u32, Result<Sample, String>)>,
    ) {
        loop {
            let begun = Instant::now();
            let what = wanted.borrow_and_update().clone();
            let id = self.place.borrow().id;
            let answer = match timeout(ANSWER_LIMIT, self.ask(&what)).await {
                Ok(answer) => answer,
                Err(_) => Err(NoAnswer::TimedOut(ANSWER_LIMIT).to_string()),
            };
            if answer.is_err() {
                // An answer that comes late would be taken for that to the next question.
                self.admin = None;
            }
            if answers.send((id, answer)).await.is_err() {
                return;
            }
            // At least a moment, also if the node took longer than that to answer.
            let pause = every.saturating_sub(begun.elapsed()).max(every / 10);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                // A key that asks for something else is answered at once.
                changed = wanted_changed(&mut wanted, &what) => if !changed { return },
                changed = self.place.changed() => if changed.is_err() { return } else { self.admin = None },
            }
        }
    }

    async fn ask(&mut self, wanted: &Wanted) -> Result<Sample, String> {
        let mut admin = match self.admin.take() {
            Some(admin) => admin,
            None => self.connect().await?,
        };
        let incarnation = admin.node().incarnation;
        let status = admin.status().await.map_err(reason)?;
        let cluster = admin.cluster().await.map_err(reason)?;
        let place = self.place.borrow().clone();
        if cluster.name != place.cluster {
            return Err(NoAnswer::OtherCluster(cluster.name).to_string());
        }
        let voters = admin.voters().await.map_err(reason)?;
        let (mut counters, mut uses) = (None, Uses::default());
        if self.hung_up.0 != incarnation {
            self.hung_up = (incarnation, 0);
        }
        if self.hung_up.1 < HANGS_UP {
            match admin.counters().await {
                Ok(counted) => counters = Some(counted),
                Err(error) => {
                    let closed = matches!(&error, Error::NoAnswer { why: NoAnswer::Closed, .. });
                    self.hung_up.1 += u32::from(closed);
                    return Err(reason(error));
                }
            }
            self.hung_up.1 = 0;
            uses = self.uses(&mut admin, wanted).await.map_err(reason)?;
        }
        let mut inspected = None;
        if let Some(name) = &wanted.inspected {
            let (home, page) = admin.inspect_page(name, None).await.map_err(reason)?;
            let (name, more) = (name.clone(), page.next.is_some());
            inspected = Some(Inspected { name, home, listings: page.listings, more });
        }
        self.admin = Some(admin);
        let (at, prefix) = (Instant::now(), wanted.prefix.clone());
        Ok(Sample { at, incarnation, status, cluster, voters, counters, prefix, uses, inspected })
    }

    async fn connect(&mut self) -> Result<Admin, String> {
        let Place { id, endpoint, .. } = self.place.borrow().clone();
        let Some(endpoint) = endpoint else { return Err(NoAnswer::UnknownAddress.to_string()) };
        Admin::connect_to(id, &endpoint, &self.access).await.map_err(reason)
    }

    async fn uses(&mut self, admin: &mut Admin, wanted: &Wanted) -> Result<Uses, Error> {
        let mut uses = Uses { tracked: wanted.tracked.clone(), ..Uses::default() };
        if !wanted.tracked.is_empty() {
            let filter = Filter { names: wanted.tracked.clone(), prefixes: Vec::new() };
            let mut next = None;
            // Each page has at least one of them.
            for _ in 0..=wanted.tracked.len() {
                let page = admin.uses_page(filter.clone(), next).await?;
                uses.found.extend(page.uses);
                next = page.next;
                if next.is_none() {
                    break;
                }
            }
        }
        if self.prefix != wanted.prefix {
            (self.prefix, self.cursor) = (wanted.prefix.clone(), None);
        }
        let prefixes = if wanted.prefix.is_empty() { Vec::new() } else { vec![wanted.prefix.clone()] };
        let filter = Filter { names: Vec::new(), prefixes };
        for _ in 0..wanted.pages {
            let page = admin.uses_page(filter.clone(), self.cursor.take()).await?;
            uses.found.extend(page.uses);
            self.cursor = page.next;
            uses.round_ends = self.cursor.is_none();
            if uses.round_ends {
                break;
            }
        }
        Ok(uses)
    }
}

/// Waits until a key asks for other names. What the main loop wants to be tracked can wait. False if it has ended.
async fn wanted_changed(wanted: &mut watch::Receiver<Wanted>, before: &Wanted) -> bool {
    let is_urgent =
        |wanted: &Wanted| (&wanted.prefix, &wanted.inspected) != (&before.prefix, &before.inspected);
    wanted.wait_for(is_urgent).await.is_ok()
}
