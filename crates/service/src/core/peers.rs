//! What other nodes say.
//!
//! A resource is what its home says. Whoever takes the name for something else finds out there: the home refuses.

use super::*;

impl Core {
    /// A message from another node; each arrives once, and in order.
    pub fn receive(&mut self, from: NodeId, message: PeerMessage, now: Time, out: &mut Out) {
        self.counts.received += 1;
        if message.epoch != self.config.epoch {
            self.counts.of_other_views += 1;
            return;
        }
        match message.content {
            Content::Slots(_) | Content::Rooms(_) => self.about(from, message, now, out),
            Content::Refused { defined } => {
                self.was_refused(&message.name, defined, message.definition, now, out);
            }
        }
    }

    fn about(&mut self, from: NodeId, message: PeerMessage, now: Time, out: &mut Out) {
        match self.find_or_create(&message.name, message.definition) {
            Ok(number) => self.step(number, Happening::Deliver(from, message.content), now, out),
            Err(defined) => {
                let to = message.content.asks_for().unwrap_or(from);
                let refused = PeerMessage { content: Content::Refused { defined }, ..message };
                if to == self.config.me {
                    return self.was_refused(&refused.name, defined, refused.definition, now, out);
                }
                self.counts.sent += 1;
                out.messages.push((to, refused));
            }
        }
    }

    /// The home says that the resource is something else: whoever waits here is told, and what this node believed about
    /// it is gone.
    fn was_refused(&mut self, name: &str, defined: Definition, asked: Definition, now: Time, out: &mut Out) {
        let Some(number) = self.find(name, asked) else { return };
        let Some(resource) = self.resources.get(number) else { return };
        let home = resource.home;
        let parked = resource.parked();
        let waiting: Vec<u32> = self
            .requests
            .iter()
            .filter(|(_, request)| request.resource == number)
            .map(|(client, _)| client)
            .collect();
        for client in waiting {
            self.send_away(client, Refusal::Contradicts { defined, asked }, now, out);
        }
        for request in parked {
            self.say(number, home, request, out);
        }
        self.forget(number);
    }
}
