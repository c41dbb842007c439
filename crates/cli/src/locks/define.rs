//! `tokenwood define`, `resize`, `undefine` and `definitions`: what names stand for, for all clients.

use anyhow::{Result, anyhow};
use clap::Args;
use serde_json::{Value, json};
use tokenwood::{Definition, Error, Refusal};

use crate::Ended;
use crate::locks::cluster::Asking;
use crate::locks::endpoints::runtime;
use crate::locks::list::kind;
use crate::locks::mismatch;
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::{json, table};

/// Define what a name stands for, for all clients
///
/// From then on requests for something else are refused, and 'tokenwood run NAME' needs no number. Without a definition the
/// first request decides what a name stands for, for as long as clients use it. If the name is in use as something else, the
/// definition takes effect when no client uses it any more.
#[derive(Args)]
pub(crate) struct DefineArguments {
    /// The name
    name: String,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct What {
    /// A semaphore with K slots, or a mutex with one
    #[arg(long, short = 'k', value_name = "K")]
    slots: Option<u32>,
    /// A room: all holders are in the same group
    #[arg(long)]
    room: bool,
    /// A read-write lock
    #[arg(long)]
    rwlock: bool,
}

impl What {
    fn definition(&self) -> Definition {
        match self.slots {
            Some(slots) => Definition::Slots(slots),
            None if self.room => Definition::Room,
            None => Definition::RwLock,
        }
    }
}

/// Change the number of slots of a defined mutex or semaphore, in use or not
///
/// With more slots, waiters are granted the new ones. With fewer, no client loses its slot: a holder keeps a slot that goes
/// until it releases it, and no client is granted it after that.
#[derive(Args)]
pub(crate) struct ResizeArguments {
    /// The name
    name: String,
    /// How many clients may hold it at once from now on
    slots: u32,
    #[command(flatten)]
    asking: Asking,
}

/// End the definition of a name: once no client uses it, the next request decides what it stands for
#[derive(Args)]
pub(crate) struct UndefineArguments {
    /// The name
    name: String,
    #[command(flatten)]
    asking: Asking,
}

pub(crate) fn define(DefineArguments { name, what, asking }: &DefineArguments) -> Result<Ended> {
    let definition = what.definition();
    runtime()?.block_on(async {
        asking.first().await?.define(name, definition).await.map_err(|error| not_changed(error, name))
    })?;
    tell(asking, name, Some(definition));
    Ok(Ended::Well)
}

pub(crate) fn resize(ResizeArguments { name, slots, asking }: &ResizeArguments) -> Result<Ended> {
    runtime()?.block_on(async {
        asking.first().await?.resize(name, *slots).await.map_err(|error| match error {
            Error::Refused(Refusal::NotDefined) => {
                let define = format!("'tokenwood define {name} --slots {slots}' defines it");
                anyhow!("lock '{name}': the name is not defined: {define}")
            }
            error => not_changed(error, name),
        })
    })?;
    tell(asking, name, Some(Definition::Slots(*slots)));
    Ok(Ended::Well)
}

pub(crate) fn undefine(UndefineArguments { name, asking }: &UndefineArguments) -> Result<Ended> {
    runtime()?.block_on(async {
        asking.first().await?.undefine(name).await.map_err(|error| not_changed(error, name))
    })?;
    tell(asking, name, None);
    Ok(Ended::Well)
}

/// Why a definition stays as it is.
fn not_changed(error: Error, name: &str) -> anyhow::Error {
    match error {
        Error::Refused(refusal) => anyhow!("lock '{name}': {}", mismatch::of_change(&refusal, name)),
        error => anyhow::Error::new(error).context(format!("lock '{name}'")),
    }
}

/// Prints what the cluster agreed on.
fn tell(asking: &Asking, name: &str, definition: Option<Definition>) {
    match (asking.format, definition) {
        (Format::Json, _) => json::say(Schema::Definition, &as_json(name, definition)),
        (Format::Table, Some(definition)) => say!("{name} is {definition} from now on"),
        (Format::Table, None) => say!("{name} is no longer defined"),
    }
}

fn as_json(name: &str, definition: Option<Definition>) -> Value {
    let kind = definition.map(kind);
    json!({ "name": name, "kind": kind.map(|kind| kind.0), "slots": kind.map(|kind| kind.1) })
}

pub(crate) fn list(asking: &Asking) -> Result<Ended> {
    let definitions = asking.with_first(async |admin| admin.definitions().await)?;
    if asking.format == Format::Json {
        let definitions = definitions.iter().map(|(name, definition)| as_json(name, Some(*definition)));
        json::say(Schema::Definitions, &json!({ "definitions": definitions.collect::<Vec<_>>() }));
        return Ok(Ended::Well);
    }
    if definitions.is_empty() {
        say!("No name is defined: the first request decides what a name stands for.");
        return Ok(Ended::Well);
    }
    let heading = ["name", "is"].map(str::to_string).to_vec();
    let rows = definitions.iter().map(|(name, definition)| vec![name.to_string(), definition.to_string()]);
    table::print(&[heading].into_iter().chain(rows).collect::<Vec<_>>());
    Ok(Ended::Well)
}
