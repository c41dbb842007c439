//! Clients that watch: they are told of what happens, as long as they keep up.

use std::sync::Arc;

use service::event::{Event, Filter};
use service::protocol::ToClient;

use crate::clients::ClientLink;
use crate::host::State;

/// Somebody who watches.
pub(crate) struct Watcher {
    link: Arc<ClientLink>,
    filter: Filter,
}

impl Watcher {
    /// Tells of something that happened, or counts it as missed. Never waits.
    pub(crate) fn tell(&self, event: &Event) {
        if self.filter.shows(event) {
            self.link.tell_if_it_keeps_up(&ToClient::Happened(event.clone()));
        }
    }
}

impl State {
    /// From now on this connection is told of what happens; it watches one thing at a time.
    pub(crate) fn watch(&mut self, link: &Arc<ClientLink>, filter: Filter) {
        self.unwatch(link);
        self.watchers.push(Watcher { link: link.clone(), filter });
        self.core_and_out().1.events.get_or_insert_default();
    }

    /// A connection that may have watched is over.
    pub(crate) fn unwatch(&mut self, link: &Arc<ClientLink>) {
        self.watchers.retain(|watcher| !Arc::ptr_eq(&watcher.link, link));
        if self.watchers.is_empty() {
            self.core_and_out().1.events = None;
        }
    }
}
