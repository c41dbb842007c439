//! An algorithm that claims more symmetry than it has is found out.

use std::fmt;
use std::sync::Mutex;

use algorithms::info::{Clients, Info, Kind, Needs, Tokens};
use algorithms::properties::Terms;
use algorithms::{
    Algorithm, Census, Conditions, Input, NodeId, Outbox, Renaming, Scope, Setting, SettingError, Site,
    System,
};

use crate::job::Job;
use crate::model::Model;
use crate::search::search;

/// Every client enters at once, and its node greets another one: the lowest by number, although it claims that
/// numbers mean nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GreetsLowest;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Hello;

impl fmt::Display for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HELLO")
    }
}

impl Algorithm for GreetsLowest {
    type Message = Hello;
    type Durable = ();
    type Rules = ();

    const INFO: Info = Info {
        name: "greets-lowest",
        title: "",
        kind: Kind::KMutex,
        source: "",
        cost: "",
        tokens: Tokens::None,
        needs: Needs::RELIABLE,
        clients: Clients::OneEach,
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
        GreetsLowest
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        if let Input::Request { .. } = input {
            out.enter();
            site.others().take(1).for_each(|first| out.send(first, Hello));
        }
    }

    fn count(&self, _: &Site<'_, Self>, _: &mut Census) {}

    fn count_message(_: &Hello, _: NodeId, _: &mut Census) {}

    fn allows_renaming((): &(), _: &Renaming) -> bool {
        true
    }

    fn kind(_: &Hello) -> &'static str {
        "HELLO"
    }

    fn words(_: &Hello) -> u32 {
        3
    }
}

#[test]
fn a_false_claim_of_symmetry_is_refused() {
    let job = Job { symmetry: true, ..Job::of(&Scope::new(3, 3, 1), None) };
    let system = System::<GreetsLowest>::new(&job.case.setting).unwrap().erase();
    let mut model = Model::new(system, &job.case);
    model.use_symmetry().unwrap();
    assert_eq!(model.renamings().unwrap().len(), 5);
    let terms = Terms::new(&GreetsLowest::INFO, 3, Conditions::Reliable);
    let refusal = search(&Mutex::new(model), &job, terms, &|_| {}).err().expect("it is not symmetric").0;
    assert!(refusal.contains("greets-lowest is not symmetric"), "{refusal}");
    assert!(refusal.contains("without --symmetry on"), "{refusal}");
}
