//! A lock whose token is here costs no memory: every list that is used for it has been used before.

use node::LocalCluster;

const TIMES: u64 = 1_000;

/// On one thread, and nothing here ever waits: so whatever is allocated meanwhile is allocated for the lock.
#[tokio::test(flavor = "current_thread")]
async fn taking_a_lock_whose_token_is_here_allocates_nothing() {
    let one = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(17))));
    assert_eq!(one.count_total, 1, "what is allocated is counted");
    let cluster = LocalCluster::start(3).await.unwrap();
    let tokenwood = cluster.hosts[0].embedded();
    for lock in [
        tokenwood.mutex("mine"),
        tokenwood.semaphore("ours", 3),
        tokenwood.rwlock("book").read(),
        tokenwood.rwlock("book").write(),
    ] {
        // The first time the token may have to be fetched, and lists grow to their size.
        for _ in 0..10 {
            drop(lock.acquire().await.unwrap());
        }
        let sent = cluster.hosts[0].status().counts.sent;
        let counted = allocation_counter::measure(|| {
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            for _ in 0..TIMES {
                let taken = std::pin::pin!(lock.acquire()).poll(&mut context);
                assert!(matches!(taken, std::task::Poll::Ready(Ok(_))), "it does not even wait");
            }
        });
        assert_eq!(counted.count_total, 0, "{lock:?}");
        assert_eq!(cluster.hosts[0].status().counts.sent, sent, "{lock:?}");
    }
    cluster.stop().await;
}
