//! What other nodes say.
//!
//! A resource is what its home says. The home refuses nodes that take the name for another kind of thing, and
//! corrects those that take it for another number of slots.

use std::sync::Arc;

use super::{Core, Out, PeerMessage, Said};
use crate::defect::Defect;
use crate::name::Definition;
use crate::refusal::Refusal;
use crate::resource::{Content, Input};
use crate::time::Time;
use crate::view::Place;

impl Core {
    /// A message from another node; each arrives once, and in order.
    pub fn receive(&mut self, from: Place, message: PeerMessage, now: Time, out: &mut Out) {
        self.check_lease(now, out);
        self.counts.received += 1;
        let old_end = self.has_defect(Defect::OldEndCounts) && message.said == Said::End;
        let of_this_view =
            message.epoch == self.membership.epoch() || old_end || self.has_defect(Defect::FramesWithoutView);
        if !of_this_view {
            self.counts.of_other_views += 1;
            return;
        }
        match message.said {
            Said::About { name, definition, content: Content::Refused { defined } } => {
                self.bring_name_into_view(&name, now, out);
                self.on_refusal(&name, defined, definition, now, out);
            }
            Said::About { name, definition, content: Content::Report(report) } => {
                self.bring_name_into_view(&name, now, out);
                self.on_report(from, (&name, definition), report, now, out);
            }
            Said::About { name, definition, content } => {
                self.bring_name_into_view(&name, now, out);
                self.on_message_about(from, (&name, definition), content, now, out);
            }
            Said::End => self.on_end_mark(from, now, out),
        }
    }

    pub(super) fn on_message_about(
        &mut self,
        from: Place,
        (name, definition): (&Arc<str>, Definition),
        content: Content,
        now: Time,
        out: &mut Out,
    ) {
        let found = match content.asks_for() {
            Some(_) => self.find_for(name, definition),
            None => self.names.find(name, definition.kind()),
        };
        if content.is_resized() && found.is_none() {
            return;
        }
        match found.map_or_else(|| self.create(name, definition), Ok) {
            Ok(number) => self.deliver(number, (from, definition), content, now, out),
            // The age of a request is no reason to refuse: the request itself comes next.
            Err(_) if matches!(content, Content::Age(_)) => {}
            Err(defined) => {
                let to = content.asks_for().unwrap_or(from);
                self.send_refusal(to, (name, definition), defined, now, out);
            }
        }
    }

    /// Feeds a resource with a message of a node that takes it for this.
    pub(super) fn deliver(
        &mut self,
        number: u32,
        (from, taken_for): (Place, Definition),
        content: Content,
        now: Time,
        out: &mut Out,
    ) {
        let Some(resource) = self.names.get_mut(number) else { return };
        if let Some(slots) = resource.hears(taken_for, &content) {
            self.refuse_other_sizes(number, slots, now, out);
        }
        let before = self.names.get(number).map(|resource| resource.definition());
        let to_be_corrected = content.asks_for().is_some() || matches!(content, Content::Report(_));
        self.step(number, Input::Deliver(from, content), now, out);
        // A report may change the number too, and another view may come before all members have reported.
        let after = self.names.get(number).map(|resource| resource.definition());
        if let Some(slots) = after.filter(|_| after != before).and_then(Definition::slots) {
            self.refuse_other_sizes(number, slots, now, out);
        }
        let Some(resource) = self.names.get(number).filter(|_| to_be_corrected) else { return };
        if resource.home() == self.membership.me() && resource.definition() != taken_for {
            let correction = resource.correction();
            correction.into_iter().for_each(|content| self.send_about(number, from, content, out));
        }
    }

    /// The number of slots is known: refuses the waiters that want another number.
    pub(super) fn refuse_other_sizes(&mut self, number: u32, slots: u32, now: Time, out: &mut Out) {
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
        to: Place,
        (name, asked): (&Arc<str>, Definition),
        defined: Definition,
        now: Time,
        out: &mut Out,
    ) {
        if to == self.membership.me() {
            return self.on_refusal(name, defined, asked, now, out);
        }
        self.counts.sent += 1;
        let content = Content::Refused { defined };
        let said = Said::About { name: name.clone(), definition: asked, content };
        out.messages.push((to, PeerMessage { epoch: self.membership.epoch(), said }));
    }

    /// The home says that the resource is something else: its waiters are refused, and this node forgets what it took
    /// it for.
    fn on_refusal(&mut self, name: &str, defined: Definition, asked: Definition, now: Time, out: &mut Out) {
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
    pub(super) fn refuse_all(&mut self, number: u32, refusal: &Refusal, now: Time, out: &mut Out) {
        for client in self.requests.of_resource(number) {
            self.refuse_waiter(client, refusal.clone(), now, out);
        }
    }
}
