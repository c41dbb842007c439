//! The calling side: one connection per peer. It carries any number of requests at once, and is opened again
//! when it breaks.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use openraft::error::{
    InstallSnapshotError, NetworkError, PayloadTooLarge, RPCError, RaftError, RemoteError, Unreachable,
};
use openraft::impls::BasicNode;
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use service::Time;
use service::frame::{Incoming, LENGTH_BYTES, LONGEST_BODY};
use service::leases::{Support, Votes};
use sync::IgnorePoison;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use transport::{Encryption, Secured};

use crate::types::Types;
use crate::wire::{self, Hello, Request, Response, VERSION};

/// How many questions may wait to be written to a connection.
const WAITING: usize = 64;

/// What this node says of itself to others, and what it knows of elections.
pub(crate) struct Local {
    pub(crate) cluster: String,
    pub(crate) node: u32,
    /// The mark of its folder.
    pub(crate) mark: u64,
    /// The number of the cluster, once it is known and on disk.
    pub(crate) cluster_id: tokio::sync::Mutex<Option<u64>>,
    /// A connection that receives nothing for this long is closed.
    pub(crate) silence_timeout: Duration,
    /// How long to leave a peer alone that could not be reached.
    pub(crate) pause: Duration,
    /// What leases are counted on.
    pub(crate) clock: fn() -> Time,
    /// When this node last supported a leader, and what other voters reported about that with their votes.
    pub(crate) voting: Mutex<(Support, Votes)>,
    /// Whether connections are encrypted.
    pub(crate) encryption: Encryption,
}

impl Local {
    fn voting(&self) -> MutexGuard<'_, (Support, Votes)> {
        self.voting.lock().ignore_poison()
    }

    /// This node supports a leader, or is about to: see [`Support::given`].
    pub(crate) fn supports(&self) {
        self.voting().0.given((self.clock)());
    }

    /// For how long this node has supported no leader: see [`Support::quiet`].
    pub(crate) fn quiet(&self) -> Duration {
        self.voting().0.quiet((self.clock)())
    }

    /// A voter has given its vote.
    fn elected_by(&self, term: u64, quiet: Duration) {
        let mut voting = self.voting();
        let own = voting.0.last();
        voting.1.granted(term, (self.clock)(), quiet, own);
    }

    /// Until when others may have led, if this node does now: see [`Votes::since`].
    pub(crate) fn others_led_until(&self, term: u64, now: Time) -> Time {
        self.voting().1.since(term, now)
    }
}

/// The peers that were called so far.
#[derive(Clone)]
pub(crate) struct Peers {
    local: Arc<Local>,
    peers: Arc<Mutex<BTreeMap<u64, Arc<Peer>>>>,
    known: Arc<Known>,
}

/// What is known of the peers that were called.
#[derive(Default)]
struct Known {
    /// The marks of their folders. A node that comes back with another folder has forgotten what it promised: it is not
    /// called again, because it would be counted on.
    marks: Mutex<BTreeMap<u64, u64>>,
    /// What became of the last call to each: why it could not be reached, or nothing if it was.
    calls: Mutex<BTreeMap<u64, Option<String>>>,
}

impl Known {
    fn is_the_same(&self, node: u64, mark: u64) -> bool {
        *self.marks.lock().ignore_poison().entry(node).or_insert(mark) == mark
    }

    fn called(&self, node: u64, trouble: Option<String>) {
        self.calls.lock().ignore_poison().insert(node, trouble);
    }
}

impl Peers {
    pub(crate) fn new(local: Arc<Local>) -> Peers {
        Peers { local, peers: Arc::default(), known: Arc::default() }
    }

    /// The peer at this address.
    pub(crate) fn peer(&self, target: u64, address: &str) -> Arc<Peer> {
        let mut peers = self.peers.lock().ignore_poison();
        let peer = peers.entry(target).or_insert_with(|| self.new_peer(target, address));
        if peer.address != address {
            *peer = self.new_peer(target, address);
        }
        peer.clone()
    }

    /// All that were called, and why they could not be reached when they were last called, if so.
    pub(crate) fn calls(&self) -> BTreeMap<u32, Option<String>> {
        let calls = self.known.calls.lock().ignore_poison();
        calls.iter().filter_map(|(node, why)| Some((u32::try_from(*node).ok()?, why.clone()))).collect()
    }

    /// Gives up all connections.
    pub(crate) fn clear(&self) {
        self.peers.lock().ignore_poison().clear();
    }

    fn new_peer(&self, target: u64, address: &str) -> Arc<Peer> {
        let (local, address, known) = (self.local.clone(), address.to_owned(), self.known.clone());
        Arc::new(Peer {
            target,
            address,
            local,
            known,
            numbers: AtomicU64::new(0),
            line: tokio::sync::Mutex::default(),
        })
    }
}

/// Another node, as it is called.
pub(crate) struct Peer {
    target: u64,
    address: String,
    local: Arc<Local>,
    known: Arc<Known>,
    /// The number of the last question.
    numbers: AtomicU64,
    line: tokio::sync::Mutex<Option<Line>>,
}

/// Requests without an answer, and since when nothing at all has come back. A caller may stop waiting long
/// before it is clear that the connection is dead.
#[derive(Default)]
struct Questions {
    waiting: BTreeMap<u64, oneshot::Sender<Response>>,
    unanswered_since: Option<Instant>,
}

type Pending = Arc<Mutex<Questions>>;

/// A connection that stands.
struct Line {
    outgoing: mpsc::Sender<Vec<u8>>,
    pending: Pending,
    /// Ends with it.
    _task: JoinSet<()>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The peer cannot be reached.
    Unreachable(io::Error),
    /// The connection broke after the peer was asked.
    Broken,
    /// The question is too long.
    TooLong,
}

impl Peer {
    /// Sends a request and waits for the answer; the caller bounds the wait.
    pub(crate) async fn call(&self, request: &Request) -> Result<Response, CallError> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let bytes = wire::encode(number, request);
        if bytes.len() > LONGEST_BODY + LENGTH_BYTES {
            return Err(CallError::TooLong);
        }
        let (outgoing, pending) = self.line().await.map_err(CallError::Unreachable)?;
        let (sender, receiver) = oneshot::channel();
        let _waiting = Waiting::begin(&pending, number, sender);
        outgoing.send(bytes).await.map_err(|_| CallError::Broken)?;
        receiver.await.map_err(|_| CallError::Broken)
    }

    /// The connection, opened again if necessary.
    async fn line(&self) -> io::Result<(mpsc::Sender<Vec<u8>>, Pending)> {
        let mut line = self.line.lock().await;
        if line.as_ref().is_none_or(|line| line.outgoing.is_closed()) {
            *line = None;
            let made = timeout(self.local.silence_timeout, self.connect()).await;
            let made =
                made.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer")));
            self.known.called(self.target, made.as_ref().err().map(in_words));
            *line = Some(made?);
        }
        let line = line.as_ref().expect("it was just made");
        Ok((line.outgoing.clone(), line.pending.clone()))
    }

    async fn connect(&self) -> io::Result<Line> {
        let cluster_id = *self.local.cluster_id.lock().await;
        let cluster_id = cluster_id.ok_or_else(|| io::Error::other("this node belongs to no cluster yet"))?;
        let to = u32::try_from(self.target).map_err(io::Error::other)?;
        let encryption = &self.local.encryption;
        let mut stream = encryption.call(&self.address, security::CONTROL, Some(to)).await?;
        let (from, cluster) = (self.local.node, self.local.cluster.clone());
        let hello = Hello { version: VERSION, cluster, cluster_id, from, to };
        let answer = wire::greet(&mut stream, &hello).await?;
        let mark = answer.map_err(|refusal| io::Error::other(refusal.to_string()))?;
        if !self.known.is_the_same(self.target, mark) {
            return Err(io::Error::other("it lost its folder: it has to join again under a new id"));
        }
        let (outgoing, waiting) = mpsc::channel(WAITING);
        let (pending, silence_timeout) = (Pending::default(), self.local.silence_timeout);
        let mut task = JoinSet::new();
        let answers = pending.clone();
        task.spawn(async move {
            let (reading, writing) = split(stream);
            tokio::select! {
                () = read_answers(reading, &answers, silence_timeout) => {}
                () = write_questions(writing, waiting, silence_timeout) => {}
            }
            // No caller waits any longer for an answer from here.
            answers.lock().ignore_poison().waiting.clear();
        });
        Ok(Line { outgoing, pending, _task: task })
    }
}

/// An error without the number that the operating system has for it.
pub(crate) fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    text.find(" (os error ").map_or(text.clone(), |end| text[..end].to_owned())
}

/// A caller waits for an answer; when it stops waiting, the request is forgotten.
struct Waiting<'a> {
    pending: &'a Pending,
    number: u64,
}

impl Waiting<'_> {
    fn begin(pending: &Pending, number: u64, sender: oneshot::Sender<Response>) -> Waiting<'_> {
        let mut questions = pending.lock().ignore_poison();
        questions.waiting.insert(number, sender);
        questions.unanswered_since.get_or_insert_with(Instant::now);
        Waiting { pending, number }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pending.lock().ignore_poison().waiting.remove(&self.number);
    }
}

async fn read_answers(mut stream: ReadHalf<Secured>, pending: &Pending, silence_timeout: Duration) {
    let questions = || pending.lock().ignore_poison();
    let mut incoming = Incoming::default();
    loop {
        match timeout(silence_timeout / 4, stream.read_buf(incoming.buffer())).await {
            Ok(Ok(1..)) => questions().unanswered_since = None,
            Ok(_) => return,
            Err(_)
                if questions().unanswered_since.is_some_and(|since| since.elapsed() >= silence_timeout) =>
            {
                return;
            }
            Err(_) => continue,
        }
        loop {
            match incoming.next::<(u64, Response)>(VERSION) {
                Ok(Some((number, response))) => {
                    let asked = questions().waiting.remove(&number);
                    // The caller may have stopped waiting.
                    _ = asked.map(|sender| sender.send(response));
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

async fn write_questions(
    mut stream: WriteHalf<Secured>,
    mut waiting: mpsc::Receiver<Vec<u8>>,
    silence_timeout: Duration,
) {
    while let Some(bytes) = waiting.recv().await {
        if !matches!(timeout(silence_timeout, write(&mut stream, &bytes)).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// Writes all of it, and sees to it that encryption holds nothing back.
pub(crate) async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}

impl RaftNetworkFactory<Types> for Peers {
    type Network = Caller;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> Caller {
        Caller { peer: self.peer(target, &node.addr) }
    }
}

/// What openraft calls a peer with.
pub(crate) struct Caller {
    peer: Arc<Peer>,
}

type Failed<E = openraft::error::Infallible> = RPCError<u64, BasicNode, RaftError<u64, E>>;

impl Caller {
    fn failed<E: std::error::Error>(&self, error: CallError) -> Failed<E> {
        match error {
            CallError::Unreachable(error) => Unreachable::new(&error).into(),
            CallError::Broken => NetworkError::new(&io::Error::other("the connection broke")).into(),
            CallError::TooLong => Unreachable::new(&io::Error::other("the message is too long")).into(),
        }
    }

    /// The other end sent an answer that does not fit the request.
    fn unfit<E: std::error::Error>(&self, response: Response) -> Failed<E> {
        let what = match response {
            Response::Failed(what) => what,
            _ => "unexpected answer".to_owned(),
        };
        Unreachable::new(&io::Error::other(what)).into()
    }
}

impl RaftNetwork<Types> for Caller {
    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<Types>,
        _option: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, Failed> {
        let entries = rpc.entries.len() as u64;
        match self.peer.call(&Request::Append(rpc)).await {
            Ok(Response::Append(response)) => Ok(response),
            Ok(response) => Err(self.unfit(response)),
            // Half of them, and so on: a single entry always fits.
            Err(CallError::TooLong) if entries > 1 => {
                Err(PayloadTooLarge::new_entries_hint(entries / 2).into())
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    async fn install_snapshot(
        &mut self,
        rpc: InstallSnapshotRequest<Types>,
        _option: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, Failed<InstallSnapshotError>> {
        match self.peer.call(&Request::Snapshot(rpc)).await {
            Ok(Response::Snapshot(Ok(response))) => Ok(response),
            Ok(Response::Snapshot(Err(error))) => {
                Err(RemoteError::new(self.peer.target, RaftError::APIError(error)).into())
            }
            Ok(response) => Err(self.unfit(response)),
            Err(error) => Err(self.failed(error)),
        }
    }

    async fn vote(&mut self, rpc: VoteRequest<u64>, _option: RPCOption) -> Result<VoteResponse<u64>, Failed> {
        let term = rpc.vote.leader_id.term;
        match self.peer.call(&Request::Vote(rpc)).await {
            Ok(Response::Vote { vote, quiet }) => {
                // Before it is counted.
                if vote.vote_granted {
                    self.peer.local.elected_by(term, quiet);
                }
                Ok(vote)
            }
            Ok(response) => Err(self.unfit(response)),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(self.peer.local.pause))
    }
}
