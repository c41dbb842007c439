//! Makki et al.'s k-mutex: one token with a queue and a semaphore. The last node of the queue is the "good
//! site", to which all other nodes send the next requests. A node passes the token on as it enters, and its
//! RELEASE goes to the node that will find the semaphore used up. Correct only if message delays are bounded
//! and all critical sections have the same length. Source: 001 ch. III sec. B.2 and ch. V. Page:
//! `docs/algorithms/makki.md`.

use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, Timer, UNUSED_INPUT, Wait};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, Scope, TimerInfo, Timing, Tokens};
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};

#[cfg(test)]
mod paper;
#[cfg(test)]
mod timed;

/// Armed while a good site that has announced its successor collects late requests.
const COLLECT: Timer = 0;

/// A request sent before the announcement arrived is here two hops after the announcement was sent.
const LATE: Wait = Wait { hops: 2, sections: 0 };

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Makki {
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

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs)] // the fields are explained at the token's type
pub enum Message {
    /// This node requests entry.
    Request(NodeId),
    /// Requests now go to this node.
    Update(NodeId),
    /// A node has left: the receiver, or the node after it in the queue, may enter.
    Release,
    /// The token, the receiver at the head of its queue.
    Token { queue: Vec<NodeId>, free: u32 },
}

impl Algorithm for Makki {
    type Message = Message;
    type Durable = ();
    type Rules = ();

    const INFO: Info = Info {
        name: "makki",
        title: "one token with a queue and a semaphore, requests to its last node",
        kind: Kind::KMutex,
        source: "001 ch. III sec. B.2, ch. V (Makki et al. 1992), rebuilt from that description",
        cost: "n at light load, about 3 at heavy load; 0 if the token is here",
        tokens: Tokens::One,
        needs: Needs { timing: Timing::BoundedDelayConstantSections, ..Needs::RELIABLE },
        clients: Clients::OneEach,
        unique_requests: true,
        options: &[],
        timers: &[TimerInfo { name: "COLLECT", when_it_expires: "the token goes to the head of its queue" }],
        sometimes: &[
            "a late request was put on the queue",
            "a RELEASE came before the token",
            "a good site put itself on the next queue",
        ],
        // With time, because the algorithm is not correct without bounds. Critical sections shorter and
        // longer than a message delay, so that both the token and the RELEASE arrive first somewhere.
        suite: &[
            Scope::new(1, 1, 2).paced(1, 1),
            Scope::new(2, 1, 3).paced(2, 1),
            Scope::new(2, 2, 2).paced(1, 3),
            Scope::new(3, 1, 2).paced(2, 3),
            Scope::new(3, 2, 2).paced(3, 1),
            Scope::new(3, 3, 2).paced(1, 2),
            Scope::new(4, 2, 2).paced(1, 1),
        ],
        defects: &[],
    };

    fn rules(_: &Setting) -> Result<(), SettingError> {
        Ok(())
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let first = Token { queue: Vec::new(), free: site.tokens };
        Makki {
            client: Client::Outside,
            token: (site.me == 0).then_some(first),
            collecting: false,
            good: 0,
            collected: Vec::new(),
            released: 0,
        }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { message: Message::Request(origin), .. } => self.on_request(site, origin, out),
            Input::Deliver { message: Message::Update(good), .. } => self.good = good,
            Input::Deliver { message: Message::Release, .. } => self.on_release(site, out),
            Input::Deliver { message: Message::Token { queue, free }, .. } => {
                self.on_token(site, Token { queue, free }, out);
            }
            Input::Expire(_) => self.pass_on(site, out),
            Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        census.queue_of(self.collected.iter().copied());
        if let Some(token) = &self.token {
            census.token_here();
            census.queue_of(token.queue.iter().copied());
        }
    }

    fn count_message(message: &Message, _: NodeId, census: &mut Census) {
        match message {
            Message::Request(origin) => census.request_of(*origin),
            Message::Token { queue, .. } => {
                census.token_moving();
                queue.iter().for_each(|&node| census.request_of(node));
            }
            Message::Update(_) | Message::Release => {}
        }
    }

    fn allows_renaming(_: &(), _: &Renaming) -> bool {
        true
    }

    fn rename(&mut self, _: &(), renaming: &Renaming) {
        if let Client::Inside(heir) = &mut self.client {
            renaming.rename(heir);
        }
        renaming.rename(self.token.iter_mut().flat_map(|token| &mut token.queue));
        renaming.rename([&mut self.good]);
        renaming.rename(&mut self.collected);
    }

    fn rename_message(message: &mut Message, renaming: &Renaming) {
        match message {
            Message::Request(origin) => renaming.rename([origin]),
            Message::Update(good) => renaming.rename([good]),
            Message::Release => {}
            Message::Token { queue, .. } => renaming.rename(queue),
        }
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request(_) => "REQUEST",
            Message::Update(_) => "UPDATE",
            Message::Release => "RELEASE",
            Message::Token { .. } => "TOKEN",
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request(_) | Message::Update(_) => 4,
            Message::Release => 3,
            // The semaphore is two numbers in the text: how many are inside, and how many may be.
            Message::Token { queue, .. } => 5 + queue.len() as u32,
        }
    }
}

type Context<'a> = Site<'a, Makki>;
type Out<'a> = Outbox<'a, Makki>;

impl Makki {
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

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(origin) => write!(f, "REQUEST({origin})"),
            Message::Update(good) => write!(f, "UPDATE(good site {good})"),
            Message::Release => f.write_str("RELEASE"),
            Message::Token { queue, free } => {
                write!(f, "TOKEN({free} free, queue")?;
                queue.iter().try_for_each(|node| write!(f, " {node}"))?;
                f.write_str(")")
            }
        }
    }
}
