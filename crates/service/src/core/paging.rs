//! Listings in pages: however much a node has to tell, each answer fits into a frame, and looks only at the clients of the names
//! that may be on it.

use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Core;
use super::report::Listing;
use crate::event::{Filter, Stretch};
use crate::label::Label;
use crate::name::{Definition, Kind};
use crate::time::Time;
use crate::want::Want;

/// This many bytes of listings fill a page. What has to be listed about one name beside its clients (a
/// semaphore with the most slots there can be) and the groups of one client fit into what is left of a frame.
pub(super) const PAGE_BYTES: usize = 128 << 10;
/// At most this many names are looked at for a page: names that no client uses take time, too, and other clients
/// wait meanwhile.
pub(super) const PAGE_NAMES: usize = 1024;
/// At most this many requests are looked at for each name of a page.
pub(super) const PAGE_LOOKS: usize = 4096;
/// A client takes less than this on the wire, but for the names of groups and its label.
pub(super) const CLIENT_BYTES: usize = 100;
/// What a name takes besides itself and its slots.
pub(super) const NAME_BYTES: usize = 32;
/// What a slot takes, and each node that waits for it.
const SLOT_BYTES: usize = 5;
/// What a pointer takes: a slot and a node.
const POINTER_BYTES: usize = 10;

/// Where a page of listings ended. The clients of a name are listed in the order of the numbers that the node
/// has for their requests, so each that is present from the first page to the last is listed exactly once,
/// whatever others do meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The kind of the last name.
    pub kind: Kind,
    /// The last name.
    pub name: Arc<str>,
    /// The number of the last of its clients that was looked at; `None` if all of them were.
    pub client: Option<u32>,
}

/// A part of what a node has to tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Names with clients. The first may have begun on the page before: then it is without its slots and pointers.
    pub listings: Vec<Listing>,
    /// Where the next page begins; `None` if there is no more.
    pub next: Option<Cursor>,
}

/// What to do with names that no client uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unused {
    Skip,
    List,
}

/// A name that may be on a page.
pub(super) struct Candidate<'a> {
    kind: Kind,
    name: &'a Arc<str>,
    pub(super) number: u32,
    /// It was begun on an earlier page, and listed up to this client.
    told: Option<u32>,
}

impl Candidate<'_> {
    /// A page ends with this name, and with this client if there may be more.
    pub(super) fn cursor(&self, client: Option<u32>) -> Cursor {
        Cursor { kind: self.kind, name: self.name.clone(), client }
    }
}

impl Core {
    /// A page of what is held and waited for here of the names that the filter shows, after this cursor.
    pub fn list_page(&self, filter: &Filter, after: Option<&Cursor>, now: Time) -> Page {
        let stretches = filter.stretches();
        self.page(self.candidates(&stretches, after), Unused::Skip, now)
    }

    /// The names in these stretches after this cursor, by kind.
    pub(super) fn candidates<'a>(
        &'a self,
        stretches: &'a [Stretch<'a>],
        after: Option<&'a Cursor>,
    ) -> impl Iterator<Item = Candidate<'a>> {
        let from = after.map(|after| after.kind);
        let kinds =
            self.names.by_kind().iter().filter(move |(kind, _)| from.is_none_or(|from| **kind >= from));
        kinds.flat_map(move |(kind, names)| {
            let after = after.filter(|after| after.kind == *kind);
            let told = move |name: &str| after.filter(|it| *it.name == *name).and_then(|it| it.client);
            let stretches = stretches.iter().flat_map(move |stretch| {
                let begin = stretch.begin_after(after.map(|after| (&*after.name, after.client.is_none())));
                names
                    .range::<str, _>((begin, Bound::Unbounded))
                    .take_while(|(name, _)| stretch.contains(name))
            });
            stretches.map(move |(name, number)| Candidate {
                kind: *kind,
                name,
                number: *number,
                told: told(name),
            })
        })
    }

    /// A page of what this node knows of a name, after this cursor. It is more than one kind of thing only for a moment: until
    /// its home has said what it is.
    pub fn inspect_page(&self, name: &str, after: Option<&Cursor>, now: Time) -> Page {
        let known = self.names.by_kind().iter().filter_map(|(kind, names)| {
            let (name, number) = names.get_key_value(name)?;
            let told = match after {
                Some(after) if *kind < after.kind => return None,
                Some(after) if *kind == after.kind => Some(after.client?),
                _ => None,
            };
            Some(Candidate { kind: *kind, name, number: *number, told })
        });
        self.page(known, Unused::List, now)
    }

    /// A page of the definitions of names that `shows` shows, after this name, and whether there may be more.
    pub fn definitions_page(
        &self,
        after: Option<&str>,
        shows: impl Fn(&str) -> bool,
    ) -> (Vec<(Arc<str>, Definition)>, bool) {
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let (mut page, mut bytes) = (Vec::new(), 0);
        let all = self.names.definitions().range::<str, _>((begin, Bound::Unbounded));
        for (name, definition) in all.filter(|(name, _)| shows(name)) {
            if bytes > PAGE_BYTES {
                return (page, true);
            }
            bytes += name.len() + NAME_BYTES;
            page.push((name.clone(), *definition));
        }
        (page, false)
    }

    /// Fills a page with the clients of these names.
    fn page<'a>(&self, candidates: impl Iterator<Item = Candidate<'a>>, unused: Unused, now: Time) -> Page {
        let mut page = Page { listings: Vec::new(), next: None };
        let mut bytes = 0;
        for (looked_at, candidate) in (1..).zip(candidates) {
            let Candidate { number, told, .. } = candidate;
            let most = PAGE_BYTES.saturating_sub(bytes) / CLIENT_BYTES + 1;
            let (clients, mut more) = self.requests.of_resource_after(number, told, (most, PAGE_LOOKS));
            let is_on_page =
                !clients.is_empty() || told.is_none() && (unused == Unused::List || more.is_some());
            if let Some(mut listing) = is_on_page.then(|| self.listing(number)).flatten() {
                if told.is_some() {
                    listing.slots.clear();
                } else if unused == Unused::List {
                    listing.pointers = self.pointers(number);
                }
                bytes += listing.name.len() + NAME_BYTES;
                bytes += listing.slots.iter().map(|(_, nodes)| SLOT_BYTES * (1 + nodes.len())).sum::<usize>();
                bytes += POINTER_BYTES * listing.pointers.len();
                let mut last = None;
                for (client, request) in clients {
                    if bytes > PAGE_BYTES && last.is_some() {
                        more = last;
                        break;
                    }
                    let held = self.held(request, now);
                    bytes += CLIENT_BYTES + group_bytes(&request.want);
                    bytes += held.label.as_ref().map_or(0, Label::bytes);
                    listing.clients.push(held);
                    last = Some(client);
                }
                page.listings.push(listing);
            }
            page.next = Some(candidate.cursor(more));
            if bytes > PAGE_BYTES || more.is_some() || looked_at == PAGE_NAMES {
                return page;
            }
        }
        page.next = None;
        page
    }
}

pub(super) fn group_bytes(want: &Want) -> usize {
    match want {
        Want::AnyOf(groups) => groups.iter().map(|group| group.len() + 2).sum(),
        _ => 0,
    }
}
