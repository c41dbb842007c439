//! How much names are used at a node, in pages: for live views, which ask again and again.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Core;
use super::paging::{CLIENT_BYTES, Cursor, NAME_BYTES, PAGE_BYTES, PAGE_LOOKS, PAGE_NAMES, group_bytes};
use super::report::Held;
use crate::event::Filter;
use crate::label::Label;
use crate::name::Definition;
use crate::time::Time;

/// This many waiters of a name are told: those that have waited longest.
const TOLD_WAITERS: usize = 3;

/// How much a name is used at one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameUse {
    /// The name.
    pub name: Arc<str>,
    /// What it is.
    pub definition: Definition,
    /// How often it was granted here since the node has counted that. The difference of two answers is what was granted between
    /// them, unless the node began to count in between.
    pub grants: u64,
    /// For how long the node has counted: a node forgets idle names, and what it has counted for them.
    pub counted: Duration,
    /// Clients that hold it here.
    pub holders: u64,
    /// Clients that wait for it here.
    pub waiters: u64,
    /// There are more clients than those that were looked at and counted.
    pub more: bool,
    /// The client that has held it longest.
    pub longest_hold: Option<Held>,
    /// The clients that have waited longest, the longest first.
    pub longest_waits: Vec<Held>,
}

/// A part of what a node knows of how much names are used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses {
    /// Names that are held or waited for, or were granted since they were made here.
    pub uses: Vec<NameUse>,
    /// Where the next page begins; `None` if there is no more.
    pub next: Option<Cursor>,
}

impl Uses {
    /// Nothing, and no more.
    pub(crate) fn nothing() -> Uses {
        Uses { uses: Vec::new(), next: None }
    }
}

impl Core {
    /// A page of how much the names are used here that the filter shows, after this cursor. It looks at no more names than a page
    /// of a listing.
    pub fn uses_page(&self, filter: &Filter, after: Option<&Cursor>, now: Time) -> Uses {
        let (mut page, mut bytes, mut looks) = (Uses::nothing(), 0, 0);
        let stretches = filter.stretches();
        for (looked_at, candidate) in (1..).zip(self.candidates(&stretches, after)) {
            if let Some(found) = self.name_use(candidate.number, &mut looks, now) {
                let told = found.longest_hold.iter().chain(&found.longest_waits);
                let label = |held: &Held| held.label.as_ref().map_or(0, Label::bytes);
                bytes += told.map(|held| CLIENT_BYTES + label(held) + group_bytes(&held.want)).sum::<usize>();
                bytes += found.name.len() + NAME_BYTES;
                page.uses.push(found);
            }
            page.next = Some(candidate.cursor(None));
            if bytes > PAGE_BYTES || looks > PAGE_LOOKS || looked_at == PAGE_NAMES {
                return page;
            }
        }
        page.next = None;
        page
    }

    fn name_use(&self, number: u32, looks: &mut usize, now: Time) -> Option<NameUse> {
        let (resource, tally) = (self.names.get(number)?, self.names.tally(number));
        let (mut holders, mut longest_hold, mut longest_waits) = (0, None, BTreeSet::new());
        let (mut waiters, mut clients) = (0, self.requests.of_resource_where(number, |_| true));
        for (client, request) in clients.by_ref().take(PAGE_LOOKS) {
            *looks += 1;
            let began = (request.since, client);
            if request.waits() {
                waiters += 1;
                longest_waits.insert(began);
                if longest_waits.len() > TOLD_WAITERS {
                    longest_waits.pop_last();
                }
            } else {
                holders += 1;
                longest_hold = longest_hold.max(Some(Reverse(began)));
            }
        }
        let more = clients.next().is_some();
        if tally.grants == 0 && holders + waiters == 0 {
            return None;
        }
        let held = |client: u32| Some(self.held(self.requests.get(client)?, now));
        Some(NameUse {
            name: resource.name().clone(),
            definition: resource.definition(),
            grants: tally.grants,
            counted: if tally.grants == 0 { Duration::ZERO } else { now - tally.since },
            holders,
            waiters,
            more,
            longest_hold: longest_hold.and_then(|Reverse((_, client))| held(client)),
            longest_waits: longest_waits.into_iter().filter_map(|(_, client)| held(client)).collect(),
        })
    }
}
