//! Agents of the clients that are written in Rust, and what they share: commands come in, events go out.

mod http;
mod library;
mod run_command;
mod script_commands;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, LocalSet};

use super::agent::PROTOCOL;
use super::now;

/// An agent of 'conformance'.
#[derive(Args)]
pub struct Arguments {
    /// The client that it drives
    client: Which,
    /// An error to put into the client: the suite has to find it
    #[arg(long)]
    defect: Option<Defect>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    /// The client library.
    Library,
    /// HTTP by hand.
    Http,
    /// `tokenwood run`.
    Run,
    /// `tokenwood acquire`, `renew` and `release`.
    Script,
}

/// What a client can do wrong.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Defect {
    /// It never says that a grant is lost.
    HidesLoss,
    /// It releases a grant only long after it has said so.
    ReleasesLate,
    /// It says that it holds a lock that it waits for.
    DoesNotWait,
    /// It stays in the queue when it is asked to cancel.
    KeepsWaiting,
    /// It tells fences that do not rise.
    WrongFence,
}

/// How long a client keeps what it should have released.
const LATE: Duration = Duration::from_secs(60);

/// How a client is to be.
#[derive(Clone, Deserialize)]
struct Setup {
    endpoints: Vec<String>,
    doors: Vec<String>,
    ttl_ms: u64,
    label: String,
}

impl Setup {
    fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_ms)
    }
}

/// What a client asks for.
#[derive(Clone, Deserialize)]
struct Ask {
    lock: String,
    slots: Option<u32>,
    mode: Option<String>,
    groups: Option<Vec<String>>,
    /// How long it waits; for ever, if it does not say.
    wait_ms: Option<u64>,
}

impl Ask {
    fn wait(&self) -> Option<Duration> {
        self.wait_ms.map(Duration::from_millis)
    }

    fn is_try(&self) -> bool {
        self.wait_ms == Some(0)
    }

    /// What a request that was not granted in time is called.
    fn not_granted(&self) -> &'static str {
        if self.is_try() { "taken" } else { "timed-out" }
    }
}

/// A command of the suite.
#[derive(Deserialize)]
struct Order {
    id: u64,
    #[serde(rename = "do")]
    what: String,
    #[serde(default)]
    of: u64,
    #[serde(flatten)]
    rest: Value,
}

/// A grant, or why there is none.
enum Answer<H> {
    Granted { held: H, fence: u64, slot: u32, group: Option<String> },
    Not { outcome: &'static str, why: String, holders: Vec<String> },
}

impl<H> Answer<H> {
    fn not(outcome: &'static str, why: &(impl ToString + ?Sized)) -> Answer<H> {
        Answer::Not { outcome, why: why.to_string(), holders: Vec::new() }
    }
}

/// A client that an agent drives. It keeps alive what it holds.
trait Client: Sized + 'static {
    type Held: 'static;
    const NAME: &'static str;
    /// What it cannot do, and why.
    const CANNOT: &'static [(&'static str, &'static str)];

    async fn open(setup: Setup) -> Result<Self>;
    /// Asks for a lock. Dropping the future cancels the request.
    async fn acquire(&self, ask: &Ask) -> Answer<Self::Held>;
    /// Completes when a grant is lost.
    async fn lost(&self, held: &Self::Held);
    /// Whether a grant is held at this moment.
    async fn is_held(&self, held: &Self::Held) -> bool;
    /// Releases a grant: `released`, `lost`, `stale` or `cannot`.
    async fn release(&self, held: &Self::Held) -> &'static str;
    /// Ends its session.
    async fn close(&self);
}

/// Runs an agent until its standard input ends.
pub fn run(arguments: &Arguments) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (set, defect) = (LocalSet::new(), arguments.defect);
    set.block_on(&runtime, async {
        match arguments.client {
            Which::Library => serve::<library::Library>(defect).await,
            Which::Http => serve::<http::Http>(defect).await,
            Which::Run => serve::<run_command::RunCommand>(defect).await,
            Which::Script => serve::<script_commands::ScriptCommands>(defect).await,
        }
    })
}

async fn serve<C: Client>(defect: Option<Defect>) -> Result<()> {
    let cannot: BTreeMap<_, _> = C::CANNOT.iter().copied().collect();
    say(&json!({"event": "hello", "protocol": PROTOCOL, "client": C::NAME, "cannot": cannot}));
    let mut lines = lines_of_stdin();
    let mut agent = None;
    while let Some(line) = lines.recv().await {
        let order: Order = serde_json::from_str(&line).with_context(|| line.clone())?;
        if order.what == "open" {
            let client = C::open(serde_json::from_value(order.rest)?).await?;
            // What the one before it had is closed.
            agent = Some(Agent { client: Rc::new(client), defect, requests: BTreeMap::new() });
            event(order.id, "opened", json!({}));
            continue;
        }
        agent.as_mut().context("the first command is 'open'")?.obey(order).await?;
    }
    if let Some(agent) = agent {
        agent.end().await;
    }
    Ok(())
}

/// The lines of standard input, read by a thread of its own.
fn lines_of_stdin() -> mpsc::UnboundedReceiver<String> {
    let (tell, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lines().map_while(Result::ok);
        lines.map(|line| tell.send(line)).find(Result::is_err)
    });
    lines
}

struct Agent<C: Client> {
    client: Rc<C>,
    defect: Option<Defect>,
    requests: BTreeMap<u64, Request<C::Held>>,
}

/// A request that waits or was granted, and the task that waits for its answer and then for its loss.
struct Request<H> {
    held: Rc<RefCell<Option<Rc<H>>>>,
    task: Option<JoinHandle<()>>,
}

impl<C: Client> Agent<C> {
    async fn obey(&mut self, order: Order) -> Result<()> {
        let Order { id, what, of, rest } = order;
        match what.as_str() {
            "acquire" => self.acquire(id, serde_json::from_value(rest)?),
            "cancel" => {
                self.cancel(of).await;
                event(id, "done", json!({}));
            }
            "check" => {
                let held = self.held(of);
                let is_held = match &held {
                    Some(held) => self.client.is_held(held).await || self.has(Defect::HidesLoss),
                    None => false,
                };
                event(id, if is_held { "held" } else { "lost" }, json!({}));
            }
            "release" => {
                let at = now();
                let outcome = self.release(of).await;
                event(id, outcome, json!({"at": at}));
            }
            "close" => {
                for request in self.requests.values_mut() {
                    stop(request).await;
                }
                self.client.close().await;
                event(id, "closed", json!({}));
            }
            _ => event(id, "cannot", json!({"why": format!("there is no command '{what}'")})),
        }
        Ok(())
    }

    fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    fn held(&self, of: u64) -> Option<Rc<C::Held>> {
        self.requests.get(&of)?.held.borrow().clone()
    }

    fn acquire(&mut self, id: u64, ask: Ask) {
        let held = Rc::new(RefCell::new(None));
        let (client, kept, defect) = (self.client.clone(), held.clone(), self.defect);
        let task = tokio::task::spawn_local(async move {
            if defect == Some(Defect::DoesNotWait) && ask.wait_ms.is_none() {
                return event(id, "granted", json!({"fence": now(), "slot": 0, "group": null}));
            }
            match client.acquire(&ask).await {
                Answer::Granted { held, fence, slot, group } => {
                    let held = Rc::new(held);
                    *kept.borrow_mut() = Some(held.clone());
                    let fence = if defect == Some(Defect::WrongFence) { 7 } else { fence };
                    event(id, "granted", json!({"fence": fence, "slot": slot, "group": group}));
                    client.lost(&held).await;
                    if defect != Some(Defect::HidesLoss) {
                        event(id, "lost", json!({}));
                    }
                }
                Answer::Not { outcome, why, holders } => {
                    event(id, outcome, json!({"why": why, "holders": holders}));
                }
            }
        });
        self.requests.insert(id, Request { held, task: Some(task) });
    }

    async fn cancel(&mut self, of: u64) {
        let Some(request) = self.requests.get_mut(&of) else { return };
        if request.held.borrow().is_none() {
            if self.defect != Some(Defect::KeepsWaiting) {
                stop(request).await;
            }
            event(of, "cancelled", json!({}));
        }
    }

    async fn release(&mut self, of: u64) -> &'static str {
        let Some(held) = self.held(of) else { return "cannot" };
        if self.has(Defect::ReleasesLate) {
            let client = self.client.clone();
            tokio::task::spawn_local(async move {
                tokio::time::sleep(LATE).await;
                client.release(&held).await;
            });
            return "released";
        }
        if let Some(request) = self.requests.get_mut(&of) {
            stop(request).await;
        }
        self.client.release(&held).await
    }

    /// Releases everything.
    async fn end(mut self) {
        for request in self.requests.values_mut() {
            stop(request).await;
        }
        self.requests.clear();
        self.client.close().await;
    }
}

/// Ends the task of a request, and waits until it is gone.
async fn stop<H>(request: &mut Request<H>) {
    if let Some(task) = request.task.take() {
        task.abort();
        _ = task.await;
    }
}

/// Tells the suite of an event that happened now, unless the facts say when.
fn event(id: u64, name: &str, mut facts: Value) {
    facts["id"] = json!(id);
    facts["event"] = json!(name);
    if facts["at"].is_null() {
        facts["at"] = json!(now());
    }
    say(&facts);
}

fn say(document: &Value) {
    let mut stdout = std::io::stdout().lock();
    // If standard output is closed, the suite is over.
    _ = stdout.write_all(format!("{document}\n").as_bytes()).and_then(|()| stdout.flush());
}
