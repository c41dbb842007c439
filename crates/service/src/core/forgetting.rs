//! Resources come and go: an idle name costs nothing.

use std::sync::Arc;
use std::time::Duration;

use super::Core;
use super::state::{AccountId, Counted, Due};
use crate::limits::Bound;
use crate::name::Definition;
use crate::refusal::Refusal;
use crate::resource::Start;
use crate::time::Time;

/// At most this many names are forgotten in one call, so that clients do not wait for it.
const AT_ONCE: u32 = 1_000;

/// At most this many names that may be idle are looked at to make room for one.
const LOOKED_AT_FOR_ROOM: u32 = 16;

impl Core {
    /// Makes the resource of a name and kind that has none. At its home a name can be of one kind at a time: the error says
    /// which.
    pub(super) fn create(&mut self, name: &Arc<str>, definition: Definition) -> Result<u32, Definition> {
        let (home, position) = (self.membership.view().home(name), self.membership.position());
        let is_home = home == position.me;
        if is_home && let Some(number) = self.names.in_the_way(name, position)? {
            self.forget(number);
        }
        let waits = is_home && !self.membership.may_mint();
        let start = if waits { Start::AfterReports } else { Start::AtOnce };
        Ok(self.names.create(name, definition, home, position, start))
    }

    /// Makes the resource of a name that a client asks for, if the bounds allow it. The inner error is that of `create`.
    pub(super) fn create_for_client(
        &mut self,
        name: &Arc<str>,
        asked: Definition,
        account: Option<AccountId>,
        now: Time,
    ) -> Result<Result<u32, Definition>, Refusal> {
        self.make_room(now)?;
        let defined = self.names.definition(name).filter(|defined| defined.kind() == asked.kind());
        // The first is part of what the name takes.
        let slots = u64::from(defined.unwrap_or(asked).slots().unwrap_or(1).saturating_sub(1));
        self.accounts.keep(account, Counted::Slots, slots)?;
        let made = self.create(name, asked);
        match made {
            Ok(number) if slots > 0 => self.names.charge(number, account, slots),
            Ok(_) => {}
            Err(_) => self.accounts.give_back(account, Counted::Slots, slots),
        }
        Ok(made)
    }

    /// Makes room for another name: if there are as many as there may be, idle ones are forgotten before their time.
    fn make_room(&mut self, now: Time) -> Result<(), Refusal> {
        let most = self.config.limits.names;
        let mut looked_at = 0;
        while self.names.len() as u64 >= most {
            if looked_at == LOOKED_AT_FOR_ROOM || self.names.idle_since().is_none() {
                return Err(Refusal::Bound { bound: Bound::Names, most });
            }
            looked_at += 1;
            if let Some(number) = self.names.take_idle(self.membership.position(), Duration::ZERO, now) {
                self.counts.forgotten += 1;
                self.forget(number);
            }
        }
        Ok(())
    }

    /// The resource of this name and kind, to be asked for as this. At the home an idle resource that is not defined gets as
    /// many slots as the next client asks for: one with another number is forgotten.
    pub(super) fn find_for(&mut self, name: &str, asked: Definition) -> Option<u32> {
        let number = self.names.find(name, asked.kind())?;
        if !self.names.is_replaced_by(number, asked, self.membership.position()) {
            return Some(number);
        }
        self.forget(number);
        None
    }

    /// Lists a resource as idle, if it is.
    pub(super) fn list_if_idle(&mut self, number: u32, now: Time) {
        if self.names.list_if_idle(number, self.membership.position(), now) {
            self.deadlines.plan(now + self.config.keep_idle, Due::Forget);
        }
    }

    /// Forgets resources that have been idle for long enough.
    pub(super) fn forget_idle(&mut self, now: Time) {
        let (position, keep) = (self.membership.position(), self.config.keep_idle);
        let mut looked_at = 0;
        while let Some(since) = self.names.idle_since()
            && since + keep <= now
        {
            looked_at += 1;
            if looked_at > AT_ONCE {
                return self.deadlines.plan(now + Duration::from_nanos(1), Due::Forget);
            }
            if let Some(number) = self.names.take_idle(position, keep, now) {
                self.counts.forgotten += 1;
                self.forget(number);
            }
        }
        match self.names.idle_since() {
            Some(since) => self.deadlines.plan(since + keep, Due::Forget),
            None => self.names.shrink(),
        }
    }

    /// Forgets a resource, and what is planned for it.
    pub(super) fn forget(&mut self, number: u32) {
        let Some(resource) = self.names.remove(number, self.membership.position()) else { return };
        if let Some((account, slots)) = self.names.take_charge(number) {
            self.accounts.give_back(account, Counted::Slots, slots);
        }
        for (timer, planned) in resource.timers().planned() {
            self.deadlines.cancel(planned, Due::Timer(number, timer));
        }
    }
}
