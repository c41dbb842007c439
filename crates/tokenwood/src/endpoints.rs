//! Trying endpoints one after the other: the one way to find a node that answers.

use crate::error::{Error, NoAnswer};

/// What `attempt` gets from the first of these endpoints where it succeeds. An attempt fails with a reason why
/// the node does not answer; the error has all of them.
pub async fn first_that_answers<T, A>(endpoints: &[String], attempt: impl Fn(String) -> A) -> Result<T, Error>
where
    A: Future<Output = Result<T, NoAnswer>>,
{
    let mut tried = Vec::new();
    for endpoint in endpoints {
        match attempt(endpoint.clone()).await {
            Ok(answer) => return Ok(answer),
            Err(why) => tried.push((endpoint.clone(), why)),
        }
    }
    Err(Error::NoNode(tried))
}
