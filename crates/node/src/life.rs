//! The lives of a node: it asks to be a member, follows the views that are agreed on, keeps its lease, and begins anew when
//! it was left out.
//!
//! A life has a number that is never used again. Whatever belonged to an earlier one (sessions, tokens, connections to
//! peers) is dropped with it: the others have made their tokens anew.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use client::clock;
use control::AskError;
use service::leases::{Lease, Renewal};
use service::protocol::ToClient;
use service::registry::{MemberEntry, Registry};
use service::{SessionId, Time};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::complaint::Complaint;
use crate::host::{Door, First, LIMITS, Shared, Sink, StartError, State};
use crate::identity::{Identity, Member, View};
use crate::transport::{self, Peers};

/// So many calls of peers wait to be greeted.
const CALLS: usize = 64;
/// A peer that is out of reach for so long, or has not reported for so long, is named to whoever leads.
const TROUBLE_AFTER: Duration = Duration::from_secs(1);
/// So many renewals may be without an answer.
const RENEWALS: usize = 16;
/// How often to try to join, and how long to wait in between.
const JOIN_TRIES: u32 = 20;
const JOIN_PAUSE: Duration = Duration::from_millis(500);
/// How often to look whether everybody has finished.
const LOOK: Duration = Duration::from_millis(10);

/// What belongs to one life of a node, besides its core.
pub(crate) struct Life {
    pub(crate) me: Identity,
    pub(crate) peers: Peers,
    pub(crate) lease: Lease,
    /// Connections of peers, from the port that they share with others.
    pub(crate) calls: mpsc::Sender<(TcpStream, SocketAddr)>,
    /// When the view was entered.
    entered: Time,
    /// It is the last one.
    pub(crate) leaves: bool,
}

impl Life {
    /// A new life, which belongs to no view yet.
    pub(crate) fn begin(shared: &Arc<Shared>) -> Result<Life, transport::StartError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let clock = since.map_or(1, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        // The clock may have been set back.
        let highest = shared.control.registry().borrow().incarnations.get(&shared.id).copied();
        let me = Identity { id: shared.id, incarnation: clock.max(highest.unwrap_or(0) + 1) };
        let (calls, called) = mpsc::channel(CALLS);
        let address = shared.addresses.0.clone();
        let alone = View { epoch: 0, members: vec![Member { identity: me, address }] };
        let config = transport::Config { limits: LIMITS, ..transport::Config::new(&shared.cluster, me) };
        let door = Arc::new(Door { shared: shared.clone(), incarnation: me.incarnation });
        let peers = Peers::start(config, alone, called, door)?;
        Ok(Life { me, peers, lease: Lease::new(me.incarnation), calls, entered: Time(0), leaves: false })
    }

    /// What to say to whoever leads.
    fn renewal(&mut self, core: &service::Core, lease: Duration, now: Time) -> Renewal {
        let trouble_after = TROUBLE_AFTER.min(lease / 3);
        let unreachable = self.peers.unreachable();
        let late = now - self.entered >= trouble_after;
        Renewal {
            id: self.me.id,
            incarnation: self.me.incarnation,
            sequence: self.lease.renew(now),
            epoch: core.view().epoch,
            unreachable: unreachable
                .into_iter()
                .filter_map(|(id, since)| (since >= trouble_after).then_some(id))
                .collect(),
            missing_ends: if late { core.missing_ends() } else { Vec::new() },
        }
    }
}

impl Shared {
    /// Something was agreed on.
    fn follow(self: &Arc<Shared>, registry: &Registry) {
        let (me, epoch, leaves) = self.happen(|state, now| {
            let (core, out) = state.core_and_out();
            core.all_defined(&registry.definitions, now, out);
            (state.life.me, state.core.view().epoch, state.life.leaves)
        });
        if registry.epoch <= epoch {
            return;
        }
        let member = registry.members.get(&me.id);
        if member.is_some_and(|member| member.incarnation == me.incarnation) {
            self.enter(registry);
        } else if epoch > 0 && !leaves {
            self.begin_anew();
        }
    }

    fn enter(&self, registry: &Registry) {
        (self.log)(&format!(
            "view {} with nodes {}",
            registry.epoch,
            registry.members.keys().map(u32::to_string).collect::<Vec<_>>().join(", ")
        ));
        let member = |(id, member): (&u32, &MemberEntry)| Member {
            identity: Identity { id: *id, incarnation: member.incarnation },
            address: member.address.clone(),
        };
        let view = View { epoch: registry.epoch, members: registry.members.iter().map(member).collect() };
        self.happen(|state, now| {
            state.life.peers.enter(view);
            state.life.entered = now;
            let (core, out) = state.core_and_out();
            core.enter(registry.view(), now, out);
        });
        self.renew_now.notify_one();
    }

    /// This node was left out: everything it had is somebody else's by now.
    fn begin_anew(self: &Arc<Shared>) {
        let life = Life::begin(self).expect("a node that has started can start again");
        let mut state = self.lock();
        if state.core.is_leased(clock::now()) {
            // The others have waited longer than any clock that keeps to the bound can take for it.
            (self.log)(
                "ALARM: left out while this node's clock says that its lease lasts: clocks drift too far",
            );
        }
        (self.log)("left out of the view: beginning anew");
        let before = std::mem::replace(&mut state.life, life);
        state.core = self.new_core(state.life.me.incarnation);
        let sinks = state.forget_everything();
        drop(state);
        for (number, sink) in sinks {
            let Identity { id, incarnation } = before.me;
            sink.lose(SessionId { node: id, incarnation, number });
        }
        tokio::spawn(async move { before.peers.stop().await });
        self.renew_now.notify_one();
    }

    /// Renews the lease once, or asks to become a member.
    async fn renew(&self) -> Result<(), AskError> {
        let lease = self.control.registry().borrow().lease;
        let (me, leaves, renewal) = self.happen(|state, now| {
            let State { core, life, .. } = state;
            let is_member = core.view().epoch > 0;
            (life.me, life.leaves, is_member.then(|| life.renewal(core, lease, now)))
        });
        let Some(renewal) = renewal else {
            if leaves {
                return Ok(());
            }
            let (address, clients) = &self.addresses;
            return self.control.enter(MemberEntry::new(me.incarnation, address, clients)).await;
        };
        let sequence = renewal.sequence;
        if let (Some(lasts), _) = self.control.renew(renewal).await? {
            self.happen(|state, now| {
                state.life.lease.confirmed(now, me.incarnation, sequence, lasts);
                let until = state.life.lease.until();
                let (core, out) = state.core_and_out();
                core.renewed(until, now, out);
            });
        }
        Ok(())
    }
}

impl Sink {
    /// The session is gone.
    fn lose(&self, session: SessionId) {
        match self {
            Sink::Far(link) => link.tell(&ToClient::SessionGone { session }),
            Sink::Near(near) => near.end(),
        }
    }
}

/// Enters one view after the other.
pub(crate) async fn follow_views(shared: Arc<Shared>) {
    let mut registry = shared.control.registry();
    loop {
        let current = registry.borrow_and_update().clone();
        shared.follow(&current);
        if registry.changed().await.is_err() {
            return;
        }
    }
}

/// Renews the lease again and again. Each time the clock is read where everything is decided: a node that hangs does not
/// renew.
pub(crate) async fn keep_lease(shared: Arc<Shared>) {
    let mut renewals = JoinSet::new();
    let mut complaint = Complaint::new();
    loop {
        complaint.look(&shared);
        if let Some(why) = shared.control.failure() {
            // Nothing that is agreed on is heard of any more: this node must not go on for long.
            return (shared.log)(&format!(
                "this node no longer takes part in what the cluster agrees on: {why}. Mend that, and start it again"
            ));
        }
        let agreed = shared.control.registry().borrow().lease;
        let pause = shared.lock().life.lease.renewed_every(agreed);
        if renewals.len() < RENEWALS {
            let shared = shared.clone();
            renewals.spawn(async move { timeout(6 * pause, shared.renew()).await });
        }
        // Who got no answer tries again soon: somebody else may lead by then.
        let mut next = pause;
        let waits = tokio::time::Instant::now();
        loop {
            tokio::select! {
                () = sleep(next.saturating_sub(waits.elapsed())) => break,
                () = shared.renew_now.notified() => break,
                Some(renewed) = renewals.join_next() => {
                    complaint.refused = match &renewed {
                        Ok(Ok(Err(AskError::Refused(why)))) => Some(why.clone()),
                        _ => None,
                    };
                    if !matches!(renewed, Ok(Ok(Ok(())))) {
                        next = pause / 8;
                    } else if !shared.lock().core.is_leased(clock::now()) {
                        next = pause / 2;
                    }
                }
            }
        }
    }
}

/// Comes to a cluster, if the node does not belong to one.
pub(crate) async fn first(shared: &Arc<Shared>, first: First, folder: PathBuf) -> Result<(), StartError> {
    let (control, id) = (&shared.control, shared.id);
    let belongs = control.belongs().await;
    match first {
        First::No if belongs => Ok(()),
        First::No => Err(StartError::Nowhere(folder)),
        First::Together(members) => {
            let mut voters = members.clone();
            let vote = control::voters::of(members.keys().copied());
            voters.retain(|id, _| vote.contains(id));
            if !members.contains_key(&id) {
                return Err(StartError::NotAmong(id));
            }
            if !belongs && vote.first() == Some(&id) {
                control.found(&voters).await.map_err(StartError::Found)?;
            }
            shared.employ(tokio::spawn(admit_all(shared.clone(), members)));
            Ok(())
        }
        First::Invited(_) if belongs => Ok(()),
        First::Invited(invitation) => {
            if invitation.id != id {
                return Err(StartError::OtherId { invited: invitation.id, started: id });
            }
            for tries in 0.. {
                match control.join(&invitation, &shared.addresses.0).await {
                    Err(AskError::NoLeader) if tries < JOIN_TRIES => sleep(JOIN_PAUSE).await,
                    joined => return joined.map_err(StartError::Join),
                }
            }
            Ok(())
        }
    }
}

/// Whenever this node leads: lets those hear what is agreed on who were named as members from the beginning.
async fn admit_all(shared: Arc<Shared>, members: BTreeMap<u32, String>) {
    let control = &shared.control;
    loop {
        let known = control.nodes();
        let missing: Vec<_> = {
            let registry = control.registry();
            let registry = registry.borrow();
            // Who was removed stays so.
            let removed = |id: &u32| registry.incarnations.contains_key(id);
            members.iter().filter(|(id, _)| !known.contains_key(id) && !removed(id)).collect()
        };
        if missing.is_empty() && !known.is_empty() {
            return;
        }
        if control.leadership().borrow().is_some() {
            for (id, address) in missing {
                // It is tried again.
                _ = control.admit(*id, address).await;
            }
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Leaves in good order: nobody is let in any more, whoever holds something has a lease's time to finish, and then the others
/// are told that they need not wait for this node.
pub(crate) async fn leave(shared: &Arc<Shared>) {
    let lease = shared.control.registry().borrow().lease;
    let me = shared.happen(|state, now| {
        state.life.leaves = true;
        let (core, out) = state.core_and_out();
        core.depart(now + lease, now, out);
        state.life.me
    });
    // A promise made at the last moment lasts another lease, on any clock.
    let departed = async {
        while !shared.happen(|state, now| state.core.has_departed(now)) {
            sleep(LOOK).await;
        }
    };
    if shared.lock().core.view().epoch == 0 || timeout(3 * lease, departed).await.is_err() {
        return;
    }
    let mut registry = shared.control.registry();
    let left_out = registry.wait_for(|registry| {
        registry.members.get(&me.id).is_none_or(|member| member.incarnation != me.incarnation)
    });
    let said = async {
        while shared.control.goodbye(me.incarnation).await.is_err() {
            sleep(LOOK).await;
        }
        // Whether it has been heard shows in the next view.
        _ = left_out.await;
        if shared.control.leadership().borrow().is_some() {
            // The others learn from the next sign of life that it was agreed on.
            sleep(lease / 10).await;
        }
    };
    // If nobody hears it, they wait.
    _ = timeout(lease, said).await;
}
