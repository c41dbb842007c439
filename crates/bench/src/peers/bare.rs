//! What the network costs at least between these cores: bytes there and back between two threads that block.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::cpu;
use crate::figure::median;
use crate::floor::{BYTES, micros};

/// Microseconds of a round trip in the middle of all within this time, from a thread on these cores (the client's) to one on
/// those (the server's).
pub fn bare_round_trip(client: &[usize], server: &[usize], time: Duration) -> Result<f64, String> {
    measure(client, server, time).map_err(|error| format!("cannot talk over loopback: {error}"))
}

fn measure(client: &[usize], server: &[usize], time: Duration) -> io::Result<f64> {
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
            while begun.elapsed() < time {
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
