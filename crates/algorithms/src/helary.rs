//! Hélary, Mostéfaoui and Raynal's general scheme: one token and a tree of fathers. A node that gets a request
//! either passes it on and makes the requester its father (transit), or asks for the token itself and lends it
//! (proxy). Sources: 002 sec. 2 and table 2. Page: `docs/algorithms/helary.md`.

use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OptionInfo, Tokens};
use crate::picture::{Contents, Picture};
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};

mod defects;
#[cfg(test)]
mod paper;
mod rules;

pub use defects::Defect;
pub use rules::{Behaviour, Rules, Tree};

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Helary {
    /// The next node on the way to the owner of the token; `None` at the owner.
    father: Option<NodeId>,
    /// Whether the token is here.
    token: bool,
    /// Whether this node waits for the token, or is inside, or waits for its token to come back.
    asking: bool,
    /// The node that gets the token back; this node if the token is its own.
    lender: NodeId,
    /// The node for which this node has asked for the token.
    mandator: Option<NodeId>,
    /// Requests that wait while this node asks, and its own.
    queue: Vec<NodeId>,
}

/// What nodes send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// This node asks for the token.
    Request(NodeId),
    /// The token, lent by this node; or given for good, or back.
    Token(Option<NodeId>),
}

impl Algorithm for Helary {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "helary",
        title: "one token and a tree, requests are passed on or the token is lent",
        kind: Kind::Mutex,
        source: "002 sec. 2 and table 2 (Helary, Mostefaoui and Raynal 1994)",
        cost: "0 if the token is here; transit about log n; proxy on a star 3(n - 1)/n",
        tokens: Tokens::One,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: true,
        options: &[
            OptionInfo::choice(
                "behaviour",
                &["transit", "proxy", "open-cube", "any"],
                "what a node does with a request; any: drawn for each request; proxy on tree=chain is not fair under load",
            )
            .implying(&[("open-cube", "tree", "cube")]),
            OptionInfo::choice(
                "tree",
                &["star", "chain", "cube"],
                "the tree that joins the nodes at first (cube if not set and behaviour=open-cube)",
            ),
        ],
        timers: &[],
        sometimes: &[
            "a request was passed on",
            "the token was given",
            "the token was lent",
            "a loan was passed on",
            "a request was queued",
            "a proxy got the token for good and lent it",
        ],
        suite: rules::SUITE,
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules::of(setting))
    }

    fn start(site: &Site<'_, Self>) -> Self {
        Helary {
            father: site.rules.tree.father(site.me),
            token: site.me == 0,
            asking: false,
            lender: site.me,
            mandator: None,
            queue: Vec::new(),
        }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.arrive(site, site.me, out),
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { message: Message::Request(origin), .. } => self.arrive(site, origin, out),
            Input::Deliver { from, message: Message::Token(lender) } => {
                self.on_token(site, from, lender, out);
            }
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, site: &Site<'_, Self>, census: &mut Census) {
        if self.token {
            census.token_here();
        }
        census.queue(self.queue.len());
        // A proxy asks in its own name, so only what a node keeps for its own client is a client's request.
        let own = self.queue.iter().chain(&self.mandator).filter(|&&node| node == site.me);
        own.for_each(|&node| census.request_of(node));
    }

    fn count_message(message: &Message, _: NodeId, census: &mut Census) {
        if let Message::Token(_) = message {
            census.token_moving();
        }
    }

    fn allows_renaming(rules: &Rules, _: &Renaming) -> bool {
        rules.is_symmetric()
    }

    fn rename(&mut self, _: &Rules, renaming: &Renaming) {
        renaming.rename(&mut self.father);
        renaming.rename(&mut self.mandator);
        renaming.rename([&mut self.lender]);
        renaming.rename(&mut self.queue);
    }

    fn rename_message(message: &mut Message, renaming: &Renaming) {
        match message {
            Message::Request(origin) => renaming.rename([origin]),
            Message::Token(lender) => renaming.rename(lender),
        }
    }

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        let other = |node: NodeId| (node != site.me).then_some(node);
        picture.token_if(self.token);
        picture.point("father", self.father);
        picture.point("lender", other(self.lender));
        picture.tie("asks for", self.mandator.and_then(other));
        picture.keep(self.queue.iter().copied());
    }

    fn draw_message(message: &Message) -> Contents {
        match message {
            Message::Request(origin) => Contents::request(*origin),
            Message::Token(_) => Contents::token(0),
        }
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request(_) => "REQUEST",
            Message::Token(_) => "TOKEN",
        }
    }

    fn words(_: &Message) -> u32 {
        4
    }
}

type Context<'a> = Site<'a, Helary>;
type Out<'a> = Outbox<'a, Helary>;

impl Helary {
    /// A request of this node's client or of another node.
    fn arrive(&mut self, site: &Context<'_>, origin: NodeId, out: &mut Out<'_>) {
        if self.asking {
            out.note("a request was queued");
            return self.queue.push(origin);
        }
        self.serve(site, origin, out);
    }

    fn serve(&mut self, site: &Context<'_>, origin: NodeId, out: &mut Out<'_>) {
        if origin == site.me {
            self.asking = true;
            if self.token {
                return out.enter();
            }
            return self.ask(site, origin, out);
        }
        if site.rules.is_transit(site, self.father, origin, out) {
            self.pass_on(site, origin, out);
        } else {
            self.stand_in(site, origin, out);
        }
    }

    fn pass_on(&mut self, site: &Context<'_>, origin: NodeId, out: &mut Out<'_>) {
        match self.father {
            _ if self.token => {
                out.note("the token was given");
                self.token = false;
                out.send(origin, Message::Token(None));
            }
            Some(father) => {
                out.note("a request was passed on");
                out.send(father, Message::Request(origin));
            }
            None => out.never("a request has nowhere to go"),
        }
        if !site.has_defect(Defect::FatherKept) {
            self.father = Some(origin);
        }
    }

    fn stand_in(&mut self, site: &Context<'_>, origin: NodeId, out: &mut Out<'_>) {
        self.asking = !site.has_defect(Defect::LenderNotAsking);
        if !self.token {
            return self.ask(site, origin, out);
        }
        self.lend(site, origin, out);
    }

    /// Asks for the token in this node's own name, for this node.
    fn ask(&mut self, site: &Context<'_>, mandator: NodeId, out: &mut Out<'_>) {
        self.mandator = Some(mandator);
        match self.father {
            Some(father) if father != site.me => out.send(father, Message::Request(site.me)),
            _ => out.never("a request has nowhere to go"),
        }
    }

    fn lend(&mut self, site: &Context<'_>, to: NodeId, out: &mut Out<'_>) {
        out.note("the token was lent");
        self.token = false;
        out.send(to, Message::Token(Some(site.me)));
    }

    fn on_token(&mut self, site: &Context<'_>, from: NodeId, lender: Option<NodeId>, out: &mut Out<'_>) {
        self.token = true;
        let mandator = self.mandator.take();
        match (mandator, lender) {
            (None, None) => self.asking = false,
            (None, Some(_)) => return out.never("a loan comes to a node that asked for nothing"),
            (Some(_), None) => self.father = None,
            (Some(_), Some(_)) if site.has_defect(Defect::LoanKeepsFather) => {}
            (Some(_), Some(_)) => self.father = Some(from),
        }
        match (mandator, lender) {
            (None, _) => {}
            (Some(node), _) if node == site.me => {
                self.lender = lender.unwrap_or(site.me);
                return out.enter();
            }
            (Some(node), None) => {
                out.note("a proxy got the token for good and lent it");
                return self.lend(site, node, out);
            }
            (Some(node), Some(_)) => {
                out.note("a loan was passed on");
                self.token = false;
                self.asking = site.has_defect(Defect::AskingKept);
                out.send(node, Message::Token(lender));
            }
        }
        self.serve_queue(site, out);
    }

    fn exit(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.asking = false;
        let lender = core::mem::replace(&mut self.lender, site.me);
        if lender != site.me {
            self.token = false;
            out.send(lender, Message::Token(None));
        }
        self.serve_queue(site, out);
    }

    fn serve_queue(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        while !self.asking && !self.queue.is_empty() {
            let origin = self.queue.remove(0);
            self.serve(site, origin, out);
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(origin) => write!(f, "REQUEST({origin})"),
            Message::Token(Some(lender)) => write!(f, "TOKEN(lent by {lender})"),
            Message::Token(None) => f.write_str("TOKEN"),
        }
    }
}
