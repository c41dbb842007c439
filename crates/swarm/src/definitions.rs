//! Names that are defined, get more slots or fewer, and are not defined any more, while they are used. Nodes hear of it at
//! different times, each in the same order.

use std::collections::BTreeMap;
use std::sync::Arc;

use service::Definition;
use service::registry::{Applied, Entry};

use crate::run::{Event, Run};

/// The most slots that a name gets.
const MOST_SLOTS: u64 = 5;

impl Run {
    /// Somebody defines a name: so many slots; or as nothing in particular, now and then.
    pub(crate) fn define(&mut self) {
        let number = self.below(u64::from(self.plan.names)) as u32;
        let name: Arc<str> = format!("name {number}").into();
        let slots = 1 + self.below(MOST_SLOTS) as u32;
        let definition = (self.below(5) > 0).then_some(Definition::Slots(slots));
        let Some(leadership) = self.council.as_ref().and_then(|council| council.leader()) else { return };
        if !self.can_lead(Run::index(leadership.node)) {
            return;
        }
        let Some(council) = &mut self.council else { return };
        let entry = Entry::Define { name: name.clone(), definition };
        if council.registry.apply(&entry, leadership) != Applied::Yes {
            return;
        }
        let definitions = council.registry.definitions.clone();
        self.definitions += 1;
        let most = self.most_slots.entry(number).or_default();
        *most = slots.max(*most);
        self.happened.resized += 1;
        self.happened.log.push(format!("{} {name} is defined as {definition:?}", self.now.0));
        for node in 0..self.machines.len() {
            let after = self.hop() * (1 + self.below(8));
            let (life, definitions) = (self.machines[node].life, definitions.clone());
            self.plan_in(after, Event::Defined { node, life, number: self.definitions, definitions });
        }
    }

    /// A node hears what names are defined as, after so many changes.
    pub(crate) fn hear_of_definitions(
        &mut self,
        node: usize,
        life: u64,
        number: u64,
        definitions: &BTreeMap<Arc<str>, Definition>,
    ) {
        let machine = &mut self.machines[node];
        if machine.life == life && machine.core.is_some() && machine.defined < number {
            machine.defined = number;
            self.at_node(node, |core, now, out| core.all_defined(definitions, now, out));
        }
    }

    /// What a view is agreed on after has been heard of before it.
    pub(crate) fn hear_of_all_definitions(&mut self, node: usize) {
        let Some(council) = self.council.as_ref().filter(|_| self.definitions > 0) else { return };
        let (life, definitions) = (self.machines[node].life, council.registry.definitions.clone());
        self.machines[node].defined = 0;
        self.hear_of_definitions(node, life, self.definitions, &definitions);
    }
}
