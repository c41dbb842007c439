//! What a page sends: the body of a request.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;

use super::no::No;

/// The body of a request.
pub(crate) struct Said {
    bytes: Bytes,
    is_json: bool,
}

impl Said {
    /// The body as JSON. A page of another place could send other types without asking first: they are refused.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, No> {
        if !self.is_json {
            let message = "the body is no JSON: send 'Content-Type: application/json'";
            return Err(No::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unreadable", message));
        }
        serde_json::from_slice(&self.bytes).map_err(|error| {
            // The error may cite a hostile text.
            let error: String = error.to_string().chars().take(200).collect();
            No::unreadable(format!("this request cannot be read: {error}"))
        })
    }

    /// The body as text.
    pub(crate) fn text(&self) -> Result<&str, No> {
        str::from_utf8(&self.bytes).map_err(|_| No::unreadable("this is no text: it is not UTF-8"))
    }
}

impl<S: Send + Sync> FromRequest<S> for Said {
    type Rejection = No;

    async fn from_request(request: Request, state: &S) -> Result<Said, No> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let is_json = kind.eq_ignore_ascii_case("application/json");
        let bytes = Bytes::from_request(request, state).await.map_err(|error| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                No::new(StatusCode::PAYLOAD_TOO_LARGE, "bounds", "this is too large to be played")
            }
            _ => No::unreadable("the body did not arrive whole"),
        })?;
        Ok(Said { bytes, is_json })
    }
}
