//! Steps of resources, and what comes of them.

use super::*;

impl Core {
    /// Lets something happen to a resource, and carries out what comes of it.
    pub(super) fn step(&mut self, number: u32, happening: Happening, now: Time, out: &mut Out) {
        let place = self.place();
        let resource = self.resources.get_mut(number).expect("a resource in use is not forgotten");
        resource.used = now;
        resource.step(place, happening, &mut self.scratch, &mut self.dice);
        let mut deeds = std::mem::take(&mut self.scratch.deeds);
        for deed in deeds.drain(..) {
            self.carry_out(number, deed, now, out);
        }
        self.scratch.deeds = deeds;
        self.list_if_idle(number, now);
    }

    fn carry_out(&mut self, number: u32, deed: Deed, now: Time, out: &mut Out) {
        match deed {
            Deed::Send(to, content) => self.say(number, to, content, out),
            Deed::Enter(client, slot, counter, group) => {
                self.let_in(client, (slot, counter, group), now, out);
            }
            Deed::Arm(timer, wait) => self.arm(number, timer, wait, now),
            Deed::Disarm(timer) => self.disarm(number, timer),
            Deed::Never(what) => panic!("a resource does what it cannot: {what}"),
        }
    }

    /// Sends a message about a resource.
    pub(super) fn say(&mut self, number: u32, to: NodeId, content: Content, out: &mut Out) {
        let Some(resource) = self.resources.get(number) else { return };
        let (name, definition) = (resource.name.clone(), resource.definition);
        self.counts.sent += 1;
        out.messages.push((to, PeerMessage { epoch: self.config.epoch, name, definition, content }));
    }

    fn arm(&mut self, number: u32, timer: Timer, wait: Wait, now: Time) {
        self.disarm(number, timer);
        let at = now + self.config.hop * wait.hops;
        let Some(resource) = self.resources.get_mut(number) else { return };
        resource.armed.push((timer, at));
        self.due.insert((at, Due::Timer(number, timer)));
    }

    fn disarm(&mut self, number: u32, timer: Timer) {
        let Some(resource) = self.resources.get_mut(number) else { return };
        if let Some(place) = resource.armed.iter().position(|(armed, _)| *armed == timer) {
            let (_, at) = resource.armed.swap_remove(place);
            self.due.remove(&(at, Due::Timer(number, timer)));
        }
    }

    /// A timer of a resource runs out.
    pub(super) fn expire(&mut self, number: u32, timer: Timer, now: Time, out: &mut Out) {
        let Some(resource) = self.resources.get_mut(number) else { return };
        resource.armed.retain(|(armed, _)| *armed != timer);
        self.step(number, Happening::Expire(timer), now, out);
    }
}
