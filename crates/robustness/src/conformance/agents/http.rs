//! HTTP by hand: a session at the door of a node, kept alive by this client, and a connection for each request.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::{Answer, Ask, Client, Setup};

pub(super) struct Http {
    setup: Setup,
    /// The session that requests are made in, and the door to try next.
    current: Mutex<(Option<Rc<Session>>, usize)>,
    sessions: RefCell<Vec<Rc<Session>>>,
}

/// A session at a door.
pub(super) struct Session {
    door: String,
    id: String,
    /// Until when all grants are held, whatever happens.
    until: Cell<Instant>,
    beat: Cell<Duration>,
    over: Cell<bool>,
    revoked: RefCell<Vec<String>>,
}

/// A grant, and the session that holds it.
pub(super) struct Held {
    session: Rc<Session>,
    lock: String,
    grant: String,
    released: Cell<bool>,
}

/// How often to look whether a grant is still held.
const LOOK: Duration = Duration::from_millis(10);
/// An answer that needs no waiting takes no longer than this.
const SOON: Duration = Duration::from_secs(5);
/// A request that waits for ever says this.
const FOR_EVER: &str = "1000h";
/// Before the next door is tried.
const PAUSE: Duration = Duration::from_millis(100);
/// A client that was refused by so many doors in a row gives up.
const MOST_DOORS: u32 = 100;

impl Client for Http {
    type Held = Held;
    const NAME: &'static str = "HTTP by hand";
    const CANNOT: &'static [(&'static str, &'static str)] = &[];

    async fn open(setup: Setup) -> Result<Http> {
        let client = Http { setup, current: Mutex::new((None, 0)), sessions: RefCell::default() };
        client.session().await?;
        Ok(client)
    }

    async fn acquire(&self, ask: &Ask) -> Answer<Held> {
        let until = ask.wait().map(|wait| Instant::now() + wait);
        let mut why = String::new();
        for _ in 0..MOST_DOORS {
            let session = match self.session().await {
                Ok(session) => session,
                Err(error) => return Answer::not("unavailable", &format!("{error:#}")),
            };
            let wait = until.map(|until| until.saturating_duration_since(Instant::now()));
            let (path, options) = (path(&ask.lock, "/acquire"), options(&session, ask, wait));
            let sent = Instant::now();
            let answered = tokio::select! {
                answered = session.send("POST", &path, &options) => answered,
                () = session.ends() => Err(anyhow::anyhow!("the session ended while the request waited")),
            };
            match answered {
                Ok((200, body)) if session.heard(sent, &body) => return held(session, ask, &body),
                Ok((status, body)) if [200, 410, 421, 500, 503].contains(&status) => why = body.to_string(),
                Ok((_, body)) => return refused(ask, &body),
                Err(error) => why = format!("{error:#}"),
            }
            session.over.set(true);
            sleep(PAUSE).await;
        }
        Answer::not("unavailable", &why)
    }

    async fn lost(&self, held: &Held) {
        while held.is_held() {
            sleep(LOOK).await;
        }
    }

    async fn is_held(&self, held: &Held) -> bool {
        held.is_held()
    }

    async fn release(&self, held: &Held) -> &'static str {
        held.released.set(true);
        let (path, body) = (path(&held.lock, ""), json!({"grant": held.grant}));
        match timeout(SOON, held.session.send("DELETE", &path, &body)).await {
            Ok(Ok((204, _))) => "released",
            Ok(Ok((409, _))) => "stale",
            Ok(Ok((410 | 421, _))) => "lost",
            _ => "unavailable",
        }
    }

    async fn close(&self) {
        for session in self.sessions.take() {
            let path = format!("/v1/sessions/{}", session.id);
            if !session.over.replace(true) {
                // What is not closed runs out.
                _ = timeout(SOON, session.send("DELETE", &path, &Value::Null)).await;
            }
        }
    }
}

impl Http {
    /// The current session, or a new one at the next door that opens one.
    async fn session(&self) -> Result<Rc<Session>> {
        let mut current = self.current.lock().await;
        if let Some(session) = current.0.as_ref().filter(|session| session.is_alive()) {
            return Ok(session.clone());
        }
        // At the door of the session that ended, nothing is to be expected.
        current.1 += usize::from(current.0.is_some());
        for _ in 0..MOST_DOORS {
            let door = &self.setup.doors[current.1 % self.setup.doors.len()];
            if let Ok(Ok(session)) = timeout(SOON, open(door, &self.setup)).await {
                self.sessions.borrow_mut().push(session.clone());
                current.0 = Some(session.clone());
                return Ok(session);
            }
            current.1 += 1;
            sleep(PAUSE).await;
        }
        anyhow::bail!("no door opens a session")
    }
}

async fn open(door: &str, setup: &Setup) -> Result<Rc<Session>> {
    let sent = Instant::now();
    let body = json!({"ttl": format!("{}ms", setup.ttl_ms), "label": setup.label});
    let (status, answer) = send(door, "POST", "/v1/sessions", &body).await?;
    anyhow::ensure!(status == 201, "{answer}");
    let session = Rc::new(Session {
        door: door.to_string(),
        id: answer["session"].as_str().context("no session")?.to_string(),
        until: Cell::new(sent),
        beat: Cell::default(),
        over: Cell::new(false),
        revoked: RefCell::default(),
    });
    session.heard(sent, &answer);
    tokio::task::spawn_local(keep(session.clone()));
    Ok(session)
}

/// Keeps a session alive for as long as it can be.
async fn keep(session: Rc<Session>) {
    let path = format!("/v1/sessions/{}", session.id);
    while session.is_alive() {
        sleep(session.beat.get()).await;
        let sent = Instant::now();
        let answered = timeout(session.beat.get(), session.send("PUT", &path, &Value::Null)).await;
        match answered {
            Ok(Ok((200, body))) => {
                session.heard(sent, &body);
                let revoked = body["revoked"].as_array().into_iter().flatten();
                let grants = revoked.filter_map(|grant| Some(grant["grant"].as_str()?.to_string()));
                *session.revoked.borrow_mut() = grants.collect();
            }
            Ok(Ok((404 | 410 | 421, _))) => session.over.set(true),
            _ => {}
        }
    }
}

impl Session {
    fn is_alive(&self) -> bool {
        !self.over.get() && Instant::now() < self.until.get()
    }

    async fn ends(&self) {
        while self.is_alive() {
            sleep(LOOK).await;
        }
    }

    /// Notes what a node promised in an answer to a request that was sent then. Whether that is not over yet.
    fn heard(&self, sent: Instant, answer: &Value) -> bool {
        let part = |name: &str| Duration::from_millis(answer[name].as_u64().unwrap_or(0));
        let certain = part("certain_ms");
        // A promise that comes late does not bring back what is over.
        if self.beat.get().is_zero() || self.is_alive() {
            self.until.set(self.until.get().max(sent + part("waited_ms") + certain));
            self.beat.set(certain / 3);
        }
        self.is_alive()
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Result<(u16, Value)> {
        send(&self.door, method, path, body).await
    }
}

impl Held {
    fn is_held(&self) -> bool {
        !self.released.get()
            && self.session.is_alive()
            && !self.session.revoked.borrow().contains(&self.grant)
    }
}

fn held(session: Rc<Session>, ask: &Ask, body: &Value) -> Answer<Held> {
    let (Some(grant), Some(fence), Some(slot)) =
        (body["grant"].as_str(), body["fence"].as_u64(), body["slot"].as_u64())
    else {
        return Answer::not("failed", body);
    };
    let held = Held { session, lock: ask.lock.clone(), grant: grant.to_string(), released: Cell::new(false) };
    Answer::Granted { held, fence, slot: slot as u32, group: body["group"].as_str().map(str::to_string) }
}

fn refused(ask: &Ask, body: &Value) -> Answer<Held> {
    let problem = body["type"].as_str().and_then(|kind| kind.rsplit(':').next()).unwrap_or_default();
    let outcome = match problem {
        "taken" | "timed-out" => ask.not_granted(),
        "defined-otherwise" => "refused",
        _ => "failed",
    };
    let holders = body["holders"].as_array().into_iter().flatten().map(Value::to_string).collect();
    Answer::Not { outcome, why: body["detail"].as_str().unwrap_or_default().to_string(), holders }
}

fn options(session: &Session, ask: &Ask, wait: Option<Duration>) -> Value {
    let wait = wait.map_or(FOR_EVER.to_string(), |wait| format!("{}ms", wait.as_millis()));
    let mut options = json!({"session": session.id, "wait": wait});
    let given = [
        ("slots", ask.slots.map(Value::from)),
        ("mode", ask.mode.clone().map(Value::from)),
        ("group", ask.groups.clone().map(Value::from)),
    ];
    given.into_iter().for_each(|(name, value)| value.into_iter().for_each(|value| options[name] = value));
    options
}

fn path(lock: &str, verb: &str) -> String {
    format!("/v1/locks/{lock}{verb}")
}

/// Sends a request to a door, on a connection of its own. Dropping the future hangs up.
async fn send(door: &str, method: &str, path: &str, body: &Value) -> Result<(u16, Value)> {
    let address = door.strip_prefix("http://").context("not an http:// URL")?;
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = TcpStream::connect(address).await?;
    let head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    let about = format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{about}{body}").as_bytes()).await?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").context("no answer")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
    Ok((status, serde_json::from_str(body).unwrap_or(Value::Null)))
}
