//! A step in one plain sentence, for a reader of that line alone.

use algorithms::info::Clients;
use algorithms::picture::{Picture, Place, Pointer};
use algorithms::{Action, ClientId, Effect, Erased, Grant, Groups, Info, NodeId};

use crate::run::{Delivered, Happened};
use crate::state::Beyond;

/// The sentence of a step that left its node as `after`, in a run that went `beyond` what the algorithm claims to bear.
pub(crate) fn sentence(
    info: &Info,
    happened: &Happened,
    after: Option<&Picture>,
    beyond: Option<&Beyond>,
) -> String {
    let subject = subject(info, happened.step.action, happened.message.as_ref());
    let mut clauses = clauses(info, &happened.outcome.effects);
    let enters = happened.outcome.effects.iter().any(|effect| matches!(effect, Effect::Enter(_)));
    if let (Some(before), Some(after)) = (&happened.before, after)
        && !enters
    {
        clauses.extend(changes(before, after));
    }
    let mut text = subject;
    match (clauses.is_empty(), happened.step.action) {
        (true, _) => {}
        (false, Action::Expire { .. }) => text += &format!(": it {}", listed(&clauses)),
        (false, _) => text += &format!(" and {}", listed(&clauses)),
    }
    text += ".";
    for effect in &happened.outcome.effects {
        match effect {
            Effect::Note(note) => text += &format!(" Note: {note}."),
            Effect::Never(what) => text += &format!(" That should be impossible: {what}."),
            _ => {}
        }
    }
    if let Some(violation) = &happened.outcome.violation {
        text += &format!(" This violates {violation}.");
        if let Some(Beyond { at, step }) = beyond {
            text += &format!(" But step {at}, {step}, is beyond what {} claims to bear.", info.name);
        }
    }
    text
}

/// What an action is, before its effects.
pub(crate) fn subject(info: &Info, action: Action, message: Option<&Delivered>) -> String {
    let what = || message.map_or_else(|| "a message".to_string(), |taken| taken.message.to_string());
    match action {
        Action::Request { node, client, groups } => {
            format!("{} requests {}", who(info, node, client), wanted(info, groups))
        }
        Action::Cancel { node, client } => format!("{} cancels its request", who(info, node, client)),
        Action::Exit { node, client } => format!("{} leaves", who(info, node, client)),
        Action::Deliver(envelope) => {
            format!("Node {} receives {} from {}", envelope.to, what(), envelope.from)
        }
        Action::Lose(envelope) => {
            format!("The message {} from {} to {} is lost", what(), envelope.from, envelope.to)
        }
        Action::Duplicate(envelope) => {
            format!("The message {} from {} to {} will arrive twice", what(), envelope.from, envelope.to)
        }
        Action::Expire { node, timer } => {
            let name = info.timers.get(timer).map_or("?", |timer| timer.name);
            format!("Timer {name} of node {node} expires")
        }
        Action::Crash { node } => format!("Node {node} crashes"),
        Action::Restart { node } => format!("Node {node} restarts"),
    }
}

fn who(info: &Info, node: NodeId, client: ClientId) -> String {
    match info.clients {
        Clients::OneEach => format!("Node {node}"),
        Clients::Many => format!("Client {client} of node {node}"),
    }
}

fn wanted(info: &Info, groups: Groups) -> String {
    match info.kind {
        algorithms::Kind::GroupMutex if groups.len() > 1 => {
            let names: Vec<String> = groups.iter().map(|group| group.to_string()).collect();
            format!("any of the groups {}", listed(&names))
        }
        algorithms::Kind::GroupMutex => format!("group {groups}"),
        _ => "entry".to_string(),
    }
}

/// What the node does, a clause each. The same message to several nodes is one clause.
fn clauses(info: &Info, effects: &[Effect<Erased>]) -> Vec<String> {
    let mut clauses = Vec::new();
    let mut sends: Vec<(String, Vec<String>)> = Vec::new();
    let timer = |index: usize| info.timers.get(index).map_or("?", |timer| timer.name);
    for effect in effects {
        match effect {
            Effect::Send { to, message } => {
                let (message, to) = (message.to_string(), to.to_string());
                match sends.iter_mut().find(|(known, _)| *known == message) {
                    Some((_, receivers)) => receivers.push(to),
                    None => sends.push((message, vec![to])),
                }
            }
            Effect::Enter(grant) => clauses.push(enters(info, grant)),
            Effect::Arm(index, _) => clauses.push(format!("starts timer {}", timer(*index))),
            Effect::Disarm(index) => clauses.push(format!("stops timer {}", timer(*index))),
            // What is stored is in the facts of the node.
            Effect::Persist(_) | Effect::Note(_) | Effect::Never(_) => {}
        }
    }
    let sends = sends.into_iter().map(|(message, to)| format!("sends {message} to {}", listed(&to)));
    sends.chain(clauses).collect()
}

fn enters(info: &Info, grant: &Grant) -> String {
    let group = match info.kind {
        algorithms::Kind::GroupMutex => format!(" group {}", grant.group),
        _ => String::new(),
    };
    match info.clients {
        Clients::OneEach => format!("enters{group}"),
        Clients::Many => {
            format!("lets client {} enter{group} by slot {}, fence {}", grant.client, grant.slot, grant.fence)
        }
    }
}

/// What changed in a picture, as far as a message or an entry does not tell it.
fn changes(before: &Picture, after: &Picture) -> Vec<String> {
    let mut changes = Vec::new();
    let new = |places: &[Place], known: &[Place]| -> Vec<Place> {
        places.iter().filter(|place| !known.contains(place)).copied().collect()
    };
    let kept_before =
        before.keeps.iter().any(|place| after.queue.iter().any(|queued| queued.node == place.node));
    for place in new(&after.queue, &before.queue) {
        let token = place.token.map_or(String::new(), |token| format!(" of token {token}"));
        let via = place.via.map_or(String::new(), |via| format!(", tagged via {via}"));
        changes.push(format!("puts {} on the queue{token}{via}", place.node));
    }
    if !kept_before {
        for place in new(&after.keeps, &before.keeps) {
            changes.push(format!("keeps the request of {}", place.node));
        }
    }
    let moved = |pointer: &&Pointer| {
        let old = before.pointers.iter().find(|old| (old.name, old.token) == (pointer.name, pointer.token));
        old.is_none_or(|old| old.to != pointer.to)
    };
    for pointer in after.pointers.iter().filter(moved) {
        let token = pointer.token.map_or(String::new(), |token| format!(" for token {token}"));
        // A name of several words would read as part of the sentence.
        let quote = if pointer.name.contains(' ') { "'" } else { "" };
        changes.push(format!("sets its {quote}{}{quote}{token} to {}", pointer.name, pointer.to));
    }
    changes
}

/// "a", "a and b", "a, b and c".
pub(crate) fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// What a node is, in one sentence: the name of its place in a picture.
pub(crate) fn node_words(node: NodeId, is: &str, picture: &Picture) -> String {
    let mut text = match is {
        "crashed" => return format!("Node {node} is down."),
        "inside" => format!("Node {node} is inside"),
        "waits" => format!("Node {node} waits"),
        _ => format!("Node {node} is outside"),
    };
    let names = |tokens: &[u32]| listed(&tokens.iter().map(ToString::to_string).collect::<Vec<_>>());
    match picture.tokens.as_slice() {
        [] => {}
        [one] => text += &format!(" with token {one}"),
        many => text += &format!(" with the tokens {}", names(many)),
    }
    if let Some(token) = picture.asks {
        text += &format!(", has asked for token {token}");
    }
    let place = |place: &Place| match place.via {
        Some(via) => format!("{} via {via}", place.node),
        None => place.node.to_string(),
    };
    let in_turn = |places: &[Place]| places.iter().map(place).collect::<Vec<_>>().join(", then ");
    if !picture.queue.is_empty() {
        text += &format!("; its queue: {}", in_turn(&picture.queue));
    }
    if !picture.keeps.is_empty() {
        text += &format!(
            "; it keeps requests of {}",
            listed(&picture.keeps.iter().map(place).collect::<Vec<_>>())
        );
    }
    text + "."
}
