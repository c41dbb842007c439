//! Any algorithm behind one type. A driver whose inner loop is not measured runs [`Erased`] and is compiled
//! once instead of once for each algorithm; [`registry::system`](crate::registry::system) makes one by name.
//!
//! Values of an erased algorithm compare, hash and print as the values they hold.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use core::any::Any;
use core::cmp::Ordering;
use core::fmt::{Debug, Display};
use core::hash::{Hash, Hasher};

use crate::algorithm::{Algorithm, Effect, Input, NodeId, Outbox, Site};
use crate::census::Census;
use crate::info::Info;
use crate::picture::{Contents, Picture};
use crate::renaming::Renaming;
use crate::setting::{Setting, SettingError};

#[cfg(test)]
mod tests;
mod values;

/// The state of a node of any algorithm.
pub struct Erased(Box<dyn State>);

/// A message of any algorithm.
pub struct Message(Box<dyn Content>);

/// What a node of any algorithm has persisted.
#[derive(Default)]
pub struct Durable(Option<Box<dyn Saved>>);

/// The rules of any algorithm.
#[derive(Clone)]
pub struct Rules(Arc<dyn Reading>);

impl Rules {
    /// The rules of an algorithm, erased.
    pub fn new<A: Algorithm>(rules: A::Rules) -> Rules {
        Rules(Arc::new(RulesOf::<A>(rules)))
    }
}

impl Message {
    /// A message of an algorithm, erased.
    pub fn new<A: Algorithm>(message: A::Message) -> Message {
        Message(Box::new(MessageOf::<A>(message)))
    }

    /// The message as the algorithm sees it; `None` if it is a message of another algorithm.
    pub fn open<A: Algorithm>(&self) -> Option<&A::Message> {
        let content: &dyn Any = &*self.0;
        content.downcast_ref::<MessageOf<A>>().map(|message| &message.0)
    }
}

/// The methods of [`Algorithm`] that need the rules, as an object.
trait Reading: Any + Send + Sync + Debug {
    fn info(&self) -> &'static Info;
    fn allows_renaming(&self, renaming: &Renaming) -> bool;
    fn allows_client_renaming(&self) -> bool;
    fn node_bytes(&self) -> usize;
    fn unsaved(&self) -> Durable;
    fn start(&self, site: &Site<'_, Erased>) -> Erased;
    fn restart(&self, site: &Site<'_, Erased>, saved: &Durable, out: &mut Outbox<'_, Erased>) -> Erased;
}

/// The methods of [`Algorithm`] that need a state, as an object.
trait State: Any + Send + Sync + Debug {
    fn step(&mut self, site: &Site<'_, Erased>, input: Input<Erased>, out: &mut Outbox<'_, Erased>);
    fn count(&self, site: &Site<'_, Erased>, census: &mut Census);
    fn draw(&self, site: &Site<'_, Erased>, picture: &mut Picture);
    fn rename(&mut self, rules: &Rules, renaming: &Renaming);
    fn rename_clients(&mut self, renaming: &Renaming);
    fn copy(&self) -> Box<dyn State>;
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

/// The methods of [`Algorithm`] that need a message, as an object.
trait Content: Any + Send + Sync + Debug + Display {
    fn count(&self, to: NodeId, census: &mut Census);
    fn draw(&self) -> Contents;
    fn rename(&mut self, renaming: &Renaming);
    fn kind(&self) -> &'static str;
    fn words(&self) -> u32;
    fn copy(&self) -> Box<dyn Content>;
    fn compare(&self, other: &dyn Any) -> Option<Ordering>;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

/// A durable value as an object.
trait Saved: Any + Send + Sync + Debug {
    fn copy(&self) -> Box<dyn Saved>;
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

struct MessageOf<A: Algorithm>(A::Message);

struct RulesOf<A: Algorithm>(A::Rules);

/// Why a state, a message or a durable value of one algorithm never meets one of another.
const MIXED: &str = "all nodes of a system run the same algorithm";

/// The rules as the algorithm reads them.
fn open_rules<A: Algorithm>(rules: &Rules) -> &A::Rules {
    let rules: &dyn Any = &*rules.0;
    &rules.downcast_ref::<RulesOf<A>>().expect(MIXED).0
}

/// The site as the algorithm sees it.
fn open_site<'a, A: Algorithm>(site: &Site<'a, Erased>) -> Site<'a, A> {
    Site { me: site.me, nodes: site.nodes, tokens: site.tokens, rules: open_rules::<A>(site.rules) }
}

/// The input as the algorithm sees it.
fn open_input<A: Algorithm>(input: Input<Erased>) -> Input<A> {
    match input {
        Input::Request { client, groups } => Input::Request { client, groups },
        Input::Cancel { client } => Input::Cancel { client },
        Input::Exit { client } => Input::Exit { client },
        Input::Expire(timer) => Input::Expire(timer),
        Input::Deliver { from, message } => {
            let content: Box<dyn Any> = message.0;
            let message = content.downcast::<MessageOf<A>>().expect(MIXED);
            Input::Deliver { from, message: message.0 }
        }
    }
}

fn erase_effect<A: Algorithm>(effect: Effect<A>) -> Effect<Erased> {
    match effect {
        Effect::Send { to, message } => Effect::Send { to, message: Message::new::<A>(message) },
        Effect::Enter(grant) => Effect::Enter(grant),
        Effect::Arm(timer, wait) => Effect::Arm(timer, wait),
        Effect::Disarm(timer) => Effect::Disarm(timer),
        Effect::Persist(durable) => Effect::Persist(Durable(Some(Box::new(durable)))),
        Effect::Note(what) => Effect::Note(what),
        Effect::Never(what) => Effect::Never(what),
    }
}

impl<A: Algorithm> Reading for RulesOf<A> {
    fn info(&self) -> &'static Info {
        A::info(&self.0)
    }

    fn allows_renaming(&self, renaming: &Renaming) -> bool {
        A::allows_renaming(&self.0, renaming)
    }

    fn allows_client_renaming(&self) -> bool {
        A::allows_client_renaming(&self.0)
    }

    fn node_bytes(&self) -> usize {
        A::node_bytes(&self.0)
    }

    fn unsaved(&self) -> Durable {
        Durable(Some(Box::new(A::unsaved(&self.0))))
    }

    fn start(&self, site: &Site<'_, Erased>) -> Erased {
        Erased(Box::new(A::start(&open_site(site))))
    }

    fn restart(&self, site: &Site<'_, Erased>, saved: &Durable, out: &mut Outbox<'_, Erased>) -> Erased {
        let saved: &dyn Any = &**saved.0.as_ref().expect(MIXED);
        let saved = saved.downcast_ref::<A::Durable>().expect(MIXED);
        let state = out.nested(|out| A::restart(&open_site(site), saved, out), erase_effect);
        Erased(Box::new(state))
    }
}

impl<A: Algorithm> State for A {
    fn step(&mut self, site: &Site<'_, Erased>, input: Input<Erased>, out: &mut Outbox<'_, Erased>) {
        out.nested(|out| Algorithm::step(self, &open_site(site), open_input(input), out), erase_effect);
    }

    fn count(&self, site: &Site<'_, Erased>, census: &mut Census) {
        Algorithm::count(self, &open_site(site), census);
    }

    fn draw(&self, site: &Site<'_, Erased>, picture: &mut Picture) {
        Algorithm::draw(self, &open_site(site), picture);
    }

    fn rename(&mut self, rules: &Rules, renaming: &Renaming) {
        Algorithm::rename(self, open_rules::<A>(rules), renaming);
    }

    fn rename_clients(&mut self, renaming: &Renaming) {
        Algorithm::rename_clients(self, renaming);
    }

    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<A>() == Some(self)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

impl<A: Algorithm> Content for MessageOf<A> {
    fn count(&self, to: NodeId, census: &mut Census) {
        A::count_message(&self.0, to, census);
    }

    fn draw(&self) -> Contents {
        A::draw_message(&self.0)
    }

    fn rename(&mut self, renaming: &Renaming) {
        A::rename_message(&mut self.0, renaming);
    }

    fn kind(&self) -> &'static str {
        A::kind(&self.0)
    }

    fn words(&self) -> u32 {
        A::words(&self.0)
    }

    fn copy(&self) -> Box<dyn Content> {
        Box::new(MessageOf::<A>(self.0.clone()))
    }

    fn compare(&self, other: &dyn Any) -> Option<Ordering> {
        other.downcast_ref::<MessageOf<A>>().map(|other| self.0.cmp(&other.0))
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.0.hash(&mut hasher);
    }
}

impl<D: Clone + Eq + Hash + Debug + Send + Sync + 'static> Saved for D {
    fn copy(&self) -> Box<dyn Saved> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<D>() == Some(self)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

impl Algorithm for Erased {
    type Message = Message;
    type Durable = Durable;
    type Rules = Rules;

    /// Fails to compile where it is read: which algorithm it is, only the rules know.
    const INFO: Info = panic!("an erased algorithm has no constant description: call Algorithm::info");

    /// Always refuses: which algorithm is meant, only a name can tell.
    fn rules(_: &Setting) -> Result<Rules, SettingError> {
        Err(SettingError("an erased algorithm is found by its name: call registry::system".to_string()))
    }

    fn info(rules: &Rules) -> &'static Info {
        rules.0.info()
    }

    fn unsaved(rules: &Rules) -> Durable {
        rules.0.unsaved()
    }

    fn node_bytes(rules: &Rules) -> usize {
        rules.0.node_bytes()
    }

    fn start(site: &Site<'_, Self>) -> Self {
        site.rules.0.start(site)
    }

    fn restart(site: &Site<'_, Self>, saved: &Durable, out: &mut Outbox<'_, Self>) -> Self {
        site.rules.0.restart(site, saved, out)
    }

    fn step(&mut self, site: &Site<'_, Self>, input: Input<Self>, out: &mut Outbox<'_, Self>) {
        self.0.step(site, input, out);
    }

    fn count(&self, site: &Site<'_, Self>, census: &mut Census) {
        self.0.count(site, census);
    }

    fn count_message(message: &Message, to: NodeId, census: &mut Census) {
        message.0.count(to, census);
    }

    fn allows_renaming(rules: &Rules, renaming: &Renaming) -> bool {
        rules.0.allows_renaming(renaming)
    }

    fn rename(&mut self, rules: &Rules, renaming: &Renaming) {
        self.0.rename(rules, renaming);
    }

    fn rename_message(message: &mut Message, renaming: &Renaming) {
        message.0.rename(renaming);
    }

    fn allows_client_renaming(rules: &Rules) -> bool {
        rules.0.allows_client_renaming()
    }

    fn rename_clients(&mut self, renaming: &Renaming) {
        self.0.rename_clients(renaming);
    }

    fn draw(&self, site: &Site<'_, Self>, picture: &mut Picture) {
        self.0.draw(site, picture);
    }

    fn draw_message(message: &Message) -> Contents {
        message.0.draw()
    }

    fn kind(message: &Message) -> &'static str {
        message.0.kind()
    }

    fn words(message: &Message) -> u32 {
        message.0.words()
    }
}
