//! Carvalho and Roucairol's mutex: Ricart and Agrawala's with lasting permissions. A node asks only the nodes
//! whose permission it does not hold, and keeps a permission until it gives the other node its own. Sources:
//! 001 ch. II, 000 sec. II. Page: `docs/algorithms/carvalho-roucairol.md`.

use alloc::vec;
use alloc::vec::Vec;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, UNUSED_INPUT};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OnlyDefect, Scope, Tokens};
use crate::picture::{Contents, Picture};
use crate::setting::{Setting, SettingError};

mod defects;
#[cfg(test)]
mod paper;

pub use defects::Defect;

/// What nodes send: Ricart and Agrawala's messages. A reply gives the receiver the sender's permission until
/// the receiver replies to a request of the sender.
pub use crate::ricart_agrawala::Message;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CarvalhoRoucairol {
    /// The latest time of any request seen.
    highest: u32,
    /// The time of this node's own request, until it leaves.
    request: Option<u32>,
    /// For each node, whether this node holds its permission; always true for this node itself.
    permitted: Vec<bool>,
    /// The nodes that get a reply when this node leaves, in ascending order.
    deferred: Vec<NodeId>,
}

/// The rules: there are no options.
pub type Rules = OnlyDefect<Defect>;

impl Algorithm for CarvalhoRoucairol {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "carvalho-roucairol",
        title: "permission of all, permissions last until they are asked back",
        kind: Kind::Mutex,
        source: "001 ch. II, 000 sec. II (Carvalho and Roucairol 1983)",
        cost: "0 if no other node asked since; 2(n - 1) at most",
        tokens: Tokens::None,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: false,
        options: &[],
        timers: &[],
        sometimes: &[
            "all permissions were here already",
            "some permissions were here already",
            "a permission was given away and asked for again",
            "a reply was deferred",
        ],
        suite: &[Scope::new(1, 1, 2), Scope::new(2, 1, 3), Scope::new(3, 1, 2), Scope::new(3, 1, 3)],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules { defect: Defect::of(setting) })
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let mut permitted = vec![false; site.nodes as usize];
        permitted[site.me as usize] = true;
        CarvalhoRoucairol { highest: 0, request: None, permitted, deferred: Vec::new() }
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
        census.queue_of(self.deferred.iter().copied());
    }

    fn count_message(_: &Message, _: NodeId, _: &mut Census) {}

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        let permitted = site.others().filter(|&node| self.permitted[node as usize]);
        picture.tie("permission", permitted);
        picture.keep(self.deferred.iter().copied());
        picture.fact_if("request", self.request);
        picture.fact("clock", self.highest);
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

type Context<'a> = Site<'a, CarvalhoRoucairol>;
type Out<'a> = Outbox<'a, CarvalhoRoucairol>;

impl CarvalhoRoucairol {
    fn request(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.highest += 1;
        self.request = Some(self.highest);
        if self.all_permitted() {
            out.note("all permissions were here already");
            return out.enter();
        }
        for to in site.others() {
            if self.permitted[to as usize] {
                out.note("some permissions were here already");
            } else {
                out.send(to, Message::Request(self.highest));
            }
        }
    }

    fn exit(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.request = None;
        for to in core::mem::take(&mut self.deferred) {
            self.give(site, to, out);
        }
    }

    fn on_request(&mut self, site: &Context<'_>, from: NodeId, time: u32, out: &mut Out<'_>) {
        self.highest = self.highest.max(time);
        let older = self.request.is_some_and(|mine| (mine, site.me) < (time, from));
        // A node that holds all permissions asked no other node, so a request that arrives while it is inside
        // may be older than its own.
        let inside = self.request.is_some() && self.all_permitted();
        if older || inside && !site.has_defect(Defect::InsideComparesTimes) {
            out.note("a reply was deferred");
            let index = self.deferred.partition_point(|&node| node < from);
            self.deferred.insert(index, from);
            return;
        }
        let had = self.permitted[from as usize];
        self.give(site, from, out);
        // Without the permission, this node's own request is already on its way to the other node.
        let asks_again = had && !site.has_defect(Defect::NotAskedAgain);
        if let Some(mine) = self.request.filter(|_| asks_again) {
            out.note("a permission was given away and asked for again");
            out.send(from, Message::Request(mine));
        }
    }

    fn on_reply(&mut self, from: NodeId, out: &mut Out<'_>) {
        if self.request.is_none() || self.permitted[from as usize] {
            return out.never("a permission comes that was not asked for");
        }
        self.permitted[from as usize] = true;
        if self.all_permitted() {
            out.enter();
        }
    }

    fn give(&mut self, site: &Context<'_>, to: NodeId, out: &mut Out<'_>) {
        if !site.has_defect(Defect::PermissionKept) {
            self.permitted[to as usize] = false;
        }
        out.send(to, Message::Reply);
    }

    fn all_permitted(&self) -> bool {
        self.permitted.iter().all(|&permitted| permitted)
    }
}
