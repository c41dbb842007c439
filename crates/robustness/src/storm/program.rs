//! Clients of a storm: they acquire, try, wait with a timeout, cancel and release, in any order.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use random::Random;
use service::{Definition, Time};
use tokenwood::{Error, Guard, Lock, Options, Refusal, Tokenwood};
use tokio::time::{sleep, timeout};

use super::ledger::WRITER;
use super::{GROUPS, Line, Tally, WANTED, now};

/// A wait longer than this is an error.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The state that the clients of a process share.
struct Shared {
    last_stay: AtomicU64,
    over: AtomicBool,
}

/// Runs this many clients until `over` completes, and writes their log to standard output. Each connects to
/// another of the endpoints first.
pub async fn live(
    endpoints: &[String],
    clients: u64,
    seed: u64,
    ttl: Duration,
    over: impl Future<Output = ()>,
) {
    let shared = Arc::new(Shared { last_stay: AtomicU64::new(0), over: AtomicBool::new(false) });
    let mut tasks = Vec::new();
    for client in 0..clients {
        let mut endpoints = endpoints.to_vec();
        let first = client as usize % endpoints.len().max(1);
        endpoints.rotate_left(first);
        let (shared, random) = (shared.clone(), Random::new(seed.wrapping_mul(1_000_003) + client));
        tasks.push(tokio::spawn(async move { one(&endpoints, ttl, random, &shared).await }));
    }
    over.await;
    shared.over.store(true, Ordering::Relaxed);
    let mut sum = Tally::default();
    for task in tasks {
        match task.await {
            Ok(tally) => {
                sum.granted += tally.granted;
                sum.refused += tally.refused;
                sum.given_up += tally.given_up;
                sum.lost += tally.lost;
            }
            Err(error) => say(&Line::Wrong(format!("a client ended: {error}"))),
        }
    }
    say(&Line::Sum(sum));
    // Sessions close in tasks of their own.
    sleep(Duration::from_millis(200)).await;
}

/// Writes a line at once and as a whole, so that the log is true if this process is killed right after.
pub fn say(line: &Line) {
    let text = line.write() + "\n";
    let mut stdout = std::io::stdout().lock();
    // If standard output is closed, the storm is over.
    _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

async fn one(endpoints: &[String], ttl: Duration, mut random: Random, shared: &Shared) -> Tally {
    let mut tally = Tally::default();
    let mut tokenwood = None;
    while !shared.over.load(Ordering::Relaxed) {
        let connected = match &tokenwood {
            Some(connected) => connected,
            None => match Tokenwood::connect_with(endpoints.to_vec(), Options::with_ttl(ttl)).await {
                Ok(connected) => tokenwood.insert(connected),
                Err(_) => {
                    sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
        };
        match ask(connected, &mut random, shared).await {
            Ok(true) => tally.granted += 1,
            Ok(false) => tally.given_up += 1,
            Err(error) if error.is_taken() => tally.refused += 1,
            // Its node may have lost contact with the others: the next attempt may find another.
            Err(Error::Lost | Error::NoNode(_) | Error::Refused(Refusal::NoLease | Refusal::Leaving)) => {
                tally.lost += 1;
            }
            Err(error) => say(&Line::Wrong(error.to_string())),
        }
        sleep(Duration::from_micros(random.below(5_000))).await;
    }
    tally
}

/// Requests a resource in some way, and stays inside for a while. `false` if it cancelled.
async fn ask(tokenwood: &Tokenwood, random: &mut Random, shared: &Shared) -> Result<bool, Error> {
    let wanted = random.below(WANTED.len() as u64) as usize;
    let (lock, group) = lock(tokenwood, wanted, random);
    let moment = Duration::from_micros(random.below(50_000));
    let asked = now();
    let guard = match random.below(4) {
        0 => match timeout(LONGEST_WAIT, lock.acquire()).await {
            Ok(taken) => taken?,
            Err(_) => {
                say(&Line::Wrong(format!("a client waits in vain for {}", WANTED[wanted].name)));
                return Ok(false);
            }
        },
        1 => lock.try_acquire().await?,
        2 => lock.acquire_within(moment).await?,
        _ => match timeout(moment, lock.acquire()).await {
            Ok(taken) => taken?,
            Err(_) => return Ok(false),
        },
    };
    stay(guard, (wanted, group, asked), random, shared).await;
    Ok(true)
}

/// The lock, and the group to log unless the guard says which.
fn lock(tokenwood: &Tokenwood, wanted: usize, random: &mut Random) -> (Lock, Option<[usize; 2]>) {
    let name = WANTED[wanted].name;
    match WANTED[wanted].definition {
        Definition::Slots(slots) => (tokenwood.semaphore(name, slots), None),
        Definition::RwLock if random.below(4) == 0 => {
            (tokenwood.rwlock(name).write(), Some([WRITER as usize; 2]))
        }
        Definition::RwLock => (tokenwood.rwlock(name).read(), Some([0; 2])),
        Definition::Room => {
            let first = random.below(GROUPS.len() as u64) as usize;
            let second = random.below(GROUPS.len() as u64) as usize;
            let groups = [GROUPS[first], GROUPS[second]];
            (tokenwood.room(name).any_of(groups), Some([first, second]))
        }
    }
}

/// Stays inside for a while, and logs the resource, the groups and the time of the request.
async fn stay(
    guard: Guard,
    (wanted, groups, asked): (usize, Option<[usize; 2]>, Time),
    random: &mut Random,
    shared: &Shared,
) {
    let stay = shared.last_stay.fetch_add(1, Ordering::Relaxed);
    let group = groups.map_or(0, |groups| groups[guard.group() as usize % 2] as u32);
    // A client whose grant is not lost later was inside at this moment, also if this process is paused in
    // between.
    let at = now();
    if guard.is_lost() {
        return;
    }
    say(&Line::In { stay, wanted, slot: guard.slot(), fence: guard.fence(), group, asked, at });
    tokio::select! {
        () = sleep(Duration::from_micros(random.below(10_000))) => {}
        () = guard.lost() => {}
    }
    // Logged first, then released.
    say(&Line::Out { stay, at: now() });
    drop(guard);
}
