//! A member: everything that a node decides, as one state machine without a clock, sockets or tasks.
//!
//! **The contract.** A driver calls one method for each input, with the time of its clock, and then carries
//! out the [`Effect`]s in their order, before any other input. When [`Member::wakes_at`] comes, it calls
//! [`Member::wake`]. The same calls give the same effects, in every driver: tokio and openraft in the node,
//! simulated time in the swarm, every order in the exploration.
//!
//! A member has one [`Core`] for each incarnation, which serves locks. Around it the member decides:
//!
//! - how it follows the registry: enter a view, start a new incarnation when excluded ([`Member::agreed`]);
//! - when it renews its lease and what it tells the leader (`renewing`);
//! - how it leaves (`leaving`);
//! - how each frame of a client is answered, and over which connection (`clients`, `connections`, `answers`);
//! - what it accepts from peers (`peers`).

use std::sync::Arc;
use std::time::Duration;

use crate::auth::AuditEntry;
use crate::core::{Config, Core, Effects, PeerMessage};
use crate::defect::Defect;
use crate::event::ForceReleased;
use crate::identity::Identity;
use crate::leases::Renewal;
use crate::protocol::{Question, ToClient};
use crate::registry::{Entry, MemberEntry, Registry};
use crate::session::SessionId;
use crate::time::Time;
use crate::view::View;

mod access;
mod answers;
mod clients;
mod connections;
mod environment;
mod exploration;
mod leaving;
mod peers;
mod renewing;

use access::Access;
pub use connections::ConnectionId;
use connections::Connections;
pub use environment::{ControlPlane, ControlPlaneError, Environment, NoEnvironment};
use leaving::LeaveProgress;
pub use peers::Breach;
pub use renewing::LeaderReply;
use renewing::Renewing;

/// The configuration of a member, when its process starts.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The name of the cluster.
    pub cluster: String,
    /// Where peers reach this node, as `host:port`.
    pub address: String,
    /// Where clients reach this node, as `host:port`.
    pub clients: String,
    /// The policy of the core. Each incarnation sets `incarnation`, `seed`, `view` and `leased` itself.
    pub core: Config,
}

/// An effect of an input on a member. The driver carries effects out in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Drop the links of earlier views, and link to the members of this one. No message of the view comes before it.
    EnterView(Arc<View>),
    /// This incarnation begins: drop all links of the one before.
    BeginIncarnation(Identity),
    /// Send a message to a peer of the view, in order and exactly once.
    Send {
        /// The id of the peer.
        to: u32,
        /// The message.
        message: PeerMessage,
    },
    /// This peer broke the rules: end its connection. The member takes in nothing more of it in this view.
    Disconnect {
        /// The id of the peer.
        peer: u32,
        /// The rule it broke.
        why: Breach,
    },
    /// Send a frame to a client.
    Tell {
        /// Over this connection.
        connection: ConnectionId,
        /// The frame.
        frame: ToClient,
    },
    /// Ask the leader to renew the lease; [`Member::leader_replied`] follows.
    Renew(Renewal),
    /// Ask the leader to become a member; [`Member::leader_replied`] follows.
    Join(MemberEntry),
    /// Tell the leader that this incarnation grants nothing any more and holds nothing.
    Goodbye(Identity),
    /// Propose this for a client; [`Member::proposed`] follows.
    Propose {
        /// The connection of the client.
        connection: ConnectionId,
        /// The client's number for the order.
        number: u64,
        /// The entry to propose.
        entry: Entry,
    },
    /// See to what an operator asks of the control plane; [`Member::arranged`] follows.
    Arrange {
        /// The connection of the operator.
        connection: ConnectionId,
        /// The operator's number for the question.
        number: u64,
        /// [`Question::Invite`], [`Question::Withdraw`], [`Question::Remove`] or [`Question::Lease`].
        question: Question,
    },
    /// The member has left, or gave up waiting for it: the process can end.
    Left,
    /// Something worth a line in the log.
    Note(Note),
}

/// Something that operators want to read in the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// The member entered a view.
    Entered {
        /// The epoch of the view.
        epoch: u64,
        /// The ids of its members.
        members: Vec<u32>,
    },
    /// The member was excluded, and starts a new incarnation.
    Excluded {
        /// Its own clock says that its lease still lasts: a clock drifts more than allowed.
        while_leased: bool,
    },
    /// The member has had no lease for this long, and grants nothing.
    NoLease {
        /// How long it lasts.
        lasts: Duration,
        /// What the leader said, if it refused.
        refused: Option<String>,
    },
    /// An operator released a grant by force.
    ForceReleased(ForceReleased),
    /// Something that was done or refused, for the audit.
    Audit(Box<AuditEntry>),
    /// A peer broke the rules.
    Breach {
        /// The id of the peer.
        peer: u32,
        /// The rule it broke.
        why: Breach,
    },
}

/// How a member stands to its cluster.
#[derive(Clone, Debug)]
enum Standing {
    /// The member serves, or asks to become a member.
    Serving,
    /// The member is to leave.
    Leaving(LeaveProgress),
    /// The member has left.
    Left,
}

/// A node's part in the cluster: see the module.
#[derive(Clone)]
pub struct Member {
    setup: Setup,
    incarnation: u64,
    core: Core,
    /// What the core writes into; empty between two calls.
    out: Effects,
    renewing: Renewing,
    standing: Standing,
    /// The registry, as far as this node has heard.
    registry: Arc<Registry>,
    /// When the view was entered.
    entered: Time,
    /// Peers that broke the rules in this view.
    barred: std::collections::BTreeSet<u32>,
    connections: Connections,
    access: Access,
    /// A peer that too much waits for: as long as it does, new requests are refused.
    behind: Option<u32>,
}

impl Member {
    /// A process that starts, and is in no view yet. `fresh` is a number that rises with every start, as the wall clock does; the
    /// registry is what the node kept on disk.
    pub fn new(setup: Setup, registry: Arc<Registry>, fresh: u64, now: Time) -> Member {
        let incarnation = incarnation(setup.core.id, &registry, fresh);
        Member {
            core: new_core(&setup.core, incarnation),
            out: Effects::default(),
            renewing: Renewing::at_once(now),
            standing: Standing::Serving,
            registry,
            entered: now,
            barred: Default::default(),
            connections: Connections::default(),
            access: Access::default(),
            behind: None,
            incarnation,
            setup,
        }
    }

    /// The id of this node.
    pub fn id(&self) -> u32 {
        self.setup.core.id
    }

    /// The node in the incarnation that is in force.
    pub fn identity(&self) -> Identity {
        Identity { id: self.id(), incarnation: self.incarnation }
    }

    /// The incarnation that is in force.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// What serves the locks.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// The view this member is in; its number is 0 if it is in none.
    pub fn view(&self) -> &View {
        self.core.view()
    }

    /// Whether this member may grant anything now.
    pub fn is_leased(&self, now: Time) -> bool {
        self.core.is_leased(now)
    }

    /// Whether it has left.
    pub fn has_left(&self) -> bool {
        matches!(self.standing, Standing::Left)
    }

    fn has_defect(&self, rule: Defect) -> bool {
        self.setup.core.defect == Some(rule)
    }

    /// When [`Member::wake`] has to be called next.
    pub fn wakes_at(&self) -> Option<Time> {
        let renewing = (!self.has_left()).then_some(self.renewing.next());
        let leaving = match &self.standing {
            Standing::Leaving(progress) => Some(progress.looks_at()),
            Standing::Serving | Standing::Left => None,
        };
        [self.core.wakes_at(), renewing, leaving].into_iter().flatten().min()
    }

    /// Does what is due by now.
    pub fn wake(&mut self, environment: &dyn Environment, now: Time, effects: &mut Vec<Effect>) {
        if self.registry.rights.on {
            self.look_at_watchers(environment);
        }
        if self.core.wakes_at().is_some_and(|at| at <= now) {
            self.core.wake(now, &mut self.out);
            self.pass_on(effects);
        }
        self.renew_if_due(environment, now, effects);
        self.continue_leaving(now, effects);
    }

    /// The registry has changed: to be called with each state of it, in the order of the log. States in
    /// between may be skipped. `fresh` is as in [`Member::new`].
    pub fn agreed(&mut self, registry: &Arc<Registry>, fresh: u64, now: Time, effects: &mut Vec<Effect>) {
        if self.has_left() {
            return;
        }
        let rights_changed = self.registry.rights != registry.rights;
        self.registry = registry.clone();
        if rights_changed {
            self.rights_changed(now, effects);
        }
        self.core.all_defined(&registry.definitions, now, &mut self.out);
        self.pass_on(effects);
        let epoch = self.view().epoch;
        if registry.epoch == epoch || registry.epoch < epoch && !self.has_defect(Defect::ViewsBackwards) {
            return;
        }
        if self.is_member() {
            self.enter(now, effects);
        } else if epoch > 0 {
            self.was_excluded(fresh, now, effects);
        }
    }

    /// Whether exactly this incarnation is in the latest view.
    fn is_member(&self) -> bool {
        let by_id = self.has_defect(Defect::MembersById) && self.registry.members.contains_key(&self.id());
        by_id || self.registry.is_member(self.identity())
    }

    fn enter(&mut self, now: Time, effects: &mut Vec<Effect>) {
        let view = Arc::new(self.registry.view());
        let members = view.members.iter().map(|member| member.identity.id).collect();
        effects.push(Effect::Note(Note::Entered { epoch: view.epoch, members }));
        effects.push(Effect::EnterView(view.clone()));
        self.entered = now;
        self.barred.clear();
        self.core.enter(view, now, &mut self.out);
        self.pass_on(effects);
        self.renewing.renew_by(now);
    }

    /// The cluster continues without this incarnation: everything that it had may be granted elsewhere by
    /// now.
    fn was_excluded(&mut self, fresh: u64, now: Time, effects: &mut Vec<Effect>) {
        if matches!(self.standing, Standing::Leaving(_)) {
            self.standing = Standing::Left;
            return effects.push(Effect::Left);
        }
        effects.push(Effect::Note(Note::Excluded { while_leased: self.is_leased(now) }));
        if self.has_defect(Defect::ReadmitsIncarnation) {
            return;
        }
        let before = self.incarnation;
        self.incarnation = incarnation(self.id(), &self.registry, fresh);
        self.renewing = Renewing::at_once(now);
        self.behind = None;
        if self.has_defect(Defect::ResumesAfterExclusion) {
            self.core.resume_as(self.incarnation);
            return effects.push(Effect::BeginIncarnation(self.identity()));
        }
        self.core = new_core(&self.setup.core, self.incarnation);
        self.note_watchers();
        self.access.all_ended();
        self.core.set_quotas(self.registry.rights.quotas_in_force());
        self.core.all_defined(&self.registry.definitions, now, &mut self.out);
        for (number, connection) in self.connections.forget_sessions() {
            let session = SessionId { node: self.id(), incarnation: before, number };
            effects.push(Effect::Tell { connection, frame: ToClient::SessionGone { session } });
        }
        effects.push(Effect::BeginIncarnation(self.identity()));
    }

    /// Passes on what the core wants done.
    fn pass_on(&mut self, effects: &mut Vec<Effect>) {
        if self.out.is_empty() {
            return;
        }
        for (index, message) in self.out.messages.drain(..) {
            effects.push(Effect::Send { to: self.core.view().id(index), message });
        }
        for reply in self.out.replies.drain(..) {
            if let Some(connection) = self.connections.of_session(reply.session.number) {
                effects.push(Effect::Tell { connection, frame: ToClient::Reply(reply) });
            }
        }
        for session in self.out.ended.drain(..) {
            self.access.ended(session.number);
            if let Some(connection) = self.connections.forget_session(session.number) {
                effects.push(Effect::Tell { connection, frame: ToClient::SessionGone { session } });
            }
        }
        if let Some(events) = &mut self.out.events {
            let clock = self.access.clock;
            events.drain(..).for_each(|event| self.connections.tell_watchers(&event, clock, effects));
        }
        while let Some((index, what)) = self.out.contradictions.pop() {
            let peer = self.core.view().id(index);
            if !self.barred.contains(&peer) {
                self.bar(peer, Breach::Contradiction(what), effects);
            }
        }
    }
}

/// Higher than any incarnation that this node ever had in a view, also if the wall clock was set back.
fn incarnation(id: u32, registry: &Registry, fresh: u64) -> u64 {
    fresh.max(registry.incarnations.get(&id).map_or(1, |highest| highest.saturating_add(1)))
}

/// A core that is in no view yet, and grants nothing before it is.
fn new_core(policy: &Config, incarnation: u64) -> Core {
    Core::new(Config {
        incarnation,
        seed: policy.seed ^ incarnation ^ u64::from(policy.id),
        view: View::alone(policy.id).into(),
        leased: true,
        ..policy.clone()
    })
}
