//! Resources by their names, and how they are taken.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use service::core::Timeout;
use service::{Acquire, Definition, Want};
use tokio::time::sleep;

use crate::backend::{Asked, Backend, Pending};
use crate::{Error, Guard, Tokenwood};
use transport::clock;

/// Something that can be held: a mutex, a slot of a semaphore, one side of a read-write lock, a room in some group.
/// Costs nothing until it is acquired.
#[derive(Clone, Debug)]
pub struct Lock {
    tokenwood: Tokenwood,
    name: Arc<str>,
    definition: Definition,
    want: Want,
}

/// A read-write lock: any number of readers, or one writer.
#[derive(Clone, Debug)]
pub struct RwLock {
    tokenwood: Tokenwood,
    name: Arc<str>,
}

/// A room: all holders are in the same group.
#[derive(Clone, Debug)]
pub struct Room {
    tokenwood: Tokenwood,
    name: Arc<str>,
}

impl RwLock {
    pub(crate) fn new(tokenwood: Tokenwood, name: &str) -> RwLock {
        RwLock { tokenwood, name: name.into() }
    }

    /// Its reading side: shared with other readers.
    pub fn read(&self) -> Lock {
        self.side(Want::Read)
    }

    /// Its writing side: alone.
    pub fn write(&self) -> Lock {
        self.side(Want::Write)
    }

    fn side(&self, want: Want) -> Lock {
        let (tokenwood, name) = (self.tokenwood.clone(), self.name.clone());
        Lock { tokenwood, name, definition: Definition::RwLock, want }
    }
}

impl Room {
    pub(crate) fn new(tokenwood: Tokenwood, name: &str) -> Room {
        Room { tokenwood, name: name.into() }
    }

    /// The room in this group. It is shared with holders of the same group, never with others.
    pub fn group(&self, group: &str) -> Lock {
        self.any_of([group])
    }

    /// The room in whichever of these groups opens first; [`Guard::group`] says which.
    pub fn any_of<'a>(&self, groups: impl IntoIterator<Item = &'a str>) -> Lock {
        let want = Want::AnyOf(groups.into_iter().map(Arc::from).collect());
        let (tokenwood, name) = (self.tokenwood.clone(), self.name.clone());
        Lock { tokenwood, name, definition: Definition::Room, want }
    }
}

impl Lock {
    pub(crate) fn new(tokenwood: Tokenwood, name: &str, definition: Definition) -> Lock {
        Lock { tokenwood, name: name.into(), definition, want: Want::Slot }
    }

    /// A slot of a mutex or a semaphore, however many it is defined to have.
    pub(crate) fn any_slot(tokenwood: Tokenwood, name: &str) -> Lock {
        Lock { want: Want::AnySlot, ..Lock::new(tokenwood, name, Definition::MUTEX) }
    }

    /// Waits until there is a slot. Dropping the future gives up, and nothing is left behind.
    pub async fn acquire(&self) -> Result<Guard, Error> {
        self.ask(Timeout::Never).await
    }

    /// Releases what this guard holds, and waits until there is a slot of this lock: the same as [`Guard::release`] and then
    /// [`Lock::acquire`], but both travel in one message where the guard is of the same session. For a program that goes from one
    /// lock to the next; the release is not put off for it. Dropping the future gives up, and nothing is left behind.
    ///
    /// ```no_run
    /// # async fn example(tokenwood: tokenwood::Tokenwood) -> Result<(), tokenwood::Error> {
    /// let mut guard = tokenwood.mutex("page-1").acquire().await?;
    /// for page in 2..100 {
    ///     // work on the page, then
    ///     guard = tokenwood.mutex(&format!("page-{page}")).acquire_after(guard).await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn acquire_after(&self, guard: Guard) -> Result<Guard, Error> {
        let Some(backend) = self.tokenwood.backend_now().filter(|backend| guard.is_of(backend)) else {
            guard.release();
            return self.acquire().await;
        };
        match self.ask_at(backend.clone(), Some(guard), Timeout::Never).await {
            Err(error) if error.may_succeed_elsewhere() => {
                self.tokenwood.turn_from(&backend).await;
                self.acquire().await
            }
            answer => answer,
        }
    }

    /// Waits at most this long.
    pub async fn acquire_within(&self, timeout: Duration) -> Result<Guard, Error> {
        self.ask(Timeout::After(timeout)).await
    }

    /// Does not wait for a release. A slot that is free at another node is found.
    pub async fn try_acquire(&self) -> Result<Guard, Error> {
        self.ask(Timeout::Try).await
    }

    /// Asks one node after another until one answers. A node that is leaving or has no lease refuses, and the
    /// request moves to another node. A request that does not wait tries one other node.
    async fn ask(&self, timeout: Timeout) -> Result<Guard, Error> {
        let until = match timeout {
            Timeout::After(timeout) => Some(clock::now() + timeout),
            Timeout::Try | Timeout::Never => None,
        };
        let mut pause = Duration::ZERO;
        let mut timeout = timeout;
        let mut backend = self.tokenwood.backend().await?;
        loop {
            let error = match self.ask_at(backend.clone(), None, timeout).await {
                Ok(guard) => return Ok(guard),
                Err(error)
                    if error.may_succeed_elsewhere() && (timeout != Timeout::Try || pause.is_zero()) =>
                {
                    error
                }
                Err(error) => return Err(error),
            };
            self.tokenwood.turn_from(&backend).await;
            backend = loop {
                if until.is_some_and(|until| clock::now() + pause >= until) {
                    return Err(error);
                }
                sleep(pause).await;
                pause = (pause * 2).clamp(FIRST_RETRY, LONGEST_RETRY);
                match self.tokenwood.backend().await {
                    Ok(backend) => break backend,
                    Err(error) if timeout == Timeout::Try => return Err(error),
                    Err(_) => {}
                }
            };
            if let Some(until) = until {
                timeout = Timeout::After(until - clock::now());
            }
        }
    }

    /// Asks at this node, and releases what is held there in the same message.
    async fn ask_at(
        &self,
        backend: Arc<dyn Backend>,
        held: Option<Guard>,
        timeout: Timeout,
    ) -> Result<Guard, Error> {
        let (name, want) = (self.name.clone(), self.want.clone());
        let ask = Acquire { request: 0, name, definition: self.definition, want, timeout };
        let (request, asked) = match held {
            None => backend.acquire(ask)?,
            Some(guard) => backend.acquire_after(guard.let_go(), ask)?,
        };
        if let Asked::Granted(grant) = asked {
            return Ok(Guard::new(backend, request, grant));
        }
        let mut pending = Pending { backend, request, answered: false };
        let answer = poll_fn(|context| pending.backend.poll_answer(request, context)).await;
        pending.answered = true;
        Ok(Guard::new(pending.backend.clone(), request, answer?))
    }
}

/// The pause after the first refusal by a node. It doubles with each further refusal, up to a limit.
const FIRST_RETRY: Duration = Duration::from_millis(20);
const LONGEST_RETRY: Duration = Duration::from_millis(250);
