//! What the driver keeps of a node: its processor with the inbox, its clients and its timers.

use std::collections::VecDeque;

use algorithms::{ClientId, Groups, NodeId};

use crate::plan::Plan;
use crate::time::{Ticks, ticks};

/// The processor of a node, and what waits for it.
pub(crate) struct Processor {
    /// How long a message that it sends occupies it.
    pub(crate) send: Ticks,
    /// How long a message that it receives occupies it.
    pub(crate) receive: Ticks,
    /// When the processor will be free.
    pub(crate) busy_until: Ticks,
    /// Whether it is busy receiving a message.
    pub(crate) receiving: bool,
    /// Letters that wait for the processor.
    pub(crate) inbox: VecDeque<u32>,
    /// Whether it is going to look for the next letter.
    pub(crate) wake_planned: bool,
    /// The node does nothing before this time.
    pub(crate) paused_until: Ticks,
    /// Whether the node has crashed and not restarted.
    pub(crate) down: bool,
    /// The node does not restart before this time.
    pub(crate) down_until: Ticks,
    /// How often the node has crashed: its incarnation.
    pub(crate) incarnation: u32,
    /// The state of client 0, the only one where the algorithm serves one: it is here to be at hand.
    client: ClientState,
    /// The states of the other clients, from number 1.
    others: Vec<ClientState>,
    /// The clients that wait behind that one.
    pub(crate) queue: VecDeque<(Ticks, Groups)>,
    /// How many clients make a request when the node has restarted.
    pub(crate) postponed: u32,
    /// How often each timer was armed.
    pub(crate) timers: Vec<u32>,
}

/// The state of a client.
#[derive(Clone, Copy, Default)]
pub(crate) struct ClientState {
    /// Whether it waits.
    pub(crate) waits: bool,
    /// Whether it is inside.
    pub(crate) inside: bool,
    /// When it made its request.
    pub(crate) asked_at: Ticks,
    /// How often the group had changed when it made its request.
    pub(crate) switches: u64,
}

impl Processor {
    pub(crate) fn new(plan: &Plan, me: NodeId, timers: usize) -> Processor {
        let factor = plan.slow.as_ref().map_or(1.0, |slow| slow.factor_of(me));
        Processor {
            send: ticks(plan.send * factor),
            receive: ticks(plan.receive * factor),
            busy_until: 0,
            receiving: false,
            inbox: VecDeque::new(),
            wake_planned: false,
            paused_until: 0,
            down: false,
            down_until: 0,
            incarnation: 0,
            client: ClientState::default(),
            others: Vec::new(),
            queue: VecDeque::new(),
            postponed: 0,
            timers: vec![0; timers],
        }
    }

    /// All clients, by number.
    pub(crate) fn clients(&self) -> impl Iterator<Item = &ClientState> {
        std::iter::once(&self.client).chain(&self.others)
    }

    /// The state of this client.
    #[inline(always)]
    pub(crate) fn client(&mut self, number: ClientId) -> &mut ClientState {
        match number {
            0 => &mut self.client,
            _ => &mut self.others[number as usize - 1],
        }
    }

    /// A client that neither waits nor is inside.
    pub(crate) fn idle_client(&mut self) -> ClientId {
        let idle = self.clients().position(|client| !client.waits && !client.inside);
        let number = idle.unwrap_or_else(|| {
            self.others.push(ClientState::default());
            self.others.len()
        });
        number as ClientId
    }

    /// No client waits or is inside any more.
    pub(crate) fn forget_clients(&mut self) {
        self.client = ClientState::default();
        self.others.fill(ClientState::default());
    }

    /// How many clients wait, and how many are inside.
    pub(crate) fn present(&self) -> (u32, u32) {
        let count = |is: fn(&ClientState) -> bool| self.clients().filter(|client| is(client)).count() as u32;
        (count(|client| client.waits), count(|client| client.inside))
    }

    /// Whether an arriving message can be received at once.
    pub(crate) fn is_free(&self, now: Ticks) -> bool {
        !self.receiving && self.inbox.is_empty() && self.busy_until <= now
    }

    /// The end of its pause, if it is paused.
    pub(crate) fn paused(&self, now: Ticks) -> Option<Ticks> {
        (self.paused_until > now).then_some(self.paused_until)
    }
}
