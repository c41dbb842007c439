//! The effects of a step, held back until the node's durable part is in stable storage.

use alloc::vec::Vec;

use crate::algorithm::{Effect, Grant, Group, NodeId, Outbox, Timer, Wait};
use crate::drs_gme::{Context, Defect, DrsGme, Durable, FOLLOWERS, Location, Message, SUSPECT};

/// The effects of one step. Sends and entries follow the store, and the timers follow the state.
pub(super) struct Effects {
    before: Durable,
    effects: Vec<Effect<DrsGme>>,
    /// Which timers are armed.
    running: [bool; 2],
    /// Whether the timer for the followers has to start again if it runs.
    restart_followers: bool,
}

impl Effects {
    pub(super) fn new(node: &DrsGme, site: &Context<'_>, expired: Option<Timer>) -> Effects {
        let running = [
            node.must_suspect() && expired != Some(SUSPECT),
            node.must_ask_followers(site) && expired != Some(FOLLOWERS),
        ];
        Effects { before: node.kept.clone(), effects: Vec::new(), running, restart_followers: false }
    }

    /// The effects of a restart: no timer is armed.
    pub(super) fn at_restart(node: &DrsGme, site: &Context<'_>) -> Effects {
        Effects { running: [false; 2], ..Effects::new(node, site, None) }
    }

    pub(super) fn send(&mut self, to: NodeId, message: Message) {
        self.effects.push(Effect::Send { to, message });
    }

    pub(super) fn enter(&mut self, group: Group) {
        self.effects.push(Effect::Enter(Grant { group, ..Grant::default() }));
    }

    pub(super) fn note(&mut self, what: &'static str) {
        self.effects.push(Effect::Note(what));
    }

    pub(super) fn never(&mut self, what: &'static str) {
        self.effects.push(Effect::Never(what));
    }

    /// Restarts the timer for the followers.
    pub(super) fn restart_followers_timer(&mut self) {
        self.restart_followers = true;
    }

    pub(super) fn carry_out(self, node: &DrsGme, site: &Context<'_>, out: &mut Outbox<'_, DrsGme>) {
        if node.kept != self.before {
            let mut durable = node.kept.clone();
            if site.has_defect(Defect::TokenNotStored) && matches!(durable.location, Location::Here(_)) {
                durable.location = Location::Away(None);
            }
            out.persist(durable);
        }
        let must = [node.must_suspect(), node.must_ask_followers(site)];
        for timer in [SUSPECT, FOLLOWERS] {
            let restart = timer == FOLLOWERS && self.restart_followers;
            match (self.running[timer], must[timer]) {
                (running, true) if restart || !running => out.arm(timer, wait(site, timer)),
                (true, false) => out.disarm(timer),
                _ => {}
            }
        }
        for effect in self.effects {
            match effect {
                Effect::Send { to, message } => out.send(to, message),
                Effect::Enter(grant) => out.grant(grant),
                Effect::Note(what) => out.note(what),
                Effect::Never(what) => out.never(what),
                Effect::Arm(..) | Effect::Disarm(_) | Effect::Persist(_) => {}
            }
        }
    }
}

fn wait(site: &Context<'_>, timer: Timer) -> Wait {
    let nodes = site.nodes;
    if timer == FOLLOWERS {
        return Wait { hops: 2, sections: 1 };
    }
    if site.has_defect(Defect::SuspectTooEarly) {
        return Wait { hops: nodes + 1, sections: nodes - 1 };
    }
    // A session that admits a follower at the very end of its captain's stay takes two critical sections and
    // three hops, the hand-off included. One session is open and every other node may open one before this
    // node's turn. The request needs up to three hops to find the token, and a start one.
    Wait { hops: 3 * nodes + 4, sections: 2 * nodes }
}
