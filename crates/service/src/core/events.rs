//! Events for watchers. Without a watcher this costs one comparison.

use super::{Core, Effects};
use crate::event::{Change, Event};
use crate::grant::Grant;
use crate::refusal::Refusal;

impl Core {
    /// Tells watchers how a request changes.
    #[inline]
    pub(super) fn emit(&self, client: u32, change: impl FnOnce() -> Change, out: &mut Effects) {
        if let Some(events) = &mut out.events {
            events.extend(self.event(client, change()));
        }
    }

    /// Tells watchers that a request ends. `of_grant` is the change if it holds a grant, `why` the reason if it waits.
    pub(super) fn emit_end(
        &self,
        client: u32,
        of_grant: fn(Grant) -> Change,
        why: &Refusal,
        out: &mut Effects,
    ) {
        let change = || match self.requests.get(client).and_then(|request| request.granted) {
            Some(grant) => of_grant(grant),
            None => Change::GaveUp(why.clone()),
        };
        self.emit(client, change, out);
    }

    fn event(&self, client: u32, change: Change) -> Option<Event> {
        let request = self.requests.get(client)?;
        let resource = self.names.get(request.resource)?;
        Some(Event::Client {
            session: self.sessions.id(request.session),
            request: request.number,
            name: resource.name().clone(),
            definition: resource.definition(),
            want: request.want.clone(),
            change,
            label: self.sessions.label(request.session).map(Box::new),
        })
    }
}
