//! The client library of Rust.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::Result;
use tokenwood::{Access, Admin, Error, Guard, Lock, Options, Refusal, Tokenwood, label};

use super::{Answer, Ask, Client, Setup};

pub(super) struct Library {
    tokenwood: RefCell<Option<Tokenwood>>,
    endpoints: Vec<String>,
    guards: RefCell<Vec<Held>>,
}

/// A guard, until it is released.
type Held = Rc<RefCell<Option<Rc<Guard>>>>;

impl Client for Library {
    type Held = Held;
    const NAME: &'static str = "Rust: the library tokenwood";
    const CANNOT: &'static [(&'static str, &'static str)] =
        &[("release-twice", "releasing a guard consumes it: a second release does not compile")];

    async fn open(setup: Setup) -> Result<Library> {
        let mut options = Options::with_ttl(setup.ttl());
        options.label = Some(label::Label { text: setup.label.clone(), ..label::of_this_process() });
        let tokenwood = Tokenwood::connect_with(setup.endpoints.clone(), options).await?;
        let tokenwood = RefCell::new(Some(tokenwood));
        Ok(Library { tokenwood, endpoints: setup.endpoints, guards: RefCell::default() })
    }

    async fn acquire(&self, ask: &Ask) -> Answer<Held> {
        let tokenwood = self.tokenwood.borrow().clone();
        let Some(tokenwood) = tokenwood else { return Answer::not("unavailable", "the session was closed") };
        let lock = lock(&tokenwood, ask);
        let taken = match ask.wait() {
            None => lock.acquire().await,
            Some(_) if ask.is_try() => lock.try_acquire().await,
            Some(wait) => lock.acquire_within(wait).await,
        };
        match taken {
            Ok(guard) => {
                let (fence, slot) = (guard.fence(), guard.slot());
                let groups = ask.groups.as_deref().unwrap_or_default();
                let group = groups.get(guard.group() as usize).cloned();
                let held = Rc::new(RefCell::new(Some(Rc::new(guard))));
                self.guards.borrow_mut().push(held.clone());
                Answer::Granted { held, fence, slot, group }
            }
            Err(error) if error.is_taken() => {
                let holders = self.holders(&ask.lock).await;
                Answer::Not { outcome: ask.not_granted(), why: error.to_string(), holders }
            }
            Err(Error::Refused(refusal @ (Refusal::NoLease | Refusal::Leaving))) => {
                Answer::not("unavailable", &refusal)
            }
            Err(Error::Refused(refusal)) => Answer::not("refused", &refusal),
            Err(error) => Answer::not("unavailable", &error),
        }
    }

    async fn lost(&self, held: &Held) {
        let guard = held.borrow().clone();
        match guard {
            Some(guard) => guard.lost().await,
            None => std::future::pending().await,
        }
    }

    async fn is_held(&self, held: &Held) -> bool {
        held.borrow().as_ref().is_some_and(|guard| !guard.is_lost())
    }

    async fn release(&self, held: &Held) -> &'static str {
        match held.borrow_mut().take() {
            None => "cannot",
            Some(guard) if guard.is_lost() => "lost",
            Some(_) => "released",
        }
    }

    async fn close(&self) {
        // The session ends with the last of its guards.
        self.guards.take().into_iter().for_each(|held| _ = held.take());
        self.tokenwood.take();
    }
}

impl Library {
    /// Who holds a lock: each node tells of its own clients.
    async fn holders(&self, lock: &str) -> Vec<String> {
        let mut holders = Vec::new();
        for endpoint in &self.endpoints {
            let Ok(mut admin) = Admin::connect_with(endpoint, &Access::default()).await else { continue };
            let Ok((_, listings)) = admin.inspect(lock).await else { continue };
            let clients = listings.into_iter().flat_map(|listing| listing.clients);
            let held = clients.filter(|client| client.granted.is_some());
            holders.extend(held.filter_map(|client| Some(client.label?.to_string())));
        }
        holders
    }
}

fn lock(tokenwood: &Tokenwood, ask: &Ask) -> Lock {
    match (&ask.groups, ask.mode.as_deref(), ask.slots) {
        (Some(groups), ..) => tokenwood.room(&ask.lock).any_of(groups.iter().map(|group| &**group)),
        (_, Some("shared"), _) => tokenwood.rwlock(&ask.lock).read(),
        (_, Some(_), _) => tokenwood.rwlock(&ask.lock).write(),
        (_, _, Some(slots)) => tokenwood.semaphore(&ask.lock, slots),
        _ => tokenwood.as_defined(&ask.lock),
    }
}
