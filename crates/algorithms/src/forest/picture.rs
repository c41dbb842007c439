//! What a picture of a node and of a message shows.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Body, Context, Forest};
use crate::picture::{Contents, Picture, Place, Pointer};

impl Forest {
    pub(super) fn draw_parts(&self, site: &Context<'_>, picture: &mut Picture) {
        picture.asks = self.wait;
        for held in &self.held {
            picture.tokens.push(held.token);
            let place = |entry: &super::Entry| Place {
                token: Some(held.token),
                via: entry.via.map(|via| via.node),
                ..Place::from(entry.node)
            };
            picture.queue.extend(held.queue.iter().map(place));
        }
        let pointer = |(token, to)| Pointer { name: "pointer", token: Some(token), to };
        picture.pointers.extend(self.ways(site).map(pointer));
        let kept = |&node| Place { token: self.wait, ..Place::from(node) };
        picture.keeps.extend(self.node_queue.iter().map(kept));
        let clients: Vec<String> = self.waiters.iter().map(|(client, ())| client.to_string()).collect();
        picture.fact_if("clients that wait", (!clients.is_empty()).then(|| clients.join(" ")));
        let fences: Vec<String> = self.held.iter().map(|held| held.version.to_string()).collect();
        picture.fact_if("versions of the tokens", (!fences.is_empty()).then(|| fences.join(" ")));
        picture.fact_if("prefers token", self.seen.filter(|_| self.size.tokens > 1));
        picture.fact_if("registered", self.registered.then_some("at the home"));
        if let Some(home) = &self.home {
            picture.tie("hungry", home.hungry.iter().copied());
            picture.tie("ticket of", home.tickets.iter().map(|ticket| ticket.holder));
        }
    }
}

impl Body {
    pub(super) fn drawn(&self) -> Contents {
        match self {
            Body::Request { origin, token, .. } | Body::Move { origin, token, .. } => {
                Contents { asks: Some(*token), ..Contents::request(*origin) }
            }
            Body::Token { token, .. } => Contents::token(*token),
            _ => Contents::default(),
        }
    }
}
