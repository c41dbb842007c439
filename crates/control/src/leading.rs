//! What a node does while it leads: it confirms leases, decides on views, admits nodes and maintains the
//! voters.
//!
//! [`service::leases`] decides; this module is its driver. All state belongs to one leadership, and is
//! dropped with it.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use service::leases::{Input, Leases, Output, validate_lease};
use service::registry::{
    Applied, Entry, Invitation, Leadership, MOST_INVITATIONS, MemberEntry, Registry, validate_invitation,
};
use service::{Identity, Time};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::error::{ChangeError, NotLeading};
use crate::folder;
use crate::shared::Shared;
use crate::voters;
use crate::wire::{ForLeader, Response};

/// How often the voters are checked.
const UPKEEP: Duration = Duration::from_secs(1);
/// A voter that has been absent for this many leases is replaced, if another node can be.
const MISSED_AFTER: u32 = 10;

/// A question to the leader, and where its answer goes.
pub(crate) struct Ask {
    pub(crate) question: ForLeader,
    pub(crate) answer: oneshot::Sender<Response>,
}

/// Leads whenever this node does, until it is dropped.
pub(crate) async fn lead(shared: Shared, mut asks: mpsc::Receiver<Ask>) {
    let mut leadership = shared.leadership.clone();
    loop {
        let current = *leadership.borrow_and_update();
        if let Some(current) = current {
            Leader::new(&shared, current).lead(&mut asks).await;
            continue;
        }
        tokio::select! {
            changed = leadership.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            ask = asks.recv() => {
                let Some(Ask { answer, .. }) = ask else { return };
                _ = answer.send(Response::NotLeading(shared.leader().filter(|it| *it != shared.config.node)));
            }
        }
    }
}

/// The result of a job that a leader began.
enum Finished {
    /// The round of this number proved that this node leads.
    Proven(u64),
    /// The round of this number did not.
    Unproven(u64),
    /// A proposal was committed or not: the registry says.
    Proposed,
    /// The voters are in order, as far as possible.
    Upkeep,
    /// The answer to a question has been sent.
    Answered,
}

/// A renewal that waits for its answer: of which incarnation, and its number.
type Renewing = (Identity, u64);

/// What this node does and knows under one leadership.
struct Leader<'a> {
    shared: &'a Shared,
    leadership: Leadership,
    leases: Leases,
    renewing: BTreeMap<Renewing, oneshot::Sender<Response>>,
    /// Since when each node that could be a member is not one.
    absent: BTreeMap<u32, Time>,
    /// Which incarnation of each node asked last to become a member, and since when.
    asking: BTreeMap<u32, (u64, Time)>,
    /// When each node renewed last, and as which incarnation.
    renewed: BTreeMap<u32, (u64, Time)>,
    /// The jobs that are running. They end with the leadership.
    jobs: JoinSet<Finished>,
    upkeep_at: Time,
    upkeep_runs: bool,
}

impl<'a> Leader<'a> {
    fn new(shared: &'a Shared, leadership: Leadership) -> Leader<'a> {
        let now = (shared.config.clock)();
        let registry = shared.registry.borrow().clone();
        let since = shared.local.others_led_until(leadership.term, now);
        Leader {
            shared,
            leadership,
            leases: Leases::new(leadership, since, now, &registry),
            renewing: BTreeMap::new(),
            absent: BTreeMap::new(),
            asking: BTreeMap::new(),
            renewed: BTreeMap::new(),
            jobs: JoinSet::new(),
            upkeep_at: now + UPKEEP,
            upkeep_runs: false,
        }
    }

    fn now(&self) -> Time {
        (self.shared.config.clock)()
    }

    fn registry(&self) -> Arc<Registry> {
        self.shared.registry.borrow().clone()
    }

    /// Leads until the leadership is over.
    async fn lead(mut self, asks: &mut mpsc::Receiver<Ask>) {
        let (mut leadership, mut registry) = (self.shared.leadership.clone(), self.shared.registry.clone());
        registry.mark_changed();
        if let Some(lease) = self.shared.config.lease.filter(|_| registry.borrow().epoch == 0) {
            // Before any node has a lease.
            self.step(Input::Lasts(lease));
        }
        loop {
            if *leadership.borrow_and_update() != Some(self.leadership) {
                return;
            }
            let next = self
                .leases
                .next_tick(&self.registry())
                .map_or(self.upkeep_at, |next| next.min(self.upkeep_at));
            let pause = pin!(tokio::time::sleep(next - self.now()));
            tokio::select! {
                changed = leadership.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                ask = asks.recv() => match ask {
                    Some(Ask { question, answer }) => self.asked(question, answer),
                    None => return,
                },
                _ = registry.changed() => {
                    self.note_absence();
                    self.step(Input::Tick);
                }
                Some(done) = self.jobs.join_next(), if !self.jobs.is_empty() => match done {
                    Ok(Finished::Proven(round)) => self.step(Input::Proven(round)),
                    Ok(Finished::Unproven(round)) => self.step(Input::Unproven(round)),
                    Ok(Finished::Proposed) => self.step(Input::Proposed),
                    Ok(Finished::Upkeep) => self.upkeep_runs = false,
                    Ok(Finished::Answered) | Err(_) => {}
                },
                () = pause => {
                    self.step(Input::Tick);
                    self.keep_up();
                }
            }
        }
    }

    /// Passes an input to the state machine, and carries out its effects.
    fn step(&mut self, input: Input) {
        let (now, registry) = (self.now(), self.registry());
        let mut out = Vec::new();
        self.leases.step(now, &registry, input, &mut out);
        for output in out {
            let (shared, leadership) = (self.shared.clone(), self.leadership);
            match output {
                Output::Prove(round) => {
                    self.jobs.spawn(async move {
                        match shared.prove_leadership(leadership).await {
                            Ok(()) => Finished::Proven(round),
                            Err(NotLeading) => Finished::Unproven(round),
                        }
                    });
                }
                Output::Propose(entry) => {
                    self.jobs.spawn(async move {
                        // What became of it is in the registry.
                        _ = shared.propose_here(entry).await;
                        Finished::Proposed
                    });
                }
                Output::RenewOk { identity, sequence, lasts } => {
                    self.renewed((identity, sequence), Some(lasts));
                }
                Output::RenewNo { identity, sequence } => self.renewed((identity, sequence), None),
            }
        }
    }

    fn renewed(&mut self, (identity, sequence): Renewing, lasts: Option<Duration>) {
        if let Some(answer) = self.renewing.remove(&(identity, sequence)) {
            _ = answer.send(Response::Renewed { lasts });
        }
        // Earlier ones have been overtaken.
        let overtaken = self.renewing.range((identity, 0)..(identity, sequence));
        let overtaken: Vec<Renewing> = overtaken.map(|(renewing, _)| *renewing).collect();
        overtaken.iter().for_each(|renewing| _ = self.renewing.remove(renewing));
    }

    fn asked(&mut self, question: ForLeader, answer: oneshot::Sender<Response>) {
        match question {
            ForLeader::Renew(renewal) => {
                self.renewed.insert(renewal.identity.id, (renewal.identity.incarnation, self.now()));
                self.renewing.insert((renewal.identity, renewal.sequence), answer);
                self.step(Input::Renew(renewal));
            }
            ForLeader::Enter { id, member } => self.request_membership(id, member, answer),
            ForLeader::Goodbye(identity) => {
                self.step(Input::Goodbye(identity));
                _ = answer.send(Response::Noted);
            }
            ForLeader::Lasts(lasts) => {
                if let Err(refusal) = validate_lease(lasts) {
                    _ = answer.send(Response::Refused(refusal.to_string()));
                    return;
                }
                self.step(Input::Lasts(lasts));
                _ = answer.send(Response::Noted);
            }
            ForLeader::Invite { lasts } => self.answer_by(answer, invite(self.shared.clone(), lasts)),
            ForLeader::Join { id, secret, address } => {
                self.answer_by(answer, join(self.shared.clone(), id, secret, address));
            }
            ForLeader::Remove { id } => self.answer_by(answer, remove(self.shared.clone(), id)),
            ForLeader::Withdraw { id } => self.answer_by(answer, withdraw(self.shared.clone(), id)),
        }
    }

    /// Answers when it is clear what.
    fn answer_by(
        &mut self,
        answer: oneshot::Sender<Response>,
        answering: impl Future<Output = Response> + Send + 'static,
    ) {
        self.jobs.spawn(async move {
            _ = answer.send(answering.await);
            Finished::Answered
        });
    }

    /// A node wants to become a member. It has to be known, and is reached where it says.
    fn request_membership(&mut self, id: u32, member: MemberEntry, answer: oneshot::Sender<Response>) {
        if let Err(invalid) = member.validate() {
            _ = answer.send(Response::Refused(invalid.to_string()));
            return;
        }
        if let Some(why) = self.used_by_another(id, &member) {
            _ = answer.send(Response::Refused(why));
            return;
        }
        match self.shared.nodes().get(&id) {
            Some(_) if self.leases.keeps_out(self.now(), id) => {
                let why = format!(
                    "node {id} did not reach all other members: it has to wait before it joins again"
                );
                _ = answer.send(Response::Refused(why));
            }
            Some(address) if *address == member.address => {
                self.step(Input::Enter { id, member });
                _ = answer.send(Response::Noted);
            }
            Some(_) => {
                let shared = self.shared.clone();
                self.answer_by(answer, async move {
                    let moved = shared.admit(id, &member.address).await;
                    moved.map_or_else(|error| Response::Refused(error.to_string()), |()| Response::Noted)
                });
            }
            None if self.registry().incarnations.contains_key(&id) => {
                let why = format!(
                    "node {id} was removed from the cluster, and its number is never used again: join under a new one, \
                     in an empty folder ('tokenwood members invite')"
                );
                _ = answer.send(Response::Refused(why));
            }
            None => {
                let why =
                    format!("node {id} is not known: ask for an invitation ('tokenwood members invite')");
                _ = answer.send(Response::Refused(why));
            }
        }
    }

    /// Why a node may not take its id over from the member that has it, or not yet. An incarnation that goes on renewing
    /// after another has asked is no earlier one: two processes have the same id. And the log goes to the address of the
    /// member until it is excluded.
    fn used_by_another(&mut self, id: u32, newcomer: &MemberEntry) -> Option<String> {
        let (now, registry) = (self.now(), self.registry());
        let asking = self.asking.entry(id).or_insert((newcomer.incarnation, now));
        if asking.0 != newcomer.incarnation {
            *asking = (newcomer.incarnation, now);
        }
        let since = asking.1;
        let member = registry.members.get(&id).filter(|it| it.incarnation != newcomer.incarnation)?;
        let goes_on = self.renewed.get(&id).is_some_and(|(incarnation, at)| {
            *incarnation == member.incarnation && *at - since >= registry.lease / 3
        });
        if goes_on {
            return Some(format!(
                "node {id} is running already, at {}: two processes use the same id, stop one of them",
                member.address
            ));
        }
        (member.address != newcomer.address).then(|| {
            format!("node {id} is still a member at {}: it moves when that has been excluded", member.address)
        })
    }

    fn note_absence(&mut self) {
        let (now, registry) = (self.now(), self.registry());
        let nodes = self.shared.nodes();
        self.absent.retain(|id, _| nodes.contains_key(id) && !registry.members.contains_key(id));
        for id in nodes.keys().filter(|id| !registry.members.contains_key(id)) {
            self.absent.entry(*id).or_insert(now);
        }
    }

    /// Now and then: replaces voters that are gone, and makes more voters when there are nodes for it.
    fn keep_up(&mut self) {
        let now = self.now();
        if now < self.upkeep_at {
            return;
        }
        self.upkeep_at = now + UPKEEP;
        if self.upkeep_runs {
            return;
        }
        self.note_absence();
        let registry = self.registry();
        let missed = self
            .absent
            .iter()
            .filter(|(_, since)| now - **since >= registry.lease.saturating_mul(MISSED_AFTER));
        let missed: BTreeSet<u32> = missed.map(|(id, _)| *id).collect();
        let nodes = self.shared.nodes();
        let present = registry.members.keys().copied().filter(|id| nodes.contains_key(id)).collect();
        let removed = BTreeSet::new();
        let (voters, leader) = (self.shared.voters(), self.leadership.node);
        if let Some(voters) = voters::wanted(&voters, &present, &missed, &removed, leader) {
            let shared = self.shared.clone();
            self.upkeep_runs = true;
            self.jobs.spawn(async move {
                // If it fails, it is tried again.
                _ = shared.change_voters(&voters).await;
                Finished::Upkeep
            });
        }
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Invites a node: it gets the next id, and a secret.
async fn invite(shared: Shared, lasts: Duration) -> Response {
    if let Err(refusal) = validate_invitation(lasts) {
        return Response::Refused(refusal.to_string());
    }
    withdraw_expired(&shared).await;
    let registry = shared.registry.borrow().clone();
    let known = shared.nodes().keys().next_back().map_or(0, |id| id.saturating_add(1));
    let id = registry.next_id().max(known);
    let secret = match (folder::drawn(), folder::drawn()) {
        (Ok(high), Ok(low)) => u128::from(high) << 64 | u128::from(low),
        (Err(error), _) | (_, Err(error)) => {
            return Response::Refused(format!("cannot draw a secret: {error}"));
        }
    };
    let invitation = Invitation { secret, until: unix_seconds().saturating_add(lasts.as_secs()) };
    match shared.propose_here(Entry::Invite { id, invitation: Some(invitation) }).await {
        Response::Proposed(Applied::Yes) => {
            let cluster_id = shared.local.cluster_id.lock().await.unwrap_or(0);
            Response::Invited { id, secret, cluster_id, nodes: shared.nodes() }
        }
        Response::Proposed(Applied::OutOfBounds) => Response::Refused(format!(
            "{MOST_INVITATIONS} invitations are open already, or all ids are used: wait until some have expired"
        )),
        Response::Proposed(_) => Response::Refused("another node was invited first: try again".to_owned()),
        other => other,
    }
}

/// Withdraws the invitations that are too old, so that they do not count against the bound.
async fn withdraw_expired(shared: &Shared) {
    let registry = shared.registry.borrow().clone();
    let now = unix_seconds();
    let expired = registry.invitations.iter().filter(|(_, invitation)| invitation.until < now);
    for (id, _) in expired {
        // What is not withdrawn now is withdrawn with the next invitation.
        _ = shared.propose_here(Entry::Invite { id: *id, invitation: None }).await;
    }
}

/// A node joins with an invitation. The invitation counts once, but its user may repeat the request.
async fn join(shared: Shared, id: u32, secret: u128, address: String) -> Response {
    if let Err(invalid) = MemberEntry::new(0, &address, "").validate() {
        return Response::Refused(invalid.to_string());
    }
    if shared.nodes().get(&id).is_some_and(|known| *known == address) {
        return Response::Noted;
    }
    let invitation = shared.registry.borrow().invitations.get(&id).cloned();
    if invitation.as_ref().is_none_or(|invitation| invitation.secret != secret) {
        return Response::Refused(
            "this invitation is not known: it was used or withdrawn, ask for a new one ('tokenwood members invite')"
                .to_owned(),
        );
    }
    if invitation.is_some_and(|invitation| invitation.until < unix_seconds()) {
        return Response::Refused("this invitation has expired: ask for a new one".to_owned());
    }
    match shared.propose_here(Entry::Invite { id, invitation: None }).await {
        Response::Proposed(Applied::Yes) => {}
        Response::Proposed(_) => {
            return Response::Refused("this invitation was just used: ask for a new one".to_owned());
        }
        other => return other,
    }
    match shared.admit(id, &address).await {
        // It will hear as soon as it can be reached.
        Ok(()) | Err(ChangeError::Unheard(_)) => Response::Noted,
        Err(error) => Response::Refused(error.to_string()),
    }
}

/// Withdraws an invitation that was not used.
async fn withdraw(shared: Shared, id: u32) -> Response {
    let gone = || format!("there is no invitation for node {id}: it was used or withdrawn, or has expired");
    if !shared.registry.borrow().invitations.contains_key(&id) {
        return Response::Refused(gone());
    }
    match shared.propose_here(Entry::Invite { id, invitation: None }).await {
        Response::Proposed(Applied::Yes) => Response::Noted,
        Response::Proposed(_) => Response::Refused(gone()),
        other => other,
    }
}

/// Removes a node for good, or the invitation of one that has not come. It is not a member any more. If it is a voter, another node replaces it where
/// possible.
async fn remove(shared: Shared, id: u32) -> Response {
    let refused = |why: String| Response::Refused(why);
    let registry = shared.registry.borrow().clone();
    if registry.members.contains_key(&id) {
        return refused(format!("node {id} is running as a member: stop it first, then remove it"));
    }
    if registry.invitations.contains_key(&id) {
        return withdraw(shared, id).await;
    }
    if !shared.nodes().contains_key(&id) {
        return refused(format!("there is no node {id}: 'tokenwood members' lists them"));
    }
    let (current, leader) = (shared.voters(), shared.config.node);
    if current.contains(&id) {
        let present = registry.members.keys().copied().collect();
        let wanted = voters::wanted(&current, &present, &BTreeSet::new(), &BTreeSet::from([id]), leader);
        let Some(wanted) = wanted else {
            return refused(format!("node {id} is the last voter: it cannot be removed"));
        };
        if let Err(error) = shared.change_voters(&wanted).await {
            return refused(error.to_string());
        }
    }
    shared.dismiss(id).await.map_or_else(|error| refused(error.to_string()), |()| Response::Noted)
}
