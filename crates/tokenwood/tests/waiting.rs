//! A waiter that is alone in its session reads its answer itself. Whatever becomes of it, and wherever it is polled, nothing of
//! what the node says is left unread.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use node::LocalCluster;
use tokenwood::{Error, Guard, Options, Tokenwood};
use tokio::runtime::{self, Runtime};
use tokio::time::{sleep, timeout};

/// What is about to happen has happened by then, also on a busy machine.
const SOON: Duration = Duration::from_secs(20);
/// A session of this age has sent its first keep-alive.
const AFTER_KEEP_ALIVE: Duration = Duration::from_millis(1200);
/// For this long after that, it sends none.
const NEXT_KEEP_ALIVE: Duration = Duration::from_secs(2);

/// Counts how often it was woken, and does nothing else about it.
#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Count>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Count {
    async fn until_woken(&self) {
        let woken = async {
            while self.0.load(Ordering::SeqCst) == 0 {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(SOON, woken).await.expect("it is woken");
    }
}

/// Polls a future on this thread, as a program without tokio would.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Unpark>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park_timeout(SOON);
    }
}

async fn connect(cluster: &LocalCluster) -> Tokenwood {
    Tokenwood::connect([cluster.endpoints[0].clone()]).await.unwrap()
}

async fn have(tokenwood: &Tokenwood, name: &str) -> Guard {
    tokenwood.mutex(name).acquire_within(SOON).await.unwrap()
}

/// A future that waits for "taken" in a session of its own was woken for its answer, and then `then` happens to it.
async fn woken(
    then: impl AsyncFnOnce(std::pin::Pin<&mut dyn Future<Output = Result<Guard, Error>>>, &Tokenwood),
) {
    let cluster = LocalCluster::start(1).await.unwrap();
    let (one, other) = (connect(&cluster).await, connect(&cluster).await);
    // The first keep-alive comes soon, the next after a third of the lease: until then nothing else has the session read.
    sleep(AFTER_KEEP_ALIVE).await;
    let taken = have(&other, "taken").await;
    let lock = one.mutex("taken");
    let begun = Instant::now();
    {
        let mut waits = Box::pin(lock.acquire());
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        taken.release();
        count.until_woken().await;
        then(waits.as_mut(), &one).await;
    }
    // Given up or released: nothing is left behind, and both sessions hear what they are told.
    have(&other, "taken").await.release();
    have(&one, "taken").await.release();
    assert!(begun.elapsed() < NEXT_KEEP_ALIVE, "it was read only with the next keep-alive");
    cluster.stop().await;
}

#[tokio::test]
async fn a_waiter_that_is_dropped_when_it_should_read() {
    woken(async |_, _| {}).await;
}

#[tokio::test]
async fn a_waiter_that_is_not_polled_holds_up_nobody_else() {
    woken(async |waits, one| {
        for _ in 0..3 {
            have(one, "free").await.release();
        }
        let other = have(one, "free").await;
        timeout(SOON, waits).await.unwrap().unwrap().release();
        other.release();
    })
    .await;
}

#[tokio::test]
async fn a_waiter_that_moves_to_another_task() {
    woken(async |mut waits, _| {
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        if waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            timeout(SOON, waits).await.unwrap().unwrap().release();
        }
    })
    .await;
}

#[tokio::test]
async fn a_session_whose_waiter_is_not_polled_is_kept_alive() {
    let ttl = Duration::from_millis(1500);
    let cluster = LocalCluster::start(1).await.unwrap();
    let other = connect(&cluster).await;
    let one = Tokenwood::connect_with([cluster.endpoints[0].clone()], Options::with_ttl(ttl)).await.unwrap();
    let taken = have(&other, "taken").await;
    let lock = one.mutex("taken");
    let mut waits = pin!(lock.acquire());
    assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    // It is woken for the first promise, and does not read it.
    sleep(ttl * 2).await;
    taken.release();
    let guard = match waits.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(granted) => granted.unwrap(),
        Poll::Pending => timeout(SOON, waits).await.unwrap().unwrap(),
    };
    assert!(!guard.is_lost());
    drop(guard);
    cluster.stop().await;
}

/// One session for many tasks, and one for each of some others; all want the same few locks, and give up now and then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_of_one_session_and_of_many_come_and_go() {
    const NAMES: u32 = 3;
    let cluster = LocalCluster::start(2).await.unwrap();
    let shared = connect(&cluster).await;
    let mut tasks = Vec::new();
    for number in 0..8_u32 {
        let own = Tokenwood::connect([cluster.endpoints[number as usize % 2].clone()]).await.unwrap();
        let tokenwood = if number < 4 { shared.clone() } else { own };
        tasks.push(tokio::spawn(async move {
            let mut guard: Option<Guard> = None;
            for turn in 0..300_u32 {
                let lock = tokenwood.mutex(&format!("lock-{}", (turn * 7 + number) % NAMES));
                let held = guard.take();
                let next = async {
                    match held {
                        Some(held) if turn % 2 == 0 => lock.acquire_after(held).await,
                        held => {
                            drop(held);
                            lock.acquire().await
                        }
                    }
                };
                if turn % 5 == number % 5 {
                    let limit = Duration::from_micros(u64::from(turn % 50) * 20);
                    guard = timeout(limit, next).await.ok().map(Result::unwrap);
                } else {
                    guard = Some(timeout(SOON, next).await.expect("every wait ends").unwrap());
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    for name in 0..NAMES {
        have(&shared, &format!("lock-{name}")).await.release();
    }
    cluster.stop().await;
}

/// Two threads take turns at a lock, each with a session of this runtime that they poll elsewhere.
#[test]
fn waiters_are_polled_outside_of_the_runtime_of_their_session() {
    fn take_turns(tokenwood: &Tokenwood, on: impl Fn(&mut dyn FnMut() -> Turn) -> Guard) {
        let lock = tokenwood.mutex("turns");
        let mut guard = None;
        for _ in 0..200 {
            guard = Some(on(&mut || match guard.take() {
                Some(guard) => Box::pin({
                    let lock = lock.clone();
                    async move { lock.acquire_after(guard).await.unwrap() }
                }),
                None => Box::pin({
                    let lock = lock.clone();
                    async move { lock.acquire().await.unwrap() }
                }),
            }));
        }
    }
    type Turn = std::pin::Pin<Box<dyn Future<Output = Guard> + Send>>;
    let home = Runtime::new().unwrap();
    let (cluster, one, other) = home.block_on(async {
        let cluster = LocalCluster::start(1).await.unwrap();
        let (one, other) = (connect(&cluster).await, connect(&cluster).await);
        (cluster, one, other)
    });
    let plain = thread::spawn(move || take_turns(&one, |turn| block_on(turn())));
    let in_another_runtime = thread::spawn(move || {
        let away = runtime::Builder::new_current_thread().enable_all().build().unwrap();
        take_turns(&other, |turn| away.block_on(turn()));
    });
    plain.join().unwrap();
    in_another_runtime.join().unwrap();
    home.block_on(cluster.stop());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_whose_node_stops_goes_on_at_another() {
    let cluster = LocalCluster::start(2).await.unwrap();
    let ttl = Duration::from_millis(1500);
    let holder = Tokenwood::connect([cluster.endpoints[1].clone()]).await.unwrap();
    let one = Tokenwood::connect_with(cluster.endpoints.clone(), Options::with_ttl(ttl)).await.unwrap();
    let taken = have(&holder, "taken").await;
    let waits = tokio::spawn(async move { one.mutex("taken").acquire().await.map(drop) });
    sleep(Duration::from_millis(50)).await;
    cluster.hosts[0].leave().await;
    sleep(ttl).await;
    taken.release();
    assert_eq!(timeout(SOON * 2, waits).await.expect("every wait ends").unwrap(), Ok(()));
    cluster.stop().await;
}
