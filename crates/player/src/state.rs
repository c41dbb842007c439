//! One state of a run, with everything that a picture of it needs.

use algorithms::info::Tokens;
use algorithms::node::Client;
use algorithms::picture::{Place, Pointer, Tie};
use algorithms::{Algorithm, Erased, Groups, NodeId, Property, TokenId};
use serde::Serialize;

use crate::can::{self, Can};
use crate::limits::MOST_LISTED;
use crate::rules::{self, RuleRun};
use crate::run::{Happened, Run};
use crate::sentence::{node_words, sentence};

/// A state, and the step that led to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct State {
    /// How many steps lead to it; 0 at the start.
    pub at: usize,
    /// The last of them, with everything that the algorithm picked; none at the start.
    pub step: Option<String>,
    /// Its effects, a line each, as traces have them.
    pub says: Vec<String>,
    /// The step in one sentence.
    pub sentence: String,
    /// The rule of the algorithm that ran.
    pub rule: Option<RuleRun>,
    /// The numbers of the messages that it sent.
    pub sent: Vec<u64>,
    /// The number of the message that it delivered, lost or doubled.
    pub received: Option<u64>,
    /// The nodes, in the order of their numbers.
    pub nodes: Vec<NodeState>,
    /// The messages under way, in the order of their numbers.
    pub flight: Vec<Flight>,
    /// How many more messages are under way than `flight` lists.
    pub more_flight: usize,
    /// The steps that are possible now.
    pub can: Vec<Can>,
    /// How many more steps are possible than `can` lists.
    pub more_can: usize,
    /// What the run has cost so far.
    pub counts: Counts,
    /// The properties, each with its verdict about this state.
    pub properties: Vec<PropertyVerdict>,
    /// The first step so far that the algorithm does not claim to bear.
    pub beyond: Option<Beyond>,
    /// What has occurred so far.
    pub seen: Vec<String>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeState {
    /// Whether its clients wait or are inside.
    pub is: NodeIs,
    /// The tokens that are here.
    pub tokens: Vec<TokenId>,
    /// The token that it has requested.
    pub asks: Option<TokenId>,
    /// The group that its client is in.
    pub group: Option<u32>,
    /// The groups that its waiting client accepts.
    pub groups: Vec<u32>,
    /// Its clients, without idle ones at the end.
    pub clients: Vec<ClientState>,
    /// Ways to tokens, successors, parents.
    pub pointers: Vec<PointerTo>,
    /// The queue of what is here, the next node first.
    pub queue: Vec<Queued>,
    /// Requests that are kept for later.
    pub keeps: Vec<Queued>,
    /// Permissions, locks and other relations to nodes.
    pub ties: Vec<TieTo>,
    /// All other values, as (name, value).
    pub facts: Vec<(&'static str, String)>,
    /// The names of its armed timers.
    pub timers: Vec<&'static str>,
    /// The node in one sentence.
    pub words: String,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeIs {
    /// No client waits or is inside.
    Out,
    /// A client waits, and none is inside.
    Waits,
    /// A client is inside.
    Inside,
    /// The node is down.
    Crashed,
}

/// A client of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClientState {
    /// Its number.
    pub client: u32,
    /// What it does.
    pub is: NodeIs,
    /// The group that it is in.
    pub group: Option<u32>,
    /// The slot that it holds.
    pub slot: Option<u32>,
    /// The groups that it accepts.
    pub groups: Vec<u32>,
}

/// A pointer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PointerTo {
    /// What the algorithm calls it.
    pub name: &'static str,
    /// The token that it leads to, where there are several.
    pub token: Option<TokenId>,
    /// Where it leads.
    pub to: NodeId,
}

/// A request in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Queued {
    /// The requesting node.
    pub node: NodeId,
    /// The token in whose queue it is, where there are several.
    pub token: Option<TokenId>,
    /// The node that turned it into a request for this token.
    pub via: Option<NodeId>,
    /// The groups that it accepts, where there are groups.
    pub groups: Vec<u32>,
}

/// A relation to another node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TieTo {
    /// What the algorithm calls it.
    pub name: &'static str,
    /// The other node.
    pub to: NodeId,
}

/// A message under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flight {
    /// Its number, in the order of sending. It never changes.
    pub id: u64,
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// How many older messages of the same link are under way.
    pub overtakes: usize,
    /// Its kind.
    pub kind: &'static str,
    /// The token that it carries.
    pub token: Option<TokenId>,
    /// The token that it asks for.
    pub asks: Option<TokenId>,
    /// The node whose request it is, if it names one.
    pub origin: Option<NodeId>,
    /// The message in one line.
    pub text: String,
    /// Its size in words.
    pub words: u32,
    /// The step that sent it.
    pub since: usize,
}

/// What a run has cost so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Messages sent.
    pub messages: u64,
    /// Their words.
    pub words: u64,
    /// Entries.
    pub entries: u64,
    /// Clients that wait now.
    pub waits: u32,
    /// Clients that are inside now.
    pub inside: u32,
}

/// A step that the algorithm does not claim to bear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Beyond {
    /// Its number, from 1.
    pub at: usize,
    /// The step.
    pub step: String,
}

/// A property in a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PropertyVerdict {
    /// Its name.
    pub name: &'static str,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What was observed, if it is violated.
    pub detail: String,
}

/// Whether a property holds in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It does not.
    Violated,
    /// Only a search can tell.
    Unknown,
}

impl Counts {
    pub(crate) fn of(run: &Run<'_>) -> Counts {
        let census = run.world.census();
        Counts {
            messages: run.world.sent,
            words: run.words,
            entries: run.world.entries,
            waits: census.waiting.iter().sum(),
            inside: census.inside,
        }
    }
}

/// All nodes, in the order of their numbers.
pub(crate) fn nodes(run: &Run<'_>) -> Vec<NodeState> {
    (0..run.world.nodes.len() as NodeId).map(|me| node(run, me)).collect()
}

/// The state of a run after the step that `happened`, if any did.
pub(crate) fn state(run: &Run<'_>, happened: Option<&Happened>) -> State {
    let info = run.world.info();
    let (flight, more_flight) = flight(run);
    let (can, more_can) = can::steps(run);
    let seen = run.seen.iter().map(ToString::to_string).collect();
    let acted = happened.and_then(|it| it.outcome.node).map(|node| run.world.picture(node));
    State {
        at: run.at,
        step: happened.map(|it| it.step.to_string()),
        says: happened.map(|it| it.outcome.lines()).unwrap_or_default(),
        sentence: happened.map_or_else(
            || "The run begins.".to_string(),
            |it| sentence(info, it, acted.as_ref(), run.beyond.as_ref()),
        ),
        rule: happened.and_then(|it| rules::that_ran(info.name, it)),
        sent: happened.map(|it| it.sent.clone()).unwrap_or_default(),
        received: happened.and_then(|it| it.message.as_ref()).map(|message| message.id),
        nodes: nodes(run),
        flight,
        more_flight,
        can,
        more_can,
        counts: Counts::of(run),
        properties: properties(run, happened),
        beyond: run.beyond.clone(),
        seen,
    }
}

fn node(run: &Run<'_>, me: NodeId) -> NodeState {
    let info = run.world.info();
    let picture = run.world.picture(me);
    let node = &run.world.nodes[me as usize];
    let clients: Vec<ClientState> = node.clients().map(|(number, is)| client(number, is)).collect();
    let any = |wanted: NodeIs| clients.iter().find(|client| client.is == wanted);
    let (inside, waits) = (any(NodeIs::Inside), any(NodeIs::Waits));
    let (is, word) = match (node.state.is_none(), inside, waits) {
        (true, ..) => (NodeIs::Crashed, "crashed"),
        (false, Some(_), _) => (NodeIs::Inside, "inside"),
        (false, None, Some(_)) => (NodeIs::Waits, "waits"),
        (false, None, None) => (NodeIs::Out, "out"),
    };
    // Where there is one token, a node that waits asks for it.
    let only = (info.tokens == Tokens::One && waits.is_some() && picture.tokens.is_empty()).then_some(0);
    let words = node_words(me, word, &picture);
    NodeState {
        is,
        asks: picture.asks.or(only),
        group: inside.and_then(|client| client.group),
        groups: waits.map(|client| client.groups.clone()).unwrap_or_default(),
        tokens: picture.tokens,
        pointers: picture.pointers.into_iter().map(PointerTo::from).collect(),
        queue: picture.queue.into_iter().map(Queued::from).collect(),
        keeps: picture.keeps.into_iter().map(Queued::from).collect(),
        ties: picture.ties.into_iter().map(TieTo::from).collect(),
        facts: picture.facts,
        timers: node.armed.iter().filter_map(|&timer| info.timers.get(timer)).map(|it| it.name).collect(),
        clients,
        words,
    }
}

fn listed(groups: Groups) -> Vec<u32> {
    groups.iter().collect()
}

fn client(client: u32, state: Client) -> ClientState {
    let idle = ClientState { client, is: NodeIs::Out, group: None, slot: None, groups: Vec::new() };
    match state {
        Client::Idle => idle,
        Client::Waiting(groups) => ClientState { is: NodeIs::Waits, groups: listed(groups), ..idle },
        Client::Inside { group, slot } => {
            ClientState { is: NodeIs::Inside, group: Some(group), slot: Some(slot), ..idle }
        }
    }
}

impl From<Pointer> for PointerTo {
    fn from(Pointer { name, token, to }: Pointer) -> PointerTo {
        PointerTo { name, token, to }
    }
}

impl From<Place> for Queued {
    fn from(Place { node, token, via, groups }: Place) -> Queued {
        Queued { node, token, via, groups: groups.map(listed).unwrap_or_default() }
    }
}

impl From<Tie> for TieTo {
    fn from(Tie { name, to }: Tie) -> TieTo {
        TieTo { name, to }
    }
}

/// The messages under way, and how many more there are than are listed.
pub(crate) fn flight(run: &Run<'_>) -> (Vec<Flight>, usize) {
    let mut all = Vec::new();
    for (&(from, to), messages) in &run.world.channels {
        let letters = run.letters.get(&(from, to)).into_iter().flatten();
        for (overtakes, (message, letter)) in messages.iter().zip(letters).enumerate() {
            all.push((letter, from, to, overtakes, message));
        }
    }
    all.sort_by_key(|(letter, ..)| letter.id);
    let more = all.len().saturating_sub(MOST_LISTED);
    let listed = all.into_iter().take(MOST_LISTED).map(|(letter, from, to, overtakes, message)| {
        let contents = Erased::draw_message(message);
        Flight {
            id: letter.id,
            from,
            to,
            overtakes,
            kind: Erased::kind(message),
            token: contents.token,
            asks: contents.asks,
            origin: contents.origin,
            text: message.to_string(),
            words: Erased::words(message),
            since: letter.since,
        }
    });
    (listed.collect(), more)
}

fn properties(run: &Run<'_>, happened: Option<&Happened>) -> Vec<PropertyVerdict> {
    let mut violations = run.world.violations();
    // Some violations only the step itself shows.
    violations.extend(happened.and_then(|it| it.outcome.violation.clone()));
    let verdict = |property: Property| {
        let found = violations.iter().find(|violation| violation.property == property);
        let verdict = match found {
            Some(_) => Verdict::Violated,
            None if property == Property::EndReachable => Verdict::Unknown,
            None => Verdict::Holds,
        };
        let detail = found.map(|violation| violation.detail.clone()).unwrap_or_default();
        PropertyVerdict { name: property.name(), verdict, detail }
    };
    let info = run.world.info();
    let applies = |property: &Property| property.applies(info, run.game.conditions);
    Property::ALL.into_iter().filter(applies).map(verdict).collect()
}
