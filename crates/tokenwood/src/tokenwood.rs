//! The way into a cluster.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use service::Definition;
use service::auth::Secret;
use sync::IgnorePoison;
use tokio::sync::Mutex;

use crate::access::Access;
use crate::backend::Backend;
use crate::endpoints::first_that_answers;
use crate::error::Error;
use crate::label::{Label, of_this_process};
use crate::lock::{Lock, Room, RwLock};
use crate::remote::Remote;

/// A cluster. Cheap to clone; all clones share one session.
#[derive(Clone)]
pub struct Tokenwood {
    source: Arc<Source>,
}

enum Source {
    Far { endpoints: Vec<String>, options: Options, current: Mutex<Option<Arc<Remote>>> },
    Near(Near),
}

/// How a session is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long the session lives without a keep-alive. This long after a crash of this program, another
    /// client can be granted what it held; this long, the node may be unreachable without harm.
    pub ttl: Duration,
    /// Who the client is, for people: listings, events and logs of the nodes show it. By default
    /// [what is known of this process](crate::label::of_this_process); `None` says nothing.
    pub label: Option<Label>,
    /// How the client gets in.
    pub access: Access,
}

impl Default for Options {
    fn default() -> Options {
        Options { ttl: Duration::from_secs(10), label: Some(of_this_process()), access: Access::default() }
    }
}

impl Options {
    /// The defaults with this ttl.
    pub fn with_ttl(ttl: Duration) -> Options {
        Options { ttl, ..Options::default() }
    }

    /// The same with this token, as `tokenwood auth token add` printed it.
    #[must_use]
    pub fn token(self, token: Secret) -> Options {
        Options { access: Access { token: Some(token), ..self.access }, ..self }
    }
}

impl Tokenwood {
    /// Connects to the first of these nodes that answers, each named as `host:port`.
    pub async fn connect<E: Into<String>>(
        endpoints: impl IntoIterator<Item = E>,
    ) -> Result<Tokenwood, Error> {
        Tokenwood::connect_with(endpoints, Options::default()).await
    }

    /// The same with options.
    pub async fn connect_with<E: Into<String>>(
        endpoints: impl IntoIterator<Item = E>,
        options: Options,
    ) -> Result<Tokenwood, Error> {
        let endpoints: Vec<String> = endpoints.into_iter().map(Into::into).collect();
        let source = Source::Far { endpoints, options, current: Mutex::new(None) };
        let tokenwood = Tokenwood { source: Arc::new(source) };
        tokenwood.backend().await?;
        Ok(tokenwood)
    }

    /// A node in this process.
    pub fn embedded(open: Open) -> Tokenwood {
        Tokenwood { source: Arc::new(Source::Near(Near { open, current: std::sync::Mutex::new(None) })) }
    }

    /// A mutex: one holder at a time.
    pub fn mutex(&self, name: &str) -> Lock {
        Lock::new(self.clone(), name, Definition::MUTEX)
    }

    /// A mutex or a semaphore: as many holders at a time as it is defined to have, also when that changes; one, if it is not
    /// defined.
    pub fn as_defined(&self, name: &str) -> Lock {
        Lock::any_slot(self.clone(), name)
    }

    /// A semaphore with this many slots. All clients have to name the same number, and if the name is
    /// defined, that of the definition.
    pub fn semaphore(&self, name: &str, slots: u32) -> Lock {
        Lock::new(self.clone(), name, Definition::Slots(slots))
    }

    /// A read-write lock: any number of readers, or one writer.
    pub fn rwlock(&self, name: &str) -> RwLock {
        RwLock::new(self.clone(), name)
    }

    /// A room: all holders are in the same group.
    pub fn room(&self, name: &str) -> Room {
        Room::new(self.clone(), name)
    }

    /// The session to use now; a new one if the last was lost.
    pub(crate) async fn backend(&self) -> Result<Arc<dyn Backend>, Error> {
        match &*self.source {
            Source::Near(near) => near.backend(),
            Source::Far { .. } => Ok(self.remote().await?),
        }
    }

    /// The session to use now, if there is one and nothing is about to replace it.
    pub(crate) fn backend_now(&self) -> Option<Arc<dyn Backend>> {
        match &*self.source {
            Source::Near(near) => near.backend().ok(),
            Source::Far { current, .. } => {
                let current = current.try_lock().ok()?;
                let remote = current.as_ref().filter(|remote| remote.is_alive())?;
                Some(remote.clone())
            }
        }
    }

    /// This session's node grants nothing at the moment: later requests use another session. What this
    /// session holds stays held.
    pub(crate) async fn turn_from(&self, backend: &Arc<dyn Backend>) {
        let is_it = |address: *const ()| std::ptr::addr_eq(address, Arc::as_ptr(backend));
        match &*self.source {
            Source::Near(near) => {
                let mut current = near.current.lock().ignore_poison();
                current.take_if(|current| is_it(Arc::as_ptr(current).cast()));
            }
            Source::Far { current, .. } => {
                current.lock().await.take_if(|current| is_it(Arc::as_ptr(current).cast()));
            }
        }
    }

    async fn remote(&self) -> Result<Arc<Remote>, Error> {
        let Source::Far { endpoints, options, current } = &*self.source else { return Err(Error::Lost) };
        let mut current = current.lock().await;
        if let Some(remote) = current.as_ref().filter(|remote| remote.is_alive()) {
            return Ok(remote.clone());
        }
        let open = |endpoint: String| async move { Remote::open(&endpoint, options).await };
        let remote = Arc::new(first_that_answers(endpoints, open).await?);
        *current = Some(remote.clone());
        Ok(remote)
    }
}

/// A node in this process: opens a session there.
pub type Open = Box<dyn Fn() -> Result<Arc<dyn Backend>, Error> + Send + Sync>;

/// Sessions at a node in this process, one after the other.
struct Near {
    open: Open,
    current: std::sync::Mutex<Option<Arc<dyn Backend>>>,
}

impl Near {
    /// A session that is alive: another one when the one before was lost.
    fn backend(&self) -> Result<Arc<dyn Backend>, Error> {
        let mut current = self.current.lock().ignore_poison();
        if let Some(backend) = current.as_ref().filter(|backend| backend.is_alive()) {
            return Ok(backend.clone());
        }
        let backend = (self.open)()?;
        *current = Some(backend.clone());
        Ok(backend)
    }
}

impl fmt::Debug for Tokenwood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.source {
            Source::Far { endpoints, .. } => f.debug_tuple("Tokenwood").field(endpoints).finish(),
            Source::Near(_) => f.write_str("Tokenwood(embedded)"),
        }
    }
}
