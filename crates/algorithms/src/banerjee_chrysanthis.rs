//! Banerjee and Chrysanthis' mutex: one token, and one node that collects requests. The collector puts what it
//! has collected into the token as a queue; the last node of the queue is the next collector. Source: 000
//! sec. II. Page: `docs/algorithms/banerjee-chrysanthis.md`.

use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, Timer, UNUSED_INPUT, Wait};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OptionInfo, Scope, TimerInfo, Tokens};
use crate::picture::{Contents, Picture};
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};

mod defects;
#[cfg(test)]
mod paper;

pub use defects::Defect;

/// Armed while a collector with an idle token waits for more requests.
const COLLECT: Timer = 0;

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BanerjeeChrysanthis {
    /// The newest collector that this node has heard of.
    collector: NodeId,
    /// Its number: each collector has a higher one than the collector before it.
    epoch: u32,
    /// The token, if it is here: the nodes that get it next.
    token: Option<Vec<NodeId>>,
    /// Whether the client is inside.
    inside: bool,
    /// At the collector: the requests for the next queue.
    collected: Vec<NodeId>,
    /// Requests that follow a newer collector than this node knows, with its epoch.
    early: Vec<(NodeId, u32)>,
    /// Whether the timer is armed.
    collecting: bool,
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs)] // the fields are explained at the node's state
pub enum Message {
    /// This node requests entry; the sender believes that the receiver is the collector of this epoch.
    Request { origin: NodeId, epoch: u32 },
    /// Requests now go to this collector.
    New { collector: NodeId, epoch: u32 },
    /// The token for the receiver, with the nodes that follow it.
    Token { queue: Vec<NodeId>, collector: NodeId, epoch: u32 },
}

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How long an idle token waits for more requests, in hops.
    collect: u32,
    /// Whether NEW goes also to the nodes of the queue.
    news_to_all: bool,
    defect: Option<Defect>,
}

impl Algorithm for BanerjeeChrysanthis {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "banerjee-chrysanthis",
        title: "one token, its queue filled by a request collector that moves",
        kind: Kind::Mutex,
        source: "000 sec. II (Banerjee and Chrysanthis 1996)",
        cost: "0 at the idle collector; n + 1 alone; 2 + (n - 1)/b for a queue of b",
        tokens: Tokens::One,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: true,
        options: &[
            OptionInfo::number(
                "collect",
                "2",
                "how many hops an idle token waits for more requests (2 if not set; 0: not at all)",
            ),
            OptionInfo::choice(
                "news",
                &["all", "rest"],
                "who is told about a new collector: all nodes, or those that do not see the token",
            ),
        ],
        timers: &[TimerInfo {
            name: "collect",
            when_it_expires: "the collector puts the collected requests into the token and sends it",
        }],
        sometimes: &[
            "a late request was forwarded",
            "a request came before the news that it follows",
            "the news came too late to matter",
            "a collector appended itself",
            "a queue had several nodes",
        ],
        suite: &[
            Scope::new(1, 1, 2).firings(1, 2),
            Scope::new(2, 1, 3).firings(1, 2),
            Scope::new(3, 1, 1).firings(1, 2),
            Scope::new(3, 1, 2).with(&[("news", "rest")]).firings(1, 2),
            Scope::new(4, 1, 1).with(&[("news", "rest")]).firings(1, 2),
            Scope::new(3, 1, 1).with(&[("collect", "0")]),
            Scope::new(3, 1, 2).with(&[("news", "rest"), ("collect", "0")]),
            Scope::new(4, 1, 1).with(&[("news", "rest"), ("collect", "0")]),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules {
            collect: setting.number("collect", 2),
            news_to_all: setting.option("news") != Some("rest"),
            defect: Defect::of(setting),
        })
    }

    fn start(site: &Site<'_, Self>) -> Self {
        BanerjeeChrysanthis {
            collector: 0,
            epoch: 0,
            token: (site.me == 0).then(Vec::new),
            inside: false,
            collected: Vec::new(),
            early: Vec::new(),
            collecting: false,
        }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => self.exit(site, out),
            Input::Deliver { message: Message::Request { origin, epoch }, .. } => {
                self.on_request(site, origin, epoch, out);
            }
            Input::Deliver { message: Message::New { collector, epoch }, .. } => {
                if epoch <= self.epoch {
                    out.note("the news came too late to matter");
                }
                self.learn(site, (collector, epoch), site.has_defect(Defect::NewsNotCompared), out);
            }
            Input::Deliver { message: Message::Token { queue, collector, epoch }, .. } => {
                self.learn(site, (collector, epoch), false, out);
                self.token = Some(queue);
                self.inside = true;
                out.enter();
            }
            Input::Expire(_) => {
                self.collecting = false;
                self.dispatch(site, out);
            }
            Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        census.queue_of(self.collected.iter().copied());
        census.queue_of(self.early.iter().map(|&(origin, _)| origin));
        if let Some(queue) = &self.token {
            census.token_here();
            census.queue_of(queue.iter().copied());
        }
    }

    fn count_message(message: &Message, to: NodeId, census: &mut Census) {
        match message {
            Message::Request { origin, .. } => census.request_of(*origin),
            Message::New { .. } => {}
            Message::Token { queue, .. } => {
                census.token_moving();
                census.request_of(to);
                census.queue_of(queue.iter().copied());
            }
        }
    }

    fn allows_renaming(_: &Rules, _: &Renaming) -> bool {
        true
    }

    fn rename(&mut self, _: &Rules, renaming: &Renaming) {
        renaming.rename([&mut self.collector]);
        renaming.rename(self.token.iter_mut().flatten());
        renaming.rename(&mut self.collected);
        renaming.rename(self.early.iter_mut().map(|(origin, _)| origin));
    }

    fn rename_message(message: &mut Message, renaming: &Renaming) {
        match message {
            Message::Request { origin, .. } => renaming.rename([origin]),
            Message::New { collector, .. } => renaming.rename([collector]),
            Message::Token { queue, collector, .. } => {
                renaming.rename(queue);
                renaming.rename([collector]);
            }
        }
    }

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        picture.token_if(self.token.is_some());
        picture.point("collector", (self.collector != site.me).then_some(self.collector));
        picture.queue(self.token.iter().flatten().copied());
        picture.keep(self.collected.iter().copied());
        picture.keep(self.early.iter().map(|&(origin, _)| origin));
        picture.fact("epoch", self.epoch);
    }

    fn draw_message(message: &Message) -> Contents {
        match message {
            Message::Request { origin, .. } => Contents::request(*origin),
            Message::New { .. } => Contents::default(),
            Message::Token { .. } => Contents::token(0),
        }
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request { .. } => "REQUEST",
            Message::New { .. } => "NEW",
            Message::Token { .. } => "TOKEN",
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request { .. } | Message::New { .. } => 5,
            Message::Token { queue, .. } => 5 + queue.len() as u32,
        }
    }
}

type Context<'a> = Site<'a, BanerjeeChrysanthis>;
type Out<'a> = Outbox<'a, BanerjeeChrysanthis>;

impl BanerjeeChrysanthis {
    fn request(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        if self.collector != site.me {
            let request = Message::Request { origin: site.me, epoch: self.epoch };
            return out.send(self.collector, request);
        }
        if self.token.is_none() {
            // A collector gets the token at the end of the queue, so until then its own client waits.
            return out.never("a collector that does not wait has no token");
        }
        if self.collected.is_empty() {
            self.inside = true;
            return out.enter();
        }
        out.note("a collector appended itself");
        self.collected.push(site.me);
    }

    fn exit(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        self.inside = false;
        match self.token.take() {
            None => out.never("a client leaves and there is no token"),
            Some(queue) if queue.is_empty() => {
                if self.collector != site.me {
                    out.never("the token rests at a node that no node sends requests to");
                }
                self.token = Some(queue);
                self.ready(site, out);
            }
            Some(queue) => self.pass(queue, out),
        }
    }

    fn on_request(&mut self, site: &Context<'_>, origin: NodeId, epoch: u32, out: &mut Out<'_>) {
        if self.collector == site.me {
            self.collected.push(origin);
            return self.ready(site, out);
        }
        if epoch > self.epoch && !site.has_defect(Defect::EarlyForwarded) {
            out.note("a request came before the news that it follows");
            return self.early.push((origin, epoch));
        }
        if epoch >= self.epoch {
            out.never("a request is forwarded to no newer collector");
        }
        out.note("a late request was forwarded");
        if !site.has_defect(Defect::LateDropped) {
            out.send(self.collector, Message::Request { origin, epoch: self.epoch });
        }
    }

    /// Takes note of a collector, if it is newer than the one known here, or in any case.
    fn learn(
        &mut self,
        site: &Context<'_>,
        (collector, epoch): (NodeId, u32),
        in_any_case: bool,
        out: &mut Out<'_>,
    ) {
        if epoch <= self.epoch && !in_any_case {
            return;
        }
        if !self.collected.is_empty() {
            out.never("a collector with requests hears of a newer one");
        }
        (self.collector, self.epoch) = (collector, epoch);
        for (origin, epoch) in core::mem::take(&mut self.early) {
            self.on_request(site, origin, epoch, out);
        }
    }

    /// Lets the token go to the collected requests, if it is idle and there are any.
    fn ready(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let idle = self.token.is_some() && (!self.inside || site.has_defect(Defect::SentWhileInside));
        if !idle || self.collected.is_empty() || self.collecting {
            return;
        }
        if site.rules.collect == 0 {
            return self.dispatch(site, out);
        }
        self.collecting = true;
        out.arm(COLLECT, Wait { hops: site.rules.collect, sections: 0 });
    }

    fn dispatch(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        let queue = core::mem::take(&mut self.collected);
        let ends = if site.has_defect(Defect::HeadAnnounced) { queue.first() } else { queue.last() };
        let (Some(&collector), Some(_)) = (ends, self.token.take()) else {
            return out.never("a collector sends the token, and has no token or no requests");
        };
        if queue.len() > 1 {
            out.note("a queue had several nodes");
        }
        self.epoch += 1;
        self.collector = collector;
        let news = Message::New { collector, epoch: self.epoch };
        self.pass(queue.clone(), out);
        for to in site.others().filter(|to| site.rules.news_to_all || !queue.contains(to)) {
            out.send(to, news.clone());
        }
    }

    /// Sends the token to the first node of its queue.
    fn pass(&mut self, mut queue: Vec<NodeId>, out: &mut Out<'_>) {
        let head = queue.remove(0);
        out.send(head, Message::Token { queue, collector: self.collector, epoch: self.epoch });
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request { origin, epoch } => write!(f, "REQUEST({origin}, epoch {epoch})"),
            Message::New { collector, epoch } => write!(f, "NEW(collector {collector}, epoch {epoch})"),
            Message::Token { queue, collector, epoch } => {
                write!(f, "TOKEN(collector {collector}, epoch {epoch}, queue")?;
                queue.iter().try_for_each(|node| write!(f, " {node}"))?;
                f.write_str(")")
            }
        }
    }
}
