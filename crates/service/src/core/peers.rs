//! What other nodes say.
//!
//! A resource is what its home says. Whoever takes the name for something else finds out there: the home refuses.

use super::*;

impl Core {
    /// A message from another node; each arrives once, and in order.
    pub fn receive(&mut self, from: NodeId, message: PeerMessage, now: Time, out: &mut Out) {
        self.mind_lease(now, out);
        self.counts.received += 1;
        let old_end = self.omits(Defect::OldEndCounts) && message.said == Said::End;
        let of_this_view =
            message.epoch == self.view.epoch || old_end || self.omits(Defect::FramesWithoutView);
        if !of_this_view {
            self.counts.of_other_views += 1;
            return;
        }
        match message.said {
            Said::About { name, definition, content: Content::Refused { defined } } => {
                self.was_refused(&name, defined, definition, now, out);
            }
            Said::About { name, definition, content: Content::Report(report) } => {
                self.was_reported(from, (&name, definition), report, now, out);
            }
            Said::About { name, definition, content } => {
                self.about(from, (&name, definition), content, now, out);
            }
            Said::End => self.has_reported(from, now, out),
        }
    }

    pub(super) fn about(
        &mut self,
        from: NodeId,
        (name, definition): (&Arc<str>, Definition),
        content: Content,
        now: Time,
        out: &mut Out,
    ) {
        match self.find_or_create(name, definition) {
            Ok(number) => self.step(number, Happening::Deliver(from, content), now, out),
            // Nobody is refused for having waited: the request comes next, and is judged then.
            Err(_) if matches!(content, Content::Age(_)) => {}
            Err(defined) => {
                let to = content.asks_for().unwrap_or(from);
                self.refuse(to, (name, definition), defined, now, out);
            }
        }
    }

    /// At the home: tells a node that the name stands for something else.
    pub(super) fn refuse(
        &mut self,
        to: NodeId,
        (name, asked): (&Arc<str>, Definition),
        defined: Definition,
        now: Time,
        out: &mut Out,
    ) {
        if to == self.me {
            return self.was_refused(name, defined, asked, now, out);
        }
        self.counts.sent += 1;
        let content = Content::Refused { defined };
        let said = Said::About { name: name.clone(), definition: asked, content };
        out.messages.push((to, PeerMessage { epoch: self.view.epoch, said }));
    }

    /// The home says that the resource is something else: whoever waits here is told, and what this node believed about
    /// it is gone.
    fn was_refused(&mut self, name: &str, defined: Definition, asked: Definition, now: Time, out: &mut Out) {
        let Some(number) = self.find(name, asked) else { return };
        let Some(resource) = self.resources.get(number) else { return };
        let home = resource.home;
        let parked = resource.parked();
        self.send_all_away(number, &Refusal::Contradicts { defined, asked }, now, out);
        for request in parked {
            self.say(number, home, request, out);
        }
        self.forget(number);
    }

    /// Sends away whoever waits here for a resource.
    pub(super) fn send_all_away(&mut self, number: u32, refusal: &Refusal, now: Time, out: &mut Out) {
        let waiting = self.requests.iter().filter(|(_, request)| request.resource == number);
        let waiting: Vec<u32> = waiting.map(|(client, _)| client).collect();
        for client in waiting {
            self.send_away(client, refusal.clone(), now, out);
        }
    }
}
