//! A node that takes part in a run, by the orders of a collector: in a process of its own or as a task.

use std::sync::Arc;
use std::time::Duration;

use algorithms::NodeId;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::line::{Answer, Hello, Line, Order};
use super::{Plan, Report, Seated};
use service::view::ViewMember;

/// This much of a report goes into a frame; the rest is for the envelope.
const PIECE: usize = service::frame::LONGEST_BODY / 2;
/// The members must have connected to each other after this time.
const MEETING_LIMIT: Duration = Duration::from_secs(10);

/// Takes part in a run as this node until the collector closes the connection. Failures in the run are
/// reported to the collector; the error, in one line, is about the connection to it.
pub async fn take_part(collector: &str, me: NodeId) -> Result<(), String> {
    let stream = TcpStream::connect(collector).await;
    let stream = stream.map_err(|error| format!("no collector answers at {collector}: {error}"))?;
    let mut line = Line::new(stream)?;
    line.say(&Hello { node: me }).await?;
    let mut part = Part { me, prepared: None, seated: None, life: None };
    let result = part.obey(&mut line).await;
    part.end().await;
    result
}

struct Part {
    me: NodeId,
    prepared: Option<(String, Plan, TcpListener)>,
    seated: Option<Arc<Seated>>,
    life: Option<JoinHandle<Result<(), String>>>,
}

impl Part {
    async fn obey(&mut self, line: &mut Line) -> Result<(), String> {
        while let Some(order) = line.hear().await? {
            let done = match order {
                Order::Prepare { name, plan } => self.prepare(name, plan).await,
                Order::Meet(members) => tokio::select! {
                    met = self.meet(members) => met,
                    // The collector sends nothing before the answer, so its connection has ended, and perhaps
                    // those of other nodes too.
                    _ = line.hear::<Order>() => return Ok(()),
                },
                Order::Begin => self.begin(),
                Order::Tell => self.tell().await,
                Order::Finish => match self.finish().await {
                    Ok(report) => {
                        send(line, &report).await?;
                        continue;
                    }
                    Err(why) => Err(why),
                },
            };
            line.say(&done.unwrap_or_else(Answer::Failed)).await?;
        }
        Ok(())
    }

    async fn prepare(&mut self, name: String, plan: Plan) -> Result<Answer, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|error| format!("cannot listen: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?.to_string();
        self.prepared = Some((name, plan, listener));
        Ok(Answer::Listening(address))
    }

    /// Completes when all connections stand, so that no message waits for one.
    async fn meet(&mut self, members: Vec<ViewMember>) -> Result<Answer, String> {
        let (name, plan, listener) = self.prepared.take().ok_or("it is not prepared")?;
        let seated = Arc::new(Seated::start(&name, &plan, self.me, members, listener)?);
        self.seated = Some(seated.clone());
        let met = timeout(MEETING_LIMIT, async {
            while !seated.peers.unreachable().is_empty() {
                sleep(Duration::from_millis(1)).await;
            }
        });
        match met.await {
            Ok(()) => Ok(Answer::Done),
            Err(_) => Err(format!("there is no connection to {:?}", seated.peers.unreachable().keys())),
        }
    }

    fn begin(&mut self) -> Result<Answer, String> {
        let seated = self.seated()?.clone();
        self.life = Some(tokio::spawn(async move { seated.live().await }));
        Ok(Answer::Done)
    }

    async fn tell(&mut self) -> Result<Answer, String> {
        if let Some(life) = self.life.take_if(|life| life.is_finished()) {
            life.await.map_err(|error| error.to_string())??;
        }
        Ok(Answer::So { counts: self.seated()?.counts(), lived: self.life.is_none() })
    }

    async fn finish(&mut self) -> Result<Report, String> {
        Ok(self.seated()?.finish().await)
    }

    fn seated(&self) -> Result<&Arc<Seated>, String> {
        self.seated.as_ref().ok_or_else(|| "it has not begun".to_string())
    }

    async fn end(self) {
        if let Some(life) = self.life {
            life.abort();
        }
        if let Some(seated) = self.seated {
            seated.peers.stop().await;
        }
    }
}

async fn send(line: &mut Line, report: &Report) -> Result<(), String> {
    let mut bytes = Vec::new();
    service::frame::append(report, &mut bytes);
    let pieces = bytes.chunks(PIECE);
    let last = pieces.len() - 1;
    for (index, piece) in pieces.enumerate() {
        line.say(&Answer::Piece { bytes: piece.to_vec(), last: index == last }).await?;
    }
    Ok(())
}
