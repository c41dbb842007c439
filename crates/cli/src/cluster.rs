//! Asking all nodes of a cluster: one tells who the others are, and then each is asked itself.

use anyhow::{Context, Result};
use clap::Args;
use client::{Error, Observer, Question, Told};
use serde_json::{Value, json};
use service::protocol::Member;
use tokio::task::JoinSet;

use crate::check_arguments::Format;
use crate::endpoints::{Endpoints, NO_CLUSTER, runtime};
use crate::output::say;

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
    /// Where to ask, one after the other.
    pub(crate) fn endpoints(&self) -> Vec<String> {
        self.endpoints.named()
    }

    /// Asks all members.
    pub(crate) fn ask_all(&self, question: &Question) -> Result<Vec<Answered>> {
        runtime()?.block_on(ask_all(&self.endpoints, question))
    }

    /// A connection to the first node that answers.
    pub(crate) async fn first(&self) -> Result<Observer> {
        let mut tried = Vec::new();
        for endpoint in self.endpoints.named() {
            match Observer::connect(&endpoint).await {
                Ok(observer) => return Ok(observer),
                Err(error) => tried.push((endpoint, reason(error))),
            }
        }
        Err(Error::NoNode(tried)).context(NO_CLUSTER)
    }
}

/// A member and what it answered, or why it did not.
pub(crate) struct Answered {
    pub(crate) id: u32,
    /// Where it was asked; unknown if no other node knows it.
    pub(crate) endpoint: Option<String>,
    pub(crate) answer: Result<Told, String>,
}

/// Asks all members the same at once. Their answers come in the order of ids.
async fn ask_all(endpoints: &Endpoints, question: &Question) -> Result<Vec<Answered>> {
    let mut asked = JoinSet::new();
    for member in members(endpoints).await? {
        let question = question.clone();
        asked.spawn(async move {
            let answer = match &member.endpoint {
                Some(endpoint) => ask(endpoint, question).await.map_err(reason),
                None => Err("nobody has told yet where clients reach it".to_string()),
            };
            Answered { id: member.id, endpoint: member.endpoint, answer }
        });
    }
    let mut answers = asked.join_all().await;
    answers.sort_by_key(|answered| answered.id);
    Ok(answers)
}

/// All members, as the first node knows them that answers.
pub(crate) async fn members(endpoints: &Endpoints) -> Result<Vec<Member>> {
    let mut tried = Vec::new();
    for endpoint in endpoints.named() {
        match ask(&endpoint, Question::Status).await {
            Ok(Told::Status { node, mut members }) => {
                // The way that has just worked is better than the one that is told to others.
                let asked = members.iter_mut().find(|member| member.id == node.node);
                asked.into_iter().for_each(|asked| asked.endpoint = Some(endpoint.clone()));
                return Ok(members);
            }
            Ok(_) => {
                tried.push((endpoint, "it answers something else: is it of another version?".to_string()));
            }
            Err(error) => tried.push((endpoint, reason(error))),
        }
    }
    Err(Error::NoNode(tried)).context(NO_CLUSTER)
}

/// Asks one node.
pub(crate) async fn ask(endpoint: &str, question: Question) -> Result<Told, Error> {
    Observer::connect(endpoint).await?.ask(question).await
}

/// Why there is no answer, where it is clear whose.
pub(crate) fn reason(error: Error) -> String {
    match error {
        Error::NoAnswer { why, .. } => why,
        other => other.to_string(),
    }
}

impl Answered {
    /// Where it was asked, for people.
    pub(crate) fn place(&self) -> &str {
        self.endpoint.as_deref().unwrap_or("–")
    }

    /// What there is to say in JSON about whoever did not answer.
    pub(crate) fn silence(&self) -> Option<Value> {
        let why = self.answer.as_ref().err()?;
        Some(json!({ "node": self.id, "endpoint": self.endpoint, "error": why }))
    }
}

/// Says who did not answer.
pub(crate) fn say_who_is_silent(answers: &[Answered]) {
    for answered in answers {
        if let Err(why) = &answered.answer {
            say!("node {}  {}  no answer: {why}", answered.id, answered.place());
        }
    }
}
