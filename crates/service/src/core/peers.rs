//! What other nodes say.
//!
//! A resource is what its home says. The home refuses nodes that take the name for another kind of thing, and
//! corrects those that take it for another number of slots.

use std::sync::Arc;

use super::{Core, Effects, PeerContent, PeerMessage};
use crate::defect::Defect;
use crate::name::Definition;
use crate::refusal::Refusal;
use crate::resource::{Input, ResourceMessage};
use crate::time::Time;
use crate::view::MemberIndex;

impl Core {
    /// A message from another node; each arrives once, and in order.
    pub fn receive(&mut self, from: MemberIndex, message: PeerMessage, now: Time, out: &mut Effects) {
        self.check_lease(now, out);
        self.counts.received += 1;
        let old_end = self.has_defect(Defect::OldEndCounts) && message.content == PeerContent::EndMark;
        let of_this_view =
            message.epoch == self.membership.epoch() || old_end || self.has_defect(Defect::FramesWithoutView);
        if !of_this_view {
            self.counts.of_other_views += 1;
            return;
        }
        match message.content {
            PeerContent::Resource { name, definition, message: ResourceMessage::Refused { defined } } => {
                self.bring_name_into_view(&name, now, out);
                self.on_refusal(&name, defined, definition, now, out);
            }
            PeerContent::Resource { name, definition, message: ResourceMessage::Report(report) } => {
                self.bring_name_into_view(&name, now, out);
                self.on_report(from, (&name, definition), report, now, out);
            }
            PeerContent::Resource { name, definition, message } => {
                self.bring_name_into_view(&name, now, out);
                self.on_message_about(from, (&name, definition), message, now, out);
            }
            PeerContent::EndMark => self.on_end_mark(from, now, out),
        }
    }

    pub(super) fn on_message_about(
        &mut self,
        from: MemberIndex,
        (name, definition): (&Arc<str>, Definition),
        message: ResourceMessage,
        now: Time,
        out: &mut Effects,
    ) {
        let found = match message.asks_for() {
            Some(_) => self.find_for(name, definition),
            None => self.names.find(name, definition.kind()),
        };
        if message.is_resized() && found.is_none() {
            return;
        }
        match found.map_or_else(|| self.create(name, definition), Ok) {
            Ok(number) => self.deliver(number, (from, definition), message, now, out),
            // The age of a request is no reason to refuse: the request itself comes next.
            Err(_) if matches!(message, ResourceMessage::Age(_)) => {}
            Err(defined) => {
                let to = message.asks_for().unwrap_or(from);
                self.send_refusal(to, (name, definition), defined, now, out);
            }
        }
    }

    /// Feeds a resource with a message of a node that takes it for this.
    pub(super) fn deliver(
        &mut self,
        number: u32,
        (from, taken_for): (MemberIndex, Definition),
        message: ResourceMessage,
        now: Time,
        out: &mut Effects,
    ) {
        let Some(resource) = self.names.get_mut(number) else { return };
        if let Some(slots) = resource.hears(taken_for, &message) {
            self.refuse_other_sizes(number, slots, now, out);
        }
        let before = self.names.get(number).map(|resource| resource.definition());
        let to_be_corrected = message.asks_for().is_some() || matches!(message, ResourceMessage::Report(_));
        self.step(number, Input::Deliver(from, message), now, out);
        // A report may change the number too, and another view may come before all members have reported.
        let after = self.names.get(number).map(|resource| resource.definition());
        if let Some(slots) = after.filter(|_| after != before).and_then(Definition::slots) {
            self.refuse_other_sizes(number, slots, now, out);
        }
        let Some(resource) = self.names.get(number).filter(|_| to_be_corrected) else { return };
        if resource.home() == self.membership.me() && resource.definition() != taken_for {
            let correction = resource.correction();
            correction.into_iter().for_each(|message| self.send_about(number, from, message, out));
        }
    }

    /// The number of slots is known: refuses the waiters that want another number.
    pub(super) fn refuse_other_sizes(&mut self, number: u32, slots: u32, now: Time, out: &mut Effects) {
        let insists = |client: u32| {
            let waiter = self.requests.get(client).filter(|request| request.waits())?;
            Some((client, waiter.insists.filter(|insists| *insists != slots)?))
        };
        let waiters: Vec<(u32, u32)> =
            self.requests.of_resource(number).into_iter().filter_map(insists).collect();
        let refusal = |asked| {
            let (defined, asked) = (Definition::Slots(slots), Definition::Slots(asked));
            Refusal::Contradicts { defined, asked }
        };
        self.refuse_by_size(waiters, refusal, now, out);
    }

    /// At the home: tells a node that the name stands for something else.
    pub(super) fn send_refusal(
        &mut self,
        to: MemberIndex,
        (name, asked): (&Arc<str>, Definition),
        defined: Definition,
        now: Time,
        out: &mut Effects,
    ) {
        if to == self.membership.me() {
            return self.on_refusal(name, defined, asked, now, out);
        }
        self.counts.sent += 1;
        let message = ResourceMessage::Refused { defined };
        let content = PeerContent::Resource { name: name.clone(), definition: asked, message };
        out.messages.push((to, PeerMessage { epoch: self.membership.epoch(), content }));
    }

    /// The home says that the resource is something else: its waiters are refused, and this node forgets what it took
    /// it for.
    fn on_refusal(
        &mut self,
        name: &str,
        defined: Definition,
        asked: Definition,
        now: Time,
        out: &mut Effects,
    ) {
        let Some(number) = self.names.find(name, asked.kind()) else { return };
        let Some(resource) = self.names.get(number) else { return };
        let home = resource.home();
        let parked = resource.parked();
        self.refuse_all(number, &Refusal::Contradicts { defined, asked }, now, out);
        for request in parked {
            self.send_about(number, home, request, out);
        }
        self.forget(number);
    }

    /// Refuses all requests for a resource.
    pub(super) fn refuse_all(&mut self, number: u32, refusal: &Refusal, now: Time, out: &mut Effects) {
        for client in self.requests.of_resource(number) {
            self.refuse_waiter(client, refusal.clone(), now, out);
        }
    }
}
