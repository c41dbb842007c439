//! Srimani and Reddy's k-mutex, as the thesis modified it: Suzuki and Kasami's broadcast with k privileges,
//! each with a queue and a record of the served requests. Every holder of a free privilege sends it to a
//! requester, so a lone requester collects all of them. Sources: 001 ch. III and app. A. Page:
//! `docs/algorithms/srimani-reddy.md`.

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

pub use defects::Defect;

/// A node's state.
///
/// The text keeps a record LN with every privilege and a record PLN with every node. Here a privilege has its
/// record only while it moves: on arrival the record is merged into the node's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SrimaniReddy {
    /// For each node, the highest number of its requests that is known here (RN).
    asked: Vec<u32>,
    /// For each node, the highest number of a request for which a privilege was sent, as far as this node
    /// knows (PLN; for this node itself: its last served request).
    served: Vec<u32>,
    /// How many privileges are here and not in use. Their queues are empty.
    idle: u32,
    /// The queue of the privilege in use while the client is inside.
    inside: Option<Vec<NodeId>>,
    /// Whether the client waits.
    waiting: bool,
    /// LN of the idle privileges, as printed: empty unless a defect asks for it.
    printed_last: Vec<u32>,
}

/// What nodes send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs)] // the fields are named after those of the state
pub enum Message {
    /// The sender requests entry, with this number.
    Request(u32),
    /// A privilege, with its queue and the record of served requests (Q and LN).
    Privilege { queue: Vec<NodeId>, served: Vec<u32> },
}

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether a node that leaves records that the receiver of its privilege is served.
    marks_receiver: bool,
    defect: Option<Defect>,
}

impl Algorithm for SrimaniReddy {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

    const INFO: Info = Info {
        name: "srimani-reddy",
        title: "k privileges with queues, requests broadcast",
        kind: Kind::KMutex,
        source: "001 ch. III and app. A (Srimani and Reddy 1992)",
        cost: "0 if a privilege is here, else at most n+k−1",
        tokens: Tokens::PerSlot,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
        unique_requests: false,
        options: &[OptionInfo::choice(
            "receiver",
            &["unmarked", "marked"],
            "whether a node that leaves records that it has sent the next node a privilege; unmarked: as printed",
        )],
        timers: &[],
        sometimes: &[
            "a request came after it had been served",
            "a privilege came that was not needed",
            "a privilege that was not needed went on",
            "a privilege knew of a request before it came",
        ],
        suite: &[
            Scope::new(1, 1, 2),
            Scope::new(2, 1, 3),
            Scope::new(2, 2, 2),
            Scope::new(3, 1, 2),
            Scope::new(3, 2, 1),
            Scope::new(3, 2, 2).fifo(),
            Scope::new(3, 3, 1),
            Scope::new(3, 1, 2).with(&[("receiver", "marked")]),
            Scope::new(3, 2, 2).with(&[("receiver", "marked")]).fifo(),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        Ok(Rules {
            marks_receiver: setting.option("receiver") == Some("marked"),
            defect: Defect::of(setting),
        })
    }

    fn start(site: &Site<'_, Self>) -> Self {
        let none = vec![0; site.nodes as usize];
        SrimaniReddy {
            asked: none.clone(),
            served: none.clone(),
            idle: u32::from(site.me < site.tokens),
            inside: None,
            waiting: false,
            printed_last: if site.has_defect(Defect::OnlyTheNextNumber) { none } else { Vec::new() },
        }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { .. } => self.request(site, out),
            Input::Exit { .. } => match self.inside.take() {
                Some(queue) => self.hand_on(site, queue, site.rules.marks_receiver, out),
                None => out.never("a client leaves and there is no privilege"),
            },
            Input::Deliver { from, message: Message::Request(number) } => {
                self.on_request(site, from, number, out);
            }
            Input::Deliver { message: Message::Privilege { queue, served }, .. } => {
                self.on_privilege(site, queue, &served, out);
            }
            Input::Expire(_) | Input::Cancel { .. } => out.never(UNUSED_INPUT),
        }
        if self.idle > 0 && site.others().any(|node| self.waits(node)) {
            out.never("a privilege stays idle and a request is known here");
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        (0..self.idle).for_each(|_| census.token_here());
        if let Some(queue) = &self.inside {
            census.token_here();
            census.queue_of(queue.iter().copied());
        }
    }

    fn count_message(message: &Message, _: NodeId, census: &mut Census) {
        if let Message::Privilege { queue, .. } = message {
            census.token_moving();
            census.queue_of(queue.iter().copied());
        }
    }

    fn draw(&self, _: &Site<'_, Self>, picture: &mut Picture) {
        let here = self.idle as usize + usize::from(self.inside.is_some());
        picture.tokens.extend(core::iter::repeat_n(0, here));
        picture.queue(self.inside.iter().flatten().copied());
        picture.numbers("requests known", &self.asked);
        picture.numbers("requests served", &self.served);
    }

    fn draw_message(message: &Message) -> Contents {
        match message {
            Message::Request(_) => Contents::default(),
            Message::Privilege { .. } => Contents::token(0),
        }
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request(_) => "REQUEST",
            Message::Privilege { .. } => "PRIVILEGE",
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request(_) => 4,
            Message::Privilege { queue, served } => 3 + (served.len() + queue.len()) as u32,
        }
    }
}

type Context<'a> = Site<'a, SrimaniReddy>;
type Out<'a> = Outbox<'a, SrimaniReddy>;

/// The handlers; P1 to P6 are the procedures of the text.
impl SrimaniReddy {
    /// P1 up to the critical section.
    fn request(&mut self, site: &Context<'_>, out: &mut Out<'_>) {
        if self.idle > 0 {
            self.idle -= 1;
            self.inside = Some(Vec::new());
            return out.enter();
        }
        self.waiting = true;
        let number = &mut self.asked[site.me as usize];
        if !site.has_defect(Defect::NumberNotRaised) {
            *number += 1;
        }
        out.broadcast(site, &Message::Request(*number));
    }

    /// P2.
    fn on_request(&mut self, site: &Context<'_>, from: NodeId, number: u32, out: &mut Out<'_>) {
        let index = from as usize;
        self.asked[index] = self.asked[index].max(number);
        // A node makes a new request only after its previous one was served.
        self.served[index] = self.served[index].max(self.asked[index].saturating_sub(1));
        if !self.waits(from) {
            out.note("a request came after it had been served");
        }
        let due = match self.printed_last.get(index) {
            Some(last) => self.asked[index] == last + 1,
            None => self.waits(from),
        };
        if self.idle > 0 && due {
            self.idle -= 1;
            let shadowed = site.has_defect(Defect::LoopShadowsRequester);
            let to = if shadowed { site.others().last().unwrap_or(from) } else { from };
            self.mark(to);
            self.send_privilege(to, Vec::new(), out);
        }
    }

    /// P4, and P5 if the privilege is what the client waits for.
    fn on_privilege(&mut self, site: &Context<'_>, queue: Vec<NodeId>, served: &[u32], out: &mut Out<'_>) {
        let me = site.me as usize;
        for node in site.others().map(|node| node as usize) {
            self.learn(site, node, served[node], out);
        }
        if self.waiting {
            self.waiting = false;
            self.served[me] = self.asked[me];
            self.inside = Some(queue);
            out.enter();
        } else {
            // Each privilege arrives at most once for each request, and the first one to arrive is needed.
            if site.tokens == 1 {
                out.never("the only privilege comes to a node that does not wait");
            }
            out.note("a privilege came that was not needed");
            let idle = self.idle;
            self.hand_on(site, queue, true, out);
            if self.idle == idle {
                out.note("a privilege that was not needed went on");
                if site.has_defect(Defect::BranchWithoutBlock) {
                    self.idle += 1;
                }
            }
        }
    }

    /// The first part of P6, for one other node: merges what a privilege and this node know of it.
    fn learn(&mut self, site: &Context<'_>, node: usize, served: u32, out: &mut Out<'_>) {
        if served > self.asked[node] {
            out.note("a privilege knew of a request before it came");
            if site.has_defect(Defect::RecordGoesBack) {
                return;
            }
        }
        self.served[node] = self.served[node].max(served);
    }

    /// The rest of P6, and what follows it in P1 and P4: the privilege goes to the head of its queue or
    /// stays. P4 marks the head as served; P1 as printed does not.
    fn hand_on(&mut self, site: &Context<'_>, mut queue: Vec<NodeId>, marks: bool, out: &mut Out<'_>) {
        queue.retain(|&node| self.asked[node as usize] != self.served[node as usize]);
        for node in site.others() {
            if self.waits(node) && !queue.contains(&node) {
                queue.push(node);
            }
        }
        if queue.is_empty() {
            self.idle += 1;
            if site.has_defect(Defect::OnlyTheNextNumber) {
                self.printed_last = self.served.clone();
            }
        } else {
            let head = queue.remove(0);
            if marks {
                self.mark(head);
            }
            self.send_privilege(head, queue, out);
        }
    }

    /// Records that the node's request is served: a privilege goes to it.
    fn mark(&mut self, node: NodeId) {
        let index = node as usize;
        self.served[index] = self.served[index].max(self.asked[index]);
    }

    fn send_privilege(&mut self, to: NodeId, queue: Vec<NodeId>, out: &mut Out<'_>) {
        out.send(to, Message::Privilege { queue, served: self.served.clone() });
    }

    /// Whether this node knows a request of the node, and of no privilege sent for it.
    fn waits(&self, node: NodeId) -> bool {
        let node = node as usize;
        self.asked[node] > self.served[node]
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(number) => write!(f, "REQUEST({number})"),
            Message::Privilege { queue, served } => {
                f.write_str("PRIVILEGE(queue")?;
                queue.iter().try_for_each(|node| write!(f, " {node}"))?;
                f.write_str(", served")?;
                served.iter().try_for_each(|number| write!(f, " {number}"))?;
                f.write_str(")")
            }
        }
    }
}
