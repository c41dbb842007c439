//! The collector of a run: gathers the nodes wherever they are, starts them together, waits until no message
//! is under way, and collects their reports.

use std::time::Duration;

use algorithms::NodeId;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use super::line::{Answer, Hello, Line, Order};
use super::{Counts, Plan, Report, identity};
use service::view::ViewMember;

/// All nodes must have connected after this time.
const GATHERING_LIMIT: Duration = Duration::from_secs(20);
/// A connection must have identified itself after this time.
const HELLO_LIMIT: Duration = Duration::from_secs(1);
/// A node that takes longer to answer has failed.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// The time between two requests for the nodes' progress.
const PAUSE: Duration = Duration::from_millis(200);
/// A longer report is refused.
const LONGEST_REPORT: usize = 256 << 20;

/// The nodes of a run, by their ids. They end when it is dropped.
pub struct Collector {
    lines: Vec<Line>,
}

impl Collector {
    /// Waits until nodes 0 to `nodes` − 1 have connected. Other connections are ignored.
    pub async fn gather(listener: &TcpListener, nodes: u32) -> Result<Collector, String> {
        let mut found: Vec<Option<Line>> = (0..nodes).map(|_| None).collect();
        let all = timeout(GATHERING_LIMIT, async {
            while found.iter().any(Option::is_none) {
                let accepted = listener.accept().await;
                let (stream, _) = accepted.map_err(|error| format!("no node can be accepted: {error}"))?;
                let Ok(mut line) = Line::new(stream) else { continue };
                let hello = timeout(HELLO_LIMIT, line.hear::<Hello>()).await;
                let Ok(Ok(Some(Hello { node }))) = hello else { continue };
                if let Some(place @ None) = found.get_mut(node as usize) {
                    *place = Some(line);
                }
            }
            Ok::<(), String>(())
        });
        // After a timeout, the first missing node is named below.
        all.await.unwrap_or(Ok(()))?;
        match found.iter().position(Option::is_none) {
            Some(missing) => Err(format!("node {missing} does not call")),
            None => Ok(Collector { lines: found.into_iter().flatten().collect() }),
        }
    }

    /// Runs an algorithm and reports from time to time the number of entries so far. The returned reports are
    /// by node and not yet judged. The error is one line.
    pub async fn run(
        &mut self,
        name: &str,
        plan: &Plan,
        mut progress: impl FnMut(u64),
    ) -> Result<Vec<Report>, String> {
        let order = Order::Prepare { name: name.to_string(), plan: plan.clone() };
        let mut members = Vec::new();
        for (id, answer) in (0..).zip(self.order(&order).await?) {
            let Answer::Listening(address) = answer else { return Err(odd(id)) };
            members.push(ViewMember::new(identity(id), &address));
        }
        self.order(&Order::Meet(members)).await?;
        self.order(&Order::Begin).await?;
        loop {
            let (counts, lived) = self.tell().await?;
            progress(counts.entries);
            if lived {
                break;
            }
            sleep(PAUSE).await;
        }
        let silent = timeout(plan.patience, self.silence()).await;
        silent.map_err(|_| "messages are under way that do not arrive".to_string())??;
        self.reports().await
    }

    /// Waits until no message is under way. Clients have finished, so messages can only follow from messages.
    async fn silence(&mut self) -> Result<(), String> {
        // First the delivered messages, then the sent ones: equal sums can then not be a coincidence.
        while self.tell().await?.0.delivered != self.tell().await?.0.sent {
            sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// The progress of all nodes together, and whether all clients have made all their entries.
    async fn tell(&mut self) -> Result<(Counts, bool), String> {
        let (mut sum, mut all) = (Counts::default(), true);
        for (id, answer) in (0..).zip(self.order(&Order::Tell).await?) {
            let Answer::So { counts, lived } = answer else { return Err(odd(id)) };
            sum.add(counts);
            all &= lived;
        }
        Ok((sum, all))
    }

    async fn reports(&mut self) -> Result<Vec<Report>, String> {
        let mut reports = Vec::new();
        let mut answers = self.order(&Order::Finish).await?.into_iter();
        for (id, line) in (0..).zip(&mut self.lines) {
            let (mut whole, mut next) = (Vec::new(), answers.next());
            loop {
                let Some(Answer::Piece { bytes, last }) = next else { return Err(odd(id)) };
                whole.extend(bytes);
                if whole.len() > LONGEST_REPORT {
                    return Err(format!("the report of node {id} is too long: take fewer entries"));
                }
                if last {
                    break;
                }
                next = Some(answer(id, line).await?);
            }
            let report = service::frame::whole(&whole);
            reports.push(report.map_err(|error| format!("the report of node {id} cannot be read: {error}"))?);
        }
        Ok(reports)
    }

    /// Sends an order to all nodes, then waits for all answers: the nodes may need each other to carry it
    /// out.
    async fn order(&mut self, order: &Order) -> Result<Vec<Answer>, String> {
        for (id, line) in (0..).zip(&mut self.lines) {
            line.say(order).await.map_err(|error| gone(id, &error))?;
        }
        let mut answers = Vec::new();
        for (id, line) in (0..).zip(&mut self.lines) {
            answers.push(answer(id, line).await?);
        }
        Ok(answers)
    }
}

async fn answer(id: NodeId, line: &mut Line) -> Result<Answer, String> {
    let heard = timeout(ANSWER_LIMIT, line.hear()).await;
    match heard.map_err(|_| format!("node {id} does not answer"))? {
        Ok(Some(Answer::Failed(why))) => Err(format!("node {id}: {why}")),
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(gone(id, "it hung up")),
        Err(error) => Err(gone(id, &error)),
    }
}

fn gone(id: NodeId, why: &str) -> String {
    format!("node {id} is gone: {why}")
}

fn odd(id: NodeId) -> String {
    format!("node {id} answers something else than it was asked")
}
