//! Forced releases: no other client is granted the slot before the holder knows.

use std::collections::VecDeque;
use std::time::Duration;

use random::Random;
use service::client::{Client, News};
use service::core::{Revocation, Timeout};
use service::event::Event;
use service::protocol::{ToClient, ToNode};
use service::view::View;
use service::{
    Acquire, Config, Core, Definition, Effects, Grant, Refusal, RequestOutcome, SessionHandle, SessionKey,
    Time, Want,
};

/// The core does not look at keys.
const KEY: SessionKey = SessionKey::new([0; 16]);

const SECOND: u64 = 1_000_000_000;
const TTL: Duration = Duration::from_secs(2);

/// A program with a clock that is a little off, and its connection.
struct Program {
    client: Client,
    /// How fast its clock runs, in thousandths.
    rate: u64,
    to_node: VecDeque<ToNode>,
    to_client: VecDeque<ToClient>,
    news: Vec<News>,
}

/// One node and programs that use it.
struct World {
    core: Core,
    now: Time,
    programs: Vec<Program>,
    events: Vec<Event>,
    /// The highest fence so far.
    fence: u64,
}

impl World {
    fn new(rates: &[u64]) -> World {
        let core = Core::new(Config::new(0, View::of(1, [0])));
        let mut world = World { core, now: Time(SECOND), programs: Vec::new(), events: Vec::new(), fence: 0 };
        for &rate in rates {
            let client = Client::new(TTL);
            let (to_node, to_client) = (VecDeque::new(), VecDeque::new());
            world.programs.push(Program { client, rate, to_node, to_client, news: Vec::new() });
            world.connect(world.programs.len() - 1);
        }
        world.exchange();
        world
    }

    fn clock(&self, program: usize) -> Time {
        Time(self.now.0 / 1000 * self.programs[program].rate)
    }

    /// Everything that was said over the connection before is lost.
    fn connect(&mut self, program: usize) {
        let clock = self.clock(program);
        let Program { client, to_node, to_client, .. } = &mut self.programs[program];
        (*to_node, *to_client) = (client.connected(clock).into(), VecDeque::new());
    }

    fn say(&mut self, program: usize, said: Option<ToNode>) {
        self.programs[program].to_node.extend(said);
    }

    fn ask(&mut self, program: usize, name: &str) -> u64 {
        let (name, definition) = (name.into(), Definition::MUTEX);
        let ask = Acquire { request: 0, name, definition, want: Want::Slot, timeout: Timeout::Never };
        let (request, said) = self.programs[program].client.acquire(ask).expect("the session is open");
        self.say(program, Some(said));
        request
    }

    fn keep_alive(&mut self, program: usize) {
        let clock = self.clock(program);
        let said = self.programs[program].client.keep_alive(clock);
        self.say(program, said);
    }

    fn release(&mut self, program: usize, request: u64) {
        let said = self.programs[program].client.release(request);
        self.say(program, said);
    }

    fn at_node(
        &mut self,
        act: impl FnOnce(&mut Core, Time, &mut Effects) -> Option<ToClient>,
        program: usize,
    ) {
        let mut out = Effects { events: Some(Vec::new()), ..Effects::default() };
        let reply = act(&mut self.core, self.now, &mut out);
        self.events.extend(out.events.into_iter().flatten());
        for reply in out.replies {
            if let RequestOutcome::Granted(Grant { fence, .. }) = reply.outcome {
                self.fence = self.fence.max(fence);
            }
            let of = |program: &Program| program.client.session() == Some(reply.session);
            let Some(whose) = self.programs.iter().position(of) else { continue };
            self.programs[whose].to_client.push_back(ToClient::Reply(reply));
        }
        self.programs[program].to_client.extend(reply);
    }

    /// The node hears the next thing that a program says.
    fn hear(&mut self, program: usize) {
        let Some(said) = self.programs[program].to_node.pop_front() else { return };
        self.at_node(
            |core, now, out| match said {
                ToNode::Open { ttl, .. } => {
                    let (session, promise) = core.open(Some(ttl), now).ok()?;
                    Some(ToClient::Opened { session, key: KEY, promise })
                }
                ToNode::KeepAlive { session: SessionHandle { id: session, .. }, sequence, settled } => {
                    match core.keep_alive(session, sequence, settled, now, out) {
                        Ok(promise) => Some(ToClient::Promise { session, promise }),
                        Err(_) => Some(ToClient::SessionGone { session }),
                    }
                }
                ToNode::Acquire { session: SessionHandle { id: session, .. }, ask } => {
                    let unknown = core.acquire(session, &ask, now, out).is_err();
                    unknown.then_some(ToClient::SessionGone { session })
                }
                ToNode::Release { session, request, fence } => {
                    _ = core.release(session.id, request, fence, now, out);
                    None
                }
                _ => None,
            },
            program,
        );
    }

    /// A program hears the next message of the node. No other program may hold what it is granted.
    fn told(&mut self, program: usize) {
        let Some(heard) = self.programs[program].to_client.pop_front() else { return };
        let clock = self.clock(program);
        let news = self.programs[program].client.hear(&heard, clock);
        if let Some(News::Granted(..)) = news {
            let others = (0..self.programs.len()).filter(|other| *other != program);
            for other in others {
                let client = &self.programs[other].client;
                let believes = client.is_within_promise(self.clock(other)) && !client.held().is_empty();
                assert!(!believes, "{other} still holds it when {program} is granted");
            }
        }
        self.programs[program].news.extend(news);
    }

    fn wake(&mut self, after: u64) {
        self.now = self.now + Duration::from_nanos(after);
        self.at_node(
            |core, now, out| {
                core.wake(now, out);
                None
            },
            0,
        );
    }

    fn exchange(&mut self) {
        while let Some(program) = (0..self.programs.len()).find(|program| {
            !self.programs[*program].to_node.is_empty() || !self.programs[*program].to_client.is_empty()
        }) {
            self.hear(program);
            self.told(program);
        }
    }

    /// Takes away what has the highest fence. Returns how long that may take.
    fn force(&mut self, when: Revocation) -> Result<Duration, Refusal> {
        let (fence, mut result) = (self.fence, Ok(Duration::ZERO));
        self.at_node(
            |core, now, out| {
                let released = core.force_release("x", (0, fence), when, "10.0.0.7:5555", now, out);
                result = released.map(|revoked| revoked[0].released.ends_in);
                None
            },
            0,
        );
        result
    }

    fn holds(&self, program: usize) -> bool {
        let client = &self.programs[program].client;
        client.is_within_promise(self.clock(program)) && !client.held().is_empty()
    }
}

/// Two programs; the first holds, the second waits.
fn contended(rates: &[u64]) -> (World, u64, u64) {
    let mut world = World::new(rates);
    let first = world.ask(0, "x");
    world.exchange();
    let second = world.ask(1, "x");
    world.exchange();
    assert!(world.holds(0) && !world.holds(1));
    (world, first, second)
}

#[test]
fn the_next_is_let_in_when_the_holder_lets_go() {
    let (mut world, first, _) = contended(&[1000, 1000]);
    let other = world.ask(0, "y");
    world.exchange();
    world.fence -= 1;
    assert_eq!(
        world.force(Revocation::AfterPromise),
        Err(Refusal::NobodyHolds),
        "the fence of another grant"
    );
    world.fence += 1;
    assert!(world.force(Revocation::AfterPromise).unwrap() > Duration::from_secs(2));
    world.exchange();
    assert_eq!(world.programs[0].news.last(), Some(&News::Revoked(first)));
    assert!(world.programs[0].client.held().contains_key(&other), "nothing else is lost");
    assert!(!world.holds(1), "it has not let go");
    let before = world.fence;
    world.release(0, first);
    world.hear(0);
    assert!(world.fence > before, "and fences rise");
    let forced = world.events.iter().find_map(|event| match event {
        Event::ForceReleased(released) => Some(released),
        _ => None,
    });
    let line = forced.expect("watchers were told").to_string();
    assert!(line.contains("10.0.0.7:5555") && line.contains(&before.to_string()), "{line}");
}

#[test]
fn a_holder_that_does_not_let_go_loses_it_when_its_promise_has_run_out() {
    let (mut world, _, second) = contended(&[1000, 1000]);
    let wait = world.force(Revocation::AfterPromise).unwrap();
    assert_eq!(wait, Duration::from_secs(2) * 110 / 90);
    // It hears of it, and goes on keeping its session alive: that does not help it.
    for _ in 0..4 {
        world.keep_alive(0);
        world.keep_alive(1);
        world.exchange();
        assert!(!world.holds(0) && !world.holds(1));
        world.wake(SECOND / 2);
    }
    world.wake(SECOND / 2);
    world.exchange();
    assert!(world.programs[1].client.held().contains_key(&second));
    assert_eq!(
        world.force(Revocation::AfterPromise).map(|wait| wait > Duration::ZERO),
        Ok(true),
        "the next one can be forced, too"
    );
}

#[test]
fn news_that_was_lost_is_told_before_anything_is_promised() {
    let (mut world, first, _) = contended(&[1000, 1000]);
    world.force(Revocation::AtOnce).unwrap();
    world.connect(0);
    let promised = world.programs[0].client.deadline();
    world.wake(SECOND / 10);
    while !world.programs[0].to_node.is_empty() {
        world.hear(0);
    }
    world.told(0);
    assert_eq!(world.programs[0].news.last(), Some(&News::Revoked(first)));
    assert_eq!(world.programs[0].client.deadline(), promised);
    // QuestionAnswer until it releases, and then no more.
    world.release(0, first);
    world.exchange();
    world.keep_alive(0);
    world.hear(0);
    assert!(matches!(world.programs[0].to_client.front(), Some(ToClient::Promise { .. })));
}

#[test]
fn at_once_breaks_exclusion_and_says_so() {
    let (mut world, ..) = contended(&[1000, 1000]);
    let before = world.fence;
    assert_eq!(world.force(Revocation::AtOnce), Ok(Duration::ZERO));
    assert!(world.fence > before && world.holds(0), "the first does not know yet");
    let at_once = |event: &Event| matches!(event, Event::ForceReleased(released) if released.at_once);
    assert!(world.events.iter().any(at_once));
}

/// Connections break, clocks are as wrong as allowed, and grants are revoked again and again: no client is
/// granted a slot before its last holder knows.
#[test]
fn whatever_happens_to_connections_the_holder_knows_first() {
    let (mut forced, mut granted) = (0, 0);
    for seed in 1..400_u64 {
        let mut random = Random::new(seed);
        let mut below = move |bound: u64| random.below(bound);
        let mut world = World::new(&[[900, 1000, 1100][below(3) as usize], [900, 1100][below(2) as usize]]);
        for _ in 0..500 {
            let program = below(2) as usize;
            if world.programs[program].client.session().is_none()
                || !world.programs[program].client.is_within_promise(world.clock(program))
            {
                world.programs[program].client = Client::new(TTL);
                world.connect(program);
            }
            match below(20) {
                0..4 => world.hear(program),
                4..8 => world.told(program),
                8..11 => world.wake(below(SECOND / 4)),
                11..13 => world.keep_alive(program),
                13 => world.connect(program),
                14 if below(4) == 0 => forced += u32::from(world.force(Revocation::AfterPromise).is_ok()),
                14..16 => {
                    let held = world.programs[program].client.held().keys().next().copied();
                    held.into_iter().for_each(|request| world.release(program, request));
                }
                _ => {
                    let client = &world.programs[program].client;
                    if client.session().is_some() && client.asked().is_empty() && client.held().is_empty() {
                        world.ask(program, "x");
                    }
                }
            }
        }
        let news = world.programs.iter().flat_map(|program| &program.news);
        granted += news.filter(|news| matches!(news, News::Granted(..))).count();
    }
    assert!(forced > 500 && granted > 1000, "{forced} {granted}");
}
