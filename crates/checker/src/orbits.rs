//! One state for all that are renamings of each other: the smallest of their rows.

use std::sync::Arc;

use algorithms::Renaming;

use crate::model::Model;
use crate::row::{Row, RowBuffer, RowLayout};

/// No part has this number.
const UNKNOWN: u32 = u32::MAX;

/// The renamed parts that one thread has cached.
pub(crate) struct Orbits<'a> {
    model: &'a Model,
    layout: RowLayout,
    /// For each renaming of nodes, the identity first: which node gets the first number, which the second, and
    /// so on.
    origins: Vec<Vec<usize>>,
    /// The states of nodes, with the clients of each numbered so that the state has the smallest number.
    nodes: Renamed,
    inboxes: Renamed,
    /// For each state of a node: in how many ways its clients can be numbered.
    client_forms: Vec<u32>,
    /// For each node's state, then for each node's inbox, of the row at hand: where its renamings begin.
    places: Vec<usize>,
    smallest: RowBuffer,
}

/// Parts of one kind, under each renaming of nodes.
#[derive(Default)]
struct Renamed {
    /// The renamings of the first part, then those of the second, and so on.
    parts: Vec<u32>,
}

impl Renamed {
    /// Where the part under all renamings is.
    #[inline]
    fn of(&mut self, part: u32, renamings: usize, find: impl FnOnce() -> Arc<[u32]>) -> usize {
        let start = part as usize * renamings;
        if self.parts.len() < start + renamings {
            self.parts.resize(start + renamings, UNKNOWN);
        }
        if self.parts[start] == UNKNOWN {
            self.parts[start..start + renamings].copy_from_slice(&find());
        }
        start
    }
}

impl<'a> Orbits<'a> {
    /// `None` if each state counts for itself.
    pub(crate) fn new(model: &'a Model, layout: RowLayout) -> Option<Orbits<'a>> {
        let (renamings, clients) = (model.node_renamings(), model.client_renamings());
        if renamings.len() < 2 && clients.len() < 2 {
            return None;
        }
        let origins = |renaming: &Renaming| {
            let mut origins: Vec<usize> = (0..layout.nodes()).collect();
            origins.sort_by_key(|&node| renaming.of(node as u32));
            origins
        };
        Some(Orbits {
            model,
            layout,
            origins: renamings.iter().map(origins).collect(),
            nodes: Renamed::default(),
            inboxes: Renamed::default(),
            client_forms: Vec::new(),
            places: vec![0; 2 * layout.nodes()],
            smallest: layout.zeroes(),
        })
    }

    /// Finds the renamings of each part of the row.
    #[inline]
    fn place(&mut self, row: Row<'_>) {
        let Orbits { model, layout, origins, nodes, inboxes, places, .. } = self;
        let (count, all) = (layout.nodes(), origins.len());
        for node in 0..count {
            let (state, inbox) = (row.node(node), row.inbox(node));
            places[node] = nodes.of(state, all, || model.renamed_nodes(state));
            // Messages name no clients.
            if all > 1 {
                places[count + node] = inboxes.of(inbox, all, || model.renamed_inboxes(inbox));
            }
        }
    }

    /// In how many ways the clients of a node in this state can be numbered.
    fn client_forms(&mut self, node: u32) -> u32 {
        let index = node as usize;
        if index >= self.client_forms.len() {
            self.client_forms.resize(index + 1, 0);
        }
        if self.client_forms[index] == 0 {
            self.client_forms[index] = self.model.client_forms(node);
        }
        self.client_forms[index]
    }

    /// How many states are renamings of this one, itself included. It is a representative.
    pub(crate) fn size(&mut self, row: Row<'_>) -> u64 {
        self.place(row);
        let (places, count) = (&self.places, self.layout.nodes());
        let keeps = |&(renaming, origins): &(usize, &Vec<usize>)| {
            (0..count).all(|node| {
                let origin = origins[node];
                self.nodes.parts[places[origin] + renaming] == row.node(node)
                    && self.inboxes.parts[places[count + origin] + renaming] == row.inbox(node)
            })
        };
        let kept = 1 + self.origins.iter().enumerate().skip(1).filter(keeps).count();
        let by_nodes = (self.origins.len() / kept) as u64;
        (0..count).fold(by_nodes, |size, node| size * u64::from(self.client_forms(row.node(node))))
    }

    /// The smallest row among the renamings of this one.
    pub(crate) fn representative(&mut self, row: Row<'_>) -> Row<'_> {
        self.place(row);
        let Orbits { layout, origins, nodes, inboxes, places, smallest, .. } = self;
        let count = layout.nodes();
        smallest.copy(row);
        (0..count).for_each(|node| smallest.set_node(node, nodes.parts[places[node]]));
        for (renaming, origins) in origins.iter().enumerate().skip(1) {
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
