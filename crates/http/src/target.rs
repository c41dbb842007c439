//! What a path names: a lock, a definition or a session, and what to do with a lock.

use axum::extract::{FromRequestParts, Path};
use axum::http::Uri;
use axum::http::request::Parts;

use crate::problem::Problem;

/// What can be done with a lock by the last part of its path, and the method for it.
pub(crate) const VERBS: [(&str, &str); 3] = [("acquire", "POST"), ("force", "POST"), ("renew", "PUT")];
/// The methods for a lock itself.
const OF_A_LOCK: &str = "GET,HEAD,DELETE";

/// What is named by the end of a path, decoded.
pub(crate) struct Named(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named, Problem> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(name) = path.map_err(|_| Problem::bad_request("the path is not UTF-8"))?;
        Ok(Named(name))
    }
}

/// A lock, and the verb behind it. A method that does not fit is refused before anything else is looked at.
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) verb: Option<&'static str>,
}

/// The verb of a path, with its method. Only a part of the path that is not encoded is one: `/v1/locks/a%2Facquire` is the lock
/// `a/acquire`.
fn verb(uri: &Uri) -> Option<(&'static str, &'static str)> {
    let (before, last) = uri.path().rsplit_once('/')?;
    VERBS.into_iter().find(|(verb, _)| before != "/v1/locks" && *verb == last)
}

/// The methods that fit a path below `/v1/locks/`. For other paths the router knows them.
pub(crate) fn allow(uri: &Uri) -> Option<&'static str> {
    uri.path().starts_with("/v1/locks/").then(|| verb(uri).map_or(OF_A_LOCK, |(_, method)| method))
}

impl<S: Send + Sync> FromRequestParts<S> for Target {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Target, Problem> {
        let verb = verb(&parts.uri);
        let (allowed, method) = (verb.map_or(OF_A_LOCK, |(_, method)| method), parts.method.as_str());
        if !allowed.split(',').any(|allowed| allowed == method) {
            let verbs = VERBS.map(|(verb, _)| verb).join(" or /");
            let detail = match verb {
                None => format!("{method} goes with /v1/locks/NAME/{verbs}"),
                Some((verb, _)) => format!(
                    "/{verb} goes with {allowed}: in the name of a lock that ends so, write its slashes as %2F"
                ),
            };
            return Err(Problem::no_method(detail, allowed));
        }
        let Named(mut name) = Named::from_request_parts(parts, state).await?;
        if let Some((verb, _)) = verb {
            name.truncate(name.len().saturating_sub(verb.len() + 1));
        }
        Ok(Target { name, verb: verb.map(|(verb, _)| verb) })
    }
}
