//! Asking all nodes of a cluster: one tells who the others are, and then each is asked itself.

use std::future::Future;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use service::protocol::{Cluster, ClusterNode, Voters};
use tokenwood::{Access, Admin, Error, NoAnswer, first_that_answers};
use tokio::task::JoinSet;

use crate::locks::endpoints::{Endpoints, runtime, unreached};
use crate::terminal::format::Format;
use crate::terminal::output::note;

/// Where to ask, and how to show the answer.
#[derive(Args)]
pub(crate) struct Asking {
    #[command(flatten)]
    endpoints: Endpoints,
    /// A table for people, JSON for scripts
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

impl Asking {
    /// Asks all members the same at once. Their answers come in the order of ids.
    pub(crate) fn ask_all<T, F>(&self, ask: impl Fn(Admin) -> F) -> Result<Answers<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        runtime()?.block_on(async {
            let (mut connecting, mut asked) = (JoinSet::new(), JoinSet::new());
            let around = around(&self.endpoints).await?;
            let access = self.endpoints.access()?;
            for member in around.members() {
                let (known, access) = (around.cluster.clone(), access.clone());
                connecting.spawn(async move {
                    let connected = connect(&member, &known, &access).await;
                    (member, connected)
                });
            }
            while let Some(connected) = connecting.join_next().await {
                let (Member { id, endpoint, .. }, connected) = connected?;
                let (answer, lease) = match connected {
                    Ok((admin, lease)) => (Ok(ask(admin)), Some(lease)),
                    Err(why) => (Err(why), None),
                };
                asked.spawn(async move {
                    let answer = match answer {
                        Ok(answer) => answer.await.map_err(reason),
                        Err(why) => Err(why),
                    };
                    Answered { id, endpoint, lease, answer }
                });
            }
            let mut nodes = asked.join_all().await;
            nodes.sort_by_key(|answered| answered.id);
            Ok(Answers { around, nodes })
        })
    }

    /// A connection to the first node that answers.
    pub(crate) async fn first(&self) -> Result<Admin> {
        Admin::connect_first(&self.endpoints.named(), &self.endpoints.access()?).await.map_err(unreached)
    }

    /// How to get in.
    pub(crate) fn access(&self) -> Result<Access> {
        self.endpoints.access()
    }

    /// The cluster, as the first node sees it that answers.
    pub(crate) fn around(&self) -> Result<Around> {
        runtime()?.block_on(around(&self.endpoints))
    }

    /// What the first node that answers says. A node that cannot be reached, or does not answer this, is
    /// passed over; a node that refuses is not.
    pub(crate) fn with_first<T>(&self, call: impl AsyncFn(&mut Admin) -> Result<T, Error>) -> Result<T> {
        runtime()?.block_on(with_first(&self.endpoints, call))
    }
}

async fn with_first<T>(
    endpoints: &Endpoints,
    call: impl AsyncFn(&mut Admin) -> Result<T, Error>,
) -> Result<T> {
    let access = endpoints.access()?;
    let attempt = async |endpoint: String| {
        let answer = async { call(&mut Admin::connect_with(&endpoint, &access).await?).await };
        match answer.await {
            Err(Error::NoAnswer { why, .. }) => Err(why),
            answer => Ok(answer),
        }
    };
    Ok(first_that_answers(&endpoints.named(), attempt).await.map_err(unreached)??)
}

/// The cluster, as one node sees it.
pub(crate) struct Around {
    pub(crate) cluster: Cluster,
    /// Where that node was asked.
    pub(crate) endpoint: String,
    /// Who votes, if the node knows that question.
    pub(crate) voters: Voters,
}

/// A member to ask.
pub(crate) struct Member {
    pub(crate) id: u32,
    /// Where it advertises to be; unknown if the node that told of it does not know.
    pub(crate) endpoint: Option<String>,
    /// The incarnation that is a member.
    incarnation: Option<u64>,
}

impl Member {
    pub(crate) fn of(node: &ClusterNode) -> Member {
        Member { id: node.id, endpoint: node.clients.clone(), incarnation: node.incarnation }
    }
}

/// What the members answered.
pub(crate) struct Answers<T> {
    pub(crate) around: Around,
    pub(crate) nodes: Vec<Answered<T>>,
}

/// A member and what it answered, or why it did not.
pub(crate) struct Answered<T> {
    pub(crate) id: u32,
    /// Where it was asked; unknown if no other node knows it.
    pub(crate) endpoint: Option<String>,
    /// How much is left of its lease, if it answered: a node without one grants nothing.
    pub(crate) lease: Option<Duration>,
    pub(crate) answer: Result<T, String>,
}

/// The exit code of commands that ask the cluster, if a node gave no answer, so that what they show is not all there is; or if
/// no node can grant.
pub(crate) const UNAVAILABLE: u8 = 69;

/// The cluster, as the first node sees it that answers.
pub(crate) async fn around(endpoints: &Endpoints) -> Result<Around> {
    let ask = async |admin: &mut Admin| {
        let cluster = admin.cluster().await?;
        let endpoint = admin.endpoint().to_string();
        // A node of before does not know the question, and hangs up.
        let voters = admin.voters().await.unwrap_or_default();
        Ok(Around { cluster, endpoint, voters })
    };
    with_first(endpoints, ask).await
}

impl Around {
    /// The members, and in any case the node that was asked.
    pub(crate) fn members(&self) -> Vec<Member> {
        let asked = self.cluster.asked;
        let known = self.cluster.nodes.iter().filter(|node| node.incarnation.is_some() && node.id != asked);
        // The endpoint that has just worked is better than the advertised one.
        let asked = Member { id: asked, endpoint: Some(self.endpoint.clone()), incarnation: None };
        let mut members: Vec<Member> = known.map(Member::of).chain([asked]).collect();
        members.sort_by_key(|member| member.id);
        members
    }

    /// The nodes of the cluster; before it has begun, those that it is to begin with.
    pub(crate) fn nodes(&self) -> Vec<ClusterNode> {
        let mut nodes = self.cluster.nodes.clone();
        for voter in &self.voters.voters {
            if !nodes.iter().any(|node| node.id == voter.id) {
                let address = voter.address.clone();
                nodes.push(ClusterNode {
                    id: voter.id,
                    address,
                    clients: None,
                    incarnation: None,
                    votes: true,
                });
            }
        }
        nodes.sort_by_key(|node| node.id);
        nodes
    }

    /// What the cluster waits for, if no node can grant for lack of it.
    pub(crate) fn waiting(&self) -> Option<String> {
        self.voters.waiting()
    }
}

/// Connects to a member, if it is known where that is and it is there. Returns also how much is left of its lease.
async fn connect(member: &Member, known: &Cluster, access: &Access) -> Result<(Admin, Duration), String> {
    let Some(endpoint) = &member.endpoint else { return Err(NoAnswer::UnknownAddress.to_string()) };
    let mut admin = Admin::connect_to(member.id, endpoint, access).await.map_err(reason)?;
    let told = admin.cluster().await.map_err(reason)?;
    // Another incarnation has just started, or is that of another cluster: then the two have no node in common.
    let is_another = member.incarnation.is_some_and(|incarnation| incarnation != admin.node().incarnation);
    let common =
        |node: &ClusterNode| known.nodes.iter().any(|it| (it.id, &it.address) == (node.id, &node.address));
    if told.name != known.name || (is_another && !told.nodes.iter().any(common)) {
        return Err(NoAnswer::OtherCluster(told.name).to_string());
    }
    Ok((admin, told.lease_left))
}

/// Why there is no answer, where it is clear whose.
pub(crate) fn reason(error: Error) -> String {
    match error {
        Error::NoAnswer { why, .. } => why.to_string(),
        other => other.to_string(),
    }
}

impl<T> Answered<T> {
    /// Where it was asked, for people.
    pub(crate) fn place(&self) -> &str {
        self.endpoint.as_deref().unwrap_or("–")
    }

    /// A node that gave no answer, for scripts.
    fn silence(&self) -> Option<Silence<'_>> {
        let error = self.answer.as_ref().err()?;
        Some(Silence { node: self.id, endpoint: self.endpoint.as_deref(), error })
    }

    /// Whether its lease has run out: what its clients hold there may be granted to others.
    pub(crate) fn has_lapsed(&self) -> bool {
        self.lease == Some(Duration::ZERO)
    }
}

/// What the answers of a cluster lack, for scripts: what the notes say to people.
#[derive(Serialize)]
pub(crate) struct Trouble<'a> {
    /// The nodes that gave no answer.
    no_answer: Vec<Silence<'a>>,
    /// The nodes that answered without a lease.
    no_lease: Vec<u32>,
    /// Whether a node that answered can grant.
    grants: bool,
    /// What the cluster waits for, if a majority of the voters is not there.
    waiting: Option<String>,
}

/// A node that gave no answer.
#[derive(Serialize)]
struct Silence<'a> {
    node: u32,
    endpoint: Option<&'a str>,
    error: &'a str,
}

impl<T> Answers<T> {
    /// Whether all nodes answered.
    pub(crate) fn are_complete(&self) -> bool {
        self.nodes.iter().all(|answered| answered.answer.is_ok())
    }

    /// What is missing, for scripts.
    pub(crate) fn trouble(&self) -> Trouble<'_> {
        let lapsed = self.nodes.iter().filter(|answered| answered.has_lapsed());
        Trouble {
            no_answer: self.nodes.iter().filter_map(Answered::silence).collect(),
            no_lease: lapsed.map(|answered| answered.id).collect(),
            grants: self.can_grant(),
            waiting: self.around.waiting(),
        }
    }

    /// Whether a node that answered has a lease.
    pub(crate) fn can_grant(&self) -> bool {
        self.nodes.iter().any(|answered| answered.lease.is_some() && !answered.has_lapsed())
    }

    /// Notes which nodes gave no answer or have no lease. Returns the exit code of the command.
    pub(crate) fn note_trouble(&self) -> u8 {
        for answered in &self.nodes {
            if let Err(why) = &answered.answer {
                note!("tokenwood: node {} at {}: no answer: {why}", answered.id, answered.place());
            } else if answered.has_lapsed() {
                note!(
                    "tokenwood: node {} has no lease and grants nothing: what it shows may be out of date",
                    answered.id
                );
            }
        }
        if !self.are_complete() {
            note!(
                "tokenwood: the output is without those nodes; remove a node that is gone for good with 'tokenwood members remove ID'"
            );
        }
        if !self.can_grant() {
            let why =
                self.around.waiting().unwrap_or_else(|| "no node that answered has a lease".to_string());
            note!("tokenwood: the cluster grants nothing: {why}");
        }
        if self.are_complete() && self.can_grant() { 0 } else { UNAVAILABLE }
    }
}
