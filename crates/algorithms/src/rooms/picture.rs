//! What a picture of a room on one node, and of a message, shows.

use alloc::format;

use super::message::{Entry, Message};
use super::mode::{AnyOf, Mode};
use super::room::Room;
use crate::algorithm::NodeId;
use crate::picture::{Contents, Picture, Place};

fn place(entry: &Entry<AnyOf>) -> Place {
    Place { groups: entry.mode.map(|mode| mode.groups()), ..Place::from(entry.node) }
}

impl Room<AnyOf> {
    pub(super) fn draw(&self, me: NodeId, picture: &mut Picture) {
        picture.point("pointer", self.way(me));
        picture.keeps.extend(self.parked.iter().map(place));
        picture.fact_if("request", self.asked.then_some(self.number));
        if let Some(token) = &self.token {
            picture.token_if(true);
            picture.queue.extend(token.queue.iter().map(place));
            picture.fact("counter", token.counter);
            if let Some(session) = &token.session {
                picture.tie("follower", session.followers.iter().map(|&(node, _)| node));
                picture.fact("open", format!("group {}", session.group));
            }
        }
        if let Some(following) = &self.following {
            picture.point("captain", following.captain);
            picture.fact("open", format!("group {}", following.group));
            picture.fact_if("closed", following.closed.then_some("to further clients"));
        }
        picture.tie("wants to forget", self.leavers.iter().copied());
    }
}

impl<M: Mode> Message<M> {
    pub(super) fn drawn(&self) -> Contents {
        match self {
            Message::Request(entry) => Contents::request(entry.node),
            Message::Token { .. } => Contents::token(0),
            _ => Contents::default(),
        }
    }
}
