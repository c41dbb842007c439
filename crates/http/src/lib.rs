//! The HTTP door of a node: JSON, server-sent events, health. Every caller is judged by the same member as callers of the native
//! protocol, and the same locks are behind both.

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use axum::http::{Method, Uri};
use axum::routing::{MethodRouter, any, get, post, put};
use node::Host;
use tokio::net::TcpListener;

mod caller;
mod cluster;
mod eager;
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
mod same_site;
mod sessions;
mod shape;
mod streams;
mod talk;
mod target;
mod terraform;
mod ui;
mod watch;

use idempotency::Keys;
use listen::Served;
use metrics::Answered;
use problem::{NO_METHOD, NOT_FOUND, Problem};
use sessions::Sessions;
use streams::Streams;
use terraform::TerraformLocks;

/// What the handlers share. Every request has a few copies of it.
#[derive(Clone)]
pub(crate) struct Door(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) host: Host,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) answered: Arc<Answered>,
    pub(crate) terraform: TerraformLocks,
    pub(crate) streams: Arc<Streams>,
}

impl Deref for Door {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
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
    let answered = Arc::<Answered>::default();
    let door = Door(Arc::new(Shared {
        host: host.clone(),
        sessions: Arc::default(),
        keys: Arc::default(),
        answered: answered.clone(),
        terraform: TerraformLocks::default(),
        streams: Arc::default(),
    }));
    listen::serve(host, listener, Served { router: router(door, player), answered }).await;
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
        .with_state(door)
}
