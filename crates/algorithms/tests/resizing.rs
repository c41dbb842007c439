//! Resizing while a resource is in use: every run at small sizes, and random ones beyond.
//!
//! Resizing is not an input of the workbench, so this test has a driver of its own: nodes, FIFO links,
//! clients that request, leave and cancel, timers that expire, and a home that is told to change the number
//! of tokens.

use std::collections::{BTreeMap, HashSet, VecDeque};

use algorithms::Origin;
use algorithms::forest::{Body, Forest, Message, ResizeDefect, Rules};
use algorithms::{Algorithm, Chance, Effect, Groups, Input, Outbox, Site, Timer};
use random::Random;

/// What to explore.
#[derive(Clone, Copy)]
struct Plan {
    nodes: u32,
    tokens: u32,
    /// The number of clients of each node, each of which makes `asks` requests.
    clients: u32,
    asks: u32,
    gives_up: bool,
    resize_defect: Option<ResizeDefect>,
}

/// A client: how many requests it may still make, and its state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Client {
    Outside(u32),
    Waits(u32),
    Inside(u32),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Move {
    Ask(u32, u32),
    GiveUp(u32, u32),
    Leave(u32, u32),
    Deliver(u32, u32),
    Expire(u32, Timer),
    Resize(u32),
}

/// All nodes, with the messages between them.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    nodes: Vec<Forest>,
    clients: Vec<Vec<Client>>,
    armed: Vec<[bool; 5]>,
    links: BTreeMap<(u32, u32), VecDeque<Message>>,
    /// The numbers of tokens that the home will still be told, in order.
    sizes: VecDeque<u32>,
    /// How many timers may still expire while messages are under way.
    early: u32,
    /// The highest fence of each slot.
    fences: BTreeMap<u32, u64>,
}

/// Picks the first option, or as the seed says.
struct Picks(Option<Random>);

impl Picks {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.as_mut().map_or(0, |random| random.below(bound))
    }
}

impl Chance for Picks {
    fn pick(&mut self, options: u32) -> u32 {
        self.below(u64::from(options)) as u32
    }
}

const HOME: u32 = 0;

impl Plan {
    fn rules(&self) -> Rules {
        Rules { resize_defect: self.resize_defect, ..Rules::service(HOME, 1, 20) }
    }

    fn site<'a>(&self, me: u32, rules: &'a Rules) -> Site<'a, Forest> {
        Site { me, nodes: self.nodes, tokens: self.tokens, rules }
    }

    fn start(&self, sizes: &[u32], early: u32) -> State {
        let rules = self.rules();
        State {
            nodes: (0..self.nodes).map(|me| Forest::start(&self.site(me, &rules))).collect(),
            clients: vec![vec![Client::Outside(self.asks); self.clients as usize]; self.nodes as usize],
            armed: vec![[false; 5]; self.nodes as usize],
            links: BTreeMap::new(),
            sizes: sizes.iter().copied().collect(),
            early,
            fences: BTreeMap::new(),
        }
    }

    /// The possible next steps. Timers expire early only so often; when nothing is under way, always.
    fn moves(&self, state: &State) -> Vec<Move> {
        let mut moves = Vec::new();
        for (&(from, to), link) in &state.links {
            if !link.is_empty() {
                moves.push(Move::Deliver(from, to));
            }
        }
        let silent = moves.is_empty();
        for node in 0..self.nodes {
            for (client, what) in (0..).zip(&state.clients[node as usize]) {
                match what {
                    Client::Outside(0) => {}
                    Client::Outside(_) => moves.push(Move::Ask(node, client)),
                    Client::Waits(_) if self.gives_up => moves.push(Move::GiveUp(node, client)),
                    Client::Waits(_) => {}
                    Client::Inside(_) => moves.push(Move::Leave(node, client)),
                }
            }
            let may_expire = silent || state.early > 0;
            let armed = (0..4).filter(|timer| may_expire && state.armed[node as usize][*timer]);
            moves.extend(armed.map(|timer| Move::Expire(node, timer)));
        }
        moves.extend(state.sizes.front().map(|tokens| Move::Resize(*tokens)));
        moves
    }

    /// Takes a step. The error names the violated rule.
    fn take(&self, state: &mut State, step: &Move, picks: &mut Picks) -> Result<(), String> {
        let rules = self.rules();
        let mut effects = Vec::new();
        let mut out = Outbox::new(&mut effects, picks);
        let (node, input) = match *step {
            Move::Resize(tokens) => {
                state.sizes.pop_front();
                state.nodes[HOME as usize].resize(
                    &self.site(HOME, &rules),
                    Origin::default(),
                    tokens,
                    &mut out,
                );
                return self.carry_out(state, HOME, effects);
            }
            Move::Ask(node, client) => {
                let asks = state.clients[node as usize][client as usize].asks();
                state.clients[node as usize][client as usize] = Client::Waits(asks - 1);
                (node, Input::Request { client, groups: Groups::one(0) })
            }
            Move::GiveUp(node, client) => {
                let asks = state.clients[node as usize][client as usize].asks();
                state.clients[node as usize][client as usize] = Client::Outside(asks);
                (node, Input::Cancel { client })
            }
            Move::Leave(node, client) => {
                let asks = state.clients[node as usize][client as usize].asks();
                state.clients[node as usize][client as usize] = Client::Outside(asks);
                (node, Input::Exit { client })
            }
            Move::Deliver(from, to) => {
                let link = state.links.get_mut(&(from, to)).expect("there is something");
                let message = link.pop_front().expect("there is something");
                if link.is_empty() {
                    state.links.remove(&(from, to));
                }
                (to, Input::Deliver { from, message })
            }
            Move::Expire(node, timer) => {
                if !state.links.is_empty() {
                    state.early -= 1;
                }
                state.armed[node as usize][timer] = false;
                (node, Input::Expire(timer))
            }
        };
        state.nodes[node as usize].step(&self.site(node, &rules), input, &mut out);
        self.carry_out(state, node, effects)
    }

    fn carry_out(&self, state: &mut State, node: u32, effects: Vec<Effect<Forest>>) -> Result<(), String> {
        for effect in effects {
            match effect {
                Effect::Send { to, message } => state.links.entry((node, to)).or_default().push_back(message),
                Effect::Enter(grant) => {
                    let client = &mut state.clients[node as usize][grant.client as usize];
                    *client = Client::Inside(client.asks());
                    if grant.slot >= state.nodes[node as usize].size().tokens {
                        return Err(format!("node {node} grants the retiring slot {}", grant.slot));
                    }
                    let highest = state.fences.entry(grant.slot).or_default();
                    if grant.fence <= *highest {
                        return Err(format!("fence {} of slot {} after {highest}", grant.fence, grant.slot));
                    }
                    *highest = grant.fence;
                }
                Effect::Arm(timer, _) => state.armed[node as usize][timer] = true,
                Effect::Disarm(timer) => state.armed[node as usize][timer] = false,
                Effect::Never(what) => return Err(format!("node {node}: {what}")),
                Effect::Persist(()) | Effect::Note(_) => {}
            }
        }
        let held = state.nodes.iter().flat_map(|forest| forest.tokens_here().map(|(token, _)| token));
        let under_way = state.links.values().flatten().filter_map(|message| match message.body {
            Body::Token { token, .. } => Some(token),
            _ => None,
        });
        let mut tokens: Vec<u32> = held.chain(under_way).collect();
        tokens.sort_unstable();
        match tokens.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("slot {} is at two places", pair[0])),
            None => Ok(()),
        }
    }

    /// Nothing more can happen, and nothing is missing: no client waits, and all tokens are home.
    fn judge_end(&self, state: &State) -> Result<(), String> {
        let waits = |client: &Client| matches!(client, Client::Waits(_));
        if state.clients.iter().flatten().any(waits) {
            return Err("a client waits for ever".to_string());
        }
        let size = state.nodes[HOME as usize].size().tokens;
        let home: Vec<u32> = state.nodes[HOME as usize].tokens_here().map(|(token, _)| token).collect();
        if !home.iter().copied().eq(0..size) {
            return Err(format!("of {size} tokens {home:?} came home"));
        }
        let rules = self.rules();
        for me in 0..self.nodes {
            let forest = &state.nodes[me as usize];
            if forest.droppable(&Site { tokens: size, ..self.site(me, &rules) }).is_none() {
                return Err(format!("node {me} cannot forget: {forest:?}"));
            }
        }
        Ok(())
    }

    /// Explores every run. Returns the number of states.
    fn explore(&self, sizes: &[u32], early: u32) -> Result<usize, String> {
        let mut seen = HashSet::new();
        let mut open = vec![self.start(sizes, early)];
        seen.insert(open[0].clone());
        while let Some(state) = open.pop() {
            let moves = self.moves(&state);
            if moves.is_empty() {
                self.judge_end(&state)?;
            }
            for step in moves {
                let mut next = state.clone();
                self.take(&mut next, &step, &mut Picks(None))?;
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
            assert!(seen.len() < 3_000_000, "too many states to explore here");
        }
        Ok(seen.len())
    }

    /// One random run, to its end.
    fn run(&self, seed: u64) -> Result<(), String> {
        let mut picks = Picks(Some(Random::new(seed)));
        let changes = picks.below(6);
        let sizes: Vec<u32> = (0..changes).map(|_| 1 + picks.below(4) as u32).collect();
        let mut state = self.start(&sizes, u32::MAX);
        for _ in 0..20_000 {
            let moves = self.moves(&state);
            if moves.is_empty() {
                return self.judge_end(&state);
            }
            let step = moves[picks.below(moves.len() as u64) as usize].clone();
            self.take(&mut state, &step, &mut picks)?;
        }
        Err(format!("no end: {:?}", self.moves(&state)))
    }
}

impl Client {
    fn asks(self) -> u32 {
        match self {
            Client::Outside(asks) | Client::Waits(asks) | Client::Inside(asks) => asks,
        }
    }
}

fn plan(nodes: u32, tokens: u32, clients: u32, asks: u32) -> Plan {
    Plan { nodes, tokens, clients, asks, gives_up: false, resize_defect: None }
}

#[test]
fn every_run_of_small_systems_keeps_one_token_for_each_slot() {
    for (plan, sizes, early) in [
        (plan(2, 1, 2, 1), &[2][..], 1),
        (plan(2, 2, 1, 2), &[1, 2], 1),
        (plan(2, 1, 2, 1), &[2, 1], 0),
        (plan(3, 2, 1, 1), &[1, 2], 0),
        (plan(3, 1, 1, 1), &[2, 1], 0),
        (Plan { gives_up: true, ..plan(2, 2, 1, 2) }, &[1, 2], 0),
    ] {
        let states = plan.explore(sizes, early).unwrap_or_else(|error| panic!("{sizes:?}: {error}"));
        println!("{} nodes, {} tokens, then {sizes:?}: {states} states", plan.nodes, plan.tokens);
        assert!(states > 500, "{states}");
    }
}

/// `RUNS=100000` for more.
fn runs() -> u64 {
    std::env::var("RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(20_000)
}

#[test]
fn thousands_of_random_runs_keep_one_token_for_each_slot() {
    for seed in 0..runs() {
        let plan =
            Plan { gives_up: seed % 3 == 0, ..plan(2 + seed as u32 % 4, 1 + seed as u32 / 4 % 4, 2, 3) };
        plan.run(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

#[test]
fn what_looks_simpler_and_is_wrong_is_found() {
    let with = |resize_defect| Plan { resize_defect: Some(resize_defect), ..plan(2, 2, 1, 2) };
    let fence = with(ResizeDefect::NoFloor).explore(&[1, 2], 0).unwrap_err();
    assert!(fence.contains("fence"), "{fence}");
    let twice = with(ResizeDefect::GrowBlindly).explore(&[1, 2], 0).unwrap_err();
    assert!(twice.contains("two places") || twice.contains("the way to a token"), "{twice}");
    let found = |resize_defect| {
        let runs =
            (0..400).map(|seed| Plan { resize_defect: Some(resize_defect), ..plan(3, 2, 2, 3) }.run(seed));
        runs.filter(Result::is_err).count()
    };
    let (no_floor, blindly) = (found(ResizeDefect::NoFloor), found(ResizeDefect::GrowBlindly));
    println!(
        "of 400 random runs, {no_floor} show that there is no floor, {blindly} that tokens are made blindly"
    );
    assert!(no_floor > 20 && blindly > 20, "{no_floor} {blindly}");
}
