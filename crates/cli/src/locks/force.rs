//! `tokenwood release --force`: revokes a lock from its holder.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::{Value, json};
use tokenwood::{Access, Admin, Error, ForceReleased, Grant, GrantAgain, Listing, Refusal};

use crate::locks::cluster::{Answered, Asking, Trouble};
use crate::locks::endpoints::runtime;
use crate::locks::list::{kind, label_json};
use crate::locks::lock_arguments::LOST;
use crate::terminal::format::Format;
use crate::terminal::output::note;
use crate::terminal::schema::Schema;
use crate::terminal::{failure, json, table};

/// What was revoked, for scripts.
#[derive(Serialize)]
struct Forced<'a> {
    name: &'a str,
    released: Vec<Value>,
    #[serde(flatten)]
    trouble: Trouble<'a>,
}

/// Finds the holder of the lock, and orders the node that serves it to revoke the grant.
pub(crate) fn force(name: &str, slot: Option<u32>, grant_again: GrantAgain, asking: &Asking) -> Result<u8> {
    service::name::validate(name)?;
    let answers = asking.ask_all(|mut admin| {
        let name = name.to_string();
        async move { admin.inspect(&name).await }
    })?;
    let held: BTreeSet<(u32, u64)> = answers
        .nodes
        .iter()
        .flat_map(grants)
        .filter(|(held, _)| slot.is_none_or(|slot| slot == *held))
        .collect();
    if held.len() > 1 {
        let slots: Vec<String> = held.iter().map(|(slot, _)| slot.to_string()).collect();
        bail!("several slots of '{name}' are held: name one with --slot ({})", slots.join(", "));
    }
    let (mut released, access) = (Vec::new(), asking.access()?);
    if let Some(grant) = held.first() {
        let holding = answers.nodes.iter().filter(|answered| grants(answered).contains(grant));
        for (id, endpoint) in holding.filter_map(|it| Some((it.id, it.endpoint.as_deref()?))) {
            released.extend(runtime()?.block_on(order(
                (id, endpoint, &access),
                name,
                *grant,
                grant_again,
            ))?);
        }
    }
    if asking.format == Format::Json {
        let forced = released.iter().map(as_json).collect();
        json::say(Schema::ForceRelease, &Forced { name, released: forced, trouble: answers.trouble() });
    } else if !released.is_empty() {
        show(&released);
    }
    let code = answers.note_trouble();
    let what = slot.map_or_else(|| format!("'{name}'"), |slot| format!("slot {slot} of '{name}'"));
    if released.is_empty() && code != 0 {
        let message = format!("no client holds {what} at the nodes that answered");
        return Ok(failure::fail(code, message, None));
    }
    if released.is_empty() {
        let hint = slot.map(|_| format!("'tokenwood inspect {name}' shows which slots are held"));
        return Ok(failure::fail(LOST, format_args!("no client holds {what}"), hint.as_deref()));
    }
    if grant_again == GrantAgain::AtOnce {
        note!(
            "tokenwood: '{name}' was revoked without waiting for the holder: two clients may hold the same slot, and only fences tell them apart"
        );
    }
    Ok(0)
}

/// The slot and the fence of each grant of a node.
fn grants(answered: &Answered<(u32, Vec<Listing>)>) -> Vec<(u32, u64)> {
    let listings = answered.answer.iter().flat_map(|(_, listings)| listings);
    let granted = listings.flat_map(|listing| &listing.clients).filter_map(|client| client.granted);
    granted.map(|Grant { slot, fence, .. }| (slot, fence)).collect()
}

/// Orders a node to revoke what its clients hold by this grant. One order revokes a limited number of grants, so the order is
/// repeated until it reaches no further holder. A client that has released meanwhile needs no order.
async fn order(
    (node, endpoint, access): (u32, &str, &Access),
    name: &str,
    (slot, fence): (u32, u64),
    grant_again: GrantAgain,
) -> Result<Vec<ForceReleased>> {
    let mut admin = Admin::connect_to(node, endpoint, access).await?;
    let (mut all, mut reached) = (Vec::new(), BTreeSet::new());
    loop {
        let released = match admin.force_release(name, slot, fence, grant_again).await {
            Err(Error::Refused(Refusal::NobodyHolds)) => return Ok(all),
            released => released?,
        };
        let before = all.len();
        all.extend(released.into_iter().filter(|it| reached.insert((it.session, it.request))));
        if all.len() == before {
            return Ok(all);
        }
    }
}

fn show(released: &[ForceReleased]) {
    let heading = ["client", "slot", "fence", "node", "free"].map(str::to_string).to_vec();
    let row = |released: &ForceReleased| {
        let free = match released.at_once {
            true => "now".to_string(),
            false => format!("when released, or in {:.1} s", released.ends_in.as_secs_f64()),
        };
        vec![
            format!("{}/{}", released.session.number, released.request),
            released.grant.slot.to_string(),
            released.grant.fence.to_string(),
            released.session.node.to_string(),
            free,
        ]
    };
    table::print(&[heading].into_iter().chain(released.iter().map(row)).collect::<Vec<_>>());
}

/// A release by force, for scripts.
pub(crate) fn as_json(released: &ForceReleased) -> Value {
    let (kind, slots) = kind(released.definition);
    json!({
        "name": released.name,
        "kind": kind,
        "slots": slots,
        "session": released.session.number,
        "request": released.request,
        "slot": released.grant.slot,
        "fence": released.grant.fence,
        "node": released.session.node,
        "seconds": released.ends_in.as_secs_f64(),
        "at_once": released.at_once,
        "by": released.by,
        "label": released.label.as_deref().map(label_json),
    })
}
