//! The minimum cost of the network: bytes there and back between two tasks, with nothing in between.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::error::Error;
use crate::figure::median;

/// About the size of a request for a lock.
pub(crate) const BYTES: usize = 48;

/// Two tasks with a socket each.
pub(crate) struct Floor {
    stream: TcpStream,
    echo: JoinHandle<()>,
}

impl Floor {
    pub(crate) async fn start() -> Result<Floor, Error> {
        Floor::connect().await.map_err(Error::at("cannot talk over loopback"))
    }

    async fn connect() -> std::io::Result<Floor> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let echo = tokio::spawn(async move {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            _ = stream.set_nodelay(true);
            let mut bytes = [0; BYTES];
            while stream.read_exact(&mut bytes).await.is_ok() && stream.write_all(&bytes).await.is_ok() {}
        });
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Floor { stream, echo })
    }

    /// The time of each of `count` round trips, in microseconds, with a pause before each.
    pub(crate) async fn round_trips(&mut self, count: u32, pause: Duration) -> Result<Vec<f64>, Error> {
        let mut times = Vec::new();
        let mut bytes = [0; BYTES];
        for _ in 0..count {
            if !pause.is_zero() {
                sleep(pause).await;
            }
            let started = Instant::now();
            let there = self.stream.write_all(&bytes).await;
            let back = self.stream.read_exact(&mut bytes).await;
            there.and(back).map_err(Error::at("a bare connection broke"))?;
            times.push(micros(started));
        }
        Ok(times)
    }
}

/// The times of a floor and of what stands on it, in microseconds.
pub(crate) struct BesideFloor {
    pub(crate) bare: Vec<f64>,
    pub(crate) ours: Vec<f64>,
    /// Ours in floors, once for each turn.
    pub(crate) ratios: Vec<f64>,
}

/// How much of a round trip is the floor.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    There,
    ThereAndBack,
}

/// Measures the floor and `ours` in turns for this long, so that both meet the same machine. In a task, as in
/// real programs: waking the task of `block_on` costs more.
pub(crate) async fn beside_floor<T>(
    time: Duration,
    (count, pause, way): (u32, Duration, Way),
    ours: impl Fn() -> T + Send + 'static,
) -> Result<BesideFloor, Error>
where
    T: Future<Output = Result<Vec<f64>, Error>> + Send,
{
    let measured = tokio::spawn(async move {
        let mut floor = Floor::start().await?;
        let mut all = BesideFloor { bare: Vec::new(), ours: Vec::new(), ratios: Vec::new() };
        let part = match way {
            Way::There => 0.5,
            Way::ThereAndBack => 1.0,
        };
        let begun = Instant::now();
        while begun.elapsed() < time {
            let round_trips = floor.round_trips(count, pause).await?;
            let mut bare: Vec<f64> = round_trips.iter().map(|time| time * part).collect();
            let mut times = ours().await?;
            all.ratios.push(median(&mut times) / median(&mut bare));
            all.bare.extend(bare);
            all.ours.extend(times);
        }
        Ok(all)
    });
    measured.await?
}

impl Drop for Floor {
    fn drop(&mut self) {
        self.echo.abort();
    }
}

/// Microseconds since then.
pub(crate) fn micros(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e6
}
