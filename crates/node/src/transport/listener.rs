//! Who calls: hellos are read and judged here, and good connections handed to the task of their peer.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::inlet::Inlet;
use super::peer::{Arrival, read_greeting};
use super::stream;
use super::trouble::Trouble;
use super::{Inbox, Notice, Shared};
use crate::wire::{self, Answer};

/// How many callers are greeted at once. The others wait in the queue of the operating system.
const MOST_GREETINGS: usize = 64;

/// How long to wait when the operating system has no connections left to give.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// Where calls come from.
pub enum Calls {
    /// A port of our own.
    Port(TcpListener),
    /// A port that somebody else listens at for several.
    PassedOn(mpsc::Receiver<(TcpStream, SocketAddr)>),
}

impl From<TcpListener> for Calls {
    fn from(listener: TcpListener) -> Calls {
        Calls::Port(listener)
    }
}

impl From<mpsc::Receiver<(TcpStream, SocketAddr)>> for Calls {
    fn from(calls: mpsc::Receiver<(TcpStream, SocketAddr)>) -> Calls {
        Calls::PassedOn(calls)
    }
}

impl Calls {
    async fn next(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        match self {
            Calls::Port(listener) => listener.accept().await,
            Calls::PassedOn(calls) => match calls.recv().await {
                Some(call) => Ok(call),
                // Nobody calls any more.
                None => std::future::pending().await,
            },
        }
    }
}

/// Accepts connections, for as long as the task is not aborted.
pub(crate) async fn listen<I: Inbox>(mut calls: Calls, shared: Arc<Shared>, inbox: Arc<I>) {
    let mut greetings = JoinSet::new();
    loop {
        while greetings.try_join_next().is_some() {}
        if greetings.len() >= MOST_GREETINGS {
            greetings.join_next().await;
            continue;
        }
        match calls.next().await {
            Ok((stream, address)) => {
                greetings.spawn(greet(stream, address, shared.clone(), inbox.clone()));
            }
            Err(error) => {
                inbox.notice(Notice::CannotAccept { why: error.into() });
                sleep(EXHAUSTED).await;
            }
        }
    }
}

async fn greet<I: Inbox>(stream: TcpStream, address: SocketAddr, shared: Arc<Shared>, inbox: Arc<I>) {
    let limit = shared.timing.greeting;
    let result = timeout(limit, read_hello(stream, &shared)).await.unwrap_or(Err(Trouble::TimedOut));
    if let Err(why) = result {
        inbox.notice(Notice::TurnedAway { address, why });
    }
}

/// Reads a hello and passes the connection on, or answers why not.
async fn read_hello(stream: TcpStream, shared: &Shared) -> Result<(), Trouble> {
    let (reader, mut writer) = stream::wrap(stream).await?;
    let mut inlet = Inlet::new(reader);
    let hello = wire::hello(&read_greeting(&mut inlet).await?)?;
    match shared.judge(&hello) {
        Ok((version, peer)) => {
            // In this order, or the new connection could be the one that is given up.
            peer.outlet.disconnect_any(Trouble::Replaced);
            peer.arrivals.put(Arrival { inlet, writer, version, hello });
            Ok(())
        }
        Err(refusal) => {
            let mut bytes = Vec::new();
            wire::put_answer(&Answer::Refused(refusal.clone()), &mut bytes);
            writer.write_all(&bytes).await?;
            Err(refusal.into())
        }
    }
}
