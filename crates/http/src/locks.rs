//! Locks: acquire, renew, release, list, inspect, force.

use std::collections::BTreeMap;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use service::auth::Action;
use service::core::{Cursor, Listing};
use service::name::Kind as NameKind;
use service::protocol::{Order, OrderDone};
use tokenwood::{Detached, ForceReleased, GrantAgain};

use crate::Door;
use crate::caller::Caller;
use crate::cluster::{self, Inspected, described, inspect as inspect_all, may, with_holders};
use crate::grants::{self, GrantOptions, Granted};
use crate::idempotency::{self, Asked, First};
use crate::options::{AcquireOptions, ListOptions, Nodes, Options};
use crate::problem::Problem;
use crate::shape::{Lock, milliseconds};
use crate::talk::order;
use crate::target::Target;

/// `POST /v1/locks/NAME/acquire` and `POST /v1/locks/NAME/force`.
pub(crate) async fn act(
    State(door): State<Door>,
    target: Target,
    caller: Caller,
    headers: HeaderMap,
    request: axum::extract::Request,
) -> Result<Response, Problem> {
    use axum::extract::FromRequest;
    let came = Instant::now();
    match target.verb {
        Some("acquire") => {
            let Options(options) = Options::from_request(request, &()).await?;
            let granted = acquire(&door, &caller, (&target.name, &options), &headers, came).await;
            granted.map(|granted| Json(granted).into_response())
        }
        _ => {
            let Options(options) = Options::<ForceOptions>::from_request(request, &()).await?;
            force(&door, &caller, target.name, &options).await.map(|done| Json(done).into_response())
        }
    }
}

async fn acquire(
    door: &Door,
    caller: &Caller,
    (name, options): (&str, &AcquireOptions),
    headers: &HeaderMap,
    came: Instant,
) -> Result<Granted, Problem> {
    let Some(key) = idempotency::key(headers)? else {
        return take(door, caller, (name, options), came).await;
    };
    let request = Asked::new(name, options);
    let key = (caller.caller.shown.clone(), key);
    match door.keys.first(key, &request, came).await {
        Ok(First::Yes(mut doing)) => {
            // The time that it waited for another with the same key counts.
            let left = request.wait.map(|wait| wait.saturating_sub(came.elapsed()));
            let options = options.with_wait(left);
            let granted = tokio::select! {
                granted = take(door, caller, (name, &options), came) => granted?,
                () = doing.withdrawn() => return Err(idempotency::withdrawn()),
            };
            doing.granted(&granted);
            Ok(granted)
        }
        Ok(First::No(granted)) => {
            let named = GrantOptions { grant: Some(granted.grant.clone()) };
            let left = renew_grant(door, caller, &named, came).await?;
            Ok(Granted { left, ..granted })
        }
        Err(problem) => Err(told(door, caller, name, problem).await),
    }
}

async fn take(
    door: &Door,
    caller: &Caller,
    (name, options): (&str, &AcquireOptions),
    came: Instant,
) -> Result<Granted, Problem> {
    let granted = match &options.session {
        Some(session) => {
            door.sessions.find(&door.host, session)?.take(&door.host, (name, options), came).await
        }
        None => grants::take(&door.host, caller, (name, options), came).await,
    };
    match granted {
        Ok(granted) => Ok(granted),
        Err(problem) => Err(told(door, caller, name, problem).await),
    }
}

/// A problem, with who holds the lock if that is what is wrong.
async fn told(door: &Door, caller: &Caller, name: &str, problem: Problem) -> Problem {
    match problem.name() {
        "taken" | "timed-out" => with_holders(&door.host, caller, name, problem).await,
        _ => problem,
    }
}

/// `PUT /v1/locks/NAME/renew`.
pub(crate) async fn renew(
    State(door): State<Door>,
    _: Target,
    caller: Caller,
    Options(options): Options<GrantOptions>,
) -> Result<Json<grants::Left>, Problem> {
    let came = Instant::now();
    renew_grant(&door, &caller, &options, came).await.map(Json)
}

async fn renew_grant(
    door: &Door,
    caller: &Caller,
    options: &GrantOptions,
    came: Instant,
) -> Result<grants::Left, Problem> {
    let grant = options.at(&door.host)?;
    match door.sessions.of(grant.session()) {
        Some(session) => session.renew_grant(&grant, came).await,
        None => grants::renew(&door.host, caller, &grant, came).await,
    }
}

/// `DELETE /v1/locks/NAME`: releases a grant, or withdraws the request of an Idempotency-Key.
pub(crate) async fn release(
    State(door): State<Door>,
    Target { name, .. }: Target,
    caller: Caller,
    headers: HeaderMap,
    Options(options): Options<GrantOptions>,
) -> Result<StatusCode, Problem> {
    match (&options.grant, idempotency::key(&headers)?) {
        (None, Some(key)) => withdraw(&door, &caller, &name, key).await?,
        _ => release_grant(&door, &caller, &options.at(&door.host)?)?,
    }
    Ok(StatusCode::NO_CONTENT)
}

fn release_grant(door: &Door, caller: &Caller, grant: &Detached) -> Result<(), Problem> {
    match door.sessions.of(grant.session()) {
        Some(session) => session.release(grant),
        None => grants::release(&door.host, caller, grant),
    }
}

/// Cancels what waits with a key, or releases what it took.
async fn withdraw(door: &Door, caller: &Caller, name: &str, key: String) -> Result<(), Problem> {
    let Some(granted) = door.keys.withdraw((caller.caller.shown.clone(), key), name).await? else {
        return Ok(());
    };
    let grant = GrantOptions { grant: Some(granted.grant) }.at(&door.host)?;
    match release_grant(door, caller, &grant) {
        // That it is gone is what was wanted.
        Err(problem) if problem.name() != "lost" => Err(problem),
        _ => Ok(()),
    }
}

/// `GET /v1/locks/NAME`: the clients of a name, at all nodes that answer.
pub(crate) async fn inspect(
    State(door): State<Door>,
    Target { name, .. }: Target,
    caller: Caller,
) -> Result<Json<Inspected>, Problem> {
    service::name::validate(&name)?;
    Ok(Json(described(&name, &inspect_all(&door.host, &caller, &name).await?)))
}

/// A page of what is held and waited for.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Page {
    /// The node that was asked.
    node: u32,
    /// A name whose clients are many, or at several nodes, may be on several pages, each with other clients.
    locks: Vec<Lock>,
    /// Where the next page begins, if there is more: pass it as `after`.
    next: Option<String>,
    /// Nodes that did not answer in time: what is there is missing.
    no_answer: Vec<u32>,
}

/// `GET /v1/locks`: what is held and waited for at this node, or at all of them.
pub(crate) async fn list(
    State(door): State<Door>,
    caller: Caller,
    Options(options): Options<ListOptions>,
) -> Result<Json<Page>, Problem> {
    let (here, all) = (door.host.id(), options.nodes == Some(Nodes::All));
    let after = options.after.as_deref().map(|text| cursors(text, here, all)).transpose()?;
    let found = cluster::list(&door.host, &caller, options.filter(), after, all).await?;
    let mut names: BTreeMap<(NameKind, String), Vec<(u32, Listing)>> = BTreeMap::new();
    for (node, listing) in found.listings {
        let Some(listing) = shown(listing, &options) else { continue };
        names.entry((listing.definition.kind(), listing.name.clone())).or_default().push((node, listing));
    }
    let locks = names.into_values().map(|listings| Lock::of(&listings)).collect();
    let next = (!found.next.is_empty()).then(|| after_text(&found.next, all));
    Ok(Json(Page { node: here, locks, next, no_answer: found.no_answer }))
}

/// What of a name the options show.
fn shown(mut listing: Listing, options: &ListOptions) -> Option<Listing> {
    if options.kind.is_some_and(|kind| !kind.is_of(listing.definition)) {
        return None;
    }
    if let Some(holder) = &options.holder {
        let is_one = |label: &Option<service::label::Label>| {
            label.as_ref().is_some_and(|label| label.to_string().contains(holder.as_str()))
        };
        listing.clients.retain(|client| client.granted.is_some() && is_one(&client.label));
    }
    (options.holder.is_none() || !listing.clients.is_empty()).then_some(listing)
}

/// Where a page ended, as text: the kind, the client and the name; for several nodes a list, each with its number.
fn after_text(after: &BTreeMap<u32, Cursor>, all: bool) -> String {
    let text = |after: &Cursor| {
        let kind = match after.kind {
            NameKind::Slots => 's',
            NameKind::RwLock => 'w',
            NameKind::Room => 'r',
        };
        let client = after.client.map_or(String::new(), |client| client.to_string());
        format!("{kind}.{client}.{}", after.name)
    };
    let texts: BTreeMap<u32, String> = after.iter().map(|(node, after)| (*node, text(after))).collect();
    match all {
        true => json!(texts).to_string(),
        false => texts.into_values().next().unwrap_or_default(),
    }
}

/// Where pages begin, by node.
fn cursors(text: &str, here: u32, all: bool) -> Result<BTreeMap<u32, Cursor>, Problem> {
    let wrong = || Problem::bad_request("'after' is not the 'next' of such a page");
    let texts: BTreeMap<u32, String> = match all {
        true => serde_json::from_str(text).map_err(|_| wrong())?,
        false => BTreeMap::from([(here, text.to_string())]),
    };
    texts
        .into_iter()
        .map(|(node, text)| Some((node, cursor(&text)?)))
        .collect::<Option<_>>()
        .ok_or_else(wrong)
}

fn cursor(text: &str) -> Option<Cursor> {
    let (kind, rest) = text.split_once('.')?;
    let (client, name) = rest.split_once('.')?;
    let kind = match kind {
        "s" => NameKind::Slots,
        "w" => NameKind::RwLock,
        "r" => NameKind::Room,
        _ => return None,
    };
    let client = match client {
        "" => None,
        client => Some(client.parse().ok()?),
    };
    Some(Cursor { kind, name: name.into(), client })
}

/// Which grant to revoke.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForceOptions {
    slot: u32,
    /// The fence of the grant, so that no other grant is revoked by mistake.
    fence: u64,
    /// Free the slot at once, although its holder may not know yet: two clients may hold it for a while.
    #[serde(default)]
    at_once: bool,
    /// The node of the holder, if it is another one than the node that is asked. That node decides whether the caller may. A
    /// caller that shows a node's certificate has to ask that node itself.
    node: Option<u32>,
}

/// What a forced release did.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Forced {
    name: String,
    revoked: Vec<ForcedGrant>,
}

/// A grant that an operator revoked.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ForcedGrant {
    slot: u32,
    fence: u64,
    /// When the slot is free at the latest: its holder has this long to stop.
    free_in_ms: u64,
}

async fn force(
    door: &Door,
    caller: &Caller,
    name: String,
    options: &ForceOptions,
) -> Result<Forced, Problem> {
    let ForceOptions { slot, fence, at_once, node } = *options;
    service::name::validate(&name)?;
    // A caller that may not is refused here, where the audit says so, and costs the other node nothing.
    let elsewhere = |node: &u32| *node != door.host.id() && may(&door.host, caller, Action::Force, &name);
    if let Some(node) = node.filter(elsewhere) {
        let again = if at_once { GrantAgain::AtOnce } else { GrantAgain::WhenSafe };
        let released = cluster::force_at(&door.host, caller, node, (&name, slot, fence, again)).await?;
        return Ok(Forced::of(name, &released));
    }
    let forced = Order::ForceRelease { name: name.as_str().into(), slot, fence, at_once };
    let released = match order(&door.host, caller.caller.clone(), forced).await? {
        OrderDone::ForceReleased(released) => released,
        OrderDone::Agreed => Default::default(),
    };
    Ok(Forced::of(name, &released))
}

impl Forced {
    fn of(name: String, released: &[ForceReleased]) -> Forced {
        let revoked = released.iter().map(|it| ForcedGrant {
            slot: it.grant.slot,
            fence: it.grant.fence,
            free_in_ms: milliseconds(it.ends_in),
        });
        Forced { name, revoked: revoked.collect() }
    }
}
