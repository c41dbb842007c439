//! Strangers as a process of their own: one kind of them, until standard input ends. What they count is told all the time,
//! a line of JSON each.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::{Args, ValueEnum};
use random::Random;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use sync::IgnorePoison;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::sleep;

use super::{crowds, frames, slow};

/// Strangers of an ordeal
#[derive(Args, Clone)]
pub struct Arguments {
    #[arg(value_enum)]
    pub(super) kind: Kind,
    /// Where nodes listen for clients,
    #[arg(long, value_delimiter = ',')]
    pub(super) clients: Vec<SocketAddr>,
    /// and for peers
    #[arg(long, value_delimiter = ',')]
    pub(super) peers: Vec<SocketAddr>,
    /// How many, of whatever there are many
    #[arg(long)]
    pub(super) count: usize,
    #[arg(long)]
    pub(super) seed: u64,
}

/// What strangers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Say what makes no sense, and leave.
    Frames,
    /// Connect and do nothing.
    Idle,
    /// Write a byte now and then.
    Writers,
    /// Ask, and read nothing.
    Readers,
    /// Begin to greet at the port for peers, so many a second.
    Hellos,
    /// Wait for one name, in sessions that are kept alive.
    Waiters,
    /// Hold many names, ask for listings, and stop in the middle.
    Listings,
}

/// How often the counts are reported.
const REPORTS: Duration = Duration::from_millis(100);
/// Everything else comes first.
const LAST: i32 = 19;
/// Strangers come from so many addresses beside 127.0.0.1.
const ADDRESSES: u64 = 250;

/// What strangers count, by name.
#[derive(Clone, Default)]
pub(super) struct Counts(Arc<Mutex<BTreeMap<&'static str, i64>>>);

impl Counts {
    pub(super) fn add(&self, what: &'static str, more: i64) {
        *self.0.lock().ignore_poison().entry(what).or_default() += more;
    }

    /// Writes a line to standard output. An error if nothing reads it any more.
    fn report(&self) -> io::Result<()> {
        let counts = json!(*self.0.lock().ignore_poison());
        writeln!(io::stdout(), "{counts}")
    }
}

/// Runs the strangers of one process until standard input ends.
pub async fn run(arguments: &Arguments) {
    let descriptors = raise_descriptor_limit();
    // Strangers have machines of their own: they shall not take the cores of this one from nodes and friends.
    _ = rustix::process::nice(LAST);
    // Connections need most of them, and this program a few.
    let count = arguments.count.min(descriptors.saturating_sub(100) as usize);
    let many = matches!(arguments.kind, Kind::Waiters | Kind::Listings | Kind::Hellos);
    let arguments = Arguments { count: if many { arguments.count } else { count }, ..arguments.clone() };
    let (ended, mut has_ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        _ = io::stdin().read_to_end(&mut Vec::new());
        _ = ended.send(());
    });
    let counts = Counts::default();
    let strangers = tokio::spawn(live(arguments, counts.clone()));
    while has_ended.try_recv().is_err() && counts.report().is_ok() {
        sleep(REPORTS).await;
    }
    strangers.abort();
    _ = counts.report();
}

async fn live(arguments: Arguments, counts: Counts) {
    match arguments.kind {
        Kind::Frames => frames::visit_all(arguments, counts).await,
        Kind::Idle => crowds::idle(arguments, counts).await,
        Kind::Writers => slow::writers(arguments, counts).await,
        Kind::Readers => slow::readers(arguments, counts).await,
        Kind::Hellos => slow::hellos(arguments, counts).await,
        Kind::Waiters => crowds::waiters(arguments, counts).await,
        Kind::Listings => crowds::listings(arguments, counts).await,
    }
}

/// Lets this process have as many descriptors as the system allows it; returns how many.
pub(crate) fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // If it is refused, what was allowed before is what there is.
    _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Connects. Callers have many addresses, and some of them the usual one of this machine.
pub(super) async fn call(to: SocketAddr, caller: u64) -> io::Result<TcpStream> {
    call_with(TcpSocket::new_v4()?, to, caller).await
}

pub(super) async fn call_with(socket: TcpSocket, to: SocketAddr, caller: u64) -> io::Result<TcpStream> {
    if !caller.is_multiple_of(8) {
        let last = 2 + (caller % ADDRESSES) as u8;
        socket.bind((Ipv4Addr::new(127, 0, 0, last), 0).into())?;
    }
    socket.connect(to).await
}

/// One of these, at random.
pub(super) fn any<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize]
}
