//! An algorithm that claims more symmetry than it has is found out, and so is one that renames wrongly.

use std::fmt;
use std::ops::ControlFlow;

use algorithms::info::{Clients, Info, Kind, Needs, Tokens};
use algorithms::properties::Terms;
use algorithms::{
    Algorithm, Census, ClientId, Conditions, Contents, Grant, Input, NodeId, Outbox, Picture, Renaming,
    Scope, Setting, SettingError, Site, System,
};

use crate::job::{Job, Symmetry};
use crate::model::Model;
use crate::search::{SearchResult, search};

/// One client of each node is inside at a time. Its node then greets the others, and a node that was greeted
/// answers when a client leaves it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Greeters<const FLAW: u8> {
    inside: Option<ClientId>,
    waiting: Vec<ClientId>,
    greeted_by: Option<NodeId>,
}

const NO_FLAW: u8 = 0;
/// Only the other node with the lowest number is greeted.
const GREETS_LOWEST_NODE: u8 = 1;
/// `rename` leaves out a node that the state names.
const STATE_KEEPS_NODE: u8 = 2;
/// `rename_message` leaves out the node that the message names.
const MESSAGE_KEEPS_NODE: u8 = 3;
/// `rename` drops the node that the state names.
const RENAMING_LOSES_NODE: u8 = 4;
/// The other nodes are greeted only if the client is not the first.
const FIRST_CLIENT_IS_SILENT: u8 = 5;
/// `rename_clients` leaves out the waiting clients.
const STATE_KEEPS_CLIENTS: u8 = 6;
/// `rename_clients` drops the waiting clients.
const RENAMING_LOSES_CLIENTS: u8 = 7;
/// A greeting carries the number of the client.
const MESSAGE_NAMES_CLIENT: u8 = 8;
/// The waiting client with the lowest number enters next. That is no flaw: which of two clients that wait alike
/// enters first, has no meaning.
const LOWEST_CLIENT_FIRST: u8 = 9;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Greeting {
    Hello { from: NodeId, client: ClientId },
    Answer,
}

impl fmt::Display for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl<const FLAW: u8> Greeters<FLAW> {
    fn enter(&mut self, site: &Site<'_, Self>, client: ClientId, out: &mut Outbox<'_, Self>) {
        self.inside = Some(client);
        out.grant(Grant { client, ..Grant::default() });
        let client = if FLAW == MESSAGE_NAMES_CLIENT { client } else { 0 };
        let greeted = match FLAW {
            GREETS_LOWEST_NODE => 1,
            FIRST_CLIENT_IS_SILENT if self.inside == Some(0) => 0,
            _ => usize::MAX,
        };
        site.others().take(greeted).for_each(|to| out.send(to, Greeting::Hello { from: site.me, client }));
    }
}

impl<const FLAW: u8> Algorithm for Greeters<FLAW> {
    type Message = Greeting;
    type Durable = ();
    type Rules = ();

    const INFO: Info = Info {
        name: "greeters",
        title: "",
        kind: Kind::GroupMutex,
        source: "",
        cost: "",
        tokens: Tokens::None,
        needs: Needs::RELIABLE,
        clients: Clients::Many,
        unique_requests: false,
        options: &[],
        timers: &[],
        sometimes: &[],
        suite: &[],
        defects: &[],
    };

    fn rules(_: &Setting) -> Result<(), SettingError> {
        Ok(())
    }

    fn start(_: &Site<'_, Self>) -> Self {
        Greeters::default()
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        match input {
            Input::Request { client, .. } if self.inside.is_none() => self.enter(site, client, out),
            Input::Request { client, .. } => self.waiting.push(client),
            Input::Exit { client } => {
                if self.inside.take() != Some(client) {
                    out.never("a client leaves that is not inside");
                }
                self.greeted_by.take().into_iter().for_each(|node| out.send(node, Greeting::Answer));
                if FLAW == LOWEST_CLIENT_FIRST {
                    self.waiting.sort_unstable();
                }
                if !self.waiting.is_empty() {
                    let next = self.waiting.remove(0);
                    self.enter(site, next, out);
                }
            }
            Input::Deliver { message: Greeting::Hello { from, .. }, .. } => self.greeted_by = Some(from),
            Input::Deliver { message: Greeting::Answer, .. } => {}
            Input::Cancel { .. } | Input::Expire(_) => out.never("nothing asks for this"),
        }
    }

    fn count(&self, _: &Site<'_, Self>, _: &mut Census) {}

    fn count_message(_: &Greeting, _: NodeId, _: &mut Census) {}

    fn draw(&self, _: &Site<'_, Self>, _: &mut Picture) {}

    fn draw_message(_: &Self::Message) -> Contents {
        Contents::default()
    }

    fn allows_renaming((): &(), _: &Renaming) -> bool {
        true
    }

    fn rename(&mut self, (): &(), renaming: &Renaming) {
        match FLAW {
            STATE_KEEPS_NODE => {}
            RENAMING_LOSES_NODE => self.greeted_by = None,
            _ => renaming.rename(&mut self.greeted_by),
        }
    }

    fn rename_message(message: &mut Greeting, renaming: &Renaming) {
        if let Greeting::Hello { from, .. } = message
            && FLAW != MESSAGE_KEEPS_NODE
        {
            renaming.rename([from]);
        }
    }

    fn allows_client_renaming((): &()) -> bool {
        true
    }

    fn rename_clients(&mut self, renaming: &Renaming) {
        renaming.rename(&mut self.inside);
        match FLAW {
            STATE_KEEPS_CLIENTS => {}
            RENAMING_LOSES_CLIENTS => self.waiting.clear(),
            _ => renaming.rename(&mut self.waiting),
        }
    }

    fn kind(_: &Greeting) -> &'static str {
        "GREETING"
    }

    fn words(_: &Greeting) -> u32 {
        3
    }
}

fn explore<const FLAW: u8>(symmetry: Symmetry) -> Result<SearchResult, SettingError> {
    // Three clients wait and are inside, or three nodes greet each other: both together are too many states.
    let is_about_nodes = (GREETS_LOWEST_NODE..=RENAMING_LOSES_NODE).contains(&FLAW);
    let scope = if is_about_nodes { Scope::new(3, 1, 1) } else { Scope::new(2, 1, 3) };
    let mut job = Job { symmetry, ..Job::of(&scope.clients(3), None) };
    job.case.allowance.cancels = false;
    let system = System::<Greeters<FLAW>>::new(&job.case.setting).unwrap().erase();
    let mut model = Model::new(system, &job.case);
    model.use_symmetry(symmetry).unwrap();
    let terms = Terms::new(&Greeters::<FLAW>::INFO, job.case.setting.tokens, Conditions::Reliable);
    search(&model, &job, terms, None, &|_| ControlFlow::Continue(()))
}

fn refuse<const FLAW: u8>(symmetry: Symmetry, why: &str) {
    for symmetry in [symmetry, Symmetry::On] {
        let refusal = explore::<FLAW>(symmetry).err().expect("it is not symmetric").0;
        assert!(refusal.contains("greeters is not symmetric"), "{FLAW}: {refusal}");
        assert!(refusal.contains(why), "{FLAW}: {refusal}");
        assert!(refusal.contains("without --symmetry"), "{FLAW}: {refusal}");
    }
}

#[test]
fn a_true_claim_of_symmetry_is_used() {
    fn states<const FLAW: u8>(symmetry: Symmetry) -> u64 {
        explore::<FLAW>(symmetry).unwrap_or_else(|refusal| panic!("{refusal}")).states
    }
    let (plain, both) = (states::<NO_FLAW>(Symmetry::Off), states::<NO_FLAW>(Symmetry::On));
    for one in [Symmetry::Nodes, Symmetry::Clients] {
        assert!(both < states::<NO_FLAW>(one) && states::<NO_FLAW>(one) < plain, "{one:?}");
    }
    assert_eq!(states::<LOWEST_CLIENT_FIRST>(Symmetry::On), both);
}

#[test]
fn a_false_claim_about_nodes_is_refused() {
    refuse::<GREETS_LOWEST_NODE>(Symmetry::Nodes, "changes more than names");
}

#[test]
fn a_wrong_renaming_of_nodes_is_refused() {
    refuse::<STATE_KEEPS_NODE>(Symmetry::Nodes, "changes more than names");
    refuse::<MESSAGE_KEEPS_NODE>(Symmetry::Nodes, "changes more than names");
    refuse::<RENAMING_LOSES_NODE>(Symmetry::Nodes, "changes");
}

#[test]
fn a_false_claim_about_clients_is_refused() {
    refuse::<FIRST_CLIENT_IS_SILENT>(Symmetry::Clients, "changes more than names");
    refuse::<MESSAGE_NAMES_CLIENT>(Symmetry::Clients, "changes more than names");
}

#[test]
fn a_wrong_renaming_of_clients_is_refused() {
    refuse::<STATE_KEEPS_CLIENTS>(Symmetry::Clients, "changes more than names");
    refuse::<RENAMING_LOSES_CLIENTS>(Symmetry::Clients, "and back changes");
}
