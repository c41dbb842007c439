//! `tokenwood acquire`, `renew` and `release`, as a script uses them: this agent renews, and counts by itself until when it holds.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::run_command::{Waiting, flags, refused, this_program};
use super::{Answer, Ask, Client, Setup};

pub(super) struct ScriptCommands {
    setup: Setup,
    held: RefCell<Vec<Rc<Held>>>,
}

/// A grant that is renewed until it is released or lost.
pub(super) struct Held {
    grant: String,
    until: Cell<Instant>,
    keeper: RefCell<Option<JoinHandle<()>>>,
}

/// How often to look whether a grant is still held.
const LOOK: Duration = Duration::from_millis(10);

impl Client for ScriptCommands {
    type Held = Rc<Held>;
    const NAME: &'static str = "the command line: tokenwood acquire, renew and release";
    const CANNOT: &'static [(&'static str, &'static str)] = &[
        (
            "node-loss",
            "no process watches over a grant: if its node dies, a script learns that from its next renewal",
        ),
        (
            "revocation",
            "a script learns of a revocation from its next renewal, and counts on its ttl until then",
        ),
        ("session", "each 'acquire' has a session of its own"),
    ];

    async fn open(setup: Setup) -> Result<ScriptCommands> {
        Ok(ScriptCommands { setup, held: RefCell::default() })
    }

    async fn acquire(&self, ask: &Ask) -> Answer<Rc<Held>> {
        let mut arguments = vec!["acquire".to_string()];
        arguments.extend(flags(&self.setup, ask));
        let (code, text, said) = match program(arguments).await {
            Ok(ended) => ended,
            Err(error) => return Answer::not("failed", &error),
        };
        if code != 0 {
            return refused(ask, code, &said);
        }
        let Some((facts, until)) = granted(&text) else { return Answer::not("failed", &text) };
        let (Some(fence), Some(slot)) = (facts["fence"].as_u64(), facts["slot"].as_u64()) else {
            return Answer::not("failed", &text);
        };
        let grant = facts["grant"].as_str().unwrap_or_default().to_string();
        let held = Rc::new(Held { grant, until: Cell::new(until), keeper: RefCell::default() });
        let keeper = tokio::task::spawn_local(keep(held.clone(), self.setup.ttl() / 3));
        held.keeper.replace(Some(keeper));
        self.held.borrow_mut().push(held.clone());
        let group = facts["group"].as_str().map(str::to_string);
        Answer::Granted { held, fence, slot: slot as u32, group }
    }

    async fn lost(&self, held: &Rc<Held>) {
        while is_held(held) {
            sleep(LOOK).await;
        }
    }

    async fn is_held(&self, held: &Rc<Held>) -> bool {
        is_held(held)
    }

    async fn release(&self, held: &Rc<Held>) -> &'static str {
        if let Some(keeper) = held.keeper.take() {
            keeper.abort();
        }
        held.until.set(Instant::now());
        match program(vec!["release".to_string(), held.grant.clone()]).await {
            Ok((0, ..)) => "released",
            Ok((76, ..)) => "lost",
            _ => "unavailable",
        }
    }

    async fn close(&self) {
        let still: Vec<Rc<Held>> = self.held.take().into_iter().filter(is_held).collect();
        for held in still {
            self.release(&held).await;
        }
    }
}

fn is_held(held: &Rc<Held>) -> bool {
    Instant::now() < held.until.get()
}

/// Renews a grant until it is gone.
async fn keep(held: Rc<Held>, every: Duration) {
    loop {
        sleep(every).await;
        if !is_held(&held) {
            return;
        }
        match program(vec!["renew".to_string(), held.grant.clone()]).await {
            Ok((0, text, _)) => {
                if let Some((_, until)) = granted(&text) {
                    held.until.set(until);
                }
            }
            Ok((76, ..)) => return held.until.set(Instant::now()),
            _ => {}
        }
    }
}

/// What a command printed about a grant, and until when the grant is held.
fn granted(text: &str) -> Option<(Value, Instant)> {
    let facts: Value = serde_json::from_str(text).ok()?;
    let left = Duration::try_from_secs_f64(facts["seconds"].as_f64()?).ok()?;
    // Both clocks are those of this machine; the one that is never set is counted on afterwards.
    let printed = facts["until_unix_seconds"].as_f64()?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?.as_secs_f64();
    let left = Duration::try_from_secs_f64(printed - now).unwrap_or_default().min(left);
    Some((facts, Instant::now() + left))
}

/// Runs a command of this program. Returns its exit code, and what it said.
async fn program(mut arguments: Vec<String>) -> Result<(i32, String, String)> {
    arguments.extend(["--format", "json"].map(str::to_string));
    let child = this_program(&arguments)?;
    let mut waiting = Waiting(child.id());
    // A task of its own: a command that is cancelled needs a moment to leave the queue.
    let ended = tokio::spawn(child.wait_with_output()).await;
    waiting.0 = None;
    let output = ended.context("a command was lost")??;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr)))
}
