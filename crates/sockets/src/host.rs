//! One node: the state machine, its client and its timers, between the peers and the clock.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use algorithms::node::{Event, Node};
use algorithms::schedule::{Action, Envelope};
use algorithms::{Algorithm, Effect, Grant, Groups, Input, NodeId, Site, Step, Timer, Wait};
use random::{Random, RecordedPicks};
use service::Time;
use sync::IgnorePoison;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::sleep;
use transport::clock;

use super::replay::Recorded;
use super::tally::{Tally, Visit};
use super::{Counts, Door, Plan, Report};

/// The time of sending, in front of each message.
pub(super) const STAMP_BYTES: usize = 8;

/// A node, whatever its algorithm.
pub(super) trait Station: Send + Sync {
    /// A message arrives that was sent at this time.
    fn deliver(&self, from: NodeId, sent: Time, message: &[u8]);
    /// The client makes a request.
    fn request(&self, groups: Groups);
    /// The client leaves.
    fn exit(&self);
    /// Notified when the client enters.
    fn entered(&self) -> &Notify;
    /// Its progress.
    fn counts(&self) -> Counts;
    /// The record and the measures of the node.
    fn report(&self) -> Report;
}

/// A node of an algorithm.
pub(super) struct Host<A: Algorithm> {
    me: NodeId,
    nodes: u32,
    tokens: u32,
    rules: A::Rules,
    longest_delay: Duration,
    longest_section: Duration,
    /// For timers, which call the node back.
    itself: Weak<Host<A>>,
    runtime: Handle,
    door: Door,
    entered: Notify,
    desk: Mutex<Desk<A>>,
}

/// The mutable state.
struct Desk<A: Algorithm> {
    node: Node<A>,
    dice: RecordedPicks,
    record: Vec<Taken<A>>,
    tally: Tally,
    asked: Duration,
    delivered: u64,
    /// The armed timers. The number tells a timer from an earlier one that was already expiring.
    timers: BTreeMap<Timer, (u64, AbortHandle)>,
    timers_started: u64,
}

/// A step, recorded quickly: it becomes text when there is time.
struct Taken<A: Algorithm> {
    step: Step,
    /// The message that arrived, if one did.
    message: Option<A::Message>,
    effects: Vec<Effect<A>>,
}

impl<A: Algorithm> Host<A> {
    /// A node at its start. Needs a tokio runtime.
    pub(super) fn new(me: NodeId, plan: &Plan, rules: A::Rules, door: Door) -> Arc<Host<A>> {
        let (nodes, tokens) = (plan.setting.nodes, plan.setting.tokens);
        let desk = Desk {
            node: Node::start(&Site { me, nodes, tokens, rules: &rules }),
            dice: RecordedPicks::new(Random::stream(plan.seed, 1 << 32 | u64::from(me))),
            record: Vec::new(),
            tally: Tally::default(),
            asked: Duration::ZERO,
            delivered: 0,
            timers: BTreeMap::new(),
            timers_started: 0,
        };
        Arc::new_cyclic(|itself| Host {
            me,
            nodes,
            tokens,
            rules,
            longest_delay: plan.longest_delay,
            longest_section: plan.longest_section,
            itself: itself.clone(),
            runtime: Handle::current(),
            door,
            entered: Notify::new(),
            desk: Mutex::new(desk),
        })
    }

    fn desk(&self) -> MutexGuard<'_, Desk<A>> {
        self.desk.lock().ignore_poison()
    }

    /// Takes a step and carries out its effects. The desk stays locked until the messages are queued, so that
    /// they go out in the order of the steps.
    fn step(&self, desk: &mut Desk<A>, action: Action, input: Input<A>) {
        let site = Site { me: self.me, nodes: self.nodes, tokens: self.tokens, rules: &self.rules };
        let message = match &input {
            Input::Deliver { message, .. } => Some(message.clone()),
            _ => None,
        };
        let Desk { node, dice, .. } = desk;
        let reaction = node.apply(&site, Event::Input(input), dice);
        let step = Step { action, picks: std::mem::take(&mut desk.dice.picks) };
        if let Some(violation) = reaction.violation {
            desk.trouble(format!("{step}: {violation}"));
        }
        let mut receivers = BTreeSet::new();
        for effect in &reaction.effects {
            match effect {
                Effect::Send { to, message } => {
                    self.send(desk, *to, message);
                    receivers.insert(*to);
                }
                Effect::Enter(Grant { group, .. }) => {
                    let (node, group, asked, entered) = (self.me, *group, desk.asked, now());
                    desk.tally.visits.push(Visit { node, group, asked, entered, left: None });
                    self.entered.notify_one();
                }
                Effect::Arm(timer, wait) => self.arm(desk, *timer, *wait),
                Effect::Disarm(timer) => desk.disarm(*timer),
                // The node has handled it: nodes do not crash here.
                Effect::Persist(_) | Effect::Note(_) | Effect::Never(_) => {}
            }
        }
        desk.record.push(Taken { step, message, effects: reaction.effects });
        if let Some(peers) = self.door.get() {
            receivers.into_iter().for_each(|to| peers.flush(to));
        }
    }

    fn send(&self, desk: &mut Desk<A>, to: NodeId, message: &A::Message) {
        *desk.tally.messages.entry(A::kind(message).to_string()).or_default() += 1;
        desk.tally.words += u64::from(A::words(message));
        let stamp = clock::now().0.to_le_bytes().to_vec();
        let payload = postcard::to_extend(message, stamp).map_err(|error| error.to_string());
        let queued = payload.and_then(|payload| {
            let peers = self.door.get().ok_or("the peers are not there yet")?;
            peers.queue(to, payload).map_err(|error| error.to_string())
        });
        if let Err(error) = queued {
            desk.trouble(format!("node {} cannot send {message} to {to}: {error}", self.me));
        }
    }

    fn arm(&self, desk: &mut Desk<A>, timer: Timer, Wait { hops, sections }: Wait) {
        desk.disarm(timer);
        desk.timers_started += 1;
        let (number, itself) = (desk.timers_started, self.itself.clone());
        let wait = self.longest_delay * hops + self.longest_section * sections;
        let task = self.runtime.spawn(async move {
            sleep(wait).await;
            if let Some(host) = itself.upgrade() {
                host.expire(timer, number);
            }
        });
        desk.timers.insert(timer, (number, task.abort_handle()));
    }

    fn expire(&self, timer: Timer, number: u64) {
        let mut desk = self.desk();
        if desk.timers.get(&timer).is_some_and(|(running, _)| *running == number) {
            desk.timers.remove(&timer);
            self.step(&mut desk, Action::Expire { node: self.me, timer }, Input::Expire(timer));
        }
    }
}

impl<A: Algorithm> Station for Host<A> {
    fn deliver(&self, from: NodeId, sent: Time, message: &[u8]) {
        let mut desk = self.desk();
        match postcard::from_bytes(message) {
            Ok(message) => {
                desk.tally.travelled += clock::now() - sent;
                let action = Action::Deliver(Envelope { from, to: self.me, overtakes: 0 });
                self.step(&mut desk, action, Input::Deliver { from, message });
            }
            Err(error) => desk.trouble(format!("node {} cannot read a message of {from}: {error}", self.me)),
        }
        desk.delivered += 1;
    }

    fn request(&self, groups: Groups) {
        let mut desk = self.desk();
        desk.asked = now();
        let action = Action::Request { node: self.me, client: 0, groups };
        self.step(&mut desk, action, Input::Request { client: 0, groups });
    }

    fn exit(&self) {
        let mut desk = self.desk();
        if let Some(visit) = desk.tally.visits.last_mut() {
            visit.left = Some(now());
        }
        self.step(&mut desk, Action::Exit { node: self.me, client: 0 }, Input::Exit { client: 0 });
    }

    fn entered(&self) -> &Notify {
        &self.entered
    }

    fn counts(&self) -> Counts {
        let desk = self.desk();
        let (entries, sent) = (desk.tally.visits.len() as u64, desk.tally.sent());
        Counts { entries, sent, delivered: desk.delivered }
    }

    fn report(&self) -> Report {
        let desk = self.desk();
        let recorded =
            |Taken { step, message, effects }: &Taken<A>| Recorded::new::<A>(step, message.as_ref(), effects);
        Report { tally: desk.tally.clone(), record: desk.record.iter().map(recorded).collect() }
    }
}

impl<A: Algorithm> Desk<A> {
    fn disarm(&mut self, timer: Timer) {
        if let Some((_, task)) = self.timers.remove(&timer) {
            task.abort();
        }
    }

    /// Records a failure; only the first one matters.
    fn trouble(&mut self, what: String) {
        self.tally.trouble.get_or_insert(what);
    }
}

impl<A: Algorithm> Drop for Desk<A> {
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
