//! The HTTP door: what a lock costs there beside a bare round trip, and what it costs to be watched.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::post;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::cluster::{Cluster, runtime};
use crate::error::Error;
use crate::figure::{median, quantile};
use crate::floor::micros;
use crate::{Effort, Figure};

/// Bare and real requests are measured alternately, this many at a time.
const TURN: u32 = 200;
/// What a handler answers that has nothing to do.
const BARE_ANSWER: &str = "{\"done\":true}";

/// Acquires and releases a free lock by HTTP, beside requests whose handler answers at once.
pub(crate) fn cycle(effort: &Effort) -> Result<Vec<Figure>, Error> {
    runtime()?.block_on(async {
        let cluster = Cluster::start(3).await?;
        let door = cluster.open_door(0).await?;
        let bare = Bare::start().await?;
        let time = effort.time;
        // In a task, as in real programs: waking the task of `block_on` costs more.
        let measured = tokio::spawn(async move {
            let (mut floor, mut client) = (connect(bare.address).await?, connect(door).await?);
            let (mut bare_times, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            let begun = Instant::now();
            while begun.elapsed() < time {
                let mut there_and_back = Vec::new();
                for _ in 0..TURN {
                    let started = Instant::now();
                    floor.send("POST /", "{}").await?;
                    there_and_back.push(micros(started));
                }
                let mut cycles = Vec::new();
                for _ in 0..TURN {
                    let started = Instant::now();
                    client.cycle().await?;
                    cycles.push(micros(started));
                }
                ratios.push(median(&mut cycles) / median(&mut there_and_back));
                bare_times.append(&mut there_and_back);
                ours.append(&mut cycles);
            }
            Ok::<_, Error>((bare_times, ours, ratios))
        });
        let (mut bare, mut ours, mut ratios) = measured.await??;
        cluster.stop().await;
        Ok(vec![
            Figure::new("bare round trip", median(&mut bare), "µs"),
            Figure::new("acquire and release", median(&mut ours), "µs"),
            Figure::new("in bare round trips", median(&mut ratios), "").at_most(2.5),
        ])
    })
}

/// How many clients compete while the nodes are scraped.
const CLIENTS: usize = 30;
const NODES: usize = 3;
/// How often each node is scraped.
const EVERY: Duration = Duration::from_millis(10);
/// With and without scrapes alternately, for this long each.
const WINDOW: Duration = Duration::from_millis(250);

/// Waits of competing clients while each node is scraped a hundred times a second, beside the same without.
pub(crate) fn scraped(effort: &Effort) -> Result<Vec<Figure>, Error> {
    runtime()?.block_on(async {
        let cluster = Cluster::start(NODES as u32).await?;
        let (scrape, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let mut scrapers = Vec::new();
        for node in 0..NODES {
            let door = cluster.open_door(node).await?;
            scrapers.push(tokio::spawn(scrape_while(door, scrape.clone(), over.clone())));
        }
        let mut clients = Vec::new();
        for client in 0..CLIENTS {
            let tokenwood = cluster.client(client % NODES).await?;
            let (scrape, over) = (scrape.clone(), over.clone());
            clients.push(tokio::spawn(async move {
                let (lock, mut waits) = (tokenwood.mutex("scraped"), [Vec::new(), Vec::new()]);
                while !over.load(Ordering::Relaxed) {
                    let (asked, scraped) = (Instant::now(), scrape.load(Ordering::Relaxed));
                    let guard = lock.acquire().await?;
                    waits[usize::from(scraped)].push(micros(asked));
                    guard.release();
                }
                Ok::<_, Error>(waits)
            }));
        }
        let begun = Instant::now();
        while begun.elapsed() < effort.time.max(2 * WINDOW) {
            for on in [false, true] {
                scrape.store(on, Ordering::Relaxed);
                sleep(WINDOW).await;
            }
        }
        over.store(true, Ordering::Relaxed);
        let [mut without, mut with] = [Vec::new(), Vec::new()];
        for client in clients {
            let [mut quiet, mut scraped] = client.await??;
            without.append(&mut quiet);
            with.append(&mut scraped);
        }
        let mut scrapes = 0;
        for scraper in scrapers {
            scrapes += scraper.await??;
        }
        cluster.stop().await;
        let figure = |what: &str, waits: &mut Vec<f64>| Figure::new(what, quantile(waits, 0.99), "µs");
        let (quiet, scraped) = (figure("99 of 100 wait at most, not scraped", &mut without), {
            figure("99 of 100 wait at most, scraped", &mut with)
        });
        let ratio = scraped.value / quiet.value;
        Ok(vec![
            Figure::new("scrapes", f64::from(scrapes), ""),
            quiet,
            scraped,
            Figure::new("scraped to not scraped", ratio, "").at_most(1.1),
        ])
    })
}

/// Scrapes a node again and again, in the windows in which it is to be. Returns how often.
async fn scrape_while(
    door: SocketAddr,
    scrape: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
) -> Result<u32, Error> {
    let (mut http, mut scrapes, mut tick) = (connect(door).await?, 0, interval(EVERY));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !over.load(Ordering::Relaxed) {
        tick.tick().await;
        if scrape.load(Ordering::Relaxed) {
            http.send("GET /metrics", "").await?;
            scrapes += 1;
        }
    }
    Ok(scrapes)
}

async fn connect(address: SocketAddr) -> Result<Http, Error> {
    Http::connect(address).await.map_err(Error::at("cannot connect to a door"))
}

/// A server whose handler answers at once.
struct Bare {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Bare {
    async fn start() -> Result<Bare, Error> {
        let cannot = "cannot listen on loopback";
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Error::at(cannot))?;
        let address = listener.local_addr().map_err(Error::at(cannot))?;
        let router = Router::new().route("/", post(async || BARE_ANSWER));
        let task = tokio::spawn(async move { _ = axum::serve(listener, router).await });
        Ok(Bare { address, task })
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A client of a door with one connection, which is kept, and one request at a time.
pub struct Http {
    stream: TcpStream,
    bytes: Vec<u8>,
}

/// What a door answered.
#[derive(Debug)]
pub struct Answer {
    /// 200 and so on.
    pub status: u16,
    /// All of it.
    pub body: String,
}

impl Answer {
    /// The text of a field of its JSON.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.body.split(&format!("\"{field}\":\"")).nth(1)?.split('"').next()
    }

    /// The number of a field of its JSON.
    pub fn number(&self, field: &str) -> Option<u64> {
        let rest = self.body.split(&format!("\"{field}\":")).nth(1)?;
        rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
    }
}

impl Http {
    /// Connects to a door.
    pub async fn connect(address: SocketAddr) -> io::Result<Http> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Http { stream, bytes: Vec::new() })
    }

    async fn cycle(&mut self) -> Result<(), Error> {
        let granted = self.send("POST /v1/locks/cycle/acquire", "{}").await?;
        let grant = granted.text("grant");
        let grant = grant.ok_or_else(|| Error::Measurement(format!("no grant in {granted:?}")))?;
        self.send("DELETE /v1/locks/cycle", &format!("{{\"grant\":\"{grant}\"}}")).await?;
        Ok(())
    }

    /// Sends a request that has to be answered with a success.
    async fn send(&mut self, request: &str, body: &str) -> Result<Answer, Error> {
        let answer = self.exchange(request, body).await.map_err(Error::at("a door hung up"))?;
        match answer.status {
            200..300 => Ok(answer),
            _ => Err(Error::Measurement(format!("a door answered {answer:?}"))),
        }
    }

    /// Sends a request, and waits for its answer.
    pub async fn exchange(&mut self, request: &str, body: &str) -> io::Result<Answer> {
        self.begin(request, body).await?;
        self.finish().await
    }

    /// Sends a request.
    pub async fn begin(&mut self, request: &str, body: &str) -> io::Result<()> {
        let length = body.len();
        let text = format!(
            "{request} HTTP/1.1\r\nhost: door\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(text.as_bytes()).await
    }

    /// Waits for the answer.
    pub async fn finish(&mut self) -> io::Result<Answer> {
        self.bytes.clear();
        loop {
            let read = self.stream.read_buf(&mut self.bytes).await?;
            if let Some(answer) = whole_answer(&self.bytes) {
                return Ok(answer);
            }
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// An answer, if all of it is there.
fn whole_answer(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let (head, body) = (std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 4..]);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let status = head.get(9..12)?.parse().ok()?;
    (body.len() >= length.unwrap_or(0))
        .then(|| Answer { status, body: String::from_utf8_lossy(body).into_owned() })
}
