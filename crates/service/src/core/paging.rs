//! Listings in pages: however much a node has to tell, each answer fits into a frame, and looks only at the clients of the names
//! that may be on it.

use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Core;
use super::report::Listing;
use super::state::Request;
use crate::name::{Definition, Kind};
use crate::time::Time;
use crate::wish::Want;

/// So many bytes of listings fill a page: half of what fits into a frame. What has to be told about one name beside its clients
/// (a semaphore with the most slots there can be) fits into the rest.
const PAGE_BYTES: usize = crate::frame::LONGEST_BODY / 2;
/// So many names are looked at for a page: those that nobody uses take time, too.
const PAGE_NAMES: usize = 8192;
/// So many clients are told in a page.
const PAGE_CLIENTS: usize = 8192;
/// A client takes less than this on the wire, but for the names of groups.
const CLIENT_BYTES: usize = 80;
/// What a name takes besides itself and its slots.
const NAME_BYTES: usize = 32;
/// What a slot takes, and each node that waits for it.
const SLOT_BYTES: usize = 5;

/// Where a page of listings ended. Clients are told in the order of their sessions and requests, so each that is there from the
/// first page to the last is told exactly once, whatever others do meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The kind of the last name,
    pub kind: Kind,
    /// the name,
    pub name: Arc<str>,
    /// and the session and the request of its last client; `None` if all of them were told.
    pub client: Option<(u64, u64)>,
}

/// A part of what a node has to tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Names with clients. The first may have begun on the page before: then it is without its slots.
    pub listings: Vec<Listing>,
    /// Where the next page begins; `None` if there is no more.
    pub next: Option<Cursor>,
}

/// A name that may be on a page.
struct Candidate<'a> {
    kind: Kind,
    name: &'a Arc<str>,
    number: u32,
    /// It was begun on an earlier page, and told up to this client.
    told: Option<(u64, u64)>,
}

impl Core {
    /// A page of what is held and waited for here, after this cursor.
    pub fn list_page(&self, after: Option<&Cursor>, now: Time) -> Page {
        let from = after.map(|after| after.kind);
        let mut candidates = Vec::new();
        for (kind, names) in
            self.names.by_kind().iter().filter(|(kind, _)| from.is_none_or(|from| **kind >= from))
        {
            let after = after.filter(|after| after.kind == *kind);
            let begin = after.map_or(Bound::Unbounded, |after| match after.client {
                Some(_) => Bound::Included(&after.name[..]),
                None => Bound::Excluded(&after.name[..]),
            });
            let left = PAGE_NAMES - candidates.len();
            candidates.extend(names.range::<str, _>((begin, Bound::Unbounded)).take(left).map(
                |(name, number)| {
                    let told = after.filter(|after| after.name == *name).and_then(|after| after.client);
                    Candidate { kind: *kind, name, number: *number, told }
                },
            ));
        }
        self.page(&candidates, candidates.len() == PAGE_NAMES, false, now)
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
        self.page(&known.collect::<Vec<_>>(), false, true, now)
    }

    /// A page of definitions, after this name, and whether there are more.
    pub fn definitions_page(&self, after: Option<&str>) -> (Vec<(Arc<str>, Definition)>, bool) {
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let (mut page, mut bytes) = (Vec::new(), 0);
        for (name, definition) in self.names.definitions().range::<str, _>((begin, Bound::Unbounded)) {
            if bytes > PAGE_BYTES {
                return (page, true);
            }
            bytes += name.len() + NAME_BYTES;
            page.push((name.clone(), *definition));
        }
        (page, false)
    }

    /// Fills a page with the clients of these names, and on request with names that have none.
    fn page(&self, candidates: &[Candidate<'_>], more_names: bool, unused: bool, now: Time) -> Page {
        let (clients, more_clients) = self.clients_of(candidates);
        let mut rest = &clients[..];
        let mut page = Page { listings: Vec::new(), next: None };
        let mut bytes = 0;
        for (place, Candidate { kind, name, number, told }) in candidates.iter().enumerate() {
            let (here, after) = rest.split_at(rest.partition_point(|(other, _)| *other == place));
            rest = after;
            if here.is_empty() && (!unused || told.is_some()) {
                continue;
            }
            let Some(mut listing) = self.listing(*number) else { continue };
            if told.is_some() {
                listing.slots.clear();
            }
            bytes += listing.name.len() + NAME_BYTES;
            bytes += listing.slots.iter().map(|(_, nodes)| SLOT_BYTES * (1 + nodes.len())).sum::<usize>();
            let mut last = *told;
            for (_, request) in here {
                if bytes > PAGE_BYTES && last.is_some() {
                    break;
                }
                bytes += CLIENT_BYTES + group_bytes(&request.want);
                listing.clients.push(self.held(request, now));
                last = Some((request.session, request.number));
            }
            page.listings.push(listing);
            page.next = Some(Cursor { kind: *kind, name: (*name).clone(), client: last });
            if bytes > PAGE_BYTES || more_clients && rest.is_empty() {
                return page;
            }
        }
        let last = candidates.last().filter(|_| more_names);
        page.next = last.map(|last| Cursor { kind: last.kind, name: last.name.clone(), client: None });
        page
    }

    /// The first clients of these names that were not told yet, each with the place of its name, and whether there are more.
    fn clients_of(&self, candidates: &[Candidate<'_>]) -> (Vec<(usize, &Request)>, bool) {
        let mut clients: Vec<(usize, &Request)> = Vec::new();
        for (place, Candidate { number, told, .. }) in candidates.iter().enumerate() {
            let key = |request: &Request| (request.session, request.number);
            let untold = |request: &Request| told.is_none_or(|told| told < key(request));
            let found = self.requests.of_resource_where(*number, untold);
            let mut found: Vec<&Request> = found.map(|(_, request)| request).collect();
            // However many there are, only those that fit on the page are put in order.
            if found.len() > PAGE_CLIENTS + 1 {
                found.select_nth_unstable_by_key(PAGE_CLIENTS, |request| key(request));
                found.truncate(PAGE_CLIENTS + 1);
            }
            found.sort_unstable_by_key(|request| key(request));
            clients.extend(found.into_iter().map(|request| (place, request)));
            if clients.len() > PAGE_CLIENTS {
                clients.truncate(PAGE_CLIENTS);
                return (clients, true);
            }
        }
        (clients, false)
    }
}

fn group_bytes(want: &Want) -> usize {
    match want {
        Want::AnyOf(groups) => groups.iter().map(|group| group.len() + 2).sum(),
        _ => 0,
    }
}
