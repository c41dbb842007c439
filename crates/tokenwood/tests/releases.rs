//! A release is on its way when the guard is gone, however the program ends: a node that did not hear of it would keep the
//! lock from others for as long as the session lives.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use node::LocalCluster;
use tokenwood::{Guard, Options, Tokenwood};
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// Tells a child process how to end, and where the cluster is.
const ENDING: &str = "TOKENWOOD_TEST_ENDING";
/// Sessions live far longer than any test waits.
const LONG: Duration = Duration::from_secs(60);
/// What is about to happen has happened by then, also on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// Not a test of its own: what the others start as a program.
#[test]
fn program() {
    let Ok(told) = std::env::var(ENDING) else { return };
    let (ending, endpoint) = told.split_once('@').unwrap();
    let runtime = Runtime::new().unwrap();
    let (tokenwood, guard) = runtime.block_on(async {
        let tokenwood = Tokenwood::connect_with([endpoint], Options::with_ttl(LONG)).await.unwrap();
        let guard = tokenwood.mutex("held").acquire().await.unwrap();
        (tokenwood, guard)
    });
    match ending {
        "exit" => drop(guard),
        "exit-in-a-task" => runtime.block_on(async {
            let left = tokio::spawn(async move {
                guard.release();
                std::process::exit(0);
            });
            left.await.unwrap();
        }),
        "after-the-runtime" => {
            drop(runtime);
            drop(guard);
        }
        "with-a-waiter" => {
            // The session goes on to something that it does not get before the program ends.
            let other = tokenwood.mutex("taken");
            let waits = other.acquire_after(guard);
            _ = runtime.block_on(async { timeout(Duration::from_millis(1), waits).await });
        }
        "closing" => {
            drop(guard);
            drop(tokenwood);
            return;
        }
        _ => panic!("'{ending}' is no way to end"),
    }
    // No destructors: the session stays open at the node.
    std::process::exit(0);
}

#[test]
fn a_release_is_out_when_the_program_ends_right_after_it() {
    Runtime::new().unwrap().block_on(async {
        let cluster = LocalCluster::start(2).await.unwrap();
        let here = Tokenwood::connect([cluster.endpoints[1].clone()]).await.unwrap();
        let _taken = here.mutex("taken").acquire().await.unwrap();
        for ending in ["exit", "exit-in-a-task", "after-the-runtime", "with-a-waiter", "closing"] {
            for _ in 0..5 {
                let mut program = Command::new(std::env::current_exe().unwrap());
                program.args(["--exact", "program"]).stdout(Stdio::null());
                program.env(ENDING, format!("{ending}@{}", cluster.endpoints[0]));
                let ended = tokio::task::spawn_blocking(move || program.status().unwrap()).await.unwrap();
                assert!(ended.success(), "{ending}: {ended}");
                let begun = Instant::now();
                let guard = here.mutex("held").acquire_within(SOON).await;
                let guard = guard.unwrap_or_else(|error| panic!("{ending}: still held: {error}"));
                guard.release();
                assert!(begun.elapsed() < SOON, "{ending}");
            }
        }
        cluster.stop().await;
    });
}

/// A cluster, and what two clients of it need.
async fn two_clients() -> (LocalCluster, Tokenwood, Tokenwood) {
    let cluster = LocalCluster::start(1).await.unwrap();
    let one = Tokenwood::connect_with([cluster.endpoints[0].clone()], Options::with_ttl(LONG)).await.unwrap();
    let other =
        Tokenwood::connect_with([cluster.endpoints[0].clone()], Options::with_ttl(LONG)).await.unwrap();
    (cluster, one, other)
}

async fn can_be_had(tokenwood: &Tokenwood, name: &str) -> Guard {
    tokenwood.mutex(name).acquire_within(SOON).await.unwrap()
}

#[tokio::test]
async fn from_one_lock_to_the_next() {
    let (cluster, one, other) = two_clients().await;
    let first = can_be_had(&one, "first").await;
    let fence = first.fence();
    let second = one.mutex("second").acquire_after(first).await.unwrap();
    assert!(can_be_had(&other, "first").await.fence() > fence);
    // The same again: the waiter is served in between.
    let waiter = tokio::spawn(async move { can_be_had(&other, "second").await.fence() });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let between = second.fence();
    let again = one.mutex("second").acquire_after(second).await.unwrap();
    let waited = waiter.await.unwrap();
    assert!(between < waited && waited < again.fence());
    drop(again);
    cluster.stop().await;
}

#[tokio::test]
async fn giving_up_on_the_next_lock_releases_the_one_before_and_leaves_nothing() {
    let (cluster, one, other) = two_clients().await;
    let taken = can_be_had(&other, "taken").await;
    for polled in [false, true] {
        let held = can_be_had(&one, "held").await;
        let next = one.mutex("taken");
        let waiting = next.acquire_after(held);
        if polled {
            assert!(timeout(Duration::from_millis(20), waiting).await.is_err(), "it is taken");
        } else {
            drop(waiting);
        }
        drop(can_be_had(&other, "held").await);
    }
    drop(taken);
    // A cancelled request is not granted.
    drop(can_be_had(&other, "taken").await);
    cluster.stop().await;
}

#[tokio::test]
async fn a_guard_of_another_session_is_released_too() {
    let (cluster, one, other) = two_clients().await;
    let held = can_be_had(&one, "held").await;
    let next = other.mutex("held").acquire_after(held).await.unwrap();
    drop(next);
    cluster.stop().await;
}

#[test]
fn a_runtime_that_is_gone_takes_its_sessions_along() {
    let here = Runtime::new().unwrap();
    let there = Runtime::new().unwrap();
    let (cluster, one, other) = here.block_on(two_clients());
    let moved = there
        .block_on(Tokenwood::connect_with([cluster.endpoints[0].clone()], Options::with_ttl(LONG)))
        .unwrap();
    let guard = here.block_on(can_be_had(&moved, "held"));
    let taken = here.block_on(can_be_had(&other, "taken"));
    let waits = moved.mutex("taken");
    let waiter = here.spawn(async move { waits.acquire().await.map(drop) });
    here.block_on(async { tokio::time::sleep(Duration::from_millis(50)).await });
    drop(there);
    assert!(guard.is_lost(), "nothing keeps it alive");
    here.block_on(async {
        timeout(SOON, guard.lost()).await.unwrap();
        drop(guard);
        drop(can_be_had(&one, "held").await);
        drop(taken);
        // The waiter asks again by a session of the runtime that it is in.
        assert_eq!(timeout(SOON, waiter).await.unwrap().unwrap(), Ok(()));
        cluster.stop().await;
    });
}
