//! The called side: greetings are judged, questions are answered, each by a task of its own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use openraft::error::RaftError;
use service::frame::Incoming;
use service::registry::Entry as Proposal;
use tokio::io::{AsyncReadExt, ReadHalf, split};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;
use transport::Secured;

use crate::network::{Local, write};
use crate::refused_call::{OnRefusedCall, RefusedCall};
use crate::shared::Shared;
use crate::wire::{self, CallRefusal, Hello, NO_CLUSTER_YET, Request, Response, VERSION};

/// How many connections are served at once. Each peer needs one.
const CONNECTIONS: usize = 1024;
/// How many questions of one connection are answered at once.
const AT_ONCE: usize = 32;
/// A caller that has been silent for this long is disconnected; it connects again when it needs to.
const IDLE: Duration = Duration::from_secs(120);

impl Shared {
    /// Serves all callers, until it is dropped.
    pub(crate) async fn listen(self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let refused: OnRefusedCall = Arc::new(|_| {});
        loop {
            let permit = room.clone().acquire_owned().await.expect("never closed");
            let Ok((stream, _)) = listener.accept().await else {
                // Out of file descriptors, most likely: some will come back.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            while connections.try_join_next().is_some() {}
            let (server, refused) = (self.clone(), refused.clone());
            connections.spawn(async move {
                let _permit = permit;
                // How a connection ends concerns only the caller.
                _ = server.serve(stream.into(), &[], Box::new(()), &refused).await;
            });
        }
    }

    /// See [`crate::Control::serve`].
    pub(crate) async fn serve(
        &self,
        mut stream: Secured,
        read: &[u8],
        permit: Box<dyn Send>,
        refused: &OnRefusedCall,
    ) -> io::Result<()> {
        let from_start = &mut read.chain(&mut stream);
        let hello = timeout(self.local.silence_timeout, wire::read_hello(from_start)).await;
        let hello = match hello.unwrap_or_else(|late| Err(late.into())) {
            Ok(hello) => hello,
            Err(error) => {
                refused(RefusedCall::NoGreeting(error));
                return Ok(());
            }
        };
        let judged = match stream.speaks_for(hello.from) {
            true => self.judge(&hello).await,
            false => Err(CallRefusal::Identity),
        };
        drop(permit);
        let from = hello.from;
        // A node that looks around before it has a cluster is no stranger.
        let looks_around = matches!(judged, Err(CallRefusal::NoCluster | CallRefusal::InCluster { .. }));
        if let Err(why) = &judged
            && !looks_around
        {
            refused(RefusedCall::Caller { hello, why: why.clone() });
        }
        timeout(self.local.silence_timeout, wire::answer(&mut stream, &judged)).await??;
        if judged.is_err() {
            return Ok(());
        }
        if let Some(address) = stream.address() {
            let node = self.local.node;
            tracing::debug!(target: "node", node, %address, "let in for consensus: node {from} at {address}");
        }
        let (reading, mut writing) = split(stream);
        let (answers, mut waiting) = mpsc::channel::<Vec<u8>>(AT_ONCE);
        let writes = async {
            while let Some(bytes) = waiting.recv().await {
                timeout(self.local.silence_timeout, write(&mut writing, &bytes)).await??;
            }
            Ok(())
        };
        tokio::select! {
            read = self.read_questions(reading, answers, (from, refused)) => read,
            written = writes => written,
        }
    }

    /// Whether to talk to this caller. A node that belongs to no cluster yet belongs to that of its first caller.
    async fn judge(&self, hello: &Hello) -> Result<u64, CallRefusal> {
        let Local { cluster, node, mark, .. } = &*self.local;
        if hello.version != VERSION {
            return Err(CallRefusal::Version { here: VERSION });
        }
        if hello.cluster != *cluster {
            return Err(CallRefusal::Cluster { here: cluster.clone() });
        }
        if hello.to != *node {
            return Err(CallRefusal::Mistaken { here: *node });
        }
        let mut cluster_id = self.local.cluster_id.lock().await;
        match *cluster_id {
            None if hello.cluster_id == NO_CLUSTER_YET => Err(CallRefusal::NoCluster),
            Some(_) if hello.cluster_id == NO_CLUSTER_YET => Err(CallRefusal::InCluster {
                used: self.registry.borrow().incarnations.contains_key(&hello.from),
                known: self.nodes().contains_key(&hello.from),
            }),
            Some(id) if id != hello.cluster_id => Err(CallRefusal::ClusterId),
            Some(_) => Ok(*mark),
            None => {
                self.disk.belongs_to(hello.cluster_id).await.map_err(|_| CallRefusal::Folder)?;
                *cluster_id = Some(hello.cluster_id);
                Ok(*mark)
            }
        }
    }

    async fn read_questions(
        &self,
        mut stream: ReadHalf<Secured>,
        answers: mpsc::Sender<Vec<u8>>,
        (from, refused): (u32, &OnRefusedCall),
    ) -> io::Result<()> {
        let mut incoming = Incoming::default();
        let mut tasks = JoinSet::new();
        let room = Arc::new(Semaphore::new(AT_ONCE));
        while timeout(IDLE, stream.read_buf(incoming.buffer())).await?? > 0 {
            loop {
                let (number, request) = match incoming.next(VERSION) {
                    Ok(Some(question)) => question,
                    Ok(None) => break,
                    Err(why) => {
                        refused(RefusedCall::Frame { from, why });
                        return Ok(());
                    }
                };
                let permit = room.clone().acquire_owned().await.expect("never closed");
                while tasks.try_join_next().is_some() {}
                let (server, answers, refused) = (self.clone(), answers.clone(), refused.clone());
                tasks.spawn(async move {
                    let _permit = permit;
                    let response = match server.may_ask(&request, from) {
                        true => server.respond(request).await,
                        false => Response::Refused(format!("node {from} may not ask this")),
                    };
                    if let Response::Failed(why) | Response::Refused(why) = &response {
                        refused(RefusedCall::Question { from, why: why.clone() });
                    }
                    // The connection may have ended.
                    _ = answers.send(wire::encode(number, &response)).await;
                });
            }
        }
        Ok(())
    }

    /// Whether a caller may ask this. A node whose log has no members yet knows none.
    fn may_ask(&self, request: &Request, from: u32) -> bool {
        let nodes = self.nodes();
        request.may_come_from(from, nodes.is_empty() || nodes.contains_key(&from))
    }

    async fn respond(&self, request: Request) -> Response {
        let failed = |error: &dyn std::error::Error| Response::Failed(error.to_string());
        match request {
            Request::Append(rpc) => {
                self.local.supports();
                self.raft.append_entries(rpc).await.map_or_else(|error| failed(&error), Response::Append)
            }
            // Only the first election of a cluster is held among nodes that know nothing. Otherwise this one may have lost its
            // folder, and with it what it voted for.
            Request::Vote(rpc)
                if rpc.last_log_id.is_some_and(|last| last.index > 0) && !self.is_initialized().await =>
            {
                Response::Failed("it has no log yet, and does not vote".to_owned())
            }
            Request::Vote(rpc) => match self.raft.vote(rpc).await {
                Ok(vote) => Response::Vote { vote, quiet: self.local.quiet() },
                Err(error) => failed(&error),
            },
            Request::Snapshot(rpc) => match self.raft.install_snapshot(rpc).await {
                Ok(response) => Response::Snapshot(Ok(response)),
                Err(RaftError::APIError(error)) => Response::Snapshot(Err(error)),
                Err(RaftError::Fatal(error)) => failed(&error),
            },
            Request::Propose(entry @ (Proposal::Define { .. } | Proposal::Rights(_))) => {
                self.propose_here(entry).await
            }
            Request::Leader(question) => self.ask_here(question).await,
            Request::PassOn(question) => self.ask_leader(question).await,
            // A view is decided under one leadership and must not reach another.
            Request::Propose(_) => Response::Failed(
                "only definitions and rights can be proposed through another node".to_owned(),
            ),
        }
    }
}
