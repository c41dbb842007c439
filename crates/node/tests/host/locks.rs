//! Locks of real nodes over loopback, through connections and embedded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::support::Cluster;
use tokenwood::{Error, Refusal, Tokenwood};
use tokio::time::timeout;

const SHORT: Duration = Duration::from_millis(10);
const LONG: Duration = Duration::from_secs(60);

/// Acquires the semaphore many times from every client at once; checks that never more than allowed hold it,
/// and that fences rise.
async fn contend(clients: Vec<Tokenwood>, slots: u32, rounds: u32) {
    let inside = Arc::new(AtomicU32::new(0));
    let fences: Arc<Vec<AtomicU64>> = Arc::new((0..slots).map(|_| AtomicU64::new(0)).collect());
    let tasks: Vec<_> = clients
        .into_iter()
        .map(|client| {
            let (inside, fences) = (inside.clone(), fences.clone());
            tokio::spawn(async move {
                let lock = client.semaphore("contended", slots);
                for _ in 0..rounds {
                    let guard = lock.acquire().await.unwrap();
                    assert!(inside.fetch_add(1, Ordering::SeqCst) < slots, "too many are inside");
                    let before = fences[guard.slot() as usize].swap(guard.fence(), Ordering::SeqCst);
                    assert!(before < guard.fence(), "fence {} after {before}", guard.fence());
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    guard.release();
                }
            })
        })
        .collect();
    for task in tasks {
        timeout(LONG, task).await.expect("every client is served").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_three_nodes_take_turns() {
    let cluster = Cluster::start(3, |config| (config.linger, config.keep_idle) = (SHORT, SHORT)).await;
    for slots in [1, 3] {
        let mut clients = Vec::new();
        for number in 0..9 {
            let endpoint = cluster.endpoints[number % 3].clone();
            clients.push(Tokenwood::connect([endpoint]).await.unwrap());
        }
        contend(clients, slots, 100).await;
        cluster.nobody_is_inside().await;
        // Then the same name can be something else.
        cluster.all_is_forgotten().await;
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_clients_take_turns() {
    let cluster = Cluster::start(3, |_| {}).await;
    let clients = (0..9).map(|number| cluster.hosts[number % 3].embedded()).collect();
    contend(clients, 1, 300).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_try_does_not_wait() {
    let cluster = Cluster::start(2, |_| {}).await;
    let (one, other) =
        (cluster.hosts[0].embedded(), Tokenwood::connect([&cluster.endpoints[1][..]]).await.unwrap());
    let guard = one.mutex("x").acquire().await.unwrap();
    let refused = other.mutex("x").try_acquire().await.unwrap_err();
    assert_eq!(refused, Error::Refused(Refusal::NotFree));
    assert!(refused.is_taken());
    let late = other.mutex("x").acquire_within(Duration::from_millis(20)).await.unwrap_err();
    assert_eq!(late, Error::Refused(Refusal::TimedOut));
    guard.release();
    other.mutex("x").try_acquire().await.expect("it is free, though at the other node");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn giving_up_leaves_nothing_behind() {
    let cluster = Cluster::start(2, |_| {}).await;
    for client in
        [cluster.hosts[0].embedded(), Tokenwood::connect([&cluster.endpoints[1][..]]).await.unwrap()]
    {
        let holder = cluster.hosts[1].embedded();
        let guard = holder.mutex("x").acquire().await.unwrap();
        let lock = client.mutex("x");
        assert!(timeout(Duration::from_millis(30), lock.acquire()).await.is_err(), "it is taken");
        guard.release();
        let guard = timeout(LONG, lock.acquire()).await.expect("nothing is in the way").unwrap();
        guard.release();
    }
    cluster.nobody_is_inside().await;
    cluster.no_session_is_open().await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_room_is_shared_by_a_group_and_a_rwlock_by_readers() {
    let cluster = Cluster::start(3, |_| {}).await;
    let one = Tokenwood::connect([&cluster.endpoints[0][..]]).await.unwrap();
    let other = cluster.hosts[1].embedded();
    let first = one.room("model").group("a").acquire().await.unwrap();
    let second = timeout(LONG, other.room("model").any_of(["b", "a"]).acquire()).await.unwrap().unwrap();
    assert_eq!((second.group(), second.fence()), (1, first.fence()), "they share an opening");
    assert!(other.room("model").group("b").try_acquire().await.unwrap_err().is_taken());
    drop((first, second));
    let third = timeout(LONG, other.room("model").group("b").acquire()).await.unwrap().unwrap();
    assert!(third.fence() > 0);
    let (reads, also_reads) = (one.rwlock("cfg").read(), other.rwlock("cfg").read());
    let readers =
        (reads.acquire().await.unwrap(), timeout(LONG, also_reads.acquire()).await.unwrap().unwrap());
    assert!(one.rwlock("cfg").write().try_acquire().await.unwrap_err().is_taken());
    drop(readers);
    let writer = timeout(LONG, one.rwlock("cfg").write().acquire()).await.unwrap().unwrap();
    assert!(other.rwlock("cfg").read().try_acquire().await.unwrap_err().is_taken());
    drop(writer);
    drop(third);
    cluster.nobody_is_inside().await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contradictions_are_refused() {
    let cluster = Cluster::start(3, |_| {}).await;
    let one = Tokenwood::connect([&cluster.endpoints[0][..]]).await.unwrap();
    let other = Tokenwood::connect([&cluster.endpoints[1][..]]).await.unwrap();
    let _guard = one.semaphore("gpu", 2).acquire().await.unwrap();
    let refused = timeout(LONG, other.semaphore("gpu", 3).acquire()).await.unwrap().unwrap_err();
    assert!(matches!(refused, Error::Refused(Refusal::Contradicts { .. })), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("2 slots") && text.contains("3 slots"), "{text}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_there() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = listener.local_addr().unwrap().to_string();
    drop(listener);
    let error = Tokenwood::connect([endpoint.clone()]).await.unwrap_err().to_string();
    assert!(error.contains("no node could be reached") && error.contains(&endpoint), "{error}");
    let error = Tokenwood::connect(Vec::<String>::new()).await.unwrap_err().to_string();
    assert!(error.contains("no endpoint was named"), "{error}");
}
