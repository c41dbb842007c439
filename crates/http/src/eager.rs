//! A future that wakes itself while it is polled is polled again at once.
//!
//! The future of a connection does that with every body: the part that reads and the part that answers wake each other. The
//! runtime would put its task at the end of the queue and wake another thread to help, for work that is done in a microsecond.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use sync::IgnorePoison;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// How often it is polled again before other tasks have their turn.
const MOST_POLLS: u32 = 8;

/// It is not polled: a wake is passed on.
const RESTS: u8 = 0;
/// It is polled: a wake is noted.
const POLLED: u8 = 1;
/// It is polled, and was woken meanwhile.
const WOKEN: u8 = 2;

/// Stands between the future and the waker of its task.
struct Relay {
    state: AtomicU8,
    task: Mutex<Waker>,
}

impl Wake for Relay {
    fn wake(self: Arc<Relay>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Relay>) {
        let noted = self.state.compare_exchange(POLLED, WOKEN, Ordering::AcqRel, Ordering::Acquire);
        if let Err(RESTS) = noted {
            self.task.lock().ignore_poison().wake_by_ref();
        }
    }
}

impl Relay {
    /// Notes for whom it stands.
    fn stand_for(&self, task: &Waker) {
        let mut known = self.task.lock().ignore_poison();
        if !known.will_wake(task) {
            known.clone_from(task);
        }
    }

    /// The poll is over. Returns whether the future was woken meanwhile.
    fn was_woken(&self) -> bool {
        self.state.swap(RESTS, Ordering::AcqRel) == WOKEN
    }
}

/// Runs a future, eagerly.
pub(crate) async fn eagerly<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let relay = Arc::new(Relay { state: AtomicU8::new(RESTS), task: Mutex::new(Waker::noop().clone()) });
    let waker = Waker::from(relay.clone());
    poll_fn(|context| {
        relay.stand_for(context.waker());
        for _ in 0..MOST_POLLS {
            relay.state.store(POLLED, Ordering::Release);
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            if polled.is_ready() {
                return polled;
            }
            if !relay.was_woken() {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Waits for a future, for so long at most. What is there at the second look, as most bodies are, costs no timer.
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    let (mut future, mut looked) = (pin!(future), false);
    let early = poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if looked => Poll::Ready(None),
        Poll::Pending => {
            looked = true;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    });
    match early.await {
        Some(output) => Ok(output),
        None => timeout(limit, future).await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    /// Counts how often its task is woken.
    #[derive(Default)]
    struct Task(AtomicU32);

    impl Wake for Task {
        fn wake(self: Arc<Task>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Polls once, and says whether it is over and how often the task was woken.
    fn poll_once(future: impl Future<Output = ()>) -> (bool, u32) {
        let task = Arc::<Task>::default();
        let is_over = pin!(future).poll(&mut Context::from_waker(&Waker::from(task.clone()))).is_ready();
        (is_over, task.0.load(Ordering::Relaxed))
    }

    /// Wakes itself so often before it is over.
    fn wakes_itself(mut times: u32) -> impl Future<Output = ()> {
        poll_fn(move |context| match times.checked_sub(1) {
            None => Poll::Ready(()),
            Some(left) => {
                times = left;
                context.waker().wake_by_ref();
                Poll::Pending
            }
        })
    }

    #[test]
    fn a_future_that_wakes_itself_does_not_wake_its_task() {
        assert_eq!(poll_once(wakes_itself(3)), (false, 1), "as a runtime would see it");
        assert_eq!(poll_once(eagerly(wakes_itself(3))), (true, 0));
    }

    #[test]
    fn a_future_that_never_rests_leaves_room_for_others() {
        assert_eq!(poll_once(eagerly(wakes_itself(1_000))), (false, 1));
    }

    #[test]
    fn a_wake_from_elsewhere_reaches_the_task() {
        let kept = Mutex::new(None);
        let waits = poll_fn(|context| {
            *kept.lock().unwrap() = Some(context.waker().clone());
            Poll::<()>::Pending
        });
        let (task, mut future) = (Arc::<Task>::default(), pin!(eagerly(waits)));
        let waker = Waker::from(task.clone());
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(task.0.load(Ordering::Relaxed), 0);
        kept.lock().unwrap().as_ref().unwrap().wake_by_ref();
        assert_eq!(task.0.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn what_comes_late_or_never_is_waited_for_in_time() {
        let long = Duration::from_secs(60);
        assert!(within(long, wakes_itself(1)).await.is_ok(), "the second look");
        let later = tokio::time::sleep(Duration::from_millis(5));
        assert!(within(long, later).await.is_ok());
        assert!(within(Duration::from_millis(5), std::future::pending::<()>()).await.is_err());
    }
}
