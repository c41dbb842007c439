//! Faults of nodes: they crash, pause, restart, lose contact, and lead.

use std::time::Duration;

use service::core::PeerContent;
use service::leases::{Input, Output};
use service::member::{Breach, LeaderReply};
use service::registry::Leadership;
use service::resource::ResourceMessage;
use service::{Definition, PeerMessage};

use crate::events::Event;
use crate::log::{Happened, NodeChange};
use crate::nodes::FIRST;
use crate::run::Run;

impl Run {
    pub(crate) fn is_cut_off(&self, node: usize) -> bool {
        self.processes[node].cut_off_until > self.now
    }

    /// A node sends to the leader, or to a node that it takes for the leader.
    pub(crate) fn ask_leader(&mut self, node: usize, input: Input) {
        let started = self.processes[node].started;
        let stale = self.below(5) == 0 && self.things_go_wrong() || self.processes[node].news_at > self.now;
        let leaders = &self.control.leaders;
        let to = if stale { leaders.first() } else { leaders.last() };
        let leadership = to.map(|leader| leader.leadership);
        let heard = !self.is_cut_off(node) && self.processes[node].mute_until <= self.now;
        let Some(who) = leadership.filter(|_| heard) else {
            let after = self.below(self.plan.lease.as_nanos() as u64);
            return self.plan_in(after, Event::Reply { node, started, reply: LeaderReply::Silence });
        };
        let after = self.control_hop();
        self.plan_in(after, Event::Lead { who, input });
    }

    /// Whether faults may still happen: at the end everything has to settle.
    fn things_go_wrong(&self) -> bool {
        self.now.0 < self.plan.lasts.as_nanos() as u64
    }

    /// Whether messages of the control plane may be slow.
    pub(crate) fn is_slow(&self) -> bool {
        self.plan.late_news > 0 && self.things_go_wrong()
    }

    /// How long a message to or from a leader takes.
    pub(crate) fn control_hop(&mut self) -> u64 {
        let slow = self.is_slow() && self.below(u64::from(self.plan.late_news)) == 0;
        if slow { self.below(self.plan.lease.as_nanos() as u64 * 3 / 2) } else { self.hop() }
    }

    /// An input for a leader, or for a node that takes itself for one.
    pub(crate) fn lead(&mut self, who: Leadership, input: Input) {
        let node = Run::index(who.node);
        // A leader that has crashed does not lead any more.
        if self.processes[node].member.is_none() {
            return;
        }
        let now = self.node_clock(node);
        if let Input::Enter { id, .. } = &input {
            let reply = match self.control.keeps_out(who, *id, now) {
                true => LeaderReply::Refused("it has to wait".to_owned()),
                false => LeaderReply::Noted,
            };
            let (node, after) = (Run::index(*id), self.control_hop());
            let started = self.processes[node].started;
            self.plan_in(after, Event::Reply { node, started, reply });
        }
        let (wanted, changed) = self.control.step(who, input, now);
        for output in wanted {
            let after = self.control_hop();
            let (identity, reply) = match output {
                Output::Prove(batch) => {
                    self.plan_in(after, Event::Majority { who, batch, after });
                    continue;
                }
                Output::RenewOk { identity, sequence, lasts } => {
                    let incarnation = identity.incarnation;
                    (identity, LeaderReply::Confirmed { incarnation, sequence, lasts })
                }
                Output::RenewNo { identity, .. } => (identity, LeaderReply::NotRenewed),
                Output::Propose(_) => continue,
            };
            let node = Run::index(identity.id);
            let process = &self.processes[node];
            // The reply to a process that has ended is dropped.
            if process.member.as_ref().is_some_and(|member| member.incarnation() >= identity.incarnation) {
                let started = process.started;
                self.plan_in(after, Event::Reply { node, started, reply });
            }
        }
        if changed {
            self.announce();
        }
    }

    /// A leader has asked the others whether it still leads: their answers come back after a while.
    pub(crate) fn majority(&mut self, who: Leadership, batch: u64, after: u64) {
        let reached = !self.is_cut_off(Run::index(who.node));
        let now = self.now;
        let proven = reached && self.control.leader() == Some(who);
        if proven {
            self.control.voters.answer(now);
        }
        let input = if proven { Input::Proven(batch) } else { Input::Unproven(batch) };
        self.plan_in(after, Event::Lead { who, input });
    }

    /// Leaders check their clocks.
    pub(crate) fn tick(&mut self) {
        self.plan_in(20_000_000, Event::Tick);
        let leaders: Vec<Leadership> = self.control.leaders.iter().map(|leader| leader.leadership).collect();
        for who in &leaders {
            let node = Run::index(who.node);
            if self.processes[node].clock.paused_until() <= self.now {
                self.lead(*who, Input::Tick);
            }
        }
    }

    pub(crate) fn can_lead(&self, node: usize) -> bool {
        let process = &self.processes[node];
        process.member.is_some() && process.clock.paused_until() <= self.now && !self.is_cut_off(node)
    }

    /// Another node becomes the leader: because the leader is gone, or without a reason.
    pub(crate) fn elect(&mut self) {
        let able: Vec<usize> = (0..self.processes.len()).filter(|node| self.can_lead(*node)).collect();
        if able.is_empty() {
            return self.plan_in(500_000_000, Event::Elect);
        }
        let node = able[self.below(able.len() as u64) as usize];
        let clock = self.node_clock(node);
        self.outcome.elections += 1;
        self.log_node(node, NodeChange::Leads);
        self.spread_slowly();
        self.control.elect(FIRST + node as u32, self.now, clock);
    }

    /// Some nodes keep following the previous leader for a while.
    fn spread_slowly(&mut self) {
        for node in 0..self.processes.len() {
            if self.is_slow() && self.below(3) == 0 {
                self.processes[node].news_at = self.now + Duration::from_nanos(self.below(6_000_000_000));
            }
        }
    }

    /// If the leader is gone, the others notice after a while.
    pub(crate) fn maybe_elect(&mut self, node: usize) {
        if self.control.leader().is_some_and(|leader| Run::index(leader.node) == node) {
            let after = 300_000_000 + self.below(2_000_000_000);
            self.plan_in(after, Event::Elect);
        }
    }

    /// A node crashes.
    pub(crate) fn crash(&mut self) {
        let alive: Vec<usize> =
            (0..self.processes.len()).filter(|node| self.processes[*node].member.is_some()).collect();
        if alive.len() < 2 {
            return;
        }
        let node = alive[self.below(alive.len() as u64) as usize];
        self.log_node(node, NodeChange::Dies);
        self.outcome.crashes += 1;
        self.end(node);
        let after = self.below(8_000_000_000);
        self.plan_in(after, Event::Start(node));
    }

    /// A node is paused for a while, like a stopped process.
    pub(crate) fn pause(&mut self) {
        let node = self.below(self.processes.len() as u64) as usize;
        let pause = self.below(5_000_000_000);
        self.log_node(node, NodeChange::StandsStill(Duration::from_nanos(pause)));
        let until = self.now + Duration::from_nanos(pause);
        self.processes[node].clock.pause(self.now, until);
        if pause > 1_000_000_000 {
            self.maybe_elect(node);
        }
    }

    /// Some nodes lose contact for a while, perhaps in one direction; or one of them cannot reach the control
    /// plane.
    pub(crate) fn part(&mut self) {
        let until = self.now + Duration::from_nanos(self.below(6_000_000_000));
        let nodes = self.processes.len() as u64;
        self.outcome.partitions += 1;
        if self.below(3) == 0 {
            let node = self.below(nodes) as usize;
            let one_way = self.plan.late_news > 0 && self.below(2) == 0;
            let process = &mut self.processes[node];
            let cut = if one_way { &mut process.mute_until } else { &mut process.cut_off_until };
            *cut = until;
            self.log_node(node, NodeChange::CutOff { both: !one_way, lasts: until - self.now });
            return self.maybe_elect(node);
        }
        let (side, one_way) = (self.below(1 << nodes), self.below(3) == 0);
        let (from, to): (Vec<usize>, Vec<usize>) =
            (0..nodes as usize).partition(|node| side >> node & 1 == 1);
        if !from.is_empty() && !to.is_empty() {
            self.log(Happened::Apart { from, to, both: !one_way, lasts: until - self.now });
        }
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

    /// Two nodes lose contact for good.
    pub(crate) fn split(&mut self) {
        let for_ever = self.now + Duration::from_secs(1000);
        self.log(Happened::Apart { from: vec![0], to: vec![1], both: true, lasts: for_ever - self.now });
        for way in [(0, 1), (1, 0)] {
            self.blocked.insert(way, (self.now, for_ever));
        }
    }

    /// A peer sends what no honest peer sends.
    pub(crate) fn lie(&mut self) {
        let nodes = self.processes.len() as u64;
        let (from, to) = (self.below(nodes) as usize, self.below(nodes) as usize);
        let view = self.processes[to].member.as_ref().map(|member| member.view());
        let Some(epoch) =
            view.filter(|view| view.index_of(FIRST + from as u32).is_some()).map(|view| view.epoch)
        else {
            return;
        };
        if from == to || !self.processes[to].liars.insert(from) {
            return;
        }
        self.log_node(from, NodeChange::LiesTo(to));
        let (name, definition) = ("name 0".into(), Definition::Slots(u32::MAX));
        let content = PeerContent::Resource { name, definition, message: ResourceMessage::Age(0) };
        let message = PeerMessage { epoch, content };
        self.at_node(to, |member, _, now, effects| {
            member.receive(FIRST + from as u32, message, now, effects);
        });
    }

    /// A node disconnects a peer: no message passes between the two until its next view.
    pub(crate) fn disconnect(&mut self, node: usize, peer: usize, why: &Breach) {
        if !self.processes[node].liars.contains(&peer) {
            let what = format!("node {node} disconnects node {peer}, which is honest: {why}");
            return self.outcome.violations.push(what);
        }
        for way in [(node, peer), (peer, node)] {
            self.blocked.insert(way, (self.now, self.now + Duration::from_secs(1000)));
        }
    }

    /// A node enters a view: its links start afresh.
    pub(crate) fn connect_again(&mut self, node: usize) {
        for peer in std::mem::take(&mut self.processes[node].liars) {
            for way in [(node, peer), (peer, node)] {
                self.blocked.remove(&way);
                self.latest.remove(&way);
            }
        }
    }
}
