//! Queries and watchers: members with the addresses for clients, and events that make no node wait.

use std::time::Duration;

use crate::support::Cluster;
use tokenwood::{Access, Admin, Change, Event, Filter, NodeStatus, Seen, Tokenwood};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_node_knows_where_clients_reach_the_others() {
    let cluster = Cluster::start(3, |_| {}).await;
    for (id, endpoint) in cluster.endpoints.iter().enumerate() {
        let mut admin = Admin::connect(endpoint).await.unwrap();
        let all_connected = async {
            loop {
                let NodeStatus { node, members, .. } = admin.status().await.unwrap();
                assert_eq!((node.node as usize, node.sessions), (id, 0), "who only asks has no session");
                if members.iter().all(|member| member.unreachable.is_none() && member.endpoint.is_some()) {
                    return members;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let members = timeout(LONG, all_connected).await.expect("all are connected");
        let endpoints: Vec<String> = members.into_iter().filter_map(|member| member.endpoint).collect();
        assert_eq!(endpoints, cluster.endpoints);
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_that_does_not_keep_up_learns_how_much_it_missed() {
    const ROUNDS: u64 = 40_000;
    let cluster = Cluster::start(1, |_| {}).await;
    let mut slow = Admin::connect(&cluster.endpoints[0]).await.unwrap();
    slow.watch(Filter::default()).await.unwrap();
    let lock = cluster.hosts[0].embedded().mutex(&"x".repeat(255));
    for _ in 0..ROUNDS {
        lock.acquire().await.unwrap().release();
    }
    let (mut seen, mut missed) = (0, 0);
    while seen + missed < 2 * ROUNDS {
        match timeout(LONG, slow.next())
            .await
            .expect("it is told of everything or how much it missed")
            .unwrap()
        {
            Seen::Event(_) => seen += 1,
            Seen::Missed(events) => missed += events,
        }
    }
    assert_eq!(seen + missed, 2 * ROUNDS);
    assert!(seen > 0 && missed > 0, "{seen} seen, {missed} missed");
    // Now that it has caught up, it sees everything again.
    lock.acquire().await.unwrap().release();
    let next = timeout(LONG, slow.next()).await.unwrap().unwrap();
    assert!(matches!(next, Seen::Event(Event::Client { change: Change::Granted(_), .. })), "{next:?}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_can_be_left_to_itself_and_taken_up_again() {
    let cluster = Cluster::start(2, |_| {}).await;
    let one = Tokenwood::connect([&cluster.endpoints[0][..]]).await.unwrap();
    let guard = one.mutex("x").acquire().await.unwrap();
    let other = one.mutex("y").acquire().await.unwrap();
    assert_eq!(
        guard.detach().await.unwrap_err(),
        tokenwood::Error::CannotDetach,
        "the session holds something else"
    );
    drop(other);
    let guard = one.mutex("x").acquire().await.expect("what could not be detached was released");
    let fence = guard.fence();
    let (grant, left) = guard.detach().await.unwrap();
    assert!(
        grant.fence() == fence && left < Duration::from_secs(10) && left > Duration::from_secs(5),
        "{left:?}"
    );
    let two = Tokenwood::connect([&cluster.endpoints[1][..]]).await.unwrap();
    assert!(two.mutex("x").try_acquire().await.unwrap_err().is_taken());
    drop(one);
    grant.renew(&Access::default()).await.unwrap();
    grant.release(&Access::default()).await.unwrap();
    timeout(LONG, two.mutex("x").acquire()).await.unwrap().unwrap();
    assert!(grant.release(&Access::default()).await.is_err(), "it was released before");
    let near = cluster.hosts[0].embedded().mutex("z").acquire().await.unwrap();
    assert_eq!(near.detach().await.unwrap_err(), tokenwood::Error::CannotDetach);
    cluster.stop().await;
}
