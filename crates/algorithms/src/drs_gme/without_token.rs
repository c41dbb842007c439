//! The rules of a node without the token.

use alloc::collections::BTreeSet;

use crate::algorithm::{Group, NodeId};
use crate::drs_gme::effects::Effects;
use crate::drs_gme::{
    Arrival, Context, Defect, DrsGme, Holding, Location, Message, Request, Stage, Start, Token,
};

impl DrsGme {
    /// Another node asks, and the token is elsewhere: the request is kept until the token arrives.
    pub(super) fn request_heard(&mut self, site: &Context<'_>, ask: Request, effects: &mut Effects) {
        self.learn_of(ask.node, effects);
        let Location::Away(sent) = &self.kept.location else { return };
        let token_knows =
            sent.as_ref().is_some_and(|token| token.knows_served(ask) || token.knows_queued(ask));
        if token_knows || site.has_defect(Defect::RequestsForgotten) {
            return;
        }
        match self.heard.binary_search_by_key(&ask.node, |other| other.node) {
            Ok(index) if self.heard[index].number < ask.number => self.heard[index] = ask,
            Ok(_) => {}
            Err(index) => self.heard.insert(index, ask),
        }
    }

    /// `node` may have the token, so a waiting request has to be sent to it.
    fn learn_of(&mut self, node: NodeId, effects: &mut Effects) {
        if let (true, Stage::Waiting(groups)) = (self.request_set.insert(node), self.stage) {
            effects.send(node, Message::Request { number: self.kept.number, groups });
        }
    }

    /// A holder answered a stale request: it is not in the request set, or was not when it got the token.
    pub(super) fn on_hint(&mut self, site: &Context<'_>, from: NodeId, effects: &mut Effects) {
        if let Location::Here(_) = self.kept.location {
            if site.has_defect(Defect::HintIgnored) {
                return;
            }
            // The token has arrived here since, and the other node may not know.
            effects.note("a hint met the token and went back");
            return effects.send(from, Message::Hint);
        }
        self.learn_of(from, effects);
    }

    pub(super) fn on_token(&mut self, site: &Context<'_>, session: u32, token: Token, effects: &mut Effects) {
        if let Location::Here(_) = self.kept.location {
            if session > self.kept.session {
                return effects.never("a newer token comes to the holder");
            }
            if session < self.kept.session || !site.has_defect(Defect::OldTokenNotHighest) {
                return effects.note("an old token was dropped");
            }
            self.stage = Stage::Idle;
        } else if session <= self.kept.session {
            return effects.note("an old token was dropped");
        }
        if let Stage::Follower(_) = self.stage {
            effects.never("a token comes to a follower that is inside");
        }
        self.kept.session = session;
        self.ask_only(site, BTreeSet::new());
        let mut holding = Holding::of(token);
        for ask in self.heard.drain(..) {
            if !holding.token.knows_served(ask) && !holding.token.knows_queued(ask) {
                effects.note("a request heard earlier joined the queue");
                holding.token.enqueue(ask);
            }
        }
        self.kept.location = Location::Here(holding);
        self.next_session(site, Arrival::JustNow, effects);
    }

    pub(super) fn on_start(&mut self, site: &Context<'_>, start: Start, effects: &mut Effects) {
        let Start { captain, group, number } = start;
        match self.stage {
            Stage::Waiting(groups) if number == self.kept.number && groups.contains(group) => {
                self.follow(captain, group, effects);
            }
            Stage::Waiting(groups) if site.has_defect(Defect::StartUnguarded) => {
                self.follow(captain, groups.first().unwrap_or(group), effects);
            }
            _ if site.has_defect(Defect::StartUnguarded) => self.follow(captain, group, effects),
            Stage::Follower(_) | Stage::Captain if number == self.kept.number => {}
            _ => {
                effects.note("a start came for a request that is over");
                effects.send(captain, Message::Complete { number });
            }
        }
    }

    /// Handles IS_COMPLETE as a start, which may be the second one.
    pub(super) fn on_is_complete(&mut self, site: &Context<'_>, start: Start, effects: &mut Effects) {
        match self.stage {
            Stage::Waiting(groups)
                if site.has_defect(Defect::IsCompleteUnnumbered) && groups.contains(start.group) =>
            {
                self.follow(start.captain, start.group, effects);
            }
            _ => self.on_start(site, start, effects),
        }
    }

    fn follow(&mut self, captain: NodeId, group: Group, effects: &mut Effects) {
        self.stage = Stage::Follower(captain);
        // This request was not granted when this node handed the token over, so a newer token has arrived.
        if let Location::Away(copy) = &mut self.kept.location {
            *copy = None;
        }
        effects.enter(group);
    }

    /// The timer that suspects a loss has expired: asks all nodes, and sends the last token again.
    pub(super) fn suspect(&mut self, site: &Context<'_>, effects: &mut Effects) {
        let Stage::Waiting(groups) = self.stage else { return };
        let (number, session) = (self.kept.number, self.kept.session);
        self.request_set = site.others().collect();
        for to in site.others() {
            effects.send(to, Message::GenToken { number, groups, session });
        }
        self.regenerate(site, session, effects);
    }

    pub(super) fn on_gen_token(
        &mut self,
        site: &Context<'_>,
        ask: Request,
        session: u32,
        effects: &mut Effects,
    ) {
        if let Location::Here(_) = self.kept.location {
            return self.gen_token_at_holder(site, ask, effects);
        }
        self.request_heard(site, ask, effects);
        self.regenerate(site, session, effects);
    }

    /// Sends the last token again if the node that suspects a loss has seen no newer one.
    fn regenerate(&mut self, site: &Context<'_>, session: u32, effects: &mut Effects) {
        match self.kept.location {
            Location::Away(Some(_)) if session <= self.kept.session => {
                effects.note("a token was sent again");
                self.send_again(effects);
            }
            Location::Away(None) if site.has_defect(Defect::RegenerateFromNothing) => {
                effects.never("a token is made from an old one that has no queue");
            }
            _ => {}
        }
    }
}
