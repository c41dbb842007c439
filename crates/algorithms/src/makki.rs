//! Makki et al.'s k-mutex: one token with a queue and a semaphore. The last node of the queue is the "good
//! site", to which all other nodes send the next requests. A node passes the token on as it enters, and its
//! RELEASE goes to the node that will find the semaphore used up. As published it is correct only if message
//! delays are bounded and all critical sections have the same length; with the queue in RELEASE, as the thesis
//! proposes, it needs neither. Source: 001 ch. III sec. B.2 and ch. V. Page: `docs/algorithms/makki.md`.

use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use crate::algorithm::{Algorithm, Input, NodeId, Outbox, Site, Timer, Wait};
use crate::census::Census;
use crate::info::{Clients, Info, Kind, Needs, OptionInfo, Scope, TimerInfo, Timing, Tokens};
use crate::picture::{Contents, Picture};
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};

mod bare;
mod defects;
#[cfg(test)]
mod paper;
mod rounds;
#[cfg(test)]
mod timed;

use bare::Bare;
pub use defects::Defect;
use rounds::{Content, Rounds};

/// Armed while a good site that has announced its successor collects late requests.
const COLLECT: Timer = 0;

/// A request sent before the announcement arrived is here two hops after the announcement was sent.
const LATE: Wait = Wait { hops: 2, sections: 0 };

/// What [`Outbox::never`] reports for a message of the form that is not in use.
const OTHER_FORM: &str = "a message comes that only the other form of RELEASE has";

type Context<'a> = Site<'a, Makki>;
type Out<'a> = Outbox<'a, Makki>;

/// A node's state, by what RELEASE carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the modules explain their forms
pub enum Makki {
    Bare(Bare),
    Rounds(Rounds),
}

/// The options.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether RELEASE carries the queue behind its receiver.
    queue_in_release: bool,
    /// Whether the token goes to the good site as soon as its rights are used up.
    straight: bool,
    defect: Option<Defect>,
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
    /// With the queue in RELEASE every message names a round of the token.
    Numbered { round: u32, content: Content },
}

impl Algorithm for Makki {
    type Message = Message;
    type Durable = ();
    type Rules = Rules;

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
        options: &[
            OptionInfo::choice(
                "release",
                &["bare", "queue"],
                "what RELEASE carries; queue: the queue behind its receiver, which then enters without the token",
            ),
            OptionInfo::choice(
                "token",
                &["walks", "straight"],
                "where the token goes with release=queue once its rights are used up: on along its queue, or \
                 straight to the last node",
            ),
        ],
        timers: &[TimerInfo { name: "COLLECT", when_it_expires: "the token goes to the head of its queue" }],
        sometimes: &[
            "a late request was put on the queue",
            "a RELEASE came before the token",
            "a good site put itself on the next queue",
            "a node entered by a RELEASE",
            "a request was sent on to the next good site",
            "a request came before the news of its round",
            "requests waited until all rights were back",
            "the token left nodes out",
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
            Scope::new(2, 1, 3).with(QUEUE).firings(3, 9),
            Scope::new(3, 1, 2).with(QUEUE).firings(3, 9),
            Scope::new(3, 2, 2).with(QUEUE).firings(3, 9),
            Scope::new(3, 1, 2).with(STRAIGHT).firings(3, 9),
            Scope::new(3, 3, 2).with(STRAIGHT).firings(3, 9),
            Scope::new(4, 1, 1).with(STRAIGHT).firings(3, 9),
            Scope::new(4, 2, 1).with(STRAIGHT).firings(3, 9),
        ],
        defects: Defect::TABLE,
    };

    fn rules(setting: &Setting) -> Result<Rules, SettingError> {
        let rules = Rules {
            queue_in_release: setting.option("release") == Some("queue"),
            straight: setting.option("token") == Some("straight"),
            defect: Defect::of(setting),
        };
        let refuse = |what: &str| {
            Err(SettingError(format!(
                "{what} is of the form with the queue in RELEASE: say release=queue, too"
            )))
        };
        match (rules.queue_in_release, setting.option("token"), &setting.defect) {
            (false, Some("straight"), _) => refuse("token=straight"),
            (false, _, Some(defect)) => refuse(&format!("the defect {defect}")),
            _ => Ok(rules),
        }
    }

    fn info(rules: &Rules) -> &'static Info {
        if rules.queue_in_release { &WITH_QUEUE } else { const { &Self::INFO } }
    }

    fn start(site: &Site<'_, Self>) -> Self {
        if site.rules.queue_in_release {
            Makki::Rounds(Rounds::start(site))
        } else {
            Makki::Bare(Bare::start(site))
        }
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match self {
            Makki::Bare(node) => node.step(site, input, out),
            Makki::Rounds(node) => node.step(site, input, out),
        }
    }

    fn count(&self, _: &Site<'_, Self>, census: &mut Census) {
        match self {
            Makki::Bare(node) => node.count(census),
            Makki::Rounds(node) => node.count(census),
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
            Message::Numbered { content, .. } => (0..content.rights()).for_each(|_| census.token_moving()),
        }
    }

    fn allows_renaming(_: &Rules, _: &Renaming) -> bool {
        true
    }

    fn rename(&mut self, _: &Rules, renaming: &Renaming) {
        match self {
            Makki::Bare(node) => node.rename(renaming),
            Makki::Rounds(node) => node.rename(renaming),
        }
    }

    fn rename_message(message: &mut Message, renaming: &Renaming) {
        match message {
            Message::Request(origin) => renaming.rename([origin]),
            Message::Update(good) => renaming.rename([good]),
            Message::Release => {}
            Message::Token { queue, .. } => renaming.rename(queue),
            Message::Numbered { content, .. } => content.rename(renaming),
        }
    }

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        match self {
            Makki::Bare(node) => node.draw(site, picture),
            Makki::Rounds(node) => node.draw(site, picture),
        }
    }

    fn draw_message(message: &Message) -> Contents {
        match message {
            Message::Request(origin) => Contents::request(*origin),
            Message::Token { .. } => Contents::token(0),
            Message::Update(_) | Message::Release => Contents::default(),
            Message::Numbered { content, .. } => content.drawn(),
        }
    }

    fn kind(message: &Message) -> &'static str {
        match message {
            Message::Request(_) => "REQUEST",
            Message::Update(_) => "UPDATE",
            Message::Release => "RELEASE",
            Message::Token { .. } => "TOKEN",
            Message::Numbered { content, .. } => content.kind(),
        }
    }

    fn words(message: &Message) -> u32 {
        match message {
            Message::Request(_) | Message::Update(_) => 4,
            Message::Release => 3,
            // The semaphore is two numbers in the text: how many are inside, and how many may be.
            Message::Token { queue, .. } => 5 + queue.len() as u32,
            Message::Numbered { content, .. } => content.words(),
        }
    }
}

const QUEUE: &[(&str, &str)] = &[("release", "queue")];
const STRAIGHT: &[(&str, &str)] = &[("release", "queue"), ("token", "straight")];

/// With the queue in RELEASE. It waits for all rights instead of relying on time. A request of the round's
/// queue stands in the token and in RELEASEs, so it is not in one place. What is conserved are the k rights.
static WITH_QUEUE: Info =
    Info { tokens: Tokens::PerSlot, needs: Needs::RELIABLE, unique_requests: false, ..Makki::INFO };

#[cfg(test)]
impl Makki {
    /// In the bare form: the node that requests go to, and the free rights of the token if it is here.
    fn good_and_free(&self) -> (NodeId, Option<u32>) {
        match self {
            Makki::Bare(node) => node.good_and_free(),
            Makki::Rounds(_) => panic!("the bare form is meant"),
        }
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
            Message::Numbered { round, content } => write!(f, "{content} of round {round}"),
        }
    }
}
