//! One node: the state machine, its client and its timers, between the peers and the clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use algorithms::erased::Message;
use algorithms::node::{Event, Node};
use algorithms::schedule::{Action, Envelope};
use algorithms::{Algorithm, Effect, Erased, Grant, Groups, Input, NodeId, Step, System, Timer, Wait};
use random::{Random, RecordedPicks};
use service::Time;
use sync::IgnorePoison;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::sleep;
use transport::clock;

use super::codec::Codec;
use super::replay::Recorded;
use super::tally::{Tally, Visit};
use super::{Counts, Error, LatePeers, Plan, Report, system};

/// The time of sending, in front of each message.
pub(super) const STAMP_BYTES: usize = 8;

/// A node of an algorithm.
pub(super) struct Host {
    me: NodeId,
    system: System<Erased>,
    codec: Codec,
    longest_delay: Duration,
    longest_section: Duration,
    /// For timers, which call the node back.
    itself: Weak<Host>,
    runtime: Handle,
    peers: LatePeers,
    entered: Notify,
    state: Mutex<HostState>,
}

/// What changes with every step.
struct HostState {
    node: Node<Erased>,
    picks: RecordedPicks,
    record: Vec<Taken>,
    tally: Tally,
    asked: Duration,
    delivered: u64,
    /// The armed timers. The number tells a timer from an earlier one that was already expiring.
    timers: BTreeMap<Timer, (u64, AbortHandle)>,
    timers_started: u64,
}

/// A step, recorded quickly: it becomes text when there is time.
struct Taken {
    step: Step,
    /// The message that arrived, if one did.
    message: Option<Message>,
    effects: Vec<Effect<Erased>>,
}

impl Host {
    /// A node at its start. Needs a tokio runtime.
    pub(super) fn new(me: NodeId, name: &str, plan: &Plan, peers: LatePeers) -> Result<Arc<Host>, Error> {
        let (system, codec) = (system(name, &plan.setting)?, Codec::new(name).map_err(Error::Refused)?);
        let state = HostState {
            node: Node::start(&system.site(me)),
            picks: RecordedPicks::new(Random::stream(plan.seed, 1 << 32 | u64::from(me))),
            record: Vec::new(),
            tally: Tally::default(),
            asked: Duration::ZERO,
            delivered: 0,
            timers: BTreeMap::new(),
            timers_started: 0,
        };
        Ok(Arc::new_cyclic(|itself| Host {
            me,
            system,
            codec,
            longest_delay: plan.longest_delay,
            longest_section: plan.longest_section,
            itself: itself.clone(),
            runtime: Handle::current(),
            peers,
            entered: Notify::new(),
            state: Mutex::new(state),
        }))
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        self.state.lock().ignore_poison()
    }

    /// Takes a step and carries out its effects. The state stays locked until the messages are queued, so that
    /// they go out in the order of the steps.
    fn step(&self, state: &mut HostState, action: Action, input: Input<Erased>) {
        let message = match &input {
            Input::Deliver { message, .. } => Some(message.clone()),
            _ => None,
        };
        let HostState { node, picks, .. } = state;
        let reaction = node.apply(&self.system.site(self.me), Event::Input(input), picks);
        let step = Step { action, picks: std::mem::take(&mut state.picks.picks) };
        if let Some(violation) = reaction.violation {
            state.fail(format!("{step}: {violation}"));
        }
        let mut receivers = BTreeSet::new();
        for effect in &reaction.effects {
            match effect {
                Effect::Send { to, message } => {
                    self.send(state, *to, message);
                    receivers.insert(*to);
                }
                Effect::Enter(Grant { group, .. }) => {
                    let (node, group, asked, entered) = (self.me, *group, state.asked, now());
                    state.tally.visits.push(Visit { node, group, asked, entered, left: None });
                    self.entered.notify_one();
                }
                Effect::Arm(timer, wait) => self.arm(state, *timer, *wait),
                Effect::Disarm(timer) => state.disarm(*timer),
                // The node has handled it: nodes do not crash here.
                Effect::Persist(_) | Effect::Note(_) | Effect::Never(_) => {}
            }
        }
        state.record.push(Taken { step, message, effects: reaction.effects });
        if let Some(peers) = self.peers.get() {
            receivers.into_iter().for_each(|to| peers.flush(to));
        }
    }

    fn send(&self, state: &mut HostState, to: NodeId, message: &Message) {
        *state.tally.messages.entry(Erased::kind(message).to_string()).or_default() += 1;
        state.tally.words += u64::from(Erased::words(message));
        let stamp = clock::now().0.to_le_bytes().to_vec();
        let payload = self.codec.write(message, stamp).map_err(|error| error.to_string());
        let queued = payload.and_then(|payload| {
            let peers = self.peers.get().ok_or("the peers are not there yet")?;
            peers.queue(to, payload).map_err(|error| error.to_string())
        });
        if let Err(error) = queued {
            state.fail(format!("node {} cannot send {message} to {to}: {error}", self.me));
        }
    }

    fn arm(&self, state: &mut HostState, timer: Timer, Wait { hops, sections }: Wait) {
        state.disarm(timer);
        state.timers_started += 1;
        let (number, itself) = (state.timers_started, self.itself.clone());
        let wait = self.longest_delay * hops + self.longest_section * sections;
        let task = self.runtime.spawn(async move {
            sleep(wait).await;
            if let Some(host) = itself.upgrade() {
                host.expire(timer, number);
            }
        });
        state.timers.insert(timer, (number, task.abort_handle()));
    }

    fn expire(&self, timer: Timer, number: u64) {
        let mut state = self.state();
        if state.timers.get(&timer).is_some_and(|(running, _)| *running == number) {
            state.timers.remove(&timer);
            self.step(&mut state, Action::Expire { node: self.me, timer }, Input::Expire(timer));
        }
    }
}

/// What the peers and the client do to the node.
impl Host {
    /// A message arrives that was sent at this time.
    pub(super) fn deliver(&self, from: NodeId, sent: Time, message: &[u8]) {
        let mut state = self.state();
        match self.codec.read(message) {
            Ok(message) => {
                state.tally.travelled += clock::now() - sent;
                let action = Action::Deliver(Envelope { from, to: self.me, overtakes: 0 });
                self.step(&mut state, action, Input::Deliver { from, message });
            }
            Err(error) => state.fail(format!("node {} cannot read a message of {from}: {error}", self.me)),
        }
        state.delivered += 1;
    }

    /// The client makes a request.
    pub(super) fn request(&self, groups: Groups) {
        let mut state = self.state();
        state.asked = now();
        let action = Action::Request { node: self.me, client: 0, groups };
        self.step(&mut state, action, Input::Request { client: 0, groups });
    }

    /// The client leaves.
    pub(super) fn exit(&self) {
        let mut state = self.state();
        if let Some(visit) = state.tally.visits.last_mut() {
            visit.left = Some(now());
        }
        self.step(&mut state, Action::Exit { node: self.me, client: 0 }, Input::Exit { client: 0 });
    }

    /// Notified when the client enters.
    pub(super) fn entered(&self) -> &Notify {
        &self.entered
    }

    /// Its progress.
    pub(super) fn counts(&self) -> Counts {
        let state = self.state();
        let (entries, sent) = (state.tally.visits.len() as u64, state.tally.sent());
        Counts { entries, sent, delivered: state.delivered }
    }

    /// The record and the measures of the node.
    pub(super) fn report(&self) -> Report {
        let state = self.state();
        let recorded =
            |Taken { step, message, effects }: &Taken| Recorded::new(step, message.as_ref(), effects);
        Report { tally: state.tally.clone(), record: state.record.iter().map(recorded).collect() }
    }
}

impl HostState {
    fn disarm(&mut self, timer: Timer) {
        if let Some((_, task)) = self.timers.remove(&timer) {
            task.abort();
        }
    }

    /// Records a failure; only the first one matters.
    fn fail(&mut self, what: String) {
        self.tally.failure.get_or_insert(what);
    }
}

impl Drop for HostState {
    fn drop(&mut self) {
        for (_, task) in self.timers.values() {
            task.abort();
        }
    }
}

/// The time on the clock that all processes of a machine share.
fn now() -> Duration {
    Duration::from_nanos(clock::now().0)
}
