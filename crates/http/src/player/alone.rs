//! The page and its player without a cluster: what `tokenwood play` serves.

use std::sync::Arc;
use std::time::Duration;

use ::player::Shared;
use ::player::limits::Limits;
use axum::Router;
use axum::http::Uri;
use axum::middleware::from_fn;
use axum::response::Redirect;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{Player, about, routes};
use crate::caller::Origin;
use crate::listen::{self, Served};
use crate::problem::{NOT_FOUND, Problem};
use crate::{same_site, ui};

/// So many connections at once: a browser has six for a page.
const MOST_CONNECTIONS: usize = 128;
/// How long to wait when the operating system has no connections left to give.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// What a page shows first.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// Where `/` leads: an address of the page.
    pub first: String,
    /// What the page asks for.
    pub what: Option<What>,
}

/// Something that is opened.
#[derive(Clone, Debug)]
pub enum What {
    /// A run that is too long for an address.
    Run(Shared),
    /// A recording, as it is in its file.
    Recording(String),
}

/// Serves the page and its player at this listener for as long as this is polled. It must be an address of this machine alone:
/// callers are not asked who they are.
pub async fn serve(listener: TcpListener, opened: Opened) {
    let what = opened.what.and_then(|what| match what {
        What::Run(run) => serde_json::to_string(&run).ok().map(|run| ("application/json", run)),
        What::Recording(text) => Some(("application/x-ndjson", text)),
    });
    let player = Player::new(Limits::ALONE, what.map(|(kind, text)| (kind, text.into())));
    let router = router(player, opened.first);
    let served = Served { router, answered: Arc::default() };
    let (mut connections, places) = (JoinSet::new(), Arc::new(Semaphore::new(MOST_CONNECTIONS)));
    loop {
        while connections.try_join_next().is_some() {}
        // Others wait in the queue of the operating system.
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, address)) = listener.accept().await else {
            sleep(EXHAUSTED).await;
            continue;
        };
        let served = served.clone();
        connections.spawn(async move {
            // What a caller does wrong concerns the caller alone.
            _ = stream.set_nodelay(true);
            _ = listen::converse(stream, Origin::new(address, None), served).await;
            drop(place);
        });
    }
}

fn router(player: Player, first: String) -> Router {
    about(false, true)
        .merge(routes(player))
        .merge(ui::routes())
        .route("/", get(async move || Redirect::temporary(&first)))
        .fallback(async |uri: Uri| {
            let what =
                if uri.path().starts_with("/v1/") { "there is no cluster here" } else { "there is nothing" };
            Problem::new(&NOT_FOUND, format!("{what}: {}", uri.path()))
        })
        .layer(from_fn(same_site::check_host))
}
