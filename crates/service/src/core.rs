//! The core of a node: what can happen to it, and what comes of it.
//!
//! **The contract.** A driver calls one method for each thing that happens, with the time of its clock, and then empties
//! [`Out`]: messages go to peers in order, each exactly once, and answers to the sessions they are for. When
//! [`Core::wakes_at`] comes, it calls [`Core::wake`]. The same calls give the same answers, in every driver.
//!
//! Sessions and grants follow one rule: somebody else is let in only when the client before has said that it left, or
//! can certainly not believe any more that it is inside.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use algorithms::{Chance, ClientId, NodeId, Origin, Timer, Wait};
use serde::{Deserialize, Serialize};

use self::lease::Lease;
use crate::client::Grant;
use crate::defect::Defect;
use crate::event::{Change, Event};
use crate::name::{self, Definition, Kind};
use crate::refusal::Refusal;
use crate::resource::{Armed, Begin, Content, Deed, Habits, Happening, Place, Resource, Scratch};
use crate::session::{LONGEST_LIFE, Promise, SHORTEST_LIFE, Session, SessionId};
use crate::slab::Slab;
use crate::time::Time;
use crate::view::View;
use crate::wish::Want;

mod definitions;
mod effects;
mod events;
mod exploring;
mod forgetting;
mod lease;
mod leaving;
mod paging;
mod peers;
mod report;
mod requests;
mod revoking;
mod views;

pub use paging::{Cursor, Page};
pub use report::{Held, Listing, Status};

/// What a node is told when it starts.
#[derive(Clone, Debug)]
pub struct Config {
    /// This node's id,
    pub id: u32,
    /// new at every start.
    pub incarnation: u64,
    /// The view it starts in.
    pub view: View,
    /// Whether this node grants only while it has a lease; if not, members are assumed alive.
    pub leased: bool,
    /// How often a local client may pass clients of other nodes that wait.
    pub passes: u32,
    /// What the algorithms' timers take for the time of a message.
    pub hop: Duration,
    /// How long somebody who does not want to wait is willing to ask around.
    pub try_limit: Duration,
    /// How long a token that nobody uses stays where it was used last before it goes home.
    pub linger: Duration,
    /// How long a resource that nobody uses is kept.
    pub keep_idle: Duration,
    /// At most so many clients hold or wait at once,
    pub most_requests: usize,
    /// and so many sessions are open.
    pub most_sessions: usize,
    /// Decides whatever is left to chance.
    pub seed: u64,
    /// A rule to leave out, to see that it is needed.
    pub defect: Option<Defect>,
}

impl Config {
    /// The defaults for a node with this id in this view.
    pub fn new(id: u32, view: View) -> Config {
        Config {
            id,
            incarnation: 1,
            view,
            leased: false,
            passes: 4,
            hop: Duration::from_micros(500),
            try_limit: Duration::from_millis(100),
            linger: Duration::from_secs(10),
            keep_idle: Duration::from_secs(10),
            most_requests: 1_000_000,
            most_sessions: 100_000,
            seed: 1,
            defect: None,
        }
    }
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acquire {
    /// The client's number for this request, higher than all before in its session.
    pub request: u64,
    /// The resource,
    pub name: Arc<str>,
    /// what it is,
    pub definition: Definition,
    /// and what the client wants of it.
    pub want: Want,
    /// How long the client wants to wait: not at all, so long, or for ever.
    pub patience: Patience,
}

/// How long a client wants to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Patience {
    /// Not at all.
    Try,
    /// So long.
    For(Duration),
    /// Until it is let in, or gives up.
    Forever,
}

/// An answer to a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Whose request.
    pub session: SessionId,
    /// The client's number for it.
    pub request: u64,
    /// What became of it.
    pub reply: Reply,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The client is inside.
    Granted {
        /// By this slot,
        slot: u32,
        /// with this fence,
        fence: u64,
        /// in this one of the groups that it named.
        group: u32,
    },
    /// It is not, and does not wait either.
    Refused(Refusal),
    /// It was inside, and somebody took that away by force. It is let go of when the client releases it.
    Revoked,
}

/// What a node says to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerMessage {
    /// The view it belongs to.
    pub epoch: u64,
    /// What it says.
    pub said: Said,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// Something about a resource.
    About {
        /// Its name,
        name: Arc<str>,
        /// and what the sender takes that for.
        definition: Definition,
        /// What it says.
        content: Content,
    },
    /// The sender has reported everything that it has of resources at home at the receiver.
    End,
}

/// What a node wants done.
#[derive(Debug, Default)]
pub struct Out {
    /// Messages to peers, in order.
    pub messages: Vec<(NodeId, PeerMessage)>,
    /// Answers to sessions.
    pub answers: Vec<Answer>,
    /// Sessions that have ended; there are no more answers for them.
    pub ended: Vec<SessionId>,
    /// What happened, if anybody watches: a driver that nobody asks leaves `None` here.
    pub events: Option<Vec<Event>>,
}

/// Counts of what happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Grants.
    pub grants: u64,
    /// Messages to peers.
    pub sent: u64,
    /// Messages from peers.
    pub received: u64,
    /// Messages of another view, thrown away.
    pub of_other_views: u64,
    /// Sessions that ran out.
    pub sessions_ended: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Names that nobody used any more and that were forgotten.
    pub forgotten: u64,
}

/// A client that waits or is inside.
#[derive(Clone, Debug)]
struct Request {
    session: u64,
    number: u64,
    resource: u32,
    /// When it asked, and once it is inside, when it was let in.
    since: Time,
    /// When it stops waiting, if it does.
    until: Option<Time>,
    patience: Patience,
    want: Want,
    /// Once it is inside.
    granted: Option<Grant>,
    /// It asked for so many slots although nothing was defined, and wants no other number.
    insists: Option<u32>,
    /// It was taken away by force, and ends then at the latest.
    revoked: Option<Time>,
}

/// Something that is due at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The session of this number may have ended.
    Session(u64),
    /// The request of this number stops waiting.
    Request(u32),
    /// A timer of the resource of this number runs out.
    Timer(u32, Timer),
    /// Resources that nobody uses can be forgotten.
    Forget,
    /// The lease of this node is about to run out, or has.
    Lease,
    /// The client of this number has certainly stopped to believe in what was taken away from it.
    Revoked(u32),
}

/// A node.
#[derive(Clone)]
pub struct Core {
    config: Config,
    view: View,
    /// This node's place among the members.
    me: NodeId,
    /// The members, by their places, that have not yet reported what they had in earlier views.
    owing: BTreeSet<NodeId>,
    lease: Lease,
    habits: Habits,
    sessions: BTreeMap<u64, Session>,
    last_session: u64,
    requests: Slab<Request>,
    resources: Slab<Resource>,
    /// The number of each resource. The same name may stand for different things for a while: only its home decides
    /// which of them it is, and refuses the others. It also decides how many slots there are.
    by_name: BTreeMap<Kind, BTreeMap<Arc<str>, u32>>,
    /// What was agreed on about names, as far as this node has heard.
    definitions: BTreeMap<Arc<str>, Definition>,
    due: BTreeSet<(Time, Due)>,
    /// Resources that nobody uses, with the time since when, oldest first.
    idle: VecDeque<(Time, u32)>,
    /// Higher than any counter and clock of a resource that was forgotten.
    origin: Origin,
    dice: Dice,
    scratch: Scratch,
    counts: Counts,
    lets_newcomers_in: bool,
    /// Until when sessions are kept alive, if this node is to leave.
    departs: Option<Time>,
}

impl Core {
    /// A node that knows of nothing yet.
    pub fn new(config: Config) -> Core {
        let dice = Dice(config.seed);
        let hops = config.linger.as_nanos() / config.hop.as_nanos().max(1);
        let linger = u32::try_from(hops).unwrap_or(u32::MAX);
        let (passes, view) = (config.passes, config.view.clone());
        let floor = if config.defect == Some(Defect::FenceWithoutView) { 0 } else { view.floor() };
        let me = view.place(config.id).expect("a node starts in a view that it is in");
        Core {
            owing: view.owing(me),
            lease: if config.leased { Lease::NONE } else { Lease::FOR_EVER },
            view,
            me,
            habits: Habits { passes, linger, floor, defect: config.defect },
            config,
            sessions: BTreeMap::new(),
            last_session: 0,
            requests: Slab::new(),
            resources: Slab::new(),
            by_name: BTreeMap::new(),
            definitions: BTreeMap::new(),
            due: BTreeSet::new(),
            idle: VecDeque::new(),
            origin: Origin { floor, clock: 0 },
            dice,
            scratch: Scratch::default(),
            counts: Counts::default(),
            lets_newcomers_in: true,
            departs: None,
        }
    }

    fn place(&self) -> Place {
        Place { me: self.me, nodes: self.view.members.len() as u32 }
    }

    /// Whether this rule is left out.
    fn omits(&self, rule: Defect) -> bool {
        self.config.defect == Some(rule)
    }

    fn begin(&self) -> Begin {
        Begin { place: self.place(), habits: self.habits, origin: self.origin }
    }

    /// The view this node is in.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// When [`Core::wake`] has to be called next.
    pub fn wakes_at(&self) -> Option<Time> {
        self.due.first().map(|(time, _)| *time)
    }

    /// Does what is due by now.
    pub fn wake(&mut self, now: Time, out: &mut Out) {
        self.mind_lease(now, out);
        while let Some(&(time, due)) = self.due.first()
            && time <= now
        {
            self.due.pop_first();
            match due {
                Due::Session(number) => self.session_due(number, now, out),
                Due::Request(number) => self.impatient(number, now, out),
                Due::Timer(resource, timer) => self.timer_due(resource, timer, now, out),
                Due::Forget => self.forget_idle(now),
                Due::Lease => {}
                Due::Revoked(number) => self.revoked_due(number, now, out),
            }
        }
    }

    /// Opens a session. Clients inside this process have no time to live.
    pub fn open(&mut self, ttl: Option<Duration>, now: Time) -> Result<(SessionId, Promise), Refusal> {
        if !self.is_leased(now) {
            return Err(Refusal::NoLease);
        }
        if self.departs.is_some() {
            return Err(Refusal::Leaving);
        }
        if ttl.is_some_and(|ttl| !(SHORTEST_LIFE..=LONGEST_LIFE).contains(&ttl)) {
            return Err(Refusal::TimeToLive);
        }
        if self.sessions.len() >= self.config.most_sessions {
            return Err(Refusal::TooManySessions(self.config.most_sessions));
        }
        self.last_session += 1;
        let number = self.last_session;
        let mut session = Session::new(ttl);
        let promise = session.promise(0, now, self.lease_left(now), self.config.defect);
        if let Some(ends) = session.ends() {
            self.due.insert((ends, Due::Session(number)));
        }
        self.sessions.insert(number, session);
        let id = SessionId { node: self.config.id, incarnation: self.config.incarnation, number };
        Ok((id, promise))
    }

    /// A client says that it is there, and that it has heard the answers to all requests up to `settled`. Before it is promised
    /// anything, it has to hear what was taken away from it: whatever is in `out` goes first.
    pub fn keep_alive(
        &mut self,
        id: SessionId,
        sequence: u64,
        settled: u64,
        now: Time,
        out: &mut Out,
    ) -> Result<Promise, Refusal> {
        let lease_left = self.lease_left(now);
        if lease_left.is_zero() {
            return Err(Refusal::NoLease);
        }
        if self.is_mine(id) && !self.keeps_alive(id, now) {
            return Err(Refusal::Leaving);
        }
        let defect = self.config.defect;
        let session = self.session(id)?;
        session.settles(settled);
        for &request in session.revoked() {
            out.answers.push(Answer { session: id, request, reply: Reply::Revoked });
        }
        Ok(session.promise(sequence, now, lease_left, defect))
    }

    /// A client ends its session, with everything in it.
    pub fn close(&mut self, id: SessionId, now: Time, out: &mut Out) -> Result<(), Refusal> {
        self.mind_lease(now, out);
        self.session(id)?;
        self.end_session(id.number, false, now, out);
        Ok(())
    }

    /// Whether a session is open here.
    pub fn knows(&self, id: SessionId) -> bool {
        self.is_mine(id) && self.sessions.contains_key(&id.number)
    }

    fn is_mine(&self, id: SessionId) -> bool {
        self.omits(Defect::SessionMoves)
            || id.node == self.config.id && id.incarnation == self.config.incarnation
    }

    fn session(&mut self, id: SessionId) -> Result<&mut Session, Refusal> {
        let session = if self.is_mine(id) { self.sessions.get_mut(&id.number) } else { None };
        session.ok_or(Refusal::NoSuchSession)
    }

    fn session_due(&mut self, number: u64, now: Time, out: &mut Out) {
        let Some(ends) = self.sessions.get(&number).and_then(Session::ends) else { return };
        if ends > now {
            // There was a keep-alive since this was planned.
            self.due.insert((ends, Due::Session(number)));
            return;
        }
        self.counts.sessions_ended += 1;
        self.end_session(number, true, now, out);
    }

    fn end_session(&mut self, number: u64, ran_out: bool, now: Time, out: &mut Out) {
        let Some(session) = self.sessions.remove(&number) else { return };
        out.ended.push(self.session_id(number));
        for client in session.clients() {
            self.tell_of_leaving(client, ran_out, &Refusal::NoSuchSession, out);
            self.leave(client, now, out);
        }
        if let Some(events) = &mut out.events {
            events.push(Event::SessionEnded { session: self.session_id(number), ran_out });
        }
    }
}

/// Splitmix: what is left to chance needs to be spread, not secret.
#[derive(Clone)]
struct Dice(u64);

impl Chance for Dice {
    fn pick(&mut self, options: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ bits >> 31) % u64::from(options)) as u32
    }
}
