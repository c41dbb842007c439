//! A run, replayed step by step, with what a world does not keep: numbers for messages, notes, words.

use std::collections::{BTreeMap, BTreeSet};

use algorithms::node::Node;
use algorithms::schedule::Envelope;
use algorithms::world::StepOutcome;
use algorithms::{
    Action, Algorithm, Census, Chance, ClientId, Effect, Erased, NodeId, Picture, Step, Violation, World,
};
use checker::{LONG_QUEUE, TWO_INSIDE};
use random::Random;

use crate::can::is_tolerated;
use crate::limits::{LONGEST_STEP, MOST_STEPS, MOST_UNDER_WAY};
use crate::refusal::{Refusal, RefusalKind};
use crate::setting::Game;
use crate::state::Beyond;

/// A run so far.
pub(crate) struct Run<'a> {
    pub(crate) game: &'a Game,
    pub(crate) world: World<Erased>,
    /// How many steps were taken.
    pub(crate) at: usize,
    /// More steps than this do not make a run.
    pub(crate) most_steps: usize,
    /// Whether the node of the next step is drawn before it: the sentence and the rule of the step need that, and
    /// steps that are only replayed do not.
    pub(crate) draws: bool,
    /// The messages under way, parallel to the channels of the world.
    pub(crate) letters: BTreeMap<(NodeId, NodeId), Vec<Letter>>,
    /// How many messages there were so far, doubled ones included.
    next_id: u64,
    /// How many are under way.
    under_way: usize,
    pub(crate) words: u64,
    pub(crate) seen: BTreeSet<&'static str>,
    /// The step by which each client entered last.
    entered: BTreeMap<(NodeId, ClientId), usize>,
    /// The first violation of the run, with the number of steps that lead to it.
    pub(crate) violated: Option<(usize, Violation)>,
    /// The first step that the algorithm does not claim to bear: what is violated from there on says nothing against it.
    pub(crate) beyond: Option<Beyond>,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letter {
    /// Its number, in the order of sending.
    pub(crate) id: u64,
    /// The step that sent it.
    pub(crate) since: usize,
}

/// What a step did.
pub(crate) struct Happened {
    /// The step, with all its picks.
    pub(crate) step: Step,
    pub(crate) outcome: StepOutcome<Erased>,
    /// The node before the step, if it concerned one and was to be drawn.
    pub(crate) before: Option<Picture>,
    /// Whether its client waited before the step, and whether it was inside.
    pub(crate) waited: bool,
    pub(crate) was_inside: bool,
    /// The numbers of the messages that it sent.
    pub(crate) sent: Vec<u64>,
    /// The message that it delivered, lost or doubled.
    pub(crate) message: Option<Delivered>,
}

/// A message as it was when a step took it.
#[derive(Clone, Debug)]
pub(crate) struct Delivered {
    pub(crate) id: u64,
    pub(crate) envelope: Envelope,
    pub(crate) message: algorithms::erased::Message,
}

/// Picks that the step names, and after them those that the seed decides.
struct Picks<'a> {
    named: &'a [u32],
    random: Random,
    made: Vec<u32>,
}

impl Chance for Picks<'_> {
    fn pick(&mut self, options: u32) -> u32 {
        let pick = match self.named.get(self.made.len()) {
            Some(&named) => named.min(options - 1),
            None => self.random.below(options.into()) as u32,
        };
        self.made.push(pick);
        pick
    }
}

/// Streams of random numbers of a seed: what algorithms pick in a step is another one than what a run does by itself.
const PICKS: u64 = 1 << 32;

impl<'a> Run<'a> {
    pub(crate) fn start(game: &'a Game) -> Run<'a> {
        Run {
            game,
            world: game.start(),
            at: 0,
            most_steps: MOST_STEPS,
            draws: true,
            letters: BTreeMap::new(),
            next_id: 0,
            under_way: 0,
            words: 0,
            seen: BTreeSet::new(),
            entered: BTreeMap::new(),
            violated: None,
            beyond: None,
        }
    }

    /// Reads a step and takes it.
    pub(crate) fn take_text(&mut self, text: &str) -> Result<Happened, Refusal> {
        if text.len() > LONGEST_STEP {
            let why = format!("a step has at most {LONGEST_STEP} bytes");
            return Err(Refusal::at_step(RefusalKind::Bounds, self.at, text, why));
        }
        let step: Step =
            text.parse().map_err(|error| Refusal::at_step(RefusalKind::NotAStep, self.at, text, error))?;
        self.take(&step)
    }

    /// Takes a step. What it picks and does not name, the seed decides.
    pub(crate) fn take(&mut self, step: &Step) -> Result<Happened, Refusal> {
        let refuse =
            |kind, why: &dyn std::fmt::Display| Refusal::at_step(kind, self.at, &step.to_string(), why);
        let most = self.most_steps;
        if self.at >= most {
            return Err(refuse(RefusalKind::Bounds, &format!("a run has at most {most} steps")));
        }
        self.refuse_client(step.action).map_err(|why| refuse(RefusalKind::Impossible, &why))?;
        let message = self.message(step.action);
        let node = node_of(step.action);
        let before = node.filter(|&node| (node as usize) < self.world.nodes.len());
        let clients = before.iter().flat_map(|&node| self.world.nodes[node as usize].clients());
        let (waited, was_inside) = clients.fold((false, false), |(waits, inside), (_, client)| {
            (waits || client.is_waiting(), inside || client.is_inside())
        });
        let before = before.filter(|_| self.draws).map(|node| self.world.picture(node));
        let random = Random::stream(self.game.setting.seed, PICKS + self.at as u64);
        let mut picks = Picks { named: &step.picks, random, made: Vec::new() };
        let outcome = self
            .world
            .act(step.action, &mut picks)
            .map_err(|error| refuse(RefusalKind::Impossible, &error))?;
        let step = Step { action: step.action, picks: picks.made };
        self.at += 1;
        let sent = self.keep_letters(step.action, &outcome);
        self.look(&outcome);
        if self.under_way > MOST_UNDER_WAY {
            let why = format!("more than {MOST_UNDER_WAY} messages are under way");
            return Err(Refusal::at_step(RefusalKind::Bounds, self.at - 1, &step.to_string(), why));
        }
        let setting = self.world.setting();
        if self.beyond.is_none() && !is_tolerated(step.action, &self.world.info().needs, setting.tokens) {
            self.beyond = Some(Beyond { at: self.at, step: step.to_string() });
        }
        if let (None, Some(violation)) = (&self.violated, &outcome.violation) {
            self.violated = Some((self.at, violation.clone()));
        }
        Ok(Happened { step, outcome, before, waited, was_inside, sent, message })
    }

    /// Refuses what the setting rules out and the world does not know of.
    fn refuse_client(&self, action: Action) -> Result<(), String> {
        match action {
            Action::Request { client, .. } | Action::Cancel { client, .. } | Action::Exit { client, .. } => {
                let most = self.game.clients;
                let why = || format!("each node has {most} clients, numbered from 0");
                if client < most { Ok(()) } else { Err(why()) }
            }
            Action::Deliver(envelope) if self.game.fifo && envelope.overtakes > 0 => {
                Err("links are FIFO: only the oldest message of a link arrives".to_string())
            }
            _ => Ok(()),
        }
    }

    fn message(&self, action: Action) -> Option<Delivered> {
        let (Action::Deliver(envelope) | Action::Lose(envelope) | Action::Duplicate(envelope)) = action
        else {
            return None;
        };
        let link = (envelope.from, envelope.to);
        let message = self.world.channels.get(&link)?.get(envelope.overtakes)?.clone();
        let id = self.letters.get(&link)?.get(envelope.overtakes)?.id;
        Some(Delivered { id, envelope, message })
    }

    /// Numbers the messages as the world has moved them, and counts words and notes. Returns the numbers of new ones.
    fn keep_letters(&mut self, action: Action, outcome: &StepOutcome<Erased>) -> Vec<u64> {
        if let Action::Deliver(Envelope { from, to, overtakes })
        | Action::Lose(Envelope { from, to, overtakes }) = action
            && let Some(link) = self.letters.get_mut(&(from, to))
            && overtakes < link.len()
        {
            link.remove(overtakes);
            self.under_way -= 1;
            if link.is_empty() {
                self.letters.remove(&(from, to));
            }
        }
        let mut sent = Vec::new();
        if let Action::Duplicate(Envelope { from, to, .. }) = action {
            sent.push(self.send(from, to));
        }
        let me = outcome.node.unwrap_or(0);
        for effect in &outcome.effects {
            match effect {
                Effect::Send { to, message } => {
                    self.words += u64::from(Erased::words(message));
                    sent.push(self.send(me, *to));
                }
                Effect::Note(note) => _ = self.seen.insert(note),
                Effect::Enter(grant) => _ = self.entered.insert((me, grant.client), self.at),
                _ => {}
            }
        }
        sent
    }

    /// Notes what is observed from outside, as the checker does.
    fn look(&mut self, outcome: &StepOutcome<Erased>) {
        let Some(me) = outcome.node else { return };
        let (nodes, tokens, groups) = {
            let setting = self.world.setting();
            (setting.nodes, setting.tokens, setting.groups)
        };
        let mut census = Census::new(nodes, groups);
        self.world.nodes[me as usize].count(&self.world.site(me), &mut census);
        for effect in &outcome.effects {
            if let Effect::Send { to, message } = effect {
                Erased::count_message(message, *to, &mut census);
            }
        }
        if census.longest_queue > 1 {
            self.seen.insert(LONG_QUEUE);
        }
        let inside = self.world.nodes.iter().flat_map(Node::clients).filter(|(_, client)| client.is_inside());
        if (tokens > 1 || groups > 1) && inside.count() > 1 {
            self.seen.insert(TWO_INSIDE);
        }
    }

    /// The step by which the client entered that leaves with this action.
    pub(crate) fn entered_at(&self, exit: Action) -> Option<usize> {
        let Action::Exit { node, client } = exit else { return None };
        self.entered.get(&(node, client)).copied()
    }

    fn send(&mut self, from: NodeId, to: NodeId) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.under_way += 1;
        self.letters.entry((from, to)).or_default().push(Letter { id, since: self.at });
        id
    }
}

/// The node that an action concerns, if it concerns one.
pub(crate) fn node_of(action: Action) -> Option<NodeId> {
    match action {
        Action::Request { node, .. }
        | Action::Cancel { node, .. }
        | Action::Exit { node, .. }
        | Action::Expire { node, .. }
        | Action::Crash { node }
        | Action::Restart { node } => Some(node),
        Action::Deliver(envelope) => Some(envelope.to),
        Action::Lose(_) | Action::Duplicate(_) => None,
    }
}
