//! Peers that call: hellos are read and judged here, and good connections handed to the reactor.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::callers::{Call, Callers};
use super::inlet::Inlet;
use super::peer::{Arrival, Caller, read_greeting};
use super::trouble::Trouble;
use super::{Notice, Shared};
use crate::wire::{self, Answer};

/// How long to wait when the operating system has no connections left to give.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// Where calls come from.
pub struct Calls(Source);

enum Source {
    /// A port of our own.
    Port(TcpListener, Arc<Callers>),
    /// A port that several share.
    PassedOn(mpsc::Receiver<Call>),
}

impl From<TcpListener> for Calls {
    fn from(listener: TcpListener) -> Calls {
        Calls(Source::Port(listener, Arc::default()))
    }
}

impl From<mpsc::Receiver<Call>> for Calls {
    fn from(calls: mpsc::Receiver<Call>) -> Calls {
        Calls(Source::PassedOn(calls))
    }
}

impl Calls {
    async fn next(&mut self) -> io::Result<Call> {
        match &mut self.0 {
            Source::Port(listener, callers) => {
                let (stream, address) = listener.accept().await?;
                Ok(callers.admit(stream, address))
            }
            Source::PassedOn(calls) => match calls.recv().await {
                Some(call) => Ok(call),
                // No more callers come.
                None => std::future::pending().await,
            },
        }
    }
}

/// Accepts connections, for as long as the task is not aborted.
pub(super) async fn listen(mut calls: Calls, shared: Arc<Shared>) {
    let mut greetings = JoinSet::new();
    loop {
        while greetings.try_join_next().is_some() {}
        match calls.next().await {
            Ok(call) => _ = greetings.spawn(greet(call, shared.clone())),
            Err(error) => {
                shared.context.inbox.notice(Notice::CannotAccept { why: error.into() });
                sleep(EXHAUSTED).await;
            }
        }
    }
}

async fn greet(call: Call, shared: Arc<Shared>) {
    let (address, caller) = (call.address, call.stream.node());
    let result = timeout(shared.context.timing.greeting, read_hello(call, &shared)).await;
    if let Err(why) = result.unwrap_or(Err(Trouble::TimedOut)) {
        shared.context.inbox.notice(Notice::TurnedAway { address, caller, why });
    }
}

/// Reads a hello and passes the connection on, or answers why not.
async fn read_hello(call: Call, shared: &Shared) -> Result<(), Trouble> {
    let Call { mut stream, address, read, entry, mut eviction } = call;
    let mut inlet = Inlet::new(&read);
    let greeting = async {
        if read.is_empty() {
            let encryption = &shared.context.encryption;
            stream = encryption.accept(stream, &[security::PEERS], security::Callers::Nodes).await?;
        }
        let body = read_greeting(&mut stream, &mut inlet).await?;
        Ok::<_, Trouble>((stream, body))
    };
    let (mut stream, body) = tokio::select! {
        greeted = greeting => greeted?,
        () = eviction.comes() => return Err(Trouble::Evicted),
    };
    drop(entry);
    let hello = wire::hello(&body)?;
    if !stream.speaks_for(hello.from.id) {
        return Err(Trouble::OtherIdentity { says: hello.from.id });
    }
    match shared.judge(&hello) {
        Ok((version, peer)) => {
            shared.context.inbox.notice(Notice::LetIn { address, peer: hello.from });
            let arrival = Arrival { stream, inlet, version, hello };
            Ok(shared.context.hand_over(arrival, peer, Caller::Them)?)
        }
        Err(refusal) => {
            let mut bytes = Vec::new();
            wire::put_answer(&Answer::Refused(refusal.clone()), &mut bytes);
            stream.write_all(&bytes).await?;
            stream.flush().await?;
            Err(refusal.into())
        }
    }
}
