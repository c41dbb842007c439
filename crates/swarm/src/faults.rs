//! What happens to nodes: they die, stand still, come back, are cut off, hear of new views, and lead.

use std::time::Duration;

use service::leases::{Input, Lease, Output};
use service::registry::Leadership;
use service::view::View;
use service::{Config, Core, Defect, PeerMessage, Time};

use crate::clock::Clock;
use crate::council::{Life, member, renewal};
use crate::plan::Plan;
use crate::run::{Event, Run};

/// A node that is running, or not.
pub(crate) struct Machine {
    pub(crate) id: u32,
    pub(crate) life: u64,
    /// It may stand still.
    pub(crate) clock: Clock,
    /// Its process runs.
    pub(crate) up: bool,
    /// `None` while it is down, or not a member yet.
    pub(crate) core: Option<Core>,
    pub(crate) lease: Lease,
    /// When it entered its view.
    pub(crate) entered: Time,
    /// How many changes of definitions it has heard of.
    pub(crate) defined: u64,
    /// It hears then of who leads.
    pub(crate) news_at: Time,
    /// It is to leave, and not to come back.
    pub(crate) leaves: bool,
    /// The control plane is out of its reach until then.
    pub(crate) cut_off_until: Time,
    /// The control plane does not hear it until then.
    pub(crate) mute_until: Time,
    /// Messages of views that it has not heard of, with their senders.
    pub(crate) early: Vec<(usize, PeerMessage)>,
}

impl Machine {
    /// One that is not running.
    pub(crate) fn new(id: u32, plan: &Plan) -> Machine {
        Machine {
            id,
            life: 1,
            clock: Clock::new(1000, plan.defect == Some(Defect::NodeClockSleeps)),
            up: true,
            core: None,
            lease: Lease::new(1).with_defect(plan.defect),
            cut_off_until: Time(0),
            mute_until: Time(0),
            entered: Time(0),
            defined: 0,
            leaves: false,
            news_at: Time(0),
            early: Vec::new(),
        }
    }
}

/// The first id: not 0, so that ids and places differ.
pub(crate) const FIRST: u32 = 100;

/// A peer that was out of reach for so long is reported, and one whose end mark has been missing for so long.
const UNREACHABLE_AFTER: Duration = Duration::from_secs(1);

impl Run {
    pub(crate) fn index(id: u32) -> usize {
        (id - FIRST) as usize
    }

    pub(crate) fn is_cut_off(&self, node: usize) -> bool {
        self.machines[node].cut_off_until > self.now
    }

    /// A node renews its lease, at whoever it takes for the leader.
    pub(crate) fn renew(&mut self, node: usize, life: u64) {
        if self.machines[node].life != life || self.council.is_none() {
            return;
        }
        let agreed = self.council.as_ref().map_or(self.plan.lease, |council| council.registry.lease);
        let every = self.machines[node].lease.renewed_every(agreed);
        self.plan_in(every.as_nanos() as u64, Event::Renew(node, life));
        let clock = self.node_clock(node);
        let machine = &mut self.machines[node];
        let epoch = machine.core.as_ref().map_or(0, |core| core.view().epoch);
        let sequence = machine.lease.renew(clock);
        let mut renewal = renewal((machine.id, life), sequence, epoch);
        renewal.unreachable = self.unreachable(node);
        renewal.missing_ends = self.missing_ends(node);
        let stale = self.below(5) == 0 && self.things_go_wrong() || self.machines[node].news_at > self.now;
        let reigns = self.council.as_ref().map_or(&[][..], |council| &council.reigns);
        let to = if stale { reigns.first() } else { reigns.last() };
        let Some(to) = to.map(|reign| reign.leadership) else { return };
        if !self.is_cut_off(node) && self.machines[node].mute_until <= self.now {
            let after = self.control_hop();
            if self.machines[node].core.is_none() || self.asks_again(node) {
                let input = Input::Enter { id: FIRST + node as u32, member: member(life) };
                self.plan_in(after, Event::Lead { who: to, input });
            }
            self.plan_in(after, Event::Lead { who: to, input: Input::Renew(renewal) });
        }
    }

    /// Whether a node that was left out asks to be let in as it is, or goes on in its next life with what it has.
    fn asks_again(&self, node: usize) -> bool {
        let goes_on = [Defect::ReadmitsIncarnation, Defect::ResumesAfterExclusion];
        let Machine { id, life, .. } = self.machines[node];
        let member = self.council.as_ref().and_then(|council| council.life(id)) == Some(life);
        self.plan.defect.is_some_and(|defect| goes_on.contains(&defect)) && !member
    }

    /// Whether anything may still go wrong: in the end everything has to come to rest.
    fn things_go_wrong(&self) -> bool {
        self.now.0 < self.plan.lasts.as_nanos() as u64
    }

    /// Whether news may take long.
    fn is_slow(&self) -> bool {
        self.plan.late_news > 0 && self.things_go_wrong()
    }

    /// How long a message to or from a leader takes.
    fn control_hop(&mut self) -> u64 {
        let slow = self.is_slow() && self.below(u64::from(self.plan.late_news)) == 0;
        if slow { self.below(self.plan.lease.as_nanos() as u64 * 3 / 2) } else { self.hop() }
    }

    fn unreachable(&self, node: usize) -> Vec<u32> {
        let blocked = |other: &usize| {
            [(node, *other), (*other, node)].iter().any(|way| {
                let since = self.blocked.get(way).filter(|(_, until)| *until > self.now);
                since.is_some_and(|(since, _)| self.now - *since >= UNREACHABLE_AFTER)
            })
        };
        (0..self.machines.len()).filter(blocked).map(|other| FIRST + other as u32).collect()
    }

    fn missing_ends(&self, node: usize) -> Vec<u32> {
        let Machine { core, entered, .. } = &self.machines[node];
        let core = core.as_ref().filter(|_| self.now - *entered >= UNREACHABLE_AFTER);
        core.map_or(Vec::new(), Core::missing_ends)
    }

    /// Something happens to a leader, or to somebody who takes itself for one.
    pub(crate) fn lead(&mut self, who: Leadership, input: Input) {
        let node = Run::index(who.node);
        // A leader that has died does not lead any more.
        if !self.machines[node].up {
            return;
        }
        let now = self.node_clock(node);
        let Some(council) = &mut self.council else { return };
        let (wanted, changed) = council.step(who, input, now);
        for output in wanted {
            let after = self.control_hop();
            match output {
                Output::Prove(batch) => self.plan_in(after, Event::Majority { who, batch, after }),
                Output::RenewOk { id, incarnation, sequence, lasts, latest_epoch } => {
                    let (node, answer) = (Run::index(id), Some((sequence, lasts)));
                    self.plan_in(after, Event::Renewed { node, life: incarnation, answer });
                    self.fetch_view(node, incarnation, latest_epoch);
                }
                Output::RenewNo { id, incarnation, .. } => {
                    let node = Run::index(id);
                    self.plan_in(after, Event::Renewed { node, life: incarnation, answer: None });
                }
                Output::Propose(_) => {}
            }
        }
        if changed {
            self.announce();
        }
    }

    /// A leader has asked the others whether it leads: what they say is back after a while.
    pub(crate) fn majority(&mut self, who: Leadership, batch: u64, after: u64) {
        let reached = !self.is_cut_off(Run::index(who.node));
        let now = self.now;
        let council = self.council.as_mut().filter(|council| reached && council.leader() == Some(who));
        let proven = council.map(|council| council.voters.answer(now)).is_some();
        let input = if proven { Input::Proven(batch) } else { Input::Unproven(batch) };
        self.plan_in(after, Event::Lead { who, input });
    }

    /// Leaders look at their clocks.
    pub(crate) fn tick(&mut self) {
        self.plan_in(20_000_000, Event::Tick);
        let Some(council) = &self.council else { return };
        let reigns: Vec<Leadership> = council.reigns.iter().map(|reign| reign.leadership).collect();
        for who in &reigns {
            let node = Run::index(who.node);
            if self.machines[node].clock.stands_until() <= self.now {
                self.lead(*who, Input::Tick);
            }
        }
    }

    pub(crate) fn can_lead(&self, node: usize) -> bool {
        let machine = &self.machines[node];
        machine.up && machine.clock.stands_until() <= self.now && !self.is_cut_off(node)
    }

    /// Somebody else comes to lead: because the one who did is gone, or just so.
    pub(crate) fn elect(&mut self) {
        let able: Vec<usize> = (0..self.machines.len()).filter(|node| self.can_lead(*node)).collect();
        if able.is_empty() {
            return self.plan_in(500_000_000, Event::Elect);
        }
        let node = able[self.below(able.len() as u64) as usize];
        let clock = self.node_clock(node);
        self.happened.elections += 1;
        self.happened.log.push(format!("{} node {node} leads", self.now.0));
        self.spread_slowly();
        if let Some(council) = &mut self.council {
            council.elect(FIRST + node as u32, self.now, clock);
        }
    }

    /// Some nodes go on for a while with whoever led before.
    fn spread_slowly(&mut self) {
        for node in 0..self.machines.len() {
            if self.is_slow() && self.below(3) == 0 {
                self.machines[node].news_at = self.now + Duration::from_nanos(self.below(6_000_000_000));
            }
        }
    }

    /// If nobody is left who could lead, the others notice after a while.
    pub(crate) fn maybe_elect(&mut self, node: usize) {
        let leader = self.council.as_ref().and_then(|council| council.leader());
        if leader.is_some_and(|leader| Run::index(leader.node) == node) {
            let after = 300_000_000 + self.below(2_000_000_000);
            self.plan_in(after, Event::Elect);
        }
    }

    fn announce(&mut self) {
        let Some(council) = &self.council else { return };
        let view = council.registry.view();
        let lives: Vec<Life> =
            view.members.iter().map(|member| (member.id, council.life(member.id).unwrap_or(0))).collect();
        self.happened.log.push(format!("{} {view:?}", self.now.0));
        self.happened.views += 1;
        for (id, life) in lives {
            let late = self.is_slow() && self.below(6) == 0;
            let after = if late { self.below(2_000_000_000) } else { self.hop() * (1 + self.below(8)) };
            self.plan_in(after, Event::View { node: Run::index(id), life, view: view.clone() });
        }
    }

    /// A node that hears of a later view with its renewal gets it.
    fn fetch_view(&mut self, node: usize, life: u64, latest: u64) {
        let Some(council) = self.council.as_ref().filter(|_| self.plan.late_news > 0) else { return };
        let epoch = self.machines[node].core.as_ref().map_or(0, |core| core.view().epoch);
        if epoch < latest {
            let view = council.registry.view();
            let after = 2 * self.hop();
            self.plan_in(after, Event::View { node, life, view });
        }
    }

    /// A node hears what became of a renewal. If it is no member any more, it begins a new life.
    pub(crate) fn renewed(&mut self, node: usize, life: u64, answer: Option<(u64, Duration)>) {
        if self.machines[node].life != life || self.is_cut_off(node) {
            return;
        }
        let clock = self.node_clock(node);
        let machine = &mut self.machines[node];
        let Some((sequence, lasts)) = answer else {
            let council = self.council.as_ref();
            let member = council.and_then(|council| council.life(machine.id)) == Some(life);
            if machine.core.is_some() && !member {
                self.happened.log.push(format!("{} node {node} was left out", self.now.0));
                self.happened.excluded += 1;
                self.maybe_elect(node);
                if self.plan.defect != Some(Defect::ReadmitsIncarnation) {
                    self.start(node);
                }
            }
            return;
        };
        machine.lease.confirmed(clock, life, sequence, lasts);
        let until = machine.lease.until();
        if machine.core.is_some() {
            self.at_node(node, |core, now, out| core.renewed(until, now, out));
        }
    }

    /// A node dies.
    pub(crate) fn crash(&mut self) {
        let alive: Vec<usize> =
            (0..self.machines.len()).filter(|node| self.machines[*node].core.is_some()).collect();
        if alive.len() < 2 {
            return;
        }
        let node = alive[self.below(alive.len() as u64) as usize];
        self.happened.log.push(format!("{} node {node} dies", self.now.0));
        self.happened.crashes += 1;
        let machine = &mut self.machines[node];
        machine.core = None;
        machine.up = false;
        machine.life += 1;
        machine.early.clear();
        let after = self.below(8_000_000_000);
        self.plan_in(after, Event::Start(node));
        self.maybe_elect(node);
    }

    /// A node stands still for a while, as a process that is stopped.
    pub(crate) fn pause(&mut self) {
        let node = self.below(self.machines.len() as u64) as usize;
        let pause = self.below(5_000_000_000);
        self.happened.log.push(format!("{} node {node} stands still for {pause}", self.now.0));
        let until = self.now + Duration::from_nanos(pause);
        self.machines[node].clock.stand(self.now, until);
        if pause > 1_000_000_000 {
            self.maybe_elect(node);
        }
    }

    /// Some nodes cannot hear each other for a while, or not in one direction; or one does not reach the control plane.
    pub(crate) fn part(&mut self) {
        let until = self.now + Duration::from_nanos(self.below(6_000_000_000));
        let nodes = self.machines.len() as u64;
        self.happened.partitions += 1;
        if self.below(3) == 0 {
            let node = self.below(nodes) as usize;
            let one_way = self.plan.late_news > 0 && self.below(2) == 0;
            let machine = &mut self.machines[node];
            let cut = if one_way { &mut machine.mute_until } else { &mut machine.cut_off_until };
            *cut = until;
            return self.maybe_elect(node);
        }
        let (side, one_way) = (self.below(1 << nodes), self.below(3) == 0);
        for from in 0..nodes {
            for to in 0..nodes {
                let apart = (side >> from & 1) != (side >> to & 1);
                if apart && !(one_way && side >> from & 1 == 0) {
                    let way = (from as usize, to as usize);
                    let since = self.blocked.get(&way).filter(|(_, until)| *until > self.now);
                    let since = since.map_or(self.now, |(since, _)| *since);
                    self.blocked.insert(way, (since, until));
                }
            }
        }
    }

    /// A node hears of a view.
    pub(crate) fn hear_of_view(&mut self, node: usize, life: u64, view: View) {
        let by_id = self.plan.defect == Some(Defect::MembersById);
        let machine = &mut self.machines[node];
        // Who has left hears nothing more.
        if machine.life != life && !by_id || !machine.up {
            return;
        }
        let life = machine.life;
        let (id, linger, seed) = (machine.id, self.linger, self.seed);
        let backwards = self.plan.defect == Some(Defect::ViewsBackwards);
        match &machine.core {
            Some(core) if core.view().epoch == view.epoch => return,
            Some(core) if core.view().epoch > view.epoch && !backwards => return,
            Some(_) => {}
            None => {
                let config = Config {
                    seed: seed ^ u64::from(id) ^ life,
                    incarnation: life,
                    leased: true,
                    defect: self.plan.defect,
                    linger,
                    keep_idle: linger,
                    ..Config::new(id, View::alone(id))
                };
                machine.core = Some(Core::new(config));
            }
        }
        self.hear_of_all_definitions(node);
        self.at_node(node, |core, now, out| core.enter(view, now, out));
        self.machines[node].entered = self.now;
        for (from, message) in std::mem::take(&mut self.machines[node].early) {
            self.peer(from, node, message);
        }
    }

    /// A message of a peer arrives. One of a later view waits until the node is there.
    pub(crate) fn peer(&mut self, from: usize, to: usize, message: PeerMessage) {
        let Some(core) = &self.machines[to].core else {
            // It may be about to hear that it is a member.
            return self.machines[to].early.push((from, message));
        };
        if message.epoch > core.view().epoch {
            return self.machines[to].early.push((from, message));
        }
        let Some(place) = core.view().place(FIRST + from as u32) else { return };
        self.at_node(to, |core, now, out| core.receive(place, message, now, out));
    }
}
