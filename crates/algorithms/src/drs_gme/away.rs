//! The rules of a node without the token.

use crate::algorithm::{Group, NodeId};
use crate::drs_gme::plan::Plan;
use crate::drs_gme::{Ask, Context, Defect, DrsGme, Holding, Location, Message, Stage, Token, has_defect};

impl DrsGme {
    /// Another node asks, and the token is elsewhere: the request is kept until the token arrives.
    pub(super) fn request_heard(&mut self, site: &Context<'_>, ask: Ask, plan: &mut Plan) {
        self.learn_of(ask.node, plan);
        let Location::Away(sent) = &self.kept.location else { return };
        let token_knows =
            sent.as_ref().is_some_and(|token| token.knows_served(ask) || token.knows_queued(ask));
        if token_knows || has_defect(site, Defect::RequestsForgotten) {
            return;
        }
        match self.heard.binary_search_by_key(&ask.node, |other| other.node) {
            Ok(index) if self.heard[index].number < ask.number => self.heard[index] = ask,
            Ok(_) => {}
            Err(index) => self.heard.insert(index, ask),
        }
    }

    /// `node` may have the token, so a waiting request has to be sent to it.
    fn learn_of(&mut self, node: NodeId, plan: &mut Plan) {
        if let (true, Stage::Waiting(groups)) = (self.request_set.insert(node), self.stage) {
            plan.send(node, Message::Request { number: self.kept.number, groups });
        }
    }

    /// A holder answered a stale request: it is not in the request set, or was not when it got the token.
    pub(super) fn on_hint(&mut self, site: &Context<'_>, from: NodeId, plan: &mut Plan) {
        if let Location::Here(_) = self.kept.location {
            if has_defect(site, Defect::HintIgnored) {
                return;
            }
            // The token has arrived here since, and the other node may not know.
            plan.note("a hint met the token and went back");
            return plan.send(from, Message::Hint);
        }
        self.learn_of(from, plan);
    }

    pub(super) fn on_token(&mut self, site: &Context<'_>, session: u32, token: Token, plan: &mut Plan) {
        if let Location::Here(_) = self.kept.location {
            if session > self.kept.session {
                return plan.never("a newer token comes to the holder");
            }
            if session < self.kept.session || !has_defect(site, Defect::OldTokenNotHighest) {
                return plan.note("an old token was dropped");
            }
            self.stage = Stage::Idle;
        } else if session <= self.kept.session {
            return plan.note("an old token was dropped");
        }
        if let Stage::Follower(_) = self.stage {
            plan.never("a token comes to a follower that is inside");
        }
        self.kept.session = session;
        self.request_set.clear();
        let mut holding = Holding::of(token);
        for ask in self.heard.drain(..) {
            if !holding.token.knows_served(ask) && !holding.token.knows_queued(ask) {
                plan.note("a request heard earlier joined the queue");
                holding.token.enqueue(ask);
            }
        }
        self.kept.location = Location::Here(holding);
        self.next_session(site, true, plan);
    }

    pub(super) fn on_start(
        &mut self,
        site: &Context<'_>,
        captain: NodeId,
        group: Group,
        number: u32,
        plan: &mut Plan,
    ) {
        match self.stage {
            Stage::Waiting(groups) if number == self.kept.number && groups.contains(group) => {
                self.follow(captain, group, plan);
            }
            Stage::Waiting(groups) if has_defect(site, Defect::StartUnguarded) => {
                self.follow(captain, groups.first().unwrap_or(group), plan);
            }
            _ if has_defect(site, Defect::StartUnguarded) => self.follow(captain, group, plan),
            Stage::Follower(_) | Stage::Captain if number == self.kept.number => {}
            _ => {
                plan.note("a start came for a request that is over");
                plan.send(captain, Message::Complete { number });
            }
        }
    }

    /// Handles IS_COMPLETE as a start, which may be the second one.
    pub(super) fn on_is_complete(
        &mut self,
        site: &Context<'_>,
        captain: NodeId,
        group: Group,
        number: u32,
        plan: &mut Plan,
    ) {
        match self.stage {
            Stage::Waiting(groups)
                if has_defect(site, Defect::IsCompleteUnnumbered) && groups.contains(group) =>
            {
                self.follow(captain, group, plan);
            }
            _ => self.on_start(site, captain, group, number, plan),
        }
    }

    fn follow(&mut self, captain: NodeId, group: Group, plan: &mut Plan) {
        self.stage = Stage::Follower(captain);
        // This request was not granted when this node handed the token over, so a newer token has arrived.
        if let Location::Away(copy) = &mut self.kept.location {
            *copy = None;
        }
        plan.enter(group);
    }

    /// The timer that suspects a loss has expired: asks all nodes, and sends the last token again.
    pub(super) fn suspect(&mut self, site: &Context<'_>, plan: &mut Plan) {
        let Stage::Waiting(groups) = self.stage else { return };
        let (number, session) = (self.kept.number, self.kept.session);
        self.request_set = site.others().collect();
        for to in site.others() {
            plan.send(to, Message::GenToken { number, groups, session });
        }
        self.regenerate(site, session, plan);
    }

    pub(super) fn on_gen_token(&mut self, site: &Context<'_>, ask: Ask, session: u32, plan: &mut Plan) {
        if let Location::Here(_) = self.kept.location {
            return self.gen_token_at_holder(site, ask, plan);
        }
        self.request_heard(site, ask, plan);
        self.regenerate(site, session, plan);
    }

    /// Sends the last token again if the node that suspects a loss has seen no newer one.
    fn regenerate(&mut self, site: &Context<'_>, session: u32, plan: &mut Plan) {
        match self.kept.location {
            Location::Away(Some(_)) if session <= self.kept.session => {
                plan.note("a token was sent again");
                self.send_again(plan);
            }
            Location::Away(None) if has_defect(site, Defect::RegenerateFromNothing) => {
                plan.never("a token is made from an old one that has no queue");
            }
            _ => {}
        }
    }
}
