//! Asking all nodes of a cluster: one tells who the others are, and then each is asked itself.

use std::future::Future;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Value, json};
use tokenwood::{Admin, Error, NoAnswer, NodeStatus, PeerStatus, first_that_answers};
use tokio::task::JoinSet;

use crate::locks::endpoints::{Endpoints, NO_CLUSTER, runtime};
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
    pub(crate) fn ask_all<T, F>(&self, ask: impl Fn(Admin) -> F) -> Result<Vec<Answered<T>>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        runtime()?.block_on(async {
            let (mut connecting, mut asked) = (JoinSet::new(), JoinSet::new());
            for PeerStatus { id, endpoint, .. } in members(&self.endpoints).await? {
                connecting.spawn(async move { (id, connect(endpoint.as_deref()).await, endpoint) });
            }
            while let Some(connected) = connecting.join_next().await {
                let (id, admin, endpoint) = connected?;
                let answer = admin.map(&ask);
                asked.spawn(async move {
                    let answer = match answer {
                        Ok(answer) => answer.await.map_err(reason),
                        Err(why) => Err(why),
                    };
                    Answered { id, endpoint, answer }
                });
            }
            let mut answers = asked.join_all().await;
            answers.sort_by_key(|answered| answered.id);
            Ok(answers)
        })
    }

    /// A connection to the first node that answers.
    pub(crate) async fn first(&self) -> Result<Admin> {
        Admin::connect_first(&self.endpoints.named()).await.context(NO_CLUSTER)
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
    let attempt = async |endpoint: String| {
        let answer = async { call(&mut Admin::connect(&endpoint).await?).await };
        match answer.await {
            Err(Error::NoAnswer { why, .. }) => Err(why),
            answer => Ok(answer),
        }
    };
    Ok(first_that_answers(&endpoints.named(), attempt).await.context(NO_CLUSTER)??)
}

/// A member and what it answered, or why it did not.
pub(crate) struct Answered<T> {
    pub(crate) id: u32,
    /// Where it was asked; unknown if no other node knows it.
    pub(crate) endpoint: Option<String>,
    pub(crate) answer: Result<T, String>,
}

/// The exit code of commands that ask all nodes, if one gave no answer: what they show is not all there is.
pub(crate) const NO_ANSWER: u8 = 69;

/// All members, as the first node knows them that answers.
pub(crate) async fn members(endpoints: &Endpoints) -> Result<Vec<PeerStatus>> {
    let ask = async |admin: &mut Admin| Ok((admin.status().await?, admin.endpoint().to_string()));
    let (NodeStatus { node, mut members }, endpoint) = with_first(endpoints, ask).await?;
    // The endpoint that has just worked is better than the advertised one.
    let asked = members.iter_mut().find(|member| member.id == node.node);
    asked.into_iter().for_each(|asked| asked.endpoint = Some(endpoint.clone()));
    Ok(members)
}

/// Connects to a member, if it is known where that is.
async fn connect(endpoint: Option<&str>) -> Result<Admin, String> {
    match endpoint {
        Some(endpoint) => Admin::connect(endpoint).await.map_err(reason),
        None => Err(NoAnswer::UnknownAddress.to_string()),
    }
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

    /// A node that gave no answer, as JSON.
    pub(crate) fn silence(&self) -> Option<Value> {
        let why = self.answer.as_ref().err()?;
        Some(json!({ "node": self.id, "endpoint": self.endpoint, "error": why }))
    }
}

/// Whether all nodes answered.
pub(crate) fn is_complete<T>(answers: &[Answered<T>]) -> bool {
    answers.iter().all(|answered| answered.answer.is_ok())
}

/// Notes which nodes gave no answer. Returns the exit code of the command.
pub(crate) fn note_silence<T>(answers: &[Answered<T>]) -> u8 {
    for answered in answers {
        if let Err(why) = &answered.answer {
            note!("tokenwood: node {} at {}: no answer: {why}", answered.id, answered.place());
        }
    }
    if is_complete(answers) {
        return 0;
    }
    note!(
        "tokenwood: the output is without those nodes; remove a node that is gone for good with 'tokenwood members remove ID'"
    );
    NO_ANSWER
}
