//! Locks for Terraform's `http` backend: `LOCK` and `UNLOCK` with the info of Terraform as the body.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use sync::IgnorePoison;
use tokenwood::Detached;

use crate::Door;
use crate::caller::Caller;
use crate::cluster::inspect;
use crate::grants;
use crate::options::{self, AcquireOptions};
use crate::problem::{Problem, TOO_LARGE};
use crate::target::Named;

/// Terraform does not renew: a run that takes longer, or dies, loses its lock.
const TTL: Duration = Duration::from_secs(4 * 3600);
/// The longest info of a lock: it is kept.
const LONGEST_INFO: usize = 4 << 10;
/// So many locks of Terraform are remembered.
const MOST_LOCKS: usize = 10_000;

/// What Terraform holds at this node, by name.
#[derive(Default)]
pub(crate) struct TerraformLocks(Mutex<BTreeMap<String, Held>>);

struct Held {
    /// What Terraform said when it took the lock.
    info: Value,
    grant: Detached,
    until: Instant,
}

impl TerraformLocks {
    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        let mut held = self.0.lock().ignore_poison();
        let now = Instant::now();
        held.retain(|_, lock| lock.until > now);
        held
    }
}

/// `LOCK` and `UNLOCK /v1/terraform/NAME`.
pub(crate) async fn act(
    State(door): State<Door>,
    Named(name): Named,
    caller: Caller,
    method: Method,
    request: Request,
) -> Result<Response, Problem> {
    let body = options::body(request).await?;
    if body.len() > LONGEST_INFO {
        return Err(Problem::new(&TOO_LARGE, "the info of a lock has at most 4 KiB"));
    }
    let info = match body.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&body)
            .map_err(|error| Problem::bad_request(format!("the info of the lock is not JSON: {error}")))?,
    };
    match method.as_str() {
        "LOCK" => lock(&door, &caller, &name, info).await,
        "UNLOCK" => unlock(&door, &caller, &name, &info).await,
        other => Err(Problem::no_method(
            format!("{other} is neither LOCK nor UNLOCK: the state is kept elsewhere"),
            "LOCK,UNLOCK",
        )),
    }
}

async fn lock(door: &Door, caller: &Caller, name: &str, info: Value) -> Result<Response, Problem> {
    if door.terraform.held().len() >= MOST_LOCKS {
        return Err(Problem::unavailable("the node remembers as many locks of Terraform as it can"));
    }
    let label = format!("terraform {} {}", word(&info, "Operation"), word(&info, "Who"));
    let label: String = label.chars().filter(|letter| !letter.is_control()).take(32).collect();
    let options = AcquireOptions::mutex(TTL, label);
    match grants::take(&door.host, caller, (name, &options), Instant::now()).await {
        Ok(granted) => {
            let grant =
                granted.grant.parse().map_err(|_| Problem::unavailable("the grant cannot be read"))?;
            let held = Held { info: info.clone(), grant, until: Instant::now() + TTL };
            door.terraform.held().insert(name.to_string(), held);
            Ok(Json(info).into_response())
        }
        Err(problem) if problem.name() == "taken" => {
            let info = holder(door, caller, name).await;
            Ok((StatusCode::LOCKED, Json(info)).into_response())
        }
        Err(problem) => Err(problem),
    }
}

/// What Terraform shows of the holder: its own info if it is held at this node, otherwise what the cluster knows.
async fn holder(door: &Door, caller: &Caller, name: &str) -> Value {
    if let Some(held) = door.terraform.held().get(name) {
        return held.info.clone();
    }
    let found = inspect(&door.host, caller, name).await.unwrap_or_default();
    let mut clients = found.listings.iter().flat_map(|(_, listing)| &listing.clients);
    let label = clients.find(|client| client.granted.is_some()).and_then(|holder| holder.label.as_ref());
    let who = label.map_or("another client".to_string(), ToString::to_string);
    json!({ "ID": "", "Operation": "", "Info": "", "Who": who, "Version": "", "Created": "", "Path": name })
}

async fn unlock(door: &Door, caller: &Caller, name: &str, info: &Value) -> Result<Response, Problem> {
    let (grant, holds) = match door.terraform.held().get(name) {
        None => return Err(grants::gone()),
        Some(held) => (held.grant.clone(), held.info.clone()),
    };
    // 'terraform force-unlock' sends no info.
    if !info.is_null() && word(info, "ID") != word(&holds, "ID") {
        return Ok((StatusCode::CONFLICT, Json(holds)).into_response());
    }
    door.terraform.held().remove(name);
    grants::release(&door.host, caller, &grant)?;
    Ok(StatusCode::OK.into_response())
}

fn word<'a>(info: &'a Value, field: &str) -> &'a str {
    info[field].as_str().unwrap_or_default()
}
