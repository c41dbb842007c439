//! What a member asks of the control plane. Each call runs in a task of its own, and its reply is the next input of the
//! member.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use control::AskError;
use service::leases::Renewal;
use service::member::{ControlPlaneError, Effect, LeaderReply};
use service::protocol::{Question, QuestionAnswer};
use service::registry::MemberEntry;
use sync::IgnorePoison;
use tokio::time::timeout;

use crate::host::Shared;

/// So many renewals may be without an answer.
const MOST_RENEWALS: usize = 16;

/// What is known of calls to the leader.
#[derive(Default)]
pub(crate) struct ToLeader {
    /// It was logged that consensus has stopped at this node.
    stopped: AtomicBool,
    /// So many renewals are without an answer.
    renewals: AtomicUsize,
}

/// A number that rises with every start: the wall clock. The member sees to it that it rises if the clock was set back.
pub(crate) fn fresh() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// The wall clock, in seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Passes every committed change to the member.
pub(crate) async fn follow_registry(shared: Arc<Shared>) {
    let mut registry = shared.control.registry();
    loop {
        let current = registry.borrow_and_update().clone();
        shared.with_member(|turn| turn.member.agreed(&current, fresh(), turn.now, turn.effects));
        if registry.changed().await.is_err() {
            // Consensus has stopped here: the owner of the node learns that from the control plane.
            return std::future::pending().await;
        }
    }
}

/// Begins a call. Every effect that is not carried out at once is one.
pub(crate) fn begin(shared: &Arc<Shared>, call: Effect) {
    let it = shared.clone();
    let mut control_calls = shared.control_calls.lock().ignore_poison();
    while let Some(ended) = control_calls.try_join_next() {
        if ended.is_err() {
            shared.failures.note("control call", ended);
        }
    }
    let runtime = &shared.runtime;
    match call {
        Effect::Renew(renewal) if may_renew(shared) => {
            let asks = async move { it.leader_replies(it.renew(renewal)).await };
            control_calls.spawn_on(asks, runtime);
        }
        Effect::Join(member) if may_renew(shared) => {
            let asks = async move { it.leader_replies(it.join(member)).await };
            control_calls.spawn_on(asks, runtime);
        }
        Effect::Goodbye(identity) => {
            // The member says it again until the next view is without it.
            control_calls.spawn_on(async move { _ = it.control.goodbye(identity).await }, runtime);
        }
        Effect::Propose { connection, number, entry } => {
            let proposes = async move {
                let applied = it
                    .control
                    .propose(entry.clone())
                    .await
                    .map_err(|error| ControlPlaneError(error.to_string()));
                it.with_member(|turn| {
                    turn.member.proposed((connection, number), &entry, applied, turn.effects);
                });
            };
            control_calls.spawn_on(proposes, runtime);
        }
        Effect::Arrange { connection, number, question } => {
            let arranges = async move {
                let what = it.arrange(question).await.map_err(|error| ControlPlaneError(error.to_string()));
                it.with_member(|turn| turn.member.arranged((connection, number), what, turn.effects));
            };
            control_calls.spawn_on(arranges, runtime);
        }
        _ => {}
    };
}

/// Whether the leader may be asked. A node that has failed lets its lease run out; a node at which consensus
/// has stopped hears of no further view, and must not continue for long.
fn may_renew(shared: &Shared) -> bool {
    if shared.failures.any() {
        return false;
    }
    if let Some(why) = shared.control.failure() {
        if !shared.to_leader.stopped.swap(true, Ordering::Relaxed) {
            tracing::error!(
                target: "node",
                node = shared.id,
                "this node no longer takes part in the control plane: {why}. Fix that, and restart the node"
            );
        }
        return false;
    }
    shared.to_leader.renewals.load(Ordering::Relaxed) < MOST_RENEWALS
}

impl Shared {
    /// Waits for the leader's reply, as long as it can be of use, and passes it on.
    async fn leader_replies(self: &Arc<Shared>, asks: impl Future<Output = Result<LeaderReply, AskError>>) {
        let lease = self.control.registry().borrow().lease;
        self.to_leader.renewals.fetch_add(1, Ordering::Relaxed);
        let reply = match timeout(lease, asks).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(AskError::Refused(why))) => LeaderReply::Refused(why),
            Ok(Err(_)) | Err(_) => LeaderReply::Silence,
        };
        self.to_leader.renewals.fetch_sub(1, Ordering::Relaxed);
        self.with_member(|turn| turn.member.leader_replied(reply, turn.now, turn.effects));
    }

    async fn renew(&self, renewal: Renewal) -> Result<LeaderReply, AskError> {
        let (incarnation, sequence) = (renewal.identity.incarnation, renewal.sequence);
        let lasts = self.control.renew(renewal).await?;
        let confirmed = lasts.map(|lasts| LeaderReply::Confirmed { incarnation, sequence, lasts });
        Ok(confirmed.unwrap_or(LeaderReply::NotRenewed))
    }

    async fn join(&self, member: MemberEntry) -> Result<LeaderReply, AskError> {
        self.control.enter(member).await?;
        Ok(LeaderReply::Noted)
    }

    /// Sees to what an operator asks of the control plane.
    async fn arrange(&self, question: Question) -> Result<QuestionAnswer, AskError> {
        match question {
            Question::Invite(lasts) => {
                let invitation = self.control.invite(lasts).await?;
                return Ok(QuestionAnswer::Invited(invitation.to_string()));
            }
            Question::Withdraw(node) => self.control.withdraw(node).await?,
            Question::Remove(node) => self.control.remove(node).await?,
            Question::Lease(lasts) => self.control.change_lease(lasts).await?,
            _ => {}
        }
        Ok(QuestionAnswer::Done)
    }
}
