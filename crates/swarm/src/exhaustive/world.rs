//! A state of a small cluster, and its steps.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use service::core::{RequestOutcome, Timeout};
use service::member::{ConnectionId, Effect, LeaderReply, NoEnvironment, Setup};
use service::protocol::ToClient;
use service::registry::{MemberEntry, Registry};
use service::view::View;
use service::{Acquire, Config, Core, Defect, Definition, Grant, Member, PeerMessage, SessionId, Time, Want};

use super::Size;
use super::action::Action;
use super::judge::Given;
use super::violation::Violation;

/// The length of a lease. The clock of a node advances by this when its lease lapses, and never otherwise.
const LEASE: Duration = Duration::from_secs(3600);
/// Longer than all leases that can lapse: timers expire when the search says so.
const HOP: Duration = Duration::from_secs(10_000_000);
const NAME: &str = "x";
/// The first id: not 0, so that ids and indices differ.
const FIRST: u32 = 100;

/// A node, in one incarnation.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) incarnation: u64,
    /// `None` if its process is not running.
    pub(crate) member: Option<Arc<Member>>,
    /// A hash of the member's state.
    print: u64,
    pub(crate) now: Time,
    /// Whether its lease has lapsed.
    pub(crate) lapsed: bool,
    /// Whether it is in a view that it has not learned of.
    pub(crate) joins: bool,
}

impl Node {
    /// The core that serves locks, if it is in a view.
    pub(crate) fn core(&self) -> Option<&Core> {
        self.member.as_ref().filter(|member| member.view().epoch > 0).map(|member| member.core())
    }
}

/// A client of a node.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Client {
    pub(crate) node: usize,
    /// How many requests it will still make.
    pub(crate) rounds: u32,
    session: Option<(SessionId, ConnectionId)>,
    request: u64,
    pub(crate) waits: bool,
    /// Whether it holds the grant in `holds`, as far as it knows.
    pub(crate) promised: bool,
    pub(crate) holds: Option<Given>,
}

/// A message under way, with its hash.
type Mail = Arc<(u64, PeerMessage)>;

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) nodes: Vec<Node>,
    pub(crate) clients: Vec<Client>,
    links: BTreeMap<(usize, usize), VecDeque<Mail>>,
    /// The commits: each is a view.
    views: Arc<Vec<Arc<Registry>>>,
    pub(crate) definition: Definition,
    groups: u32,
    pub(crate) defect: Option<Defect>,
    pub(crate) failures: u32,
    pub(crate) timers: u32,
    /// The highest fence granted for each slot.
    pub(crate) highest: BTreeMap<u32, u64>,
    /// The number of grants in the last step.
    pub(crate) granted: u64,
}

/// A hash of everything written to it.
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
            incarnation: 1,
            member: None,
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
            promised: false,
            holds: None,
        });
        let first = (0..size.nodes).map(|node| (node, 1));
        let first = next_view(&Registry { lease: LEASE, ..Registry::default() }, first);
        let mut world = World {
            nodes: nodes.collect(),
            clients: clients.collect(),
            links: BTreeMap::new(),
            views: Arc::new(vec![Arc::new(first)]),
            definition: if size.groups > 0 { Definition::Room } else { Definition::Slots(size.slots) },
            groups: size.groups,
            defect: size.defect,
            failures: size.failures,
            timers: size.timers,
            highest: BTreeMap::new(),
            granted: 0,
        };
        for node in 0..size.nodes {
            world.start(node);
            world.learn(node, 1).expect("no client holds anything at the start");
        }
        world.links.clear();
        world
    }

    /// The hash of this state.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for node in &self.nodes {
            let Node { incarnation, member, print, now, lapsed, joins } = node;
            (incarnation, member.is_some(), print, now, lapsed, joins).hash(&mut hasher);
        }
        self.clients.hash(&mut hasher);
        for (way, mails) in self.links.iter().filter(|(_, mails)| !mails.is_empty()) {
            way.hash(&mut hasher);
            mails.iter().for_each(|mail| mail.0.hash(&mut hasher));
        }
        for view in self.views.iter() {
            let members = view.members.iter();
            members.for_each(|(id, member)| (id, member.incarnation, member.joined).hash(&mut hasher));
            view.epoch.hash(&mut hasher);
        }
        (self.failures, self.timers, &self.highest).hash(&mut hasher);
        hasher.finish()
    }

    /// The epoch.
    pub(crate) fn epoch(&self) -> u64 {
        self.views.len() as u64
    }

    pub(crate) fn view(&self) -> &Arc<Registry> {
        &self.views[self.views.len() - 1]
    }

    /// Whether a node is a member, with its incarnation.
    pub(crate) fn is_member(&self, node: usize) -> bool {
        self.is_in(self.view(), node)
    }

    fn is_in(&self, view: &Registry, node: usize) -> bool {
        let member = view.members.get(&(FIRST + node as u32));
        member.is_some_and(|member| member.incarnation == self.nodes[node].incarnation)
    }

    /// The views that a node is in, with its incarnation.
    pub(crate) fn views_of(&self, node: usize) -> impl Iterator<Item = u64> {
        self.views.iter().filter(move |view| self.is_in(view, node)).map(|view| view.epoch)
    }

    /// A message of a later view waits until its receiver is there.
    pub(crate) fn can_deliver(&self, from: usize, to: usize) -> bool {
        let (Some(core), Some(mails)) = (self.nodes[to].core(), self.links.get(&(from, to))) else {
            return false;
        };
        mails.front().is_some_and(|mail| mail.1.epoch <= core.view().epoch)
    }

    /// Takes a step. A violation is an error.
    pub(crate) fn step(&mut self, action: Action) -> Result<(), Violation> {
        self.granted = 0;
        match action {
            Action::Deliver(from, to) => self.deliver(from, to)?,
            Action::Learn(node, epoch) => return self.learn(node, epoch),
            Action::Ask(client) => self.ask(client)?,
            Action::Release(client) => self.release(client)?,
            Action::Crash(node) => {
                self.failures -= 1;
                self.die(node);
            }
            Action::Lapse(node) => {
                self.failures -= 1;
                self.nodes[node].lapsed = true;
                self.nodes[node].now = self.nodes[node].now + LEASE;
                self.drop_grants_at(node);
                self.at(node, |member, now, effects| member.wake(&NoEnvironment, now, effects))?;
            }
            Action::Renew(node) => {
                self.nodes[node].lapsed = false;
                self.renew(node)?;
            }
            Action::Exclude(node) => {
                let dead = self.nodes[node].core().is_none();
                self.agree_on(node, None);
                // Clients of a crashed node drop their grants now, and not earlier.
                if dead {
                    self.drop_grants_at(node);
                }
                self.failures -= u32::from(!dead && !self.nodes[node].lapsed);
            }
            Action::Discover(node) => {
                self.drop_grants_at(node);
                let registry = self.view().clone();
                let fresh = self.nodes[node].incarnation + 1;
                self.at(node, |member, now, effects| member.agreed(&registry, fresh, now, effects))?;
                // Nothing of the previous incarnation is left, so its clock may start afresh as well: fewer
                // states.
                (self.nodes[node].lapsed, self.nodes[node].now) = (false, Time(0) + LEASE);
                self.drop_links_to(node);
            }
            Action::Join(node) => {
                if self.nodes[node].member.is_none() {
                    let (incarnation, now) = (self.nodes[node].incarnation + 1, Time(0) + LEASE);
                    self.nodes[node] =
                        Node { incarnation, member: None, print: 0, now, lapsed: false, joins: true };
                    self.start(node);
                }
                self.nodes[node].joins = true;
                self.agree_on(node, Some(self.nodes[node].incarnation));
            }
            Action::Timer(node, resource, timer) => {
                self.timers = self.timers.saturating_sub(1);
                self.at(node, |member, now, effects| member.run_out(resource, timer, now, effects))?;
            }
            Action::Forget(node) => {
                self.timers = self.timers.saturating_sub(1);
                self.at(node, |member, now, effects| member.wake(&NoEnvironment, now, effects))?;
            }
        }
        self.judge_tokens()
    }

    fn deliver(&mut self, from: usize, to: usize) -> Result<(), Violation> {
        let mail = self.links.get_mut(&(from, to)).and_then(VecDeque::pop_front);
        let Some(mail) = mail else { return Ok(()) };
        let (from, message) = (FIRST + from as u32, mail.1.clone());
        self.at(to, |member, now, effects| member.receive(from, message, now, effects))
    }

    /// A node learns of a view that it is in.
    fn learn(&mut self, node: usize, epoch: u64) -> Result<(), Violation> {
        let first = self.nodes[node].core().is_none();
        let registry = self.views[epoch as usize - 1].clone();
        self.nodes[node].joins = false;
        self.at(node, |member, now, effects| member.agreed(&registry, 0, now, effects))?;
        if first {
            self.renew(node)?;
        }
        self.judge_tokens()
    }

    /// The leader renews the lease of a node.
    fn renew(&mut self, node: usize) -> Result<(), Violation> {
        self.at(node, |member, now, effects| {
            member.renew_now(&NoEnvironment, now, effects);
            let renewal = effects.iter().find_map(|effect| match effect {
                Effect::Renew(renewal) => Some((renewal.identity.incarnation, renewal.sequence)),
                _ => None,
            });
            if let Some((incarnation, sequence)) = renewal {
                let reply = LeaderReply::Confirmed { incarnation, sequence, lasts: LEASE };
                member.leader_replied(reply, now, effects);
            }
        })
    }

    /// The process of a node starts.
    fn start(&mut self, node: usize) {
        let id = FIRST + node as u32;
        let core = Config {
            hop: HOP,
            linger: HOP,
            keep_idle: Duration::ZERO,
            defect: self.defect,
            ..Config::new(id, View::alone(id))
        };
        let setup = Setup { cluster: String::new(), address: String::new(), clients: String::new(), core };
        let Node { incarnation, now, .. } = self.nodes[node];
        let registry = Arc::new(Registry { lease: LEASE, ..Registry::default() });
        self.nodes[node].member = Some(Arc::new(Member::new(setup, registry, incarnation, now)));
    }

    /// The next view is committed: without a node, or with this incarnation of it.
    fn agree_on(&mut self, node: usize, incarnation: Option<u64>) {
        let view = self.view();
        let others = view.members.iter().map(|(id, member)| ((id - FIRST) as usize, member.incarnation));
        let others = others.filter(|(other, _)| *other != node);
        let next = next_view(view, others.chain(incarnation.map(|incarnation| (node, incarnation))));
        Arc::make_mut(&mut self.views).push(Arc::new(next));
    }

    fn print(&mut self, node: usize) {
        let mut print = Print::default();
        if let Some(member) = &self.nodes[node].member {
            member.describe(&mut print);
        }
        self.nodes[node].print = print.0.finish();
    }

    fn ask(&mut self, number: usize) -> Result<(), Violation> {
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
            timeout: Timeout::Never,
        };
        let client = &mut self.clients[number];
        client.rounds -= 1;
        client.request += 1;
        client.waits = true;
        let mut opened = session;
        let here = &mut self.nodes[node];
        if let (None, Some(member)) = (session, &mut here.member) {
            opened = Arc::make_mut(member).open_here(None, here.now).ok();
            self.clients[number].session = opened;
        }
        let Some((session, _)) = opened else { return Ok(()) };
        let mut outcome = None;
        self.at(node, |member, now, effects| {
            outcome = member.acquire(session, &ask, &NoEnvironment, now, effects).ok().flatten();
        })?;
        outcome.map_or(Ok(()), |outcome| self.replied(number, &outcome))
    }

    fn release(&mut self, number: usize) -> Result<(), Violation> {
        let client = &mut self.clients[number];
        client.promised = false;
        let (Some((session, _)), Some(given)) = (client.session, client.holds.take()) else { return Ok(()) };
        let (node, request) = (client.node, client.request);
        // A client of a node that is gone cannot send its release.
        self.at(node, |member, now, effects| {
            _ = member.release(session, (request, given.fence), now, effects);
        })
    }

    /// Messages to a crashed node are lost; messages from it may still arrive.
    fn die(&mut self, node: usize) {
        self.nodes[node].member = None;
        self.nodes[node].joins = false;
        self.print(node);
        self.drop_links_to(node);
        for client in self.clients.iter_mut().filter(|client| client.node == node) {
            client.waits = false;
        }
    }

    fn drop_links_to(&mut self, node: usize) {
        self.links.retain(|(_, to), _| *to != node);
    }

    /// No grant to a client of a node outlasts the node's lease.
    fn drop_grants_at(&mut self, node: usize) {
        for client in self.clients.iter_mut().filter(|client| client.node == node) {
            (client.promised, client.waits, client.holds, client.session) = (false, false, None, None);
        }
    }

    /// Gives the member of a node an input, and carries out its effects.
    fn at(
        &mut self,
        number: usize,
        input: impl FnOnce(&mut Member, Time, &mut Vec<Effect>),
    ) -> Result<(), Violation> {
        let mut effects = Vec::new();
        let node = &mut self.nodes[number];
        let Some(member) = &mut node.member else { return Ok(()) };
        input(Arc::make_mut(member), node.now, &mut effects);
        self.print(number);
        for effect in effects {
            self.carry_out(number, effect)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, number: usize, effect: Effect) -> Result<(), Violation> {
        match effect {
            Effect::Send { to, message } => self.send(number, (to - FIRST) as usize, message),
            Effect::Tell { connection, frame: ToClient::Reply(reply) } => {
                let of = |client: &Client| client.session.is_some_and(|(_, of)| of == connection);
                let index = self.clients.iter().position(|client| client.node == number && of(client));
                let Some(index) = index else { return Ok(()) };
                self.replied(index, &reply.outcome)?;
            }
            Effect::BeginIncarnation(identity) => self.nodes[number].incarnation = identity.incarnation,
            Effect::Disconnect { peer, why } => {
                return Err(Violation::Disconnects { node: number, peer: (peer - FIRST) as usize, why });
            }
            _ => {}
        }
        Ok(())
    }

    /// A client receives the reply to its request.
    fn replied(&mut self, client: usize, outcome: &RequestOutcome) -> Result<(), Violation> {
        self.clients[client].waits = false;
        match *outcome {
            RequestOutcome::Granted(Grant { slot, fence, .. }) => self.give(client, Given { slot, fence }),
            RequestOutcome::Refused(_) | RequestOutcome::Revoked => Ok(()),
        }
    }

    fn send(&mut self, from: usize, to: usize, message: PeerMessage) {
        let receiver = &self.nodes[to];
        let joined = self.views_of(to).next();
        // A link connects two incarnations, and begins with the view of both.
        let reaches = receiver.core().is_some() || receiver.joins;
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

/// The next view, with these incarnations of nodes.
fn next_view(before: &Registry, members: impl Iterator<Item = (usize, u64)>) -> Registry {
    let mut next = Registry { epoch: before.epoch + 1, members: BTreeMap::new(), ..before.clone() };
    for (node, incarnation) in members {
        let id = FIRST + node as u32;
        let stayed = before.members.get(&id).filter(|member| member.incarnation == incarnation);
        let joined = stayed.map_or(next.epoch, |member| member.joined);
        next.members.insert(id, MemberEntry { joined, ..MemberEntry::new(incarnation, "", "") });
        next.incarnations.insert(id, incarnation);
    }
    next
}
