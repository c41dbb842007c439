//! The requests of a session that wait for their answers, and which of them is woken when bytes arrive.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, MutexGuard};
use std::task::{Wake, Waker};

use service::Refusal;
use service::client::Grant;
use sync::IgnorePoison;

/// An answer to a request.
pub type Answer = Result<Grant, Refusal>;

/// The requests that wait, and the answers that have not been fetched.
#[derive(Debug, Default)]
pub struct Waiters(BTreeMap<u64, Waiter>);

#[derive(Debug, Default)]
struct Waiter {
    answer: Option<Answer>,
    /// What is woken, once a task waits.
    waker: Option<Waker>,
}

/// How it is with a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Waits {
    /// Nothing waits for it any more: the session is lost.
    NotAnyMore,
    /// For the first time: no waiter was woken for it yet.
    First,
    /// Again.
    Again,
    /// Not at all: here is the answer.
    Answered(Answer),
}

impl Waiters {
    /// A request waits.
    pub fn add(&mut self, request: u64) {
        self.0.insert(request, Waiter::default());
    }

    /// It does not wait any more, and wants no answer. Returns whether it waited.
    pub fn remove(&mut self, request: u64) -> bool {
        self.0.remove(&request).is_some()
    }

    /// Whether there is exactly one.
    pub(crate) fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    /// Has an answer fetched.
    pub fn answer(&mut self, request: u64, answer: Answer) {
        let Some(waiter) = self.0.get_mut(&request) else { return };
        waiter.answer = Some(answer);
        if let Some(waker) = waiter.waker.take() {
            waker.wake();
        }
    }

    /// Fetches an answer. No task is woken for it until [`Waiters::wait`].
    pub fn fetch(&mut self, request: u64) -> Waits {
        let Entry::Occupied(mut waiter) = self.0.entry(request) else { return Waits::NotAnyMore };
        match (waiter.get_mut().answer.take(), waiter.get_mut().waker.take()) {
            (Some(answer), _) => {
                waiter.remove();
                Waits::Answered(answer)
            }
            (None, None) => Waits::First,
            (None, Some(_)) => Waits::Again,
        }
    }

    /// Registers the waker to call when the answer has arrived.
    pub fn wait(&mut self, request: u64, waker: &Waker) {
        if let Some(waiter) = self.0.get_mut(&request) {
            waiter.waker = Some(waker.clone());
        }
    }

    /// The session is lost, and all that wait learn of it.
    pub fn lose_all(&mut self) {
        std::mem::take(&mut self.0).into_values().filter_map(|waiter| waiter.waker).for_each(Waker::wake);
    }
}

/// What a socket rings when there is something to read: so it is decided only then who reads.
///
/// A waiter that is alone in its session reads its answer itself; otherwise the task of the session reads. That task has to
/// be able to do without the waiter, which may be dropped or not be polled for long after the bell rang for it: then
/// [`Bell::reads_no_more`] or the next keep-alive has the task read.
#[derive(Default)]
pub(crate) struct Bell(Mutex<Wakers>);

#[derive(Default)]
struct Wakers {
    task: Option<Waker>,
    waiter: Option<Waker>,
    /// It rang for the waiter, and no task has read since.
    rang: bool,
}

impl Bell {
    /// From now on the task of the session can be woken so.
    pub(crate) fn is_heard_by_task(&self, waker: &Waker) {
        let mut wakers = self.lock();
        match &mut wakers.task {
            Some(task) => task.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// The next time this waiter reads.
    pub(crate) fn is_heard_by_waiter(&self, waker: &Waker) {
        self.lock().waiter = Some(waker.clone());
    }

    /// All that has arrived is about to be read.
    pub(crate) fn is_answered(&self) {
        self.lock().rang = false;
    }

    /// The waiter does not read any more, or must not be relied upon: from now on the task reads, also what it was
    /// woken for.
    pub(crate) fn reads_no_more(&self) {
        let mut wakers = self.lock();
        wakers.waiter = None;
        if std::mem::take(&mut wakers.rang) {
            Bell::wake_task(wakers);
        }
    }

    /// Has the task of the session look at how things are.
    pub(crate) fn call_task(&self) {
        Bell::wake_task(self.lock());
    }

    fn wake_task(wakers: MutexGuard<'_, Wakers>) {
        let task = wakers.task.clone();
        drop(wakers);
        if let Some(task) = task {
            task.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Wakers> {
        self.0.lock().ignore_poison()
    }
}

impl Wake for Bell {
    fn wake(self: std::sync::Arc<Bell>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &std::sync::Arc<Bell>) {
        let mut wakers = self.lock();
        match wakers.waiter.take() {
            Some(waiter) => {
                wakers.rang = true;
                drop(wakers);
                waiter.wake();
            }
            None => Bell::wake_task(wakers),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Count>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A bell with a task and a waiter, and how often each was woken since the last look.
    fn bell() -> (Arc<Bell>, Waker, impl Fn() -> (u32, u32)) {
        let (bell, task, waiter) =
            (Arc::new(Bell::default()), Arc::<Count>::default(), Arc::<Count>::default());
        bell.is_heard_by_task(&task.clone().into());
        let waker = waiter.clone().into();
        (bell, waker, move || (task.0.swap(0, Ordering::SeqCst), waiter.0.swap(0, Ordering::SeqCst)))
    }

    #[test]
    fn the_bell_rings_once_for_a_waiter_and_then_for_the_task() {
        let (bell, waiter, woken) = bell();
        let socket = Waker::from(bell.clone());
        socket.wake_by_ref();
        assert_eq!(woken(), (1, 0));
        bell.is_heard_by_waiter(&waiter);
        socket.wake_by_ref();
        assert_eq!(woken(), (0, 1));
        socket.wake_by_ref();
        assert_eq!(woken(), (1, 0), "the waiter has not said again that it reads");
    }

    #[test]
    fn a_waiter_that_was_woken_and_does_not_read_is_replaced_by_the_task() {
        let (bell, waiter, woken) = bell();
        let socket = Waker::from(bell.clone());
        bell.is_heard_by_waiter(&waiter);
        bell.reads_no_more();
        assert_eq!(woken(), (0, 0), "there is nothing to read");
        bell.is_heard_by_waiter(&waiter);
        socket.wake_by_ref();
        bell.reads_no_more();
        assert_eq!(woken(), (1, 1));
        bell.is_heard_by_waiter(&waiter);
        socket.wake_by_ref();
        bell.is_answered();
        bell.reads_no_more();
        assert_eq!(woken(), (0, 1), "it was read");
    }

    #[test]
    fn an_answer_is_fetched_once_and_wakes_the_waiter() {
        let (_, waiter, woken) = bell();
        let mut waiters = Waiters::default();
        waiters.add(1);
        waiters.add(2);
        assert_eq!(waiters.fetch(1), Waits::First);
        waiters.wait(1, &waiter);
        waiters.wait(2, &waiter);
        waiters.answer(1, Err(Refusal::NotFree));
        assert_eq!(woken(), (0, 1));
        assert_eq!(waiters.fetch(1), Waits::Answered(Err(Refusal::NotFree)));
        assert_eq!((waiters.fetch(1), waiters.fetch(2)), (Waits::NotAnyMore, Waits::Again));
        waiters.wait(2, &waiter);
        waiters.lose_all();
        assert_eq!((woken(), waiters.fetch(2)), ((0, 1), Waits::NotAnyMore));
        assert!(!waiters.remove(2));
    }
}
