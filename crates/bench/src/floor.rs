//! The minimum cost of the network: bytes there and back between two tasks, with nothing in between.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// About the size of a request for a lock.
pub(crate) const BYTES: usize = 48;

/// Two tasks with a socket each.
pub(crate) struct Floor {
    stream: TcpStream,
    echo: JoinHandle<()>,
}

impl Floor {
    pub(crate) async fn start() -> Result<Floor, String> {
        Floor::connect().await.map_err(|error| format!("cannot talk over loopback: {error}"))
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
    pub(crate) async fn round_trips(&mut self, count: u32, pause: Duration) -> Result<Vec<f64>, String> {
        let mut times = Vec::new();
        let mut bytes = [0; BYTES];
        for _ in 0..count {
            if !pause.is_zero() {
                sleep(pause).await;
            }
            let started = Instant::now();
            let there = self.stream.write_all(&bytes).await;
            let back = self.stream.read_exact(&mut bytes).await;
            there.and(back).map_err(|error| format!("a bare connection broke: {error}"))?;
            times.push(micros(started));
        }
        Ok(times)
    }
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
