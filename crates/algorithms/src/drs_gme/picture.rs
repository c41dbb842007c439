//! What a picture of a node shows.

use super::{DrsGme, Location, Request, Stage};
use crate::picture::{Picture, Place};

fn place(request: &Request) -> Place {
    Place { groups: Some(request.groups), ..Place::from(request.node) }
}

impl DrsGme {
    pub(super) fn draw_parts(&self, picture: &mut Picture) {
        picture.tie("asks", self.request_set.iter().copied());
        picture.keeps.extend(self.heard.iter().map(place));
        if let Stage::Follower(captain) = self.stage {
            picture.point("captain", captain);
        }
        picture.fact("request", self.kept.number);
        picture.fact("session", self.kept.session);
        match &self.kept.location {
            Location::Here(holding) => {
                picture.token_if(true);
                picture.queue.extend(holding.token.queue.iter().map(place));
                picture.tie("follower", holding.followers.iter().map(|&(node, _)| node));
                picture.fact_if("open", holding.open.map(|group| alloc::format!("group {group}")));
                picture.numbers("requests granted", &holding.token.served);
            }
            Location::Away(copy) => picture.fact_if("copy", copy.as_ref()),
        }
    }
}
