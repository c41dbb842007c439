//! `tokenwood inspect`: everything that the nodes know of one name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use service::Definition;
use service::core::{Held, Listing};

use crate::locks::cluster::{Answered, Asking, Trouble};
use crate::locks::list::{client_at, client_cells, kind};
use crate::terminal::format::Format;
use crate::terminal::output::say;
use crate::terminal::schema::Schema;
use crate::terminal::{json, table};

/// Show one name: what it stands for, where its tokens are, its holders and waiters
#[derive(Args)]
pub(crate) struct Arguments {
    /// The name of the lock
    name: String,
    #[command(flatten)]
    asking: Asking,
}

/// What all nodes together know of a name.
struct Found<'a> {
    name: &'a str,
    home: Option<u32>,
    definition: Option<Definition>,
    /// The node at which each token is, and the nodes that wait for it there.
    tokens: BTreeMap<u32, (u32, &'a [u32])>,
    /// The holders with their nodes, the longest first,
    holders: Vec<(u32, &'a Held)>,
    /// and the waiters.
    waiters: Vec<(u32, &'a Held)>,
}

/// What they know, for scripts.
#[derive(Serialize)]
struct Inspected<'a> {
    #[serde(flatten)]
    found: Value,
    #[serde(flatten)]
    trouble: Trouble<'a>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    service::name::validate(&arguments.name)?;
    let answers = arguments.asking.ask_all(|mut admin| {
        let name = arguments.name.clone();
        async move { admin.inspect(&name).await }
    })?;
    let found = Found::gather(&arguments.name, &answers.nodes);
    if arguments.asking.format == Format::Json {
        json::say(Schema::Inspect, &Inspected { found: found.as_json(), trouble: answers.trouble() });
    } else {
        found.say(answers.are_complete());
    }
    Ok(answers.note_trouble())
}

impl<'a> Found<'a> {
    fn gather(name: &'a str, answers: &'a [Answered<(u32, Vec<Listing>)>]) -> Found<'a> {
        let mut home = None;
        let mut listings: Vec<(u32, &Listing)> = Vec::new();
        for answered in answers {
            if let Ok((found, here)) = &answered.answer {
                home = Some(*found);
                listings.extend(here.iter().map(|listing| (answered.id, listing)));
            }
        }
        // The home decides what the name stands for; other nodes may be behind for a moment.
        let at_home = listings.iter().find(|(node, _)| Some(*node) == home);
        let definition = at_home.or(listings.first()).map(|(_, listing)| listing.definition);
        let tokens = listings.iter().flat_map(|(node, listing)| {
            listing.slots.iter().map(move |(slot, waiting)| (*slot, (*node, &waiting[..])))
        });
        let tokens = tokens.collect();
        let clients = listings
            .iter()
            .flat_map(|(node, listing)| listing.clients.iter().map(move |client| (*node, client)));
        let mut clients: Vec<(u32, &Held)> = clients.collect();
        clients.sort_by_key(|(node, client)| (Reverse(client.since), *node));
        let (holders, waiters) = clients.into_iter().partition(|(_, client)| client.granted.is_some());
        Found { name, home, definition, tokens, holders, waiters }
    }

    /// Prints it for people. That no client uses the name is said only if all nodes have answered.
    fn say(&self, complete: bool) {
        let home = self.home.map_or_else(String::new, |home| format!("at home at node {home}"));
        let Some(definition) = self.definition else {
            let used = if complete { "no client uses it" } else { "not in use at the nodes that answered" };
            say!("{}: {used}; {home}", self.name);
            return;
        };
        say!("{}: {definition}, {home}", self.name);
        let tokens: Vec<u32> = self.tokens.keys().copied().collect();
        let nodes: BTreeMap<u32, Vec<u32>> = tokens.iter().fold(BTreeMap::new(), |mut nodes, slot| {
            nodes.entry(self.tokens[slot].0).or_insert_with(Vec::new).push(*slot);
            nodes
        });
        for (node, slots) in &nodes {
            say!("{} at node {node}", tokens_in_words(definition, slots));
        }
        let missing: Vec<u32> =
            (0..kind(definition).1).filter(|slot| !self.tokens.contains_key(slot)).collect();
        if !missing.is_empty() {
            say!("{} between nodes, or at one that does not answer", tokens_in_words(definition, &missing));
        }
        for (slot, (_, waiting)) in self.tokens.iter().filter(|(_, (_, waiting))| !waiting.is_empty()) {
            let nodes: Vec<String> = waiting.iter().map(|node| format!("node {node}")).collect();
            say!("{} promised to {}", tokens_in_words(definition, &[*slot]), nodes.join(", then to "));
        }
        if self.holders.is_empty() && self.waiters.is_empty() {
            if complete {
                say!("No client holds it or waits for it.");
            }
            return;
        }
        say!();
        let heading = ["does", "slot", "fence", "for", "node", "who"].map(str::to_string).to_vec();
        let clients = self.holders.iter().chain(&self.waiters);
        let rows = clients.map(|(node, client)| client_cells(*node, client).to_vec());
        table::print(&[heading].into_iter().chain(rows).collect::<Vec<_>>());
    }

    fn as_json(&self) -> Value {
        let tokens = self.tokens.iter();
        let tokens = tokens
            .map(|(slot, (node, waiting))| json!({ "slot": slot, "node": node, "next_nodes": waiting }));
        json!({
            "name": self.name,
            "kind": self.definition.map(|definition| kind(definition).0),
            "slots": self.definition.map(|definition| kind(definition).1),
            "home": self.home,
            "tokens": tokens.collect::<Vec<_>>(),
            "holders": clients_json(&self.holders),
            "waiters": clients_json(&self.waiters),
        })
    }
}

fn clients_json(clients: &[(u32, &Held)]) -> Vec<Value> {
    clients.iter().map(|(node, client)| client_at(*node, client)).collect()
}

/// `The token is`, `Slot 3 is`, `Slots 0–2, 5 are`.
fn tokens_in_words(definition: Definition, slots: &[u32]) -> String {
    if kind(definition).1 == 1 {
        return "The token is".to_string();
    }
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &slot in slots {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == slot => *last = slot,
            _ => ranges.push((slot, slot)),
        }
    }
    let ranges: Vec<String> = ranges
        .into_iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}–{last}") })
        .collect();
    if slots.len() == 1 {
        format!("Slot {} is", ranges[0])
    } else {
        format!("Slots {} are", ranges.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_in_words() {
        assert_eq!(tokens_in_words(Definition::MUTEX, &[0]), "The token is");
        assert_eq!(tokens_in_words(Definition::Slots(9), &[4]), "Slot 4 is");
        assert_eq!(tokens_in_words(Definition::Slots(9), &[0, 1, 2, 5, 7, 8]), "Slots 0–2, 5, 7–8 are");
    }
}
