//! Definitions of names, and what becomes of resources when they change.
//!
//! The cluster commits definitions. Nodes hear of each change in the same order, but not at the same moment.
//! A definition counts in two places. The node that a client asks refuses what contradicts it. The home of a
//! name gives it as many slots as are defined, and tells the other nodes; they take the number from the home,
//! not from what they have heard themselves. So only one opinion ever counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Core, Effects};
use crate::name::{self, Definition};
use crate::protocol::Order;
use crate::refusal::Refusal;
use crate::registry::Entry;
use crate::time::Time;

impl Core {
    /// The definition of a name, or its removal, is committed. To be called for every change, in the order of
    /// the log.
    pub fn defined(&mut self, name: &Arc<str>, definition: Option<Definition>, now: Time, out: &mut Effects) {
        self.check_lease(now, out);
        self.bring_name_into_view(name, now, out);
        self.names.define(name, definition);
        let numbers: Vec<u32> = self.names.all_of(name).collect();
        for number in numbers {
            let Some(resource) = self.names.get_mut(number) else { continue };
            resource.is_defined_as(definition);
            let kind = resource.definition().kind();
            if let Some(definition) = definition.filter(|definition| definition.kind() == kind) {
                self.apply_definition(number, definition, now, out);
            }
            self.open_if_complete(number, now, out);
            self.resize_as_defined(number, now, out);
        }
    }

    /// Everything that is defined: to be called at the start, and whenever this node has missed changes.
    pub fn all_defined(
        &mut self,
        definitions: &BTreeMap<Arc<str>, Definition>,
        now: Time,
        out: &mut Effects,
    ) {
        let gone: Vec<Arc<str>> =
            self.definitions().keys().filter(|name| !definitions.contains_key(*name)).cloned().collect();
        gone.iter().for_each(|name| self.defined(name, None, now, out));
        for (name, definition) in definitions {
            if self.names.definition(name) != Some(*definition) {
                self.defined(name, Some(*definition), now, out);
            }
        }
    }

    /// What names are defined as, as far as this node has heard.
    pub fn definitions(&self) -> &BTreeMap<Arc<str>, Definition> {
        self.names.definitions()
    }

    /// Some waiters asked for a number of slots when nothing was defined. Those that asked for what is defined now
    /// stay; the others are refused.
    fn apply_definition(&mut self, number: u32, defined: Definition, now: Time, out: &mut Effects) {
        let mut waiters = Vec::new();
        for client in self.requests.of_resource(number) {
            let Some(request) = self.requests.get(client) else { continue };
            let Some(asked) = request.insists else { continue };
            if Definition::Slots(asked) == defined {
                self.requests.accept_any_size(client);
            } else if request.waits() {
                waiters.push((client, asked));
            }
        }
        let refusal = |asked| Refusal::DefinedAs { defined, asked: Definition::Slots(asked) };
        self.refuse_by_size(waiters, refusal, now, out);
    }

    /// At the home: gives a resource as many slots as are defined, once all members have reported which of them they
    /// have.
    pub(super) fn resize_as_defined(&mut self, number: u32, now: Time, out: &mut Effects) {
        let setup = self.names.setup(self.membership.position());
        let Some(resource) = self.names.get(number) else { return };
        let Some(slots) = resource.defined().and_then(Definition::slots) else { return };
        let fits = resource.definition() == Definition::Slots(slots) || resource.is_opening();
        if fits
            || resource.home() != self.membership.me()
            || !self.membership.has_all_reports()
            || resource.definition().slots().is_none()
        {
            return;
        }
        self.refuse_other_sizes(number, slots, now, out);
        let Some(resource) = self.names.get_mut(number) else { return };
        resource.resize(slots, setup, &mut self.workspace);
        self.carry_out_effects(number, now, out);
        self.list_if_idle(number, now);
    }

    /// The entry that has to be committed to carry out an order, if it needs one.
    pub fn proposal(&self, order: &Order) -> Result<Option<Entry>, Refusal> {
        let (name, definition) = match order {
            Order::Define { name, definition } => (name, *definition),
            Order::Resize { name, slots } => (name, Some(Definition::Slots(*slots))),
            Order::ForceRelease { .. } | Order::ForceReleaseFor { .. } => return Ok(None),
            Order::Rights(change) => return Ok(Some(Entry::Rights(change.clone()))),
        };
        name::validate(name)?;
        definition.map_or(Ok(()), Definition::validate)?;
        match (order, self.names.definition(name)) {
            (Order::Resize { .. }, None) | (Order::Define { definition: None, .. }, None) => {
                Err(Refusal::NotDefined)
            }
            (Order::Resize { slots, .. }, Some(defined)) if defined.slots().is_none() => {
                Err(Refusal::DefinedAs { defined, asked: Definition::Slots(*slots) })
            }
            _ => Ok(Some(Entry::Define { name: name.clone(), definition })),
        }
    }
}
