//! Watchers: connections that receive the events of a node. One in three reads everything at once; the others
//! stop reading for a while from time to time. The events that a watcher has seen and those it was told it
//! missed add up to what the auditor saw, a connection that always reads.

use std::collections::VecDeque;

use service::event::Filter;
use service::member::ConnectionId;
use service::protocol::{ToClient, ToNode};

use crate::events::Event;
use crate::run::{Phase, Reader, Run};

/// A watcher with this many unread frames does not keep up.
const MANY: usize = 10;

#[derive(Default)]
pub(crate) struct Watcher {
    node: usize,
    /// The start of the node's process that it watches.
    started: u64,
    /// Its connection.
    connection: Option<ConnectionId>,
    stalls: bool,
    unread: VecDeque<ToClient>,
    /// Whether the node was told that it does not keep up.
    behind: bool,
    seen: u64,
    missed: u64,
    /// The number of events that the auditor saw.
    audited: u64,
    /// The part of these numbers that is already in the result of the run.
    counted: (u64, u64),
}

impl Run {
    /// A watcher connects, reads everything, or stops reading for a while.
    pub(crate) fn watch(&mut self, number: usize, phase: Phase) {
        let ending = phase == Phase::Settling;
        let (node, started) = (self.watchers[number].node, self.watchers[number].started);
        let gone = self.processes[node].started != started || self.processes[node].member.is_none();
        if gone && !ending {
            self.begin_watching(number);
        }
        let stalls = !ending && !number.is_multiple_of(3) && self.below(2) == 0;
        self.watchers[number].stalls = stalls;
        if !stalls {
            self.read(number);
            self.judge_watcher(number);
        }
        let after = 1_000_000 + self.below(400_000_000);
        self.plan_in(after, Event::Watch(number));
    }

    fn begin_watching(&mut self, number: usize) {
        let node = self.below(self.processes.len() as u64) as usize;
        let process = &mut self.processes[node];
        let Some(member) = &mut process.member else { return };
        let (connection, audit) = (member.connected("a watcher"), member.connected("an auditor"));
        process.readers.insert(connection, Reader::Watcher(number));
        process.readers.insert(audit, Reader::Auditor(number));
        let started = process.started;
        self.watchers[number] = Watcher { node, started, connection: Some(connection), ..Watcher::default() };
        self.at_node(node, |member, environment, now, effects| {
            for connection in [connection, audit] {
                member.hear(connection, ToNode::Watch(Filter::default()), environment, now, effects);
            }
        });
    }

    /// A frame for a watcher.
    pub(crate) fn tell_watcher(&mut self, number: usize, node: usize, frame: ToClient) {
        let watcher = &mut self.watchers[number];
        watcher.unread.push_back(frame);
        if !watcher.stalls {
            return self.read(number);
        }
        if watcher.unread.len() > MANY && !watcher.behind {
            watcher.behind = true;
            if let (Some(connection), Some(member)) = (watcher.connection, &mut self.processes[node].member) {
                member.client_fell_behind(connection);
            }
        }
    }

    /// A watcher reads all its frames. If it did not keep up, it learns how many events it missed.
    fn read(&mut self, number: usize) {
        let watcher = &mut self.watchers[number];
        while let Some(frame) = watcher.unread.pop_front() {
            match frame {
                ToClient::Event(_) => watcher.seen += 1,
                ToClient::Missed(events) => watcher.missed += events,
                _ => {}
            }
        }
        let Watcher { node, started, connection, behind, .. } = *watcher;
        watcher.behind = false;
        if !behind || self.processes[node].started != started {
            return;
        }
        if let Some(connection) = connection {
            self.at_node(node, |member, _, _, effects| member.client_caught_up(connection, effects));
        }
    }

    /// The auditor receives a frame.
    pub(crate) fn tell_auditor(&mut self, number: usize, frame: &ToClient) {
        self.watchers[number].audited += u64::from(matches!(frame, ToClient::Event(_)));
    }

    fn judge_watcher(&mut self, number: usize) {
        let Watcher { node, started, seen, missed, audited, .. } = self.watchers[number];
        if self.processes[node].started == started && seen + missed != audited {
            let what = format!("watcher {number} saw {seen} events and missed {missed} of {audited}");
            self.outcome.violations.push(what);
        }
        let counted = std::mem::replace(&mut self.watchers[number].counted, (seen, missed));
        self.outcome.watched += seen - counted.0;
        self.outcome.missed += missed - counted.1;
    }
}
