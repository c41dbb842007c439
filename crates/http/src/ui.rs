//! `GET /ui` and below: the page of the node.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{ACCEPT_ENCODING, IF_NONE_MATCH};
use axum::response::Response;
use axum::routing::get;
use page::Asked;

use crate::problem::Problem;

/// The addresses of the page: all below `/ui` are its own.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let page = || get(serve);
    Router::new().route("/ui", page()).route("/ui/", page()).route("/ui/{*rest}", page())
}

/// Serves the page. It is the same for every caller: what it shows, it asks for.
async fn serve(request: Request) -> Result<Response, Problem> {
    let uri = request.uri();
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let asked = Asked {
        path: uri.path().strip_prefix("/ui").unwrap_or_default(),
        query: uri.query().unwrap_or_default(),
        if_none_match: header(IF_NONE_MATCH),
        accept_encoding: header(ACCEPT_ENCODING),
    };
    let answer = page::answer(&asked);
    let mut response = Response::builder().status(StatusCode::from_u16(answer.status).unwrap_or_default());
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    let response = response.body(Body::from(answer.body));
    response.map_err(|_| Problem::unavailable("a header of the page cannot be sent"))
}
