//! Who sends a request: the certificate of its connection, or the token in its header.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, USER_AGENT};
use axum::http::request::Parts;
use security::Identity;
use service::auth::{self, Secret};
use service::label::Label;

use crate::problem::{NO_TOKEN, Problem};

/// The other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    /// Who it is by its certificate.
    pub(crate) identity: Option<Arc<Identity>>,
}

/// The caller of a request.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) caller: auth::Caller,
    pub(crate) token: Option<Secret>,
    /// Who the client is, if it says no more.
    label: Label,
}

impl Caller {
    /// Who the client is, with what it says itself.
    pub(crate) fn label(&self, text: Option<&str>) -> Label {
        Label { text: text.unwrap_or_default().to_string(), ..self.label.clone() }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, Problem> {
        let origin = parts.extensions.get::<Origin>().cloned();
        let origin = origin.ok_or_else(|| Problem::unavailable("the connection has no address"))?;
        let token = match parts.headers.get(AUTHORIZATION) {
            None => None,
            Some(header) => {
                let text = header.to_str().ok().and_then(|text| text.strip_prefix("Bearer "));
                let secret = text.and_then(|text| text.parse::<Secret>().ok());
                Some(secret.ok_or_else(|| Problem::new(&NO_TOKEN, "the header has to be 'Authorization: Bearer TOKEN', and a token has 64 hexadecimal digits"))?)
            }
        };
        let evidence = node::evidence(origin.identity.as_deref(), token.clone());
        let agent = parts.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or("http");
        let label =
            Label { host: origin.address.ip().to_string(), command: Label::part(agent), ..Label::default() };
        Ok(Caller { caller: auth::Caller::new(origin.address.to_string(), &evidence), token, label })
    }
}
