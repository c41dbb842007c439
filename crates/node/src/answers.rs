//! What a node tells those who ask how things are. The core knows members by their places; people know them by their ids.

use service::core::{Listing, Status};
use service::protocol::{Member, Question, Told};
use service::{Core, Time};

use crate::host::Shared;

impl Shared {
    /// Answers a question.
    pub(crate) fn answer(&self, question: &Question, core: &Core, now: Time) -> Told {
        match question {
            Question::Status => Told::Status { node: self.status(core), members: self.members() },
            Question::List => Told::List(self.by_ids(core.list(now))),
            Question::Inspect(name) => {
                let home = self.ids[core.home(name) as usize];
                Told::Inspect { home, listings: self.by_ids(core.inspect(name, now)) }
            }
        }
    }

    /// How the node is doing.
    pub(crate) fn status(&self, core: &Core) -> Status {
        Status { node: self.me.id, ..core.status() }
    }

    fn by_ids(&self, mut listings: Vec<Listing>) -> Vec<Listing> {
        for listing in &mut listings {
            let waiting = listing.slots.iter_mut().flat_map(|(_, waiting)| waiting);
            waiting.chain([&mut listing.home]).for_each(|place| *place = self.ids[*place as usize]);
        }
        listings
    }

    fn members(&self) -> Vec<Member> {
        let (mut clients, unreachable) = (self.peers().clients(), self.peers().unreachable());
        clients.insert(self.me.id, self.clients.clone());
        let member = |&id| Member {
            id,
            endpoint: clients.get(&id).cloned(),
            unreachable: unreachable.get(&id).copied(),
        };
        self.ids.iter().map(member).collect()
    }
}
