//! The HTTP door of a node: JSON, server-sent events, health. Every caller is judged by the same member as callers of the native
//! protocol, and the same locks are behind both.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{Method, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodRouter, any, get, post, put};
use node::Host;
use tokio::net::TcpListener;

mod caller;
mod cluster;
mod elsewhere;
mod grants;
mod idempotency;
mod listen;
mod locks;
mod metrics;
mod openapi;
mod operators;
mod options;
mod overview;
pub mod player;
mod problem;
mod sessions;
mod shape;
mod streams;
mod talk;
mod target;
mod terraform;
mod ui;
mod watch;

use idempotency::Keys;
use metrics::Answered;
use problem::{NO_METHOD, NOT_FOUND, Problem};
use sessions::Sessions;
use streams::Streams;
use terraform::TerraformLocks;

/// The largest body of a request.
const LARGEST_BODY: usize = 64 << 10;

/// What the handlers share.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) host: Host,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) answered: Arc<Answered>,
    pub(crate) terraform: Arc<TerraformLocks>,
    pub(crate) streams: Arc<Streams>,
}

/// Serves HTTP at this listener, encrypted as the node is, for as long as this is polled.
pub async fn serve(host: Host, listener: TcpListener) {
    open(host, listener, player::absent()).await;
}

/// The same with the player: its pages may take the processor of the node.
pub async fn serve_with_player(host: Host, listener: TcpListener) {
    let player = player::at_node(&host);
    open(host, listener, player).await;
}

async fn open(host: Host, listener: TcpListener, player: Router<Door>) {
    let door = Door {
        host: host.clone(),
        sessions: Arc::default(),
        keys: Arc::default(),
        answered: Arc::default(),
        terraform: Arc::default(),
        streams: Arc::default(),
    };
    listen::serve(host, listener, router(door, player)).await;
}

async fn count_answer(State(door): State<Door>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    door.answered.count(response.status().as_u16());
    response
}

/// Every path that the door serves. `/openapi.json` has all of them; a test compares.
fn routes() -> [(&'static str, MethodRouter<Door>); 15] {
    let lock = get(locks::inspect).post(locks::act).put(locks::renew).delete(locks::release);
    [
        ("/v1/sessions", post(operators::open_session)),
        ("/v1/sessions/{session}", put(operators::keep_session).delete(operators::close_session)),
        ("/v1/locks", get(locks::list)),
        ("/v1/locks/{*rest}", lock),
        ("/v1/definitions", get(operators::definitions)),
        ("/v1/definitions/{*name}", put(operators::define).delete(operators::undefine)),
        ("/v1/terraform/{*name}", any(terraform::act)),
        ("/v1/watch", get(watch::watch)),
        ("/v1/cluster", get(overview::overview)),
        ("/v1/members", get(operators::members)),
        ("/v1/status", get(operators::status)),
        ("/metrics", get(metrics::metrics)),
        ("/livez", get(operators::livez)),
        ("/readyz", get(operators::readyz)),
        ("/openapi.json", get(openapi::serve)),
    ]
}

fn router(door: Door, player: Router<Door>) -> Router {
    let router =
        routes().into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods));
    router
        .merge(ui::routes())
        .merge(player)
        .fallback(async |uri: Uri| Problem::new(&NOT_FOUND, format!("there is nothing at {}", uri.path())))
        .method_not_allowed_fallback(async |method: Method, uri: Uri| {
            let detail = format!("{method} does not fit {}", uri.path());
            match target::allow(&uri) {
                Some(allow) => Problem::no_method(detail, allow),
                None => Problem::new(&NO_METHOD, detail),
            }
        })
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(from_fn_with_state(door.clone(), count_answer))
        .with_state(door)
}
