//! What a poisoned lock means, and where a future is compiled: one policy each for the workspace.
//!
//! # Poisoned locks
//!
//! A thread that panics while it holds a lock poisons it. There are two cases:
//!
//! - **Half a step of a state machine is behind the lock.** The member of a node is the only such state. A
//!   node must not go on with it, because it could grant what it has granted already. So `node` treats the
//!   poisoned lock as a failure of the whole node (`node::Failure::Poisoned`), which lets its lease run out.
//! - **Everything else**: queues, lists, counters, handles. Each critical section leaves them consistent at
//!   every point where it can panic, and another thread that failed for a reason of its own is no reason to
//!   fail as well. Such locks are taken with [`IgnorePoison::ignore_poison`].
//!
//! In both cases the panic itself is reported where it happened: tasks are watched, and a program that ends
//! when a thread panics ends.
//!
//! # Futures
//!
//! The body of an `async fn` is compiled in every crate that awaits it, with all that it calls. So a function
//! that starts a node would compile consensus again in every program and every test. Such functions return a
//! [`BoxFuture`] instead, and are compiled once, where they are written.

#![forbid(unsafe_code)]

use std::pin::Pin;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// A future that is compiled in the crate that makes it: see the [crate].
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Takes what is behind a lock, whether or not a thread panicked while holding it: see the [crate].
pub trait IgnorePoison {
    /// What is behind the lock.
    type Guard;

    /// Takes it. For a lock that was only tried, `None` says that another thread holds it.
    fn ignore_poison(self) -> Self::Guard;
}

impl<G> IgnorePoison for LockResult<G> {
    type Guard = G;

    fn ignore_poison(self) -> G {
        self.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<G> IgnorePoison for TryLockResult<G> {
    type Guard = Option<G>;

    fn ignore_poison(self) -> Option<G> {
        match self {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_poisoned_lock_is_taken_all_the_same() {
        let lock = Mutex::new(1);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _guard = lock.lock();
            panic!("on purpose");
        }));
        assert!(panicked.is_err() && lock.is_poisoned());
        *lock.lock().ignore_poison() += 1;
        let guard = lock.try_lock().ignore_poison();
        assert_eq!(guard.as_deref(), Some(&2));
        assert!(lock.try_lock().ignore_poison().is_none(), "it is held");
    }
}
