//! The core of a node: what can happen to it, and what comes of it.
//!
//! **The contract.** A driver calls one method for each thing that happens, with the time of its clock, and then empties
//! [`Out`]: messages go to peers in order, each exactly once, and answers to the sessions they are for. When
//! [`Core::wakes_at`] comes, it calls [`Core::wake`]. The same calls give the same answers, in every driver.
//!
//! Sessions and grants follow one rule: somebody else is let in only when the client before has said that it left, or
//! can certainly not believe any more that it is inside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use algorithms::{ClientId, NodeId, Timer, Wait};
use serde::{Deserialize, Serialize};

use self::state::{Admission, Agenda, Due, Granted, Lease, Membership, Names, Request, Requests, Sessions};
use crate::defect::Defect;
use crate::event::{Change, Event};
use crate::grant::Grant;
use crate::name::{self, Definition};
use crate::refusal::Refusal;
use crate::resource::{Content, Effect, Input, Looked, Planned, Policy, Resource, Workspace};
use crate::session::{LONGEST_LIFE, Promise, SHORTEST_LIFE, Session, SessionId};
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
mod peers;
mod report;
mod requests;
mod revoking;
mod state;
mod views;

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
    /// The client holds this.
    Granted(Grant),
    /// The client holds nothing, and does not wait either.
    Refused(Refusal),
    /// An operator revoked what the client holds. The node keeps it until the client releases it.
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

/// A node.
#[derive(Clone)]
pub struct Core {
    config: Config,
    membership: Membership,
    lease: Lease,
    admission: Admission,
    sessions: Sessions,
    requests: Requests,
    names: Names,
    agenda: Agenda,
    workspace: Workspace,
    counts: Counts,
}

impl Core {
    /// A node that knows of nothing yet.
    pub fn new(config: Config) -> Core {
        let membership = Membership::new(config.id, config.view.clone(), config.defect);
        let hops = config.linger.as_nanos() / config.hop.as_nanos().max(1);
        let policy = Policy {
            passes: config.passes,
            linger: u32::try_from(hops).unwrap_or(u32::MAX),
            floor: membership.floor(),
            defect: config.defect,
        };
        Core {
            membership,
            lease: if config.leased { Lease::NONE } else { Lease::FOR_EVER },
            admission: Admission::default(),
            sessions: Sessions::new(&config),
            requests: Requests::new(),
            names: Names::new(policy),
            agenda: Agenda::default(),
            workspace: Workspace::new(config.seed),
            counts: Counts::default(),
            config,
        }
    }

    /// Whether this rule is left out.
    fn omits(&self, rule: Defect) -> bool {
        self.config.defect == Some(rule)
    }

    /// The view this node is in.
    pub fn view(&self) -> &View {
        self.membership.view()
    }

    /// When [`Core::wake`] has to be called next.
    pub fn wakes_at(&self) -> Option<Time> {
        self.agenda.next()
    }

    /// Does what is due by now.
    pub fn wake(&mut self, now: Time, out: &mut Out) {
        self.check_lease(now, out);
        while let Some(due) = self.agenda.take_due(now) {
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
        self.admission.of_session()?;
        if ttl.is_some_and(|ttl| !(SHORTEST_LIFE..=LONGEST_LIFE).contains(&ttl)) {
            return Err(Refusal::TimeToLive);
        }
        if self.sessions.len() >= self.config.most_sessions {
            return Err(Refusal::TooManySessions(self.config.most_sessions));
        }
        let mut session = Session::new(ttl);
        let promise = session.promise(0, now, self.lease.left(now), self.config.defect);
        let ends = session.ends();
        let number = self.sessions.open(session);
        if let Some(ends) = ends {
            self.agenda.plan(ends, Due::Session(number));
        }
        Ok((self.sessions.id(number), promise))
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
        let lease_left = self.lease.left(now);
        if lease_left.is_zero() {
            return Err(Refusal::NoLease);
        }
        if self.sessions.is_own(id) && !self.keeps_alive(id, now) {
            return Err(Refusal::Leaving);
        }
        let defect = self.config.defect;
        let session = self.sessions.find(id)?;
        session.drop_refusals(settled);
        for &request in session.revoked() {
            out.answers.push(Answer { session: id, request, reply: Reply::Revoked });
        }
        Ok(session.promise(sequence, now, lease_left, defect))
    }

    /// A client ends its session, with everything in it.
    pub fn close(&mut self, id: SessionId, now: Time, out: &mut Out) -> Result<(), Refusal> {
        self.check_lease(now, out);
        self.sessions.find(id)?;
        self.end_session(id.number, false, now, out);
        Ok(())
    }

    /// Whether a session is open here.
    pub fn knows(&self, id: SessionId) -> bool {
        self.sessions.contains(id)
    }

    fn session_due(&mut self, number: u64, now: Time, out: &mut Out) {
        let Some(ends) = self.sessions.get(number).and_then(Session::ends) else { return };
        if ends > now {
            // There was a keep-alive since this was planned.
            self.agenda.plan(ends, Due::Session(number));
            return;
        }
        self.counts.sessions_ended += 1;
        self.end_session(number, true, now, out);
    }

    fn end_session(&mut self, number: u64, ran_out: bool, now: Time, out: &mut Out) {
        let Some(session) = self.sessions.remove(number) else { return };
        out.ended.push(self.sessions.id(number));
        for client in session.clients() {
            self.tell_of_leaving(client, ran_out, &Refusal::NoSuchSession, out);
            self.leave(client, now, out);
        }
        if let Some(events) = &mut out.events {
            events.push(Event::SessionEnded { session: self.sessions.id(number), ran_out });
        }
    }
}
