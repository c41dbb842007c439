//! Singhal's mutex with dynamic request sets: permission of all, but of two nodes at any time only one has to
//! ask the other. At the start each node asks the nodes below it; a node that replies asks the other one from
//! then on. Source: 001 ch. II (Singhal 1989 and 1992). Page: `docs/algorithms/singhal-dynamic.md`.

use alloc::vec::Vec;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OnlyDefect, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::setting::{Setting, SettingError};
use crate::sorted;

mod defects;
#[cfg(test)]
mod paper;

pub use defects::Defect;

/// What nodes send: Ricart and Agrawala's messages. A reply frees the receiver from asking the sender until
/// the receiver replies to a request of the sender.
pub use crate::ricart_agrawala::Message;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SinghalDynamic {
    /// The latest time of any request seen.
    clock: u32,
    /// The time of this node's own request, until it leaves.
    request: Option<u32>,
    /// The nodes whose permission this node needs (the request set), in ascending order.
    ask: Vec<NodeId>,
    /// The nodes that get a reply when this node leaves (the inform set), in ascending order.
    inform: Vec<NodeId>,
}

/// The rules: there are no options.
pub type Rules = OnlyDefect<Defect>;

impl Algorithm for SinghalDynamic {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "singhal-dynamic",
        title: "permission of a request set that changes: of two nodes one asks the other",
        kind: Kind::Mutex,
        source: "001 ch. II (Singhal 1989 and 1992)",
        cost: "0 to 2(n - 1); about n - 1 at light load",
        tokens: Tokens::None,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: false,
        options: &[],
        timers: &[],
        sometimes: &[
            "no node had to be asked",
            "only some nodes had to be asked",
            "a waiting node asked a node that it had passed over",
            "a reply was deferred",
        ],
        suite: &[
            Scope::new(1, 1, 2),
            Scope::new(2, 1, 3),
            Scope::new(3, 1, 2),
            Scope::new(3, 1, 3),
            Scope::new(4, 1, 1),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules { defect: Defect::of(setting) })
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let below = if site.has_defect(Defect::NoStaircase) { 0 } else { site.me };
        SinghalDynamic { clock: 0, request: None, ask: (0..below).collect(), inform: Vec::new() }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { from, message: Message::Request(time) } => {
                self.on_request(site, from, time, out);
            }
            Input::Deliver { from, message: Message::Reply } => self.on_reply(from, out),
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        census.queue_of(self.inform.iter().copied());
    }

    fn count_message(_: &Message, _: NodeId, _: &mut Census) {}

    fn draw(&self, _: &Site<'_, Self>, picture: &mut Picture) {
        picture.tie("asks", self.ask.iter().copied());
        picture.keep(self.inform.iter().copied());
        picture.fact_if("request", self.request);
        picture.fact("clock", self.clock);
    }

    fn draw_message(_: &Message) -> Contents {
        Contents::default()
    }

    fn kind(message: &Message) -> &'static str {
        message.kind()
    }

    fn words(message: &Message) -> u32 {
        message.words()
    }
}

type Context<'a> = Site<'a, SinghalDynamic>;
type Out<'a> = Outbox<'a, SinghalDynamic>;

impl SinghalDynamic {
    fn request(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.clock += 1;
        self.request = Some(self.clock);
        if self.ask.is_empty() {
            out.note("no node had to be asked");
            return out.enter();
        }
        if self.ask.len() + 1 < site.nodes as usize {
            out.note("only some nodes had to be asked");
        }
        self.ask.iter().for_each(|&to| out.send(to, Message::Request(self.clock)));
    }

    fn exit(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.request = None;
        for to in core::mem::take(&mut self.inform) {
            out.send(to, Message::Reply);
            if !site.has_defect(Defect::ExitKeepsSet) {
                sorted::insert(&mut self.ask, to);
            }
        }
    }

    fn on_request(&mut self, site: &Context<'_>, from: NodeId, time: u32, out: &mut Out<'_>) {
        if !site.has_defect(Defect::ClockNotRaised) {
            self.clock = self.clock.max(time);
        }
        let Some(mine) = self.request else {
            out.send(from, Message::Reply);
            if !site.has_defect(Defect::IdleKeepsSet) {
                sorted::insert(&mut self.ask, from);
            }
            return;
        };
        // A node that has nobody to ask is inside. It may have entered unasked with a younger request.
        if self.ask.is_empty() || (mine, site.me) < (time, from) {
            out.note("a reply was deferred");
            return sorted::insert(&mut self.inform, from);
        }
        out.send(from, Message::Reply);
        // A node that is in the set has this node's request already, or gets it.
        if !self.ask.contains(&from) {
            sorted::insert(&mut self.ask, from);
            if !site.has_defect(Defect::NotAskedAgain) {
                out.note("a waiting node asked a node that it had passed over");
                out.send(from, Message::Request(mine));
            }
        }
    }

    fn on_reply(&mut self, from: NodeId, out: &mut Out<'_>) {
        let Some(index) = self.ask.iter().position(|&node| node == from).filter(|_| self.request.is_some())
        else {
            return out.never("a reply comes that was not asked for");
        };
        self.ask.remove(index);
        if self.ask.is_empty() {
            out.enter();
        }
    }
}
