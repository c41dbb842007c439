//! The form in which RELEASE says nothing: a node enters only while it has the token. Correct only if message
//! delays are bounded and all critical sections have the same length.

use alloc::vec::Vec;

use super::{COLLECT, Context, LATE, Makki, Message, OTHER_FORM, Out};
use crate::algorithm::{Input, NodeId, UNUSED_INPUT};
use crate::census::Census;
use crate::picture::Picture;
use crate::renaming::Renaming;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bare {
    client: Client,
    /// The token, if it is here. If its queue starts with this node, this node waits for a RELEASE.
    token: Option<Token>,
    /// Whether the token stays only until the late requests have arrived; its queue is then already the next
    /// one.
    collecting: bool,
    /// Where requests go.
    good: NodeId,
    /// Requests that came to this node as the good site, or as the good site to be.
    collected: Vec<NodeId>,
    /// RELEASEs that came before the token.
    released: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Client {
    Outside,
    Waiting,
    /// Holds the node that gets the RELEASE; `None` at the good site, which keeps the token until it leaves.
    Inside(Option<NodeId>),
}

/// The token: the queue, and how many may enter without a RELEASE.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Token {
    queue: Vec<NodeId>,
    free: u32,
}

impl Bare {
    pub(super) fn rename(&mut self, renaming: &Renaming) {
        if let Client::Inside(heir) = &mut self.client {
            renaming.rename(heir);
        }
        renaming.rename(self.token.iter_mut().flat_map(|token| &mut token.queue));
        renaming.rename([&mut self.good]);
        renaming.rename(&mut self.collected);
    }

    pub(super) fn start(site: &Context<'_>) -> Bare {
        let first = Token { queue: Vec::new(), free: site.tokens };
        Bare {
            client: Client::Outside,
            token: (site.me == 0).then_some(first),
            collecting: false,
            good: 0,
            collected: Vec::new(),
            released: 0,
        }
    }

    pub(super) fn step(&mut self, site: &Context<'_>, input: Input<Makki>, out: &mut Out<'_>) {
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { message: Message::Request(origin), .. } => self.on_request(site, origin, out),
            Input::Deliver { message: Message::Update(good), .. } => self.good = good,
            Input::Deliver { message: Message::Release, .. } => self.on_release(site, out),
            Input::Deliver { message: Message::Token { queue, free }, .. } => {
                self.on_token(site, Token { queue, free }, out);
            }
            Input::Deliver { message: Message::Numbered { .. }, .. } => out.never(OTHER_FORM),
            Input::Expire(_) => self.pass_on(site, out),
            Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    pub(super) fn count(&self, census: &mut Census) {
        census.queue_of(self.collected.iter().copied());
        if let Some(token) = &self.token {
            census.token_here();
            census.queue_of(token.queue.iter().copied());
        }
    }

    pub(super) fn draw(&self, site: &Context<'_>, picture: &mut Picture) {
        picture.token_if(self.token.is_some());
        picture.point("good site", (self.good != site.me).then_some(self.good));
        if let Client::Inside(heir) = &self.client {
            picture.point("release to", *heir);
        }
        picture.keep(self.collected.iter().copied());
        if let Some(token) = &self.token {
            picture.queue(token.queue.iter().copied());
            picture.fact("free", token.free);
        }
    }

    /// The node that requests go to, and the free rights of the token if it is here.
    #[cfg(test)]
    pub(super) fn good_and_free(&self) -> (NodeId, Option<u32>) {
        (self.good, self.token.as_ref().map(|token| token.free))
    }

    fn request(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.client = Client::Waiting;
        match &mut self.token {
            None => out.send(self.good, Message::Request(site.me)),
            Some(token) if self.collecting => {
                out.note("a good site put itself on the next queue");
                token.insert_late(site.me);
            }
            Some(token) => {
                token.queue.push(site.me);
                self.try_enter(site, out);
            }
        }
    }

    fn exit(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        match (core::mem::replace(&mut self.client, Client::Outside), &mut self.token) {
            (Client::Inside(Some(heir)), _) => out.send(heir, Message::Release),
            (Client::Inside(None), Some(token)) => {
                token.free += 1;
                self.start_collecting(site, out);
            }
            _ => out.never("a client leaves that is not inside"),
        }
    }

    fn on_request(&mut self, site: &Context<'_>, origin: NodeId, out: &mut Out<'_>) {
        match (&mut self.token, self.client) {
            (Some(token), _) if self.collecting => {
                out.note("a late request was put on the queue");
                token.insert_late(origin);
            }
            (Some(_), Client::Outside) => {
                self.collected.push(origin);
                self.start_collecting(site, out);
            }
            // A node that receives requests while it waits is the last of the queue, and the token is on its
            // way.
            (Some(_), _) | (None, Client::Waiting) => self.collected.push(origin),
            (None, _) => {
                self.collected.push(origin);
                out.never("a request comes to a node that is no longer the good site");
            }
        }
    }

    fn on_release(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        match (&mut self.token, self.client) {
            (Some(token), _) => {
                token.free += 1;
                self.try_enter(site, out);
            }
            (None, Client::Waiting) => {
                out.note("a RELEASE came before the token");
                self.released += 1;
            }
            // The permit that it stands for is lost: no node will add it to the semaphore.
            (None, _) => out.never("a RELEASE comes after the token has gone"),
        }
    }

    fn on_token(&mut self, site: &Context<'_>, mut token: Token, out: &mut Out<'_>) {
        if token.queue.first() != Some(&site.me) || self.client != Client::Waiting {
            out.never("the token comes to a node that does not wait at the head of its queue");
        }
        self.good = token.queue.last().copied().unwrap_or(site.me);
        token.free += core::mem::take(&mut self.released);
        self.token = Some(token);
        self.try_enter(site, out);
    }

    /// Enters if it is this node's turn and the semaphore allows it, and passes the token on at once. Only
    /// the last of the queue keeps it.
    fn try_enter(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let turn = |token: &mut Token| token.free > 0 && token.queue.first() == Some(&site.me);
        if self.collecting {
            return;
        }
        let Some(mut token) = self.token.take_if(turn) else { return };
        token.free -= 1;
        token.queue.remove(0);
        // The node k places further on finds the semaphore used up by this node and those between. If there
        // is no such node, the good site restores the semaphore.
        let heir = token.queue.get(site.tokens as usize - 1).or(token.queue.last()).copied();
        self.client = Client::Inside(heir);
        out.enter();
        match token.queue.first() {
            None => self.token = Some(token),
            Some(&next) => {
                if !self.collected.is_empty() {
                    out.never("a node that is not the good site has requests");
                }
                out.send(next, token.into_message());
            }
        }
    }

    /// Makes the collected requests the next queue, if there are any, and its last node the good site.
    fn start_collecting(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let (Some(token), Some(&good)) = (&mut self.token, self.collected.last()) else { return };
        token.queue = core::mem::take(&mut self.collected);
        self.good = good;
        self.collecting = true;
        for to in site.others().filter(|node| !token.queue.contains(node)) {
            out.send(to, Message::Update(good));
        }
        out.arm(COLLECT, LATE);
    }

    fn pass_on(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.collecting = false;
        let Some(token) = self.token.take() else {
            return out.never("there is no token to grant on");
        };
        if token.free != site.tokens {
            out.never("the token is passed on before its semaphore is back at k");
        }
        match token.queue.first() {
            Some(&next) if next != site.me => out.send(next, token.into_message()),
            _ => {
                self.token = Some(token);
                self.try_enter(site, out);
            }
        }
    }
}

impl Token {
    /// All nodes have been told who the good site is, so it has to stay the last.
    fn insert_late(&mut self, node: NodeId) {
        self.queue.insert(self.queue.len().saturating_sub(1), node);
    }

    fn into_message(self) -> Message {
        Message::Token { queue: self.queue, free: self.free }
    }
}
