//! `/player/` and below: the engine of the page that plays algorithms. It needs no node, so that `tokenwood play` has it without
//! a cluster; a node may have it, too. Nothing is kept between two requests.

use std::sync::{Arc, LazyLock};

use ::player::limits::{LONGEST_LINK, Limits, MOST_STEPS};
use ::player::{AutorunRequest, CompareRequest, CurveRequest, FindRequest, PlayRequest, Shared, trace_file};
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequestParts, Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    VARY,
};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use node::Host;
use serde::Serialize;
use serde::de::DeserializeOwned;
use service::protocol::Question;

use crate::Door;
use crate::caller::Caller;
use crate::problem::{NOT_FOUND, Problem};
use crate::talk::ask;

mod alone;
mod file;
mod no;
mod said;
mod work;

pub use alone::{Opened, What, serve};
pub(crate) use no::No;

use file::FileRequest;
use said::Said;
use work::Works;

/// The largest body with a run: as many steps as a run has, and longer ones than any algorithm needs.
const LARGEST_RUN: usize = 4 * LONGEST_LINK;
const _: () = assert!(LARGEST_RUN / MOST_STEPS > 100);
/// The largest file that is opened.
const LARGEST_FILE: usize = 4 << 20;

/// What the handlers share.
#[derive(Clone)]
pub(crate) struct Player {
    works: Arc<Works>,
    /// What the page is to show, too long for an address, and its type.
    opened: Option<(&'static str, Bytes)>,
}

impl Player {
    fn new(limits: Limits, opened: Option<(&'static str, Bytes)>) -> Player {
        Player { works: Arc::new(Works::new(limits)), opened }
    }
}

/// The addresses of the player at a node: its callers are those who may read something there. They are the page's own:
/// `/openapi.json` does not have them.
pub(crate) fn at_node(host: &Host) -> Router<Door> {
    let judged = from_fn_with_state(host.clone(), judge);
    about(true, true).merge(routes(Player::new(Limits::AT_NODE, None)).layer(judged))
}

/// The same addresses at a node that has no player.
pub(crate) fn absent() -> Router<Door> {
    let absent = any(async || {
        let detail = "this node has no player: run 'tokenwood play' on a machine of yours, or start the node with --player on";
        Problem::new(&NOT_FOUND, detail)
    });
    about(true, false).route("/player/{*rest}", absent)
}

/// Lets through who may read something at this node.
async fn judge(State(host): State<Host>, request: Request, next: Next) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, &()).await?;
    ask(&host, caller.caller, Question::Voters).await?;
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// The address that says what is here: it is the same for every caller, as the page is.
fn about<S: Clone + Send + Sync + 'static>(cluster: bool, player: bool) -> Router<S> {
    let about = About { cluster, player, version: env!("CARGO_PKG_VERSION") };
    Router::new().route("/player/about", get(async move || Json(about)))
}

fn routes<S: Clone + Send + Sync + 'static>(player: Player) -> Router<S> {
    let file = DefaultBodyLimit::max(LARGEST_FILE);
    Router::new()
        .route("/player/catalogue", get(catalogue))
        .route("/player/gallery", get(gallery))
        .route("/player/stories", get(stories))
        .route("/player/opened", get(opened))
        .route("/player/play", post(play))
        .route("/player/autorun", post(autorun))
        .route("/player/share", post(share))
        .route("/player/trace", post(trace))
        .route("/player/html", post(html))
        .route("/player/find", post(find))
        .route("/player/compare", post(compare))
        .route("/player/curve", post(curve))
        .layer(DefaultBodyLimit::max(LARGEST_RUN))
        .merge(Router::new().route("/player/open", post(open)).layer(file))
        .layer(from_fn(never_guessed))
        .with_state(player)
}

/// What a browser takes an answer for is what the answer says it is.
async fn never_guessed(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert("x-content-type-options", axum::http::HeaderValue::from_static("nosniff"));
    headers.insert("cross-origin-resource-policy", axum::http::HeaderValue::from_static("same-origin"));
    response
}

/// What is at this address, so that a page knows which views to offer.
#[derive(Clone, Copy, Serialize)]
struct About {
    /// Whether there is a cluster.
    cluster: bool,
    /// Whether there is a player.
    player: bool,
    version: &'static str,
}

/// An answer that is the same for as long as the program runs.
struct Fixed(Result<[Form; 2], ::player::Refusal>);

/// One of its forms: as it is, or packed.
struct Form {
    bytes: Bytes,
    tag: String,
}

impl Form {
    fn new(bytes: Vec<u8>) -> Form {
        Form { tag: page::tag(&bytes), bytes: bytes.into() }
    }
}

impl Fixed {
    fn of(list: Result<impl Serialize, ::player::Refusal>) -> Fixed {
        Fixed(list.map(|list| {
            // These types have nothing that JSON cannot say.
            let json = serde_json::to_vec(&list).unwrap_or_default();
            let packed = page::pack(&json);
            [json, packed].map(Form::new)
        }))
    }

    fn answer(&self, headers: &HeaderMap) -> Result<Response, No> {
        let [json, packed] = self.0.as_ref().map_err(|refusal| No::from(refusal.clone()))?;
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let takes_packed = header(ACCEPT_ENCODING).is_some_and(page::takes_deflate);
        let Form { bytes, tag } = if takes_packed { packed } else { json };
        let fixed = [(ETAG, tag.as_str()), (CACHE_CONTROL, "no-cache"), (VARY, "accept-encoding")];
        if header(IF_NONE_MATCH).is_some_and(|tags| page::has(tags, tag)) {
            return Ok((StatusCode::NOT_MODIFIED, fixed).into_response());
        }
        let encoding = takes_packed.then_some([(CONTENT_ENCODING, page::DEFLATE)]);
        Ok((fixed, encoding, [(CONTENT_TYPE, "application/json")], bytes.clone()).into_response())
    }
}

static CATALOGUE: LazyLock<Fixed> = LazyLock::new(|| Fixed::of(Ok(::player::catalogue())));
static GALLERY: LazyLock<Fixed> = LazyLock::new(|| Fixed::of(::player::gallery()));
static STORIES: LazyLock<Fixed> = LazyLock::new(|| Fixed::of(::player::stories()));

async fn fixed(player: Player, headers: HeaderMap, list: &'static LazyLock<Fixed>) -> Result<Response, No> {
    player.works.quick(move || list.answer(&headers)).await
}

async fn catalogue(State(player): State<Player>, headers: HeaderMap) -> Result<Response, No> {
    fixed(player, headers, &CATALOGUE).await
}

async fn gallery(State(player): State<Player>, headers: HeaderMap) -> Result<Response, No> {
    fixed(player, headers, &GALLERY).await
}

async fn stories(State(player): State<Player>, headers: HeaderMap) -> Result<Response, No> {
    fixed(player, headers, &STORIES).await
}

/// The run or the recording that this server was started to show.
async fn opened(State(player): State<Player>) -> Result<Response, No> {
    match player.opened {
        Some((kind, text)) => Ok(([(CONTENT_TYPE, kind)], text).into_response()),
        None => Err(No::nothing("no run was opened here: 'tokenwood trace FILE --open' opens one")),
    }
}

/// An answer that is JSON already.
fn json(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

/// Answers a request by a function of the player.
async fn quick<Q, A>(
    player: Player,
    said: Said,
    answer: impl FnOnce(&Q) -> Result<A, ::player::Refusal> + Send + 'static,
) -> Result<Response, No>
where
    Q: DeserializeOwned,
    A: Serialize,
{
    let work = move || {
        let answer = answer(&said.json::<Q>()?)?;
        Ok(json(serde_json::to_string(&answer).map_err(No::failed)?))
    };
    player.works.quick(work).await
}

async fn play(State(player): State<Player>, said: Said) -> Result<Response, No> {
    quick(player, said, |request: &PlayRequest| ::player::play(request)).await
}

async fn autorun(State(player): State<Player>, said: Said) -> Result<Response, No> {
    quick(player, said, |request: &AutorunRequest| ::player::autorun(request)).await
}

async fn share(State(player): State<Player>, said: Said) -> Result<Response, No> {
    quick(player, said, |request: &Shared| ::player::share(request)).await
}

/// Opens a link or a file.
async fn open(State(player): State<Player>, said: Said) -> Result<Response, No> {
    let work = move || {
        let shared = ::player::open(said.text()?)?;
        Ok(json(serde_json::to_string(&shared).map_err(No::failed)?))
    };
    player.works.quick(work).await
}

/// The run as a file for `tokenwood trace`.
async fn trace(State(player): State<Player>, said: Said) -> Result<Response, No> {
    let work = move || {
        let shared = said.json::<Shared>()?;
        let trace = ::player::to_trace(&shared)?;
        let name = format!("{}.trace.json", file_name(&shared.setting.algorithm));
        Ok(attachment("application/json", &name, trace_file::print(&trace)))
    };
    player.works.quick(work).await
}

/// The run as a file for a browser, which needs no server.
async fn html(State(player): State<Player>, said: Said) -> Result<Response, No> {
    let work = move || {
        let request = said.json::<FileRequest>()?;
        let name = format!("{}.html", file_name(&request.setting.algorithm));
        Ok(attachment("text/html; charset=utf-8", &name, request.file()?))
    };
    player.works.quick(work).await
}

/// A name that every system accepts for a file.
fn file_name(text: &str) -> String {
    let safe = text.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' });
    let name: String = safe.take(60).collect();
    name.trim_matches('-').to_string()
}

fn attachment(kind: &'static str, name: &str, text: impl Into<Body>) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [(CONTENT_TYPE, kind.to_string()), (CONTENT_DISPOSITION, disposition)];
    (headers, text.into()).into_response()
}

async fn find(State(player): State<Player>, said: Said) -> Result<Response, No> {
    let request = said.json::<FindRequest>()?;
    player.works.find(request).await
}

async fn compare(State(player): State<Player>, said: Said) -> Result<Response, No> {
    let request = said.json::<CompareRequest>()?;
    player.works.compare(request).await
}

async fn curve(State(player): State<Player>, said: Said) -> Result<Response, No> {
    let request = said.json::<CurveRequest>()?;
    player.works.curve(request).await
}
