//! Resources come and go: a name that nobody uses costs nothing.

use super::*;

/// So many are forgotten at once, so that nobody has to wait for it.
const AT_ONCE: u32 = 1_000;

impl Core {
    /// The resource of this name as this kind of thing.
    pub(super) fn find(&self, name: &str, kind: Kind) -> Option<u32> {
        self.by_name.get(&kind)?.get(name).copied()
    }

    /// The resource of this name as this kind of thing, made if need be; with as many slots as are defined, or else as many as
    /// are asked for. At its home it can be one thing at a time: the error says which.
    pub(super) fn find_or_create(
        &mut self,
        name: &Arc<str>,
        definition: Definition,
    ) -> Result<u32, Definition> {
        let kind = definition.kind();
        if let Some(number) = self.find(name, kind) {
            return Ok(number);
        }
        let home = self.membership.view().home(name);
        let opening = home == self.membership.me() && !self.membership.may_mint();
        if home == self.membership.me() {
            self.give_up_other_definitions(name)?;
        }
        let defined = self.definitions.get(name).copied();
        let definition = defined.filter(|defined| defined.kind() == kind).unwrap_or(definition);
        let mut resource = Resource::new(name.clone(), definition, home, self.setup(), opening);
        resource.defined = defined;
        let number = self.resources.insert(resource);
        self.by_name.entry(kind).or_default().insert(name.clone(), number);
        Ok(number)
    }

    /// At the home: what nobody uses and nobody has defined gets as many slots as whoever asks first wants.
    pub(super) fn make_way(&mut self, name: &str, asked: Definition) {
        let position = self.membership.position();
        let Some(number) = self.find(name, asked.kind()) else { return };
        let other = |resource: &&Resource| {
            let undefined = resource.definition != asked && resource.defined.is_none();
            undefined && resource.home == position.me && resource.droppable(position).is_some()
        };
        if self.resources.get(number).filter(other).is_some() {
            self.forget(number);
        }
    }

    /// At the home: what the name stood for is forgotten, unless it is in use as that.
    fn give_up_other_definitions(&mut self, name: &str) -> Result<(), Definition> {
        let position = self.membership.position();
        // What nobody has reported to have may still turn out to be something else.
        let known = |number: &u32| !self.resources.get(*number).is_some_and(Resource::is_guess);
        let mut numbers = self.by_name.values().filter_map(|names| names.get(name).copied());
        let Some(number) = numbers.find(known) else { return Ok(()) };
        match self.resources.get(number) {
            Some(resource) if resource.droppable(position).is_none() => return Err(resource.definition),
            _ => {}
        }
        self.forget(number);
        Ok(())
    }

    /// Puts a resource on the list of those that may be forgotten, if nobody uses it.
    pub(super) fn list_if_idle(&mut self, number: u32, now: Time) {
        let position = self.membership.position();
        let Some(resource) = self.resources.get_mut(number) else { return };
        if resource.listed || resource.droppable(position).is_none() {
            return;
        }
        resource.listed = true;
        if self.idle.is_empty() {
            self.agenda.plan(now + self.config.keep_idle, Due::Forget);
        }
        self.idle.push_back((now, number));
    }

    /// Forgets what nobody has used for long enough.
    pub(super) fn forget_idle(&mut self, now: Time) {
        let position = self.membership.position();
        let mut looked_at = 0;
        while let Some(&(since, number)) = self.idle.front()
            && since + self.config.keep_idle <= now
        {
            looked_at += 1;
            if looked_at > AT_ONCE {
                self.agenda.plan(now + Duration::from_nanos(1), Due::Forget);
                return;
            }
            self.idle.pop_front();
            let Some(resource) = self.resources.get_mut(number) else { continue };
            if resource.droppable(position).is_none() {
                // It is in use; when it is not any more, it will be listed again.
                resource.listed = false;
            } else if resource.used + self.config.keep_idle > now {
                let used = resource.used;
                // What was used since the others were listed goes behind them; the list stays in order closely enough.
                self.idle.push_back((used, number));
            } else {
                self.counts.forgotten += 1;
                self.forget(number);
            }
        }
        match self.idle.front() {
            Some(&(since, _)) => self.agenda.plan(since + self.config.keep_idle, Due::Forget),
            None => self.idle.shrink_to(1024),
        }
    }

    /// Forgets a resource, but not how far its counters went.
    pub(super) fn forget(&mut self, number: u32) {
        let position = self.membership.position();
        let Some(resource) = self.resources.remove(number) else { return };
        for armed in &resource.timers {
            self.agenda.cancel(armed.planned, Due::Timer(number, armed.timer));
        }
        if !self.omits(Defect::NoFloor) {
            self.origin.rise_to(resource.droppable(position).unwrap_or_default());
        }
        self.origin.rise_to(resource.clock());
        let kind = resource.definition.kind();
        if let Some(names) = self.by_name.get_mut(&kind) {
            names.remove(&resource.name);
            if names.is_empty() {
                self.by_name.remove(&kind);
            }
        }
    }
}
