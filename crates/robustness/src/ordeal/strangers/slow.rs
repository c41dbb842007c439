//! Strangers that are slow: they write a byte now and then, read nothing, or begin to greet and never end.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use random::Random;
use service::event::Filter;
use service::frame;
use service::protocol::{GREETING, Hello, Question, ToNode, VERSIONS};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout};

use super::process::{Arguments, Counts, any, call, call_with};

/// A stranger that was hung up on comes back after so long.
const BACK: Duration = Duration::from_secs(1);
/// Between two bytes of a slow writer, at most.
const BETWEEN_BYTES: Duration = Duration::from_millis(500);
/// What a reader that does not read has for its answers.
const SMALL_BUFFER: u32 = 4096;
/// It asks so much at once.
const QUESTIONS: u64 = 100;
/// How long a slow hello is kept open.
const HELLO_LASTS: Duration = Duration::from_millis(1500);
/// Hellos begin in so many portions a second.
const PORTIONS: usize = 100;

/// So many connections at which a frame never ends, at both ports.
pub(super) async fn writers(arguments: Arguments, counts: Counts) {
    let ports = [&arguments.clients[..], &arguments.peers].concat();
    each(&arguments, "slow_writers", &counts, move |random| {
        let to = any(random, &ports);
        let (greets, caller, pace) = (random.below(2) == 0, random.below(1 << 20), random.below(100) as u32);
        async move {
            let mut stream = call(to, caller).await?;
            let mut bytes = Vec::new();
            if greets {
                frame::put(GREETING, &Hello::MINE, &mut bytes);
                stream.write_all(&bytes).await?;
                bytes.clear();
            }
            // A frame as long as any may be.
            bytes.extend((16_u32 << 10).to_le_bytes());
            bytes.resize(16 << 10, VERSIONS.1);
            for byte in bytes {
                stream.write_all(&[byte]).await?;
                sleep(BETWEEN_BYTES * pace / 100).await;
            }
            Ok(())
        }
    })
    .await;
}

/// So many connections that ask for much, and watch, and read nothing.
pub(super) async fn readers(arguments: Arguments, counts: Counts) {
    let ports = arguments.clients.clone();
    each(&arguments, "slow_readers", &counts, move |random| {
        let (to, caller) = (any(random, &ports), random.below(1 << 20));
        let question = any(random, &[0, 1, 2, 3]);
        async move {
            let socket = TcpSocket::new_v4()?;
            socket.set_recv_buffer_size(SMALL_BUFFER)?;
            let mut stream = call_with(socket, to, caller).await?;
            let mut bytes = Vec::new();
            frame::put(GREETING, &Hello::MINE, &mut bytes);
            frame::put(VERSIONS.1, &ToNode::Watch(Filter::default()), &mut bytes);
            for number in 0..QUESTIONS {
                let question = match question {
                    0 => Question::List { filter: Filter::default(), after: None },
                    1 => Question::Definitions(None),
                    2 => Question::Cluster,
                    _ => Question::Status,
                };
                frame::put(VERSIONS.1, &ToNode::Ask { number, question }, &mut bytes);
            }
            // Until the node takes in no more of it, and then a while longer.
            loop {
                if let Ok(written) = timeout(BACK, stream.write_all(&bytes)).await {
                    written?;
                }
                sleep(BACK).await;
                if stream.peer_addr().is_err() || is_closed(&stream) {
                    return Err(io::ErrorKind::ConnectionReset.into());
                }
            }
        }
    })
    .await;
}

fn is_closed(stream: &tokio::net::TcpStream) -> bool {
    stream.take_error().is_ok_and(|error| error.is_some())
}

/// So many strangers do this for ever, each with a connection that is counted while it is open.
async fn each<F: Future<Output = io::Result<()>> + Send>(
    arguments: &Arguments,
    what: &'static str,
    counts: &Counts,
    visit: impl Fn(&mut Random) -> F + Clone + Send + 'static,
) {
    let mut strangers = JoinSet::new();
    for stranger in 0..arguments.count as u64 {
        let mut random = Random::new(arguments.seed.wrapping_mul(1_000_033).wrapping_add(stranger));
        let (visit, counts) = (visit.clone(), counts.clone());
        strangers.spawn(async move {
            loop {
                counts.add(what, 1);
                // It was hung up on, or there is no node at the moment.
                _ = visit(&mut random).await;
                counts.add(what, -1);
                sleep(BACK).await;
            }
        });
    }
    strangers.join_all().await;
}

/// So many greetings a second begin at the ports for peers, and do not end.
pub(super) async fn hellos(arguments: Arguments, counts: Counts) {
    let mut ticks = interval(Duration::from_secs(1) / PORTIONS as u32);
    let mut random = Random::new(arguments.seed);
    let mut open = JoinSet::new();
    loop {
        ticks.tick().await;
        for _ in 0..(arguments.count / PORTIONS).max(1) {
            let (to, caller, counts) =
                (any(&mut random, &arguments.peers), random.below(1 << 20), counts.clone());
            let begins = random.below(14) as usize;
            // It is hung up on, sooner or later.
            open.spawn(async move { _ = hello(to, caller, begins, counts).await });
        }
        while open.try_join_next().is_some() {}
    }
}

/// Says the beginning of a greeting, and then a byte at a time that never completes it.
async fn hello(to: SocketAddr, caller: u64, begins: usize, counts: Counts) -> io::Result<()> {
    let mut stream = call(to, caller).await?;
    counts.add("slow_hellos", 1);
    let whole = b"\xff\x0f\0\0\0tokenwd\n\x01\x01";
    stream.write_all(&whole[..begins]).await?;
    let until = Instant::now() + HELLO_LASTS;
    let mut rest = whole[begins..].iter().chain(std::iter::repeat(&0));
    while Instant::now() < until {
        sleep(BETWEEN_BYTES).await;
        stream.write_all(&[*rest.next().unwrap_or(&0)]).await?;
    }
    Ok(())
}
