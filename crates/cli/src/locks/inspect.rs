//! `tokenwood inspect`: everything that the nodes know of one name.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use service::Definition;
use service::core::{Held, Listing, Turns};

use crate::locks::cluster::{Asking, Trouble};
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
pub(crate) struct Found<'a> {
    name: &'a str,
    home: Option<u32>,
    definition: Option<Definition>,
    /// The node at which each token is, and the nodes that wait for it there.
    tokens: BTreeMap<u32, (u32, &'a [u32])>,
    /// Slot, node, and the node to which that one would send a request for the slot.
    pointers: BTreeSet<(u32, u32, u32)>,
    /// The holders with their nodes, the longest first,
    holders: Vec<(u32, &'a Held)>,
    /// and the waiters, the next first.
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
    let told = answers.nodes.iter().filter_map(|answered| {
        let (home, listings) = answered.answer.as_ref().ok()?;
        Some((answered.id, *home, &listings[..]))
    });
    let found = Found::gather(&arguments.name, told);
    if arguments.asking.format == Format::Json {
        json::say(Schema::Inspect, &Inspected { found: found.as_json(), trouble: answers.trouble() });
    } else {
        found.say(answers.are_complete());
    }
    Ok(answers.note_trouble())
}

impl<'a> Found<'a> {
    /// From what nodes know: each with its id, the home of the name, and its listings.
    pub(crate) fn gather(
        name: &'a str,
        answers: impl Iterator<Item = (u32, u32, &'a [Listing])>,
    ) -> Found<'a> {
        let mut home = None;
        let mut listings: Vec<(u32, &Listing)> = Vec::new();
        for (node, found, here) in answers {
            home = Some(found);
            listings.extend(here.iter().map(|listing| (node, listing)));
        }
        // The home decides what the name stands for; other nodes may be behind for a moment.
        let at_home = listings.iter().find(|(node, _)| Some(*node) == home);
        let definition = at_home.or(listings.first()).map(|(_, listing)| listing.definition);
        let tokens = listings.iter().flat_map(|(node, listing)| {
            listing.slots.iter().map(move |(slot, waiting)| (*slot, (*node, &waiting[..])))
        });
        let tokens = tokens.collect();
        let pointers = listings
            .iter()
            .flat_map(|(from, listing)| listing.pointers.iter().map(move |&(slot, to)| (slot, *from, to)));
        let pointers = pointers.collect();
        let clients = listings
            .iter()
            .flat_map(|(node, listing)| listing.clients.iter().map(move |client| (*node, client)));
        let mut clients: Vec<(u32, &Held)> = clients.collect();
        let turns = Turns::of(listings.iter().copied());
        clients.sort_by_key(|(_, client)| turns.turn(client));
        let (holders, waiters) = clients.into_iter().partition(|(_, client)| client.granted.is_some());
        Found { name, home, definition, tokens, pointers, holders, waiters }
    }

    /// Prints it for people.
    fn say(&self, complete: bool) {
        self.lines(complete).iter().for_each(|line| say!("{line}"));
        let rows = self.rows();
        if !rows.is_empty() {
            say!();
            table::print(&rows);
        }
    }

    /// What there is to say beside the clients. That no client uses the name is said only if all nodes have answered.
    pub(crate) fn lines(&self, complete: bool) -> Vec<String> {
        let home = self.home.map_or_else(String::new, |home| format!("at home at node {home}"));
        let Some(definition) = self.definition else {
            let used = if complete { "no client uses it" } else { "not in use at the nodes that answered" };
            return vec![format!("{}: {used}; {home}", self.name)];
        };
        let mut lines = vec![format!("{}: {definition}, {home}", self.name)];
        let tokens: Vec<u32> = self.tokens.keys().copied().collect();
        let nodes: BTreeMap<u32, Vec<u32>> = tokens.iter().fold(BTreeMap::new(), |mut nodes, slot| {
            nodes.entry(self.tokens[slot].0).or_insert_with(Vec::new).push(*slot);
            nodes
        });
        for (node, slots) in &nodes {
            lines.push(format!("{} at node {node}", tokens_in_words(definition, slots)));
        }
        let missing: Vec<u32> =
            (0..kind(definition).1).filter(|slot| !self.tokens.contains_key(slot)).collect();
        if !missing.is_empty() {
            let missing = tokens_in_words(definition, &missing);
            lines.push(format!("{missing} between nodes, or at one that does not answer"));
        }
        for (slot, (_, waiting)) in self.tokens.iter().filter(|(_, (_, waiting))| !waiting.is_empty()) {
            let nodes: Vec<String> = waiting.iter().map(|node| format!("node {node}")).collect();
            let token = tokens_in_words(definition, &[*slot]);
            lines.push(format!("{token} promised to {}", nodes.join(", then to ")));
        }
        if self.holders.is_empty() && self.waiters.is_empty() && complete {
            lines.push("No client holds it or waits for it.".to_string());
        }
        lines
    }

    /// Holders and waiters in a table; nothing if there are none.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        if self.holders.is_empty() && self.waiters.is_empty() {
            return Vec::new();
        }
        let heading = ["does", "slot", "fence", "for", "node", "who"].map(str::to_string).to_vec();
        let clients = self.holders.iter().chain(&self.waiters);
        let rows = clients.map(|(node, client)| client_cells(*node, client).to_vec());
        [heading].into_iter().chain(rows).collect()
    }

    fn as_json(&self) -> Value {
        let tokens = self.tokens.iter();
        let tokens = tokens
            .map(|(slot, (node, waiting))| json!({ "slot": slot, "node": node, "next_nodes": waiting }));
        let pointers = self.pointers.iter();
        let pointers = pointers.map(|(slot, from, to)| json!({ "slot": slot, "from": from, "to": to }));
        json!({
            "name": self.name,
            "kind": self.definition.map(|definition| kind(definition).0),
            "slots": self.definition.map(|definition| kind(definition).1),
            "home": self.home,
            "tokens": tokens.collect::<Vec<_>>(),
            "pointers": pointers.collect::<Vec<_>>(),
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
