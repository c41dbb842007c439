//! What a picture of a node and of a message shows.

use super::{BulgannawarVaidya, Choose, Context, Message};
use crate::picture::{Contents, Picture, Place, Pointer};

impl BulgannawarVaidya {
    pub(super) fn draw_parts(&self, site: &Context<'_>, picture: &mut Picture) {
        picture.asks = self.wait;
        let here = self.token.as_ref().map(|token| token.id);
        picture.tokens.extend(here);
        for token in (0..site.tokens).filter(|&token| Some(token) != here && Some(token) != self.wait) {
            let to = self.pointers.to(token, token);
            if to != site.me {
                picture.pointers.push(Pointer { name: "pointer", token: Some(token), to });
            }
        }
        if let Some(token) = &self.token {
            let place = |entry: &super::Entry| Place {
                token: Some(token.id),
                via: entry.tag,
                ..Place::from(entry.node)
            };
            picture.queue.extend(token.queue.iter().map(place));
        }
        let kept = |&node| Place { token: self.wait, ..Place::from(node) };
        picture.keeps.extend(self.node_queue.iter().map(kept));
        picture.fact_if("holding", self.holding.then_some("set"));
        if site.rules.choose != Choose::Random {
            picture.fact("seen", self.seen);
        }
        if site.rules.inform > 0 {
            picture.fact("clock", self.clock);
            picture.numbers("stamps", &self.stamp);
        }
    }
}

impl Message {
    pub(super) fn drawn(&self) -> Contents {
        match self {
            Message::Request { origin, token, .. } => {
                Contents { asks: Some(*token), ..Contents::request(*origin) }
            }
            Message::Token { token, .. } => Contents::token(*token),
            Message::Inform { .. } => Contents::default(),
        }
    }
}
