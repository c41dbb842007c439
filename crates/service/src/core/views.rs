//! From one view to the next.
//!
//! A node that learns of a new view freezes the old one: it forgets all that is about other nodes, reports to the
//! home of each resource what it has of it, sends end marks, and goes on at once. A home that has the end marks of
//! all members mints the tokens that no member has. Clients that hold something notice nothing.
//!
//! A node may have very many resources, so it brings them into the new view in slices, and each that is asked about before its
//! turn at once: see `bring_into_view`. The end marks come after the last. Minting goes in slices, too.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::state::{Due, ViewChange};
use super::{Core, Effects, PeerContent, PeerMessage};
use crate::defect::Defect;
use crate::name::Definition;
use crate::opening::{Kept, Report, ReportedBy};
use crate::refusal::Refusal;
use crate::resource::{Input, Resource, ResourceMessage};
use crate::time::Time;
use crate::view::{MemberIndex, View};

impl Core {
    /// Enters a later view. This node is in it, in this incarnation.
    pub fn enter(&mut self, view: impl Into<Arc<View>>, now: Time, out: &mut Effects) {
        self.check_lease(now, out);
        self.membership.enter(view.into());
        self.names.enter(self.membership.floor(), self.membership.epoch());
        let queued = if self.has_defect(Defect::OldQueuesKept) { self.old_queues() } else { Vec::new() };
        if self.has_defect(Defect::EndBeforeReport) {
            self.send_end_marks(out);
        }
        self.change = ViewChange::Resumes { next: 0 };
        self.go_on_resuming(0, now, out);
        for (number, from, request) in queued {
            self.step(number, Input::Deliver(from, request), now, out);
        }
        if !self.change.resumes() && self.membership.may_mint() {
            self.on_all_reports(now, out);
        }
    }

    /// Does the next slice of a change of views.
    pub(super) fn go_on_changing_views(&mut self, now: Time, out: &mut Effects) {
        match self.change {
            ViewChange::Done => {}
            ViewChange::Resumes { next } => {
                self.go_on_resuming(next, now, out);
                if !self.change.resumes() && self.membership.may_mint() {
                    self.on_all_reports(now, out);
                }
            }
            ViewChange::Mints { .. } => self.go_on_minting(now, out),
        }
    }

    /// Brings a slice of all resources into the view.
    fn go_on_resuming(&mut self, next: u32, now: Time, out: &mut Effects) {
        let slice = self.slice();
        let mut numbers = self.names.behind(next, slice + 1);
        self.change = match numbers.len() > slice {
            true => ViewChange::Resumes { next: numbers.pop().unwrap_or(0) },
            false => ViewChange::Done,
        };
        self.bring_all_into_view(&numbers, now, out);
    }

    /// Brings these resources into the view. Each is reported before anything else is said about it; the end marks follow the
    /// last report.
    fn bring_all_into_view(&mut self, numbers: &[u32], now: Time, out: &mut Effects) {
        let frozen = self.freeze(numbers);
        for (number, kept) in &frozen {
            let oldest = kept.oldest_waiter().and_then(|client| self.requests.get(client));
            self.report(*number, kept, oldest.map(|oldest| now - oldest.since), out);
        }
        if !self.change.resumes() && !self.has_defect(Defect::EndBeforeReport) {
            self.send_end_marks(out);
        }
        for (number, kept) in frozen {
            self.resume(number, kept, now, out);
        }
    }

    /// Brings a resource into the view, with its whole name, because an input needs it before its turn has
    /// come.
    pub(super) fn bring_into_view(&mut self, number: u32, now: Time, out: &mut Effects) {
        if self.change.resumes()
            && self.names.is_behind(number)
            && !self.has_defect(Defect::UsedBeforeItsTurn)
        {
            self.bring_all_into_view(&[number], now, out);
        }
    }

    /// The same for all that a name stands for.
    pub(super) fn bring_name_into_view(&mut self, name: &str, now: Time, out: &mut Effects) {
        if !self.change.resumes() {
            return;
        }
        let behind = self.names.all_of(name).find(|number| self.names.is_behind(*number));
        if let Some(number) = behind {
            self.bring_into_view(number, now, out);
        }
    }

    /// The same for what a request is about.
    pub(super) fn bring_request_into_view(&mut self, client: u32, now: Time, out: &mut Effects) {
        if self.change.resumes()
            && let Some(request) = self.requests.get(client)
        {
            self.bring_into_view(request.resource, now, out);
        }
    }

    /// A defect: the requests of other nodes in the queues of tokens here, with the indices of the view before.
    fn old_queues(&self) -> Vec<(u32, MemberIndex, ResourceMessage)> {
        let others = |index: MemberIndex| {
            index != self.membership.me() && self.membership.view().members.len() > index.0 as usize
        };
        let queues = self.names.iter().flat_map(|(number, resource)| {
            resource
                .queued()
                .into_iter()
                .filter_map(move |request| Some((number, request.asks_for()?, request)))
        });
        queues.filter(|(_, index, _)| others(*index)).collect()
    }

    fn send_end_marks(&mut self, out: &mut Effects) {
        for to in self.membership.others() {
            self.counts.sent += 1;
            out.messages
                .push((to, PeerMessage { epoch: self.membership.epoch(), content: PeerContent::EndMark }));
        }
    }

    /// Whether a member has not said yet that it has reported everything.
    pub(crate) fn expects_report(&self, from: MemberIndex) -> bool {
        self.membership.owes(from) || self.has_defect(Defect::EndBeforeReport)
    }

    /// The ids of the members that owe an end mark.
    pub fn missing_ends(&self) -> Vec<u32> {
        self.membership.missing_ends()
    }

    /// Takes out what this node has of each of these resources, and forgets those of which it has nothing. A name that is of
    /// several kinds comes as a whole: what one of them is decides about the others.
    fn freeze(&mut self, numbers: &[u32]) -> Vec<(u32, Kept)> {
        let mut numbers: Vec<u32> =
            numbers.iter().flat_map(|number| self.names.of_same_name(*number)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let (mut frozen, epoch) = (Vec::new(), self.membership.epoch());
        for number in numbers {
            if !self.names.is_behind(number) {
                continue;
            }
            let Some(resource) = self.names.get_mut(number) else { continue };
            for (timer, planned) in resource.timers().planned() {
                self.deadlines.cancel(planned, Due::Timer(number, timer));
            }
            let kept = resource.freeze();
            if kept.is_empty() {
                self.forget(number);
                continue;
            }
            let home = self.membership.view().home(resource.name());
            resource.enter(epoch, home);
            frozen.push((number, kept));
        }
        frozen
    }

    /// Tells the home of a resource what this node has of it, and for how long its oldest waiter has waited.
    fn report(&mut self, number: u32, kept: &Kept, waited: Option<Duration>, out: &mut Effects) {
        let Some(home) = self.names.get(number).map(|resource| resource.home()) else { return };
        if home == self.membership.me() {
            return;
        }
        if let Some(report) = kept.report() {
            self.send_about(number, home, ResourceMessage::Report(report), out);
        }
        if let Some(waited) = waited {
            let age = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
            self.send_about(number, home, ResourceMessage::Age(age), out);
        }
    }

    fn resume(&mut self, number: u32, kept: Kept, now: Time, out: &mut Effects) {
        let setup = self.names.setup(self.membership.position());
        let Some(resource) = self.names.get_mut(number) else { return };
        if resource.home() != self.membership.me() {
            resource.resume(kept, setup, &mut self.workspace);
            self.carry_out_effects(number, now, out);
            return self.list_if_idle(number, now);
        }
        resource.wait_for_reports(kept);
        self.open_if_complete(number, now, out);
    }

    /// At the home: a node reports what it has of a resource. So that is what the name stands for.
    pub(super) fn on_report(
        &mut self,
        from: MemberIndex,
        (name, definition): (&Arc<str>, Definition),
        report: Report,
        now: Time,
        out: &mut Effects,
    ) {
        self.on_message_about(from, (name, definition), ResourceMessage::Report(report), now, out);
        self.refuse_guesses(name, definition, now, out);
        if let Some(number) = self.names.find(name, definition.kind()) {
            self.open_if_complete(number, now, out);
        }
    }

    pub(super) fn open_if_complete(&mut self, number: u32, now: Time, out: &mut Effects) {
        if self.names.get(number).is_some_and(Resource::can_open) {
            self.open_resource(number, now, out);
        }
    }

    /// Opens a resource at its home: from now on its name stands for it.
    fn open_resource(&mut self, number: u32, now: Time, out: &mut Effects) {
        let setup = self.names.setup(self.membership.position());
        let reported_by = if self.membership.may_mint() { ReportedBy::All } else { ReportedBy::Enough };
        let Some(resource) = self.names.get_mut(number) else { return };
        let (name, definition) = (resource.name().clone(), resource.definition());
        let parked = resource.open(reported_by, setup, &mut self.workspace);
        self.carry_out_effects(number, now, out);
        self.refuse_guesses(&name, definition, now, out);
        for (from, message) in parked {
            self.step(number, Input::Deliver(from, message), now, out);
        }
        self.list_if_idle(number, now);
    }

    /// A node has reported everything to this one.
    pub(super) fn on_end_mark(&mut self, from: MemberIndex, now: Time, out: &mut Effects) {
        if self.membership.end_mark(from) && self.membership.may_mint() && !self.change.resumes() {
            self.on_all_reports(now, out);
        }
    }

    /// All members have reported everything: what none of them has is nowhere, and is minted.
    fn on_all_reports(&mut self, now: Time, out: &mut Effects) {
        self.change = ViewChange::Mints { guesses: false, next: 0 };
        self.go_on_minting(now, out);
    }

    /// Tells a slice of all resources at home here that all members have reported everything. A name stands for what a member
    /// has; only if no member has anything, for what was asked for first.
    fn go_on_minting(&mut self, now: Time, out: &mut Effects) {
        let mut left = self.slice();
        while let ViewChange::Mints { guesses, next } = self.change {
            let me = self.membership.me();
            let at_home = self.names.from(next).filter(|(_, resource)| resource.home() == me);
            let of_this_kind = at_home.filter(|(_, resource)| resource.is_guess() == guesses);
            let mut numbers: Vec<u32> = of_this_kind.map(|(number, _)| number).take(left + 1).collect();
            let next = (numbers.len() > left).then(|| numbers.pop()).flatten();
            left -= numbers.len();
            for number in numbers {
                let Some(resource) = self.names.get(number) else { continue };
                if resource.is_opening() {
                    self.open_resource(number, now, out);
                } else {
                    self.step(number, Input::AllReported, now, out);
                }
                self.resize_as_defined(number, now, out);
            }
            self.change = match next {
                Some(next) => ViewChange::Mints { guesses, next },
                None if guesses => ViewChange::Done,
                None => ViewChange::Mints { guesses: true, next: 0 },
            };
            if next.is_some() {
                return;
            }
        }
    }

    /// At the home: a name stands for this. Requests for anything else are refused.
    fn refuse_guesses(&mut self, name: &Arc<str>, defined: Definition, now: Time, out: &mut Effects) {
        for number in self.names.of_other_kinds(name, defined.kind()) {
            let Some(resource) = self.names.get(number).filter(|resource| resource.is_guess()) else {
                continue;
            };
            let asked = resource.definition();
            let whom: BTreeSet<MemberIndex> = resource
                .parked()
                .iter()
                .filter_map(ResourceMessage::asks_for)
                .filter(|node| *node != self.membership.me())
                .collect();
            for node in whom {
                self.send_refusal(node, (name, asked), defined, now, out);
            }
            self.refuse_all(number, &Refusal::Contradicts { defined, asked }, now, out);
            self.forget(number);
        }
    }
}
