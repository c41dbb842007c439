//! What a node tells those who ask how things are.

use service::protocol::{Member, Question, Told};
use service::{Core, Time};

use crate::host::Shared;

impl Shared {
    /// Answers a question.
    pub(crate) fn answer(&self, question: &Question, core: &Core, now: Time) -> Told {
        match question {
            Question::Status => Told::Status { node: core.status(), members: self.members(core) },
            Question::List => Told::List(core.list(now)),
            Question::Inspect(name) => {
                Told::Inspect { home: core.home(name), listings: core.inspect(name, now) }
            }
            Question::Definitions => {
                let definitions = core.definitions().iter();
                Told::Definitions(definitions.map(|(name, defined)| (name.clone(), *defined)).collect())
            }
        }
    }

    fn members(&self, core: &Core) -> Vec<Member> {
        let (mut clients, unreachable) = (self.peers().clients(), self.peers().unreachable());
        clients.insert(self.me.id, self.clients.clone());
        let member = |&service::view::Member { id, .. }| Member {
            id,
            endpoint: clients.get(&id).cloned(),
            unreachable: unreachable.get(&id).copied(),
        };
        core.view().members.iter().map(member).collect()
    }
}
