//! The collector of a run: gathers the nodes wherever they are, starts them together, waits until no message
//! is under way, and collects their reports.

use std::io;
use std::time::Duration;

use algorithms::NodeId;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::clocks::Offset;
use super::orders::{Answer, Connection, Hello, Order, PROGRAM, Summons};
use super::{Counts, Error, Plan, Report, identity};
use service::view::ViewMember;
use transport::clock;

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

/// A seat must have answered after this time.
const CALL_LIMIT: Duration = Duration::from_secs(5);
/// A seat that is busy for longer takes part in another run.
const BUSY_LIMIT: Duration = Duration::from_secs(5);
/// How often each clock is read; the quickest reading counts.
const READINGS: u32 = 20;

/// The nodes of a run, by their ids. They end when it is dropped.
pub struct Collector {
    connections: Vec<Connection>,
    /// Whether the nodes may be on other machines, with clocks of their own.
    far: bool,
}

impl Collector {
    /// Waits until nodes 0 to `nodes` − 1 have connected. Other connections are ignored.
    pub async fn gather(listener: &TcpListener, nodes: u32) -> Result<Collector, Error> {
        let mut found: Vec<Option<Connection>> = (0..nodes).map(|_| None).collect();
        let all = timeout(GATHERING_LIMIT, async {
            while found.iter().any(Option::is_none) {
                let accepted = listener.accept().await;
                let (stream, _) = accepted.map_err(Error::Accept)?;
                let Ok(mut connection) = Connection::new(stream) else { continue };
                let hello = timeout(HELLO_LIMIT, connection.receive::<Hello>()).await;
                let Ok(Ok(Some(Hello { node, .. }))) = hello else { continue };
                if let Some(place @ None) = found.get_mut(node as usize) {
                    *place = Some(connection);
                }
            }
            Ok::<(), Error>(())
        });
        // After a timeout, the first missing node is named below.
        all.await.unwrap_or(Ok(()))?;
        match found.iter().position(Option::is_none) {
            Some(missing) => Err(Error::NotConnected(missing as NodeId)),
            None => Ok(Collector { connections: found.into_iter().flatten().collect(), far: false }),
        }
    }

    /// Calls the seats at these addresses: the first is node 0.
    pub async fn call(seats: &[String]) -> Result<Collector, Error> {
        let mut connections = Vec::new();
        for (node, seat) in (0..).zip(seats) {
            connections.push(call(seat, node).await?);
        }
        Ok(Collector { connections, far: true })
    }

    /// Runs an algorithm and reports from time to time the number of entries so far. The returned reports are
    /// by node and not yet judged.
    pub async fn run(
        &mut self,
        name: &str,
        plan: &Plan,
        mut progress: impl FnMut(u64),
    ) -> Result<Vec<Report>, Error> {
        let order = Order::Prepare { name: name.to_string(), plan: plan.clone() };
        let mut members = Vec::new();
        for (id, answer) in (0..).zip(self.order(&order).await?) {
            let Answer::Listening(address) = answer else { return Err(Error::OtherAnswer(id)) };
            members.push(ViewMember::new(identity(id), &address));
        }
        let before = self.clocks().await?;
        let ahead = before.iter().map(|clock| clock.ahead).collect();
        self.order(&Order::Connect { members, ahead }).await?;
        self.order(&Order::StartClient).await?;
        loop {
            let (counts, finished) = self.progress().await?;
            progress(counts.entries);
            if finished {
                break;
            }
            sleep(PAUSE).await;
        }
        let silent = timeout(plan.timeout, self.silence()).await;
        silent.map_err(|_| Error::NotSilent)??;
        let after = self.clocks().await?;
        let mut reports = self.reports().await?;
        if self.far {
            for ((report, before), after) in reports.iter_mut().zip(before).zip(after) {
                before.during(after).apply(report);
            }
        }
        Ok(reports)
    }

    /// How far the clock of each node is ahead of this one's: not at all on the same machine.
    async fn clocks(&mut self) -> Result<Vec<Offset>, Error> {
        let mut offsets = Vec::new();
        for (id, connection) in (0..).zip(&mut self.connections) {
            if !self.far {
                offsets.push(Offset { ahead: 0, error: 0 });
                continue;
            }
            let mut best: Option<Offset> = None;
            for _ in 0..READINGS {
                let before = clock::now().0;
                connection.send(&Order::ReadClock).await.map_err(|error| gone(id, error))?;
                let Answer::Clock(theirs) = answer(id, connection).await? else {
                    return Err(Error::OtherAnswer(id));
                };
                let reading = Offset::read(before, theirs, clock::now().0);
                best = Some(best.map_or(reading, |best| best.surer(reading)));
            }
            offsets.extend(best);
        }
        Ok(offsets)
    }

    /// Waits until no message is under way. Clients have finished, so messages can only follow from messages.
    async fn silence(&mut self) -> Result<(), Error> {
        // First the delivered messages, then the sent ones: equal sums can then not be a coincidence.
        while self.progress().await?.0.delivered != self.progress().await?.0.sent {
            sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// The progress of all nodes together, and whether all clients have made all their entries.
    async fn progress(&mut self) -> Result<(Counts, bool), Error> {
        let (mut sum, mut all) = (Counts::default(), true);
        for (id, answer) in (0..).zip(self.order(&Order::Progress).await?) {
            let Answer::Progress { counts, finished } = answer else { return Err(Error::OtherAnswer(id)) };
            sum.add(counts);
            all &= finished;
        }
        Ok((sum, all))
    }

    async fn reports(&mut self) -> Result<Vec<Report>, Error> {
        let mut reports = Vec::new();
        let mut answers = self.order(&Order::Finish).await?.into_iter();
        for (id, connection) in (0..).zip(&mut self.connections) {
            let (mut whole, mut next) = (Vec::new(), answers.next());
            loop {
                let Some(Answer::Piece { bytes, last }) = next else { return Err(Error::OtherAnswer(id)) };
                whole.extend(bytes);
                if whole.len() > LONGEST_REPORT {
                    return Err(Error::ReportTooLong(id));
                }
                if last {
                    break;
                }
                next = Some(answer(id, connection).await?);
            }
            let report = service::frame::whole(&whole);
            reports.push(report.map_err(|error| Error::Report(id, error))?);
        }
        Ok(reports)
    }

    /// Sends an order to all nodes, then waits for all answers: the nodes may need each other to carry it
    /// out.
    async fn order(&mut self, order: &Order) -> Result<Vec<Answer>, Error> {
        for (id, connection) in (0..).zip(&mut self.connections) {
            connection.send(order).await.map_err(|error| gone(id, error))?;
        }
        let mut answers = Vec::new();
        for (id, connection) in (0..).zip(&mut self.connections) {
            answers.push(answer(id, connection).await?);
        }
        Ok(answers)
    }
}

/// Calls a seat and makes it this node. A seat is busy for a moment after a run, while it takes leave of its peers.
async fn call(seat: &str, node: NodeId) -> Result<Connection, Error> {
    let began = clock::now();
    loop {
        match call_once(seat, node).await {
            Err(Error::SeatBusy(_)) if clock::now() - began < BUSY_LIMIT => sleep(PAUSE).await,
            called => return called,
        }
    }
}

async fn call_once(seat: &str, node: NodeId) -> Result<Connection, Error> {
    let late = || io::Error::from(io::ErrorKind::TimedOut);
    let stream = timeout(CALL_LIMIT, TcpStream::connect(seat)).await.unwrap_or_else(|_| Err(late()));
    let mut connection = Connection::new(stream.map_err(|error| Error::NoSeat(seat.to_string(), error))?)?;
    let not_a_seat = |error| Error::NotASeat(seat.to_string(), Box::new(error));
    connection.send(&Summons { node }).await.map_err(not_a_seat)?;
    let hello = timeout(CALL_LIMIT, connection.receive::<Hello>()).await;
    let hello = hello.unwrap_or_else(|_| Err(Error::Connection(late()))).map_err(not_a_seat)?;
    let Some(Hello { program, busy, .. }) = hello else { return Err(not_a_seat(Error::Closed)) };
    if busy {
        return Err(Error::SeatBusy(seat.to_string()));
    }
    if program != PROGRAM {
        let (seat, ours) = (seat.to_string(), PROGRAM.to_string());
        return Err(Error::OtherProgram { seat, theirs: program, ours });
    }
    Ok(connection)
}

async fn answer(id: NodeId, connection: &mut Connection) -> Result<Answer, Error> {
    let received = timeout(ANSWER_LIMIT, connection.receive()).await;
    match received.map_err(|_| Error::NoAnswer(id))? {
        Ok(Some(Answer::Failed(why))) => Err(Error::Failed(id, why)),
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(gone(id, Error::Closed)),
        Err(error) => Err(gone(id, error)),
    }
}

fn gone(id: NodeId, why: Error) -> Error {
    Error::Gone(id, Box::new(why))
}
