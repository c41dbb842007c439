//! The minimum cost of the network between these cores: bytes there and back between two blocking threads.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::cpu;
use crate::error::Error;
use crate::figure::median;
use crate::floor::{BYTES, micros};

/// The median time of a round trip within `time`, in microseconds, from a thread on the client's cores to one
/// on the server's. The runtime goes on meanwhile; if the caller drops the future, the threads end.
pub async fn bare_round_trip(client: &[usize], server: &[usize], time: Duration) -> Result<f64, Error> {
    let (client, server) = (client.to_vec(), server.to_vec());
    let (sender, measured) = oneshot::channel();
    thread::spawn(move || {
        let goes_on = |since: Instant| since.elapsed() < time && !sender.is_closed();
        let middle = measure(&client, &server, goes_on);
        // The caller may have stopped waiting.
        _ = sender.send(middle);
    });
    let middle =
        measured.await.map_err(|_| Error::Measurement("the thread that measures panicked".to_string()))?;
    middle.map_err(Error::at("cannot talk over loopback"))
}

fn measure(client: &[usize], server: &[usize], goes_on: impl Fn(Instant) -> bool + Send) -> io::Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::scope(|scope| {
        let echo = scope.spawn(move || -> io::Result<()> {
            cpu::run_on(server)?;
            let (mut stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            let mut bytes = [0; BYTES];
            while stream.read_exact(&mut bytes).is_ok() {
                stream.write_all(&bytes)?;
            }
            Ok(())
        });
        let asks = scope.spawn(move || -> io::Result<f64> {
            cpu::run_on(client)?;
            let mut stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            let (mut bytes, mut times, begun) = ([0; BYTES], Vec::new(), Instant::now());
            while goes_on(begun) {
                let started = Instant::now();
                stream.write_all(&bytes)?;
                stream.read_exact(&mut bytes)?;
                times.push(micros(started));
            }
            Ok(median(&mut times))
        });
        let gone = |_| io::Error::other("a thread panicked");
        let middle = asks.join().map_err(gone)??;
        echo.join().map_err(gone)??;
        Ok(middle)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_runtime_goes_on_while_a_round_trip_is_measured() {
        let cores = cpu::cores().unwrap();
        let time = Duration::from_millis(300);
        let turns = async {
            for turn in 0.. {
                tokio::time::sleep(Duration::from_millis(1)).await;
                if turn == 20 {
                    break;
                }
            }
        };
        let measuring = bare_round_trip(&cores, &cores, time);
        tokio::pin!(measuring);
        tokio::select! {
            biased;
            early = &mut measuring => panic!("the runtime stood still: {early:?}"),
            () = turns => {}
        }
        assert!(measuring.await.unwrap() > 0.0);
    }
}
