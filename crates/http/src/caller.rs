//! Who sends a request: the certificate of its connection, or the token in its header.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::header::{AUTHORIZATION, USER_AGENT};
use axum::http::request::Parts;
use security::Identity;
use service::auth::{self, Secret};
use service::label::Label;

use crate::problem::{NO_TOKEN, Problem};

/// The other end of a connection, with what every request of it says again.
#[derive(Debug)]
pub(crate) struct Origin {
    /// The address, as `host:port`, and the host alone.
    address: String,
    host: String,
    /// Who it is by its certificate.
    identity: Option<Identity>,
}

impl Origin {
    pub(crate) fn new(address: SocketAddr, identity: Option<Identity>) -> Arc<Origin> {
        Arc::new(Origin { address: address.to_string(), host: address.ip().to_string(), identity })
    }
}

/// The caller of a request.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) caller: auth::Caller,
    pub(crate) token: Option<Secret>,
    origin: Arc<Origin>,
    /// The program, as it calls itself.
    agent: Option<HeaderValue>,
}

impl Caller {
    /// Who the client is, with what it says itself.
    pub(crate) fn label(&self, text: Option<&str>) -> Label {
        let agent = self.agent.as_ref().and_then(|agent| agent.to_str().ok()).unwrap_or("http");
        Label {
            host: self.origin.host.clone(),
            command: Label::part(agent),
            text: text.unwrap_or_default().to_string(),
            ..Label::default()
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, Problem> {
        let origin = parts.extensions.get::<Arc<Origin>>().cloned();
        let origin = origin.ok_or_else(|| Problem::unavailable("the connection has no address"))?;
        let token = match parts.headers.get(AUTHORIZATION) {
            None => None,
            Some(header) => {
                let text = header.to_str().ok().and_then(|text| text.strip_prefix("Bearer "));
                let secret = text.and_then(|text| text.parse::<Secret>().ok());
                Some(secret.ok_or_else(|| Problem::new(&NO_TOKEN, "the header has to be 'Authorization: Bearer TOKEN', and a token has 64 hexadecimal digits"))?)
            }
        };
        let evidence = node::evidence(origin.identity.as_ref(), token.clone());
        let caller = auth::Caller::new(origin.address.clone(), &evidence);
        Ok(Caller { caller, token, origin, agent: parts.headers.get(USER_AGENT).cloned() })
    }
}
