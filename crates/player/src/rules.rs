//! The rules of an algorithm in words, and which of them a step ran. The words are those of its page; a table for each
//! algorithm says which rule handles which input.

use std::collections::BTreeMap;

use algorithms::{Action, Algorithm, Effect, Erased, Kind, registry};
use serde::Serialize;

use crate::run::Happened;
use changes::Says;

mod changes;
mod pages;
mod tables;
#[cfg(test)]
mod tests;

pub use changes::Change;

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Its number, as the algorithm's page has it.
    pub number: u32,
    /// Its title.
    pub title: String,
    /// What it says.
    pub text: String,
    /// Its cases, if it has any. They count from 1.
    pub parts: Vec<String>,
    /// What the defect that is played changes in it.
    pub changes: Vec<Change>,
}

/// The rule that a step ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleRun {
    /// Its number.
    pub number: u32,
    /// Which of its parts applied, from 1, if that is known.
    pub part: Option<u32>,
    /// Rules that it went on with.
    pub then: Vec<u32>,
    /// What its names stood for: `me`, `from`, `origin` (the node whose request it is), `token` (that came), `held` (the
    /// token that was here), `asked` (the token that is asked for), `client`, `group`.
    pub bind: BTreeMap<&'static str, u64>,
}

/// What a table says about a step: the input, what must be so, and the rule with its part (0: none).
pub(crate) struct Row(On, &'static [When], u32, u32);

/// A rule with which a step goes on, if all this is so.
pub(crate) struct Then(&'static [When], u32);

/// The input of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Request,
    Exit,
    Cancel,
    Message(&'static str),
    Timer(usize),
    Restart,
}

/// What may be so before a step, and what it may have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// A token is here before the step.
    Token,
    /// None is.
    NoToken,
    /// The client waits before the step.
    Waits,
    /// It is inside before the step.
    Inside,
    /// It does neither.
    Idle,
    /// There is a pointer of this name before the step.
    Pointer(&'static str),
    /// A client enters.
    Enters,
    /// A message of this kind is sent.
    Sends(&'static str),
    /// No message is sent.
    Silent,
}

/// The rules of an algorithm: how inputs map to them, and how they go on.
pub(crate) struct Table {
    rows: &'static [Row],
    then: &'static [Then],
}

/// The rules of the algorithm of this name, and what this defect changes in them.
pub(crate) fn with_defect(name: &str, defect: Option<&str>) -> Vec<Rule> {
    let says = defect.map(|defect| changes::of(inner(name), defect)).unwrap_or_default();
    let changed = |rule| {
        let changes = says.iter().filter_map(|says| match says {
            Says::Rule(number, change) if *number == rule => Some(change.clone()),
            _ => None,
        });
        changes.collect()
    };
    let written = pages::rules(inner(name)).into_iter();
    let rule = |pages::Written { number, title, text, parts }| Rule {
        number,
        title,
        text,
        parts,
        changes: changed(number),
    };
    written.map(rule).collect()
}

/// The rules of the algorithm of this name.
pub(crate) fn of(name: &str) -> Vec<Rule> {
    with_defect(name, None)
}

/// The algorithm whose rules a node runs: for `partitioned(NAME)`, NAME.
fn inner(name: &str) -> &str {
    registry::inner_of_partitioned(name).ok().flatten().map_or(name, |info| info.name)
}

/// The rule that a step ran; none if it concerned the network alone, or a crash.
pub(crate) fn that_ran(name: &str, happened: &Happened) -> Option<RuleRun> {
    let table = tables::of(inner(name))?;
    let Row(_, _, number, part) = *table.rows.get(row(table, happened)?)?;
    let then = table.then.iter().filter(|Then(when, rule)| *rule != number && all(when, happened));
    let mut then: Vec<u32> = then.map(|Then(_, rule)| *rule).collect();
    then.dedup();
    Some(RuleRun { number, part: (part > 0).then_some(part), then, bind: bind(happened) })
}

/// The first row that fits a step.
fn row(table: &Table, happened: &Happened) -> Option<usize> {
    let on = on(happened)?;
    table.rows.iter().position(|Row(input, when, ..)| *input == on && all(when, happened))
}

fn all(when: &[When], happened: &Happened) -> bool {
    when.iter().all(|&when| holds(when, happened))
}

fn on(happened: &Happened) -> Option<On> {
    Some(match happened.step.action {
        Action::Request { .. } => On::Request,
        Action::Exit { .. } => On::Exit,
        Action::Cancel { .. } => On::Cancel,
        Action::Deliver(_) => On::Message(Erased::kind(&happened.message.as_ref()?.message)),
        Action::Expire { timer, .. } => On::Timer(timer),
        Action::Restart { .. } => On::Restart,
        Action::Crash { .. } | Action::Lose(_) | Action::Duplicate(_) => return None,
    })
}

fn holds(when: When, happened: &Happened) -> bool {
    let before = happened.before.as_ref();
    let token = before.is_some_and(|picture| !picture.tokens.is_empty());
    let effects = &happened.outcome.effects;
    let sends = |wanted: &dyn Fn(&str) -> bool| {
        let sent = |effect: &Effect<Erased>| matches!(effect, Effect::Send { message, .. } if wanted(Erased::kind(message)));
        effects.iter().any(sent)
    };
    match when {
        When::Token => token,
        When::NoToken => !token,
        When::Waits => happened.waited,
        When::Inside => happened.was_inside,
        When::Idle => !happened.waited && !happened.was_inside,
        When::Pointer(name) => {
            before.is_some_and(|picture| picture.pointers.iter().any(|pointer| pointer.name == name))
        }
        When::Enters => effects.iter().any(|effect| matches!(effect, Effect::Enter(_))),
        When::Sends(kind) => sends(&|sent| sent == kind),
        When::Silent => !sends(&|_| true),
    }
}

fn bind(happened: &Happened) -> BTreeMap<&'static str, u64> {
    let mut bind = BTreeMap::new();
    bind.extend(happened.outcome.node.map(|me| ("me", me.into())));
    let held = happened.before.as_ref().and_then(|picture| picture.tokens.first());
    bind.extend(held.map(|&token| ("held", token.into())));
    match happened.step.action {
        Action::Request { client, groups, .. } => {
            bind.insert("client", client.into());
            bind.extend(groups.first().map(|group| ("group", group.into())));
        }
        Action::Exit { client, .. } | Action::Cancel { client, .. } => {
            bind.insert("client", client.into());
        }
        _ => {}
    }
    if let Some(delivered) = &happened.message {
        let contents = Erased::draw_message(&delivered.message);
        let origin = contents.origin.unwrap_or(delivered.envelope.from);
        bind.insert("from", delivered.envelope.from.into());
        bind.insert("origin", origin.into());
        bind.extend(contents.token.map(|token| ("token", token.into())));
        bind.extend(contents.asks.map(|token| ("asked", token.into())));
    }
    bind
}

/// How a page draws an algorithm's nodes.
pub(crate) fn shape(info: &algorithms::Info) -> &'static str {
    match (info.kind, info.name) {
        (Kind::Mutex, "lacbt" | "raymond-tree" | "neilsen-mizuno" | "helary") => "tree",
        _ => "ring",
    }
}
