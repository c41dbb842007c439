//! Parihar and Chakraborty's mutex on a logical almost complete binary tree. Requests climb to the root,
//! which queues them and sends the token down and back up again. After each critical section the root changes
//! places with another node. Source: 002. Page: `docs/algorithms/lacbt.md`.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OptionInfo, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::setting::{Setting, SettingError};

mod defects;
#[cfg(test)]
mod paper;
mod root;

pub use defects::Defect;
pub use root::Root;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lacbt {
    role: Role,
    client: Client,
    /// If the token is here: the path by which it came from the root, both ends included.
    token: Option<Vec<NodeId>>,
    /// The position of this node in the tree. Only the printed form of requests needs it; 0 otherwise.
    position: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Root(Root),
    /// Below the root. The epoch is the number of the swap that made this node the parent.
    Below {
        parent: NodeId,
        epoch: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Client {
    Idle,
    Waiting,
    Inside,
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs)] // the fields are named after the text
pub enum Message {
    /// A node requests the token. The position is 0 except in the printed form, which has it instead of the
    /// origin.
    Request { origin: NodeId, position: u32 },
    /// The token on its way from the root to the last node of the path.
    Token { way: Vec<NodeId> },
    /// The token on its way back.
    Return { way: Vec<NodeId> },
    /// The receiver is the root from now on, and gets the token.
    Root(Root),
    /// The receiver has a new parent, because of the swap with this number.
    Parent { parent: NodeId, epoch: u32 },
}

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    swap: bool,
    defect: Option<Defect>,
}

impl Algorithm for Lacbt {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "lacbt",
        title: "one token on an almost complete binary tree whose root changes after each section",
        kind: Kind::Mutex,
        source: "002",
        cost: "3 × depth, at most 3 ⌊log n⌋; up to 5 more for each swap, which the text does not count",
        tokens: Tokens::One,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: true,
        options: &[OptionInfo::choice(
            "swap",
            &["yes", "no"],
            "whether the root changes places after each section",
        )],
        timers: &[],
        sometimes: &[
            "a swap passed over a waiting node",
            "the root waits, so it keeps its place",
            "a node became the root while its request was under way",
            "a request came back to its sender, who sent it on",
            "news of a parent came too late",
        ],
        suite: &[
            Scope::new(1, 1, 2),
            Scope::new(2, 1, 3),
            Scope::new(3, 1, 2),
            Scope::new(4, 1, 1),
            Scope::new(4, 1, 2).with(&[("swap", "no")]),
            Scope::new(5, 1, 1),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules { swap: setting.option("swap") != Some("no"), defect: Defect::of(setting) })
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let role = match root::parent(site.me, site.rules.defect) {
            None => Role::Root(Root::start(site.nodes)),
            Some(parent) => Role::Below { parent, epoch: 0 },
        };
        let token = matches!(role, Role::Root(_)).then(|| vec![site.me]);
        let mut node = Lacbt { role, client: Client::Idle, token, position: 0 };
        node.move_to(site, site.me);
        node
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => {
                self.client = Client::Waiting;
                self.climb(site, site.me, self.position, out);
            }
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { message: Message::Request { origin, position }, .. } => {
                if origin == site.me && !matches!(self.role, Role::Root(_)) {
                    out.note("a request came back to its sender, who sent it on");
                }
                self.climb(site, origin, position, out);
            }
            Input::Deliver { message: Message::Token { way }, .. } => self.on_token(site, way, out),
            Input::Deliver { message: Message::Return { way }, .. } => self.on_return(site, way, out),
            Input::Deliver { message: Message::Root(root), .. } => self.on_root(site, root, out),
            Input::Deliver { message: Message::Parent { parent, epoch }, .. } => {
                self.on_parent(site, parent, epoch, out);
            }
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        if self.token.is_some() {
            census.token_here();
        }
        if let Role::Root(root) = &self.role {
            root.count(census);
        }
    }

    fn count_message(message: &Message, _: NodeId, census: &mut Census) {
        match message {
            Message::Request { origin, .. } => census.request_of(*origin),
            Message::Token { way } => {
                census.token_moving();
                // The token on its way to a node is the answer to that node's request.
                way.last().into_iter().for_each(|&node| census.request_of(node));
            }
            Message::Return { .. } => census.token_moving(),
            Message::Root(root) => {
                census.token_moving();
                root.count(census);
            }
            Message::Parent { .. } => {}
        }
    }

    fn draw(&self, _: &Site<'_, Self>, picture: &mut Picture) {
        picture.token_if(self.token.is_some());
        match &self.role {
            Role::Root(root) => {
                picture.queue(root.queue().iter().copied());
                picture.numbers("positions", root.positions());
                picture.fact("swaps", root.epoch());
            }
            Role::Below { parent, .. } => picture.point("parent", *parent),
        }
        if let Some(way) = self.token.as_ref().filter(|way| way.len() > 1) {
            picture.numbers("way of the token", way);
        }
    }

    fn draw_message(message: &Message) -> Contents {
        match message {
            Message::Request { origin, .. } => Contents::request(*origin),
            Message::Token { .. } | Message::Return { .. } | Message::Root(_) => Contents::token(0),
            Message::Parent { .. } => Contents::default(),
        }
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request { .. } => "REQUEST",
            Message::Token { .. } => "TOKEN",
            Message::Return { .. } => "RETURN",
            Message::Root(_) => "ROOT",
            Message::Parent { .. } => "PARENT",
        }
    }

    fn words(message: &Message) -> u32 {
        3 + match message {
            Message::Request { .. } => 1,
            Message::Token { way } | Message::Return { way } => way.len() as u32,
            Message::Root(root) => root.words(),
            Message::Parent { .. } => 2,
        }
    }
}

type Context<'a> = Site<'a, Lacbt>;
type Out<'a> = Outbox<'a, Lacbt>;

impl Lacbt {
    /// Forwards a request, of this node or another, to the parent; at the root the request joins the queue.
    fn climb(&mut self, site: &Context<'_>, origin: NodeId, position: u32, out: &mut Out<'_>) {
        match &mut self.role {
            Role::Below { parent, .. } => out.send(*parent, Message::Request { origin, position }),
            Role::Root(root) => {
                root.enqueue(site, origin, position);
                self.serve(site, out);
            }
        }
    }

    /// Sends the token to the head of the queue, if it is at the root and free.
    fn serve(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let Role::Root(root) = &mut self.role else { return };
        if self.token.is_none() || self.client == Client::Inside {
            return;
        }
        let Some(way) = root.next_way(site, out) else { return };
        match way.get(1) {
            None => {
                self.client = Client::Inside;
                out.enter();
            }
            Some(&next) => {
                self.token = None;
                out.send(next, Message::Token { way });
            }
        }
    }

    fn on_token(&mut self, site: &Context<'_>, way: Vec<NodeId>, out: &mut Out<'_>) {
        let Some(here) = way.iter().position(|&node| node == site.me) else {
            return out.never("the token comes to a node that is not on its way");
        };
        if let Some(&next) = way.get(here + 1) {
            return out.send(next, Message::Token { way });
        }
        (self.client, self.token) = (Client::Inside, Some(way));
        out.enter();
    }

    fn exit(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.client = Client::Idle;
        match self.token.take() {
            Some(way) => self.on_return(site, way, out),
            None => out.never("a client leaves and there is no token"),
        }
    }

    /// Sends the token one step back along the path it came by. It must be that path: parents may have
    /// changed since, or the news of them may be late.
    fn on_return(&mut self, site: &Context<'_>, way: Vec<NodeId>, out: &mut Out<'_>) {
        let Some(here) = way.iter().position(|&node| node == site.me) else {
            return out.never("the token comes back to a node that is not on its way");
        };
        match here.checked_sub(1).and_then(|before| way.get(before)) {
            Some(&before) => out.send(before, Message::Return { way }),
            None => self.home(site, out),
        }
    }

    /// The token is back at the root: the root may change, and the root then serves the next request.
    fn home(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.token = Some(vec![site.me]);
        let Role::Root(root) = &mut self.role else {
            return out.never("the token comes home to a node that is not the root");
        };
        if self.client == Client::Waiting {
            out.note("the root waits, so it keeps its place");
        } else if site.rules.swap
            && let Some(position) = root.candidate(site, out)
        {
            return self.swap(site, position, out);
        }
        self.serve_next(site, out);
    }

    /// The root changes places with the node at this position.
    fn swap(&mut self, site: &Context<'_>, position: u32, out: &mut Out<'_>) {
        let Role::Root(root) = &mut self.role else { return };
        let (successor, parent) = root.swap(site, position, out);
        let below = Role::Below { parent, epoch: root.epoch() };
        let Role::Root(root) = core::mem::replace(&mut self.role, below) else { return };
        self.token = None;
        self.move_to(site, position);
        out.send(successor, Message::Root(root));
    }

    fn on_root(&mut self, site: &Context<'_>, root: Root, out: &mut Out<'_>) {
        if matches!(self.role, Role::Root(_)) {
            return out.never("there is a second root");
        }
        if self.client == Client::Waiting && !root.waits(site.me) {
            out.note("a node became the root while its request was under way");
        }
        (self.role, self.token) = (Role::Root(root), Some(vec![site.me]));
        self.move_to(site, 0);
        self.serve_next(site, out);
    }

    fn serve_next(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        if !site.has_defect(Defect::ReleaseServesNobody) {
            self.serve(site, out);
        }
    }

    fn on_parent(&mut self, site: &Context<'_>, new: NodeId, swap: u32, out: &mut Out<'_>) {
        match &mut self.role {
            Role::Below { parent, epoch } if swap > *epoch || site.has_defect(Defect::OldNewsTaken) => {
                (*parent, *epoch) = (new, swap);
            }
            Role::Below { .. } | Role::Root(_) => out.note("news of a parent came too late"),
        }
    }

    fn move_to(&mut self, site: &Context<'_>, position: u32) {
        if site.has_defect(Defect::PlacesInRequests) {
            self.position = position;
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, name: &str, nodes: &[NodeId]| {
            f.write_str(name)?;
            nodes.iter().try_for_each(|node| write!(f, " {node}"))
        };
        match self {
            Message::Request { origin, position: 0 } => write!(f, "REQUEST({origin})"),
            Message::Request { origin, position } => write!(f, "REQUEST({origin} at position {position})"),
            Message::Token { way } => list(f, "TOKEN(way", way).and_then(|()| f.write_str(")")),
            Message::Return { way } => list(f, "RETURN(way", way).and_then(|()| f.write_str(")")),
            Message::Root(root) => {
                list(f, "ROOT(positions", root.positions())?;
                list(f, ", queue", root.queue())?;
                write!(f, ", epoch {})", root.epoch())
            }
            Message::Parent { parent, epoch } => write!(f, "PARENT({parent}, epoch {epoch})"),
        }
    }
}
