//! A no of the player, as its page reads it.

use std::fmt;

use ::player::Refusal;
use axum::Json;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// A request that is not answered.
#[derive(Debug)]
pub(crate) struct No {
    status: StatusCode,
    refusal: Value,
}

impl No {
    /// A no that is not one of the engine.
    pub(crate) fn new(status: StatusCode, kind: &str, message: impl Into<String>) -> No {
        let message: String = message.into();
        No { status, refusal: json!({ "kind": kind, "message": message, "step": null, "fits": null }) }
    }

    /// A body that cannot be read.
    pub(crate) fn unreadable(message: impl Into<String>) -> No {
        No::new(StatusCode::UNPROCESSABLE_ENTITY, "unreadable", message)
    }

    pub(crate) fn nothing(message: &str) -> No {
        No::new(StatusCode::NOT_FOUND, "nothing", message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> No {
        No::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    pub(crate) fn busy(message: &str) -> No {
        No::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }

    /// An error of this program.
    pub(crate) fn failed(error: impl fmt::Display) -> No {
        tracing::error!(target: "http", "a request to the player failed: {error}");
        let message = "the player has failed at this request; the others are not affected";
        No::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", message)
    }

    /// What the page reads.
    pub(crate) fn body(&self) -> Value {
        json!({ "refusal": self.refusal })
    }
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> No {
        // A refusal has only text and numbers.
        let refusal = serde_json::to_value(refusal).unwrap_or_default();
        No { status: StatusCode::UNPROCESSABLE_ENTITY, refusal }
    }
}

impl IntoResponse for No {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, axum::http::HeaderValue::from_static("1"));
        }
        response
    }
}
