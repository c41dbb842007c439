//! A few nodes with ordered links in one process, for tests that decide themselves what comes next. Nodes
//! hear of definitions and views when the test says so.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use service::core::Timeout;
use service::protocol::Order;
use service::registry::{Entry, Leadership, Registry};
use service::view::View;
use service::{
    Acquire, Config, Core, Definition, Effects, Grant, PeerMessage, Refusal, RequestOutcome, SessionId, Time,
    Want,
};

/// What a client does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Waits,
    Holds { slot: u32, fence: u64 },
    Refused(Refusal),
}

/// A client: its node, its number there, and what it does.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) node: usize,
    pub(crate) request: u64,
    pub(crate) does: Does,
    /// It asked for what was defined where it asked.
    pub(crate) by_definition: bool,
    /// How many slots it asked for.
    pub(crate) slots: Option<u32>,
}

pub(crate) struct Cluster {
    pub(crate) now: Time,
    pub(crate) cores: Vec<Option<Core>>,
    sessions: Vec<SessionId>,
    links: BTreeMap<(usize, usize), VecDeque<PeerMessage>>,
    /// The committed definitions, and how many of them each node has heard of.
    pub(crate) agreed: Vec<(Arc<str>, Option<Definition>)>,
    pub(crate) heard: Vec<usize>,
    pub(crate) registry: Registry,
    pub(crate) view: View,
    pub(crate) clients: Vec<Client>,
    requests: u64,
    pub(crate) fences: BTreeMap<u32, u64>,
    pub(crate) grants: u64,
    /// All nodes have heard that there are this many slots: no client is granted another.
    pub(crate) most: Option<u32>,
}

pub(crate) const NAME: &str = "x";

impl Cluster {
    pub(crate) fn new(nodes: u32, seed: u64) -> Cluster {
        let view = View::of(1, 0..nodes);
        let config = |id| Config {
            seed: seed ^ u64::from(id),
            linger: Duration::from_millis(5),
            keep_idle: Duration::from_millis(20),
            ..Config::new(id, view.clone())
        };
        let mut cores: Vec<Core> = (0..nodes).map(|id| Core::new(config(id))).collect();
        let sessions = cores.iter_mut().map(|core| core.open(None, Time(1)).expect("it opens").0).collect();
        Cluster {
            now: Time(1),
            cores: cores.into_iter().map(Some).collect(),
            sessions,
            links: BTreeMap::new(),
            agreed: Vec::new(),
            heard: vec![0; nodes as usize],
            registry: Registry::default(),
            view,
            clients: Vec::new(),
            requests: 0,
            fences: BTreeMap::new(),
            grants: 0,
            most: None,
        }
    }

    /// Passes an input to a node, and takes up its effects.
    pub(crate) fn at<R>(
        &mut self,
        node: usize,
        act: impl FnOnce(&mut Core, Time, &mut Effects) -> R,
    ) -> Option<R> {
        let mut out = Effects::default();
        let core = self.cores[node].as_mut()?;
        let result = act(core, self.now, &mut out);
        assert_eq!(out.contradictions, [], "all nodes are honest");
        for (to, message) in out.messages {
            let to = core.view().id(to) as usize;
            self.links.entry((node, to)).or_default().push_back(message);
        }
        for reply in out.replies {
            let is_it = |client: &Client| client.node == node && client.request == reply.request;
            let Some(index) = self.clients.iter().position(is_it) else { continue };
            self.replied(index, reply.outcome);
        }
        Some(result)
    }

    fn replied(&mut self, index: usize, outcome: RequestOutcome) {
        match outcome {
            RequestOutcome::Granted(Grant { slot, fence, .. }) => {
                let holds =
                    |client: &Client| matches!(client.does, Does::Holds { slot: held, .. } if held == slot);
                let other = self.clients.iter().find(|client| holds(client));
                assert!(
                    other.is_none(),
                    "slot {slot} is held twice: {other:?} and {:?}",
                    self.clients[index]
                );
                let highest = self.fences.entry(slot).or_default();
                assert!(fence > *highest, "fence {fence} of slot {slot} after {highest}");
                *highest = fence;
                assert!(self.most.is_none_or(|most| slot < most), "slot {slot} of {:?}", self.most);
                self.grants += 1;
                self.clients[index].does = Does::Holds { slot, fence };
                self.judge_insisting();
            }
            RequestOutcome::Refused(Refusal::Cancelled) => _ = self.clients.remove(index),
            RequestOutcome::Refused(refusal) => {
                let client = &mut self.clients[index];
                assert!(!client.by_definition, "{client:?} asked for what is defined: {refusal}");
                client.does = Does::Refused(refusal);
            }
            RequestOutcome::Revoked => {}
        }
    }

    /// If nothing was ever defined, no client holds a slot beyond the number it asked for.
    fn judge_insisting(&self) {
        let inside = || self.clients.iter().filter(|client| matches!(client.does, Does::Holds { .. }));
        let wrong =
            inside().find(|client| client.slots.is_some_and(|slots| inside().count() > slots as usize));
        assert!(!self.agreed.is_empty() || wrong.is_none(), "{wrong:?} among {:?}", self.clients);
    }

    /// A client asks: for this many slots, or as it is defined. Returns its number.
    pub(crate) fn ask(&mut self, node: usize, slots: Option<u32>) -> u64 {
        let definition = Definition::Slots(slots.unwrap_or(1));
        let want = if slots.is_some() { Want::Slot } else { Want::AnySlot };
        self.ask_for(node, definition, want)
    }

    pub(crate) fn ask_for(&mut self, node: usize, definition: Definition, want: Want) -> u64 {
        self.requests += 1;
        let request = self.requests;
        let known = self.cores[node].as_ref().and_then(|core| core.definitions().get(NAME).copied());
        let by_definition = known.is_some_and(|known| {
            known == definition || (want == Want::AnySlot && known.kind() == definition.kind())
        });
        let slots = definition.slots();
        self.clients.push(Client { node, request, does: Does::Waits, by_definition, slots });
        let ask = Acquire { request, name: NAME.into(), definition, want, timeout: Timeout::Never };
        let session = self.sessions[node];
        self.at(node, |core, now, out| core.acquire(session, &ask, now, out));
        request
    }

    /// What a client does.
    pub(crate) fn does(&self, request: u64) -> &Does {
        &self.clients.iter().find(|client| client.request == request).expect("it is there").does
    }

    /// A client leaves, or gives up.
    pub(crate) fn leave(&mut self, request: u64) {
        let Some(index) = self.clients.iter().position(|client| client.request == request) else { return };
        let (node, does) = (self.clients[index].node, self.clients[index].does.clone());
        let session = self.sessions[node];
        match does {
            Does::Holds { fence, .. } => {
                self.clients.remove(index);
                let left = self.at(node, |core, now, out| core.release(session, request, fence, now, out));
                assert_ne!(left, Some(Err(Refusal::NotHeld)));
            }
            Does::Waits => _ = self.at(node, |core, now, out| core.cancel(session, request, now, out)),
            Does::Refused(_) => _ = self.clients.remove(index),
        }
    }

    /// Commits a definition, if it can be committed.
    pub(crate) fn agree(&mut self, definition: Option<Definition>) {
        let entry = Entry::Define { name: NAME.into(), definition };
        if self.registry.apply(&entry, Leadership::default()).of_definition(&entry).is_ok() {
            self.agreed.push((NAME.into(), definition));
        }
    }

    /// A node hears of the next committed definition.
    pub(crate) fn hear(&mut self, node: usize) {
        if let Some((name, definition)) = self.agreed.get(self.heard[node]).cloned() {
            self.heard[node] += 1;
            self.at(node, |core, now, out| core.defined(&name, definition, now, out));
        }
    }

    /// A node hears of everything that is committed, and not of what came between.
    pub(crate) fn catch_up(&mut self, node: usize) {
        self.heard[node] = self.agreed.len();
        let definitions = self.registry.definitions.clone();
        self.at(node, |core, now, out| core.all_defined(&definitions, now, out));
    }

    /// The ways on which something can arrive now: what belongs to a later view waits.
    pub(crate) fn ways(&self) -> Vec<(usize, usize)> {
        let can_arrive = |to: usize, message: &PeerMessage| {
            self.cores[to].as_ref().is_none_or(|core| message.epoch <= core.view().epoch)
        };
        let ways = self.links.iter();
        let ways =
            ways.filter(|((_, to), link)| link.front().is_some_and(|message| can_arrive(*to, message)));
        ways.map(|(way, _)| *way).collect()
    }

    pub(crate) fn deliver(&mut self, (from, to): (usize, usize)) {
        let Some(message) = self.links.get_mut(&(from, to)).and_then(VecDeque::pop_front) else { return };
        self.at(to, |core, now, out| {
            if let Some(from) = core.view().index_of(from as u32) {
                core.receive(from, message, now, out);
            }
        });
    }

    /// Time passes until something is due at some node.
    pub(crate) fn wake(&mut self) {
        let due = self.cores.iter().flatten().filter_map(Core::wakes_at).min();
        let Some(due) = due else { return };
        self.now = self.now.max(due);
        for node in 0..self.cores.len() {
            self.at(node, |core, now, out| core.wake(now, out));
        }
    }

    /// The next view is decided on, without a node if one is lost: clients that held something there have
    /// lost it.
    pub(crate) fn next_view(&mut self, lost: Option<usize>) {
        let members =
            self.view.members.iter().filter(|member| Some(member.identity.id as usize) != lost).cloned();
        self.view = View { epoch: self.view.epoch + 1, members: members.collect() };
        if let Some(lost) = lost {
            self.cores[lost] = None;
            self.clients.retain(|client| client.node != lost);
        }
    }

    pub(crate) fn enter(&mut self, node: usize) {
        let view = self.view.clone();
        self.at(node, |core, now, out| {
            if core.view().epoch < view.epoch {
                core.enter(view, now, out);
            }
        });
    }

    pub(crate) fn nodes(&self) -> Vec<usize> {
        (0..self.cores.len()).filter(|node| self.cores[*node].is_some()).collect()
    }

    /// Everything that is under way arrives, all nodes hear of everything, and time passes.
    pub(crate) fn settle(&mut self) {
        for node in self.nodes() {
            self.enter(node);
            while self.heard[node] < self.agreed.len() {
                self.hear(node);
            }
        }
        for _ in 0..200 {
            for _ in 0..10_000 {
                let Some(way) = self.ways().first().copied() else { break };
                self.deliver(way);
            }
            assert!(self.ways().is_empty(), "messages without end");
            self.wake();
        }
    }

    /// What has to be committed for an order, as a node sees it.
    pub(crate) fn proposal(&self, node: usize, order: &Order) -> Result<Option<Entry>, Refusal> {
        self.cores[node].as_ref().expect("it is there").proposal(order)
    }
}
