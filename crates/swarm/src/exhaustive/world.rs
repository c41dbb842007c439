//! A small cluster at a moment, and what becomes of it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use service::core::{Patience, Reply};
use service::view::{Member, View};
use service::{Acquire, Config, Core, Defect, Definition, Grant, Out, PeerMessage, SessionId, Time, Want};

use super::Size;
use super::act::Act;
use super::judge::Given;

/// How long a lease lasts; the clock of a node goes on by so much when it runs out, and never otherwise.
const LEASE: Duration = Duration::from_secs(3600);
/// Longer than all leases that can run out: timers run out when the search says so.
const HOP: Duration = Duration::from_secs(10_000_000);
const NAME: &str = "x";
/// The first id: not 0, so that ids and places differ.
const FIRST: u32 = 100;

/// A node, in one of its lives.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) life: u64,
    /// `None` if it is dead, or has not heard of a view that it is in.
    pub(crate) core: Option<Arc<Core>>,
    /// Stands for everything that the core will do.
    print: u64,
    pub(crate) now: Time,
    /// Its lease has run out.
    pub(crate) lapsed: bool,
    /// It was let in, and will hear of it.
    pub(crate) joins: bool,
}

/// A client of a node.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Client {
    pub(crate) node: usize,
    /// How many times it will still ask.
    pub(crate) rounds: u32,
    session: Option<SessionId>,
    request: u64,
    pub(crate) waits: bool,
    /// It believes that it is inside, by this.
    pub(crate) believes: bool,
    pub(crate) holds: Option<Given>,
}

/// A message on its way, with what stands for it.
type Mail = Arc<(u64, PeerMessage)>;

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) nodes: Vec<Node>,
    pub(crate) clients: Vec<Client>,
    links: BTreeMap<(usize, usize), VecDeque<Mail>>,
    /// All views so far: who is in each, with the life and the first view of each.
    views: Arc<Vec<Vec<(usize, u64, u64)>>>,
    pub(crate) definition: Definition,
    groups: u32,
    pub(crate) defect: Option<Defect>,
    pub(crate) failures: u32,
    pub(crate) timers: u32,
    /// The highest fence that was given for each slot.
    pub(crate) highest: BTreeMap<u32, u64>,
    /// How many clients were let in by the last act.
    pub(crate) granted: u64,
}

/// A hash of whatever is written to it.
#[derive(Default)]
struct Print(DefaultHasher);

impl Write for Print {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl World {
    pub(crate) fn new(size: &Size) -> World {
        let nodes = (0..size.nodes).map(|_| Node {
            life: 1,
            core: None,
            print: 0,
            now: Time(0) + LEASE,
            lapsed: false,
            joins: true,
        });
        let clients = (0..size.nodes * size.clients).take(size.askers).map(|number| Client {
            node: number % size.nodes,
            rounds: size.rounds,
            session: None,
            request: 0,
            waits: false,
            believes: false,
            holds: None,
        });
        let first = (0..size.nodes).map(|node| (node, 1, 1)).collect();
        let mut world = World {
            nodes: nodes.collect(),
            clients: clients.collect(),
            links: BTreeMap::new(),
            views: Arc::new(vec![first]),
            definition: if size.groups > 0 { Definition::Room } else { Definition::Slots(size.slots) },
            groups: size.groups,
            defect: size.defect,
            failures: size.failures,
            timers: size.timers,
            highest: BTreeMap::new(),
            granted: 0,
        };
        (0..size.nodes).for_each(|node| world.begin(node, 1).expect("nobody is inside at the start"));
        world.links.clear();
        world
    }

    /// What stands for this state.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for node in &self.nodes {
            (node.life, node.print, node.core.is_some(), node.now, node.lapsed, node.joins).hash(&mut hasher);
        }
        self.clients.hash(&mut hasher);
        for (way, mails) in self.links.iter().filter(|(_, mails)| !mails.is_empty()) {
            way.hash(&mut hasher);
            mails.iter().for_each(|mail| mail.0.hash(&mut hasher));
        }
        (&self.views, self.failures, self.timers, &self.highest).hash(&mut hasher);
        hasher.finish()
    }

    /// The number of the view.
    pub(crate) fn epoch(&self) -> u64 {
        self.views.len() as u64
    }

    pub(crate) fn view(&self) -> &[(usize, u64, u64)] {
        &self.views[self.views.len() - 1]
    }

    /// Whether a node is a member, in its life.
    pub(crate) fn is_member(&self, node: usize) -> bool {
        self.view().iter().any(|(member, life, _)| *member == node && *life == self.nodes[node].life)
    }

    /// The views that a node is in, in its life.
    pub(crate) fn views_of(&self, node: usize) -> impl Iterator<Item = u64> {
        let life = self.nodes[node].life;
        let is_in = move |members: &[(usize, u64, u64)]| {
            members.iter().any(|(member, alive, _)| (*member, *alive) == (node, life))
        };
        (1..).zip(self.views.iter()).filter(move |(_, members)| is_in(members)).map(|(epoch, _)| epoch)
    }

    /// A message of a later view waits until its receiver is there.
    pub(crate) fn can_deliver(&self, from: usize, to: usize) -> bool {
        let (Some(core), Some(mails)) = (&self.nodes[to].core, self.links.get(&(from, to))) else {
            return false;
        };
        mails.front().is_some_and(|mail| mail.1.epoch <= core.view().epoch)
    }

    /// Lets something happen. What must not be is an error.
    pub(crate) fn act(&mut self, act: Act) -> Result<(), String> {
        self.granted = 0;
        match act {
            Act::Deliver(from, to) => self.deliver(from, to)?,
            Act::Learn(node, epoch) => return self.learn(node, epoch),
            Act::Ask(client) => self.ask(client)?,
            Act::Release(client) => self.release(client)?,
            Act::Crash(node) => {
                self.failures -= 1;
                self.die(node);
            }
            Act::Lapse(node) => {
                self.failures -= 1;
                self.nodes[node].lapsed = true;
                self.nodes[node].now = self.nodes[node].now + LEASE;
                self.nobody_believes_at(node);
                self.at(node, |core, now, out| core.wake(now, out))?;
            }
            Act::Renew(node) => {
                self.nodes[node].lapsed = false;
                self.at(node, |core, now, out| core.renewed(now + LEASE, now, out))?;
            }
            Act::Exclude(node) => {
                let dead = self.nodes[node].core.is_none();
                let members = self.view().iter().filter(|(member, ..)| *member != node).copied().collect();
                Arc::make_mut(&mut self.views).push(members);
                // Whoever was inside at a node that died has stopped to believe by now, and not earlier.
                if dead {
                    self.nobody_believes_at(node);
                }
                self.failures -= u32::from(!dead && !self.nodes[node].lapsed);
            }
            Act::Discover(node) => {
                self.nobody_believes_at(node);
                self.die(node);
            }
            Act::Join(node) => {
                let (life, epoch) = (self.nodes[node].life + 1, self.epoch() + 1);
                let others = self.view().iter().filter(|(member, ..)| *member != node).copied();
                let mut members: Vec<_> = others.chain([(node, life, epoch)]).collect();
                members.sort_unstable();
                Arc::make_mut(&mut self.views).push(members);
                let now = Time(0) + LEASE;
                self.nodes[node] = Node { life, core: None, print: 0, now, lapsed: false, joins: true };
            }
            Act::Timer(node, resource, timer) => {
                self.timers = self.timers.saturating_sub(1);
                self.at(node, |core, now, out| core.run_out(resource, timer, now, out))?;
            }
            Act::Forget(node) => {
                self.timers = self.timers.saturating_sub(1);
                self.at(node, |core, now, out| core.wake(now, out))?;
            }
        }
        self.judge_tokens()
    }

    fn deliver(&mut self, from: usize, to: usize) -> Result<(), String> {
        let mail = self.links.get_mut(&(from, to)).and_then(VecDeque::pop_front);
        let Some(mail) = mail else { return Ok(()) };
        let place = self.nodes[to].core.as_ref().and_then(|core| core.view().place(FIRST + from as u32));
        let Some(place) = place else { return Ok(()) };
        self.at(to, |core, now, out| core.receive(place, mail.1.clone(), now, out))
    }

    fn learn(&mut self, node: usize, epoch: u64) -> Result<(), String> {
        if self.nodes[node].core.is_none() {
            return self.begin(node, epoch);
        }
        let view = self.view_of(epoch);
        self.at(node, |core, now, out| core.enter(view, now, out))?;
        self.judge_tokens()
    }

    /// A node begins its life in a view.
    fn begin(&mut self, node: usize, epoch: u64) -> Result<(), String> {
        let life = self.nodes[node].life;
        let core = Core::new(Config {
            incarnation: life,
            leased: true,
            hop: HOP,
            linger: HOP,
            keep_idle: Duration::ZERO,
            defect: self.defect,
            ..Config::new(FIRST + node as u32, View::alone(FIRST + node as u32))
        });
        self.nodes[node].core = Some(Arc::new(core));
        self.nodes[node].joins = false;
        self.at(node, |core, now, out| core.renewed(now + LEASE, now, out))?;
        self.learn(node, epoch)
    }

    fn view_of(&self, epoch: u64) -> View {
        let members = self.views[epoch as usize - 1].iter();
        let member = |&(node, _, joined): &(usize, u64, u64)| Member { id: FIRST + node as u32, joined };
        View { epoch, members: members.map(member).collect() }
    }

    fn print(&mut self, node: usize) {
        let mut print = Print::default();
        if let Some(core) = &self.nodes[node].core {
            core.describe(&mut print);
        }
        self.nodes[node].print = print.0.finish();
    }

    fn ask(&mut self, number: usize) -> Result<(), String> {
        let Client { node, session, request, .. } = self.clients[number].clone();
        let want = match self.groups {
            0 => Want::Slot,
            groups => Want::AnyOf([format!("{}", number as u32 % groups).into()].into()),
        };
        let ask = Acquire {
            request: request + 1,
            name: NAME.into(),
            definition: self.definition,
            want,
            patience: Patience::Forever,
        };
        let client = &mut self.clients[number];
        client.rounds -= 1;
        client.request += 1;
        client.waits = true;
        let mut opened = session;
        let nodes = &mut self.nodes[node];
        if let (None, Some(core)) = (session, &mut nodes.core) {
            let session = Arc::make_mut(core).open(None, nodes.now);
            opened = session.ok().map(|(session, _)| session);
            self.clients[number].session = opened;
        }
        let Some(session) = opened else { return Ok(()) };
        self.at(node, |core, now, out| _ = core.acquire(session, &ask, now, out))
    }

    fn release(&mut self, number: usize) -> Result<(), String> {
        let client = &mut self.clients[number];
        client.believes = false;
        let (Some(session), Some(given)) = (client.session, client.holds.take()) else { return Ok(()) };
        let (node, request) = (client.node, client.request);
        // A client of a node that is gone tells nobody.
        self.at(node, |core, now, out| _ = core.release(session, request, given.fence, now, out))
    }

    /// What was said to a node that dies is lost; what it said may still arrive.
    fn die(&mut self, node: usize) {
        self.nodes[node].core = None;
        self.nodes[node].joins = false;
        self.print(node);
        self.links.retain(|(_, to), _| *to != node);
        for client in self.clients.iter_mut().filter(|client| client.node == node) {
            client.waits = false;
        }
    }

    /// No promise to clients of a node lasts longer than its lease.
    fn nobody_believes_at(&mut self, node: usize) {
        for client in self.clients.iter_mut().filter(|client| client.node == node) {
            (client.believes, client.waits, client.holds, client.session) = (false, false, None, None);
        }
    }

    /// Lets something happen at a node, and carries out what it wants.
    fn at(&mut self, number: usize, act: impl FnOnce(&mut Core, Time, &mut Out)) -> Result<(), String> {
        let mut out = Out::default();
        let node = &mut self.nodes[number];
        let Some(core) = &mut node.core else { return Ok(()) };
        let core = Arc::make_mut(core);
        act(core, node.now, &mut out);
        let to = |place: u32| (core.view().id(place) - FIRST) as usize;
        let messages: Vec<(usize, PeerMessage)> =
            out.messages.into_iter().map(|(place, message)| (to(place), message)).collect();
        self.print(number);
        for (to, message) in messages {
            self.send(number, to, message);
        }
        for answer in out.answers {
            let of = |client: &&mut Client| client.session == Some(answer.session) && client.node == number;
            let Some(client) = self.clients.iter_mut().find(of) else { continue };
            client.waits = false;
            if let Reply::Granted(Grant { slot, fence, .. }) = answer.reply {
                let place = self.clients.iter().position(|client| client.session == Some(answer.session));
                self.give(place.unwrap_or(0), Given { slot, fence })?;
            }
        }
        Ok(())
    }

    fn send(&mut self, from: usize, to: usize, message: PeerMessage) {
        let receiver = &self.nodes[to];
        let joined = self.views_of(to).next();
        // A link is one between two lives, and begins with the view of both.
        let reaches = receiver.core.is_some() || receiver.joins;
        if !reaches || joined.is_none_or(|joined| message.epoch < joined) {
            return;
        }
        let mut print = Print::default();
        _ = write!(print, "{message:?}");
        self.links.entry((from, to)).or_default().push_back(Arc::new((print.0.finish(), message)));
    }

    pub(crate) fn group_of(&self, client: usize) -> u32 {
        if self.groups == 0 { 0 } else { client as u32 % self.groups }
    }

    pub(crate) fn has_rooms(&self) -> bool {
        self.groups > 0
    }
}
