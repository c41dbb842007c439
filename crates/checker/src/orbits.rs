//! One state for all that are renamings of each other: the smallest of their rows.

use std::sync::{Arc, Mutex};

use algorithms::Renaming;
use sync::IgnorePoison;

use crate::model::{MOST_SYMMETRIC_NODES, Model};
use crate::row::{Row, RowBuffer, RowLayout};

/// No part has this number.
const UNKNOWN: u32 = u32::MAX;

/// The renamed parts that one thread has cached.
pub(crate) struct Orbits<'a> {
    model: &'a Mutex<Model>,
    layout: RowLayout,
    /// For each renaming, except the identity: which node gets the first number, which the second, and so on.
    origins: Vec<Vec<usize>>,
    nodes: Renamed,
    inboxes: Renamed,
    smallest: RowBuffer,
}

/// Parts of one kind, under each renaming except the identity.
#[derive(Default)]
struct Renamed {
    /// The renamings of the first part, then those of the second, and so on.
    parts: Vec<u32>,
}

/// For each node's state, then for each node's inbox: where its renamings begin.
type Places = [usize; 2 * MOST_SYMMETRIC_NODES as usize];

impl Renamed {
    /// The part under all renamings. There is at least one.
    #[inline]
    fn of(&mut self, part: u32, renamings: usize, find: impl FnOnce(&mut [u32])) -> usize {
        let start = part as usize * renamings;
        if self.parts.len() < start + renamings {
            self.parts.resize(start + renamings, UNKNOWN);
        }
        if self.parts[start] == UNKNOWN {
            find(&mut self.parts[start..start + renamings]);
        }
        start
    }
}

impl<'a> Orbits<'a> {
    /// `None` if each state counts for itself.
    pub(crate) fn new(model: &'a Mutex<Model>, layout: RowLayout) -> Option<Orbits<'a>> {
        let renamings: Arc<[Renaming]> = model.lock().ignore_poison().renamings()?;
        let origins = |renaming: &Renaming| {
            let nodes = 0..layout.nodes() as u32;
            let mut origins: Vec<usize> = nodes.clone().map(|node| node as usize).collect();
            origins.sort_by_key(|&node| renaming.of(node as u32));
            origins
        };
        let origins: Vec<Vec<usize>> = renamings.iter().map(origins).collect();
        if origins.is_empty() {
            return None;
        }
        let (nodes, inboxes) = (Renamed::default(), Renamed::default());
        Some(Orbits { model, layout, origins, nodes, inboxes, smallest: layout.zeroes() })
    }

    /// Where the renamings of each part of the row are.
    #[inline]
    fn places(&mut self, row: Row<'_>) -> Places {
        let Orbits { model, layout, origins, nodes, inboxes, .. } = self;
        let (count, all) = (layout.nodes(), origins.len());
        let ask = || model.lock().ignore_poison();
        let mut places = Places::default();
        for node in 0..count {
            let (state, inbox) = (row.node(node), row.inbox(node));
            places[node] = nodes.of(state, all, |to| ask().renamed_nodes(state, to));
            places[count + node] = inboxes.of(inbox, all, |to| ask().renamed_inboxes(inbox, to));
        }
        places
    }

    /// How many states are renamings of this one, itself included.
    pub(crate) fn size(&mut self, row: Row<'_>) -> u64 {
        let (places, count) = (self.places(row), self.layout.nodes());
        let keeps = |(renaming, origins): (usize, &Vec<usize>)| {
            (0..count).all(|node| {
                let origin = origins[node];
                self.nodes.parts[places[origin] + renaming] == row.node(node)
                    && self.inboxes.parts[places[count + origin] + renaming] == row.inbox(node)
            })
        };
        let kept = self.origins.iter().enumerate().filter(|&one| keeps(one)).count();
        (self.origins.len() as u64 + 1) / (kept as u64 + 1)
    }

    /// The smallest row among the renamings of this one.
    pub(crate) fn representative(&mut self, row: Row<'_>) -> Row<'_> {
        let places = self.places(row);
        let Orbits { layout, origins, nodes, inboxes, smallest, .. } = self;
        let count = layout.nodes();
        smallest.copy(row);
        for (renaming, origins) in origins.iter().enumerate() {
            let mut is_smaller = false;
            for (place, &origin) in origins.iter().chain(origins).enumerate() {
                let (parts, origin) =
                    if place < count { (&nodes.parts, origin) } else { (&inboxes.parts, count + origin) };
                let part = parts[places[origin] + renaming];
                let best = smallest.as_row().words()[place];
                if !is_smaller && part > best {
                    break;
                }
                is_smaller |= part < best;
                if is_smaller {
                    smallest.set(place, part);
                }
            }
        }
        smallest.as_row()
    }
}
