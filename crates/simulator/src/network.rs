//! The messages under way, and the record of the run.

use std::collections::BTreeMap;

use algorithms::schedule::Envelope;
use algorithms::{Action, Algorithm, Census, Info, NodeId, Step};
use random::Random;

use crate::agenda::{Agenda, Event};
use crate::engine::Recording;
use crate::fault::{Faults, LostMessage};
use crate::plan::Plan;
use crate::routes::Routes;
use crate::time::{Draws, Shape, Ticks, ticks};

pub(crate) struct Network<A: Algorithm> {
    letters: Vec<Letter<A::Message>>,
    free: Vec<u32>,
    transit: Draws,
    /// How long a message is under way, if that is all that decides when it arrives.
    same_transit: Option<Ticks>,
    /// The ways between nodes, if messages take longer between some than between others.
    routes: Option<Box<Routes>>,
    /// The longest time that a message is under way.
    transit_bound: Ticks,
    /// How long a message occupies its sender's processor.
    pub(crate) send: Ticks,
    /// The same, if that is no slow node and does nothing else.
    usual_send: Ticks,
    /// The longest delay of a message that timers allow for.
    pub(crate) longest_hop: Ticks,
    /// The longest delay of a message, processors included, where an algorithm relies on that.
    paced: Option<Ticks>,
    /// The arrival of the latest message of each channel, where delays vary and channels are FIFO.
    latest: Option<BTreeMap<(NodeId, NodeId), Ticks>>,
    faults: Faults,
    /// How many more messages of a kind will be sent until the one that is lost, that one included.
    doomed: Vec<u64>,
    /// Whether there are no faults at all.
    faultless: bool,
    /// Whether messages and steps have nothing to watch out for: there are no faults, no pace to keep, no copies that
    /// leave together, and no record.
    pub(crate) plain: bool,
    /// The nodes of each active partition, from the first to the last, and its end.
    pub(crate) partitions: Vec<(NodeId, NodeId, Ticks)>,
    random: Random,
    /// The recorded steps, if steps are recorded.
    pub(crate) steps: Option<Vec<Step>>,
    /// When each of them happened.
    pub(crate) times: Vec<Ticks>,
    /// How many of them there were when the last step had picked.
    recorded: usize,
    /// The letters of each channel, oldest first, if steps are recorded.
    channels: BTreeMap<(NodeId, NodeId), Vec<u32>>,
    /// Letters with their duplicates that are not in their channels yet, if steps are recorded.
    twins: Vec<(u32, u32)>,
}

/// A cache line of its own: to find it is a shift.
#[repr(align(64))]
struct Letter<M> {
    from: NodeId,
    to: NodeId,
    /// When it leaves its sender's processor.
    leaves: Ticks,
    /// When its sender sent it; it may have waited for the processor since.
    sent: Ticks,
    /// `None` once it is lost or delivered.
    message: Option<M>,
}

/// The fate of a message.
#[derive(PartialEq)]
enum Fate {
    Arrives,
    ArrivesLate,
    ArrivesTwice,
    Lost,
}

impl<A: Algorithm> Network<A> {
    pub(crate) fn new(plan: &Plan, info: &Info, seed: u64, recording: Recording) -> Network<A> {
        let factor = plan.slow.as_ref().map_or(1.0, |slow| slow.factor);
        let (send, receive) = (ticks(plan.send * factor), ticks(plan.receive * factor));
        let transit_bound = plan.longest_transit().bound();
        let hop = send + receive + transit_bound;
        // A message may wait behind one to or from every other node.
        let longest_hop = hop + (send + receive) * u64::from(plan.setting.nodes - 1);
        let varies = plan.transit.shape != Shape::Constant || plan.faults.reorder > 0.0;
        let paced = info.relies_on_pace().then_some(hop);
        let routes = Routes::of(plan).map(Box::new);
        let same = !varies && routes.is_none() && paced.is_none();
        Network {
            letters: Vec::new(),
            free: Vec::new(),
            transit: Draws::new(plan.transit),
            same_transit: same.then_some(transit_bound),
            routes,
            transit_bound,
            send,
            usual_send: ticks(plan.send),
            longest_hop: paced.unwrap_or(longest_hop),
            paced,
            latest: (plan.fifo && varies).then(BTreeMap::new),
            faults: plan.faults.clone(),
            doomed: plan.faults.lose.iter().map(|lost| lost.number).collect(),
            faultless: plan.faults.is_empty(),
            plain: recording == Recording::Off
                && !plan.multicast
                && plan.faults.is_empty()
                && paced.is_none(),
            partitions: Vec::new(),
            random: Random::stream(seed, 2),
            steps: (recording == Recording::On).then(Vec::new),
            times: Vec::new(),
            recorded: 0,
            channels: BTreeMap::new(),
            twins: Vec::new(),
        }
    }

    /// Whether no message is under way.
    pub(crate) fn silent(&self) -> bool {
        self.free.len() == self.letters.len()
    }

    /// The most messages that have been under way at once.
    pub(crate) fn most_under_way(&self) -> usize {
        self.letters.len()
    }

    /// Ends all faults.
    pub(crate) fn end_faults(&mut self) {
        self.faults = Faults::default();
        self.partitions.clear();
        self.faultless = true;
    }

    /// When a letter must be handled, if the algorithm relies on that.
    #[inline]
    pub(crate) fn deadline(&self, letter: u32) -> Option<Ticks> {
        self.paced.map(|paced| self.letters[letter as usize].sent + paced)
    }

    /// Sends a message that leaves its sender's processor at `leaves`. Returns whether a fault affected it.
    #[inline(always)]
    pub(crate) fn post(
        &mut self,
        agenda: &mut Agenda,
        (now, leaves): (Ticks, Ticks),
        (from, to): (NodeId, NodeId),
        message: A::Message,
        census: Option<&mut Census>,
    ) -> bool {
        if !self.faultless {
            return self.post_with_faults(agenda, (now, leaves), (from, to), message, census);
        }
        if let Some(census) = census {
            A::count_message(&message, to, census);
        }
        let letter = self.plan_arrival(agenda, (now, leaves), (from, to));
        self.put_in(letter, message);
        if self.steps.is_some() {
            self.join_channel(from, to, letter);
        }
        false
    }

    /// As [`Network::post`], where the faults of the plan decide the fate of the message.
    #[inline(never)]
    fn post_with_faults(
        &mut self,
        agenda: &mut Agenda,
        times: (Ticks, Ticks),
        (from, to): (NodeId, NodeId),
        message: A::Message,
        mut census: Option<&mut Census>,
    ) -> bool {
        let fate = self.fate(times.0, from, to, &message);
        if fate == Fate::Lost {
            let letter = self.address((from, to), times);
            self.put_in(letter, message);
            self.join_channel(from, to, letter);
            self.lose(letter, None);
            return true;
        }
        let twin = (fate == Fate::ArrivesTwice).then(|| message.clone());
        let late = fate == Fate::ArrivesLate;
        let letter = self.send_off(agenda, times, (from, to), message, census.as_deref_mut(), late);
        self.join_channel(from, to, letter);
        if let Some(twin) = twin {
            let second = self.send_off(agenda, times, (from, to), twin, census, false);
            if self.steps.is_some() {
                self.twins.push((letter, second));
            }
        }
        fate != Fate::Arrives
    }

    /// Plans the arrival of a message, which faults may affect. Returns the number of its letter.
    fn send_off(
        &mut self,
        agenda: &mut Agenda,
        times: (Ticks, Ticks),
        (from, to): (NodeId, NodeId),
        message: A::Message,
        census: Option<&mut Census>,
        late: bool,
    ) -> u32 {
        if let Some(census) = census {
            A::count_message(&message, to, census);
        }
        let letter = self.address((from, to), times);
        self.put_in(letter, message);
        let at = self.arrival(times, (from, to), late);
        agenda.plan(at, Event::Arrive(to, letter));
        letter
    }

    /// Plans the arrival of a message that no fault affects. Returns the number of its letter, which the caller has to
    /// put the message in: last of all, so that it is moved once.
    #[inline(always)]
    pub(crate) fn plan_arrival(
        &mut self,
        agenda: &mut Agenda,
        (now, leaves): (Ticks, Ticks),
        (from, to): (NodeId, NodeId),
    ) -> u32 {
        let letter = self.address((from, to), (now, leaves));
        let at = match self.same_transit {
            Some(transit) => leaves + transit,
            None => self.arrival((now, leaves), (from, to), false),
        };
        // A message that waited for its sender's processor arrives later than those of the next moments. Were it in the
        // lane, they could not be.
        if leaves > now + self.usual_send {
            agenda.plan_unordered(at, Event::Arrive(to, letter));
        } else {
            agenda.plan(at, Event::Arrive(to, letter));
        }
        letter
    }

    /// Puts a message into its letter.
    #[inline(always)]
    pub(crate) fn put_in(&mut self, letter: u32, message: A::Message) {
        self.letters[letter as usize].message = Some(message);
    }

    fn fate(&mut self, now: Ticks, from: NodeId, to: NodeId, message: &A::Message) -> Fate {
        if self.is_doomed(message) {
            return Fate::Lost;
        }
        let apart = |&(first, last, until): &(NodeId, NodeId, Ticks)| {
            let inner = first..=last;
            now < until && inner.contains(&from) != inner.contains(&to)
        };
        if self.partitions.iter().any(apart) {
            return Fate::Lost;
        }
        let Faults { loss, duplicate, reorder, .. } = self.faults;
        if loss > 0.0 && self.random.chance(loss) {
            Fate::Lost
        } else if duplicate > 0.0 && self.random.chance(duplicate) {
            Fate::ArrivesTwice
        } else if reorder > 0.0 && self.random.chance(reorder) {
            Fate::ArrivesLate
        } else {
            Fate::Arrives
        }
    }

    /// Whether this is one of the single messages that are lost.
    fn is_doomed(&mut self, message: &A::Message) -> bool {
        let mut doomed = false;
        for (lost, left) in self.faults.lose.iter().zip(&mut self.doomed) {
            if *left > 0 && lost.kind == A::kind(message) {
                *left -= 1;
                doomed |= *left == 0;
            }
        }
        doomed
    }

    /// A single message that should have been lost and was never sent, and how many of its kind were.
    pub(crate) fn never_lost(&self) -> Option<(&LostMessage, u64)> {
        let (lost, left) = self.faults.lose.iter().zip(&self.doomed).find(|(_, left)| **left > 0)?;
        Some((lost, lost.number - left))
    }

    /// A letter without a message.
    #[inline(always)]
    fn address(&mut self, (from, to): (NodeId, NodeId), (sent, leaves): (Ticks, Ticks)) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| self.enlarge());
        let letter = &mut self.letters[number as usize];
        (letter.from, letter.to, letter.sent, letter.leaves) = (from, to, sent, leaves);
        number
    }

    /// Makes room for one more letter.
    #[cold]
    #[inline(never)]
    fn enlarge(&mut self) -> u32 {
        self.letters.push(Letter { from: 0, to: 0, leaves: 0, sent: 0, message: None });
        self.letters.len() as u32 - 1
    }

    /// At the end of a step: duplicates join their channels behind everything that the step has sent, because
    /// that is where a trace puts them.
    #[inline]
    pub(crate) fn queue_twins(&mut self) {
        if !self.twins.is_empty() {
            self.queue_all_twins();
        }
    }

    #[cold]
    #[inline(never)]
    fn queue_all_twins(&mut self) {
        for (letter, twin) in std::mem::take(&mut self.twins) {
            let Letter { from, to, .. } = self.letters[letter as usize];
            let overtakes = self.place(from, to, letter);
            self.record(Action::Duplicate(Envelope { from, to, overtakes }));
            self.join_channel(from, to, twin);
        }
    }

    /// When a message arrives.
    #[inline(never)]
    fn arrival(&mut self, (now, leaves): (Ticks, Ticks), (from, to): (NodeId, NodeId), late: bool) -> Ticks {
        let transit = match &self.routes {
            None => self.transit.draw(&mut self.random),
            Some(routes) => routes.draw(from, to, &mut self.random),
        };
        let mut at = leaves + transit;
        if late {
            at += self.random.below(9 * self.bound(from, to).max(1));
        } else if let Some(latest) = &mut self.latest {
            let latest = latest.entry((from, to)).or_default();
            at = at.max(*latest);
            *latest = at;
        }
        if self.paced.is_some() {
            // The latest time at which the receiver's processor can start with it in time.
            at = at.min(now + self.send + self.transit_bound);
        }
        at
    }

    /// The longest time that a message between two nodes is under way.
    fn bound(&self, from: NodeId, to: NodeId) -> Ticks {
        self.routes.as_ref().map_or(self.transit_bound, |routes| routes.bound(from, to))
    }

    /// Removes a letter that is delivered. Returns its sender, its receiver and its message, unless it was lost.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, number: u32) -> Option<(NodeId, NodeId, A::Message)> {
        if self.steps.is_some() {
            self.record_delivery(number);
        }
        self.free.push(number);
        let letter = &mut self.letters[number as usize];
        letter.message.take().map(|message| (letter.from, letter.to, message))
    }

    /// Whether a letter was lost on its way; its number is then free again.
    #[inline]
    pub(crate) fn was_lost(&mut self, letter: u32) -> bool {
        let lost = !self.plain && self.letters[letter as usize].message.is_none();
        if lost {
            self.free.push(letter);
        }
        lost
    }

    /// Loses a letter that no pending event refers to any more.
    pub(crate) fn lose(&mut self, letter: u32, census: Option<&mut Census>) {
        self.lose_content(letter, census);
        self.free.push(letter);
    }

    /// Loses the messages that a crashing node has not sent yet. Returns their number.
    pub(crate) fn lose_unsent(&mut self, node: NodeId, now: Ticks, mut census: Option<&mut Census>) -> u64 {
        let unsent = |letter: &Letter<A::Message>| {
            letter.from == node && letter.leaves > now && letter.message.is_some()
        };
        let letters: Vec<u32> =
            (0..).zip(&self.letters).filter(|(_, letter)| unsent(letter)).map(|(number, _)| number).collect();
        for &letter in &letters {
            // Its number stays taken until its arrival, which is planned.
            self.lose_content(letter, census.as_deref_mut());
        }
        letters.len() as u64
    }

    fn lose_content(&mut self, letter: u32, census: Option<&mut Census>) {
        let envelope = self.leave_channel(letter);
        self.record(Action::Lose(envelope));
        let message = self.letters[letter as usize].message.take();
        if let (Some(message), Some(census)) = (message, census) {
            census.take_back();
            A::count_message(&message, envelope.to, census);
            census.count_up();
        }
    }

    /// A letter is the last of its channel, if steps are recorded.
    #[cold]
    #[inline(never)]
    fn join_channel(&mut self, from: NodeId, to: NodeId, letter: u32) {
        if self.steps.is_some() {
            self.channels.entry((from, to)).or_default().push(letter);
        }
    }

    /// Removes a letter from its channel, if steps are recorded. Returns its position, as a trace states it.
    fn leave_channel(&mut self, letter: u32) -> Envelope {
        let Letter { from, to, .. } = self.letters[letter as usize];
        let overtakes = self.place(from, to, letter);
        if let Some(channel) = self.channels.get_mut(&(from, to)) {
            channel.remove(overtakes);
        }
        Envelope { from, to, overtakes }
    }

    #[cold]
    #[inline(never)]
    fn record_delivery(&mut self, letter: u32) {
        if self.letters[letter as usize].message.is_some() {
            let envelope = self.leave_channel(letter);
            self.record(Action::Deliver(envelope));
        }
    }

    /// How many older letters are in its channel. Only needed for a record.
    fn place(&self, from: NodeId, to: NodeId, letter: u32) -> usize {
        let channel = self.channels.get(&(from, to));
        channel.and_then(|channel| channel.iter().position(|&other| other == letter)).unwrap_or(0)
    }

    /// Records a step that is about to happen, if steps are recorded.
    #[inline]
    pub(crate) fn record(&mut self, action: Action) {
        if let Some(steps) = &mut self.steps {
            steps.push(Step { action, picks: Vec::new() });
        }
    }

    /// Records the picks and the time of the last step, if steps are recorded.
    #[inline(always)]
    pub(crate) fn record_picks(&mut self, picks: &mut Vec<u32>, now: Ticks) {
        match &mut self.steps {
            Some(steps) => {
                self.recorded = keep_picks(steps, picks);
                // What happened to messages since the step before belongs to this time, too.
                self.times.resize(self.recorded, now);
            }
            None => picks.clear(),
        }
    }

    /// Drops what was recorded since the last step picked: the fate of its messages.
    #[cold]
    pub(crate) fn forget_fates(&mut self) {
        if let Some(steps) = &mut self.steps {
            steps.truncate(self.recorded);
        }
    }
}

/// Adds picks to the last step. Returns the number of steps.
#[cold]
#[inline(never)]
fn keep_picks(steps: &mut [Step], picks: &mut Vec<u32>) -> usize {
    steps.last_mut().expect("the step was recorded").picks = std::mem::take(picks);
    steps.len()
}
