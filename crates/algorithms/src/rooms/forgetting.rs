//! How an unused room comes to cost nothing: its token goes home, and the other nodes forget the path to it.
//! Only with the option `forget`.
//!
//! A node that has not used the room for a while tells the home: IDLE if it has the token, FORGET if it has
//! not and its pointer does not lead home. The home fetches an idle token by an ordinary request, and answers
//! FORGET with INFORM as soon as it has the token. The receiver accepts INFORM only if it has not entered by
//! the token since; the counter tells, because it rises with every hand-off.

use alloc::vec::Vec;

use super::defects::Defect;
use super::message::{Effect, Message};
use super::mode::Mode;
use super::room::{Context, Room};
use crate::algorithm::{Timer, Wait};
use crate::info::TimerInfo;
use crate::sorted;

/// Armed while a node other than the home does not use a room and has something to tell the home.
const QUIET: Timer = 0;
/// Armed at the home after an IDLE.
const PULL: Timer = 1;

pub(super) const TIMERS: &[TimerInfo] = &[
    TimerInfo {
        name: "quiet",
        when_it_expires: "a node without use for the room tells the home: it has the token, or it forgets the way",
    },
    TimerInfo { name: "pull", when_it_expires: "the home asks for a token that lay idle elsewhere" },
];

const PULL_AFTER: Wait = Wait { hops: 20, sections: 0 };

/// How a node other than the home tells that the room is unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Idleness {
    /// The room is in use, or there is nothing to tell the home.
    Untimed,
    /// The timer is armed.
    Timed {
        /// The room was used since the timer was armed, so its expiry counts for nothing.
        touched: bool,
    },
    /// The home knows that the token is here and idle.
    Reported,
}

impl<M: Mode> Room<M> {
    /// Whether the state may be dropped, because [`Room::create`] makes it again: at the home from the
    /// returned floor, elsewhere from nothing.
    pub fn droppable(&self, site: &Context<'_>) -> Option<u64> {
        if !self.is_unused() || self.leaving || self.idleness != Idleness::Untimed {
            return None;
        }
        match &self.token {
            Some(token) => site.is_home().then_some(token.counter),
            None => (self.pointer == site.rules.home && !site.is_home()).then_some(0),
        }
    }

    /// Whether no client here waits or is inside, and no other node relies on this one.
    fn is_unused(&self) -> bool {
        let closed = self.token.as_ref().is_none_or(|token| token.session.is_none());
        let no_insiders = self.earlier_opening.is_none() && self.insiders.is_none();
        closed && no_insiders && self.waiters.is_empty() && !self.asked && self.following.is_none()
    }

    /// Whether there is something to tell the home.
    fn has_news_for_home(&self, site: &Context<'_>) -> bool {
        let away = self.pointer != site.rules.home && !self.leaving;
        !site.is_home() && self.is_unused() && (self.token.is_some() || away)
    }

    /// After each input other than a timer: notes whether the room is in use.
    pub(super) fn track_use(&mut self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        if site.is_home() {
            return self.answer_leavers(effects);
        }
        let tell = self.has_news_for_home(site);
        match &mut self.idleness {
            Idleness::Timed { touched } => *touched = true,
            Idleness::Reported if self.token.is_some() && tell => {}
            Idleness::Reported | Idleness::Untimed if tell => self.start_timer(site, effects),
            idleness => *idleness = Idleness::Untimed,
        }
    }

    fn start_timer(&mut self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        self.idleness = Idleness::Timed { touched: false };
        effects.push(Effect::Arm(QUIET, Wait { hops: site.rules.linger, sections: 0 }));
    }

    fn answer_leavers(&mut self, effects: &mut Vec<Effect<M>>) {
        let Some(token) = &self.token else { return };
        let counter = token.counter;
        for to in self.leavers.drain(..) {
            effects.push(Effect::Send { to, message: Message::Inform { counter } });
        }
    }

    pub(super) fn on_timer(&mut self, site: &Context<'_>, timer: Timer, effects: &mut Vec<Effect<M>>) {
        match timer {
            QUIET => self.on_quiet(site, effects),
            PULL => {
                // Otherwise the token is here, or on its way here, or in use and will be announced again.
                if site.is_home() && self.token.is_none() && self.is_unused() {
                    effects.push(Effect::Note("the home fetched an idle token"));
                    self.ask(site, self.pointer, effects);
                }
            }
            _ => effects.push(Effect::Never("there is no such timer")),
        }
    }

    fn on_quiet(&mut self, site: &Context<'_>, effects: &mut Vec<Effect<M>>) {
        let touched = self.idleness == Idleness::Timed { touched: true };
        self.idleness = Idleness::Untimed;
        let to = site.rules.home;
        if !self.has_news_for_home(site) {
            return;
        }
        if touched {
            self.start_timer(site, effects);
        } else if self.token.is_some() {
            self.idleness = Idleness::Reported;
            effects.push(Effect::Send { to, message: Message::Idle });
        } else {
            self.leaving = true;
            effects.push(Effect::Send { to, message: Message::Forget });
        }
    }

    pub(super) fn on_idle(&mut self, effects: &mut Vec<Effect<M>>) {
        if self.token.is_none() && self.is_unused() {
            effects.push(Effect::Arm(PULL, PULL_AFTER));
        }
    }

    pub(super) fn on_forget(&mut self, from: crate::algorithm::NodeId) {
        sorted::insert(&mut self.leavers, from);
    }

    pub(super) fn on_inform(&mut self, site: &Context<'_>, counter: u64, effects: &mut Vec<Effect<M>>) {
        self.leaving = false;
        let old = counter < self.seen && !site.has_defect(Defect::InformUnguarded);
        if old || self.token.is_some() || !self.is_unused() {
            return effects.push(Effect::Note("an INFORM came too late"));
        }
        effects.push(Effect::Note("a node forgot the way"));
        self.pointer = site.rules.home;
    }
}
