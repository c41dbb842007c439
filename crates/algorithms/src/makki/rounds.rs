//! The form that the thesis proposes: RELEASE carries the queue behind its receiver, so that a node can enter
//! before the token has come. Every round of the token has a number, and the good site begins the next one only
//! with all k rights. So it needs no bound on delays and no constant critical sections.

use alloc::vec::Vec;
use core::fmt;

use super::{COLLECT, Context, Defect, LATE, Makki, Message, OTHER_FORM, Out};
use crate::algorithm::{Input, NodeId, UNUSED_INPUT};
use crate::census::Census;
use crate::picture::{Contents, Picture};
use crate::renaming::Renaming;

#[cfg(test)]
mod paper;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rounds {
    client: Client,
    /// Whether the token is here.
    token: bool,
    /// The rights that are here: those of the token, and those of RELEASEs that came before it.
    rights: u32,
    /// The newest round that this node has heard of, and its good site, where requests go.
    round: u32,
    good: NodeId,
    /// The last round in which this node entered.
    served: u32,
    /// While inside: the queue behind this node.
    behind: Vec<NodeId>,
    /// Requests that came to this node as the good site; while it collects, the next queue.
    collected: Vec<NodeId>,
    /// Whether the token stays only until late requests have arrived.
    collecting: bool,
    /// Requests of a round that this node has not heard of yet, each with its round. It is the good site to be.
    early: Vec<(NodeId, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Client {
    Outside,
    Waiting,
    Inside,
}

/// What a message says about a round.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs)] // the fields are named after those of the state
pub enum Content {
    /// This node requests entry; the round is the newest that the sender has heard of.
    Request(NodeId),
    /// Requests now go to this node.
    Update(NodeId),
    /// A node has left: the receiver may enter, or has one right more if it has entered in this round.
    Release { behind: Vec<NodeId> },
    /// The token, with the queue behind its receiver.
    Token { behind: Vec<NodeId>, free: u32 },
}

impl Content {
    pub(super) fn rename(&mut self, renaming: &Renaming) {
        match self {
            Content::Request(node) | Content::Update(node) => renaming.rename([node]),
            Content::Release { behind } | Content::Token { behind, .. } => renaming.rename(behind),
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Content::Request(_) => "REQUEST",
            Content::Update(_) => "UPDATE",
            Content::Release { .. } => "RELEASE",
            Content::Token { .. } => "TOKEN",
        }
    }

    /// One word more than in the bare form, for the number of the round.
    pub(super) fn words(&self) -> u32 {
        match self {
            Content::Request(_) | Content::Update(_) => 5,
            Content::Release { behind } => 4 + behind.len() as u32,
            Content::Token { behind, .. } => 6 + behind.len() as u32,
        }
    }

    /// What a picture shows of it. Its rights are what is conserved, so they are drawn as tokens.
    pub(super) fn drawn(&self) -> Contents {
        let origin = if let Content::Request(origin) = self { Some(*origin) } else { None };
        Contents { token: (self.rights() > 0).then_some(0), asks: None, origin }
    }

    /// The rights that it carries.
    pub(super) fn rights(&self) -> u32 {
        match self {
            Content::Request(_) | Content::Update(_) => 0,
            Content::Release { .. } => 1,
            Content::Token { free, .. } => *free,
        }
    }
}

impl Rounds {
    pub(super) fn rename(&mut self, renaming: &Renaming) {
        renaming.rename([&mut self.good]);
        renaming.rename(&mut self.behind);
        renaming.rename(&mut self.collected);
        renaming.rename(self.early.iter_mut().map(|(node, _)| node));
    }

    pub(super) fn draw(&self, site: &Context<'_>, picture: &mut Picture) {
        picture.tokens.extend(core::iter::repeat_n(0, self.rights as usize));
        picture.point("good site", (self.good != site.me).then_some(self.good));
        picture.queue(self.behind.iter().copied());
        picture.keep(self.collected.iter().copied());
        picture.keep(self.early.iter().map(|&(node, _)| node));
        picture.fact("round", self.round);
        picture.fact_if("token", self.token.then_some("here"));
    }

    pub(super) fn start(site: &Context<'_>) -> Rounds {
        let first = site.me == 0;
        Rounds {
            client: Client::Outside,
            token: first,
            rights: if first { site.tokens } else { 0 },
            round: 0,
            good: 0,
            served: 0,
            behind: Vec::new(),
            collected: Vec::new(),
            collecting: false,
            early: Vec::new(),
        }
    }

    pub(super) fn step(&mut self, site: &Context<'_>, input: Input<Makki>, out: &mut Out<'_>) {
        match input {
            Input::Request { .. } => {
                self.client = Client::Waiting;
                self.on_request(site, site.me, self.round, out);
            }
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { message: Message::Numbered { round, content }, .. } => match content {
                Content::Request(origin) => self.on_request(site, origin, round, out),
                Content::Update(good) => self.learn(site, round, good, out),
                Content::Release { behind } => self.on_release(site, behind, round, out),
                Content::Token { behind, free } => self.on_token(site, behind, free, round, out),
            },
            Input::Deliver { .. } => out.never(OTHER_FORM),
            Input::Expire(_) => self.pass_on(site, out),
            Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    /// The rights are the tokens of this form: there are k of them, wherever they are.
    pub(super) fn count(&self, census: &mut Census) {
        census.queue(self.collected.len());
        (0..self.rights).for_each(|_| census.token_here());
        if self.client == Client::Inside {
            census.token_here();
        }
    }

    /// Takes note of a round and its good site, if the round is news, and then handles the requests that
    /// waited for it.
    fn learn(&mut self, site: &Context<'_>, round: u32, good: NodeId, out: &mut Out<'_>) {
        if round <= self.round {
            return;
        }
        (self.round, self.good) = (round, good);
        for (origin, asked_in) in core::mem::take(&mut self.early) {
            self.on_request(site, origin, asked_in, out);
        }
    }

    fn on_request(&mut self, site: &Context<'_>, origin: NodeId, round: u32, out: &mut Out<'_>) {
        if self.collecting {
            out.note("a late request was put on the queue");
            // The last of the queue has been announced, so it has to stay the last.
            self.collected.insert(self.collected.len().saturating_sub(1), origin);
        } else if self.good == site.me {
            self.collected.push(origin);
            self.begin_round(site, out);
        } else if round > self.round {
            out.note("a request came before the news of its round");
            self.early.push((origin, round));
        } else {
            if origin != site.me {
                out.note("a request was sent on to the next good site");
            }
            // With this node's own round, so that rounds rise along the way and no request goes in circles.
            self.send(self.good, self.round, Content::Request(origin), out);
        }
    }

    fn on_release(&mut self, site: &Context<'_>, behind: Vec<NodeId>, round: u32, out: &mut Out<'_>) {
        self.learn(site, round, behind.last().copied().unwrap_or(site.me), out);
        let for_this_node = if site.has_defect(Defect::ReleaseWithoutRound) {
            self.client == Client::Waiting
        } else {
            self.served != round
        };
        if for_this_node {
            out.note("a node entered by a RELEASE");
            self.enter(round, behind, out);
        } else if self.good == site.me {
            self.rights += 1;
            self.begin_round(site, out);
        } else {
            self.rights += 1;
            out.never("a right comes to a node that is not the good site");
        }
    }

    /// Enters if there is a right, and passes the token on at once in any case. Only the last of the queue
    /// keeps it.
    fn on_token(
        &mut self,
        site: &Context<'_>,
        mut behind: Vec<NodeId>,
        mut free: u32,
        round: u32,
        out: &mut Out<'_>,
    ) {
        self.learn(site, round, behind.last().copied().unwrap_or(site.me), out);
        if self.served != round && free > 0 {
            free -= 1;
            self.enter(round, behind.clone(), out);
        }
        let next = if site.rules.straight && free == 0 {
            if behind.len() > 1 {
                out.note("the token left nodes out");
            }
            let last = behind.pop();
            behind.clear();
            last
        } else {
            (!behind.is_empty()).then(|| behind.remove(0))
        };
        match next {
            Some(next) => self.send(next, round, Content::Token { behind, free }, out),
            None => {
                self.token = true;
                self.rights += free;
                self.begin_round(site, out);
            }
        }
    }

    fn enter(&mut self, round: u32, behind: Vec<NodeId>, out: &mut Out<'_>) {
        self.client = Client::Inside;
        (self.served, self.behind) = (round, behind);
        out.enter();
    }

    fn exit(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.client = Client::Outside;
        let mut behind = core::mem::take(&mut self.behind);
        // The node k places further on finds no right in the token. If there is no such node, the good site
        // gathers the right.
        let places = site.tokens as usize + usize::from(site.has_defect(Defect::HeirTooFar));
        let Some(last) = behind.len().checked_sub(1) else {
            self.rights += 1;
            return self.begin_round(site, out);
        };
        let rest = behind.split_off(last.min(places - 1) + 1);
        if let Some(heir) = behind.pop() {
            self.send(heir, self.served, Content::Release { behind: rest }, out);
        }
    }

    /// Makes the collected requests the next queue, if all rights of this round are here again.
    fn begin_round(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let over = self.token && self.client != Client::Inside && self.served == self.round;
        let Some(&last) = self.collected.last() else { return };
        if !over || self.collecting {
            return;
        }
        if self.rights < site.tokens {
            out.note("requests waited until all rights were back");
            if self.rights == 0 || !site.has_defect(Defect::RoundWithoutAllRights) {
                return;
            }
        }
        (self.round, self.good, self.collecting) = (self.round + 1, last, true);
        if self.collected == [site.me] {
            // No other node waits, and requests go to the same node as before.
            return self.pass_on(site, out);
        }
        for to in site.others().filter(|node| !self.collected.contains(node)) {
            self.send(to, self.round, Content::Update(last), out);
        }
        out.arm(COLLECT, LATE);
    }

    fn pass_on(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        (self.collecting, self.token) = (false, false);
        let mut behind = core::mem::take(&mut self.collected);
        if behind.is_empty() {
            return out.never("there is no queue for the token");
        }
        let (head, free) = (behind.remove(0), core::mem::take(&mut self.rights));
        if head == site.me {
            self.on_token(site, behind, free, self.round, out);
        } else {
            self.send(head, self.round, Content::Token { behind, free }, out);
        }
    }

    fn send(&self, to: NodeId, round: u32, content: Content, out: &mut Out<'_>) {
        out.send(to, Message::Numbered { round, content });
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = |f: &mut fmt::Formatter<'_>, behind: &[NodeId]| {
            f.write_str(", behind")?;
            if behind.is_empty() {
                return f.write_str(" none)");
            }
            behind.iter().try_for_each(|node| write!(f, " {node}"))?;
            f.write_str(")")
        };
        match self {
            Content::Request(origin) => write!(f, "REQUEST({origin})"),
            Content::Update(good) => write!(f, "UPDATE(good site {good})"),
            Content::Release { behind } => {
                f.write_str("RELEASE(1 right")?;
                queue(f, behind)
            }
            Content::Token { behind, free } => {
                write!(f, "TOKEN({free} free")?;
                queue(f, behind)
            }
        }
    }
}
