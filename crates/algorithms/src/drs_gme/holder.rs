//! The rules of the holder of the token.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::mem;

use crate::algorithm::{Group, Groups, NodeId};
use crate::drs_gme::effects::Effects;
use crate::drs_gme::{
    Arrival, Ask, Context, Defect, DrsGme, Holding, Location, Message, Request, Stage, Token,
};
use crate::sorted;

impl DrsGme {
    /// The local client asks, and the token is here.
    pub(super) fn request_here(&mut self, site: &Context<'_>, ask: Request, effects: &mut Effects) {
        let Location::Here(holding) = &mut self.kept.location else { return };
        match holding.open {
            Some(group) if holding.token.queue.is_empty() && ask.groups.contains(group) => {
                holding.token.record(site, ask);
                self.stage = Stage::Captain;
                effects.enter(group);
            }
            Some(_) => holding.token.enqueue(ask),
            None => {
                if site.has_defect(Defect::SessionOnlyFromIdle) {
                    self.kept.session += 1;
                }
                self.open(site, ask, effects);
                if let (true, Location::Here(holding)) =
                    (site.has_defect(Defect::IdleGiverWaits), &mut self.kept.location)
                {
                    // Nobody heard of this request, and the token does not carry its number.
                    holding.token.served[site.me as usize] = ask.number - 1;
                }
            }
        }
    }

    /// Another node asks, and the token is here.
    pub(super) fn request_at_holder(&mut self, site: &Context<'_>, ask: Request, effects: &mut Effects) {
        let captain_inside = self.stage == Stage::Captain;
        let Location::Here(holding) = &mut self.kept.location else { return };
        let followers = holding.followers.len();
        holding.followers.retain(|&(node, number)| node != ask.node || number >= ask.number);
        if holding.followers.len() < followers {
            effects.note("a new request stood for a completion");
        }
        if holding.token.knows_served(ask) {
            // The requester may have held the token since it asked, and then does not know this node any
            // more. Where all nodes are asked, it need not.
            if site.rules.ask == Ask::All || site.has_defect(Defect::StaleUnanswered) {
                return;
            }
            effects.note("a stale request was answered with a hint");
            return effects.send(ask.node, Message::Hint);
        }
        if holding.token.knows_queued(ask) {
            return;
        }
        let running = captain_inside || holding.has_followers();
        let welcome = captain_inside || holding.token.queue.is_empty();
        match holding.open {
            Some(group) if running && welcome && ask.groups.contains(group) => {
                holding.unwatched = false;
                holding.admit(site, ask, group, effects);
            }
            open => {
                holding.token.enqueue(ask);
                self.next_session(site, Arrival::Earlier, effects);
                if open.is_none() && site.has_defect(Defect::IdleGiverWaits) {
                    // The text does not say for which group; here for that of the node that got the token.
                    self.stage = Stage::Waiting(ask.groups);
                }
            }
        }
    }

    /// A node suspects a loss, and the token is here: its request counts. If it was granted and the start is
    /// lost, the timer for the followers repairs that, long before the other timer expires.
    pub(super) fn gen_token_at_holder(&mut self, site: &Context<'_>, ask: Request, effects: &mut Effects) {
        let Location::Here(holding) = &mut self.kept.location else { return };
        let stale = holding.token.knows_served(ask) || holding.token.knows_queued(ask);
        if site.has_defect(Defect::RegenerateStaysIdle) && holding.open.is_none() && !stale {
            let (session, token) = (self.kept.session + 1, holding.token.clone());
            return effects.send(ask.node, Message::Token { session, token });
        }
        let group = holding.open.filter(|&group| ask.groups.contains(group));
        let left = self.stage != Stage::Captain && holding.token.queue.is_empty();
        let known = stale || holding.followers.iter().any(|&(node, _)| node == ask.node);
        let follows = holding.followers.contains(&(ask.node, ask.number));
        if let (true, Some(group)) = (site.has_defect(Defect::OpeningUnwatched) && follows, group) {
            if self.stage == Stage::Captain || left {
                // This is how the text comes to watch a follower after all.
                holding.unwatched = false;
                holding.admit(site, ask, group, effects);
            }
            return;
        }
        if let (true, Some(group), true, false) =
            (site.has_defect(Defect::RegenerateUnrecorded), group, left, known)
        {
            holding.token.record(site, ask);
            holding.unrecorded += 1;
            return effects.send(ask.node, Message::Start { group, number: ask.number });
        }
        if !stale {
            self.request_at_holder(site, ask, effects);
        }
    }

    pub(super) fn on_complete(
        &mut self,
        site: &Context<'_>,
        from: NodeId,
        number: u32,
        effects: &mut Effects,
    ) {
        let Location::Here(holding) = &mut self.kept.location else { return };
        let followers = holding.followers.len();
        let any_number = site.has_defect(Defect::CompleteUnnumbered);
        holding.followers.retain(|&(node, granted)| node != from || granted != number && !any_number);
        if holding.followers.len() < followers {
            self.next_session(site, Arrival::Earlier, effects);
        }
    }

    /// The timer for the followers has expired.
    pub(super) fn ask_followers(&mut self, effects: &mut Effects) {
        let Location::Here(Holding { followers, open: Some(group), .. }) = &self.kept.location else {
            return;
        };
        for &(node, number) in followers {
            effects.send(node, Message::IsComplete { group: *group, number });
        }
    }

    /// Ends the session if no client is inside, and serves the head of the queue.
    pub(super) fn next_session(&mut self, site: &Context<'_>, arrival: Arrival, effects: &mut Effects) {
        let Location::Here(holding) = &mut self.kept.location else { return };
        if self.stage == Stage::Captain || holding.has_followers() {
            if self.stage != Stage::Captain && holding.followers.is_empty() {
                effects.never("a captain waits for a follower that it has no record of");
            }
            return;
        }
        holding.open = None;
        let Some(&head) = holding.token.queue.first() else { return };
        if head.node != site.me {
            return self.hand_off(site, effects);
        }
        if site.has_defect(Defect::HandOverToSelfChecked) && arrival == Arrival::Earlier {
            // The text sends the token to itself and then finds that it is not newer than its own copy.
            let token = holding.token.clone();
            self.ask_only(site, token.captains(site));
            self.kept.location = Location::Away(Some(token));
            return;
        }
        holding.token.queue.remove(0);
        let lets_anyone_in = matches!(
            site.rules.defect,
            Some(Defect::ServedNotRecorded | Defect::AnyOfEntryStays | Defect::OldTokenNotHighest)
        );
        match self.stage {
            Stage::Waiting(groups) => {
                self.open(site, Request { node: site.me, number: self.kept.number, groups }, effects);
            }
            _ if lets_anyone_in => self.open(site, head, effects),
            _ => {
                effects.note("a token came to a node that does not wait");
                self.next_session(site, arrival, effects);
            }
        }
    }

    /// Opens a session for a request of the local client, and admits every other requester that accepts its
    /// group.
    fn open(&mut self, site: &Context<'_>, own: Request, effects: &mut Effects) {
        let (Location::Here(holding), Some(group)) = (&mut self.kept.location, own.groups.first()) else {
            return;
        };
        holding.open = Some(group);
        holding.token.record(site, own);
        holding.unwatched = site.has_defect(Defect::OpeningUnwatched);
        self.stage = Stage::Captain;
        effects.enter(group);
        let queue = mem::take(&mut holding.token.queue);
        for ask in queue {
            if !ask.groups.contains(group) {
                holding.token.queue.push(ask);
                continue;
            }
            holding.admit(site, ask, group, effects);
            let rest: Groups = ask.groups.iter().filter(|&other| other != group).collect();
            if site.has_defect(Defect::AnyOfEntryStays) && !rest.is_empty() {
                holding.token.queue.push(Request { groups: rest, ..ask });
            }
        }
    }

    /// Sends the token to the head of the queue.
    fn hand_off(&mut self, site: &Context<'_>, effects: &mut Effects) {
        let Location::Here(holding) = mem::take(&mut self.kept.location) else { return };
        if !site.has_defect(Defect::SessionOnlyFromIdle) {
            self.kept.session += 1;
        }
        self.ask_only(site, holding.token.captains(site));
        self.kept.location = Location::Away(Some(holding.token));
        self.send_again(effects);
    }

    /// Sends the token that was handed over last. The receiver accepts it once, however often it is sent.
    pub(super) fn send_again(&self, effects: &mut Effects) {
        let Location::Away(Some(token)) = &self.kept.location else { return };
        if let Some(head) = token.queue.first() {
            effects.send(head.node, Message::Token { session: self.kept.session, token: token.clone() });
        }
    }
}

impl Holding {
    pub(super) fn of(token: Token) -> Holding {
        Holding { token, open: None, followers: Vec::new(), unrecorded: 0, unwatched: false }
    }

    fn has_followers(&self) -> bool {
        !self.followers.is_empty() || self.unrecorded > 0
    }

    fn admit(&mut self, site: &Context<'_>, ask: Request, group: Group, effects: &mut Effects) {
        self.token.record(site, ask);
        let follower = (ask.node, ask.number);
        sorted::insert(&mut self.followers, follower);
        effects.restart_followers_timer();
        effects.send(ask.node, Message::Start { group, number: ask.number });
    }
}

impl Token {
    /// Whether this request, or a later one of the same node, has been granted.
    pub(super) fn knows_served(&self, ask: Request) -> bool {
        self.served.get(ask.node as usize).is_some_and(|&number| ask.number <= number)
    }

    /// Whether this request, or a later one of the same node, is in the queue.
    pub(super) fn knows_queued(&self, ask: Request) -> bool {
        self.queue.iter().any(|other| other.node == ask.node && other.number >= ask.number)
    }

    /// Appends a request to the queue, in place of an earlier one that its node has cancelled.
    pub(super) fn enqueue(&mut self, ask: Request) {
        self.queue.retain(|other| other.node != ask.node);
        self.queue.push(ask);
    }

    /// Records that the request is granted.
    fn record(&mut self, site: &Context<'_>, ask: Request) {
        self.queue.retain(|other| other.node != ask.node);
        let Some(served) = self.served.get_mut(ask.node as usize) else { return };
        if !site.has_defect(Defect::ServedNotRecorded) {
            *served = ask.number;
        }
    }

    /// The nodes in the queue that may become captain. A node whose only group is requested ahead of it will
    /// enter as a follower.
    fn captains(&self, site: &Context<'_>) -> BTreeSet<NodeId> {
        let any_ahead =
            |index: usize, group: Group| self.queue[..index].iter().any(|ahead| ahead.groups.contains(group));
        let follows = |index: usize, ask: &Request| match site.rules.defect {
            Some(Defect::AnyOfFirstsAsked) => ask.groups.iter().all(|group| any_ahead(index, group)),
            _ => ask.groups.len() == 1 && self.queue[..index].iter().any(|ahead| ahead.groups == ask.groups),
        };
        let captains = self.queue.iter().enumerate().filter(|(index, ask)| !follows(*index, ask));
        captains.map(|(_, ask)| ask.node).filter(|&node| node != site.me).collect()
    }
}
